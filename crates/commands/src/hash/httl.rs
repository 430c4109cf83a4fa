//! HTTL: <https://redis.io/docs/latest/commands/httl/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HTTL: DataCommand = DataCommand {
    row: Row {
        name: "httl",
        group: Group::Hash,
        since: "7.4.0",
        arity: -5,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Returns how many seconds fields of a hash have to live.",
        syntax: "HTTL key FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HEXPIRE user 100 FIELDS 1 name
1) (integer) 1
> HTTL user FIELDS 3 name age city
1) (integer) 100
2) (integer) -1
3) (integer) -2
> HTTL nobody FIELDS 1 name
1) (integer) -2
> HTTL user 1 name x
(error) ERR Mandatory argument FIELDS is missing or not at the right position
> HTTL user FIELDS 0 name
(error) ERR Number of fields must be a positive integer
> HTTL user FIELDS 2 name
(error) ERR The `numfields` parameter must match the number of arguments
> SET text v
OK
> HTTL text FIELDS 1 f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::Seconds)
}
