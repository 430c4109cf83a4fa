//! ZPOPMAX: <https://redis.io/docs/latest/commands/zpopmax/>

use resp::{Args, Reply};
use store::Db;

use super::pop;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZPOPMAX: DataCommand = DataCommand {
    row: Row {
        name: "zpopmax",
        group: Group::SortedSet,
        since: "5.0.0",
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(log(N)*M) where N is the size of the set and M the number of members popped.",
        summary: "Removes and returns the members with the highest scores.",
        syntax: "ZPOPMAX key [count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 3 d
(integer) 4
> ZPOPMAX z
1) "d"
2) "3"
> ZPOPMAX z 2
1) "c"
2) "3"
3) "b"
4) "2"
> ZPOPMAX z 0
(empty array)
> ZPOPMAX z 10
1) "a"
2) "1"
> EXISTS z
(integer) 0
> ZPOPMAX z
(empty array)
> ZPOPMAX z -1
(error) ERR value is out of range, must be positive
> ZPOPMAX z one
(error) ERR value is out of range, must be positive
> ZPOPMAX z 1 2
(error) ERR syntax error
> SET s v
OK
> ZPOPMAX s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> ZPOPMAX s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> ZADD z 1 a 1 b 1 c
(integer) 3
> ZPOPMAX z
1) "c"
2) (double) 1
> ZPOPMAX z 1
1) 1) "b"
   2) (double) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pop::one_key(db, args, reply, true)
}
