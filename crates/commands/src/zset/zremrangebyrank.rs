//! ZREMRANGEBYRANK: <https://redis.io/docs/latest/commands/zremrangebyrank/>

use resp::{Args, Reply};
use store::Db;

use super::range::By;
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static ZREMRANGEBYRANK: DataCommand = DataCommand {
    row: Row {
        name: "zremrangebyrank",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: 4,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(log(N)+M) where N is the size of the set and M the number of members removed.",
        summary: "Removes the members within a range of ranks.",
        syntax: "ZREMRANGEBYRANK key start stop",
        transcript: r#"
> ZADD z 1 a 2 b 3 c 4 d
(integer) 4
> ZREMRANGEBYRANK z 1 2
(integer) 2
> ZRANGE z 0 -1
1) "a"
2) "d"
> ZREMRANGEBYRANK z 5 6
(integer) 0
> ZREMRANGEBYRANK z -1 -1
(integer) 1
> ZREMRANGEBYRANK z 0 -1
(integer) 1
> EXISTS z
(integer) 0
> ZREMRANGEBYRANK z 0 -1
(integer) 0
> ZREMRANGEBYRANK z 0 a
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::remove_range(db, args, reply, By::Rank, "zremrangebyrank")
}
