//! SUNIONCARD: <https://redis.io/docs/latest/commands/sunioncard/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

use super::counted;

pub(crate) static SUNIONCARD: DataCommand = DataCommand {
    row: Row {
        name: "sunioncard",
        group: Group::Set,
        since: "8.10.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N) where N is the size of all sets together.",
        summary: "Returns the number of members that at least one of several sets has.",
        syntax: "SUNIONCARD numkeys key [key ...] [APPROX] [LIMIT limit]",
        transcript: r#"
# only: redis>=8.10
> SADD a 1 2 x
(integer) 3
> SADD b 2 3 x y
(integer) 4
> SUNIONCARD 2 a b
(integer) 5
> SUNIONCARD 3 a b nothing LIMIT 3
(integer) 3
> SUNIONCARD 2 a b LIMIT 0
(integer) 5
# By a HyperLogLog.
> SUNIONCARD 2 a b APPROX
(integer) 5
> SUNIONCARD 2 a b APPROX LIMIT 2
(integer) 2
> SUNIONCARD 1 nothing
(integer) 0
> SUNIONCARD 0 a
(error) ERR numkeys should be greater than 0
> SUNIONCARD 3 a b
(error) ERR Number of keys can't be greater than number of args
> SUNIONCARD 1 a LIMIT -1
(error) ERR LIMIT can't be negative
> SUNIONCARD 1 a WITHSCORES
(error) ERR syntax error
> SET t text
OK
> SUNIONCARD 2 a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = counted(args, true)?;
    let n = super::algebra::sunioncard(db, args, o.end, o.limit, o.approx)?;
    reply.int(n as i64);
    Ok(())
}
