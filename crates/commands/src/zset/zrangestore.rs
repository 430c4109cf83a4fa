//! ZRANGESTORE: <https://redis.io/docs/latest/commands/zrangestore/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZRANGESTORE: DataCommand = DataCommand {
    row: Row {
        name: "zrangestore",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -5,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::one(2, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members stored.",
        summary: "Stores members of a sorted set, chosen by rank, score or member.",
        syntax: "ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> ZRANGESTORE y z 1 2
(integer) 2
> ZRANGE y 0 -1 WITHSCORES
1) "b"
2) "2"
3) "c"
4) "3"
> ZRANGESTORE y z (1 +inf BYSCORE LIMIT 1 5
(integer) 2
> ZRANGE y 0 -1 WITHSCORES
1) "c"
2) "3"
3) "d"
4) "4"
# A small set knows no negative zero, and the one that is stored is small up to its last member.
> ZADD n 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -0.0 a
(integer) 2
> ZRANGE n 0 0 WITHSCORES
1) "a"
2) "-0"
> ZRANGESTORE y n 0 1
(integer) 2
> ZRANGE y 0 0 WITHSCORES
1) "a"
2) "0"
> ZRANGESTORE y z 4 2 BYSCORE REV LIMIT 0 2
(integer) 2
> ZRANGE y 0 -1
1) "c"
2) "d"
> ZRANGESTORE z z 0 0
(integer) 1
> ZRANGE z 0 -1
1) "a"
> EXPIRE y 100
(integer) 1
> ZRANGESTORE y z 5 6
(integer) 0
> EXISTS y
(integer) 0
> SET y v
OK
> ZRANGESTORE y nothing 0 -1
(integer) 0
> EXISTS y
(integer) 0
> SET s v
OK
> ZRANGESTORE s z 0 -1
(integer) 1
> TYPE s
zset
> SET s v
OK
> ZRANGESTORE z s 0 -1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> ZRANGESTORE y z 0 -1 WITHSCORES
(error) ERR syntax error
> ZRANGESTORE y z 0 -1 LIMIT 0 1
(error) ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
> ZRANGESTORE y z 0 one
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    range::run(db, args, reply, Form { by: None, back: None, source: 2, store: true })
}
