//! HEXPIRE: <https://redis.io/docs/latest/commands/hexpire/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HEXPIRE: DataCommand = DataCommand {
    row: Row {
        name: "hexpire",
        group: Group::Hash,
        since: "7.4.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Sets the time to live of fields of a hash in seconds.",
        syntax: "HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HEXPIRE user 100 FIELDS 2 name city
1) (integer) 1
2) (integer) -2
> HTTL user FIELDS 2 name age
1) (integer) 100
2) (integer) -1
> OBJECT ENCODING user
"listpackex"
> HEXPIRE user 50 NX FIELDS 2 name age
1) (integer) 0
2) (integer) 1
> HEXPIRE user 70 GT FIELDS 2 name age
1) (integer) 0
2) (integer) 1
> HEXPIRE user 70 LT FIELDS 2 name age
1) (integer) 1
2) (integer) 0
> HEXPIRE nobody 10 FIELDS 1 name
1) (integer) -2
# A time that is over deletes the field.
> HEXPIRE user 0 FIELDS 1 name
1) (integer) 2
> HGETALL user
1) "age"
2) "41"
> HEXPIRE user 0 FIELDS 1 age
1) (integer) 2
> EXISTS user
(integer) 0
> HSET user name Ann
(integer) 1
# A field without a deadline lives for ever: nothing is later, everything is sooner.
> HEXPIRE user 10 XX FIELDS 1 name
1) (integer) 0
> HEXPIRE user 10 GT FIELDS 1 name
1) (integer) 0
> HEXPIRE user 10 LT FIELDS 1 name
1) (integer) 1
> HEXPIRE user -1 FIELDS 1 name
(error) ERR invalid expire time, must be >= 0
> HEXPIRE user 70368744178 FIELDS 1 name
(error) ERR invalid expire time in 'hexpire' command
> HEXPIRE user ten FIELDS 1 name
(error) ERR value is not an integer or out of range
> HEXPIRE user 10 NX XX FIELDS 1 name
(error) ERR Mandatory argument FIELDS is missing or not at the right position
> HEXPIRE user 10 FIELDS 0 name
(error) ERR Parameter `numFields` should be greater than 0
> HEXPIRE user 10 FIELDS 2 name
(error) ERR The `numfields` parameter must match the number of arguments
> SET text v
OK
> HEXPIRE text 10 FIELDS 1 f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::Seconds, "hexpire")
}
