//! ZINTERSTORE: <https://redis.io/docs/latest/commands/zinterstore/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZINTERSTORE: DataCommand = DataCommand {
    row: Row {
        name: "zinterstore",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_SMALLEST,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N*K)+O(M*log(M)) where N is the size of the smallest source, K the number of sources and M the size of the result.",
        summary: "Stores the intersection of sorted sets.",
        syntax: "ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX | COUNT>]",
        transcript: r#"
> ZADD a 1 x 2 y
(integer) 2
> ZADD b 3 y 4 z
(integer) 2
> ZINTERSTORE d 2 a b
(integer) 1
> ZRANGE d 0 -1 WITHSCORES
1) "y"
2) "5"
> ZINTERSTORE d 2 a nothing
(integer) 0
> EXISTS d
(integer) 0
> ZINTERSTORE d 0 a
(error) ERR at least 1 input key is needed for 'zinterstore' command
# reset
# only: redis>=8.8
> ZADD a 5 x 6 y
(integer) 2
> ZADD b 7 y
(integer) 1
> ZINTERSTORE d 2 a b WEIGHTS 10 5 AGGREGATE COUNT
(integer) 1
> ZSCORE d y
"15"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Inter, Form::Store("zinterstore"))
}
