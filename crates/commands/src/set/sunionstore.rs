//! SUNIONSTORE: <https://redis.io/docs/latest/commands/sunionstore/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SUNIONSTORE: DataCommand = DataCommand {
    row: Row {
        name: "sunionstore",
        group: Group::Set,
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N) where N is the number of members of all sets.",
        summary: "Stores the members of several sets.",
        syntax: "SUNIONSTORE destination key [key ...]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SUNIONSTORE d a b c
(integer) 6
> SCARD d
(integer) 6
> SUNIONSTORE a a c
(integer) 6
> SUNIONSTORE d b nothing
(integer) 4
> SUNIONSTORE d nothing
(integer) 0
> EXISTS d
(integer) 0
> SET t text
OK
> SUNIONSTORE d b t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SUNIONSTORE t c
(integer) 3
> OBJECT ENCODING t
"intset"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sunionstore(db, args, reply)
}
