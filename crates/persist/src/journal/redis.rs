//! Append-only files that Redis has written: its manifest, and commands as RESP arrays.
//!
//! <https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/>: since 7.0 a
//! directory with a manifest that names one base (a snapshot, or commands) and increments; before
//! that one file, which may begin with a snapshot.

use std::io::{self, Read};

/// A file of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// File name.
    pub name: String,
    /// `b`, `i` or `h`: base, increment, history.
    pub kind: u8,
}

/// The files that a manifest of Redis names, in the order of loading; history is left out.
///
/// # Errors
/// The line that cannot be understood.
pub fn parse_manifest(text: &[u8]) -> Result<Vec<ManifestFile>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    if text.is_empty() {
        return Err("Found an empty AOF manifest".to_owned());
    }
    let mut parts = Vec::new();
    let mut last = 0;
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if line.len() > LINE_MAX {
            return Err("The AOF manifest file contains too long line".to_owned());
        }
        let bad = || format!("Invalid AOF manifest file format: {line}");
        let line = line.trim();
        let mut sequence = 0;
        let words = words(line).ok_or_else(bad)?;
        let mut part = ManifestFile { name: String::new(), kind: 0 };
        for pair in words.chunks(2) {
            match pair {
                [key, value] if key == "file" => part.name.clone_from(value),
                [key, value] if key == "type" => {
                    part.kind = value.bytes().next().unwrap_or_default();
                }
                [key, value] if key == "seq" => sequence = value.parse().map_err(|_| bad())?,
                [_, _] => {}
                _ => return Err(bad()),
            }
        }
        if part.name.is_empty() || part.name.contains('/') || part.kind == 0 || sequence == 0 {
            return Err(bad());
        }
        match part.kind {
            b'i' if sequence <= last => {
                return Err(format!("Found a non-monotonic sequence number: {line}"));
            }
            b'i' => last = sequence,
            b'b' | b'h' => {}
            _ => return Err(format!("Unknown AOF file type: {line}")),
        }
        parts.push(part);
    }
    if parts.iter().filter(|p| p.kind == b'b').count() > 1 {
        return Err("Found duplicate base file information".to_owned());
    }
    parts.retain(|p| p.kind != b'h');
    // The base comes first wherever it stands.
    parts.sort_by_key(|p| p.kind != b'b');
    Ok(parts)
}

/// Bytes of a line, as in Redis.
const LINE_MAX: usize = 1024;

/// Words of a line; one in double quotes may hold blanks.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (mut word, mut end) = (String::new(), None);
            let mut chars = quoted.char_indices();
            while let Some((i, c)) = chars.next() {
                match c {
                    '"' => {
                        end = Some(i + 1);
                        break;
                    }
                    '\\' => word.push(chars.next()?.1),
                    c => word.push(c),
                }
            }
            words.push(word);
            rest = quoted[end?..].trim_start();
        } else {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            words.push(word.to_owned());
            rest = after.trim_start();
        }
    }
    Some(words)
}

/// Why a file of commands ends early.
#[derive(Debug)]
pub enum Stop {
    /// The file ends within a command that begins at this offset.
    Truncated(u64),
    /// The bytes at this offset are no command.
    Malformed(u64),
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Reads commands from a file.
#[derive(Debug)]
pub struct Commands<R> {
    file: R,
    buf: Vec<u8>,
    /// Where in `buf` the next command begins.
    at: usize,
    /// Offset in the file of the beginning of `buf`.
    base: u64,
    ended: bool,
}

const CHUNK: usize = 256 * 1024;
/// Most arguments of one command, as in Redis.
const ARGS_MAX: usize = i32::MAX as usize;

impl<R: Read> Commands<R> {
    /// A reader of the rest of a file, which begins at `offset`.
    pub fn new(file: R, offset: u64) -> Self {
        Self { file, buf: Vec::new(), at: 0, base: offset, ended: false }
    }

    /// Offset of the next command.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Whether the file begins with these bytes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn starts_with(&mut self, magic: &[u8]) -> io::Result<bool> {
        while self.buf.len() < self.at + magic.len() && self.more()? {}
        Ok(self.buf[self.at..].starts_with(magic))
    }

    /// The next command: `args` is filled with start and length of its arguments in the bytes that
    /// are returned. None at the end of the file.
    ///
    /// # Errors
    /// No further whole command follows.
    pub fn next(&mut self, args: &mut Vec<(usize, usize)>) -> Result<Option<&[u8]>, Stop> {
        self.buf.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        // Annotations.
        while self.peek()? == Some(b'#') {
            let (_, end) = self.line(0)?;
            self.buf.drain(..end);
            self.base += end as u64;
        }
        if self.peek()?.is_none() {
            return Ok(None);
        }
        args.clear();
        let (count, mut pos) = self.number(0, b'*')?;
        if count == 0 || count > ARGS_MAX {
            return Err(Stop::Malformed(self.base));
        }
        for _ in 0..count {
            let (len, start) = self.number(pos, b'$')?;
            let end = start.checked_add(len).ok_or(Stop::Malformed(self.base))?;
            let line = end.checked_add(2).ok_or(Stop::Malformed(self.base))?;
            while self.buf.len() < line {
                if !self.more()? {
                    return Err(Stop::Truncated(self.base));
                }
            }
            if &self.buf[end..line] != b"\r\n" {
                return Err(Stop::Malformed(self.base));
            }
            args.push((start, len));
            pos = line;
        }
        self.at = pos;
        Ok(Some(&self.buf))
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        while self.buf.is_empty() {
            if !self.more()? {
                return Ok(None);
            }
        }
        Ok(self.buf.first().copied())
    }

