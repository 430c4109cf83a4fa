//! ZUNIONSTORE: <https://redis.io/docs/latest/commands/zunionstore/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZUNIONSTORE: DataCommand = DataCommand {
    row: Row {
        name: "zunionstore",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N)+O(M*log(M)) where N is the size of all sources together and M that of the result.",
        summary: "Stores the union of sorted sets.",
        syntax: "ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]",
        transcript: r#"
> ZADD a 1 x 2 y
(integer) 2
> ZADD b 3 y 4 z
(integer) 2
> ZUNIONSTORE d 2 a b WEIGHTS 2 1
(integer) 3
> ZRANGE d 0 -1 WITHSCORES
1) "x"
2) "2"
3) "z"
4) "4"
5) "y"
6) "7"
> ZUNIONSTORE a 2 a b
(integer) 3
> ZRANGE a 0 -1 WITHSCORES
1) "x"
2) "1"
3) "z"
4) "4"
5) "y"
6) "5"
> SET s v
OK
> ZUNIONSTORE s 1 a
(integer) 3
> TYPE s
zset
> ZUNIONSTORE s 1 nothing
(integer) 0
> EXISTS s
(integer) 0
> ZUNIONSTORE d 2 a b WITHSCORES
(error) ERR syntax error
> ZUNIONSTORE d 0 a
(error) ERR at least 1 input key is needed for 'zunionstore' command
> ZUNIONSTORE d 2 a
(error) ERR syntax error
# reset
# only: redis>=8.8
> ZADD a 5 x 6 y
(integer) 2
> ZADD b 7 y
(integer) 1
> ZUNIONSTORE d 2 a b WEIGHTS 10 5 AGGREGATE COUNT
(integer) 2
> ZSCORE d y
"15"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Union, Form::Store("zunionstore"))
}
