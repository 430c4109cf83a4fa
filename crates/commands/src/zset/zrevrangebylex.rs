//! ZREVRANGEBYLEX: <https://redis.io/docs/latest/commands/zrevrangebylex/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, By, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{DocFlags, Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREVRANGEBYLEX: DataCommand = DataCommand {
    row: Row {
        name: "zrevrangebylex",
        group: Group::SortedSet,
        since: "2.8.9",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        doc_flags: DocFlags::DEPRECATED,
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` and `BYLEX` arguments",
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set of one score by their bytes, from the last to the first.",
        syntax: "ZREVRANGEBYLEX key max min [LIMIT offset count]",
        transcript: r#"
> ZADD z 0 a 0 b 0 c 0 d
(integer) 4
> ZREVRANGEBYLEX z [c -
1) "c"
2) "b"
3) "a"
> ZREVRANGEBYLEX z + - LIMIT 1 2
1) "c"
2) "b"
> ZREVRANGEBYLEX z - +
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
        Form { by: Some(By::Lex), back: Some(true), source: 1, store: false },
    )
}
