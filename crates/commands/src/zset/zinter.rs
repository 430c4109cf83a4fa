//! ZINTER: <https://redis.io/docs/latest/commands/zinter/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZINTER: DataCommand = DataCommand {
    row: Row {
        name: "zinter",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_SMALLEST,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*K)+O(M*log(M)) where N is the size of the smallest source, K the number of sources and M the size of the result.",
        summary: "Returns the intersection of sorted sets.",
        syntax: "ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>] [WITHSCORES]",
        transcript: r#"
> ZADD a 1 x 2 y 3 z
(integer) 3
> ZADD b 3 y 4 z
(integer) 2
> ZINTER 2 a b
1) "y"
2) "z"
> ZINTER 2 a b WEIGHTS 2 0.5 WITHSCORES
1) "y"
2) "5.5"
3) "z"
4) "8"
> ZINTER 2 a b AGGREGATE MAX WITHSCORES
1) "y"
2) "3"
3) "z"
4) "4"
> ZINTER 2 a a WITHSCORES
1) "x"
2) "2"
3) "y"
4) "4"
5) "z"
6) "6"
> SADD t y w 7
(integer) 3
> ZINTER 2 a t WITHSCORES
1) "y"
2) "3"
> ZINTER 2 t t WITHSCORES
1) "7"
2) "2"
3) "w"
4) "2"
5) "y"
6) "2"
> ZINTER 2 a nothing
(empty array)
> ZINTER 0 a
(error) ERR at least 1 input key is needed for 'zinter' command
# reset
# only: redis>=8.8
> ZADD a 5 x 6 y
(integer) 2
> ZADD b 7 y
(integer) 1
> ZINTER 2 a b AGGREGATE COUNT WITHSCORES
1) "y"
2) "2"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Inter, Form::Reply)
}
