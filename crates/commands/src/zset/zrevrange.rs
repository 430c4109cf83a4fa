//! ZREVRANGE: <https://redis.io/docs/latest/commands/zrevrange/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, By, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREVRANGE: DataCommand = DataCommand {
    row: Row {
        name: "zrevrange",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` argument",
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set by rank, from the highest score down.",
        syntax: "ZREVRANGE key start stop [WITHSCORES]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c
(integer) 3
> ZREVRANGE z 0 1
1) "c"
2) "b"
> ZREVRANGE z -2 -1 WITHSCORES
1) "b"
2) "2"
3) "a"
4) "1"
> ZREVRANGE z 0 -1 REV
(error) ERR syntax error
> ZREVRANGE nothing 0 -1
(empty array)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    range::run(
        db,
        args,
        reply,
        Form { by: Some(By::Rank), back: Some(true), source: 1, store: false },
    )
}
