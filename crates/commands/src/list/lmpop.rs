//! LMPOP: <https://redis.io/docs/latest/commands/lmpop/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

use super::Many;

pub(crate) static LMPOP: DataCommand = DataCommand {
    row: Row {
        name: "lmpop",
        group: Group::List,
        since: "7.0.0",
        arity: -4,
        flags: Flags::WRITE,
        keys: &[KeySpec::counted(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(N+M) where N is the number of keys given and M is the number of elements returned.",
        summary: "Removes elements of the first list that has any and returns them.",
        syntax: "LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        transcript: r#"
> RPUSH b 1 2 3 4
(integer) 4
> LMPOP 2 a b LEFT
1) "b"
2) 1) "1"
> LMPOP 2 a b RIGHT COUNT 2
1) "b"
2) 1) "4"
   2) "3"
> LMPOP 1 b LEFT COUNT 10
1) "b"
2) 1) "2"
> LMPOP 1 b LEFT
(nil)
> LMPOP 0 b LEFT
(error) ERR numkeys should be greater than 0
> LMPOP x b LEFT
(error) ERR numkeys should be greater than 0
> LMPOP 2 b LEFT
(error) ERR syntax error
> LMPOP 1 b UP
(error) ERR syntax error
> LMPOP 1 b LEFT COUNT 0
(error) ERR count should be greater than 0
> LMPOP 1 b LEFT COUNT 1 COUNT 2
(error) ERR syntax error
> LMPOP 1 b LEFT COUNT
(error) ERR syntax error
> SET s v
OK
> LMPOP 1 s LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let Many { keys, end, count } = super::many(args, 1)?;
    if !super::pop_first(db, args, keys, end, count, reply)? {
        reply.null_array();
    }
    Ok(())
}
