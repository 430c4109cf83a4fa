//! LPUSH: <https://redis.io/docs/latest/commands/lpush/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LPUSH: DataCommand = DataCommand {
    row: Row {
        name: "lpush",
        group: Group::List,
        since: "1.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        history: &[("2.4.0", "Accepts several elements.")],
        complexity: "O(1) for each element added.",
        summary: "Adds elements before the first one of a list, one after the other.",
        syntax: "LPUSH key element [element ...]",
        transcript: r#"
> LPUSH k a
(integer) 1
> LPUSH k b c
(integer) 3
> LRANGE k 0 -1
1) "c"
2) "b"
3) "a"
> TYPE k
list
> SET s v
OK
> LPUSH s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPUSH k
(error) ERR wrong number of arguments for 'lpush' command
# reset
# only: redis>=7.2
> LPUSH k a b
(integer) 2
> OBJECT ENCODING k
"listpack"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::push(db, args, End::Head, false, reply)
}
