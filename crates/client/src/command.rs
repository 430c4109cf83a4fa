//! A command: its arguments in RESP, in a buffer that an earlier command has left.

use crate::arg::{Arg, Args};
use crate::spec::{FirstKey, Flags, Spec};
use std::cell::RefCell;

/// Buffers that a thread keeps for its next commands, and how large they may be.
const POOL: usize = 256;
const POOL_BYTES: usize = 4 << 10;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub(crate) fn buffer() -> Vec<u8> {
    BUFFERS.try_with(|buffers| buffers.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Keeps a buffer for later, if it is of use.
pub(crate) fn keep(mut buffer: Vec<u8>) {
    if (1..=POOL_BYTES).contains(&buffer.capacity()) {
        buffer.clear();
        let _ = BUFFERS.try_with(|buffers| {
            let mut buffers = buffers.borrow_mut();
            if buffers.len() < POOL {
                buffers.push(buffer);
            }
        });
    }
}

/// A command with its arguments, for [`Client::call`](crate::Client::call), pipelines and transactions.
///
/// ```
/// use apus_client::Command;
///
/// let command = Command::new("SET").arg("key").arg(7).arg(("EX", 60));
/// let words: Vec<&[u8]> = command.args().collect();
/// assert_eq!(words, [&b"SET"[..], b"key", b"7", b"EX", b"60"]);
/// ```
#[derive(Debug)]
pub struct Command {
    bytes: Vec<u8>,
    count: u32,
    spec: &'static Spec,
}

impl Command {
    /// A command by its name; words after the first one are arguments: `"CONFIG GET"`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let spec = crate::lookup::find(name);
        let mut command = Self { bytes: buffer(), count: 0, spec };
        for word in name.split_ascii_whitespace() {
            command.push(word);
        }
        command
    }

    /// A command of the table.
    #[inline]
    #[must_use]
    pub(crate) fn of(spec: &'static Spec) -> Self {
        let mut bytes = buffer();
        bytes.extend_from_slice(spec.encoded);
        Self { bytes, count: spec.words, spec }
    }

    /// Adds an argument, or several: see [`Arg`].
    #[inline]
    #[must_use]
    pub fn arg(mut self, arg: impl Arg) -> Self {
        self.push(arg);
        self
    }

    /// Adds an argument, or several.
    #[inline]
    pub fn push(&mut self, arg: impl Arg) {
        arg.write(&mut Args { bytes: &mut self.bytes, count: &mut self.count });
    }

    /// Adds the number of the arguments that follow, and them.
    pub(crate) fn push_counted(&mut self, arg: impl Arg) {
        let (mut bytes, mut count) = (buffer(), 0);
        arg.write(&mut Args { bytes: &mut bytes, count: &mut count });
        self.push(count);
        self.bytes.extend_from_slice(&bytes);
        self.count += count;
        keep(bytes);
    }

    /// Appends arguments that are in RESP already.
    pub(crate) fn append(&mut self, bytes: &[u8], count: u32) {
        self.bytes.extend_from_slice(bytes);
        self.count += count;
    }

    /// The name and the arguments.
    pub fn args(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let end = memchr::memchr(b'\r', rest)?;
            let length: usize = std::str::from_utf8(&rest[1..end]).ok()?.parse().ok()?;
            let arg = rest.get(end + 2..end + 2 + length)?;
            rest = &rest[end + 4 + length..];
            Some(arg)
        })
    }

    /// The name as the table has it, or as it was given: `CONFIG GET`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.spec.name {
            "" => self
                .args()
                .next()
                .map(String::from_utf8_lossy)
                .unwrap_or_default()
                .to_ascii_uppercase(),
            name => name.to_owned(),
        }
    }

    /// What the table says about it.
    pub(crate) fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Whether it may be executed twice.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.spec.flags.has(Flags::READONLY)
    }

    /// Whether the server may keep it waiting: XREAD and XREADGROUP only do with BLOCK.
    pub(crate) fn is_blocking(&self) -> bool {
        self.spec.flags.has(Flags::BLOCKING)
            && (!self.spec.name.starts_with("XREAD")
                || self.args().skip(1).any(|arg| arg.eq_ignore_ascii_case(b"BLOCK")))
    }

    /// The key that decides where it is executed.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        let number = |arg: Option<&[u8]>| std::str::from_utf8(arg?).ok()?.parse::<u64>().ok();
        match self.spec.first_key {
            FirstKey::None => None,
            FirstKey::At(i) => self.args().nth(i.into()),
            FirstKey::Counted(count, first) => {
                number(self.args().nth(count.into())).filter(|&count| count > 0)?;
                self.args().nth(first.into())
            }
            FirstKey::After(word) => {
                let mut args = self.args();
                args.find(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))?;
                args.next()
            }
        }
    }

    /// The arguments in RESP without the header, and how many they are.
    pub(crate) fn encoded(&self) -> (&[u8], u32) {
        (&self.bytes, self.count)
    }

    /// Appends the whole command in RESP.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.push(b'*');
        crate::arg::write_number(out, self.count as usize);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.bytes);
    }

    /// The same with a buffer of its own.
    pub(crate) fn duplicate(&self) -> Self {
        let mut bytes = buffer();
        bytes.extend_from_slice(&self.bytes);
        Self { bytes, count: self.count, spec: self.spec }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        keep(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::Command;

    #[test]
    fn the_key_is_found_by_the_table() {
        let key = |command: Command| {
            command.first_key().map(|key| String::from_utf8_lossy(key).into_owned())
        };
        assert_eq!(key(Command::new("get").arg("k")).as_deref(), Some("k"));
        assert_eq!(key(Command::new("EVAL").arg(("return 1", 1, "k"))).as_deref(), Some("k"));
        assert_eq!(key(Command::new("EVAL").arg(("return 1", 0, "k"))), None);
        let read = Command::new("XREAD").arg(("COUNT", 1, "STREAMS", "s", "0"));
        assert_eq!(key(read).as_deref(), Some("s"));
        assert_eq!(key(Command::new("PING")), None);
        assert_eq!(key(Command::new("NO-SUCH-COMMAND").arg("x")), None);
        assert_eq!(key(Command::new("OBJECT ENCODING").arg("k")).as_deref(), Some("k"));
    }

    #[test]
    fn names_and_kinds() {
        assert_eq!(Command::new("config get").name(), "CONFIG GET");
        assert_eq!(Command::new("foo bar").name(), "FOO");
        assert!(Command::new("GET").is_repeatable() && !Command::new("SET").is_repeatable());
        assert!(Command::new("BLPOP").is_blocking());
        assert!(!Command::new("XREAD").arg(("STREAMS", "s", "0")).is_blocking());
        assert!(Command::new("XREAD").arg(("block", 0, "STREAMS", "s", "0")).is_blocking());
    }
}
