//! HPERSIST: <https://redis.io/docs/latest/commands/hpersist/>

use resp::{Args, Reply};
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::hash::deadline::{self, Done};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HPERSIST: DataCommand = DataCommand {
    row: Row {
        name: "hpersist",
        group: Group::Hash,
        since: "7.4.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields named.",
        summary: "Removes the deadlines of fields of a hash.",
        syntax: "HPERSIST key FIELDS numfields field [field ...]",
        transcript: r#"
# only: redis>=7.4
> HSET user name Ann age 41
(integer) 2
> HEXPIRE user 100 FIELDS 1 name
1) (integer) 1
> HPERSIST user FIELDS 3 name age city
1) (integer) 1
2) (integer) -1
3) (integer) -2
> HTTL user FIELDS 1 name
1) (integer) -1
> HPERSIST nobody FIELDS 1 name
1) (integer) -2
> HPERSIST user FIELDS 2 name
(error) ERR The `numfields` parameter must match the number of arguments
> SET text v
OK
> HPERSIST text FIELDS 1 f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    let mut found = db.write_as(key, Kind::Hash)?;
    let first = deadline::fields(args, 2)?;
    reply.array(args.len() - first);
    let before = found.as_ref().and_then(|e| e.part_deadline());
    let mut changed = Vec::new();
    for field in args.iter_from(first) {
        let code = match found.as_ref().and_then(|e| hash::get(e, field)) {
            Some(f) if f.deadline.is_none() => -1,
            Some(f) if !f.is_over(now) => {
                changed.push(field);
                found.as_mut().map(|e| hash::set_deadline(e, field, None));
                1
            }
            _ => -2,
        };
        reply.int(code);
    }
    let after = found.as_ref().and_then(|e| e.part_deadline());
    db.part_deadline_changed(key, before, after);
    deadline::note(db, key, Done::Persisted, &changed);
    Ok(())
}
