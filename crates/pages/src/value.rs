//! Replies as values of templates, and values as arguments of commands.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Replies nest no deeper than this.
const DEPTH_MAX: usize = 32;

/// Names and values in the order of a reply: what HGETALL answers.
#[derive(Debug)]
struct Fields(Vec<(Value, Value)>);

impl Object for Fields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(name, _)| name.clone()).collect())
    }
}

/// A map in this order.
pub(crate) fn map(pairs: Vec<(Value, Value)>) -> Value {
    Value::from_object(Fields(pairs))
}

/// Bytes as text if they are UTF-8.
fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => Value::from_bytes(bytes.to_vec()),
    }
}

/// The value of a reply in RESP3.
///
/// # Errors
/// The reply is an error, with its text.
pub(crate) fn of_reply(reply: &[u8]) -> Result<Value, Error> {
    let mut rest = reply;
    read(&mut rest, 0).unwrap_or_else(|| Err(failed("the reply cannot be read")))
}

pub(crate) fn failed(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}

fn line<'r>(rest: &mut &'r [u8]) -> Option<&'r [u8]> {
    let at = rest.windows(2).position(|w| w == b"\r\n")?;
    let line = &rest[..at];
    *rest = &rest[at + 2..];
    Some(line)
}

/// None: the reply is not whole.
fn read(rest: &mut &[u8], depth: usize) -> Option<Result<Value, Error>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let head = line(rest)?;
    let (kind, head) = head.split_first()?;
    let word = std::str::from_utf8(head).ok()?;
    Some(Ok(match kind {
        b'+' => text(head),
        b'-' => return Some(Err(failed(String::from_utf8_lossy(head).into_owned()))),
        b':' => Value::from(word.parse::<i64>().ok()?),
        b',' => Value::from(word.parse::<f64>().ok()?),
        b'#' => Value::from(word == "t"),
        // A missing value is undefined, so that the filter `default` has its say, and nothing is shown.
        b'_' => Value::UNDEFINED,
        b'(' => Value::from(word),
        b'$' | b'=' | b'!' if word.starts_with('-') => Value::UNDEFINED,
        b'$' | b'=' | b'!' => {
            let n: usize = word.parse().ok()?;
            let (mut bytes, tail) = (rest.get(..n)?, rest.get(n + 2..)?);
            *rest = tail;
            if *kind == b'=' {
                bytes = bytes.get(4..)?;
            }
            text(bytes)
        }
        b'*' | b'~' | b'>' if word.starts_with('-') => Value::UNDEFINED,
        b'*' | b'~' | b'>' => {
            let n: usize = word.parse().ok()?;
            let mut all = Vec::with_capacity(n.min(rest.len() / 3));
            for _ in 0..n {
                match read(rest, depth + 1)? {
                    Ok(value) => all.push(value),
                    Err(e) => return Some(Err(e)),
                }
            }
            Value::from(all)
        }
        b'%' => {
            let n: usize = word.parse().ok()?;
            let mut all = Vec::with_capacity(n.min(rest.len() / 6));
            for _ in 0..n {
                match (read(rest, depth + 1)?, read(rest, depth + 1)?) {
                    (Ok(name), Ok(value)) => all.push((name, value)),
                    (Err(e), _) | (_, Err(e)) => return Some(Err(e)),
                }
            }
            map(all)
        }
        _ => return None,
    }))
}

/// JSON as a value.
pub(crate) fn of_json(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::from(()),
        Json::Bool(b) => Value::from(b),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Value::from(n),
            None => Value::from(n.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(all) => Value::from(all.into_iter().map(of_json).collect::<Vec<_>>()),
        Json::Object(all) => {
            map(all.into_iter().map(|(name, value)| (Value::from(name), of_json(value))).collect())
        }
    }
}

/// Adds a value as one argument of a command, or a list as several.
///
/// # Errors
/// The value is none that a command can take: undefined, none, a map.
pub(crate) fn add_argument(words: &mut Vec<Vec<u8>>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Bytes => {
            let bytes = value.as_bytes().map(<[u8]>::to_vec);
            words.push(bytes.unwrap_or_else(|| value.to_string().into_bytes()));
        }
        ValueKind::Number => words.push(value.to_string().into_bytes()),
        ValueKind::Bool => words.push(vec![if value.is_true() { b'1' } else { b'0' }]),
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add_argument(words, &item)?;
            }
        }
        kind => {
            return Err(failed(format!("a command cannot take a value that is {kind}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_become_values() {
        let of = |reply: &str| of_reply(reply.as_bytes()).map(|v| v.to_string());
        let ok = |reply: &str, wanted: &str| assert_eq!(of(reply).expect("a value"), wanted);
        ok("$3\r\na\"b\r\n", "a\"b");
        ok(":-7\r\n", "-7");
        ok(",1.5\r\n", "1.5");
        ok("_\r\n", "");
        ok("*2\r\n*2\r\n$1\r\na\r\n,2\r\n#t\r\n", "[['a', 2.0], True]");
        ok("%2\r\n+b\r\n:1\r\n+a\r\n:2\r\n", "{'b': 1, 'a': 2}");
        ok("=6\r\ntxt:hi\r\n", "hi");
        assert!(of("-ERR no\r\n").expect_err("an error").to_string().contains("ERR no"));
        for cut in [
            "",
            "$3\r\nab",
            "*2\r\n:1\r\n",
            "*99999999999\r\n",
            "$-x\r\n$",
            "?\r\n",
            "%1\r\n:1\r\n",
        ] {
            let _ = of(cut);
        }
        assert!(of(&"*1\r\n".repeat(100_000)).is_err());
    }
}
