//! Commands of streams.
//!
//! Several of them share code: IDs as arguments and replies here, entries as replies in
//! [`reply`], trimming in [`trim`], the policy for references in [`policy`], the options of
//! XREAD and XREADGROUP in [`read`], the journal forms of consumer groups in [`journal`].

mod journal;
mod policy;
mod read;
mod reply;
mod trim;
mod xack;
mod xackdel;
mod xadd;
mod xautoclaim;
mod xclaim;
mod xdel;
mod xdelex;
mod xgroup;
mod xinfo;
mod xlen;
mod xpending;
mod xrange;
mod xread;
mod xreadgroup;
mod xrevrange;
mod xsetid;
mod xtrim;

use data::stream::{Id, NodeLimits, Stream};
use resp::Args;
use store::{Db, Entry};

use crate::command::DataCommand;
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &xack::XACK,
    &xackdel::XACKDEL,
    &xadd::XADD,
    &xautoclaim::XAUTOCLAIM,
    &xclaim::XCLAIM,
    &xdel::XDEL,
    &xdelex::XDELEX,
    &xgroup::XGROUP,
    &xinfo::XINFO,
    &xlen::XLEN,
    &xpending::XPENDING,
    &xrange::XRANGE,
    &xread::XREAD,
    &xreadgroup::XREADGROUP,
    &xrevrange::XREVRANGE,
    &xsetid::XSETID,
    &xtrim::XTRIM,
];

const INVALID_ID: Fail = Fail::text("ERR Invalid stream ID specified as stream command argument");
const INVALID_START: Fail = Fail::text("ERR invalid start ID for the interval");
const INVALID_END: Fail = Fail::text("ERR invalid end ID for the interval");

/// `NOGROUP` of most commands.
#[cold]
fn no_group(key: &[u8], group: &[u8]) -> Fail {
    let (key, group) = (crate::fail::quoted(key), crate::fail::quoted(group));
    Fail::new(format!("NOGROUP No such key '{key}' or consumer group '{group}'"))
}

/// `NOGROUP` of XGROUP and XINFO, to which the key is there.
#[cold]
fn no_group_of(key: &[u8], group: &[u8]) -> Fail {
    let (key, group) = (crate::fail::quoted(key), crate::fail::quoted(group));
    Fail::new(format!("NOGROUP No such consumer group '{group}' for key name '{key}'"))
}

/// Redis's error for any mistake in the arguments of a subcommand.
#[cold]
fn bad_subcommand(container: &str, sub: &[u8]) -> Fail {
    let sub = crate::fail::quoted(&sub[..sub.len().min(128)]);
    Fail::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try {container} HELP."
    ))
}

/// A number as `strtoull` reads it; Redis reads numbers so that are not in canonical form.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, c| {
        let digit = c.is_ascii_digit().then(|| u64::from(c - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

/// `ms-seq`, or `ms` alone, for which the sequence number is `missing`.
fn parse_id(text: &[u8], missing: u64) -> Option<Id> {
    if text.len() > 127 {
        return None;
    }
    match text.iter().position(|&c| c == b'-') {
        None => Some(Id::new(number(text)?, missing)),
        Some(at) => Some(Id::new(number(&text[..at])?, number(&text[at + 1..])?)),
    }
}

/// An ID argument.
fn id(text: &[u8]) -> Result<Id, Fail> {
    parse_id(text, 0).ok_or(INVALID_ID)
}

/// An ID argument that may be `-` or `+`.
fn id_or_end(text: &[u8], missing: u64) -> Result<Id, Fail> {
    match text {
        b"-" => Ok(Id::MIN),
        b"+" => Ok(Id::MAX),
        _ => parse_id(text, missing).ok_or(INVALID_ID),
    }
}

/// The first ID of an interval: `(` excludes it.
fn interval_start(text: &[u8]) -> Result<Id, Fail> {
    match text {
        [b'(', rest @ ..] if !rest.is_empty() => id(rest)?.next().ok_or(INVALID_START),
        _ => id_or_end(text, 0),
    }
}

/// The last ID of an interval: `(` excludes it.
fn interval_end(text: &[u8]) -> Result<Id, Fail> {
    match text {
        [b'(', rest @ ..] if !rest.is_empty() => {
            parse_id(rest, u64::MAX).ok_or(INVALID_ID)?.prev().ok_or(INVALID_END)
        }
        _ => id_or_end(text, u64::MAX),
    }
}

/// The IDs from argument `from` on.
fn ids(args: &Args<'_>, from: usize) -> Result<Vec<Id>, Fail> {
    args.iter_from(from).map(id).collect()
}

/// The value of an entry that is a stream.
fn of(e: &Entry) -> Result<&Stream, Fail> {
    e.value().ok_or(Fail::WRONG_TYPE)
}

/// The same, to change.
fn of_mut(e: &mut Entry) -> Result<&mut Stream, Fail> {
    e.value_mut().ok_or(Fail::WRONG_TYPE)
}

/// The limits up to which nodes are filled.
fn limits(db: &Db<'_>) -> NodeLimits {
    let small = &db.cx.small;
    NodeLimits { bytes: small.stream_node_max_bytes, entries: small.stream_node_max_entries }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_redis_does() {
        let max = "18446744073709551615";
        for (text, expected) in [
            ("5", Some((5, 7))),
            ("5-3", Some((5, 3))),
            ("007-01", Some((7, 1))),
            ("+5- 3", Some((5, 3))),
            (&format!("{max}-{max}"), Some((u64::MAX, u64::MAX))),
            ("18446744073709551616", None),
            ("", None),
            ("-", None),
            ("5-", None),
            ("-5", None),
            ("1-2-3", None),
            ("x", None),
            ("5-*", None),
            (&"0".repeat(128), None),
        ] {
            let id = parse_id(text.as_bytes(), 7);
            assert_eq!(id, expected.map(|(ms, seq)| Id::new(ms, seq)), "{text}");
        }
        assert_eq!(interval_start(b"(5"), Ok(Id::new(5, 1)));
        assert_eq!(interval_end(b"(5"), Ok(Id::new(5, u64::MAX - 1)));
        assert_eq!(interval_start(b"(+"), Err(INVALID_ID));
        assert_eq!(interval_start(format!("({max}-{max}").as_bytes()), Err(INVALID_START));
        assert_eq!(interval_end(b"(0-0"), Err(INVALID_END));
    }
}
