//! Frames of WebSockets, on the side of the server: RFC 6455, without extensions.

/// What a client has sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    /// It closes, with this code.
    Close(Option<u16>),
}

/// A frame that is against the protocol, or too large: the code of the closing frame, and a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bad(pub(crate) u16, pub(crate) &'static str);

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Puts frames together. Between messages it holds nothing.
#[derive(Default)]
pub(crate) struct Decoder {
    /// The beginning of a message in several frames, and its kind.
    begun: Option<(u8, Vec<u8>)>,
}

/// A frame's head, and where its payload lies in the input.
struct Frame {
    fin: bool,
    opcode: u8,
    mask: [u8; 4],
    from: usize,
    to: usize,
}

impl Decoder {
    /// Takes the next whole frame from the beginning of `input`. Returns its length and the message that it ends, if it
    /// ends one; none: it is not whole. A message has `max` bytes at most.
    ///
    /// # Errors
    /// The connection is to be closed with this code.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        max: usize,
    ) -> Result<Option<(usize, Option<Message>)>, Bad> {
        let so_far = self.begun.as_ref().map_or(0, |(_, bytes)| bytes.len());
        let Some(frame) = head(input, max.saturating_sub(so_far))? else { return Ok(None) };
        let Some(masked) = input.get(frame.from..frame.to) else { return Ok(None) };
        let mut bytes = masked.to_vec();
        bytes.iter_mut().zip(frame.mask.iter().cycle()).for_each(|(b, m)| *b ^= m);
        let message = self.message(&frame, bytes)?;
        Ok(Some((frame.to, message)))
    }

    fn message(&mut self, frame: &Frame, bytes: Vec<u8>) -> Result<Option<Message>, Bad> {
        let (kind, bytes) = match (frame.opcode, self.begun.take()) {
            (CLOSE, _) => return close(&bytes).map(Some),
            (PING, begun) => {
                self.begun = begun;
                return Ok(Some(Message::Ping(bytes)));
            }
            (PONG, begun) => {
                self.begun = begun;
                return Ok(Some(Message::Pong));
            }
            (CONTINUATION, Some((kind, mut so_far))) => {
                so_far.extend_from_slice(&bytes);
                (kind, so_far)
            }
            (CONTINUATION, None) => return Err(Bad(1002, "a continuation of nothing")),
            (_, Some(_)) => return Err(Bad(1002, "a message within a message")),
            (kind, None) => (kind, bytes),
        };
        if !frame.fin {
            self.begun = Some((kind, bytes));
            return Ok(None);
        }
        if kind == BINARY {
            return Ok(Some(Message::Binary(bytes)));
        }
        if std::str::from_utf8(&bytes).is_err() {
            return Err(Bad(1007, "text that is not UTF-8"));
        }
        Ok(Some(Message::Text(bytes)))
    }
}

fn head(input: &[u8], max: usize) -> Result<Option<Frame>, Bad> {
    let [first, second, rest @ ..] = input else { return Ok(None) };
    let (fin, opcode) = (first & 0x80 != 0, first & 0x0f);
    if first & 0x70 != 0 {
        return Err(Bad(1002, "reserved bits"));
    }
    if !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG) {
        return Err(Bad(1002, "a reserved code"));
    }
    if second & 0x80 == 0 {
        return Err(Bad(1002, "a frame without a mask"));
    }
    let short = usize::from(second & 0x7f);
    let controls = opcode >= CLOSE;
    if controls && (!fin || short > 125) {
        return Err(Bad(1002, "a control frame that is long or in parts"));
    }
    let (len, at) = match short {
        126 => match rest {
            [a, b, ..] => (usize::from(u16::from_be_bytes([*a, *b])), 4),
            _ => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(len) => (usize::try_from(u64::from_be_bytes(*len)).unwrap_or(usize::MAX), 10),
            None => return Ok(None),
        },
        _ => (short, 2),
    };
    if !controls && len > max {
        return Err(Bad(1009, "a message that is too large"));
    }
    let Some(mask) = input.get(at..at + 4).and_then(|m| m.first_chunk().copied()) else {
        return Ok(None);
    };
    Ok(Some(Frame { fin, opcode, mask, from: at + 4, to: at + 4 + len }))
}

