//! A reply as a value, and the RESP2 / RESP3 decoder that makes it.
//!
//! Source of the wire format: the RESP specification,
//! <https://redis.io/docs/latest/develop/reference/protocol-spec/>.

use std::fmt;

/// Deepest nesting accepted. Real replies (COMMAND DOCS) nest below ten; the bound keeps
/// a broken server from overflowing the stack of the test that watches it.
const DEPTH_MAX: usize = 64;

/// One reply of a server, RESP2 or RESP3.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// `+OK`
    Status(Vec<u8>),
    /// `-ERR text`, and RESP3's `!` with a length. The text carries no leading `-`.
    Error(Vec<u8>),
    /// `:1`
    Integer(i64),
    /// `$3 foo`
    Bulk(Vec<u8>),
    /// RESP3's `_`, RESP2's `$-1` and `*-1`: clients show all of them alike.
    Nil,
    /// `*2 …`
    Array(Vec<Reply>),
    /// `,1.5`, as the server wrote it: its digits are part of what is compared.
    Double(String),
    /// `#t`, `#f`
    Bool(bool),
    /// `(123…`, as the server wrote it.
    BigNumber(String),
    /// `=7 txt:abc`, without the kind.
    Verbatim(Vec<u8>),
    /// `%1 …`, in the order of the wire.
    Map(Vec<(Reply, Reply)>),
    /// `~2 …`, in the order of the wire.
    Set(Vec<Reply>),
    /// `>2 …`: sent by the server on its own, not as the answer to a command.
    Push(Vec<Reply>),
}

/// Bytes that are not RESP. What follows them cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not RESP: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

fn bad<T>(what: impl Into<String>) -> Result<T, DecodeError> {
    Err(DecodeError(what.into()))
}

/// Takes one whole reply off the front of `input`.
///
/// `Ok(None)` means that more bytes are needed; `input` is then left as it was. RESP3
/// attributes (`|`) are skipped: they describe the reply that follows them.
pub fn decode(input: &mut &[u8]) -> Result<Option<Reply>, DecodeError> {
    let mut rest = *input;
    let reply = value(&mut rest, 0)?;
    if reply.is_some() {
        *input = rest;
    }
    Ok(reply)
}

fn value(input: &mut &[u8], depth: usize) -> Result<Option<Reply>, DecodeError> {
    if depth > DEPTH_MAX {
        return bad(format!("nested deeper than {DEPTH_MAX}"));
    }
    let Some(line) = line(input)? else {
        return Ok(None);
    };
    let Some((&kind, line)) = line.split_first() else {
        return bad("an empty line");
    };
    Ok(Some(match kind {
        b'+' => Reply::Status(line.to_vec()),
        b'-' => Reply::Error(line.to_vec()),
        b':' => Reply::Integer(number(line)?),
        b'_' if line.is_empty() => Reply::Nil,
        b',' => Reply::Double(text(line)?),
        b'(' => Reply::BigNumber(text(line)?),
        b'#' => match line {
            b"t" => Reply::Bool(true),
            b"f" => Reply::Bool(false),
            _ => return bad("a boolean that is neither #t nor #f"),
        },
        b'$' | b'!' | b'=' | b'*' | b'~' | b'>' | b'%' | b'|' => match length(line)? {
            Some(len) => return with_length(input, kind, len, depth),
            None => Reply::Nil,
        },
        other => {
            return bad(format!("the type byte {:?}", char::from(other)));
        }
    }))
}

/// The rest of a value that begins with its length: a string, or other values.
fn with_length(
    input: &mut &[u8],
    kind: u8,
    len: usize,
    depth: usize,
) -> Result<Option<Reply>, DecodeError> {
    if matches!(kind, b'$' | b'!' | b'=') {
        let Some(body) = blob(input, len)? else {
            return Ok(None);
        };
        return Ok(Some(match kind {
            b'$' => Reply::Bulk(body),
            b'!' => Reply::Error(body),
            // Three letters of kind and a colon come before the text.
            _ if body.get(3) == Some(&b':') => Reply::Verbatim(body[4..].to_vec()),
            _ => return bad("a verbatim string without its kind"),
        }));
    }
    let is_map = matches!(kind, b'%' | b'|');
    let Some(len) = len.checked_mul(if is_map { 2 } else { 1 }) else {
        return bad("a map that is too long");
    };
    let Some(items) = items(input, len, depth)? else {
        return Ok(None);
    };
    Ok(Some(match kind {
        b'*' => Reply::Array(items),
        b'~' => Reply::Set(items),
        b'>' => Reply::Push(items),
        // An attribute.
        b'|' => return value(input, depth + 1),
        _ => Reply::Map(pairs(items)),
    }))
}

/// Keys and values, which follow each other, as pairs.
fn pairs(items: Vec<Reply>) -> Vec<(Reply, Reply)> {
    let mut pairs = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let (Some(key), Some(val)) = (items.next(), items.next()) {
        pairs.push((key, val));
    }
    pairs
}

/// The next line without its CR LF; `None` when its end has not arrived.
fn line<'a>(input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
    let Some(end) = input.iter().position(|&b| b == b'\n') else {
        return Ok(None);
    };
    let Some((line, b'\r')) = input[..end].split_last().map(|(last, line)| (line, *last)) else {
        return bad("a line that ends in LF alone");
    };
    if line.contains(&b'\r') {
        return bad("a CR inside a line");
    }
    *input = &input[end + 1..];
    Ok(Some(line))
}

