//! Parsing of requests: RESP arrays of bulk strings, and inline commands.
//!
//! The caller has bytes in a buffer and wants the commands in it. A command that is whole is parsed
//! in one pass with nothing remembered. Of a command that is not whole, [`Parser`] remembers how
//! far it came, so that a request of a million arguments that arrives in small pieces is still
//! parsed once. Positions are relative to the command's first byte: the caller may move the bytes
//! between calls, as long as that byte stays first.
//!
//! A large argument is not collected in the buffer: the parser asks for it to be read straight
//! into a vector of its own ([`Parsed::Big`]), which a SET can then keep without a copy. The
//! parser then holds all that came before it, and the caller's buffer starts anew behind it.

use crate::args::Span;

/// Inline requests and header lines may be this long, as in Redis.
const LINE_MAX: usize = 64 * 1024;
/// Arguments of at least this many bytes that are not there yet get a buffer of their own.
const BIG_ARG: usize = 64 * 1024;
/// First capacity of such a buffer. A client may announce a length and never send it, so the
/// buffer grows with what arrives.
const BIG_FIRST: usize = 1 << 20;

/// What a request may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `proto-max-bulk-len` in bytes.
    pub bulk_max: usize,
    /// Whether the client still has to authenticate: then at most 10 arguments of 16 KiB.
    pub unauthenticated: bool,
}

/// The outcome of one step.
#[derive(Debug)]
pub enum Parsed {
    /// A command: its arguments have been appended to the spans; it ends at this offset.
    Command(usize),
    /// Nothing to execute (an empty line, an empty array); goes on at this offset.
    Nothing(usize),
    /// More bytes are needed behind those that are there. Spans hold nothing of this command.
    Incomplete,
    /// A large argument starts at this offset; its bytes should be received with
    /// [`Parser::big`]. All of the buffer has been taken over: what comes after the argument is
    /// passed to the next call as if the command began there.
    Big {
        /// Offset of the argument's first byte from the start of the buffer.
        at: usize,
    },
    /// The connection must be closed after this error.
    Error(ProtocolError),
}

/// A violation of the protocol, with Redis's text.
#[derive(Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

impl ProtocolError {
    fn new(text: &str) -> Self {
        Self(format!("Protocol error: {text}"))
    }
}

/// What is remembered of a command that is not whole yet: nothing between commands.
#[derive(Default, Debug)]
pub struct Parser(Option<Box<Begun>>);

/// A command that is not whole yet.
#[derive(Default, Debug)]
struct Begun {
    /// Next byte to look at, from the command's start.
    pos: usize,
    /// Arguments still to come; 0 when the header has not been read.
    left: usize,
    /// Length of the argument whose header has been read.
    bulk: Option<usize>,
    spans: Vec<Span>,
    /// Arguments that do not lie in the buffer.
    owned: Vec<Vec<u8>>,
    /// The large argument being received, and its full length with CR LF.
    big: Option<(Vec<u8>, usize)>,
}

impl Parser {
    /// Whether a command has been begun.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// How long the command that has been begun will be, if its other arguments are like those that
    /// have come: a guess, that a client can make as large as it likes.
    pub fn expected(&self) -> usize {
        let Some(begun) = &self.0 else { return 0 };
        let each = begun.pos / begun.spans.len().max(1);
        begun.pos.saturating_add(each.saturating_mul(begun.left))
    }

    /// Bytes held beyond the caller's buffer.
    pub fn memory(&self) -> usize {
        let Some(begun) = &self.0 else { return 0 };
        begun.spans.capacity() * size_of::<Span>()
            + begun.owned.iter().map(Vec::capacity).sum::<usize>()
            + begun.big.as_ref().map_or(0, |(b, _)| b.capacity())
    }

    /// Bytes of the large argument that is being received: those that have arrived, and those that
    /// are reserved for it.
    pub fn arriving(&self) -> (usize, usize) {
        let big = self.0.as_ref().and_then(|begun| begun.big.as_ref());
        big.map_or((0, 0), |(b, _)| (b.len(), b.capacity()))
    }

