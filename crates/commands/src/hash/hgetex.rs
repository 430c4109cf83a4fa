//! HGETEX: <https://redis.io/docs/latest/commands/hgetex/>

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::hash::deadline::{self, Done};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HGETEX: DataCommand = DataCommand {
    row: Row {
        name: "hgetex",
        group: Group::Hash,
        since: "8.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Returns the values of fields of a hash, and sets or removes their deadlines.",
        syntax: "HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT \
                 unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=8.0
> HSET user name Ann age 41
(integer) 2
> HGETEX user EX 100 FIELDS 2 name city
1) "Ann"
2) (nil)
> HTTL user FIELDS 2 name age
1) (integer) 100
2) (integer) -1
> HGETEX user PERSIST FIELDS 1 name
1) "Ann"
> HTTL user FIELDS 1 name
1) (integer) -1
> HGETEX user PXAT 33177117420123 FIELDS 1 name
1) "Ann"
> HPEXPIRETIME user FIELDS 1 name
1) (integer) 33177117420123
> HGETEX user FIELDS 1 age
1) "41"
# A moment that has passed deletes the field.
> HGETEX user EXAT 1 FIELDS 1 name
1) "Ann"
> HGETALL user
1) "age"
2) "41"
> HGETEX nobody EX 10 FIELDS 1 name
1) (nil)
> HGETEX user EX ten FIELDS 1 name
(error) ERR value is not an integer or out of range
> HGETEX user EX -1 FIELDS 1 name
(error) ERR invalid expire time, must be >= 0
> HGETEX user KEEPTTL FIELDS 1 name
(error) ERR Mandatory argument FIELDS is missing or not at the right position
> SET text v
OK
> HGETEX text FIELDS 1 f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    db.write_as(key, Kind::Hash)?;
    let (change, at) = if let Some(unit) = TimeUnit::of_option(args, 2) {
        let time = args.get(3).unwrap_or_default();
        (Some(Some(deadline::moment(time, unit, now, "hgetex")?)), 4)
    } else if args.is(2, "persist") {
        (Some(None), 3)
    } else {
        (None, 2)
    };
    let first = deadline::fields(args, at)?;
    super::lapse_for_write(db, key, args.iter_from(first))?;
    let mut found = db.write_as(key, Kind::Hash)?;
    let before = found.as_ref().and_then(|e| e.part_deadline());
    reply.array(args.len() - first);
    let mut changed = Vec::new();
    let done = match change {
        Some(Some(at)) if at <= now => Done::Deleted,
        Some(Some(at)) => Done::At(at),
        _ => Done::Persisted,
    };
    for field in args.iter_from(first) {
        let Some(e) = &mut found else {
            reply.null();
            continue;
        };
        let Some(f) = hash::get(e, field) else {
            reply.null();
            continue;
        };
        super::reply_value(f.value, reply);
        let had_one = f.deadline.is_some();
        match change {
            Some(_) if done == Done::Deleted => _ = hash::remove(e, field),
            Some(None) if !had_one => continue,
            Some(deadline) => _ = hash::set_deadline(e, field, deadline),
            None => continue,
        }
        changed.push(field);
    }
    let after = found.as_ref().and_then(|e| e.part_deadline());
    db.part_deadline_changed(key, before, after);
    deadline::note(db, key, done, &changed);
    Ok(())
}
