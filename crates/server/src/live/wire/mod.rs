//! The client protocol of live channels: commands in, replies and pushes out, as JSON and as Protobuf.
//!
//! ```text
//!  bytes ─► decode ─► Command            Reply, Push ─► Writer ─► JSON text or Protobuf message
//! ```
//!
//! A message is described once, field by field, for a [`Writer`] that makes either form of it. Numbers and names of
//! fields are those of the protocol's schema (centrifugal/protocol, definitions/client.proto).

mod command;
mod message;
mod protobuf;
mod write;

pub(crate) use command::{
    Command, ConnectRequest, Filter, HistoryRequest, Method, PublishRequest, RpcRequest,
    SubscribeRequest, connect_of_json, connect_of_protobuf, decode_json, decode_protobuf,
    emulation_of_protobuf,
};
pub(crate) use message::{
    ClientInfo, ConnectResult, HistoryResult, Publication, Push, Reply, ReplyResult,
    SubscribeResult,
};
pub(crate) use write::{Writer, varint};

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Protobuf,
}
