//! Replies, parsed as they arrive.
//!
//! The parser keeps the aggregates that are under way on a stack and the bytes of a long string in a buffer of
//! its own, so nothing is looked at twice and the connection's receive buffer never grows. Nothing is
//! allocated on the word of a header alone: an array of a billion elements costs memory as its elements come.
//!
//! Always true: garbage is an error and never a panic; after an error the parser is not used again.

use crate::error::Error;
use crate::value::{ServerError, Value};
use bytes::Bytes;

/// What a reply may be at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Aggregates within one another.
    pub depth_max: usize,
    /// The bytes of one string.
    pub string_bytes_max: usize,
    /// The bytes of one whole reply as it is sent.
    pub reply_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // Redis's `proto-max-bulk-len` is 512 MiB.
        Self { depth_max: 64, string_bytes_max: 512 << 20, reply_bytes_max: 1 << 30 }
    }
}

/// Room for elements is made at once for so many, and then as they come.
const ELEMENTS_AT_ONCE: usize = 1024;
/// A line (a number, a simple string, an error) is no longer.
pub(crate) const LINE_BYTES_MAX: usize = 32 << 10;

/// The parser of one connection.
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    stack: Vec<Frame>,
    long: Option<Long>,
    /// Bytes of the reply that is under way.
    reply_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AggregateType {
    Array,
    Map,
    Set,
    Push,
    Attributes,
}

/// An aggregate that is under way.
#[derive(Debug)]
struct Frame {
    shape: AggregateType,
    left: usize,
    items: Vec<Value>,
}

/// A string that is under way, with the CR LF after it.
#[derive(Debug)]
struct Long {
    kind: u8,
    bytes: Vec<u8>,
    left: usize,
}

enum Step {
    /// The input ends within an element.
    More,
    /// A value without elements, or an aggregate that is complete.
    Value(Value),
    /// An aggregate began.
    Began,
}

impl Parser {
    /// A parser with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, stack: Vec::new(), long: None, reply_bytes: 0 }
    }

    /// Whether no reply is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stack.is_empty() && self.long.is_none()
    }

    /// Parses up to the end of one reply: the bytes that are done with, and the reply if it is complete. Bytes
    /// that are not done with belong in front of those that follow; there are at most 32 KiB of them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol) for what is not RESP and what is beyond the limits.
    pub fn parse(&mut self, input: &[u8]) -> Result<(usize, Option<Value>), Error> {
        let mut at = 0;
        loop {
            let before = at;
            let step = self.step(input, &mut at)?;
            self.reply_bytes += at - before;
            if self.reply_bytes > self.limits.reply_bytes_max {
                return Err(Error::protocol(format!(
                    "a reply has more than {} bytes",
                    self.limits.reply_bytes_max
                )));
            }
            let value = match step {
                Step::More => return Ok((at, None)),
                Step::Began => continue,
                Step::Value(value) => value,
            };
            if let Some(whole) = self.place(value)? {
                self.reply_bytes = 0;
                return Ok((at, Some(whole)));
            }
        }
    }

    /// Puts a value where it belongs, and closes the aggregates that it completes.
    fn place(&mut self, mut value: Value) -> Result<Option<Value>, Error> {
        loop {
            let Some(frame) = self.stack.last_mut() else { return Ok(Some(value)) };
            frame.items.push(value);
            frame.left -= 1;
            if frame.left > 0 {
                return Ok(None);
            }
            let Some(frame) = self.stack.pop() else { return Ok(None) };
            match close(frame.shape, frame.items) {
                Some(closed) => value = closed,
                // Attributes are about the value that follows them, and no command of Redis's has them.
                None => return Ok(None),
            }
            if matches!(value, Value::Push(_)) && !self.stack.is_empty() {
                return Err(Error::protocol("a push within a reply"));
            }
        }
    }

    fn step(&mut self, input: &[u8], at: &mut usize) -> Result<Step, Error> {
        if self.long.is_some() {
            return self.continue_long(input, at);
        }
        let rest = &input[*at..];
        let Some(&kind) = rest.first() else { return Ok(Step::More) };
        let Some(end) = memchr::memchr(b'\n', &rest[1..]).map(|i| i + 1) else {
            return match rest.len() {
                0..=LINE_BYTES_MAX => check_kind(kind).map(|()| Step::More),
                _ => Err(Error::protocol("a line without an end")),
            };
        };
        if rest[end - 1] != b'\r' || end < 2 {
            return Err(Error::protocol("a line that does not end with CR LF"));
        }
        let line = &rest[1..end - 1];
        *at += end + 1;
        match kind {
            b'$' | b'=' | b'!' => self.begin_string(kind, line, input, at),
            b'*' => self.begin(AggregateType::Array, line),
            b'%' => self.begin(AggregateType::Map, line),
            b'~' => self.begin(AggregateType::Set, line),
            b'>' => self.begin(AggregateType::Push, line),
            b'|' => self.begin(AggregateType::Attributes, line),
            _ => simple(kind, line).map(Step::Value),
        }
    }

    fn begin(&mut self, shape: AggregateType, line: &[u8]) -> Result<Step, Error> {
        let Some(n) = length(line)? else { return Ok(Step::Value(Value::Nil)) };
        let count = match shape {
            AggregateType::Map | AggregateType::Attributes => n.checked_mul(2),
            _ => Some(n),
        };
        let count = count.ok_or_else(|| Error::protocol("an impossible number of elements"))?;
        if self.stack.len() >= self.limits.depth_max {
            let depth = self.limits.depth_max;
            return Err(Error::protocol(format!("a reply is nested deeper than {depth}")));
        }
        if count == 0 {
            return Ok(close(shape, Vec::new()).map_or(Step::Began, Step::Value));
        }
        let items = Vec::with_capacity(count.min(ELEMENTS_AT_ONCE));
        self.stack.push(Frame { shape, left: count, items });
        Ok(Step::Began)
    }

    fn begin_string(
        &mut self,
        kind: u8,
        line: &[u8],
        input: &[u8],
        at: &mut usize,
    ) -> Result<Step, Error> {
        let Some(n) = length(line)? else { return Ok(Step::Value(Value::Nil)) };
        if n > self.limits.string_bytes_max {
            return Err(Error::protocol(format!(
                "a string of {n} bytes, more than {}",
                self.limits.string_bytes_max
            )));
        }
        let rest = &input[*at..];
        if let Some(whole) = rest.get(..n + 2) {
            *at += n + 2;
            let text = whole.strip_suffix(b"\r\n").ok_or_else(no_end)?;
            return string(kind, Bytes::copy_from_slice(text)).map(Step::Value);
        }
        // The rest of the input is a part of it, and no more is promised than has come.
        let mut bytes = Vec::with_capacity((n + 2).min(rest.len().max(1024) * 2));
        bytes.extend_from_slice(rest);
        *at += rest.len();
        self.long = Some(Long { kind, left: n + 2 - rest.len(), bytes });
        Ok(Step::More)
    }

    fn continue_long(&mut self, input: &[u8], at: &mut usize) -> Result<Step, Error> {
        let Some(long) = &mut self.long else { return Ok(Step::More) };
        let take = long.left.min(input.len() - *at);
        long.bytes.extend_from_slice(&input[*at..*at + take]);
        *at += take;
        long.left -= take;
        if long.left > 0 {
            return Ok(Step::More);
        }
        let Some(mut long) = self.long.take() else { return Ok(Step::More) };
        if !long.bytes.ends_with(b"\r\n") {
            return Err(no_end());
        }
        long.bytes.truncate(long.bytes.len() - 2);
        long.bytes.shrink_to_fit();
        string(long.kind, long.bytes.into()).map(Step::Value)
    }
}

