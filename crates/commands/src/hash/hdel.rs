//! HDEL: <https://redis.io/docs/latest/commands/hdel/>

use resp::{Args, Reply};
use store::{Class, Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HDEL: DataCommand = DataCommand {
    row: Row {
        name: "hdel",
        group: Group::Hash,
        since: "2.0.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        history: &[("2.4.0", "Accepts multiple `field` arguments.")],
        complexity: "O(N), where N is the number of fields to remove.",
        summary: "Removes fields of a hash; with the last of them goes the key.",
        syntax: "HDEL key field [field ...]",
        transcript: r#"
> HSET user name Ann age 41 city Rome
(integer) 3
> HDEL user age nothing
(integer) 1
> HDEL user name city name
(integer) 2
> EXISTS user
(integer) 0
> HDEL user name
(integer) 0
> SET text v
OK
> HDEL text f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::Hash)? else {
        reply.int(0);
        return Ok(());
    };
    let before = e.part_deadline();
    let n = args.iter_from(2).filter(|field| hash::remove(&mut e, field)).count();
    let (after, empty) = (e.part_deadline(), hash::len(&e) == 0);
    db.part_deadline_changed(key, before, after);
    if n > 0 {
        db.changed(key.bytes, Class::Hash, "hdel");
        db.dirty(n as u64 - 1);
        if empty {
            db.remove_empty(key);
        }
    }
    reply.int(n as i64);
    Ok(())
}
