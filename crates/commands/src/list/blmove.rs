//! BLMOVE: <https://redis.io/docs/latest/commands/blmove/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BLMOVE: DataCommand = DataCommand {
    row: Row {
        name: "blmove",
        group: Group::List,
        since: "6.2.0",
        arity: 6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::BLOCKING),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        complexity: "O(1)",
        summary: "Takes an element from one end of a list and adds it at one end of another or the same. Waits until there is one.",
        syntax: "BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
        transcript: r#"
> RPUSH a 1 2 3
(integer) 3
> BLMOVE a b RIGHT LEFT 0
"3"
> BLMOVE a b LEFT RIGHT 0.1
"1"
> LRANGE b 0 -1
1) "3"
2) "1"
> BLMOVE a b LEFT UP 0
(error) ERR syntax error
> BLMOVE a b LEFT RIGHT -1
(error) ERR timeout is negative
> SET s v
OK
> BLMOVE a s LEFT LEFT 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BLMOVE s a LEFT LEFT 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (super::end(args, 3)?, super::end(args, 4)?);
    super::move_or_wait(db, args, from, to, 5, reply)
}
