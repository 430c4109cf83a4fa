//! HLEN: <https://redis.io/docs/latest/commands/hlen/>
//!
//! Counts fields whose time is over and that are not removed yet, as Redis does: leaving them out
//! would take a walk over all fields.

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HLEN: DataCommand = DataCommand {
    row: Row {
        name: "hlen",
        group: Group::Hash,
        since: "2.0.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the number of fields of a hash.",
        syntax: "HLEN key",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HLEN user
(integer) 2
> HLEN nobody
(integer) 0
> SET text v
OK
> HLEN text
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let n = db.read_as(key, Kind::Hash)?.map_or(0, |e| hash::len(&e));
    reply.int(n as i64);
    Ok(())
}
