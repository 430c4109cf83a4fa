//! Replies as `redis-cli` shows them in a terminal.
//!
//! The layout was taken from what `redis-cli` 7 prints: an index right-aligned to the
//! widest one, nested aggregates indented by the width of the index before them, and
//! a map's value on a line of its own when it is itself several lines long.

use crate::Reply;
use std::fmt::Write as _;

/// `reply` as text without the final line break. Bytes that are not UTF-8 can appear only
/// in statuses, errors and verbatim strings, and show as U+FFFD there; bulk strings are
/// quoted (see [`quote`]).
pub fn format(reply: &Reply) -> String {
    let mut out = String::new();
    put(&mut out, reply, "");
    out
}

/// `bytes` in double quotes, with everything but printable ASCII escaped, so that
/// [`split_args`](crate::split_args) reads it back.
pub fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'"' => out.push_str("\\\""),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => _ = write!(out, "\\x{byte:02x}"),
        }
    }
    out.push('"');
    out
}

fn put(out: &mut String, reply: &Reply, indent: &str) {
    match reply {
        Reply::Status(text) | Reply::Verbatim(text) => out.push_str(&String::from_utf8_lossy(text)),
        Reply::Error(text) => _ = write!(out, "(error) {}", String::from_utf8_lossy(text)),
        Reply::Integer(n) => _ = write!(out, "(integer) {n}"),
        Reply::Bulk(bytes) => out.push_str(&quote(bytes)),
        Reply::Nil => out.push_str("(nil)"),
        Reply::Double(text) => _ = write!(out, "(double) {text}"),
        Reply::Bool(yes) => _ = write!(out, "({yes})"),
        // redis-cli has no form for this one; no command of Redis sends it.
        Reply::BigNumber(digits) => _ = write!(out, "(big number) {digits}"),
        Reply::Array(items) => sequence(out, items, ")", "(empty array)", indent),
        Reply::Set(items) => sequence(out, items, "~", "(empty set)", indent),
        Reply::Push(items) => sequence(out, items, ")", "(empty push)", indent),
        Reply::Map(pairs) => map(out, pairs, indent),
    }
}

fn sequence(out: &mut String, items: &[Reply], mark: &str, empty: &str, indent: &str) {
    if items.is_empty() {
        out.push_str(empty);
        return;
    }
    let width = digits(items.len());
    let inner = format!("{indent}{:1$}", "", width + 2);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            _ = write!(out, "\n{indent}");
        }
        _ = write!(out, "{:>width$}{mark} ", i + 1);
        put(out, item, &inner);
    }
}

fn map(out: &mut String, pairs: &[(Reply, Reply)], indent: &str) {
    if pairs.is_empty() {
        out.push_str("(empty hash)");
        return;
    }
    let width = digits(pairs.len());
    let inner = format!("{indent}{:1$}", "", width + 2);
    for (i, (key, value)) in pairs.iter().enumerate() {
        if i > 0 {
            _ = write!(out, "\n{indent}");
        }
        _ = write!(out, "{:>width$}# ", i + 1);
        put(out, key, &inner);
        out.push_str(" => ");
        if several_lines(value) {
            _ = write!(out, "\n{inner}");
        }
        put(out, value, &inner);
    }
}

fn several_lines(reply: &Reply) -> bool {
    match reply {
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => match &items[..] {
            [] => false,
            [only] => several_lines(only),
            _ => true,
        },
        Reply::Map(pairs) => match &pairs[..] {
            [] => false,
            [(_, value)] => several_lines(value),
            _ => true,
        },
        _ => false,
    }
}

fn digits(n: usize) -> usize {
    n.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::{format, quote};
    use crate::decode;

    fn shown(mut resp: &[u8]) -> String {
        format(&decode(&mut resp).expect("valid").expect("whole"))
    }

    #[test]
    fn scalars() {
        assert_eq!(shown(b"+OK\r\n"), "OK");
        assert_eq!(shown(b"-ERR no\r\n"), "(error) ERR no");
        assert_eq!(shown(b":1\r\n"), "(integer) 1");
        assert_eq!(shown(b"$-1\r\n"), "(nil)");
        assert_eq!(shown(b",1.5\r\n"), "(double) 1.5");
        assert_eq!(shown(b"#t\r\n"), "(true)");
        assert_eq!(shown(b"=8\r\ntxt:a\nb\"\r\n"), "a\nb\"");
        assert_eq!(shown(b"*0\r\n"), "(empty array)");
        assert_eq!(shown(b"%0\r\n"), "(empty hash)");
        assert_eq!(shown(b"~0\r\n"), "(empty set)");
    }

    #[test]
    fn quoting() {
        assert_eq!(quote(b"a\"\\\n\r\t\x07\x08\x00\xff~"), r#""a\"\\\n\r\t\a\b\x00\xff~""#);
    }

    #[test]
    fn nested_arrays_line_up() {
        let mut resp = b"*10\r\n*2\r\n:1\r\n*2\r\n:2\r\n:3\r\n".to_vec();
        resp.extend(b":0\r\n".repeat(9));
        let lines = [
            " 1) 1) (integer) 1",
            "    2) 1) (integer) 2",
            "       2) (integer) 3",
            " 2) (integer) 0",
        ];
        assert_eq!(shown(&resp).lines().take(4).collect::<Vec<_>>(), lines);
        assert_eq!(shown(&resp).lines().last(), Some("10) (integer) 0"));
    }

    #[test]
    fn maps_and_sets() {
        assert_eq!(
            shown(b"%2\r\n+a\r\n~2\r\n:1\r\n:2\r\n+b\r\n~1\r\n:3\r\n"),
            "1# a => \n   1~ (integer) 1\n   2~ (integer) 2\n2# b => 1~ (integer) 3"
        );
    }
}
