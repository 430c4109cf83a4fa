//! ZRANGEBYSCORE: <https://redis.io/docs/latest/commands/zrangebyscore/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, By, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZRANGEBYSCORE: DataCommand = DataCommand {
    row: Row {
        name: "zrangebyscore",
        group: Group::SortedSet,
        since: "1.0.5",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("2.0.0", "Added the `WITHSCORES` modifier.")],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `BYSCORE` argument",
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set by score.",
        syntax: "ZRANGEBYSCORE key min:double max:double [WITHSCORES] [LIMIT offset count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c
(integer) 3
> ZRANGEBYSCORE z 1 2
1) "a"
2) "b"
> ZRANGEBYSCORE z (1 3 WITHSCORES LIMIT 0 1
1) "b"
2) "2"
> ZRANGEBYSCORE z -inf (3 LIMIT 1 10
1) "b"
> ZRANGEBYSCORE z 3 1
(empty array)
> ZRANGEBYSCORE z (2 (2
(empty array)
> ZRANGEBYSCORE z a 1
(error) ERR min or max is not a float
> ZRANGEBYSCORE z 1 nan
(error) ERR min or max is not a float
> ZRANGEBYSCORE z 1 2 LIMIT 0
(error) ERR syntax error
> ZRANGEBYSCORE z 1 2 LIMIT a b
(error) ERR value is not an integer or out of range
> ZRANGEBYSCORE z 1 2 REV
(error) ERR syntax error
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
        Form { by: Some(By::Score), back: Some(false), source: 1, store: false },
    )
}
