//! SDIFFCARD: <https://redis.io/docs/latest/commands/sdiffcard/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

use super::counted;

pub(crate) static SDIFFCARD: DataCommand = DataCommand {
    row: Row {
        name: "sdiffcard",
        group: Group::Set,
        since: "8.10.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*M) where N is the size of the first set and M the number of sets.",
        summary: "Returns the number of members of a set that none of others has.",
        syntax: "SDIFFCARD numkeys key [key ...] [LIMIT limit]",
        transcript: r#"
# only: redis>=8.10
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 y
(integer) 2
> SDIFFCARD 2 a b
(integer) 3
> SDIFFCARD 3 a b nothing LIMIT 2
(integer) 2
> SDIFFCARD 2 a a
(integer) 0
> SDIFFCARD 2 nothing a
(integer) 0
> SDIFFCARD 1 a
(integer) 4
> SDIFFCARD 0 a
(error) ERR numkeys should be greater than 0
> SDIFFCARD 3 a b
(error) ERR Number of keys can't be greater than number of args
> SDIFFCARD 1 a APPROX
(error) ERR syntax error
> SDIFFCARD 1 a LIMIT x
(error) ERR LIMIT can't be negative
> SET t text
OK
> SDIFFCARD 2 a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = counted(args, false)?;
    let n = super::algebra::sdiffcard(db, args, o.end, o.limit)?;
    reply.int(n as i64);
    Ok(())
}
