//! The shared parts of SCAN, SSCAN, HSCAN and ZSCAN: the cursor and the options.

use resp::{Args, Reply};

use crate::fail::Fail;
use crate::generic::pattern::Pattern;
use crate::parse::int;

/// The kind of scan, for options that only some scans have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The keyspace, which has TYPE.
    Keys,
    /// A hash, which has NOVALUES.
    Hash,
    /// A set or a sorted set.
    Members,
}

/// The options of one call.
pub(crate) struct Options<'a> {
    /// MATCH
    pub(crate) pattern: Pattern<'a>,
    /// COUNT, at least 1.
    pub(crate) count: u64,
    /// TYPE
    pub(crate) kind: Option<&'a [u8]>,
    /// NOVALUES
    pub(crate) no_values: bool,
}

impl<'a> Options<'a> {
    /// Reads the arguments from number `i` on.
    pub(crate) fn parse(args: &'a Args<'_>, mut i: usize, of: Of) -> Result<Self, Fail> {
        let mut o = Self { pattern: Pattern::All, count: 10, kind: None, no_values: false };
        while i < args.len() {
            let more = i + 1 < args.len();
            if args.is(i, "count") && more {
                let n = int(args, i + 1)?;
                o.count = u64::try_from(n).ok().filter(|n| *n > 0).ok_or(Fail::SYNTAX)?;
                i += 1;
            } else if args.is(i, "match") && more {
                o.pattern = Pattern::new(&args[i + 1]);
                i += 1;
            } else if args.is(i, "type") && of == Of::Keys && more {
                o.kind = Some(&args[i + 1]);
                i += 1;
            } else if args.is(i, "novalues") {
                if of != Of::Hash {
                    return Err(Fail::text("ERR NOVALUES option can only be used in HSCAN"));
                }
                o.no_values = true;
            } else {
                return Err(Fail::SYNTAX);
            }
            i += 1;
        }
        Ok(o)
    }
}

/// The COUNT of a call of SCAN, SSCAN, HSCAN or ZSCAN, before its arguments have been checked: an estimate.
pub fn scan_count(args: &Args<'_>) -> usize {
    let at = (2..args.len().saturating_sub(1)).rev().find(|i| args.is(*i, "count"));
    let count = at.and_then(|i| int(args, i + 1).ok());
    count.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// A cursor as `strtoull` reads it: Redis accepts blanks and a plus sign before it.
pub(crate) fn cursor(text: &[u8]) -> Result<u64, Fail> {
    read(text).ok_or(Fail::text("ERR invalid cursor"))
}

fn read(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The texts that a scan has found. The cursor comes first in the reply and is known last, so the
/// texts are collected here, one behind the other.
#[derive(Default)]
pub(crate) struct Found {
    texts: Vec<u8>,
    ends: Vec<usize>,
}

impl Found {
    /// Adds one text.
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.texts.extend_from_slice(text);
        self.ends.push(self.texts.len());
    }

    /// Replies with the cursor and all texts.
    pub(crate) fn reply(self, cursor: u64, reply: &mut Reply<'_>) {
        reply.array(2);
        reply.bulk(cursor.to_string());
        reply.array(self.ends.len());
        let mut start = 0;
        for end in self.ends {
            reply.bulk(&self.texts[start..end]);
            start = end;
        }
    }
}

/// The reply about a key that does not exist: nothing, and the scan is over.
pub(crate) fn reply_nothing(reply: &mut Reply<'_>) {
    Found::default().reply(0, reply);
}

#[cfg(test)]
mod tests {
    #[test]
    fn cursors() {
        for (text, cursor) in [
            ("0", Some(0)),
            ("007", Some(7)),
            (" +12", Some(12)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("+", None),
            ("++1", None),
            ("-1", None),
            ("1 ", None),
            ("0x10", None),
        ] {
            assert_eq!(super::read(text.as_bytes()), cursor, "{text:?}");
        }
    }
}
