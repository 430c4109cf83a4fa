//! ZPOPMIN: <https://redis.io/docs/latest/commands/zpopmin/>

use resp::{Args, Reply};
use store::Db;

use super::pop;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZPOPMIN: DataCommand = DataCommand {
    row: Row {
        name: "zpopmin",
        group: Group::SortedSet,
        since: "5.0.0",
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(log(N)*M) where N is the size of the set and M the number of members popped.",
        summary: "Removes and returns the members with the lowest scores.",
        syntax: "ZPOPMIN key [count]",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 3 d
(integer) 4
> ZPOPMIN z
1) "a"
2) "1"
> ZPOPMIN z 2
1) "b"
2) "2"
3) "c"
4) "3"
> ZPOPMIN z 0
(empty array)
> ZPOPMIN z 10
1) "d"
2) "3"
> EXISTS z
(integer) 0
> ZPOPMIN z
(empty array)
> ZPOPMIN z -1
(error) ERR value is out of range, must be positive
> ZPOPMIN z one
(error) ERR value is out of range, must be positive
> ZPOPMIN z 1 2
(error) ERR syntax error
> SET s v
OK
> ZPOPMIN s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> ZPOPMIN s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> ZADD z 1 a 1 b 1 c
(integer) 3
> ZPOPMIN z
1) "a"
2) (double) 1
> ZPOPMIN z 1
1) 1) "b"
   2) (double) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    pop::one_key(db, args, reply, false)
}
