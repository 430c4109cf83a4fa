//! RPUSH: <https://redis.io/docs/latest/commands/rpush/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RPUSH: DataCommand = DataCommand {
    row: Row {
        name: "rpush",
        group: Group::List,
        since: "1.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        history: &[("2.4.0", "Accepts several elements.")],
        complexity: "O(1) for each element added.",
        summary: "Adds elements behind the last one of a list, one after the other.",
        syntax: "RPUSH key element [element ...]",
        transcript: r#"
> RPUSH k a
(integer) 1
> RPUSH k b c
(integer) 3
> LRANGE k 0 -1
1) "a"
2) "b"
3) "c"
> TYPE k
list
> SET s v
OK
> RPUSH s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> RPUSH k
(error) ERR wrong number of arguments for 'rpush' command
# reset
# only: redis>=7.2
> RPUSH k a b
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
    super::push(db, args, End::Tail, false, reply)
}
