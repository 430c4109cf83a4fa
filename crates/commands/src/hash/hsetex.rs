//! HSETEX: <https://redis.io/docs/latest/commands/hsetex/>

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64};
use store::hash::{self, Value};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::hash::deadline::{self, Done};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HSETEX: DataCommand = DataCommand {
    row: Row {
        name: "hsetex",
        group: Group::Hash,
        since: "8.0.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(N), where N is the number of fields being set.",
        summary: "Sets fields of a hash to values, with a deadline if wanted.",
        syntax: "HSETEX key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds \
                 | PXAT unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]",
        transcript: r#"
# only: redis>=8.0
> HSETEX user EX 100 FIELDS 2 name Ann age 41
(integer) 1
> HTTL user FIELDS 2 name age
1) (integer) 100
2) (integer) 100
> HSETEX user KEEPTTL FIELDS 1 name Anna
(integer) 1
> HSETEX user FIELDS 1 age 42
(integer) 1
> HTTL user FIELDS 2 name age
1) (integer) 100
2) (integer) -1
> HSETEX user FNX FIELDS 2 city Rome name Bob
(integer) 0
> HSETEX user FXX FIELDS 2 city Rome name Bob
(integer) 0
> HSETEX user fnx px 100000 FIELDS 1 city Rome
(integer) 1
> HGETALL user
...
# A moment that has passed deletes the fields.
> HSETEX user EXAT 1 FIELDS 3 name Ann age 1 city Rome
(integer) 1
> EXISTS user
(integer) 0
> HSETEX nobody FXX FIELDS 1 name Ann
(integer) 0
> HSETEX user FNX FXX FIELDS 1 name Ann
(error) ERR Only one of FXX or FNX arguments can be specified
> HSETEX user EX 10 KEEPTTL FIELDS 1 name Ann
(error) ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
> HSETEX user EX -1 FIELDS 1 name Ann
(error) ERR invalid expire time, must be >= 0
> HSETEX user NOW FIELDS 1 name Ann
(error) ERR unknown argument: NOW
> HSETEX user FIELDS 0 name Ann
(error) ERR invalid number of fields
> HSETEX user FIELDS 2 name Ann
(error) ERR wrong number of arguments for 'hsetex' command
> HSETEX user FNX FIELDS 1 name
(error) ERR wrong number of arguments for 'hsetex' command
> SET text v
OK
> HSETEX text FIELDS 1 f v
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// When the fields are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// If none of the fields is there.
    Fnx,
    /// If all fields are there.
    Fxx,
}

/// How the fields' deadlines change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deadline {
    None,
    Keep,
    At(i64),
}

/// The options of one call, and where its fields begin.
struct Options {
    condition: Option<Condition>,
    deadline: Deadline,
    first: usize,
}

/// Reads the arguments in order, as Redis does: the first wrong one is reported.
fn options(args: &Args<'_>, now: i64) -> Result<Options, Fail> {
    let mut o = Options { condition: None, deadline: Deadline::None, first: 0 };
    let mut i = 2;
    while i < args.len() {
        if args.is(i, "fields") {
            if i + 3 >= args.len() {
                return Err(Fail::arity("hsetex"));
            }
            let n = stdx::num::parse_i64(&args[i + 1]).filter(|n| *n > 0);
            let n = n.ok_or(Fail::text("ERR invalid number of fields"))?;
            o.first = i + 2;
            let given = args.len() - o.first;
            if !given.is_multiple_of(2) || usize::try_from(n).ok() != Some(given / 2) {
                return Err(Fail::arity("hsetex"));
            }
            return Ok(o);
        }
        let unit = TimeUnit::of_option(args, i);
        let condition = match args.is(i, "fnx") {
            true => Some(Condition::Fnx),
            false => args.is(i, "fxx").then_some(Condition::Fxx),
        };
        if unit.is_some() || args.is(i, "keepttl") {
            if o.deadline != Deadline::None {
                return Err(Fail::text(
                    "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
                ));
            }
            o.deadline = Deadline::Keep;
            if let Some(unit) = unit {
                i += 1;
                let time = args.get(i).ok_or(Fail::text("ERR missing expire time"))?;
                o.deadline = Deadline::At(deadline::moment(time, unit, now, "hsetex")?);
            }
        } else if condition.is_some() {
            if o.condition.is_some() {
                return Err(Fail::text("ERR Only one of FXX or FNX arguments can be specified"));
            }
            o.condition = condition;
        } else {
            let word = crate::fail::quoted(&args[i]);
            return Err(Fail::new(format!("ERR unknown argument: {word}")));
        }
        i += 1;
    }
    Err(Fail::arity("hsetex"))
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (now, limits) = (db.now(), super::limits(db));
    let Options { condition, deadline, first } = options(args, now)?;
    let key = db.first_key(&args[1]);
    let fields = || args.iter_from(first).step_by(2);
    super::lapse_for_write(db, key, fields())?;
    let found = db.write_as(key, Kind::Hash)?;
    let there = |field: &[u8]| found.as_ref().is_some_and(|e| hash::get(e, field).is_some());
    let allowed = match condition {
        None => true,
        Some(Condition::Fnx) => !fields().any(there),
        Some(Condition::Fxx) => fields().all(there),
    };
    reply.int(allowed.into());
    if !allowed {
        return Ok(());
    }
    if matches!(deadline, Deadline::At(at) if at <= now) {
        // A time in the past: the fields are set and deleted at once.
        if found.is_some() {
            db.event(Class::Hash, "hset", key.bytes);
            super::remove(db, key, fields());
            deadline::note(db, key, Done::Deleted, &fields().collect::<Vec<_>>());
        }
        return Ok(());
    }
    let mut e = match found {
        Some(e) => e,
        None => db.create_run(key, Kind::Hash),
    };
    let before = e.part_deadline();
    let pairs = (args.len() - first) / 2;
    hash::make_room(&mut e, pairs, args.iter_from(first), limits);
    for i in (first..args.len()).step_by(2) {
        let (field, keep) = (&args[i], deadline != Deadline::None);
        hash::set(&mut e, field, &Value::Bytes(&args[i + 1]), keep, limits);
        if let Deadline::At(at) = deadline {
            hash::set_deadline(&mut e, field, Some(at));
        }
    }
    let after = e.part_deadline();
    db.part_deadline_changed(key, before, after);
    db.changed(key.bytes, Class::Hash, "hset");
    db.dirty(pairs as u64 - 1);
    if let Deadline::At(at) = deadline {
        db.event(Class::Hash, "hexpire", key.bytes);
        if db.cx.effects.observed {
            let (mut a, mut b) = ([0; I64_LEN_MAX], [0; I64_LEN_MAX]);
            let (at, n) = (fmt_i64(&mut a, at), fmt_i64(&mut b, pairs as i64));
            let start: &[&[u8]] = &[b"HSETEX", key.bytes, b"PXAT", at, b"FIELDS", n];
            db.rewrite(&[start, &args.to_slices(first)].concat());
        }
    }
    Ok(())
}
