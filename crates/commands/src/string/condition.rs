//! The conditions that SET and DELEX check before they do anything: IFEQ and its relatives.

use resp::Args;
use stdx::num::I64_LEN_MAX;
use store::Entry;

/// A condition on the present value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    /// The argument to compare with.
    at: usize,
    /// Whether the argument is a digest and not the value itself.
    digest: bool,
    /// Whether the two have to be the same.
    same: bool,
}

impl Condition {
    /// The condition whose name is argument `i`; the next argument is the one to compare with.
    pub(super) fn of_option(args: &Args<'_>, i: usize) -> Option<Self> {
        let names = [("ifeq", false, true), ("ifne", false, false), ("ifdeq", true, true)];
        let names = names.into_iter().chain([("ifdne", true, false)]);
        names
            .filter(|(name, ..)| args.is(i, name))
            .map(|(_, digest, same)| Self { at: i + 1, digest, same })
            .next()
    }

    /// Whether the condition holds for a key that does not exist: nothing equals an absent value.
    pub(super) fn holds_for_none(self) -> bool {
        !self.same
    }

    /// Whether the condition holds for the value.
    pub(super) fn holds(self, e: &Entry, args: &Args<'_>) -> bool {
        let mut buf = [0; I64_LEN_MAX];
        let (value, with) = (super::bytes(e, &mut buf), &args[self.at]);
        let same = match self.digest {
            true => with.eq_ignore_ascii_case(digest(value).as_bytes()),
            false => value == with,
        };
        same == self.same
    }
}

/// XXH3 of a value, as sixteen hexadecimal digits.
pub(super) fn digest(value: &[u8]) -> String {
    format!("{:016x}", twox_hash::XxHash3_64::oneshot(value))
}
