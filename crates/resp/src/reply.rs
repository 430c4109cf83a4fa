//! Writing of replies, in RESP2 or RESP3, into the output of a batch.

use std::sync::Arc;

/// Strings of at least this many bytes are sent from where they are, not copied.
const SHARE_MIN: usize = 16 * 1024;

/// Protocol version of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Proto {
    /// RESP2, what a connection starts with.
    #[default]
    V2,
    /// RESP3, after `HELLO 3`.
    V3,
}

/// Bytes to send: a buffer, with large strings in between that are only referred to.
#[derive(Default, Debug)]
pub struct Out {
    /// The bytes.
    pub buf: Vec<u8>,
    /// Large strings, each with the offset in `buf` before which it goes out; ascending.
    pub shared: Vec<(usize, Arc<Vec<u8>>)>,
    /// A client that is to get more bytes than this gets none of them: its connection is closed. 0 when
    /// there is no such limit.
    pub limit: usize,
}

impl Out {
    /// Whether there is more than the limit allows, so that to write on is in vain.
    #[inline]
    pub fn is_in_vain(&self) -> bool {
        self.limit > 0 && self.len() > self.limit
    }

    /// Bytes to send in total.
    #[inline]
    pub fn len(&self) -> usize {
        self.buf.len() + self.shared.iter().map(|(_, s)| s.len()).sum::<usize>()
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty() && self.shared.is_empty()
    }

    /// Forgets everything, keeping the buffer.
    #[inline]
    pub fn clear(&mut self) {
        self.buf.clear();
        self.shared.clear();
    }

    /// All bytes in the order in which they go out.
    pub fn join(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        let mut from = 0;
        for (at, shared) in &self.shared {
            bytes.extend_from_slice(&self.buf[from..*at]);
            bytes.extend_from_slice(shared);
            from = *at;
        }
        bytes.extend_from_slice(&self.buf[from..]);
        bytes
    }

    /// A mark to which [`truncate`](Self::truncate) can return.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { buf: self.buf.len(), shared: self.shared.len() }
    }

    /// Takes back everything written since the mark.
    pub fn truncate(&mut self, mark: Mark) {
        self.buf.truncate(mark.buf);
        self.shared.truncate(mark.shared);
    }
}

/// A place in an [`Out`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    buf: usize,
    shared: usize,
}

impl Mark {
    /// The offset in the buffer.
    pub fn offset(self) -> usize {
        self.buf
    }
}

/// Header and CR LF of bulk strings of up to eight bytes, with zeros where those are.
const SHORT: [[u64; 2]; 9] = {
    let mut all = [[0; 2]; 9];
    let mut n = 0;
    while n < all.len() {
        let mut text = *b"$0\r\n\0\0\0\0\0\0\0\0\0\0\0\0";
        text[1] += n as u8;
        text[4 + n] = b'\r';
        text[5 + n] = b'\n';
        let (low, high) = text.split_at(8);
        let (Some(low), Some(high)) = (low.first_chunk(), high.first_chunk()) else {
            unreachable!()
        };
        all[n] = [u64::from_le_bytes(*low), u64::from_le_bytes(*high)];
        n += 1;
    }
    all
};

/// Writes one reply (or several, for a batch) in a connection's protocol.
pub struct Reply<'a> {
    out: &'a mut Out,
    proto: Proto,
    /// Replies that were errors, for statistics and for law tests.
    errors: u32,
}

impl<'a> Reply<'a> {
    /// A writer that appends to `out`.
    #[inline]
    pub fn new(out: &'a mut Out, proto: Proto) -> Self {
        Self { out, proto, errors: 0 }
    }

    /// The protocol replies are written in.
    #[inline]
    pub fn proto(&self) -> Proto {
        self.proto
    }

    /// Changes the protocol from here on (HELLO).
    pub fn set_proto(&mut self, proto: Proto) {
        self.proto = proto;
    }

    /// How many errors were written.
    #[inline]
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// The output, for what this type cannot express.
    pub fn out(&mut self) -> &mut Out {
        self.out
    }

