//! Live channels, as INFO sees them. They are served by the owner of the sockets.

use std::sync::atomic::AtomicU64;

/// Counts of the server.
#[derive(Default)]
pub struct Live {
    /// Connections now.
    pub clients: AtomicU64,
    /// Subscriptions now.
    pub subscriptions: AtomicU64,
    /// Channels with subscribers now.
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
