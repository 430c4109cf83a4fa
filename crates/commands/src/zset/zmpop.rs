//! ZMPOP: <https://redis.io/docs/latest/commands/zmpop/>

use resp::{Args, Reply};
use store::Db;

use super::pop;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZMPOP: DataCommand = DataCommand {
    row: Row {
        name: "zmpop",
        group: Group::SortedSet,
        since: "7.0.0",
        arity: -4,
        flags: Flags::WRITE,
        keys: &[KeySpec::counted(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(K) + O(M*log(N)) where K is the number of keys, N the size of the set and M the number of members popped.",
        summary: "Removes and returns members with the lowest or highest scores, from the first of several sorted sets that has any.",
        syntax: "ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> ZMPOP 2 nothing z MIN
1) "z"
2) 1) 1) "a"
      2) "1"
> ZMPOP 1 z MAX COUNT 2
1) "z"
2) 1) 1) "d"
      2) "4"
   2) 1) "c"
      2) "3"
> ZMPOP 1 z min count 10
1) "z"
2) 1) 1) "b"
      2) "2"
> ZMPOP 1 z MIN
(nil)
> ZMPOP 0 z MIN
(error) ERR numkeys should be greater than 0
> ZMPOP one z MIN
(error) ERR numkeys should be greater than 0
> ZMPOP 2 z MIN
(error) ERR syntax error
> ZMPOP 1 z MIDDLE
(error) ERR syntax error
> ZMPOP 1 z MIN COUNT 0
(error) ERR count should be greater than 0
> ZMPOP 1 z MIN COUNT 1 COUNT 2
(error) ERR syntax error
> ZMPOP 1 z MIN COUNT
(error) ERR syntax error
> SET s v
OK
> ZMPOP 2 s z MIN
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> ZADD z 1 a 2 b
(integer) 2
> ZMPOP 1 z MIN COUNT 2
1) "z"
2) 1) 1) "a"
      2) (double) 1
   2) 1) "b"
      2) (double) 2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pop::many_keys(db, args, reply, false)
}
