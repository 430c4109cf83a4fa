//! The options of SET, MSETEX and GETEX, which Redis reads with one function.
//!
//! All options are read before any is checked: a word that is no option is reported before a time
//! that is no number. A unit may be repeated, and then the last time counts; two units exclude each other.

use resp::Args;

use super::condition::Condition;
use crate::fail::Fail;
use crate::parse::{TimeUnit, deadline};

/// The command whose options are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// SET: NX, XX, GET, KEEPTTL and times.
    Set,
    /// MSETEX: NX, XX, KEEPTTL and times.
    MSetEx,
    /// GETEX: PERSIST and times.
    GetEx,
}

/// The options of one call.
#[derive(Default)]
pub(super) struct Options {
    pub(super) nx: bool,
    pub(super) xx: bool,
    pub(super) get: bool,
    pub(super) keep: bool,
    pub(super) persist: bool,
    /// The condition on the present value.
    pub(super) condition: Option<Condition>,
    /// The unit of a time, and the argument that is the time.
    time: Option<(TimeUnit, usize)>,
}

impl Options {
    /// Reads the arguments from number `from` on.
    pub(super) fn parse(args: &Args<'_>, from: usize, of: Of) -> Result<Self, Fail> {
        let mut o = Self::default();
        let mut i = from;
        while i < args.len() {
            let (set, sets) = (of == Of::Set, of != Of::GetEx);
            let free = !o.nx && !o.xx && o.condition.is_none();
            if let Some(unit) = TimeUnit::of_option(args, i) {
                let other = o.time.is_some_and(|(its, _)| its != unit);
                if o.keep || o.persist || other || i + 1 >= args.len() {
                    return Err(Fail::SYNTAX);
                }
                i += 1;
                o.time = Some((unit, i));
            } else if sets && args.is(i, "nx") && (free || o.nx) {
                o.nx = true;
            } else if sets && args.is(i, "xx") && (free || o.xx) {
                o.xx = true;
            } else if let Some(condition) = Condition::of_option(args, i).filter(|_| set && free) {
                i += 1;
                if i >= args.len() {
                    return Err(Fail::SYNTAX);
                }
                o.condition = Some(condition);
            } else if set && args.is(i, "get") {
                o.get = true;
            } else if sets && args.is(i, "keepttl") && o.time.is_none() {
                o.keep = true;
            } else if !sets && args.is(i, "persist") && o.time.is_none() {
                o.persist = true;
            } else {
                return Err(Fail::SYNTAX);
            }
            i += 1;
        }
        Ok(o)
    }

    /// The deadline in Unix milliseconds, if a time was given; `command` is for the error text.
    pub(super) fn deadline(
        &self,
        args: &Args<'_>,
        now_ms: i64,
        command: &str,
    ) -> Result<Option<i64>, Fail> {
        self.time.map(|(unit, i)| deadline(args, i, unit, now_ms, command)).transpose()
    }

    /// Whether the time was given as a point in time, which may have passed.
    pub(super) fn is_absolute(&self) -> bool {
        matches!(self.time, Some((TimeUnit::UnixSeconds | TimeUnit::UnixMillis, _)))
    }
}