fn close(bytes: &[u8]) -> Result<Message, Bad> {
    match bytes {
        [] => Ok(Message::Close(None)),
        [a, b, reason @ ..] => {
            let code = u16::from_be_bytes([*a, *b]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(Bad(1002, "a code that may not be sent"));
            }
            if std::str::from_utf8(reason).is_err() {
                return Err(Bad(1007, "text that is not UTF-8"));
            }
            Ok(Message::Close(Some(code)))
        }
        _ => Err(Bad(1002, "half a code")),
    }
}

fn frame(out: &mut Vec<u8>, opcode: u8, bytes: &[u8]) {
    out.push(0x80 | opcode);
    match bytes.len() {
        n @ ..=125 => out.push(n as u8),
        n @ ..=0xffff => {
            out.push(126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// Appends a message of text.
pub(crate) fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    frame(out, TEXT, bytes);
}

/// Appends a message of bytes.
pub(crate) fn binary(out: &mut Vec<u8>, bytes: &[u8]) {
    frame(out, BINARY, bytes);
}

/// Appends the answer to a ping.
pub(crate) fn pong(out: &mut Vec<u8>, bytes: &[u8]) {
    frame(out, PONG, bytes);
}

/// Appends a closing frame. The reason is cut off at 123 bytes.
pub(crate) fn closing(out: &mut Vec<u8>, code: u16, reason: &str) {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = code.to_be_bytes().to_vec();
    bytes.extend_from_slice(&reason.as_bytes()[..end]);
    frame(out, CLOSE, &bytes);
}

/// The answer to a client's key. RFC 6455, section 4.2.2.
pub(crate) fn accept(key: &str) -> String {
    use base64::Engine;
    let mut hashed = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    hashed.update(key.as_bytes());
    hashed.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    base64::engine::general_purpose::STANDARD.encode(hashed.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(first: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![first, 0x80 | bytes.len() as u8, 1, 2, 3, 4];
        out.extend(bytes.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(b, m)| b ^ m));
        out
    }

    #[test]
    fn frames_become_messages_and_bad_ones_an_end() {
        let mut d = Decoder::default();
        let mut input = masked(0x01, b"he");
        input.extend(masked(0x89, b"p"));
        input.extend(masked(0x80, b"llo"));
        let mut got = Vec::new();
        let mut at = 0;
        while at < input.len() {
            for cut in 0..2 {
                assert_eq!(d.take(&input[at..at + cut], 100), Ok(None), "not whole");
            }
            let (n, message) = d.take(&input[at..], 100).expect("good").expect("whole");
            got.extend(message);
            at += n;
        }
        assert_eq!(got, [Message::Ping(b"p".to_vec()), Message::Text(b"hello".to_vec())]);
        let bad = |bytes: &[u8]| Decoder::default().take(bytes, 3).expect_err("bad").0;
        assert_eq!(bad(&masked(0x81, b"long")), 1009);
        assert_eq!(bad(&[0x81, 1, b'x']), 1002, "no mask");
        assert_eq!(bad(&masked(0xc1, b"x")), 1002, "compressed");
        assert_eq!(bad(&masked(0x83, b"x")), 1002, "a reserved code");
        assert_eq!(bad(&masked(0x09, b"x")), 1002, "a ping in parts");
        assert_eq!(bad(&masked(0x80, b"x")), 1002, "continues nothing");
        assert_eq!(bad(&masked(0x81, b"\xff")), 1007);
        assert_eq!(bad(&masked(0x88, b"\x03\xee")), 1002, "code 1006");
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
