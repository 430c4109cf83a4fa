//! SDIFF: <https://redis.io/docs/latest/commands/sdiff/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SDIFF: DataCommand = DataCommand {
    row: Row {
        name: "sdiff",
        group: Group::Set,
        arity: -2,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES.or(Traits::SORTED_FOR_SCRIPTS),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N) where N is the number of members of all sets.",
        summary: "Returns the members of a set that several others do not have.",
        syntax: "SDIFF key [key ...]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SDIFF a b
1) "1"
> SDIFF c a nothing
1) "4"
2) "5"
> SDIFF a a
(empty array)
> SDIFF nothing a
(empty array)
> SET t text
OK
> SDIFF a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD a 1
(integer) 1
> SDIFF a nothing
1~ "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sdiff(db, args, reply)
}
