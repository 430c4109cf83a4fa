//! Takes frames apart and puts messages together.

use crate::frame::{BINARY, CLOSE, CONTINUATION, CONTROL_MAX, PING, PONG, TEXT, unmask};

/// Empty frames of a message. Its other frames are bounded by its bytes: each brings one at least. Empty ones take no
/// memory, but time without an end.
pub const EMPTY_MAX: u32 = 1_024;

/// What the peer has sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// UTF-8.
    Text(Vec<u8>),
    /// Bytes.
    Binary(Vec<u8>),
    /// A ping, to be answered with the same payload.
    Ping(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The end, with this code, and a reason in UTF-8.
    Close(Option<u16>, Vec<u8>),
}

/// A frame that is against the protocol, or too large: the code of the closing frame, and a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Bad(pub u16, pub &'static str);

/// Who decodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The server: what arrives is masked.
    #[default]
    Server,
    /// The client: what arrives is not.
    Client,
}

/// Puts frames together. Between messages it holds nothing.
#[derive(Debug, Default)]
pub struct Decoder {
    side: Side,
    begun: Option<Begun>,
}

/// The beginning of a message in several frames.
#[derive(Debug)]
struct Begun {
    opcode: u8,
    bytes: Vec<u8>,
    /// Frames without a payload.
    empty: u32,
}

/// A frame's head, and where its payload lies in the input.
struct Head {
    last: bool,
    opcode: u8,
    mask: [u8; 4],
    from: usize,
    to: usize,
}

impl Decoder {
    /// A decoder of this side.
    #[must_use]
    pub fn new(side: Side) -> Self {
        Self { side, begun: None }
    }

    /// Takes the next whole frame from the beginning of `input`. Returns its length and the message that it ends, if it
    /// ends one; none: it is not whole. A message has `max` bytes at most, which a head that claims more says before
    /// its payload is there.
    ///
    /// # Errors
    /// The connection is to be closed with this code.
    pub fn take(
        &mut self,
        input: &[u8],
        max: usize,
    ) -> Result<Option<(usize, Option<Message>)>, Bad> {
        let so_far = self.begun.as_ref().map_or(0, |begun| begun.bytes.len());
        let Some(head) = head(input, self.side, max.saturating_sub(so_far))? else {
            return Ok(None);
        };
        let Some(payload) = input.get(head.from..head.to) else { return Ok(None) };
        Ok(Some((head.to, self.message(&head, payload)?)))
    }

    fn message(&mut self, head: &Head, payload: &[u8]) -> Result<Option<Message>, Bad> {
        if head.opcode >= CLOSE {
            let mut bytes = payload.to_vec();
            unmask(&mut bytes, head.mask);
            return match head.opcode {
                CLOSE => close(&bytes),
                PING => Ok(Message::Ping(bytes)),
                _ => Ok(Message::Pong),
            }
            .map(Some);
        }
        let mut begun = match (head.opcode, self.begun.take()) {
            (CONTINUATION, Some(begun)) if payload.is_empty() && begun.empty == EMPTY_MAX => {
                return Err(Bad(1009, "a message with too many empty frames"));
            }
            (CONTINUATION, Some(begun)) => begun,
            (CONTINUATION, None) => return Err(Bad(1002, "a continuation of nothing")),
            (_, Some(_)) => return Err(Bad(1002, "a message within a message")),
            (opcode, None) => Begun { opcode, bytes: Vec::new(), empty: 0 },
        };
        let from = begun.bytes.len();
        begun.bytes.extend_from_slice(payload);
        unmask(&mut begun.bytes[from..], head.mask);
        begun.empty += u32::from(payload.is_empty());
        if !head.last {
            self.begun = Some(begun);
            return Ok(None);
        }
        if begun.opcode == BINARY {
            return Ok(Some(Message::Binary(begun.bytes)));
        }
        if std::str::from_utf8(&begun.bytes).is_err() {
            return Err(Bad(1007, "text that is not UTF-8"));
        }
        Ok(Some(Message::Text(begun.bytes)))
    }
}

fn head(input: &[u8], side: Side, max: usize) -> Result<Option<Head>, Bad> {
    let [first, second, rest @ ..] = input else { return Ok(None) };
    let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
    if first & 0x70 != 0 {
        return Err(Bad(1002, "reserved bits"));
    }
    if !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG) {
        return Err(Bad(1002, "a reserved code"));
    }
    match (second & 0x80 != 0, side) {
        (false, Side::Server) => return Err(Bad(1002, "a frame without a mask")),
        (true, Side::Client) => return Err(Bad(1002, "a frame with a mask")),
        _ => {}
    }
    let short = usize::from(second & 0x7f);
    let controls = opcode >= CLOSE;
    if controls && (!last || short > CONTROL_MAX) {
        return Err(Bad(1002, "a control frame that is long or in parts"));
    }
    let (len, mut from) = match short {
        126 => match rest.first_chunk::<2>() {
            Some(len) => (u64::from(u16::from_be_bytes(*len)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(len) => (u64::from_be_bytes(*len), 10),
            None => return Ok(None),
        },
        _ => (short as u64, 2),
    };
    if (short == 126 && len < 126) || (short == 127 && len <= 0xffff) || len >> 63 != 0 {
        return Err(Bad(1002, "a length in a longer form than it needs"));
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if !controls && len > max {
        return Err(Bad(1009, "a message that is too large"));
    }
    let mut mask = [0; 4];
    if side == Side::Server {
        let Some(there) = input.get(from..).and_then(|rest| rest.first_chunk()) else {
            return Ok(None);
        };
        mask = *there;
        from += 4;
    }
    let Some(to) = from.checked_add(len) else {
        return Err(Bad(1009, "a message that is too large"));
    };
    Ok(Some(Head { last, opcode, mask, from, to }))
}

fn close(bytes: &[u8]) -> Result<Message, Bad> {
    match bytes {
        [] => Ok(Message::Close(None, Vec::new())),
        [a, b, reason @ ..] => {
            let code = u16::from_be_bytes([*a, *b]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(Bad(1002, "a code that may not be sent"));
            }
            if std::str::from_utf8(reason).is_err() {
                return Err(Bad(1007, "text that is not UTF-8"));
            }
            Ok(Message::Close(Some(code), reason.to_vec()))
        }
        [_] => Err(Bad(1002, "half a code")),
    }
}
