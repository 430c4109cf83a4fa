//! How messages lie in the bytes of each transport.

use live_protocol::{Form, varint};
use websocket::frame;

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transport {
    WebSocket,
    Sse,
    HttpStream,
    UniWebSocket,
    UniSse,
    UniHttpStream,
}

impl Transport {
    pub(crate) const ALL: [Self; 6] = [
        Self::WebSocket,
        Self::Sse,
        Self::HttpStream,
        Self::UniWebSocket,
        Self::UniSse,
        Self::UniHttpStream,
    ];

    /// As applications and metrics are told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Sse => "sse",
            Self::HttpStream => "http_stream",
            Self::UniWebSocket => "uni_websocket",
            Self::UniSse => "uni_sse",
            Self::UniHttpStream => "uni_http_stream",
        }
    }
}

/// A transport and the form of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) kind: Transport,
    pub(crate) form: Form,
}

/// What is kept of a request for a stream until its connect command is decided on.
pub(crate) struct Unsent {
    /// The head of a stream.
    pub(crate) stream: Vec<u8>,
    /// The fields of every answer: they let pages of another origin read it.
    pub(crate) fields: Vec<u8>,
    pub(crate) date: String,
}

impl Wire {
    /// Whether clients cannot send commands.
    pub(crate) fn is_unidirectional(self) -> bool {
        matches!(self.kind, Transport::UniWebSocket | Transport::UniSse | Transport::UniHttpStream)
    }

    /// Whether clients send their commands by requests of their own.
    pub(crate) fn is_emulated(self) -> bool {
        matches!(self.kind, Transport::Sse | Transport::HttpStream)
    }

    pub(crate) fn is_websocket(self) -> bool {
        matches!(self.kind, Transport::WebSocket | Transport::UniWebSocket)
    }

    /// Appends a message that was encoded in this wire's form.
    pub(crate) fn frame(self, message: &[u8], out: &mut Vec<u8>) {
        match (self.kind, self.form) {
            (Transport::WebSocket | Transport::UniWebSocket, Form::Json) => {
                frame::text(out, message)
            }
            (Transport::WebSocket | Transport::UniWebSocket, Form::Protobuf) => {
                let mut whole = Vec::with_capacity(message.len() + 4);
                varint(&mut whole, message.len() as u64);
                whole.extend_from_slice(message);
                frame::binary(out, &whole);
            }
            (Transport::Sse | Transport::UniSse, _) => {
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(message);
                out.extend_from_slice(b"\n\n");
            }
            (Transport::HttpStream | Transport::UniHttpStream, Form::Json) => {
                out.extend_from_slice(message);
                out.push(b'\n');
            }
            (Transport::HttpStream | Transport::UniHttpStream, Form::Protobuf) => {
                varint(out, message.len() as u64);
                out.extend_from_slice(message);
            }
        }
    }

    /// Appends a ping.
    pub(crate) fn ping(self, out: &mut Vec<u8>) {
        let message: &[u8] = if self.form == Form::Json { b"{}" } else { b"" };
        self.frame(message, out);
    }
}
