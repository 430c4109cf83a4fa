//! The handshake: an HTTP/1.1 request of a client, and its answer (RFC 6455, section 4.2). Which origins are allowed
//! is for the caller to say.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// The protocol within the connection that Centrifugo's clients of Protobuf ask for.
pub const PROTOBUF: &str = "centrifuge-protobuf";

/// A handshake that may be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The value of `Sec-WebSocket-Accept`.
    pub accept: String,
    /// Whether the client asked for [`PROTOBUF`].
    pub protobuf: bool,
}

/// Why a request is none: the HTTP status and a text. With 426, the answer must have `Sec-WebSocket-Version: 13`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub u16, pub &'static str);

/// Checks a request by its method and its fields; `field` gives a field's value, several with commas between them.
///
/// # Errors
/// The request is no handshake of version 13.
pub fn check<'a>(
    method: &str,
    field: impl Fn(&str) -> Option<&'a str>,
) -> Result<Handshake, Refused> {
    let words = |name: &str| field(name).unwrap_or("").split(',').map(str::trim);
    if method != "GET" {
        return Err(Refused(405, "a handshake is a GET"));
    }
    if !words("connection").any(|word| word.eq_ignore_ascii_case("upgrade"))
        || !words("upgrade").any(|word| word.eq_ignore_ascii_case("websocket"))
    {
        return Err(Refused(400, "not a handshake"));
    }
    if field("sec-websocket-version").map(str::trim) != Some("13") {
        return Err(Refused(426, "another version of the protocol"));
    }
    let key = field("sec-websocket-key").unwrap_or("").trim();
    if !STANDARD.decode(key).is_ok_and(|key| key.len() == 16) {
        return Err(Refused(400, "a key that is not 16 bytes"));
    }
    let protobuf = words("sec-websocket-protocol").any(|word| word == PROTOBUF);
    Ok(Handshake { accept: accept(key), protobuf })
}

/// The answer to a client's key.
#[must_use]
pub fn accept(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

impl Handshake {
    /// Appends the head of the answer.
    pub fn answer(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
        );
        out.extend_from_slice(b"Sec-WebSocket-Accept: ");
        out.extend_from_slice(self.accept.as_bytes());
        if self.protobuf {
            out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
            out.extend_from_slice(PROTOBUF.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
    }
}
