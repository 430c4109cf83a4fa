//! SINTER: <https://redis.io/docs/latest/commands/sinter/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SINTER: DataCommand = DataCommand {
    row: Row {
        name: "sinter",
        group: Group::Set,
        arity: -2,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_SMALLEST.or(Traits::SORTED_FOR_SCRIPTS),
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output_order"],
        complexity: "O(N*M) at worst, where N is the size of the smallest set and M the number of sets; O(N) with N the size of all for integers.",
        summary: "Returns the members that all of several sets have.",
        syntax: "SINTER key [key ...]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SINTER a b c
1) "3"
> SINTER c
1) "3"
2) "4"
3) "5"
> SINTER a nothing
(empty array)
> SET t text
OK
> SINTER nothing t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD a 1 2 3
(integer) 3
> SADD b 2 3 4
(integer) 3
> SINTER a b
1~ "2"
2~ "3"
> SINTER a nothing
(empty set)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::algebra::sinter(db, args, reply)
}
