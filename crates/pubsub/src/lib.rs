//! Publish and subscribe.
//!
//! ```text
//!  PUBLISH ──► Hub: name → how many subscribers on which thread      hub.rs    shared, striped
//!     │
//!     ├─ own thread ───────────────────────────► Local::deliver      local.rs  one per thread
//!     └─ others: Local::outgoing ─► their Inbox ─► Local::receive    inbox.rs
//!                                                        │
//!                             Outbox of each subscriber ◄┘  appended; sent by the event loop
//!                                     │
//!           Backlog of the thread ◄───┘  a publisher beyond its limit waits   backlog.rs
//! ```
//!
//! A message is encoded once (`encode.rs`). Each thread that has subscribers gets it once. Only that
//! thread knows them, and it appends the message to the outbox (`outbox.rs`) of each. The event loop
//! writes outboxes out some at a time, between batches of input. Messages published meanwhile join the
//! waiting ones, so that under load one write carries many messages.
//!
//! Invariants:
//! - A publisher's messages reach every subscriber in the order in which they were published: a
//!   publisher lives on one thread, and all queues from there are first in, first out.
//! - Before a thread changes its subscriptions it delivers the messages that it has been sent, so that
//!   no client sees a message from before it subscribed, or misses one from before it unsubscribed.
//! - A publisher never waits for a subscriber: `client-output-buffer-limit pubsub` closes subscribers
//!   that do not read. It waits for threads: while one has too much to deliver, connections that add to
//!   it are not read from (`backlog.rs`), so that memory and delay stay bounded.
//! - Messages published before, on any thread, are delivered before: a thread looks into its inbox
//!   before it delivers the messages that it publishes itself.
//! - A message for another thread is in its inbox before the publisher's reply leaves: the thread calls
//!   [`Local::send`] when a batch ends.
//!
//! [`tracking`] sends invalidations the same way. A thread is known by its number, its [`Inbox`] and how it
//! is woken ([`Peer`]); a connection by its [`Receiver`]. Nothing here knows sockets or commands.

mod backlog;
mod encode;
mod hub;
mod inbox;
mod local;
mod map;
mod name;
mod notice;
mod outbox;
mod receiver;
pub mod tracking;

use std::sync::Arc;

pub use backlog::Backlog;
pub use encode::Payload;
pub use hub::Hub;
pub use inbox::Inbox;
pub use local::{Local, Tapped};
pub use name::{Name, Wanted};
pub use outbox::Ready;
pub use receiver::{Receiver, Subscriptions};

/// A thread as the others see it.
pub trait Peer {
    /// The messages for its connections.
    fn inbox(&self) -> &Inbox;

    /// Wakes it: it has mail, or another thread that it waits for has less to deliver.
    fn wake(&self);
}

/// All threads by number, and the connections that live on them.
pub trait Peers {
    /// A thread.
    type Peer: Peer;

    /// The thread with this number.
    fn peer(&self, thread: usize) -> Option<Arc<Self::Peer>>;

    /// All threads.
    fn peers(&self) -> Vec<Arc<Self::Peer>>;

    /// The connection with this number, unless it is gone or about to be closed.
    fn receiver(&self, id: u64) -> Option<Arc<Receiver>>;
}

/// The kinds of subscriptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelKind {
    /// A channel (SUBSCRIBE).
    Channel = 0,
    /// All channels that match a pattern (PSUBSCRIBE).
    Pattern = 1,
    /// A shard channel (SSUBSCRIBE); patterns do not reach those.
    Shard = 2,
}

impl ChannelKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];

    /// Its index in arrays of one thing per kind.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}
