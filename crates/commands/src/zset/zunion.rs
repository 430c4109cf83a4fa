//! ZUNION: <https://redis.io/docs/latest/commands/zunion/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZUNION: DataCommand = DataCommand {
    row: Row {
        name: "zunion",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N)+O(M*log(M)) where N is the size of all sources together and M that of the result.",
        summary: "Returns the union of sorted sets.",
        syntax: "ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]",
        transcript: r#"
> ZADD a 1 x 2 y
(integer) 2
> ZADD b 3 y 4 z
(integer) 2
> ZUNION 2 a b
1) "x"
2) "z"
3) "y"
> ZUNION 2 a b WITHSCORES
1) "x"
2) "1"
3) "z"
4) "4"
5) "y"
6) "5"
> ZUNION 3 a b nothing WEIGHTS 2 0.5 1 WITHSCORES
1) "x"
2) "2"
3) "z"
4) "2"
5) "y"
6) "5.5"
> ZUNION 2 a b AGGREGATE MIN WITHSCORES
1) "x"
2) "1"
3) "y"
4) "2"
5) "z"
6) "4"
> ZUNION 2 a b aggregate max withscores
1) "x"
2) "1"
3) "y"
4) "3"
5) "z"
6) "4"
> ZUNION 1 nothing
(empty array)
> ZADD i inf x
(integer) 1
> ZADD j -inf x
(integer) 1
> ZUNION 2 i j WITHSCORES
1) "x"
2) "0"
> ZUNION 1 i WEIGHTS 0 WITHSCORES
1) "x"
2) "0"
> SADD t y w 7
(integer) 3
> ZUNION 2 a t WITHSCORES
1) "7"
2) "1"
3) "w"
4) "1"
5) "x"
6) "1"
7) "y"
8) "3"
> ZUNION 1 t WEIGHTS 3 WITHSCORES
1) "7"
2) "3"
3) "w"
4) "3"
5) "y"
6) "3"
> ZUNION 0 a
(error) ERR at least 1 input key is needed for 'zunion' command
> ZUNION 3 a b
(error) ERR syntax error
> ZUNION one a
(error) ERR value is not an integer or out of range
> ZUNION 2 a b WEIGHTS 1
(error) ERR syntax error
> ZUNION 2 a b WEIGHTS 1 one
(error) ERR weight value is not a float
> ZUNION 2 a b AGGREGATE AVG
(error) ERR syntax error
> ZUNION 2 a b LIMIT 1
(error) ERR syntax error
> SET s v
OK
> ZUNION 2 a s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> ZADD a 1 x 2 y
(integer) 2
> ZUNION 1 a WITHSCORES
1) 1) "x"
   2) (double) 1
2) 1) "y"
   2) (double) 2
# reset
# only: redis>=8.8
> ZADD a 5 x 6 y
(integer) 2
> ZADD b 7 y
(integer) 1
> ZUNION 2 a b AGGREGATE COUNT WITHSCORES
1) "x"
2) "1"
3) "y"
4) "2"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Union, Form::Reply)
}
