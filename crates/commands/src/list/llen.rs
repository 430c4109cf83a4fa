//! LLEN: <https://redis.io/docs/latest/commands/llen/>

use data::list::View;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static LLEN: DataCommand = DataCommand {
    row: Row {
        name: "llen",
        group: Group::List,
        since: "1.0.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the number of elements of a list.",
        syntax: "LLEN key",
        transcript: r#"
> LLEN k
(integer) 0
> RPUSH k a b
(integer) 2
> LLEN k
(integer) 2
> SET s v
OK
> LLEN s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let len = db.read_as(key, Kind::List)?.map_or(0, |e| View::of(&e).len());
    reply.int(len as i64);
    Ok(())
}
