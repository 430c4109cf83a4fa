//! LPOP: <https://redis.io/docs/latest/commands/lpop/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LPOP: DataCommand = DataCommand {
    row: Row {
        name: "lpop",
        group: Group::List,
        since: "1.0.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        history: &[("6.2.0", "Added the `count` argument.")],
        complexity: "O(N) where N is the number of elements returned.",
        summary: "Removes the first elements of a list and returns them.",
        syntax: "LPOP key [count]",
        transcript: r#"
> RPUSH k a b c d e
(integer) 5
> LPOP k
"a"
> LPOP k 2
1) "b"
2) "c"
> LRANGE k 0 -1
1) "d"
2) "e"
> LPOP k 0
(empty array)
> LPOP k 10
1) "d"
2) "e"
> EXISTS k
(integer) 0
> LPOP k
(nil)
> LPOP k 1
(nil)
> LPOP k -1
(error) ERR value is out of range, must be positive
> LPOP k x
(error) ERR value is out of range, must be positive
> LPOP k 1 2
(error) ERR wrong number of arguments for 'lpop' command
> SET s v
OK
> LPOP s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPOP s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::pop(db, args, End::Head, "lpop", reply)
}
