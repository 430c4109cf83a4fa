//! ZLEXCOUNT: <https://redis.io/docs/latest/commands/zlexcount/>

use resp::{Args, Reply};
use store::Db;

use super::range::By;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZLEXCOUNT: DataCommand = DataCommand {
    row: Row {
        name: "zlexcount",
        group: Group::SortedSet,
        since: "2.8.9",
        arity: 4,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Counts the members within a range of bytes, in a sorted set of one score.",
        syntax: "ZLEXCOUNT key min max",
        transcript: r#"
> ZADD z 0 a 0 b 0 c
(integer) 3
> ZLEXCOUNT z - +
(integer) 3
> ZLEXCOUNT z (a [c
(integer) 2
> ZLEXCOUNT z + -
(integer) 0
> ZLEXCOUNT nothing - +
(integer) 0
> ZLEXCOUNT z a b
(error) ERR min or max not valid string range item
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::count(db, args, reply, By::Lex)
}
