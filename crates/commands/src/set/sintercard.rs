//! SINTERCARD: <https://redis.io/docs/latest/commands/sintercard/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SINTERCARD: DataCommand = DataCommand {
    row: Row {
        name: "sintercard",
        group: Group::Set,
        since: "7.0.0",
        arity: -3,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_SMALLEST,
        keys: &[KeySpec::counted(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*M) at worst, where N is the size of the smallest set and M the number of sets; O(N) with N the size of all for integers.",
        summary: "Returns the number of members that all of several sets have.",
        syntax: "SINTERCARD numkeys key [key ...] [LIMIT limit]",
        transcript: r#"
> SADD a 1 2 3 x
(integer) 4
> SADD b 2 3 4 x
(integer) 4
> SADD c 3 4 5
(integer) 3
> SINTERCARD 2 a b
(integer) 3
> SINTERCARD 2 a b LIMIT 2
(integer) 2
> SINTERCARD 3 a b c limit 0
(integer) 1
> SINTERCARD 2 a nothing
(integer) 0
> SINTERCARD 0 a
(error) ERR numkeys should be greater than 0
> SINTERCARD two a b
(error) ERR numkeys should be greater than 0
> SINTERCARD 3 a b
(error) ERR Number of keys can't be greater than number of args
> SINTERCARD 1 a b
(error) ERR syntax error
> SINTERCARD 1 a LIMIT
(error) ERR syntax error
> SINTERCARD 1 a LIMIT -1
(error) ERR LIMIT can't be negative
> SINTERCARD 1 a LIMIT x
(error) ERR LIMIT can't be negative
> SET t text
OK
> SINTERCARD 2 a t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = super::counted(args, false)?;
    let n = super::algebra::sintercard(db, args, o.end, o.limit)?;
    reply.int(n as i64);
    Ok(())
}
