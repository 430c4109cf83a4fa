//! PSETEX: <https://redis.io/docs/latest/commands/psetex/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PSETEX: DataCommand = DataCommand {
    row: Row {
        name: "psetex",
        group: Group::String,
        since: "2.6.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "2.6.12",
        replaced_by: "`SET` with the `PX` option",
        complexity: "O(1)",
        summary: "Sets the string value of a key, with a time to live in milliseconds.",
        syntax: "PSETEX key milliseconds value",
        transcript: r#"
> PSETEX k 100000 v
OK
> TTL k
(integer) 100
# reset
> PSETEX k 100000 v
OK
> GET k
"v"
> PSETEX k 0 v
(error) ERR invalid expire time in 'psetex' command
> PSETEX k -10 v
(error) ERR invalid expire time in 'psetex' command
> PSETEX k 9223372036854775807 v
(error) ERR invalid expire time in 'psetex' command
> PSETEX k soon v
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::setex::set_for(db, args, TimeUnit::Millis, "psetex", reply)
}
