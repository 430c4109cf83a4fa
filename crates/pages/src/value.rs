//! Replies as values of templates, and values as arguments of commands.

use std::rc::Rc;

use template::{Error, Kind, Map, Meter, Result, Text, Value};

/// Replies, and lists of arguments, nest no deeper than this.
const DEPTH_MAX: usize = 32;
/// Bytes of the arguments of a command, each with what it costs besides its own.
const ARGUMENTS_MAX: usize = 16 << 20;
const ARGUMENT_COST: usize = 32;

fn failed(text: impl Into<String>) -> Error {
    Error::new(Kind::Host, text)
}

/// The value of a reply in RESP3, which was paid for. Texts are parts of the reply, not copies.
///
/// # Errors
/// The reply is an error, with its text.
pub(crate) fn of_reply<'t>(reply: Vec<u8>, meter: &Meter) -> Result<Value<'t>> {
    // A reply that is UTF-8 as a whole has texts that are, since their ends are at line ends.
    let (text, bytes) = match String::from_utf8(reply) {
        Ok(text) => (Some(Rc::new(text)), Vec::new()),
        Err(e) => (None, e.into_bytes()),
    };
    let bytes = text.as_ref().map_or(&*bytes, |text| text.as_bytes());
    let mut reader = Reader { text: text.clone(), bytes, at: 0, meter };
    reader.value(0).unwrap_or_else(|| Err(failed("the reply cannot be read")))
}

struct Reader<'r> {
    text: Option<Rc<String>>,
    bytes: &'r [u8],
    at: usize,
    meter: &'r Meter,
}

impl<'r> Reader<'r> {
    /// Bytes as text if they are UTF-8.
    fn part<'t>(&self, start: usize, end: usize) -> Value<'t> {
        match &self.text {
            Some(all) => Value::Str(Text::Part(Rc::clone(all), start as u32, end as u32)),
            None => {
                let bytes = &self.bytes[start..end];
                match std::str::from_utf8(bytes) {
                    Ok(text) => Value::from(text),
                    Err(_) => Value::Bytes(bytes.into()),
                }
            }
        }
    }

    /// A line: where it starts and ends.
    fn line(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let len = self.bytes.get(start..)?.iter().position(|b| *b == b'\r')?;
        self.at = start + len + 2;
        self.bytes.get(self.at - 1).filter(|b| **b == b'\n')?;
        Some((start, start + len))
    }

    /// None: the reply is not whole.
    fn value<'t>(&mut self, depth: usize) -> Option<Result<Value<'t>>> {
        if depth > DEPTH_MAX || self.bytes.len() > u32::MAX as usize {
            return None;
        }
        let (start, end) = self.line()?;
        let (kind, head) = self.bytes.get(start..end)?.split_first()?;
        let word = std::str::from_utf8(head).ok()?;
        Some(Ok(match kind {
            b'+' | b'(' => self.part(start + 1, end),
            b'-' => return Some(Err(failed(word))),
            b':' => Value::Int(word.parse().ok()?),
            b',' => Value::Float(word.parse().ok()?),
            b'#' => Value::Bool(word == "t"),
            // A missing value is undefined, so that the filter `default` has its say, and nothing is shown.
            b'_' => Value::Undefined,
            b'$' | b'=' | b'!' | b'*' | b'~' | b'>' if word.starts_with('-') => Value::Undefined,
            b'$' | b'=' | b'!' => {
                let n: usize = word.parse().ok()?;
                let (mut start, end) = (self.at, self.at.checked_add(n)?);
                self.bytes.get(start..end.checked_add(2)?)?;
                self.at = end + 2;
                if *kind == b'=' {
                    start += 4;
                }
                if start > end {
                    return None;
                }
                self.part(start, end)
            }
            b'*' | b'~' | b'>' => {
                let n: usize = word.parse().ok()?;
                let mut all = match self.room(n, 3) {
                    Ok(room) => Vec::with_capacity(room),
                    Err(e) => return Some(Err(e)),
                };
                for _ in 0..n {
                    match self.value(depth + 1)? {
                        Ok(value) => all.push(value),
                        Err(e) => return Some(Err(e)),
                    }
                }
                return Some(Value::list(all));
            }
            b'%' => {
                let n: usize = word.parse().ok()?;
                let mut all = match self.room(n, 6) {
                    Ok(room) => Vec::with_capacity(room),
                    Err(e) => return Some(Err(e)),
                };
                for _ in 0..n {
                    match (self.value(depth + 1)?, self.value(depth + 1)?) {
                        (Ok(name), Ok(value)) => all.push((name, value)),
                        (Err(e), _) | (_, Err(e)) => return Some(Err(e)),
                    }
                }
                return Some(Map::new(all).map(Value::Map));
            }
            _ => return None,
        }))
    }