    /// Bytes of arguments that have arrived and lie outside the caller's buffer.
    pub fn received(&self) -> usize {
        let Some(begun) = &self.0 else { return 0 };
        begun.owned.iter().map(Vec::len).sum::<usize>()
            + begun.big.as_ref().map_or(0, |(b, _)| b.len())
    }

    /// Whether a large argument is being received: [`big`](Self::big) has a place for the rest of it.
    #[inline]
    pub fn is_big(&self) -> bool {
        let big = self.0.as_ref().and_then(|begun| begun.big.as_ref());
        big.is_some_and(|(buf, len)| buf.len() < *len)
    }

    /// The vector that receives a large argument and the number of bytes still missing (CR LF
    /// included). Once it is zero, [`parse`](Self::parse) goes on behind it.
    pub fn big(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let (buf, len) = self.0.as_mut()?.big.as_mut()?;
        let missing = *len - buf.len();
        if missing == 0 {
            return None;
        }
        if buf.len() == buf.capacity() {
            // Doubling, so that memory follows what has arrived, not what was announced.
            buf.reserve_exact(missing.min(buf.len().max(BIG_FIRST)));
        }
        Some((buf, missing))
    }

    /// Looks for one command at the start of `buf`. `base` is where `buf` starts in the caller's
    /// whole buffer, which spans refer to; `owned` receives the arguments that are not in it.
    #[inline]
    pub fn parse(
        &mut self,
        buf: &[u8],
        base: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
        owned: &mut Vec<Vec<u8>>,
    ) -> Parsed {
        if !self.is_active()
            && !limits.unauthenticated
            && base.saturating_add(buf.len()) <= Span::END_MAX
            && let Some(end) =
                fast(buf, base, limits, spans).or_else(|| many(buf, base, limits, spans))
        {
            return Parsed::Command(end);
        }
        self.slow(buf, base, limits, spans, owned)
    }

    fn slow(
        &mut self,
        buf: &[u8],
        base: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
        owned: &mut Vec<Vec<u8>>,
    ) -> Parsed {
        if let Some(begun) = &mut self.0 {
            let parsed = begun.parse(buf, base, limits, spans, owned);
            if !begun.is_active() {
                self.0 = None;
            }
            return parsed;
        }
        // Most input ends with a command: nothing is allocated for the nothing behind it.
        let mut begun = Begun::default();
        let parsed = begun.parse(buf, base, limits, spans, owned);
        if begun.is_active() {
            self.0 = Some(Box::new(begun));
        }
        parsed
    }
}

impl Begun {
    fn is_active(&self) -> bool {
        // A large argument that is being received counts among those still to come.
        self.left != 0
    }

    #[cold]
    fn fail(&mut self, text: &str) -> Parsed {
        *self = Self::default();
        Parsed::Error(ProtocolError::new(text))
    }

    fn parse(
        &mut self,
        buf: &[u8],
        base: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
        owned: &mut Vec<Vec<u8>>,
    ) -> Parsed {
        if !self.is_active() {
            if buf.first().is_some_and(|first| *first != b'*') {
                return self.inline(buf, spans, owned);
            }
            if let Err(parsed) = self.header(buf, limits) {
                return parsed;
            }
        }
        if let Some((buf, len)) = &mut self.big {
            if buf.len() < *len {
                return Parsed::Incomplete;
            }
            buf.truncate(*len - 2);
            self.spans.push(Span::owned(self.owned.len()));
            let (buf, _) = self.big.take().expect("matched above");
            self.owned.push(buf);
            self.left -= 1;
        }
        while self.left > 0 {
            let len = match self.bulk.map_or_else(|| self.bulk_header(buf, limits), Ok) {
                Ok(len) => len,
                Err(parsed) => return parsed,
            };
            if buf.len() - self.pos < len + 2 {
                if len >= BIG_ARG {
                    let mut big = Vec::with_capacity((len + 2).min(BIG_FIRST));
                    big.extend_from_slice(&buf[self.pos..]);
                    self.big = Some((big, len + 2));
                    self.bulk = None;
                    self.detach(buf);
                    let at = std::mem::take(&mut self.pos);
                    return Parsed::Big { at };
                }
                return Parsed::Incomplete;
            }
            match Span::within(self.pos, len) {
                Some(span) => self.spans.push(span),
                None => {
                    self.spans.push(Span::owned(self.owned.len()));
                    self.owned.push(buf[self.pos..self.pos + len].to_vec());
                }
            }
            self.pos += len + 2;
            self.bulk = None;
            self.left -= 1;
        }
        self.finish(buf, base, spans, owned)
    }

