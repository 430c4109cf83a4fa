//! SDIFFSTORE: <https://redis.io/docs/latest/commands/sdiffstore/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SDIFFSTORE: DataCommand = DataCommand {
    row: Row {
        name: "sdiffstore",
        group: Group::Set,
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N) where N is the number of members of all sets.",
        summary: "Stores the members of a set that several others do not have.",
        syntax: "SDIFFSTORE destination key [key ...]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SDIFFSTORE d a c
(integer) 3
> SDIFFSTORE a a b
(integer) 1
> SMEMBERS a
1) "1"
> SDIFFSTORE d a a
(integer) 0
> EXISTS d
(integer) 0
> SADD big 1 2 3 4 5 6 7 8
(integer) 8
> SDIFFSTORE d big a nothing b c nothing
(integer) 3
> SMEMBERS d
1) "6"
2) "7"
3) "8"
> SET t text
OK
> SDIFFSTORE d a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sdiffstore(db, args, reply)
}
