//! Deadlines of fields: what HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT, HTTL, HPTTL, HEXPIRETIME
//! and HPEXPIRETIME, HPERSIST, HGETEX and HSETEX have in common.

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64, parse_i64};
use store::{Class, Db, Key, Kind, hash};

use crate::command::Outcome;
use crate::fail::Fail;
use crate::parse::TimeUnit;

/// The latest deadline of a field, as in Redis: about the year 4199.
const MS_MAX: i64 = ((1 << 48) - 2) >> 2;

const BAD_COUNT: Fail = Fail::text("ERR Number of fields must be a positive integer");
const MISMATCH: Fail =
    Fail::text("ERR The `numfields` parameter must match the number of arguments");
const NO_FIELDS: Fail =
    Fail::text("ERR Mandatory argument FIELDS is missing or not at the right position");

/// The reply about a field that is not there.
const NO_FIELD: i64 = -2;

/// `FIELDS numfields field [field ...]` from argument `at` on, to the last one: where the fields
/// begin.
pub(super) fn fields(args: &Args<'_>, at: usize) -> Result<usize, Fail> {
    fields_or(args, at, BAD_COUNT)
}

fn fields_or(args: &Args<'_>, at: usize, bad_count: Fail) -> Result<usize, Fail> {
    if !args.is(at, "fields") {
        return Err(NO_FIELDS);
    }
    let n = args.get(at + 1).and_then(parse_i64).filter(|n| *n > 0).ok_or(bad_count)?;
    let first = at + 2;
    if usize::try_from(n).ok() != args.len().checked_sub(first) {
        return Err(MISMATCH);
    }
    Ok(first)
}

/// Unix milliseconds that a time in `unit` means.
pub(super) fn moment(text: &[u8], unit: TimeUnit, now: i64, command: &str) -> Result<i64, Fail> {
    let n = parse_i64(text).ok_or(Fail::NOT_INTEGER)?;
    if n < 0 {
        return Err(Fail::text("ERR invalid expire time, must be >= 0"));
    }
    let (factor, base) = match unit {
        TimeUnit::Seconds => (1000, now),
        TimeUnit::Millis => (1, now),
        TimeUnit::UnixSeconds => (1000, 0),
        TimeUnit::UnixMillis => (1, 0),
    };
    n.checked_mul(factor)
        .and_then(|ms| ms.checked_add(base))
        .filter(|ms| *ms <= MS_MAX)
        .ok_or_else(|| Fail::expire_time(command))
}

/// Under which condition a deadline is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    Nx,
    Xx,
    Gt,
    Lt,
}

impl Condition {
    /// The condition that word `i` is, if it is one.
    fn of(args: &Args<'_>, i: usize) -> Option<Self> {
        [("nx", Self::Nx), ("xx", Self::Xx), ("gt", Self::Gt), ("lt", Self::Lt)]
            .into_iter()
            .find_map(|(word, condition)| args.is(i, word).then_some(condition))
    }

    /// A field without a deadline lives for ever: no deadline is later than that.
    fn allows(self, before: Option<i64>, at: i64) -> bool {
        match self {
            Self::Always => true,
            Self::Nx => before.is_none(),
            Self::Xx => before.is_some(),
            Self::Gt => before.is_some_and(|before| at > before),
            Self::Lt => before.is_none_or(|before| at < before),
        }
    }
}

/// What became of the deadlines of some fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// The fields have this one.
    At(i64),
    /// The fields have none.
    Persisted,
    /// The time was over already, and the fields were deleted.
    Deleted,
}

/// Notes a change of deadlines, with its journal form. Of no field: nothing.
pub(super) fn note(db: &mut Db<'_>, key: Key<'_>, done: Done, fields: &[&[u8]]) {
    let n = fields.len() as u64;
    if n == 0 {
        return;
    }
    if db.cx.effects.observed {
        let (mut a, mut b) = ([0; I64_LEN_MAX], [0; I64_LEN_MAX]);
        let count = fmt_i64(&mut a, n as i64);
        let start: &[&[u8]] = match done {
            Done::At(at) => &[b"HPEXPIREAT", key.bytes, fmt_i64(&mut b, at), b"FIELDS", count],
            Done::Persisted => &[b"HPERSIST", key.bytes, b"FIELDS", count],
            Done::Deleted => &[b"HDEL", key.bytes],
        };
        db.rewrite(&[start, fields].concat());
    }
    let event = match done {
        Done::At(_) => "hexpire",
        Done::Persisted => "hpersist",
        Done::Deleted => "hdel",
    };
    db.changed(key.bytes, Class::Hash, event);
    if done != Done::Persisted {
        db.dirty(n - 1);
    }
    if done == Done::Deleted {
        db.cx.counters.expired_subkeys += n;
        super::remove_if_empty(db, key);
    }
}

/// `<command> key time [NX | XX | GT | LT] FIELDS numfields field [field ...]`. Answers for each
/// field: -2 it is not there, 0 the condition is not met, 1 done, 2 deleted since the time is over.
pub(super) fn set(
    db: &mut Db<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    unit: TimeUnit,
    command: &str,
) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    db.write_as(key, Kind::Hash)?;
    let at = moment(&args[2], unit, now, command)?;
    let condition = Condition::of(args, 3);
    let bad_count = Fail::text("ERR Parameter `numFields` should be greater than 0");
    let first = fields_or(args, 3 + usize::from(condition.is_some()), bad_count)?;
    let condition = condition.unwrap_or(Condition::Always);
    super::lapse_for_write(db, key, args.iter_from(first))?;
    reply.array(args.len() - first);
    let Some(mut e) = db.write_as(key, Kind::Hash)? else {
        args.iter_from(first).for_each(|_| reply.int(NO_FIELD));
        return Ok(());
    };
    let before = e.part_deadline();
    hash::allow_deadlines(&mut e);
    let mut changed = Vec::new();
    for field in args.iter_from(first) {
        let code = match hash::get(&e, field).map(|f| f.deadline) {
            None => NO_FIELD,
            Some(its) if !condition.allows(its, at) => 0,
            Some(_) if at <= now => {
                hash::remove(&mut e, field);
                2
            }
            Some(_) => {
                hash::set_deadline(&mut e, field, Some(at));
                1
            }
        };
        if code > 0 {
            changed.push(field);
        }
        reply.int(code);
    }
    let after = e.part_deadline();
    db.part_deadline_changed(key, before, after);
    note(db, key, if at <= now { Done::Deleted } else { Done::At(at) }, &changed);
    Ok(())
}

/// `<command> key FIELDS numfields field [field ...]`: for each field its deadline in this unit, -1
/// if it has none, -2 if there is no such field.
pub(super) fn get(
    db: &mut Db<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    unit: TimeUnit,
) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    let found = db.read_as(key, Kind::Hash)?;
    let first = fields(args, 2)?;
    reply.array(args.len() - first);
    for field in args.iter_from(first) {
        let left = match found.as_ref().and_then(|e| hash::get(e, field)) {
            Some(f) if !f.is_over(now) => match (f.deadline, unit) {
                (None, _) => -1,
                // Rounded up to the next second, as Redis does here and not with keys.
                (Some(at), TimeUnit::Seconds) => (at - now + 999) / 1000,
                (Some(at), TimeUnit::Millis) => at - now,
                (Some(at), TimeUnit::UnixSeconds) => (at + 999) / 1000,
                (Some(at), TimeUnit::UnixMillis) => at,
            },
            _ => NO_FIELD,
        };
        reply.int(left);
    }
    Ok(())
}
