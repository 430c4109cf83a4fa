//! Replies of a server, read from a stream: for tools, and for the server where it asks itself.

use std::io::{self, BufRead, Read};

/// Bytes of one string, and items of one list, that are believed.
const STRING_MAX: u64 = 512 << 20;
const LIST_MAX: u64 = 1 << 28;
/// Bytes of a line.
const LINE_MAX: u64 = 64 * 1024;
/// Lists within lists.
const DEPTH_MAX: usize = 8;

/// A reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A string, or a simple one.
    Text(Vec<u8>),
    Number(i64),
    /// An array, a set, or a map with its keys and values in turn.
    List(Vec<Reply>),
    Nil,
    /// An error, with its code.
    Error(String),
}

impl Reply {
    /// Reads one.
    ///
    /// # Errors
    /// The stream ends or fails, or this is no reply.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        Self::read_within(from, 0)
    }

    fn read_within(from: &mut impl BufRead, depth: usize) -> io::Result<Self> {
        let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let mut line = Vec::new();
        from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server has hung up"));
        }
        let line = line.strip_suffix(b"\r\n").ok_or_else(|| bad("a reply's line has no end"))?;
        let (kind, rest) = line.split_first().ok_or_else(|| bad("a reply has no type"))?;
        let text = String::from_utf8_lossy(rest).into_owned();
        let number = || text.parse::<i64>().map_err(|_| bad("a reply's number is none"));
        match kind {
            b'+' => Ok(Self::Text(rest.to_vec())),
            b'-' => Ok(Self::Error(text)),
            b':' => Ok(Self::Number(number()?)),
            b'_' => Ok(Self::Nil),
            b'$' | b'*' | b'~' | b'%' if number()? < 0 => Ok(Self::Nil),
            b'$' => {
                let size = number()? as u64;
                if size > STRING_MAX {
                    return Err(bad("a reply's string is too long"));
                }
                let mut bytes = Vec::new();
                from.by_ref().take(size + 2).read_to_end(&mut bytes)?;
                if bytes.len() as u64 != size + 2 || !bytes.ends_with(b"\r\n") {
                    return Err(bad("a reply's string is cut off"));
                }
                bytes.truncate(size as usize);
                Ok(Self::Text(bytes))
            }
            b'*' | b'~' | b'%' => {
                let items = number()? as u64;
                if items > LIST_MAX || depth >= DEPTH_MAX {
                    return Err(bad("a reply's list is too long or too deep"));
                }
                let items = if *kind == b'%' { 2 * items } else { items };
                (0..items)
                    .map(|_| Self::read_within(from, depth + 1))
                    .collect::<io::Result<_>>()
                    .map(Self::List)
            }
            _ => Err(bad("this is no reply of a server of this kind")),
        }
    }

    /// Its bytes; none for all but strings.
    pub(crate) fn text(self) -> Vec<u8> {
        if let Self::Text(bytes) = self { bytes } else { Vec::new() }
    }

    /// Its items; none for all but lists.
    pub(crate) fn list(self) -> Vec<Self> {
        if let Self::List(items) = self { items } else { Vec::new() }
    }

    /// 0 for all but numbers.
    pub(crate) fn number(&self) -> i64 {
        if let Self::Number(number) = self { *number } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_and_others_refused() {
        let read = |text: &str| Reply::read(&mut text.as_bytes());
        let text = |text: &str| Reply::Text(text.into());
        assert_eq!(read("$3\r\na\nb\r\n").ok(), Some(text("a\nb")));
        let map = Reply::List(vec![text("a"), Reply::Number(-1)]);
        assert_eq!(read("%1\r\n+a\r\n:-1\r\n").ok(), Some(map));
        assert_eq!(read("$-1\r\n").ok(), Some(Reply::Nil));
        assert_eq!(read("-ERR x\r\n").ok(), Some(Reply::Error("ERR x".into())));
        let deep = "*1\r\n".repeat(100);
        for bad in [
            "",
            "\r\n",
            "+a",
            "$3\r\nab",
            "$3\r\nabcde",
            "*2\r\n+a\r\n",
            ":x\r\n",
            "HTTP\r\n",
            &deep,
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        assert!(read("$99999999999\r\n").is_err() && read("*99999999999\r\n").is_err());
    }
}
