//! HGETDEL: <https://redis.io/docs/latest/commands/hgetdel/>

use resp::{Args, Reply};
use store::{Class, Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::hash::deadline;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HGETDEL: DataCommand = DataCommand {
    row: Row {
        name: "hgetdel",
        group: Group::Hash,
        since: "8.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Returns the values of fields of a hash and removes the fields.",
        syntax: "HGETDEL key FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=8.0
> HSET user name Ann age 41
(integer) 2
> HGETDEL user FIELDS 3 name city name
1) "Ann"
2) (nil)
3) (nil)
> HGETDEL user FIELDS 1 age
1) "41"
> EXISTS user
(integer) 0
> HGETDEL user FIELDS 1 age
1) (nil)
> HGETDEL user FIELDS 0 age
(error) ERR Number of fields must be a positive integer
> HGETDEL user FIELDS 2 age
(error) ERR The `numfields` parameter must match the number of arguments
> HGETDEL user FIELD 1 age
(error) ERR Mandatory argument FIELDS is missing or not at the right position
> SET text v
OK
> HGETDEL text FIELDS 1 f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    db.write_as(key, Kind::Hash)?;
    let first = deadline::fields(args, 2)?;
    super::lapse_for_write(db, key, args.iter_from(first))?;
    let mut found = db.write_as(key, Kind::Hash)?;
    let before = found.as_ref().and_then(|e| e.part_deadline());
    reply.array(args.len() - first);
    let mut gone = Vec::new();
    for field in args.iter_from(first) {
        match found.as_ref().and_then(|e| hash::get(e, field)) {
            None => reply.null(),
            Some(f) => {
                super::reply_value(f.value, reply);
                gone.push(field);
                found.as_mut().map(|e| hash::remove(e, field));
            }
        }
    }
    let after = found.as_ref().and_then(|e| e.part_deadline());
    db.part_deadline_changed(key, before, after);
    if !gone.is_empty() {
        if db.cx.effects.observed {
            db.rewrite(&[&[b"HDEL", key.bytes], &gone[..]].concat());
        }
        db.changed(key.bytes, Class::Hash, "hdel");
        db.dirty(gone.len() as u64 - 1);
        super::remove_if_empty(db, key);
    }
    Ok(())
}