    /// Writes `n` elements with `one`, or as many as it takes until the output is in vain: what could
    /// be endless ends there.
    pub fn repeat(&mut self, n: usize, mut one: impl FnMut(&mut Self)) {
        for i in 0..n {
            // Counting the bytes is not free, and a few more do no harm.
            if i % 256 == 0 && self.out.is_in_vain() {
                return;
            }
            one(self);
        }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.out.buf.extend_from_slice(bytes);
    }

    #[inline]
    fn header(&mut self, sigil: u8, n: i64) {
        // Sigil, up to 20 digits and CR LF leave in one append of constant length, of which the
        // excess is cut off again.
        let mut line = [0u8; 24];
        line[0] = sigil;
        let mut digits = itoa::Buffer::new();
        let d = digits.format(n).as_bytes();
        stdx::bytes::copy(&mut line[1..=d.len()], d);
        line[1 + d.len()] = b'\r';
        line[2 + d.len()] = b'\n';
        let end = self.out.buf.len() + d.len() + 3;
        self.out.buf.extend_from_slice(&line);
        self.out.buf.truncate(end);
    }

    /// `+OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.put(b"+OK\r\n");
    }

    /// A status such as `PONG`; the text holds no CR or LF.
    pub fn simple(&mut self, text: &str) {
        // Texts are the program's own; what clients bring goes through `bulk` or `error`.
        debug_assert!(!text.contains(['\r', '\n']));
        self.put(b"+");
        self.put(text.as_bytes());
        self.put(b"\r\n");
    }

    /// An error, code first: `ERR syntax error`. CR and LF in it become spaces, so that no client
    /// can make another reply out of an error that repeats its input; at its end they go.
    #[cold]
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.errors += 1;
        self.put(b"-");
        let at = self.out.buf.len();
        let text = text.as_ref();
        let end = text.iter().rposition(|c| !matches!(c, b'\r' | b'\n')).map_or(0, |last| last + 1);
        self.put(&text[..end]);
        for c in &mut self.out.buf[at..] {
            if matches!(c, b'\r' | b'\n') {
                *c = b' ';
            }
        }
        self.put(b"\r\n");
    }

    /// An integer.
    #[inline]
    pub fn int(&mut self, n: i64) {
        if (0..10).contains(&n) {
            self.put(&[b':', b'0' + n as u8, b'\r', b'\n']);
        } else {
            self.header(b':', n);
        }
    }

    /// A bulk string.
    #[inline(always)]
    pub fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let n = bytes.len();
        let buf = &mut self.out.buf;
        if n <= 8 {
            // Header, bytes and CR LF are put together in registers and leave in stores of constant
            // length, of which the excess is cut off again.
            let [low, high] = SHORT[n];
            let word = stdx::bytes::word(bytes);
            let whole = [(low | word << 32).to_le_bytes(), (high | word >> 32).to_le_bytes()];
            let end = buf.len() + n + 6;
            buf.extend_from_slice(whole.as_flattened());
            buf.truncate(end);
            return;
        }
        self.long_bulk(bytes);
    }

    fn long_bulk(&mut self, bytes: &[u8]) {
        let n = bytes.len();
        let buf = &mut self.out.buf;
        if let (9..=14, Some(first), Some(last)) =
            (n, bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
        {
            // As above, in two registers: the halves overlap in the middle, where they agree.
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
            let text = u128::from(first) | u128::from(last) << (8 * (n - 8));
            let text = text | u128::from(u16::from_le_bytes(*b"\r\n")) << (8 * n);
            let (head, bits) = if n == 9 {
                (u64::from_le_bytes(*b"$9\r\n\0\0\0\0"), 32)
            } else {
                let ones = b'0' + (n - 10) as u8;
                (u64::from_le_bytes([b'$', b'1', ones, b'\r', b'\n', 0, 0, 0]), 40)
            };
            let end = buf.len() + n + 2 + bits / 8;
            buf.reserve(24);
            buf.extend_from_slice(&(u128::from(head) | text << bits).to_le_bytes());
            buf.extend_from_slice(&((text >> (128 - bits)) as u64).to_le_bytes());
            buf.truncate(end);
            return;
        }
        if n < 100 {
            let (tens, ones) = (b'0' + n as u8 / 10, b'0' + n as u8 % 10);
            let head = if n < 10 {
                [b'$', ones, b'\r', b'\n', 0, 0, 0, 0]
            } else {
                [b'$', tens, ones, b'\r', b'\n', 0, 0, 0]
            };
            let end = buf.len() + 4 + usize::from(n >= 10);
            buf.reserve(n + 8);
            buf.extend_from_slice(&head);
            buf.truncate(end);
            // Two copies of constant length, which overlap, cost less than a call of `memcpy`.
            if overlapping::<8>(buf, bytes)
                || overlapping::<16>(buf, bytes)
                || overlapping::<32>(buf, bytes)
            {
                buf.extend_from_slice(b"\r\n");
                return;
            }
        } else {
            self.header(b'$', n as i64);
        }
        let buf = &mut self.out.buf;
        buf.reserve(n + 2);
        buf.extend_from_slice(bytes);
        buf.extend_from_slice(b"\r\n");
    }

    /// A bulk string that is sent from where it lies when it is long.
    pub fn bulk_shared(&mut self, bytes: &Arc<Vec<u8>>) {
        if bytes.len() < SHARE_MIN {
            return self.bulk(bytes.as_slice());
        }
        self.header(b'$', bytes.len() as i64);
        self.out.shared.push((self.out.buf.len(), Arc::clone(bytes)));
        self.put(b"\r\n");
    }

    /// An integer as a bulk string.
    #[inline]
    pub fn bulk_int(&mut self, n: i64) {
        self.bulk(itoa::Buffer::new().format(n));
    }

    /// No value.
    #[inline]
    pub fn null(&mut self) {
        match self.proto {
            Proto::V2 => self.put(b"$-1\r\n"),
            Proto::V3 => self.put(b"_\r\n"),
        }
    }

    /// No array: where RESP2 has `*-1`.
    pub fn null_array(&mut self) {
        match self.proto {
            Proto::V2 => self.put(b"*-1\r\n"),
            Proto::V3 => self.put(b"_\r\n"),
        }
    }

    /// A boolean; in RESP2 the integer 1 or 0.
    pub fn bool(&mut self, b: bool) {
        match (self.proto, b) {
            (Proto::V2, _) => self.int(i64::from(b)),
            (Proto::V3, true) => self.put(b"#t\r\n"),
            (Proto::V3, false) => self.put(b"#f\r\n"),
        }
    }

    /// A double; in RESP2 a bulk string with the same text.
    pub fn double(&mut self, d: f64) {
        self.double_text(stdx::num::fmt_f64(&mut [0; stdx::num::F64_LEN_MAX], d));
    }

    /// A double whose text is given; in RESP2 a bulk string.
    pub fn double_text(&mut self, text: &[u8]) {
        match self.proto {
            Proto::V2 => self.bulk(text),
            Proto::V3 => {
                self.put(b",");
                self.put(text);
                self.put(b"\r\n");
            }
        }
    }

    /// A text with a format of three letters (`txt`, `mkd`); in RESP2 a bulk string.
    pub fn verbatim(&mut self, format: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        let format = format.as_ref();
        assert!(format.len() == 3);
        let text = text.as_ref();
        match self.proto {
            Proto::V2 => self.bulk(text),
            Proto::V3 => {
                self.header(b'=', text.len() as i64 + 4);
                self.put(format);
                self.put(b":");
                self.put(text);
                self.put(b"\r\n");
            }
        }
    }

    /// Begins an array of `n` replies.
    #[inline]
    pub fn array(&mut self, n: usize) {
        self.header(b'*', n as i64);
    }

    /// Begins a map of `n` pairs of replies; in RESP2 an array of `2 * n`.
    pub fn map(&mut self, n: usize) {
        match self.proto {
            Proto::V2 => self.header(b'*', 2 * n as i64),
            Proto::V3 => self.header(b'%', n as i64),
        }
    }

    /// Begins a set of `n` replies; in RESP2 an array.
    pub fn set(&mut self, n: usize) {
        match self.proto {
            Proto::V2 => self.header(b'*', n as i64),
            Proto::V3 => self.header(b'~', n as i64),
        }
    }

    /// Begins an out-of-band message of `n` replies; in RESP2 an array.
    pub fn push(&mut self, n: usize) {
        match self.proto {
            Proto::V2 => self.header(b'*', n as i64),
            Proto::V3 => self.header(b'>', n as i64),
        }
    }

    /// A place where an array header will be written once its length is known.
    pub fn begin(&mut self) -> Mark {
        self.out.mark()
    }

    /// Writes the header of an array of `n` replies at the mark, before what was written since.
    pub fn end_array(&mut self, mark: Mark, n: usize) {
        self.end(mark, |r| r.array(n));
    }

    /// Writes the header of a map of `n` pairs at the mark.
    pub fn end_map(&mut self, mark: Mark, n: usize) {
        self.end(mark, |r| r.map(n));
    }

    /// Writes the header of a set of `n` replies at the mark.
    pub fn end_set(&mut self, mark: Mark, n: usize) {
        self.end(mark, |r| r.set(n));
    }

    fn end(&mut self, mark: Mark, header: impl FnOnce(&mut Self)) {
        let end = self.out.buf.len();
        header(self);
        let added = self.out.buf.len() - end;
        self.out.buf[mark.buf..].rotate_right(added);
        for (at, _) in &mut self.out.shared[mark.shared..] {
            *at += added;
        }
    }
}

