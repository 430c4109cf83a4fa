//! ZRANGEBYLEX: <https://redis.io/docs/latest/commands/zrangebylex/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, By, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZRANGEBYLEX: DataCommand = DataCommand {
    row: Row {
        name: "zrangebylex",
        group: Group::SortedSet,
        since: "2.8.9",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `BYLEX` argument",
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set of one score by their bytes.",
        syntax: "ZRANGEBYLEX key min max [LIMIT offset count]",
        transcript: r#"
> ZADD z 0 a 0 b 0 c 0 d
(integer) 4
> ZRANGEBYLEX z - [c
1) "a"
2) "b"
3) "c"
> ZRANGEBYLEX z (a (d
1) "b"
2) "c"
> ZRANGEBYLEX z - + LIMIT 1 2
1) "b"
2) "c"
> ZRANGEBYLEX z [c [b
(empty array)
> ZRANGEBYLEX z (b (b
(empty array)
> ZRANGEBYLEX z - -
(empty array)
> ZRANGEBYLEX z b c
(error) ERR min or max not valid string range item
> ZRANGEBYLEX z - ++
(error) ERR min or max not valid string range item
> ZRANGEBYLEX z - + WITHSCORES
(error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
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
        Form { by: Some(By::Lex), back: Some(false), source: 1, store: false },
    )
}
