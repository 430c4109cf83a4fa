//! BZMPOP: <https://redis.io/docs/latest/commands/bzmpop/>

use resp::{Args, Reply};
use store::Db;

use super::pop;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BZMPOP: DataCommand = DataCommand {
    row: Row {
        name: "bzmpop",
        group: Group::SortedSet,
        since: "7.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::BLOCKING),
        keys: &[KeySpec::counted(2, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(K) + O(M*log(N)) where K is the number of keys, N the size of the set and M the number of members popped.",
        summary: "Removes and returns members with the lowest or highest scores, from the first of several sorted sets that has any, and waits for one if none has.",
        syntax: "BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> BZMPOP 0 2 nothing z MIN
1) "z"
2) 1) 1) "a"
      2) "1"
> BZMPOP 1 1 z MAX COUNT 2
1) "z"
2) 1) 1) "d"
      2) "4"
   2) 1) "c"
      2) "3"
> BZMPOP -1 1 z MIN
(error) ERR timeout is negative
> BZMPOP x 1 z MIN
(error) ERR timeout is not a float or out of range
> BZMPOP 1 0 z MIN
(error) ERR numkeys should be greater than 0
> BZMPOP 1 1 z MIDDLE
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pop::many_keys(db, args, reply, true)
}
