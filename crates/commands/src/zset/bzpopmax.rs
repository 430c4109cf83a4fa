//! BZPOPMAX: <https://redis.io/docs/latest/commands/bzpopmax/>

use resp::{Args, Reply};
use store::Db;

use super::pop;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BZPOPMAX: DataCommand = DataCommand {
    row: Row {
        name: "bzpopmax",
        group: Group::SortedSet,
        since: "5.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST).or(Flags::BLOCKING),
        keys: &[KeySpec::range(1, -2, 1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        history: &[("6.0.0", "`timeout` is interpreted as a double instead of an integer.")],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Removes and returns the member with the highest score of the first sorted set that has one, and waits for one if none has.",
        syntax: "BZPOPMAX key [key ...] timeout",
        transcript: r#"
> ZADD z 1 a 2.5 b
(integer) 2
> BZPOPMAX nothing z 0
1) "z"
2) "b"
3) "2.5"
> BZPOPMAX z 1
1) "z"
2) "a"
3) "1"
> BZPOPMAX z x
(error) ERR timeout is not a float or out of range
> BZPOPMAX z -1
(error) ERR timeout is negative
> SET s v
OK
> BZPOPMAX s z 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pop::blocking(db, args, reply, true)
}
