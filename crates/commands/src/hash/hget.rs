//! HGET: <https://redis.io/docs/latest/commands/hget/>

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HGET: DataCommand = DataCommand {
    row: Row {
        name: "hget",
        group: Group::Hash,
        since: "2.0.0",
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the value of a field of a hash.",
        syntax: "HGET key field",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HGET user name
"Ann"
> HGET user age
"41"
> HGET user city
(nil)
> HGET nobody name
(nil)
> SET text v
OK
> HGET text f
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
    match found.as_ref().and_then(|e| hash::get(e, &args[2])) {
        Some(f) if !f.is_over(now) => super::reply_value(f.value, reply),
        Some(_) => {
            super::lapse(db, key, args.iter_from(2));
            reply.null();
        }
        None => reply.null(),
    }
    Ok(())
}