fn blob(input: &mut &[u8], len: usize) -> Result<Option<Vec<u8>>, DecodeError> {
    let Some(whole) = len.checked_add(2) else {
        return bad("a length that overflows");
    };
    if input.len() < whole {
        return Ok(None);
    }
    if &input[len..whole] != b"\r\n" {
        return bad("a string that is longer than its length says");
    }
    let body = input[..len].to_vec();
    *input = &input[whole..];
    Ok(Some(body))
}

fn items(input: &mut &[u8], len: usize, depth: usize) -> Result<Option<Vec<Reply>>, DecodeError> {
    // Not `with_capacity(len)`: the length is the server's claim, not yet its bytes.
    let mut items = Vec::new();
    for _ in 0..len {
        let Some(item) = value(input, depth + 1)? else {
            return Ok(None);
        };
        items.push(item);
    }
    Ok(Some(items))
}

/// A length; `None` is RESP2's -1, the null.
fn length(line: &[u8]) -> Result<Option<usize>, DecodeError> {
    match number(line)? {
        -1 => Ok(None),
        n => match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => bad(format!("the length {n}")),
        },
    }
}

fn number(line: &[u8]) -> Result<i64, DecodeError> {
    let text = text(line)?;
    match text.parse() {
        Ok(n) => Ok(n),
        Err(_) => bad(format!("{text:?} where a number belongs")),
    }
}

fn text(line: &[u8]) -> Result<String, DecodeError> {
    match std::str::from_utf8(line) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => bad("bytes where a number belongs"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Reply, decode};

    fn all(mut bytes: &[u8]) -> Reply {
        let reply = decode(&mut bytes).expect("valid").expect("whole");
        assert!(bytes.is_empty(), "{} bytes left over", bytes.len());
        reply
    }

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.into())
    }

    #[test]
    fn every_type() {
        assert_eq!(all(b"+OK\r\n"), Reply::Status(b"OK".to_vec()));
        assert_eq!(all(b"-ERR x\r\n"), Reply::Error(b"ERR x".to_vec()));
        assert_eq!(all(b"!5\r\nERR x\r\n"), Reply::Error(b"ERR x".to_vec()));
        assert_eq!(all(b":-7\r\n"), Reply::Integer(-7));
        assert_eq!(all(b"$4\r\na\r\nb\r\n"), bulk("a\r\nb"));
        assert_eq!(all(b"$0\r\n\r\n"), bulk(""));
        for null in [&b"$-1\r\n"[..], b"*-1\r\n", b"_\r\n"] {
            assert_eq!(all(null), Reply::Nil);
        }
        assert_eq!(all(b",1.5\r\n"), Reply::Double("1.5".into()));
        assert_eq!(all(b"#t\r\n"), Reply::Bool(true));
        assert_eq!(all(b"(99999999999999999999\r\n"), {
            Reply::BigNumber("99999999999999999999".into())
        });
        assert_eq!(all(b"=7\r\ntxt:a\nb\r\n"), Reply::Verbatim(b"a\nb".to_vec()));
        assert_eq!(
            all(b"%1\r\n$1\r\nk\r\n~1\r\n:1\r\n"),
            Reply::Map(vec![(bulk("k"), Reply::Set(vec![Reply::Integer(1)]))])
        );
        assert_eq!(all(b">1\r\n$1\r\na\r\n"), Reply::Push(vec![bulk("a")]));
        assert_eq!(all(b"|1\r\n+ttl\r\n:1\r\n:5\r\n"), Reply::Integer(5));
    }

    #[test]
    fn every_prefix_asks_for_more_and_takes_nothing() {
        let whole = b"%2\r\n$1\r\nk\r\n*2\r\n:1\r\n$-1\r\n=5\r\ntxt:x\r\n|1\r\n+a\r\n:1\r\n#f\r\n";
        for end in 0..whole.len() {
            let mut input = &whole[..end];
            assert_eq!(decode(&mut input), Ok(None), "at {end}");
            assert_eq!(input.len(), end);
        }
        assert!(matches!(all(whole), Reply::Map(pairs) if pairs.len() == 2));
    }

    #[test]
    fn what_is_not_resp_is_an_error() {
        for bytes in [
            &b"\r\n"[..],
            b"OK\r\n",
            b"+OK\n",
            b"+a\rb\r\n",
            b":x\r\n",
            b"$-2\r\n",
            b"$1\r\nabc",
            b"#x\r\n",
            b"=3\r\nabc\r\n",
            b"*18446744073709551616\r\n",
            b"%9223372036854775807\r\n",
        ] {
            let mut input = bytes;
            let text = String::from_utf8_lossy(bytes).into_owned();
            let result = decode(&mut input);
            if text.starts_with('%') {
                // Its length is possible, so the decoder waits for its items.
                assert_eq!(result, Ok(None), "{text:?}");
            } else {
                assert!(result.is_err(), "{text:?} gave {result:?}");
            }
        }
        let deep = b"*1\r\n".repeat(100);
        assert!(decode(&mut &deep[..]).is_err());
    }
}
