//! HPTTL: <https://redis.io/docs/latest/commands/hpttl/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HPTTL: DataCommand = DataCommand {
    row: Row {
        name: "hpttl",
        group: Group::Hash,
        since: "7.4.0",
        arity: -5,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Returns how many milliseconds fields of a hash have to live.",
        syntax: "HPTTL key FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HEXPIRE user 100 FIELDS 1 name
1) (integer) 1
> HPTTL user FIELDS 2 age city
1) (integer) -1
2) (integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::Millis)
}
