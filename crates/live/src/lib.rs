//! The rules of live channels: what a configuration says, what a name means, who may do what, what a token says,
//! when a connection is due, what is asked of applications and what they answer, what the server API is.
//!
//! ```text
//!  config.json ─► options ─► channel ─► permission ─► subscription      code: what clients are told
//!                    │                      ▲
//!                    └─► token (jwks) ──────┤      timing, limit: when a client is due, how much it may
//!                        proxy ─────────────┘      api: the server API's requests and replies
//! ```
//!
//! Nothing here knows a socket, a clock or the store: time comes in as an argument, and what must be fetched or
//! asked is handed out as a step that the caller takes. The behaviour is Centrifugo 6's, by its documentation and
//! its sources; docs/live.md says where it differs.

pub mod api;
pub mod channel;
pub use live_protocol::code;
pub mod connect;
mod json;
pub mod limit;
pub mod options;
pub mod origin;
mod pattern;
pub mod permission;
pub mod proxy;
pub mod publication;
pub mod rpc;
pub mod subscription;
pub mod timing;
pub mod token;

pub use channel::Channel;
pub use code::{Disconnect, Error, Refusal, Unsubscribe};
pub use options::{Namespace, Options};
pub use subscription::{Override, Source, SubscribeOptions};
