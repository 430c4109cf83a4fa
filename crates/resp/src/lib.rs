//! The Redis serialization protocol: requests are parsed in place, replies are written into one
//! buffer per batch. Knows bytes only: no sockets, no commands.
//!
//! Sources: <https://redis.io/docs/latest/develop/reference/protocol-spec/> and, for limits and
//! error texts, the behaviour of Redis 7.

mod args;
mod parse;
mod reply;

pub use args::{Args, Span};
pub use parse::{Header, Limits, Matched, Parsed, Parser, ProtocolError, Template};
pub use reply::{Mark, Out, Proto, Reply};
