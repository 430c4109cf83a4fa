//! SUNION: <https://redis.io/docs/latest/commands/sunion/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SUNION: DataCommand = DataCommand {
    row: Row {
        name: "sunion",
        group: Group::Set,
        arity: -2,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES.or(Traits::SORTED_FOR_SCRIPTS),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N) where N is the number of members of all sets.",
        summary: "Returns the members of several sets.",
        syntax: "SUNION key [key ...]",
        transcript: r#"
> SADD a 1 2 3
(integer) 3
> SADD b 3 4
(integer) 2
> SUNION a b nothing
1) "1"
2) "2"
3) "3"
4) "4"
> SUNION nothing
(empty array)
> SET t text
OK
> SUNION a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD a 1
(integer) 1
> SUNION a nothing
1~ "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sunion(db, args, reply)
}