    /// The number of arguments: a request begins.
    #[inline]
    fn header(&mut self, buf: &[u8], limits: &Limits) -> Result<(), Parsed> {
        if buf.is_empty() {
            return Err(Parsed::Incomplete);
        }
        let (count, end) = match line(buf, 1) {
            Line::Partial => return Err(Parsed::Incomplete),
            Line::TooLong => return Err(self.fail("too big mbulk count string")),
            Line::Is(l, end) => (integer(l), end),
        };
        let Some(count) = count.filter(|n| *n <= i64::from(i32::MAX)) else {
            return Err(self.fail("invalid multibulk length"));
        };
        if count > 10 && limits.unauthenticated {
            return Err(self.fail("unauthenticated multibulk length"));
        }
        if count <= 0 {
            return Err(Parsed::Nothing(end));
        }
        *self = Self { pos: end, left: count as usize, ..Self::default() };
        Ok(())
    }

    /// The length of the next argument.
    #[inline]
    fn bulk_header(&mut self, buf: &[u8], limits: &Limits) -> Result<usize, Parsed> {
        let Some(&first) = buf.get(self.pos) else {
            return Err(Parsed::Incomplete);
        };
        if first != b'$' {
            let c = if first.is_ascii_graphic() || first == b' ' { first } else { b' ' };
            return Err(self.fail(&format!("expected '$', got '{}'", c as char)));
        }
        let (len, end) = match line(buf, self.pos + 1) {
            Line::Partial => return Err(Parsed::Incomplete),
            Line::TooLong => return Err(self.fail("too big bulk count string")),
            Line::Is(l, end) => (integer(l), end),
        };
        let max = limits.bulk_max;
        let Some(len) = len.and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= max) else {
            return Err(self.fail("invalid bulk length"));
        };
        if len > 16384 && limits.unauthenticated {
            return Err(self.fail("unauthenticated bulk length"));
        }
        self.pos = end;
        self.bulk = Some(len);
        Ok(len)
    }

    /// All arguments are there: hands them over.
    #[inline]
    fn finish(
        &mut self,
        buf: &[u8],
        base: usize,
        spans: &mut Vec<Span>,
        owned: &mut Vec<Vec<u8>>,
    ) -> Parsed {
        let first = owned.len();
        owned.append(&mut self.owned);
        spans.extend(self.spans.iter().map(|s| match s.owned_index() {
            Some(i) => Span::owned(first + i),
            None => s.shifted(base).unwrap_or_else(|| {
                owned.push(s.bytes(buf).unwrap_or_default().to_vec());
                Span::owned(owned.len() - 1)
            }),
        }));
        let end = self.pos;
        *self = Self::default();
        Parsed::Command(end)
    }

    /// Copies the arguments so far out of the caller's buffer, which need not be kept then. They
    /// are small next to the one that is about to come.
    fn detach(&mut self, buf: &[u8]) {
        for span in &mut self.spans {
            if let Some(bytes) = span.bytes(buf) {
                self.owned.push(bytes.to_vec());
                *span = Span::owned(self.owned.len() - 1);
            }
        }
    }

    fn inline(&mut self, buf: &[u8], spans: &mut Vec<Span>, owned: &mut Vec<Vec<u8>>) -> Parsed {
        let Some(nl) = memchr::memchr(b'\n', &buf[..buf.len().min(LINE_MAX + 1)]) else {
            if buf.len() > LINE_MAX {
                return self.fail("too big inline request");
            }
            return Parsed::Incomplete;
        };
        let text = buf[..nl].strip_suffix(b"\r").unwrap_or(&buf[..nl]);
        let Ok(words) = stdx::split::split_args(text) else {
            return self.fail("unbalanced quotes in request");
        };
        if words.is_empty() {
            return Parsed::Nothing(nl + 1);
        }
        for w in words {
            spans.push(Span::owned(owned.len()));
            owned.push(w);
        }
        Parsed::Command(nl + 1)
    }
}

