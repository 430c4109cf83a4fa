//! Writes frames: the server's without a mask, the client's with one.

pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// Bytes that the payload of a control frame has at most.
pub(crate) const CONTROL_MAX: usize = 125;

fn head(out: &mut Vec<u8>, first: u8, len: usize, masked: u8) {
    out.push(first);
    match len {
        n @ ..=125 => out.push(masked | n as u8),
        n @ ..=0xffff => {
            out.push(masked | 126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(masked | 127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
}

fn whole(out: &mut Vec<u8>, opcode: u8, bytes: &[u8]) {
    head(out, 0x80 | opcode, bytes.len(), 0);
    out.extend_from_slice(bytes);
}

/// Appends the head of a server's message of text of `len` bytes, which may follow from memory that is shared.
pub fn text_head(out: &mut Vec<u8>, len: usize) {
    head(out, 0x80 | TEXT, len, 0);
}

/// Appends the head of a server's message of bytes.
pub fn binary_head(out: &mut Vec<u8>, len: usize) {
    head(out, 0x80 | BINARY, len, 0);
}

/// Appends a message of text, of the server.
pub fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    whole(out, TEXT, bytes);
}

/// Appends a message of bytes, of the server.
pub fn binary(out: &mut Vec<u8>, bytes: &[u8]) {
    whole(out, BINARY, bytes);
}

/// Appends a ping, of the server. A payload is cut off at 125 bytes.
pub fn ping(out: &mut Vec<u8>, bytes: &[u8]) {
    whole(out, PING, &bytes[..bytes.len().min(CONTROL_MAX)]);
}

/// Appends the answer to a ping, of the server. A payload is cut off at 125 bytes.
pub fn pong(out: &mut Vec<u8>, bytes: &[u8]) {
    whole(out, PONG, &bytes[..bytes.len().min(CONTROL_MAX)]);
}

/// Appends a closing frame, of the server. The reason is cut off at 123 bytes.
pub fn close(out: &mut Vec<u8>, code: u16, reason: &str) {
    let mut end = reason.len().min(CONTROL_MAX - 2);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    head(out, 0x80 | CLOSE, end + 2, 0);
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(&reason.as_bytes()[..end]);
}

/// Joins messages: what a server has framed, as a whole number of frames. Neighbouring messages of text become one with line
/// feeds between them, and of bytes one that has them one behind the other; frames of other kinds stay as they are.
#[must_use]
pub fn join(frames: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(frames.len());
    let (mut opcode, mut message, mut rest) = (0, Vec::new(), frames);
    let end = |joined: &mut Vec<u8>, opcode: u8, message: &mut Vec<u8>| {
        if opcode != 0 {
            whole(joined, opcode, message);
            message.clear();
        }
    };
    while let Some((first, payload, behind)) = split(rest) {
        if first == 0x80 | opcode {
            if opcode == TEXT {
                message.push(b'\n');
            }
        } else {
            end(&mut joined, opcode, &mut message);
            // Messages in several frames are not joined: a server has none.
            opcode = if matches!(first & !0x80, TEXT | BINARY) && first >= 0x80 {
                first & !0x80
            } else {
                0
            };
        }
        match opcode {
            0 => joined.extend_from_slice(&rest[..rest.len() - behind.len()]),
            _ => message.extend_from_slice(payload),
        }
        rest = behind;
    }
    end(&mut joined, opcode, &mut message);
    joined.extend_from_slice(rest);
    joined
}

/// The first byte of a server's frame, its payload, and what is behind it; none: it is not whole.
fn split(frames: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [first, len, rest @ ..] = frames else { return None };
    let (len, rest) = match len {
        126 => rest.split_first_chunk().map(|(n, rest)| (u16::from_be_bytes(*n).into(), rest))?,
        127 => {
            let (n, rest) = rest.split_first_chunk()?;
            (usize::try_from(u64::from_be_bytes(*n)).ok()?, rest)
        }
        n => (usize::from(*n), rest),
    };
    let (payload, behind) = rest.split_at_checked(len)?;
    Some((*first, payload, behind))
}

/// What a client's frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of the message before.
    Continuation,
    /// A message of text.
    Text,
    /// A message of bytes.
    Binary,
    /// The end.
    Close,
    /// A ping.
    Ping,
    /// The answer to one.
    Pong,
}

/// Appends a frame of a client. `last`: it ends its message.
pub fn masked(out: &mut Vec<u8>, kind: Kind, last: bool, mask: [u8; 4], bytes: &[u8]) {
    let opcode = match kind {
        Kind::Continuation => CONTINUATION,
        Kind::Text => TEXT,
        Kind::Binary => BINARY,
        Kind::Close => CLOSE,
        Kind::Ping => PING,
        Kind::Pong => PONG,
    };
    head(out, u8::from(last) << 7 | opcode, bytes.len(), 0x80);
    out.extend_from_slice(&mask);
    let from = out.len();
    out.extend_from_slice(bytes);
    unmask(&mut out[from..], mask);
}

/// Masks or unmasks, eight bytes at a time, which the compiler makes into vectors.
pub(crate) fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = bytes.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    rest.iter_mut().zip(mask.iter().cycle()).for_each(|(b, m)| *b ^= m);
}