fn no_end() -> Error {
    Error::protocol("a string that does not end with CR LF")
}

fn close(shape: AggregateType, items: Vec<Value>) -> Option<Value> {
    Some(match shape {
        AggregateType::Array => Value::Array(items),
        AggregateType::Set => Value::Set(items),
        AggregateType::Push => Value::Push(items),
        AggregateType::Map => {
            let mut pairs = Vec::with_capacity(items.len() / 2);
            let mut items = items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                pairs.push((key, value));
            }
            Value::Map(pairs)
        }
        AggregateType::Attributes => return None,
    })
}

/// A string with a length in front of it.
fn string(kind: u8, bytes: Bytes) -> Result<Value, Error> {
    match kind {
        b'$' => Ok(Value::Bulk(bytes)),
        b'!' => Ok(Value::Error(ServerError::new(&bytes))),
        _ => match *bytes {
            [a, b, c, b':', ..] => Ok(Value::Verbatim([a, b, c], bytes.slice(4..))),
            _ => Err(Error::protocol("a verbatim string without a format")),
        },
    }
}

fn check_kind(kind: u8) -> Result<(), Error> {
    match kind {
        b'+' | b'-' | b':' | b'$' | b'*' | b'_' | b'#' | b',' | b'(' | b'!' | b'=' | b'%'
        | b'~' | b'>' | b'|' => Ok(()),
        other => Err(Error::protocol(format!("a reply that begins with the byte {other:#04x}"))),
    }
}

/// A value of one line.
fn simple(kind: u8, line: &[u8]) -> Result<Value, Error> {
    check_kind(kind)?;
    let bad = |what| Error::protocol(format!("{what}: {:?}", String::from_utf8_lossy(line)));
    Ok(match kind {
        b'+' if line == b"OK" => Value::Okay,
        b'+' => Value::Simple(Bytes::copy_from_slice(line)),
        b'-' => Value::Error(ServerError::new(line)),
        b':' => Value::Int(integer(line).ok_or_else(|| bad("not an integer"))?),
        b'_' if line.is_empty() => Value::Nil,
        b'#' if line == b"t" => Value::Bool(true),
        b'#' if line == b"f" => Value::Bool(false),
        b',' => {
            let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
            Value::Double(number.ok_or_else(|| bad("not a number"))?)
        }
        b'(' => {
            let digits = line.strip_prefix(b"-").unwrap_or(line);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err(bad("not a big number"));
            }
            Value::BigNumber(Bytes::copy_from_slice(line))
        }
        _ => return Err(bad("neither null nor a boolean")),
    })
}

/// A length or a number of elements; nothing for -1, which is nil.
fn length(line: &[u8]) -> Result<Option<usize>, Error> {
    match integer(line) {
        Some(-1) => Ok(None),
        Some(n) if (0..=i64::from(u32::MAX)).contains(&n) => Ok(usize::try_from(n).ok()),
        _ => Err(Error::protocol(format!(
            "a length that is none: {:?}",
            String::from_utf8_lossy(line)
        ))),
    }
}

/// A decimal integer with an optional sign.
fn integer(line: &[u8]) -> Option<i64> {
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut n: i64 = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Below zero, so that the smallest number has a place.
        n = n.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
    }
    if negative { Some(n) } else { n.checked_neg() }
}

#[cfg(test)]
mod tests;
