//! Replies of commands, read back: RESP3 of this server's own making.

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Nothing,
    Number(i64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Error(String),
}

/// Replies within replies that are read.
const DEPTH_MAX: usize = 8;

impl Value {
    /// Reads a reply. What is none is [`Value::Error`].
    pub(super) fn of(reply: &[u8]) -> Self {
        read(reply, 0).map_or_else(|| Self::Error("ERR no reply".into()), |(value, _)| value)
    }

    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::Number(n) => Some(n.to_string()),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    pub(super) fn list(&self) -> &[Value] {
        if let Self::List(all) = self { all } else { &[] }
    }

    /// The error, if it is one.
    pub(super) fn ok(self) -> Result<Self, String> {
        if let Self::Error(text) = self { Err(text) } else { Ok(self) }
    }
}

fn read(bytes: &[u8], depth: usize) -> Option<(Value, &[u8])> {
    let end = memchr::memmem::find(bytes, b"\r\n")?;
    let (kind, line) = bytes.get(..end)?.split_first()?;
    let rest = &bytes[end + 2..];
    let line = std::str::from_utf8(line).ok()?;
    let many = |n: usize| {
        let (mut all, mut rest) = (Vec::new(), rest);
        for _ in 0..n {
            let (value, after) = read(rest, depth + 1)?;
            all.push(value);
            rest = after;
        }
        Some((Value::List(all), rest))
    };
    Some(match kind {
        b'-' => (Value::Error(line.to_owned()), rest),
        b'+' | b',' => (Value::Bytes(line.as_bytes().to_vec()), rest),
        b':' => (Value::Number(line.parse().ok()?), rest),
        b'#' => (Value::Number(i64::from(line == "t")), rest),
        b'$' | b'=' if !line.starts_with('-') => {
            let n: usize = line.parse().ok()?;
            (Value::Bytes(rest.get(..n)?.to_vec()), rest.get(n + 2..)?)
        }
        b'_' | b'$' => (Value::Nothing, rest),
        b'*' if line.starts_with('-') => (Value::Nothing, rest),
        b'*' | b'~' | b'>' if depth < DEPTH_MAX => many(line.parse().ok()?)?,
        b'%' if depth < DEPTH_MAX => many(line.parse::<usize>().ok()?.checked_mul(2)?)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_back() {
        let of = |text: &str| Value::of(text.as_bytes());
        assert_eq!(of("$2\r\nab\r\n").text().as_deref(), Some("ab"));
        assert_eq!(of(":-3\r\n").number(), Some(-3));
        assert_eq!(of("_\r\n"), Value::Nothing);
        let list = of("*2\r\n$1\r\na\r\n%1\r\n+k\r\n:7\r\n");
        assert_eq!(list.list()[1].list()[1].number(), Some(7));
        assert!(of("-ERR x\r\n").ok().is_err());
        assert!(of("*2\r\n:1\r\n").ok().is_err(), "not whole");
    }
}
