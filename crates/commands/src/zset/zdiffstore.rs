//! ZDIFFSTORE: <https://redis.io/docs/latest/commands/zdiffstore/>

use resp::{Args, Reply};
use store::Db;

use super::combine::{self, Form, Op};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZDIFFSTORE: DataCommand = DataCommand {
    row: Row {
        name: "zdiffstore",
        group: Group::SortedSet,
        since: "6.2.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::counted(2, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N*K)+O(M*log(M)) where N is the size of the first source, K the number of sources and M the size of the result.",
        summary: "Stores what is in the first sorted set and in none of the others.",
        syntax: "ZDIFFSTORE destination numkeys key [key ...]",
        transcript: r#"
> ZADD a 1 x 2 y
(integer) 2
> ZADD b 3 y 4 z
(integer) 2
> ZDIFFSTORE d 2 a b
(integer) 1
> ZRANGE d 0 -1 WITHSCORES
1) "x"
2) "1"
> ZDIFFSTORE d 2 a a
(integer) 0
> EXISTS d
(integer) 0
> ZDIFFSTORE d 0 a
(error) ERR at least 1 input key is needed for 'zdiffstore' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    combine::run(db, args, reply, Op::Diff, Form::Store("zdiffstore"))
}
