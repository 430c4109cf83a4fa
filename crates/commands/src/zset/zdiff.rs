//! ZDIFF: <https://redis.io/docs/latest/commands/zdiff/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZDIFF: DataCommand = DataCommand {
    row: Row {
        name: "zdiff",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*K)+O(M*log(M)) where N is the size of the first source, K the number of sources and M the size of the result.",
        summary: "Returns what is in the first sorted set and in none of the others.",
        syntax: "ZDIFF numkeys key [key ...] [WITHSCORES]",
        transcript: r#"
> ZADD a 1 x 2 y 3 z
(integer) 3
> ZADD b 3 y
(integer) 1
> ZDIFF 2 a b
1) "x"
2) "z"
> ZDIFF 2 a b WITHSCORES
1) "x"
2) "1"
3) "z"
4) "3"
> ZDIFF 2 a a
(empty array)
> ZDIFF 2 a nothing
1) "x"
2) "y"
3) "z"
> SADD t y w 7
(integer) 3
> ZDIFF 2 a t
1) "x"
2) "z"
> ZDIFF 2 t a WITHSCORES
1) "7"
2) "1"
3) "w"
4) "1"
> ZDIFF 2 nothing a
(empty array)
> ZDIFF 2 a b WEIGHTS 1 2
(error) ERR syntax error
> ZDIFF 0 a
(error) ERR at least 1 input key is needed for 'zdiff' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Diff, Form::Reply)
}
