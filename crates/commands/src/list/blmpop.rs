//! BLMPOP: <https://redis.io/docs/latest/commands/blmpop/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::timeout;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

use super::Many;

pub(crate) static BLMPOP: DataCommand = DataCommand {
    row: Row {
        name: "blmpop",
        group: Group::List,
        since: "7.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::BLOCKING),
        keys: &[KeySpec::counted(2, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(N+M) where N is the number of keys given and M is the number of elements returned.",
        summary: "Removes elements of the first list that has any and returns them. Waits until there are some.",
        syntax: "BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        transcript: r#"
> RPUSH b 1 2 3 4
(integer) 4
> BLMPOP 1 2 a b LEFT COUNT 3
1) "b"
2) 1) "1"
   2) "2"
   3) "3"
> BLMPOP 0 1 b RIGHT
1) "b"
2) 1) "4"
> BLMPOP -1 1 b LEFT
(error) ERR timeout is negative
> BLMPOP x 1 b LEFT
(error) ERR timeout is not a float or out of range
> BLMPOP x 0 b LEFT
(error) ERR numkeys should be greater than 0
> BLMPOP 1 2 b LEFT
(error) ERR syntax error
> BLMPOP 1 1 b LEFT COUNT -1
(error) ERR count should be greater than 0
> SET s v
OK
> BLMPOP 1 1 s LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Many { keys, end, count } = super::many(args, 2)?;
    let deadline = timeout(args, 1, db.now())?;
    if !super::pop_first(db, args, keys.clone(), end, count, reply)? {
        super::wait(db, args, keys, deadline, reply);
    }
    Ok(())
}