enum Line<'a> {
    Is(&'a [u8], usize),
    Partial,
    TooLong,
}

/// The header line that starts at `at`, and the offset behind its CR LF.
fn line(buf: &[u8], at: usize) -> Line<'_> {
    let rest = &buf[at..];
    match memchr::memchr(b'\r', &rest[..rest.len().min(LINE_MAX)]) {
        None if rest.len() >= LINE_MAX => Line::TooLong,
        None => Line::Partial,
        // The byte after CR is taken to be LF, as Redis does; it must be there.
        Some(cr) if at + cr + 1 < buf.len() => Line::Is(&rest[..cr], at + cr + 2),
        Some(_) => Line::Partial,
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    stdx::num::parse_i64(text)
}

const fn pattern(s: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*s)
}

/// `*d\r\n$d\r\n` with one digit each is one comparison.
const DIGITS: u64 = pattern(&[0, 0xff, 0, 0, 0, 0xff, 0, 0]);
const SHAPE: u64 = pattern(b"*\0\r\n$\0\r\n");

/// Whole commands in the usual form, with short headers: all that real clients send most of the
/// time. Appends to `spans` only if the command is whole.
#[inline]
fn fast(buf: &[u8], base: usize, limits: &Limits, spans: &mut Vec<Span>) -> Option<usize> {
    let head = u64::from_le_bytes(*buf.first_chunk::<8>()?);
    if head & !DIGITS != SHAPE {
        return None;
    }
    let argc = usize::from(buf[1].wrapping_sub(b'0'));
    let len = usize::from(buf[5].wrapping_sub(b'0'));
    if argc == 0 || argc > 9 || len == 0 || len > 9 || buf.len() < 8 + len + 2 {
        return None;
    }
    let begin = spans.len();
    spans.push(Span::near(base + 8, len));
    let mut pos = 8 + len + 2;
    for _ in 1..argc {
        match short_bulk(buf, pos) {
            Some((at, len)) if len <= limits.bulk_max && at + len + 2 <= buf.len() => {
                spans.push(Span::near(base + at, len));
                pos = at + len + 2;
            }
            _ => {
                spans.truncate(begin);
                return None;
            }
        }
    }
    Some(pos)
}

/// The same for commands of 10 to 99 arguments.
fn many(buf: &[u8], base: usize, limits: &Limits, spans: &mut Vec<Span>) -> Option<usize> {
    let [b'*', tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', ..] = *buf else {
        return None;
    };
    let begin = spans.len();
    let mut pos = 5;
    for _ in 0..usize::from(tens - b'0') * 10 + usize::from(ones - b'0') {
        match short_bulk(buf, pos) {
            Some((at, len)) if len <= limits.bulk_max && at + len + 2 <= buf.len() => {
                spans.push(Span::near(base + at, len));
                pos = at + len + 2;
            }
            _ => {
                spans.truncate(begin);
                return None;
            }
        }
    }
    Some(pos)
}

/// The beginning that many commands of a pipeline share: count of arguments and name. Commands
/// with the same template are recognised by two comparisons instead of being parsed and looked up.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The first eight bytes: `*d\r\n$d\r\n`.
    head: u64,
    /// The name, as it was written.
    name: u64,
    /// Bits of `name` that count.
    mask: u64,
    argc: u8,
    /// Length of the name.
    len: u8,
}

impl Template {
    /// The shape of the command at the start of `buf`, if it has one.
    pub fn of(buf: &[u8]) -> Option<Self> {
        let head = u64::from_le_bytes(*buf.first_chunk::<8>()?);
        let name = u64::from_le_bytes(*buf.get(8..)?.first_chunk::<8>()?);
        let (argc, len) = (buf[1].wrapping_sub(b'0'), buf[5].wrapping_sub(b'0'));
        if head & !DIGITS != SHAPE || !(1..=9).contains(&argc) || !(1..=8).contains(&len) {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(len));
        Some(Self { head, name: name & mask, mask, argc, len })
    }

