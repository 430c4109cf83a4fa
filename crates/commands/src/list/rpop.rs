//! RPOP: <https://redis.io/docs/latest/commands/rpop/>

use data::list::End;
use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RPOP: DataCommand = DataCommand {
    row: Row {
        name: "rpop",
        group: Group::List,
        since: "1.0.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        history: &[("6.2.0", "Added the `count` argument.")],
        complexity: "O(N) where N is the number of elements returned.",
        summary: "Removes the last elements of a list and returns them.",
        syntax: "RPOP key [count]",
        transcript: r#"
> RPUSH k a b c d e
(integer) 5
> RPOP k
"e"
> RPOP k 2
1) "d"
2) "c"
> LRANGE k 0 -1
1) "a"
2) "b"
> RPOP k 0
(empty array)
> RPOP k 10
1) "b"
2) "a"
> EXISTS k
(integer) 0
> RPOP k
(nil)
> RPOP k 1
(nil)
> RPOP k -1
(error) ERR value is out of range, must be positive
> RPOP k x
(error) ERR value is out of range, must be positive
> RPOP k 1 2
(error) ERR wrong number of arguments for 'rpop' command
> SET s v
OK
> RPOP s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> RPOP s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::pop(db, args, End::Tail, "rpop", reply)
}
