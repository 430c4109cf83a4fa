//! ZINTERCARD: <https://redis.io/docs/latest/commands/zintercard/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZINTERCARD: DataCommand = DataCommand {
    row: Row {
        name: "zintercard",
        group: Group::SortedSet,
        since: "7.0.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_SMALLEST,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*K) where N is the size of the smallest source and K the number of sources.",
        summary: "Counts the members of an intersection of sorted sets.",
        syntax: "ZINTERCARD numkeys key [key ...] [LIMIT limit]",
        transcript: r#"
> ZADD a 1 x 2 y 3 z
(integer) 3
> ZADD b 3 y 4 z
(integer) 2
> ZINTERCARD 2 a b
(integer) 2
> ZINTERCARD 2 a b LIMIT 1
(integer) 1
> ZINTERCARD 2 a b LIMIT 0
(integer) 2
> SADD t y w 7
(integer) 3
> ZINTERCARD 2 t a
(integer) 1
> ZINTERCARD 2 a nothing
(integer) 0
> ZINTERCARD 2 a b LIMIT -1
(error) ERR LIMIT can't be negative
> ZINTERCARD 2 a b LIMIT one
(error) ERR LIMIT can't be negative
> ZINTERCARD 2 a b WITHSCORES
(error) ERR syntax error
> ZINTERCARD 0 a
(error) ERR at least 1 input key is needed for 'zintercard' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Inter, Form::Count)
}
