//! The client protocol of live channels, which is Centrifugo's (version 2): bytes in, bytes out.
//!
//! ```text
//!  bytes ─► decode ─► Command            Reply, Push ─► encode ─► JSON text or Protobuf message
//! ```
//!
//! A message is described once, field by field, for a writer that makes either form of it straight into a buffer.
//! Numbers and names of fields are those of the protocol's schema (centrifugal/protocol, definitions/client.proto), and
//! what is written is byte for byte what Centrifugo writes (tests/messages.rs says where not). The code of the two
//! forms is our own: a derived encoder makes one form each, from types that own all that they hold, while a
//! publication is written for thousands of clients from one that is borrowed.
//!
//! Beside the messages: [`delta`]s between publications, [`filter`]s by tags, and the [`envelope`]s in which servers
//! hand publications to each other. What comes from clients is never trusted: nothing here panics, and what is malformed
//! is None, for which a connection ends with [`Disconnect::BAD_REQUEST`].

pub mod code;
mod command;
pub mod control;
pub mod delta;
pub mod envelope;
pub mod filter;
mod message;
mod protobuf;
mod write;

pub use code::{Disconnect, Error, Refusal, Unsubscribe};
pub use command::{
    COMMANDS_MAX, ChannelRequest, Command, ConnectRequest, Filter, HistoryRequest, Method,
    Position, PublishRequest, Raw, RpcRequest, SubscribeRequest, connect_of_json,
    connect_of_protobuf, decode_json, decode_protobuf, emulation_of_protobuf,
};
pub use message::{
    Channel, ClientInfo, ConnectResult, HistoryResult, Publication, Publications, Push, Reply,
    ReplyResult, SubscribeResult, encode_push_json,
};
pub use write::{json_line, json_text, json_value, varint};

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON texts, parted by line ends.
    Json,
    /// Protobuf messages, each with its length before it.
    Protobuf,
}

/// Appends a message as an event of SSE. The message is JSON on one line.
pub fn sse_event(out: &mut Vec<u8>, message: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}
