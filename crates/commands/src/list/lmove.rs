//! LMOVE: <https://redis.io/docs/latest/commands/lmove/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LMOVE: DataCommand = DataCommand {
    row: Row {
        name: "lmove",
        group: Group::List,
        since: "6.2.0",
        arity: 5,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        complexity: "O(1)",
        summary: "Takes an element from one end of a list and adds it at one end of another or the same.",
        syntax: "LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        transcript: r#"
> RPUSH a 1 2 3
(integer) 3
> LMOVE a b RIGHT LEFT
"3"
> LMOVE a b left right
"1"
> LRANGE b 0 -1
1) "3"
2) "1"
> LMOVE b b LEFT RIGHT
"3"
> LRANGE b 0 -1
1) "1"
2) "3"
> LMOVE a a LEFT LEFT
"2"
> LMOVE a b LEFT LEFT
"2"
> EXISTS a
(integer) 0
> LMOVE a b LEFT LEFT
(nil)
> LMOVE a b LEFT UP
(error) ERR syntax error
> LMOVE a b UP LEFT
(error) ERR syntax error
> SET s v
OK
> LMOVE nothing s LEFT LEFT
(nil)
> LMOVE b s LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LMOVE s b LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (super::end(args, 3)?, super::end(args, 4)?);
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    if !super::move_one(db, source, destination, from, to, reply)? {
        reply.null();
    }
    Ok(())
}