    /// How many arguments commands of this shape have, the name included.
    #[inline]
    pub fn argc(&self) -> usize {
        usize::from(self.argc)
    }

    /// Parses the command at `pos` if it is whole, has this shape and ends at [`Span::END_MAX`] at
    /// most: appends its spans, and returns the offset behind it.
    #[inline(always)]
    pub fn parse(
        &self,
        buf: &[u8],
        pos: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Option<usize> {
        let buf = &buf[..buf.len().min(Span::END_MAX)];
        let rest = buf.get(pos..)?.first_chunk::<16>()?;
        let (head, name) = (rest.first_chunk::<8>()?, rest.last_chunk::<8>()?);
        if u64::from_le_bytes(*head) != self.head
            || u64::from_le_bytes(*name) & self.mask != self.name
        {
            return None;
        }
        let begin = spans.len();
        spans.push(Span::near(pos + 8, usize::from(self.len)));
        let mut at = pos + 10 + usize::from(self.len);
        for _ in 1..self.argc {
            match short_bulk(buf, at) {
                Some((from, len)) if len <= limits.bulk_max && from + len + 2 <= buf.len() => {
                    spans.push(Span::near(from, len));
                    at = from + len + 2;
                }
                _ => {
                    spans.truncate(begin);
                    return None;
                }
            }
        }
        Some(at)
    }
}

/// The header of a bulk string as it was written the last time: keys of a pipeline are often of one
/// length, and then comparing it is enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Its first four bytes, which are all of it that matters: `$12` CR, or `$9` CR LF.
    text: u32,
    /// How long the header is, and what it says; a length of 0 when there has been none.
    len: usize,
    bulk: usize,
}

impl Header {
    #[inline(always)]
    fn read(&mut self, buf: &[u8], pos: usize) -> Option<(usize, usize)> {
        let text = u32::from_le_bytes(*buf.get(pos..)?.first_chunk::<4>()?);
        if text == self.text && self.len > 0 {
            return Some((pos + self.len, self.bulk));
        }
        let (at, bulk) = short_bulk(buf, pos)?;
        // Three digits are not told from more by four bytes.
        if at - pos <= 5 {
            *self = Self { text, len: at - pos, bulk };
        }
        Some((at, bulk))
    }
}

/// A command that [`Template::next`] has found: its arguments, argument 1, and the offset behind it.
pub type Matched<'b, const N: usize> = ([Span; N], &'b [u8], usize);

impl Template {
    /// [`parse`](Self::parse) for commands of `N` arguments, which must be what [`argc`](Self::argc)
    /// says and at least 2.
    #[inline(always)]
    pub fn next<'b, const N: usize>(
        &self,
        header: &mut Header,
        buf: &'b [u8],
        pos: usize,
        limits: &Limits,
    ) -> Option<Matched<'b, N>> {
        // Run for every command of a run; the caller has chosen N by `argc`, and no index depends on it.
        debug_assert!(N == self.argc() && N >= 2);
        let buf = &buf[..buf.len().min(Span::END_MAX)];
        let rest = buf.get(pos..)?.first_chunk::<16>()?;
        let (head, name) = (rest.first_chunk::<8>()?, rest.last_chunk::<8>()?);
        if u64::from_le_bytes(*head) != self.head
            || u64::from_le_bytes(*name) & self.mask != self.name
        {
            return None;
        }
        let mut spans = [Span::near(pos + 8, usize::from(self.len)); N];
        let (from, len) = header.read(buf, pos + 10 + usize::from(self.len))?;
        let mut end = from + len + 2;
        if len > limits.bulk_max || end > buf.len() {
            return None;
        }
        let key = buf.get(from..from + len)?;
        spans[1] = Span::near(from, len);
        for span in &mut spans[2..] {
            let (from, len) = short_bulk(buf, end)?;
            end = from + len + 2;
            if len > limits.bulk_max || end > buf.len() {
                return None;
            }
            *span = Span::near(from, len);
        }
        Some((spans, key, end))
    }
}

