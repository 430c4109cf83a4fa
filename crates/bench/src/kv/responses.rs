//! Counts HTTP/1.1 responses in received bytes, as `frames.rs` counts replies in RESP: only the end of each
//! is looked for, and no body is kept.
//!
//! A response ends by its Content-Length, by its last chunk, or with its head (204, 304, answers to HEAD).
//! One that ends with its connection is an error here: nothing says then that it is whole.

use super::frames::{Errors, Frames};

/// Bytes of a response's head.
const HEAD_MAX: usize = 64 * 1024;

/// The position in what one connection answers.
#[derive(Debug)]
pub(crate) enum Replies {
    Resp(Frames),
    Http(Responses),
}

impl Replies {
    /// Reads on in `buf`; how many replies end in it.
    ///
    /// # Errors
    /// A text: the bytes are not of this protocol.
    #[inline]
    pub(crate) fn feed(&mut self, buf: &[u8], errors: &mut Errors) -> Result<u64, String> {
        match self {
            Replies::Resp(frames) => frames
                .feed(buf, errors)
                .map_err(|byte| format!("a reply is not RESP: byte {byte:#04x}")),
            Replies::Http(responses) => responses.feed(buf, errors),
        }
    }

    /// Whether the server has said that it closes the connection behind the last reply.
    #[inline]
    pub(crate) fn closes(&self) -> bool {
        matches!(self, Replies::Http(r) if r.closes && r.state == State::Head)
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Responses {
    state: State,
    /// What has come of a head that is not whole.
    head: Vec<u8>,
    /// Answers to HEAD have no bodies.
    head_request: bool,
    /// `Connection: close` was in a head.
    closes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// This many bytes of the body are missing.
    Body(u64),
    /// In the line with a chunk's size; whether digits may still come.
    Size {
        value: u64,
        digits: bool,
    },
    /// This many bytes of a chunk are missing, its line end included.
    Chunk(u64),
    /// Behind the last chunk: bytes of this line.
    Trailer(u64),
}

const SIZE: State = State::Size { value: 0, digits: true };

impl Responses {
    /// `head_request`: the requests are HEAD, so their responses have no body.
    pub(crate) fn new(head_request: bool) -> Self {
        Self { state: State::Head, head: Vec::new(), head_request, closes: false }
    }

    /// As [`Replies::feed`]. Bytes behind a response that closes the connection are not looked at.
    pub(crate) fn feed(&mut self, buf: &[u8], errors: &mut Errors) -> Result<u64, String> {
        let (mut at, mut done) = (0, 0);
        while at < buf.len() {
            let whole = match self.state {
                State::Head if self.closes => return Ok(done),
                State::Head => self.read_head(buf, &mut at, errors)?,
                State::Body(left) | State::Chunk(left) => {
                    let n = left.min((buf.len() - at) as u64);
                    at += n as usize;
                    self.state = match self.state {
                        State::Chunk(_) if n == left => SIZE,
                        State::Chunk(_) => State::Chunk(left - n),
                        _ if n == left => State::Head,
                        _ => State::Body(left - n),
                    };
                    self.state == State::Head
                }
                _ => {
                    at += 1;
                    self.step(buf[at - 1])?
                }
            };
            done += u64::from(whole);
        }
        Ok(done)
    }

    /// One byte between chunks; whether the response ends with it.
    fn step(&mut self, b: u8) -> Result<bool, String> {
        self.state = match self.state {
            State::Size { value: 0, .. } if b == b'\n' => State::Trailer(0),
            State::Size { value, .. } if b == b'\n' => State::Chunk(value + 2),
            State::Size { value, digits: true } => match (b as char).to_digit(16) {
                Some(_) if value >> 58 > 0 => return Err("a chunk has no end".into()),
                Some(digit) => State::Size { value: value * 16 + u64::from(digit), digits: true },
                None => State::Size { value, digits: false },
            },
            State::Trailer(0) if b == b'\n' => State::Head,
            State::Trailer(_) if b == b'\n' => State::Trailer(0),
            State::Trailer(n) => State::Trailer(n + u64::from(b != b'\r')),
            same => same,
        };
        Ok(self.state == State::Head)
    }

    /// Looks for the end of a head; whether the response ends with it.
    fn read_head(
        &mut self,
        buf: &[u8],
        at: &mut usize,
        errors: &mut Errors,
    ) -> Result<bool, String> {
        let rest = &buf[*at..];
        if self.head.is_empty()
            && let Some(end) = memchr::memmem::find(rest, b"\r\n\r\n")
        {
            *at += end + 4;
            return self.read_fields(&rest[..end + 2], errors);
        }
        // The end may lie across two reads.
        let before = self.head.len();
        self.head.extend_from_slice(rest);
        let from = before.saturating_sub(3);
        let Some(end) = memchr::memmem::find(&self.head[from..], b"\r\n\r\n") else {
            *at = buf.len();
            let whole = self.head.len() <= HEAD_MAX;
            return whole.then_some(false).ok_or("the head of a response has no end".into());
        };
        let end = from + end + 4;
        *at += end - before;
        let mut head = std::mem::take(&mut self.head);
        let read = self.read_fields(&head[..end - 2], errors);
        head.clear();
        self.head = head;
        read
    }

    /// A head without the empty line at its end.
    fn read_fields(&mut self, head: &[u8], errors: &mut Errors) -> Result<bool, String> {
        let line = &head[..memchr::memchr(b'\r', head).unwrap_or(head.len())];
        let status = line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
        let status = status.and_then(|s| std::str::from_utf8(s).ok()?.parse::<u16>().ok());
        let Some(status) = status else {
            let start = String::from_utf8_lossy(&line[..line.len().min(40)]).into_owned();
            return Err(format!("a reply is not HTTP/1.1: {start:?}"));
        };
        if status < 200 {
            return Ok(false);
        }
        if status >= 400 {
            errors.add(line);
        }
        let (mut length, mut chunked) = (None, false);
        for field in head[line.len()..].split(|b| *b == b'\n') {
            // Few fields matter: most are left by their first byte.
            let value = |name: &[u8]| {
                let (own, value) = field.split_at_checked(name.len())?;
                own.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
            };
            match field.first() {
                Some(b'c' | b'C') => {
                    if let Some(text) = value(b"content-length:") {
                        length = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
                    } else if value(b"connection:")
                        .is_some_and(|v| v.eq_ignore_ascii_case(b"close"))
                    {
                        self.closes = true;
                    }
                }
                Some(b't' | b'T') if value(b"transfer-encoding:").is_some() => chunked = true,
                _ => {}
            }
        }
        self.state = match length {
            _ if self.head_request || matches!(status, 204 | 304) => State::Head,
            _ if chunked => SIZE,
            Some(0) => State::Head,
            Some(n) => State::Body(n),
            None => return Err("a response says nothing of where it ends".into()),
        };
        Ok(self.state == State::Head)
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    /// Responses, errors, and whether the connection closes, for bytes in pieces of `step`.
    fn count(text: &str, step: usize, head_request: bool) -> Result<(u64, u64, bool), String> {
        let mut responses = Responses::new(head_request);
        let (mut done, mut errors) = (0, Errors::default());
        for piece in text.as_bytes().chunks(step) {
            done += responses.feed(piece, &mut errors)?;
        }
        Ok((done, errors.count, responses.closes))
    }

    #[test]
    fn responses_are_counted_wherever_they_are_cut() {
        let all = "HTTP/1.1 100 Continue\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\n\
            HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n\
            HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\n\
            HTTP/1.0 200 OK\r\ncontent-length:0\r\nconnection: close\r\n\r\nbytes behind";
        for step in 1..all.len() {
            assert_eq!(count(all, step, false), Ok((4, 1, true)), "{step}");
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(count(&head.repeat(3), 7, true), Ok((3, 0, false)));
        assert_eq!(count(head, 7, false), Ok((0, 0, false)));
    }

    #[test]
    fn what_has_no_end_is_refused() {
        for bad in [
            "+PONG\r\n\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        ] {
            assert!(count(bad, 1000, false).is_err(), "{bad}");
        }
    }
}
