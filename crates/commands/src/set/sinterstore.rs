//! SINTERSTORE: <https://redis.io/docs/latest/commands/sinterstore/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SINTERSTORE: DataCommand = DataCommand {
    row: Row {
        name: "sinterstore",
        group: Group::Set,
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_SMALLEST,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::range(2, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        complexity: "O(N*M) at worst, where N is the size of the smallest set and M the number of sets; O(N) with N the size of all for integers.",
        summary: "Stores the members that all of several sets have.",
        syntax: "SINTERSTORE destination key [key ...]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SINTERSTORE d a b
(integer) 3
> SCARD d
(integer) 3
> SINTERSTORE a a b c
(integer) 1
> SMEMBERS a
1) "3"
> OBJECT ENCODING a
"intset"
> SET d text EX 100
OK
> SINTERSTORE d b
(integer) 4
> TTL d
(integer) -1
> SINTERSTORE d b nothing
(integer) 0
> EXISTS d
(integer) 0
> SET t text
OK
> SINTERSTORE d b t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SINTERSTORE t b
(integer) 4
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sinterstore(db, args, reply)
}
