//! HEXPIREAT: <https://redis.io/docs/latest/commands/hexpireat/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HEXPIREAT: DataCommand = DataCommand {
    row: Row {
        name: "hexpireat",
        group: Group::Hash,
        since: "7.4.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Sets the deadlines of fields of a hash to a Unix time in seconds.",
        syntax: "HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field \
                 [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HEXPIREAT user 33177117420 FIELDS 2 name city
1) (integer) 1
2) (integer) -2
> HEXPIRETIME user FIELDS 2 name age
1) (integer) 33177117420
2) (integer) -1
> HEXPIREAT user 1 FIELDS 1 name
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
    super::deadline::set(db, args, reply, TimeUnit::UnixSeconds, "hexpireat")
}