    /// Reads on; the reserved memory is bounded by the bytes read. False at the end.
    fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let room = CHUNK.max(self.buf.len());
        let n = (&mut self.file).take(room as u64).read_to_end(&mut self.buf)?;
        self.ended = n == 0;
        Ok(n > 0)
    }

    /// The line at `from`, without its end, and where the next begins.
    fn line(&mut self, from: usize) -> Result<(std::ops::Range<usize>, usize), Stop> {
        let mut looked = from;
        loop {
            let rest = self.buf.get(looked..).unwrap_or_default();
            if let Some(n) = memchr::memchr(b'\n', rest) {
                let end = looked + n;
                let cr = end > from && self.buf[end - 1] == b'\r';
                return Ok((from..end - usize::from(cr), end + 1));
            }
            looked = self.buf.len();
            if !self.more()? {
                return Err(Stop::Truncated(self.base));
            }
        }
    }

    fn number(&mut self, from: usize, mark: u8) -> Result<(usize, usize), Stop> {
        while self.buf.len() <= from {
            if !self.more()? {
                return Err(Stop::Truncated(self.base));
            }
        }
        if self.buf[from] != mark {
            return Err(Stop::Malformed(self.base));
        }
        let (line, next) = self.line(from + 1)?;
        let digits = self.buf.get(line).and_then(stdx::num::parse_i64);
        let n = digits.and_then(|n| usize::try_from(n).ok());
        Ok((n.ok_or(Stop::Malformed(self.base))?, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = buf.len().min(1).min(self.0.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn read_all(file: impl Read) -> (Vec<Vec<Vec<u8>>>, String) {
        let mut reader = Commands::new(file, 0);
        let (mut all, mut args) = (Vec::new(), Vec::new());
        loop {
            match reader.next(&mut args) {
                Ok(Some(bytes)) => {
                    all.push(args.iter().map(|(at, n)| bytes[*at..at + n].to_vec()).collect());
                }
                Ok(None) => return (all, format!("end {}", reader.offset())),
                Err(Stop::Io(e)) => return (all, e.to_string()),
                Err(stop) => return (all, format!("{stop:?}")),
            }
        }
    }

    #[test]
    fn reads_commands_and_skips_annotations() {
        let file = b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n#TS:1\r\n*1\r\n$4\r\na\r\nb\r\n";
        let (all, end) = read_all(Slow(file));
        assert_eq!(all, [vec![b"SELECT".to_vec(), b"0".to_vec()], vec![b"a\r\nb".to_vec()]]);
        assert_eq!(end, format!("end {}", file.len()));
        assert_eq!(read_all(&file[..file.len() - 1]).1, "Truncated(30)");
        assert_eq!(read_all(&b"*1\r\n$1\r\nxyz"[..]).1, "Malformed(0)");
        assert_eq!(read_all(&b"*1\r\n$99999999999\r\nx"[..]).1, "Truncated(0)");
        assert_eq!(read_all(&b"hello"[..]).1, "Malformed(0)");
    }

    #[test]
    fn manifests_name_base_and_increments() {
        let text = b"file appendonly.aof.1.incr.aof seq 1 type i\n\
            file \"my base.rdb\" seq 1 type b\nfile old.aof seq 1 type h\n";
        let parts = parse_manifest(text).expect("valid");
        let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["my base.rdb", "appendonly.aof.1.incr.aof"]);
        assert!(parse_manifest(b"file ../x seq 1 type b").is_err());
        assert!(parse_manifest(b"file x seq 1").is_err());
        assert!(parse_manifest(b"file \"x").is_err());
        for (text, why) in [
            ("", "empty AOF manifest"),
            ("file a seq 1 type i\n\nfile b seq 2 type i\n", "Invalid AOF manifest"),
            ("file a seq 0 type h\n", "Invalid AOF manifest"),
            ("file a seq 2 type i\nfile b seq 2 type i\n", "non-monotonic"),
            ("file a seq 1 type b\nfile b seq 2 type b\n", "duplicate base"),
            ("file a seq 1 type x\n", "Unknown AOF file type"),
            (&format!("file {} seq 1 type b\n", "a".repeat(1024)), "too long line"),
        ] {
            let refusal = parse_manifest(text.as_bytes()).expect_err(text);
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
