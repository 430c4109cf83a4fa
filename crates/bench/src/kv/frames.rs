//! Counts replies in received bytes, RESP2 and RESP3, without keeping any of them.
//!
//! A reply need not be understood to be counted, only its end found: nested replies add to a
//! single counter of elements that are still to come, so there is no stack, no allocation, and a
//! reply may be split anywhere between two reads.
//!
//! Pushes (`>`) are not answers and are not counted; attributes (`|`) precede what they belong to.
//! Streamed strings and aggregates (`$?`, `*?`), which no server sends, are errors.

/// Bytes of the first error that are kept, to be shown.
const ERROR_MAX: usize = 160;

/// The position in the replies of one connection.
#[derive(Debug)]
pub(crate) struct Frames {
    state: State,
    /// Elements still to come, the one being read included.
    left: u64,
    /// Whether what is being read is a push.
    push: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the type byte of an element.
    Start,
    /// In a line that is the whole element.
    Line,
    /// In the line of an error reply.
    Error,
    /// In the line with the length of what the type byte announced.
    Length { kind: u8, value: u64, negative: bool },
    /// In a body with this many bytes to go, its CR LF included.
    Body(u64),
}

/// Error replies of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    /// How many replies were errors.
    pub(crate) count: u64,
    /// The start of the first one, without its `-`.
    pub(crate) first: Vec<u8>,
    /// Whether `first` is complete.
    closed: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Frames { state: State::Start, left: 1, push: false }
    }
}

impl Frames {
    /// Reads on in `buf`; how many replies end in it. An error names the byte that is not RESP.
    #[inline]
    pub(crate) fn feed(&mut self, buf: &[u8], errors: &mut Errors) -> Result<u64, u8> {
        let (mut at, mut done) = (0, 0);
        while at < buf.len() {
            if self.state == State::Start
                && self.left == 1
                && !self.push
                && let Some(end) = whole(&buf[at..])
            {
                at += end;
                done += 1;
                continue;
            }
            at += self.step(&buf[at..], errors, &mut done)?;
        }
        Ok(done)
    }

    /// One state's worth of `buf`, which is not empty; how many bytes that was.
    fn step(&mut self, buf: &[u8], errors: &mut Errors, done: &mut u64) -> Result<usize, u8> {
        match self.state {
            State::Start => {
                let outermost = self.left == 1 && !self.push;
                self.state = match buf[0] {
                    b'+' | b':' | b'_' | b',' | b'#' | b'(' => State::Line,
                    b'-' => {
                        if outermost {
                            errors.count += 1;
                        }
                        State::Error
                    }
                    kind @ (b'$' | b'=' | b'!' | b'*' | b'~' | b'%' | b'|' | b'>') => {
                        if kind == b'!' && outermost {
                            errors.count += 1;
                        }
                        self.push |= kind == b'>' && outermost;
                        State::Length { kind, value: 0, negative: false }
                    }
                    other => return Err(other),
                };
                Ok(1)
            }
            State::Line | State::Error => {
                let end = buf.iter().position(|b| *b == b'\n');
                if self.state == State::Error {
                    errors.note(&buf[..end.unwrap_or(buf.len())], end.is_some());
                }
                if end.is_some() {
                    self.ended(done);
                }
                Ok(end.map_or(buf.len(), |e| e + 1))
            }
            State::Length { kind, mut value, mut negative } => {
                for (i, byte) in buf.iter().enumerate() {
                    match *byte {
                        digit @ b'0'..=b'9' => {
                            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
                        }
                        b'-' => negative = true,
                        b'\r' => {}
                        b'\n' => {
                            self.announced(kind, value, negative, done);
                            return Ok(i + 1);
                        }
                        other => return Err(other),
                    }
                }
                self.state = State::Length { kind, value, negative };
                Ok(buf.len())
            }
            State::Body(left) => {
                let here = left.min(buf.len() as u64);
                match left - here {
                    0 => self.ended(done),
                    more => self.state = State::Body(more),
                }
                Ok(here as usize)
            }
        }
    }

    /// A length line has ended.
    fn announced(&mut self, kind: u8, value: u64, negative: bool, done: &mut u64) {
        if negative {
            return self.ended(done);
        }
        let elements = match kind {
            b'$' | b'=' | b'!' => {
                self.state = State::Body(value.saturating_add(2));
                return;
            }
            b'%' => value.saturating_mul(2),
            // What an attribute precedes is still to come, as one more element.
            b'|' => value.saturating_mul(2).saturating_add(1),
            _ => value,
        };
        self.left = self.left.saturating_add(elements);
        self.ended(done);
    }

    /// An element has ended, or the head of an aggregate whose elements are counted in.
    fn ended(&mut self, done: &mut u64) {
        self.state = State::Start;
        self.left -= 1;
        if self.left == 0 {
            *done += u64::from(!self.push);
            (self.left, self.push) = (1, false);
        }
    }
}

