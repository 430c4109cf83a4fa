//! ZREMRANGEBYLEX: <https://redis.io/docs/latest/commands/zremrangebylex/>

use resp::{Args, Reply};
use store::Db;

use super::range::By;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREMRANGEBYLEX: DataCommand = DataCommand {
    row: Row {
        name: "zremrangebylex",
        group: Group::SortedSet,
        since: "2.8.9",
        arity: 4,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members removed.",
        summary: "Removes the members within a range of bytes, from a sorted set of one score.",
        syntax: "ZREMRANGEBYLEX key min max",
        transcript: r#"
> ZADD z 0 a 0 b 0 c 0 d
(integer) 4
> ZREMRANGEBYLEX z (a [c
(integer) 2
> ZRANGE z 0 -1
1) "a"
2) "d"
> ZREMRANGEBYLEX z - +
(integer) 2
> EXISTS z
(integer) 0
> ZREMRANGEBYLEX z a b
(error) ERR min or max not valid string range item
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::remove_range(db, args, reply, By::Lex, "zremrangebylex")
}