/// A bulk header of up to five digits at `pos`: where its bytes start, and how many they are.
#[inline(always)]
fn short_bulk(buf: &[u8], pos: usize) -> Option<(usize, usize)> {
    // Eight bytes from here on are there unless the command is the last in the buffer and tiny.
    let Some(h) = buf.get(pos..).and_then(|rest| rest.first_chunk::<8>()) else {
        return short_bulk_at_end(buf, pos);
    };
    let digit = |i: usize| usize::from(h[i].wrapping_sub(b'0'));
    if h[0] != b'$' || digit(1) > 9 {
        return None;
    }
    if h[2] == b'\r' {
        return Some((pos + 4, digit(1)));
    }
    // "$0…" with more digits is not how numbers are written; the general parser refuses it.
    if digit(1) == 0 || digit(2) > 9 {
        return None;
    }
    if h[3] == b'\r' {
        return Some((pos + 5, digit(1) * 10 + digit(2)));
    }
    if digit(3) > 9 {
        return None;
    }
    let hundreds = digit(1) * 100 + digit(2) * 10 + digit(3);
    if h[4] == b'\r' {
        return Some((pos + 6, hundreds));
    }
    match (h[4], h[5], h[6]) {
        (d @ b'0'..=b'9', b'\r', _) => Some((pos + 7, hundreds * 10 + usize::from(d - b'0'))),
        (d @ b'0'..=b'9', e @ b'0'..=b'9', b'\r') => {
            let n = hundreds * 100 + usize::from(d - b'0') * 10 + usize::from(e - b'0');
            Some((pos + 8, n))
        }
        _ => None,
    }
}

