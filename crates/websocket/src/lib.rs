//! WebSocket (RFC 6455) without extensions: bytes in, bytes out.
//!
//! ```text
//!  HTTP request ─► handshake ─► Decoder ─► Message        frame::* ─► bytes
//! ```
//!
//! The server's side and, for tests and load generators, the client's. What a peer sends is never trusted: frames that
//! are against the protocol end in a [`Bad`] with the code of the closing frame, a message has as many bytes as
//! permitted, in as many frames with some of them and a few without, and memory grows only with what has arrived.

mod decode;
pub mod frame;
pub mod handshake;

pub use decode::{Bad, Decoder, EMPTY_MAX, Message, Side};

/// How far a connection's end has come (RFC 6455, section 7.1). The connection is over when each side has sent a
/// closing frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    sent: bool,
    received: bool,
}

impl Closing {
    /// This side is about to send a closing frame. False: it has sent one, and must not send anything further.
    #[must_use]
    pub fn send(&mut self) -> bool {
        !std::mem::replace(&mut self.sent, true)
    }

    /// The peer sent a closing frame. True: it must be answered with one.
    #[must_use]
    pub fn receive(&mut self) -> bool {
        self.received = true;
        !self.sent
    }

    /// Whether messages may still be sent.
    #[must_use]
    pub fn is_open(self) -> bool {
        !self.sent
    }

    /// Whether both sides have sent a closing frame.
    #[must_use]
    pub fn is_done(self) -> bool {
        self.sent && self.received
    }
}
