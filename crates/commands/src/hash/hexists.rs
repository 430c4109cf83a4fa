//! HEXISTS: <https://redis.io/docs/latest/commands/hexists/>

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HEXISTS: DataCommand = DataCommand {
    row: Row {
        name: "hexists",
        group: Group::Hash,
        since: "2.0.0",
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Tells whether a field of a hash is there.",
        syntax: "HEXISTS key field",
        transcript: r#"
> HSET user name Ann
(integer) 1
> HEXISTS user name
(integer) 1
> HEXISTS user city
(integer) 0
> HEXISTS nobody name
(integer) 0
> SET text v
OK
> HEXISTS text f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    let found = db.read_as(key, Kind::Hash)?;
    let over = found.as_ref().and_then(|e| hash::get(e, &args[2])).map(|f| f.is_over(now));
    if over == Some(true) {
        super::lapse(db, key, args.iter_from(2));
    }
    reply.int((over == Some(false)).into());
    Ok(())
}
