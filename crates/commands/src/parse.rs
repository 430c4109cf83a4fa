//! Reading of arguments that many commands have.

use resp::{Args, Reply};
use store::{Block, Db, Empty};

use crate::fail::Fail;

/// Argument `i` as a 64-bit integer, written as Redis requires (no `+`, no leading zero).
#[inline]
pub fn int(args: &Args<'_>, i: usize) -> Result<i64, Fail> {
    stdx::num::parse_i64(&args[i]).ok_or(Fail::NOT_INTEGER)
}

/// Most elements of a reply that repeats some, where no output limit applies: beyond it, the reply
/// would not fit into memory.
const REPEATED_MAX: u64 = 1 << 27;

/// How many elements a reply with repetitions has (a negative count of SRANDMEMBER and the like). With
/// an output limit any number is accepted, since [`Reply::repeat`] ends there. Without one Redis goes
/// on until its memory ends, and here too large a number is refused.
pub fn repeated(n: u64, reply: &mut Reply<'_>) -> Result<usize, Fail> {
    match usize::try_from(n) {
        Ok(count) if n <= REPEATED_MAX || reply.out().limit > 0 => Ok(count),
        _ => Err(Fail::text("ERR value is out of range")),
    }
}

/// The unit and base of a time argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds from now (EX).
    Seconds,
    /// Milliseconds from now (PX).
    Millis,
    /// Unix time in seconds (EXAT).
    UnixSeconds,
    /// Unix time in milliseconds (PXAT).
    UnixMillis,
}

impl TimeUnit {
    /// The unit that option word `i` names: EX, PX, EXAT or PXAT.
    pub fn of_option(args: &Args<'_>, i: usize) -> Option<Self> {
        [
            ("ex", Self::Seconds),
            ("px", Self::Millis),
            ("exat", Self::UnixSeconds),
            ("pxat", Self::UnixMillis),
        ]
        .into_iter()
        .find_map(|(word, unit)| args.is(i, word).then_some(unit))
    }
}

/// A deadline in Unix milliseconds from argument `i`, which must be above zero; `command` is for
/// the error text.
pub fn deadline(
    args: &Args<'_>,
    i: usize,
    unit: TimeUnit,
    now_ms: i64,
    command: &str,
) -> Result<i64, Fail> {
    let n = int(args, i)?;
    if n <= 0 {
        return Err(Fail::expire_time(command));
    }
    let ms = match unit {
        TimeUnit::Seconds | TimeUnit::UnixSeconds => n.checked_mul(1000),
        TimeUnit::Millis | TimeUnit::UnixMillis => Some(n),
    };
    let at = match unit {
        TimeUnit::Seconds | TimeUnit::Millis => ms.and_then(|ms| ms.checked_add(now_ms)),
        TimeUnit::UnixSeconds | TimeUnit::UnixMillis => ms,
    };
    at.ok_or_else(|| Fail::expire_time(command))
}

/// A 32-bit integer, with the error text of Redis's `getIntFromObjectOrReply`.
pub fn int32(args: &Args<'_>, i: usize) -> Result<i32, Fail> {
    i32::try_from(int(args, i)?).map_err(|_| Fail::INT32_RANGE)
}

/// A database number.
pub fn db_index(args: &Args<'_>, i: usize, databases: usize) -> Result<usize, Fail> {
    let n = int32(args, i)?;
    usize::try_from(n).ok().filter(|n| *n < databases).ok_or(Fail::DB_RANGE)
}

/// The timeout of a blocking command in argument `i`, in seconds with a fraction; 0 means forever.
/// Returns the Unix milliseconds at which it is over.
pub fn timeout(args: &Args<'_>, i: usize, now_ms: i64) -> Result<Option<i64>, Fail> {
    // A number that is too large gets the error of a long timeout, not that of a text.
    let huge =
        || std::str::from_utf8(&args[i]).ok()?.parse().ok().filter(|s: &f64| s.is_infinite());
    let seconds = stdx::num::parse_f64(&args[i])
        .or_else(huge)
        .ok_or(Fail::text("ERR timeout is not a float or out of range"))?;
    // Less than a millisecond below zero counts as zero, as in Redis.
    let ms = (seconds * 1000.0).ceil();
    if ms < 0.0 {
        return Err(Fail::text("ERR timeout is negative"));
    }
    if ms >= i64::MAX as f64 {
        return Err(Fail::text("ERR timeout is out of range"));
    }
    if ms == 0.0 {
        return Ok(None);
    }
    let at = now_ms.checked_add(ms as i64).ok_or(Fail::text("ERR timeout is out of range"))?;
    Ok(Some(at))
}

/// Makes a command wait, or replies that it got nothing where it may not wait.
pub fn block(db: &mut Db<'_>, block: Block, reply: &mut Reply<'_>) {
    if let Some(nothing) = db.block(block) {
        empty(nothing, reply);
    }
}

/// The reply of a blocking command that got nothing.
pub fn empty(nothing: Empty, reply: &mut Reply<'_>) {
    match nothing {
        Empty::NullArray => reply.null_array(),
        Empty::Null => reply.null(),
        Empty::Int(n) => reply.int(n),
        Empty::Ok => reply.ok(),
        Empty::Ints(a, b) => {
            reply.array(2);
            reply.int(a);
            reply.int(b);
        }
    }
}
