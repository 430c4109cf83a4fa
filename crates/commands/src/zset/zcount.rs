//! ZCOUNT: <https://redis.io/docs/latest/commands/zcount/>

use resp::{Args, Reply};
use store::Db;

use super::range::By;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZCOUNT: DataCommand = DataCommand {
    row: Row {
        name: "zcount",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: 4,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Counts the members with a score within a range.",
        syntax: "ZCOUNT key min:double max:double",
        transcript: r#"
> ZADD z 1 a 2 b 3 c
(integer) 3
> ZCOUNT z 1 2
(integer) 2
> ZCOUNT z (1 +inf
(integer) 2
> ZCOUNT z 3 1
(integer) 0
> ZCOUNT nothing 1 2
(integer) 0
> ZCOUNT z "\x00a" 1
(integer) 1
> ZCOUNT z a 1
(error) ERR min or max is not a float
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::count(db, args, reply, By::Score)
}
