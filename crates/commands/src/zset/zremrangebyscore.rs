//! ZREMRANGEBYSCORE: <https://redis.io/docs/latest/commands/zremrangebyscore/>

use resp::{Args, Reply};
use store::Db;

use super::range::By;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREMRANGEBYSCORE: DataCommand = DataCommand {
    row: Row {
        name: "zremrangebyscore",
        group: Group::SortedSet,
        since: "1.2.0",
        arity: 4,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members removed.",
        summary: "Removes the members with a score within a range.",
        syntax: "ZREMRANGEBYSCORE key min:double max:double",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> ZREMRANGEBYSCORE z (1 3
(integer) 2
> ZRANGE z 0 -1
1) "a"
2) "d"
> ZREMRANGEBYSCORE z 9 1
(integer) 0
> ZREMRANGEBYSCORE z -inf inf
(integer) 2
> EXISTS z
(integer) 0
> ZREMRANGEBYSCORE z 1 a
(error) ERR min or max is not a float
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::remove_range(db, args, reply, By::Score, "zremrangebyscore")
}
