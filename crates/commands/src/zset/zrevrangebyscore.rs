//! ZREVRANGEBYSCORE: <https://redis.io/docs/latest/commands/zrevrangebyscore/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, By, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREVRANGEBYSCORE: DataCommand = DataCommand {
    row: Row {
        name: "zrevrangebyscore",
        group: Group::SortedSet,
        since: "2.2.0",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("2.1.6", "`min` and `max` can be exclusive.")],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set by score, from the highest down.",
        syntax: "ZREVRANGEBYSCORE key max:double min:double [WITHSCORES] [LIMIT offset count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c
(integer) 3
> ZREVRANGEBYSCORE z 2 1
1) "b"
2) "a"
> ZREVRANGEBYSCORE z +inf (1 WITHSCORES LIMIT 1 1
1) "b"
2) "2"
> ZREVRANGEBYSCORE z 1 2
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
        Form { by: Some(By::Score), back: Some(true), source: 1, store: false },
    )
}
