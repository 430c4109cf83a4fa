//! Errors as scripts get them: tables with a text.

use crate::raw::Stack;

/// Pushes an error as `redis.pcall` gives it: `{err = "CODE text"}`. A text that is an error reply's
/// has its code; `counted` tells that the server has counted it already.
pub(crate) fn push_error(s: Stack, text: &[u8], counted: bool) {
    s.new_table(0, 2);
    s.push_bytes("err");
    // A text without a second word has no code, as in Redis.
    if memchr(b' ', text).is_none() {
        s.push_bytes([b"ERR ", text].concat());
    } else {
        s.push_bytes(text);
    }
    s.raw_set(-3);
    if counted {
        s.push_bytes("ignore_error_stats_update");
        s.push_bool(true);
        s.raw_set(-3);
    }
}

fn memchr(c: u8, text: &[u8]) -> Option<usize> {
    text.iter().position(|x| *x == c)
}

/// Pushes the error with this text: one that begins with `-` has a code, others get `ERR`.
pub(crate) fn push_refusal(s: Stack, text: &[u8], counted: bool) {
    match text.strip_prefix(b"-") {
        Some(text) => push_error(s, trim(text), counted),
        None => push_error(s, trim(&[b"ERR ", text].concat()), counted),
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|c| !matches!(c, b'\r' | b'\n')).map_or(0, |i| i + 1);
    let from = text[..end].iter().position(|c| !matches!(c, b'\r' | b'\n')).unwrap_or(end);
    &text[from..end]
}