#[cold]
fn short_bulk_at_end(buf: &[u8], pos: usize) -> Option<(usize, usize)> {
    let h = buf.get(pos..pos + 4)?;
    let d = h[1].wrapping_sub(b'0');
    (h[0] == b'$' && d <= 9 && h[2] == b'\r').then_some((pos + 4, usize::from(d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { bulk_max: 512 << 20, unauthenticated: false };

    fn all(bytes: &[u8], step: usize, limits: &Limits) -> Result<Vec<Vec<Vec<u8>>>, ProtocolError> {
        let mut parser = Parser::default();
        let mut out = Vec::new();
        let mut buf: Vec<u8> = Vec::new();
        let mut rest = bytes;
        loop {
            loop {
                let (mut spans, mut owned) = (Vec::new(), Vec::new());
                let used = match parser.parse(&buf, 0, limits, &mut spans, &mut owned) {
                    Parsed::Command(end) => {
                        let args = crate::Args::new(&buf, &spans, &mut owned);
                        out.push(args.to_vecs(0));
                        end
                    }
                    Parsed::Nothing(end) => end,
                    Parsed::Incomplete => {
                        assert!(spans.is_empty());
                        break;
                    }
                    Parsed::Big { at } => {
                        assert!(at <= buf.len());
                        buf.clear();
                        while let Some((big, missing)) = parser.big() {
                            let n = missing.min(rest.len()).min(step);
                            if n == 0 {
                                return Ok(out);
                            }
                            big.extend_from_slice(&rest[..n]);
                            rest = &rest[n..];
                        }
                        continue;
                    }
                    Parsed::Error(e) => return Err(e),
                };
                buf.drain(..used);
            }
            if rest.is_empty() {
                return Ok(out);
            }
            let n = step.min(rest.len());
            buf.extend_from_slice(&rest[..n]);
            rest = &rest[n..];
        }
    }

    fn words(list: &[&[u8]]) -> Vec<Vec<u8>> {
        list.iter().map(|w| w.to_vec()).collect()
    }

    #[test]
    fn any_split_gives_the_same_commands() {
        let mut input =
            b"*3\r\n$3\r\nSET\r\n$5\r\nhello\r\n$0\r\n\r\nPING\r\n\r\n*0\r\n*-1\r\n".to_vec();
        input.extend_from_slice(
            b"set 'a b' \"\\x41\\n\"\n*2\r\n$4\r\nECHO\r\n$12\r\n123456789012\r\n",
        );
        let many: Vec<String> = (0..12).map(|i| "x".repeat(i * 11)).collect();
        input.extend_from_slice(b"*12\r\n");
        for word in &many {
            input.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        let big = vec![b'z'; 70_000];
        input.extend_from_slice(b"*4\r\n$4\r\nMSET\r\n$1\r\nk\r\n$70000\r\n");
        input.extend_from_slice(&big);
        input.extend_from_slice(b"\r\n$3\r\nend\r\n*1\r\n$4\r\nPING\r\n");
        let expected = vec![
            words(&[b"SET", b"hello", b""]),
            words(&[b"PING"]),
            words(&[b"set", b"a b", b"A\n"]),
            words(&[b"ECHO", b"123456789012"]),
            words(&many.iter().map(|word| word.as_bytes()).collect::<Vec<_>>()),
            words(&[b"MSET", b"k", &big, b"end"]),
            words(&[b"PING"]),
        ];
        for step in [1, 2, 3, 7, 64, 1000, 1 << 20] {
            assert_eq!(all(&input, step, &LIMITS).as_ref(), Ok(&expected), "step {step}");
        }
    }

    #[test]
    fn a_shape_finds_what_the_parser_finds() {
        let mut input = Vec::new();
        let lengths = [0, 1, 9, 10, 12, 12, 12, 99, 100, 123, 12, 999, 9, 1, 0, 12];
        for (i, len) in lengths.iter().cycle().take(200).enumerate() {
            let (key, value) = (vec![b'k'; *len], vec![b'v'; i]);
            input.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
            for arg in [&key, &value] {
                input.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
                input.extend_from_slice(arg);
                input.extend_from_slice(b"\r\n");
            }
        }
        let (shape, mut header) = (Template::of(&input).expect("a shape"), Header::default());
        let (mut pos, mut found) = (0, 0);
        while let Some((spans, key, end)) = shape.next::<3>(&mut header, &input, pos, &LIMITS) {
            let mut expected = Vec::new();
            assert_eq!(shape.parse(&input, pos, &LIMITS, &mut expected), Some(end));
            assert_eq!(expected, spans);
            assert_eq!(spans[1].bytes(&input), Some(key));
            (pos, found) = (end, found + 1);
        }
        assert_eq!((pos, found), (input.len(), 200));
        // Whatever is cut off, or wrong where it matters, is not taken for a command.
        for cut in 0..34 {
            let part = &b"*3\r\n$3\r\nSET\r\n$4\r\nkeys\r\n$5\r\nvalue\r\n"[..cut];
            assert!(shape.next::<3>(&mut header, part, 0, &LIMITS).is_none(), "{cut} bytes");
        }
        for bad in ["$04", "$-1", "$ 4", "$4x", "%4\r"] {
            let text = format!("*3\r\n$3\r\nSET\r\n{bad}\r\nkeys\r\n$5\r\nvalue\r\n");
            assert!(shape.next::<3>(&mut header, text.as_bytes(), 0, &LIMITS).is_none(), "{bad}");
        }
    }

    /// Arguments that end behind [`Span::END_MAX`] are copied, and every argument is the one that was sent.
    #[test]
    fn commands_beyond_the_reach_of_spans_have_their_arguments() {
        let word = |i: usize| format!("word:{i}").into_bytes();
        let many: Vec<Vec<u8>> = (0..12_000).map(word).collect();
        let small = words(&[b"SET", b"key", b"value"]);
        let request = |words: &[Vec<u8>]| {
            let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
            for word in words {
                bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                bytes.extend_from_slice(word);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes
        };
        // One command reaches beyond, and those behind it begin there.
        let expected = [&small, &many, &small, &many, &small].map(Clone::clone);
        let input: Vec<u8> = expected.iter().flat_map(|words| request(words)).collect();
        assert!(request(&many).len() > 2 * Span::END_MAX);
        let (mut pos, mut spans, mut owned) = (0, Vec::new(), Vec::new());
        let mut parser = Parser::default();
        for words in &expected {
            let first = spans.len();
            let parsed = parser.parse(&input[pos..], pos, &LIMITS, &mut spans, &mut owned);
            let Parsed::Command(end) = parsed else { panic!("{parsed:?}") };
            let args = crate::Args::new(&input, &spans[first..], &mut owned);
            assert!(args.to_vecs(0) == *words);
            pos += end;
        }
        assert_eq!(pos, input.len());
        for step in [1000, 1 << 20] {
            assert!(all(&input, step, &LIMITS).as_deref() == Ok(&expected[..]), "step {step}");
        }
        // The short way ends where spans do.
        let (shape, mut header) = (Template::of(&input).expect("a shape"), Header::default());
        assert_eq!(shape.parse(&input, 0, &LIMITS, &mut spans), Some(request(&small).len()));
        let beyond = input.len() - request(&small).len();
        assert_eq!(shape.parse(&input, beyond, &LIMITS, &mut spans), None);
        assert!(shape.next::<3>(&mut header, &input, beyond, &LIMITS).is_none());
    }

    #[test]
    fn counts_and_lengths_of_every_number_of_digits_are_read() {
        let mut expected = Vec::new();
        for argc in [1, 9, 10, 11, 19, 20, 99, 100, 101] {
            expected.push(vec![b"a".to_vec(); argc]);
        }
        for len in [0, 9, 10, 99, 100, 999, 1000, 1234, 9999, 10_000, 12_345, 65_535, 99_999] {
            expected.push(vec![b"x".to_vec(), vec![b'y'; len], b"z".to_vec()]);
        }
        let mut input = Vec::new();
        for command in &expected {
            input.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
            for word in command {
                input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                input.extend_from_slice(word);
                input.extend_from_slice(b"\r\n");
            }
        }
        for step in [7, 1000, 1 << 20] {
            assert_eq!(all(&input, step, &LIMITS).as_ref(), Ok(&expected), "{step}");
        }
    }

    #[test]
    fn errors_have_redis_texts() {
        let long = [b"*".as_slice(), &[b'1'; LINE_MAX + 10]].concat();
        let longb = [b"*1\r\n$".as_slice(), &[b'1'; LINE_MAX + 10]].concat();
        let cases: [(&[u8], &str); 12] = [
            (b"*abc\r\n", "invalid multibulk length"),
            (b"*3000000000\r\n", "invalid multibulk length"),
            (b"*1\r\n:5\r\n", "expected '$', got ':'"),
            (b"*1\r\n\r\n", "expected '$', got ' '"),
            (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$x\r\n", "invalid bulk length"),
            (b"*1\r\n$01\r\n", "invalid bulk length"),
            (b"*1\r\n$2000000000\r\n", "invalid bulk length"),
            (b"set \"a\r\n", "unbalanced quotes in request"),
            (&[b'x'; LINE_MAX + 10], "too big inline request"),
            (&long, "too big mbulk count string"),
            (&longb, "too big bulk count string"),
        ];
        for (input, text) in cases {
            for step in [1, 1 << 20] {
                let e = all(input, step, &LIMITS).expect_err("refused");
                assert_eq!(e.0, format!("Protocol error: {text}"));
            }
        }
    }

    #[test]
    fn unauthenticated_clients_may_send_little() {
        let limits = Limits { unauthenticated: true, ..LIMITS };
        let e = all(b"*11\r\n", 100, &limits).expect_err("refused");
        assert_eq!(e.0, "Protocol error: unauthenticated multibulk length");
        let e = all(b"*2\r\n$4\r\nECHO\r\n$16385\r\n", 100, &limits).expect_err("refused");
        assert_eq!(e.0, "Protocol error: unauthenticated bulk length");
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut x = 88172645463325252u64;
        let alphabet = b"*$\r\n0123456789-abcXYZ\"' \\x";
        for round in 0..20_000 {
            let mut input = Vec::new();
            for _ in 0..round % 40 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                input.push(alphabet[(x % alphabet.len() as u64) as usize]);
            }
            let whole = all(&input, 1 << 20, &LIMITS);
            assert_eq!(all(&input, 1, &LIMITS), whole, "{input:?}");
        }
    }
}
