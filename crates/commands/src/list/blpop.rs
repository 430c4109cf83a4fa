//! BLPOP: <https://redis.io/docs/latest/commands/blpop/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BLPOP: DataCommand = DataCommand {
    row: Row {
        name: "blpop",
        group: Group::List,
        since: "2.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::BLOCKING),
        keys: &[KeySpec::range(1, -2, 1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        history: &[("6.0.0", "`timeout` is interpreted as a double instead of an integer.")],
        complexity: "O(N) where N is the number of keys given.",
        summary: "Removes the first element of the first list that has any and returns it. Waits until there is one.",
        syntax: "BLPOP key [key ...] timeout",
        transcript: r#"
> RPUSH b 1 2
(integer) 2
> BLPOP a b 0
1) "b"
2) "1"
> BLPOP b a 0.5
1) "b"
2) "2"
> EXISTS b
(integer) 0
> BLPOP b -1
(error) ERR timeout is negative
> BLPOP b -inf
(error) ERR timeout is negative
> MULTI
OK
> BLPOP b -1e-7
QUEUED
> EXEC
1) (nil)
> BLPOP b soon
(error) ERR timeout is not a float or out of range
> SET s v
OK
> BLPOP a s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::pop_or_wait(db, args, End::Head, reply)
}
