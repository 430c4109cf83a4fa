//! ZRANK: <https://redis.io/docs/latest/commands/zrank/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static ZRANK: DataCommand = DataCommand {
    row: Row {
        name: "zrank",
        group: Group::SortedSet,
        since: "2.0.0",
        arity: -3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        history: &[("7.2.0", "Added the optional `WITHSCORE` argument.")],
        complexity: "O(log(N)) where N is the size of the set.",
        summary: "Returns the place of a member, counted from the lowest score.",
        syntax: "ZRANK key member [WITHSCORE]",
        transcript: r#"
> ZADD z 1 a 2 b 2 c
(integer) 3
> ZRANK z a
(integer) 0
> ZRANK z b
(integer) 1
> ZRANK z c
(integer) 2
> ZRANK z nobody
(nil)
> ZRANK nothing a
(nil)
# reset
# only: redis>=7.2
> ZADD z 1 a 2.5 b 3 c
(integer) 3
> ZRANK z b WITHSCORE
1) (integer) 1
2) "2.5"
> ZRANK z nobody WITHSCORE
(nil)
> ZRANK nothing a WITHSCORE
(nil)
> ZRANK z b WITHSCORES
(error) ERR syntax error
> ZRANK z b WITHSCORE x
(error) ERR wrong number of arguments for 'zrank' command
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::rank(db, args, reply, false, "zrank")
}
