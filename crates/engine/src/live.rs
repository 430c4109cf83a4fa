//! Live channels, as commands and INFO see them. They are served by the owner of the sockets.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use commands::Outcome;
use parking_lot::RwLock;
use resp::Reply;

use crate::table::Call;

/// Does what a command asks for: its method, as `publish`, and its arguments.
pub type LiveCall =
    Arc<dyn Fn(&mut Call<'_>, &str, &[&[u8]], &mut Reply<'_>) -> Outcome + Send + Sync>;

/// Counts of the server, and what commands call.
#[derive(Default)]
pub struct Live {
    /// Set while there are live channels.
    pub call: RwLock<Option<LiveCall>>,
    /// Connections now.
    pub clients: AtomicU64,
    /// Subscriptions now.
    pub subscriptions: AtomicU64,
    /// Channels that somebody is subscribed to now.
    pub channels: AtomicU64,
    /// Connections since the start.
    pub connects: AtomicU64,
    /// Publications of clients and of the API.
    pub published: AtomicU64,
    /// Publications that were sent to a subscriber, each.
    pub delivered: AtomicU64,
    /// Subscriptions that were given all that they had missed.
    pub recovered: AtomicU64,
    /// … and those that could not be.
    pub not_recovered: AtomicU64,
    /// Connections that were ended because they did not take what they were sent.
    pub slow: AtomicU64,
}
