//! HPEXPIREAT: <https://redis.io/docs/latest/commands/hpexpireat/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HPEXPIREAT: DataCommand = DataCommand {
    row: Row {
        name: "hpexpireat",
        group: Group::Hash,
        since: "7.4.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Sets the deadlines of fields of a hash to a Unix time in milliseconds.",
        syntax: "HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields \
                 field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HPEXPIREAT user 33177117420123 FIELDS 2 name city
1) (integer) 1
2) (integer) -2
> HPEXPIRETIME user FIELDS 2 name age
1) (integer) 33177117420123
2) (integer) -1
> HPEXPIREAT user 1 FIELDS 1 name
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
    super::deadline::set(db, args, reply, TimeUnit::UnixMillis, "hpexpireat")
}
