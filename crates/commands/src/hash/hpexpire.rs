//! HPEXPIRE: <https://redis.io/docs/latest/commands/hpexpire/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HPEXPIRE: DataCommand = DataCommand {
    row: Row {
        name: "hpexpire",
        group: Group::Hash,
        since: "7.4.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Sets the time to live of fields of a hash in milliseconds.",
        syntax: "HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HPEXPIRE user 100000 FIELDS 2 name city
1) (integer) 1
2) (integer) -2
> HTTL user FIELDS 2 name age
1) (integer) 100
2) (integer) -1
> HPEXPIRE user 0 FIELDS 1 name
1) (integer) 2
> HGET user name
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::Millis, "hpexpire")
}
