//! ZREVRANK: <https://redis.io/docs/latest/commands/zrevrank/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZREVRANK: DataCommand = DataCommand {
    row: Row {
        name: "zrevrank",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: -3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("7.2.0", "Added the optional `WITHSCORE` argument.")],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Returns the place of a member, counted from the highest score.",
        syntax: "ZREVRANK key member [WITHSCORE]",
        transcript: r#"
> ZADD z 1 a 2 b 2 c
(integer) 3
> ZREVRANK z a
(integer) 2
> ZREVRANK z b
(integer) 1
> ZREVRANK z c
(integer) 0
> ZREVRANK z nobody
(nil)
> ZREVRANK nothing a
(nil)
# reset
# only: redis>=7.2
> ZADD z 1 a 2.5 b 3 c
(integer) 3
> ZREVRANK z b WITHSCORE
1) (integer) 1
2) "2.5"
> ZREVRANK z nobody WITHSCORE
(nil)
> ZREVRANK nothing a WITHSCORE
(nil)
> ZREVRANK z b WITHSCORES
(error) ERR syntax error
> ZREVRANK z b WITHSCORE x
(error) ERR wrong number of arguments for 'zrevrank' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::rank(db, args, reply, true, "zrevrank")
}