impl Errors {
    fn note(&mut self, text: &[u8], ends: bool) {
        if !self.closed {
            let room = ERROR_MAX - self.first.len();
            self.first.extend_from_slice(&text[..text.len().min(room)]);
            self.closed = ends;
        }
    }

    /// Counts an error whose text is `line`.
    pub(crate) fn add(&mut self, line: &[u8]) {
        self.count += 1;
        self.note(line, true);
    }

    /// Adds what another thread saw.
    pub(crate) fn merge(&mut self, other: &Errors) {
        self.count += other.count;
        if self.first.is_empty() {
            self.first.clone_from(&other.first);
        }
    }

    /// The first error as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.first).trim_end().to_owned()
    }
}

/// The length of the reply that `buf` starts with, if it is a whole one of the frequent kinds.
#[inline]
fn whole(buf: &[u8]) -> Option<usize> {
    match buf[0] {
        b'+' | b':' => Some(buf.iter().position(|b| *b == b'\n')? + 1),
        b'$' => {
            let mut len = 0usize;
            for (i, byte) in buf.iter().enumerate().skip(1).take(8) {
                let digit = byte.wrapping_sub(b'0');
                if digit <= 9 {
                    len = len * 10 + usize::from(digit);
                } else {
                    // Past CR LF, the body and its own CR LF; what is not a length is left to `step`.
                    let end = i + 2 + len + 2;
                    return (*byte == b'\r' && i > 1 && end <= buf.len()).then_some(end);
                }
            }
            None
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resp::{Out, Proto, Reply};

    fn replies(proto: Proto) -> (Vec<u8>, u64, u64) {
        let mut out = Out::default();
        let mut r = Reply::new(&mut out, proto);
        r.ok();
        r.bulk("");
        r.bulk("x\r\ny");
        r.bulk(vec![b'$'; 1000]);
        r.error("ERR one");
        r.int(-17);
        r.null();
        r.null_array();
        r.bool(true);
        r.double(1.5);
        r.verbatim("txt", "some\r\ntext");
        r.array(0);
        r.map(2);
        for i in 0..2 {
            r.bulk_int(i);
            r.array(3);
            r.null();
            r.error("ERR inside");
            r.set(1);
            r.simple("deep");
        }
        r.push(3);
        r.simple("invalidate");
        r.array(1);
        r.bulk("key");
        r.int(1);
        r.error("WRONGTYPE two");
        r.simple("last");
        // A push in RESP2 is an array as any other, and there it is counted.
        let counted = if proto == Proto::V3 { 15 } else { 16 };
        (out.buf, counted, 2)
    }

    #[test]
    fn counts_what_the_writer_writes_however_it_is_split() {
        for proto in [Proto::V2, Proto::V3] {
            let (bytes, counted, errors_in) = replies(proto);
            for step in (1..40).chain([bytes.len()]) {
                let (mut frames, mut errors, mut done) = Default::default();
                let _: &Frames = &frames;
                for chunk in bytes.chunks(step) {
                    done += frames.feed(chunk, &mut errors).unwrap();
                }
                assert_eq!((done, errors.count), (counted, errors_in), "{proto:?} by {step}");
                assert_eq!(errors.text(), "ERR one");
            }
            for cut in 0..bytes.len() {
                let (mut frames, mut errors) = (Frames::default(), Errors::default());
                let done = frames.feed(&bytes[..cut], &mut errors).unwrap()
                    + frames.feed(&bytes[cut..], &mut errors).unwrap();
                assert_eq!(done, counted, "{proto:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn attributes_belong_to_the_reply_that_follows() {
        let bytes = b"|1\r\n+ttl\r\n:3600\r\n*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n+OK\r\n";
        let (mut frames, mut errors) = (Frames::default(), Errors::default());
        let ends: Vec<u64> =
            bytes.chunks(1).map(|b| frames.feed(b, &mut errors).unwrap()).collect();
        let at: Vec<usize> = (0..ends.len()).filter(|i| ends[*i] == 1).collect();
        assert_eq!(at, [bytes.len() - 6, bytes.len() - 1]);
    }

    #[test]
    fn what_is_not_resp_is_refused() {
        let mut errors = Errors::default();
        assert_eq!(Frames::default().feed(b"HTTP/1.1", &mut errors), Err(b'H'));
        assert_eq!(Frames::default().feed(b"$?\r\n", &mut errors), Err(b'?'));
        assert_eq!(Frames::default().feed(b"+OK\r\n*1x\r\n", &mut errors), Err(b'x'));
        let lengths = b"*18446744073709551615\r\n%18446744073709551615\r\n:1\r\n";
        assert_eq!(Frames::default().feed(lengths, &mut errors), Ok(0));
    }
}
