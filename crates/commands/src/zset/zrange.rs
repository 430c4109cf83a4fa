//! ZRANGE: <https://redis.io/docs/latest/commands/zrange/>

use resp::{Args, Reply};
use store::Db;

use super::range::{self, Form};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZRANGE: DataCommand = DataCommand {
    row: Row {
        name: "zrange",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: -4,
        traits: Traits::BY_REPLY.or(Traits::ESTIMATES_ITSELF),
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("6.2.0", "Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options.")],
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members returned.",
        summary: "Returns members of a sorted set by rank, score or member.",
        syntax: "ZRANGE key start:string stop:string [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> ZRANGE z 0 -1
1) "a"
2) "b"
3) "c"
4) "d"
> ZRANGE z 1 2 WITHSCORES
1) "b"
2) "2"
3) "c"
4) "3"
> ZRANGE z -2 100
1) "c"
2) "d"
> ZRANGE z 3 1
(empty array)
> ZRANGE z -100 0
1) "a"
> ZRANGE z 0 1 REV
1) "d"
2) "c"
> ZRANGE z 2 4 BYSCORE
1) "b"
2) "c"
3) "d"
> ZRANGE z (1 (4 BYSCORE WITHSCORES
1) "b"
2) "2"
3) "c"
4) "3"
> ZRANGE z 4 2 BYSCORE REV
1) "d"
2) "c"
3) "b"
> ZRANGE z (4 -inf BYSCORE REV LIMIT 1 1
1) "b"
> ZRANGE z -inf +inf BYSCORE LIMIT 1 -1
1) "b"
2) "c"
3) "d"
> ZRANGE z -inf +inf BYSCORE LIMIT -1 2
(empty array)
> ZRANGE z -inf +inf BYSCORE LIMIT 9 2
(empty array)
> ZRANGE z 5 1 BYSCORE
(empty array)
> ZRANGE nothing 0 -1
(empty array)
> ZADD y 0 a 0 b 0 c 0 d
(integer) 4
> ZRANGE y - + BYLEX
1) "a"
2) "b"
3) "c"
4) "d"
> ZRANGE y [b (d BYLEX
1) "b"
2) "c"
> ZRANGE y (d [b BYLEX REV
1) "c"
2) "b"
> ZRANGE y + - BYLEX REV LIMIT 1 2
1) "c"
2) "b"
> ZRANGE y + - BYLEX
(empty array)
> ZRANGE z 0 -1 LIMIT 0 1
(error) ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
> ZRANGE z - + BYLEX WITHSCORES
(error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
> ZRANGE z 0 one
(error) ERR value is not an integer or out of range
> ZRANGE z 0 one BYSCORE
(error) ERR min or max is not a float
> ZRANGE z 0 one BYLEX
(error) ERR min or max not valid string range item
> ZRANGE z 0 1 BYSCORE BYLEX
(error) ERR syntax error
> ZRANGE z 0 1 LIMIT 0
(error) ERR syntax error
> ZRANGE z 0 1 NOW
(error) ERR syntax error
> ZRANGE z 0 1 REV REV
(error) ERR syntax error
> SET s v
OK
> ZRANGE s 0 -1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> ZADD z 1 a 2.5 b
(integer) 2
> ZRANGE z 0 -1
1) "a"
2) "b"
> ZRANGE z 0 -1 WITHSCORES
1) 1) "a"
   2) (double) 1
2) 1) "b"
   2) (double) 2.5
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    range::run(db, args, reply, Form { by: None, back: None, source: 1, store: false })
}