/// Appends `N` to `2 * N` bytes; false if there are fewer or more.
#[inline(always)]
fn overlapping<const N: usize>(buf: &mut Vec<u8>, bytes: &[u8]) -> bool {
    match (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
        (Some(first), Some(last)) if bytes.len() <= 2 * N => {
            let end = buf.len() + bytes.len() - N;
            buf.extend_from_slice(first);
            buf.truncate(end);
            buf.extend_from_slice(last);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(proto: Proto, f: impl FnOnce(&mut Reply)) -> String {
        let mut out = Out::default();
        f(&mut Reply::new(&mut out, proto));
        String::from_utf8(out.buf).expect("text")
    }

    #[test]
    fn forms_differ_by_protocol() {
        type Case = (fn(&mut Reply), &'static str, &'static str);
        let cases: [Case; 9] = [
            (|r| r.null(), "$-1\r\n", "_\r\n"),
            (|r| r.null_array(), "*-1\r\n", "_\r\n"),
            (|r| r.map(2), "*4\r\n", "%2\r\n"),
            (|r| r.set(2), "*2\r\n", "~2\r\n"),
            (|r| r.push(2), "*2\r\n", ">2\r\n"),
            (|r| r.bool(true), ":1\r\n", "#t\r\n"),
            (|r| r.verbatim("txt", "hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
            (|r| r.int(-12), ":-12\r\n", ":-12\r\n"),
            (|r| r.bulk([b'x'; 12]), "$12\r\nxxxxxxxxxxxx\r\n", "$12\r\nxxxxxxxxxxxx\r\n"),
        ];
        for (f, v2, v3) in cases {
            assert_eq!(text(Proto::V2, f), v2);
            assert_eq!(text(Proto::V3, f), v3);
        }
    }

    #[test]
    fn bulk_strings_of_every_short_length() {
        let bytes: Vec<u8> = (0..120).map(|i| b'a' + i % 26).collect();
        for n in 0..bytes.len() {
            let v = &bytes[..n];
            let expected = format!("${n}\r\n{}\r\n", String::from_utf8_lossy(v));
            assert_eq!(text(Proto::V2, |r| r.bulk(v)), expected);
        }
    }

    #[test]
    fn errors_cannot_carry_a_second_reply() {
        assert_eq!(text(Proto::V2, |r| r.error("ERR a\r\n+OK")), "-ERR a  +OK\r\n");
        assert_eq!(text(Proto::V2, |r| r.error("ERR a\r\n")), "-ERR a\r\n");
    }

    #[test]
    fn a_late_header_moves_large_strings_along() {
        let mut out = Out::default();
        let mut r = Reply::new(&mut out, Proto::V2);
        let mark = r.begin();
        let big = Arc::new(vec![b'x'; SHARE_MIN]);
        r.int(5);
        r.bulk_shared(&big);
        r.end_array(mark, 2);
        assert_eq!(out.buf, b"*2\r\n:5\r\n$16384\r\n\r\n");
        assert_eq!(out.shared[0].0, b"*2\r\n:5\r\n$16384\r\n".len());
    }
}