    /// How many of `n` values, of so many bytes each, there can be; they are paid for.
    fn room(&self, n: usize, bytes: usize) -> Result<usize> {
        let room = n.min((self.bytes.len() - self.at.min(self.bytes.len())) / bytes);
        self.meter.values(room.saturating_mul(bytes / 3))?;
        Ok(room)
    }
}

/// The words of a command, within bounds: a list that contains another one twice, and so on, is small and has
/// more items than there is memory.
pub(crate) struct Words {
    words: Vec<Vec<u8>>,
    left: usize,
}

impl Words {
    /// The command with this name.
    pub(crate) fn of(name: &str) -> Self {
        let mut words = Vec::with_capacity(4);
        words.push(name.as_bytes().to_vec());
        Self { words, left: ARGUMENTS_MAX }
    }

    /// The name and the arguments.
    pub(crate) fn take(self) -> Vec<Vec<u8>> {
        self.words
    }

    /// Adds a value as one argument, or a list as several.
    ///
    /// # Errors
    /// The value is none that a command can take (undefined, none, a map), or there is too much.
    pub(crate) fn add(&mut self, value: &Value<'_>, meter: &Meter) -> Result<()> {
        self.add_at(value, 0, meter)
    }

    /// Adds a word.
    ///
    /// # Errors
    /// There is too much.
    pub(crate) fn word(&mut self, word: Vec<u8>) -> Result<()> {
        self.pay(word.len())?;
        self.words.push(word);
        Ok(())
    }

    fn pay(&mut self, bytes: usize) -> Result<()> {
        let left = self.left.checked_sub(bytes.saturating_add(ARGUMENT_COST));
        self.left = left.ok_or_else(|| failed("the arguments of a command are too long"))?;
        Ok(())
    }

    fn add_at(&mut self, value: &Value<'_>, depth: usize, meter: &Meter) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(failed("the lists of a command's arguments are nested too deep"));
        }
        meter.steps(1)?;
        if let Some(bytes) = value.as_bytes() {
            self.pay(bytes.len())?;
            meter.bytes(bytes.len())?;
            self.words.push(bytes.to_vec());
            return Ok(());
        }
        match value {
            Value::Bool(b) => self.word(vec![if *b { b'1' } else { b'0' }]),
            Value::Int(_) | Value::Big(_) | Value::Float(_) => {
                self.word(value.show(meter)?.into_bytes())
            }
            Value::List(items) => {
                self.pay(0)?;
                items.iter().try_for_each(|item| self.add_at(item, depth + 1, meter))
            }
            _ => {
                let kind = value.kind().name();
                Err(failed(format!("a command cannot take a value that is {kind}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use template::Limits;

    #[test]
    fn replies_become_values() {
        let of = |reply: &[u8]| {
            let meter = Meter::new(Limits::default());
            of_reply(reply.to_vec(), &meter).and_then(|value| value.show(&meter))
        };
        let ok = |reply: &[u8], wanted: &str| assert_eq!(of(reply).expect("a value"), wanted);
        ok(b"$3\r\na\"b\r\n", "a\"b");
        ok(b":-7\r\n", "-7");
        ok(b",1.5\r\n", "1.5");
        ok(b"_\r\n", "");
        ok(b"$-1\r\n", "");
        ok("$3\r\n\u{20ac}\r\n".as_bytes(), "\u{20ac}");
        ok(b"*2\r\n*2\r\n$1\r\na\r\n,2\r\n#t\r\n", "[['a', 2.0], True]");
        ok(b"*2\r\n$1\r\n\xff\r\n$1\r\na\r\n", "[b'\\xff', 'a']");
        ok(b"%2\r\n+b\r\n:1\r\n+a\r\n:2\r\n", "{'b': 1, 'a': 2}");
        ok(b"=6\r\ntxt:hi\r\n", "hi");
        assert!(of(b"-ERR no\r\n").expect_err("an error").to_string().contains("ERR no"));
        for cut in [
            &b""[..],
            b"$3\r\nab",
            b"*2\r\n:1\r\n",
            b"*99999999999\r\n",
            b"$-x\r\n$",
            b"=2\r\nab\r\n",
            b"$18446744073709551615\r\n",
            b"?\r\n",
            b"%1\r\n:1\r\n",
        ] {
            let _ = of(cut);
        }
        assert!(of("*1\r\n".repeat(100_000).as_bytes()).is_err());
    }
}
