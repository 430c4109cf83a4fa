//! PEXPIRETIME: <https://redis.io/docs/latest/commands/pexpiretime/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PEXPIRETIME: DataCommand = DataCommand {
    row: Row {
        name: "pexpiretime",
        group: Group::Generic,
        since: "7.0.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the deadline of a key as a Unix time in milliseconds.",
        syntax: "PEXPIRETIME key",
        transcript: r#"
> SET k v PXAT 33177117420123
OK
> PEXPIRETIME k
(integer) 33177117420123
> SET k v
OK
> PEXPIRETIME k
(integer) -1
> PEXPIRETIME nothing
(integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::UnixMillis)
}
