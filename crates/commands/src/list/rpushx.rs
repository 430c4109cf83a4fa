//! RPUSHX: <https://redis.io/docs/latest/commands/rpushx/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RPUSHX: DataCommand = DataCommand {
    row: Row {
        name: "rpushx",
        group: Group::List,
        since: "2.2.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        history: &[("4.0.0", "Accepts several elements.")],
        complexity: "O(1) for each element added.",
        summary: "Adds elements behind the last one of a list, if there is one.",
        syntax: "RPUSHX key element [element ...]",
        transcript: r#"
> RPUSHX k a
(integer) 0
> EXISTS k
(integer) 0
> RPUSH k a
(integer) 1
> RPUSHX k b c
(integer) 3
> LRANGE k 0 -1
1) "a"
2) "b"
3) "c"
> SET s v
OK
> RPUSHX s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::push(db, args, End::Tail, true, reply)
}
