//! HMGET: <https://redis.io/docs/latest/commands/hmget/>

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HMGET: DataCommand = DataCommand {
    row: Row {
        name: "hmget",
        group: Group::Hash,
        since: "2.0.0",
        arity: -3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N), where N is the number of fields asked for.",
        summary: "Returns the values of fields of a hash.",
        syntax: "HMGET key field [field ...]",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HMGET user name city age
1) "Ann"
2) (nil)
3) "41"
> HMGET nobody name age
1) (nil)
2) (nil)
> SET text v
OK
> HMGET text f
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
    reply.array(args.len() - 2);
    let mut over = false;
    for field in args.iter_from(2) {
        match found.as_ref().and_then(|e| hash::get(e, field)) {
            Some(f) if !f.is_over(now) => super::reply_value(f.value, reply),
            other => {
                over |= other.is_some();
                reply.null();
            }
        }
    }
    if over {
        super::lapse(db, key, args.iter_from(2));
    }
    Ok(())
}
