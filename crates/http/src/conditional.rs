//! Conditions of requests (RFC 9110, section 13) and ranges (section 14).

use std::ops::Range;
use std::time::{Duration, SystemTime};

use crate::Head;

/// What a client has is what it would get: it is answered 304.
///
/// `etag` with its quotes; `modified` in seconds of Unix time, 0: unknown. If-None-Match comes first, and
/// If-Modified-Since does not count beside it.
#[must_use]
pub fn is_unchanged(head: &Head<'_>, etag: &str, modified: u64) -> bool {
    if let Some(tags) = head.if_none_match {
        return names(tags, etag);
    }
    modified > 0
        && head.text("if-modified-since").and_then(seconds).is_some_and(|since| modified <= since)
}

/// Whether a list of entity tags names this one, by weak comparison.
#[must_use]
pub fn names(list: &[u8], etag: &str) -> bool {
    let etag = etag.strip_prefix("W/").unwrap_or(etag).as_bytes();
    list.trim_ascii() == b"*"
        || list.split(|b| *b == b',').any(|tag| {
            let tag = tag.trim_ascii();
            tag.strip_prefix(b"W/").unwrap_or(tag) == etag
        })
}

/// A date of a field, in seconds of Unix time.
fn seconds(date: &str) -> Option<u64> {
    let at = httpdate::parse_http_date(date).ok()?;
    Some(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
}

/// Unix time in seconds as fields have it: 29 bytes. Years behind 9999 become the last second of that.
#[must_use]
pub fn date(seconds: u64) -> String {
    let seconds = seconds.min(253_402_300_799);
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The part of a response that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// These bytes, at least one.
    Bytes(Range<usize>),
    /// None of it: 416.
    Beyond,
}

/// Which part of `len` bytes a request asks for. Several ranges are answered with the whole, which is
/// allowed, and so is what cannot be read.
#[must_use]
pub fn part(head: &Head<'_>, len: usize, etag: &str, modified: u64) -> Part {
    let Some(field) = head.text("range") else { return Part::Whole };
    if let Some(condition) = head.text("if-range") {
        // By strong comparison: a weak tag says nothing of the bytes.
        let same = condition == etag && !etag.starts_with("W/");
        if !same && (modified == 0 || seconds(condition) != Some(modified)) {
            return Part::Whole;
        }
    }
    range(field, len).unwrap_or(Part::Whole)
}

fn range(field: &str, len: usize) -> Option<Part> {
    let (unit, range) = field.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (from, to) = range.trim().split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(usize::MAX))
    };
    if from.is_empty() {
        let last = number(to)?.min(len);
        return Some(if last == 0 { Part::Beyond } else { Part::Bytes(len - last..len) });
    }
    let from = number(from)?;
    let to = if to.is_empty() { usize::MAX } else { number(to)? };
    if to < from {
        return None;
    }
    Some(if from >= len { Part::Beyond } else { Part::Bytes(from..to.saturating_add(1).min(len)) })
}
