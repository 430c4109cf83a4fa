//! Setting and reading deadlines: the shared work of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, and
//! of TTL, PTTL, EXPIRETIME and PEXPIRETIME.

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::Outcome;
use crate::fail::Fail;
use crate::parse::{TimeUnit, int};

/// Under which condition a deadline is set.
#[derive(Clone, Copy, Default)]
struct Condition {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Condition {
    fn of(args: &Args<'_>) -> Result<Self, Fail> {
        let mut c = Self::default();
        for i in 3..args.len() {
            match &args[i] {
                w if w.eq_ignore_ascii_case(b"nx") => c.nx = true,
                w if w.eq_ignore_ascii_case(b"xx") => c.xx = true,
                w if w.eq_ignore_ascii_case(b"gt") => c.gt = true,
                w if w.eq_ignore_ascii_case(b"lt") => c.lt = true,
                w => {
                    let w = crate::fail::quoted(w);
                    return Err(Fail::new(format!("ERR Unsupported option {w}")));
                }
            }
        }
        if c.nx && (c.xx || c.gt || c.lt) {
            return Err(Fail::text(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if c.gt && c.lt {
            return Err(Fail::text("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(c)
    }

    /// A key without a deadline lives for ever: no deadline is later than that.
    fn allows(self, before: Option<i64>, at: i64) -> bool {
        match before {
            Some(before) => !(self.nx || self.gt && at <= before || self.lt && at >= before),
            None => !(self.xx || self.gt),
        }
    }
}

/// Unix milliseconds that argument 2 means. Unlike in SET, times in the past are accepted; only a
/// time that 64 bits cannot hold is refused.
fn moment(args: &Args<'_>, unit: TimeUnit, now: i64, command: &str) -> Result<i64, Fail> {
    let n = int(args, 2)?;
    let (factor, base) = match unit {
        TimeUnit::Seconds => (1000, now),
        TimeUnit::Millis => (1, now),
        TimeUnit::UnixSeconds => (1000, 0),
        TimeUnit::UnixMillis => (1, 0),
    };
    let at = n.checked_mul(factor).and_then(|ms| ms.checked_add(base));
    at.ok_or_else(|| Fail::expire_time(command))
}

/// `<command> key time [NX | XX | GT | LT]`.
pub(super) fn set(
    db: &mut Db<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    unit: TimeUnit,
    command: &str,
) -> Outcome {
    let condition = Condition::of(args)?;
    let at = moment(args, unit, db.now(), command)?;
    let key = db.first_key(&args[1]);
    if let Some(set) = db.postpone(key, at, |before| condition.allows(before, at)) {
        if set {
            postponed(db, args, unit, key.bytes, at);
        }
        reply.int(i64::from(set));
        return Ok(());
    }
    let before = match db.write(key) {
        Some(e) => e.deadline(),
        None => {
            reply.int(0);
            return Ok(());
        }
    };
    if !condition.allows(before, at) {
        reply.int(0);
        return Ok(());
    }
    // The journal gets the deletion: the clock at replay must not matter.
    if db.cx.lazy_expire {
        db.unlink(key);
        db.rewrite(&[b"UNLINK", key.bytes]);
    } else {
        db.displace(key);
        db.rewrite(&[b"DEL", key.bytes]);
    }
    db.changed(key.bytes, Class::Generic, "del");
    reply.int(1);
    Ok(())
}

/// Notes a deadline that was set.
#[inline]
fn postponed(db: &mut Db<'_>, args: &Args<'_>, unit: TimeUnit, key: &[u8], at: i64) {
    if db.cx.effects.observed && unit != TimeUnit::UnixMillis {
        let at = at.to_string();
        let mut form: Vec<&[u8]> = vec![b"PEXPIREAT", key, at.as_bytes()];
        form.extend(args.iter_from(3));
        db.rewrite(&form);
    }
    db.changed(key, Class::Generic, "expire");
}

/// `<command> key`: the deadline in this unit, -1 if there is none, -2 if there is no key.
pub(super) fn get(
    db: &mut Db<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    unit: TimeUnit,
) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    let left = match db.look(key).map(|e| e.deadline()) {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => match unit {
            TimeUnit::Seconds => seconds(at.saturating_sub(now)),
            TimeUnit::Millis => at.saturating_sub(now).max(0),
            TimeUnit::UnixSeconds => seconds(at),
            TimeUnit::UnixMillis => at.max(0),
        },
    };
    reply.int(left);
    Ok(())
}

/// Rounded, as Redis does.
fn seconds(ms: i64) -> i64 {
    ((ms.max(0) as u64 + 500) / 1000) as i64
}
