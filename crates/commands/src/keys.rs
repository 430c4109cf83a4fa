//! Finds the keys among a command's arguments, from its row.
//!
//! Two questions, two functions. [`keys`] also says how each key is accessed
//! and asks the row's own `get_keys` where the flags depend on the arguments
//! (COMMAND GETKEYSANDFLAGS, ACL). [`positions`] only says where keys are and
//! stays on the key specifications as long as they are complete; it is what
//! locking calls for every command, so its two common shapes (one key, a plain
//! range) are answered inline without looking at the arguments.
//!
//! Invariants: a reported index is always below `argv.len()`; on an error
//! nothing was reported. Arguments come from the network: no value of theirs
//! can make this panic or loop for longer than there are arguments.

pub use crate::argv::{Argv, KeyError, KeyPos};
use crate::row::{BeginSearch, FindKeys, KeyFlags, KeySpec, Row};

/// Reports every key of the call `argv` and how it is accessed, and returns
/// how many there are.
///
/// # Errors
/// The arguments do not fit (an index past the end, a number of keys that is
/// none); nothing was reported.
#[inline]
pub fn keys<A: Argv + ?Sized>(
    row: &Row,
    argv: &A,
    out: &mut impl FnMut(KeyPos),
) -> Result<usize, KeyError> {
    let open = KeyFlags::VARIABLE_FLAGS.or(KeyFlags::INCOMPLETE);
    extract(row, argv, open, out)
}

/// Reports the argument index of every key of the call `argv`, and returns
/// how many there are.
///
/// # Errors
/// As [`keys`].
#[inline]
pub fn positions<A: Argv + ?Sized>(
    row: &Row,
    argv: &A,
    out: &mut impl FnMut(usize),
) -> Result<usize, KeyError> {
    extract(row, argv, KeyFlags::INCOMPLETE, &mut |key| out(key.index))
}

/// `open`: the flags for which the row's own function is asked.
#[inline]
fn extract<A: Argv + ?Sized>(
    row: &Row,
    argv: &A,
    open: KeyFlags,
    out: &mut impl FnMut(KeyPos),
) -> Result<usize, KeyError> {
    match row.keys {
        [] if row.get_keys.is_none() => Ok(0),
        [spec] if !spec.flags.has_any(open.or(KeyFlags::NOT_KEY)) => {
            match (spec.begin, spec.find) {
                (BeginSearch::Index(first), FindKeys::Range { last: 0, .. }) => {
                    let index = usize::from(first);
                    if index >= argv.len() {
                        return Err(KeyError);
                    }
                    out(KeyPos { index, flags: spec.flags });
                    Ok(1)
                }
                (BeginSearch::Index(_), FindKeys::Range { .. }) => {
                    Ok(locate(spec, argv)?.map_or(0, |range| range.report(spec.flags, out)))
                }
                _ => extract_any(row, argv, open, out),
            }
        }
        _ => extract_any(row, argv, open, out),
    }
}

/// The general case: several specifications, or ones that need a look at the
/// arguments.
fn extract_any<A: Argv + ?Sized>(
    row: &Row,
    argv: &A,
    open: KeyFlags,
    out: &mut impl FnMut(KeyPos),
) -> Result<usize, KeyError> {
    let specs = || row.keys.iter().filter(|spec| !spec.flags.has(KeyFlags::NOT_KEY));
    // A keyword may also be the value of another argument (XREADGROUP GROUP STREAMS …), which the
    // row's own function tells apart.
    let guesses = row.get_keys.is_some()
        && specs().any(|spec| matches!(spec.begin, BeginSearch::Keyword { .. }));
    let complete =
        !guesses && specs().next().is_some() && specs().all(|spec| !spec.flags.has_any(open));
    // Located twice, since an error in a later one must not follow a report.
    if complete && specs().all(|spec| locate(spec, argv).is_ok()) {
        let located = specs().map(|spec| (spec.flags, locate(spec, argv).unwrap_or_default()));
        return Ok(located.map(|(flags, keys)| keys.map_or(0, |k| k.report(flags, out))).sum());
    }
    let Some(get_keys) = row.get_keys else {
        return if specs().next().is_some() { Err(KeyError) } else { Ok(0) };
    };
    let mut count = 0;
    let argc = argv.len();
    get_keys(&argv, &mut |key| {
        if key.index < argc {
            count += 1;
            out(key);
        }
    })?;
    Ok(count)
}

/// Keys at `first`, `first + step` … up to and including `last`.
struct KeyRange {
    first: usize,
    last: usize,
    step: usize,
}

impl KeyRange {
    fn report(&self, flags: KeyFlags, out: &mut impl FnMut(KeyPos)) -> usize {
        let mut count = 0;
        for index in (self.first..=self.last).step_by(self.step.max(1)) {
            out(KeyPos { index, flags });
            count += 1;
        }
        count
    }
}

/// The keys of one specification; none if its keyword is absent or its number
/// of keys is zero.
fn locate<A: Argv + ?Sized>(spec: &KeySpec, argv: &A) -> Result<Option<KeyRange>, KeyError> {
    let argc = argv.len();
    let begin = match spec.begin {
        BeginSearch::Index(index) => usize::from(index),
        BeginSearch::Keyword { word, start } => match find_word(argv, word, start) {
            Some(found) => found + 1,
            None => return Ok(None),
        },
        BeginSearch::Unknown => return Err(KeyError),
    };
    let (first, last, step) = match spec.find {
        FindKeys::Range { last, step, limit } => {
            let back = usize::from(last.unsigned_abs());
            let last = if last >= 0 {
                begin.checked_add(back)
            } else if limit <= 1 {
                argc.checked_sub(back)
            } else {
                (begin + argc.saturating_sub(begin) / usize::from(limit)).checked_sub(back)
            };
            (begin, last, step)
        }
        FindKeys::KeyNum { number, first, step } => {
            let at = begin + usize::from(number);
            if at >= argc {
                return Err(KeyError);
            }
            let count = parse_count(argv.get(at)).ok_or(KeyError)?;
            if count == 0 {
                return Ok(None);
            }
            let first = begin + usize::from(first);
            let span = (count - 1).checked_mul(usize::from(step).max(1));
            (first, span.and_then(|span| first.checked_add(span)), step)
        }
        FindKeys::Unknown => return Err(KeyError),
    };
    let last = last.filter(|&last| last < argc && last >= first).ok_or(KeyError)?;
    Ok(Some(KeyRange { first, last, step: usize::from(step) }))
}

/// The argument that is `word`, searched from `start` (negative: from the end,
/// backwards). The last argument of the search's direction is not looked at by
/// Redis either: nothing could follow a word there, or it is the name.
fn find_word<A: Argv + ?Sized>(argv: &A, word: &str, start: i16) -> Option<usize> {
    let argc = argv.len();
    let is_word = |&index: &usize| argv.get(index).eq_ignore_ascii_case(word.as_bytes());
    let from = usize::from(start.unsigned_abs());
    if start > 0 {
        (from..argc.saturating_sub(1)).find(is_word)
    } else {
        (2..=argc.checked_sub(from)?.min(argc.saturating_sub(1))).rev().find(is_word)
    }
}

/// A number of keys as Redis reads it: decimal, without sign or leading zero.
fn parse_count(text: &[u8]) -> Option<usize> {
    if text.is_empty() || text.len() > 18 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    text.iter().try_fold(0, |n: usize, digit| {
        digit.is_ascii_digit().then(|| n * 10 + usize::from(digit - b'0'))
    })
}
