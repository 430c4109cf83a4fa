//! HEXPIRETIME: <https://redis.io/docs/latest/commands/hexpiretime/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HEXPIRETIME: DataCommand = DataCommand {
    row: Row {
        name: "hexpiretime",
        group: Group::Hash,
        since: "7.4.0",
        arity: -5,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Returns the deadlines of fields of a hash as Unix times in seconds.",
        syntax: "HEXPIRETIME key FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HPEXPIREAT user 33177117420001 FIELDS 1 name
1) (integer) 1
> HEXPIRETIME user FIELDS 3 name age city
1) (integer) 33177117421
2) (integer) -1
3) (integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::UnixSeconds)
}
