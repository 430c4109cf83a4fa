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
//! - A message for another thread is in its inbox before the publisher's reply leaves ([`Thread::run`]).

mod backlog;
mod deliver;
mod encode;
mod hub;
mod inbox;
mod local;
mod name;
mod notify;
mod outbox;

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use observe::stats::bump;
use resp::{Out, Proto, Reply};

pub use backlog::Backlog;
pub use deliver::deliver;
pub(crate) use encode::{Encoded, Payload};
pub use hub::Hub;
pub(crate) use inbox::Delivery;
pub use inbox::Inbox;
pub(crate) use local::Local;
pub use name::Name;
pub use name::Wanted;
use name::{NameSet, Named, Names};
pub(crate) use notify::notify;
pub use outbox::Ready;

use crate::engine::Engine;
use crate::session::{ReplyMode, Session};
use crate::thread::Thread;

/// A map with a hash that clients cannot foresee.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, Seeded>;

/// Hashers with the seed of this process.
#[derive(Clone, Default)]
pub struct Seeded(foldhash::quality::RandomState);

impl BuildHasher for Seeded {
    type Hasher = <foldhash::quality::RandomState as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// The kinds of subscriptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A channel (SUBSCRIBE).
    Channel = 0,
    /// All channels that match a pattern (PSUBSCRIBE).
    Pattern = 1,
    /// A shard channel (SSUBSCRIBE); patterns do not reach those.
    Shard = 2,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];

    /// Its index in arrays of one thing per kind.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The subscriptions of one connection. Its thread alone changes them; others look when a user's
/// permissions are withdrawn.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    names: [NameSet; 3],
}

impl Subscriptions {
    fn count(&self, kind: Kind) -> usize {
        self.names[kind.index()].len()
    }

    /// The count that clients are sent: channels and patterns are counted together.
    fn told(&self, kind: Kind) -> usize {
        match kind {
            Kind::Shard => self.count(kind),
            Kind::Channel | Kind::Pattern => self.count(Kind::Channel) + self.count(Kind::Pattern),
        }
    }

    /// Whether there is one that `wanted` picks.
    pub(crate) fn any(&self, wanted: impl Fn(Kind, &[u8]) -> bool) -> bool {
        let any = |kind: Kind| self.names[kind.index()].iter().any(|name| wanted(kind, name));
        Kind::ALL.into_iter().any(any)
    }

    fn total(&self) -> usize {
        self.names.iter().map(NameSet::len).sum()
    }
}

/// Publishes to a channel or a shard channel. Returns how many subscriptions it reaches.
pub(crate) fn publish(
    engine: &Engine,
    local: &mut Local,
    kind: Kind,
    to: Wanted<'_>,
    message: Payload<'_>,
) -> u64 {
    let me = local.me;
    let channel = to.text();
    let mut here = None;
    let mut receivers = 0;
    engine.pubsub.find(kind, to, |name, threads| {
        let encoded = Arc::new(Encoded::message(kind, channel, &message));
        receivers += local.spread(name, kind, &encoded, threads);
        if threads.count(me) > 0 {
            here = Some((name.clone(), encoded));
        }
    });
    // Delivered when the hub's lock is free again: it takes as long as there are subscribers. Messages
    // that others published before come first.
    if let Some((name, encoded)) = here {
        local.receive();
        local.deliver(kind, &name, &encoded);
    }
    if kind == Kind::Channel && engine.pubsub.has_patterns() {
        let mut here = Vec::new();
        engine.pubsub.matching(channel, &mut |name, threads| {
            let encoded = Arc::new(Encoded::matched(name, channel, &message));
            receivers += local.spread(name, Kind::Pattern, &encoded, threads);
            if threads.count(me) > 0 {
                here.push((name.clone(), encoded));
            }
        });
        for (name, encoded) in here {
            local.receive();
            local.deliver(Kind::Pattern, &name, &encoded);
        }
    }
    receivers
}

/// Bytes that one subscription takes: in its connection's set, in its thread's, and the name, which is
/// shared with its other subscribers.
fn subscription_bytes(name: &Name) -> u64 {
    (name.len() + size_of::<Name>() + 64) as u64
}

impl Thread {
    /// Publishes to a channel or a shard channel, for a program that embeds the engine. Returns how many
    /// subscriptions it reaches.
    pub fn publish(&mut self, engine: &Engine, kind: Kind, channel: &[u8], message: &[u8]) -> u64 {
        publish(engine, &mut self.pubsub, kind, Wanted::new(channel), Payload::of(message))
    }

    /// Subscribes a connection to names. `tell` answers each, with the number of subscriptions after it.
    pub fn subscribe<'n>(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        kind: Kind,
        names: impl Iterator<Item = &'n [u8]>,
        mut tell: impl FnMut(&mut Self, &mut Session, &[u8], usize),
    ) {
        let slot = self.outbox(session);
        let client = Arc::clone(&session.client);
        let mut subs = client.subs.lock();
        let subs = subs.get_or_insert_default();
        for text in names {
            let name = Wanted::new(text);
            if !subs.names[kind.index()].contains(&name as &dyn Named) {
                let name = engine.pubsub.join(kind, name, self.index);
                self.pubsub.join(kind, &name, slot);
                bump(&client.subscription_bytes, subscription_bytes(&name));
                subs.names[kind.index()].insert(name);
            }
            tell(self, session, text, subs.told(kind));
        }
        self.note_subscriptions(engine, session, kind, subs);
    }

    /// Ends one subscription. Returns whether there was one.
    pub fn unsubscribe(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        kind: Kind,
        name: &[u8],
    ) -> bool {
        let client = Arc::clone(&session.client);
        let mut subs = client.subs.lock();
        let (Some(subs), Some(slot)) = (&mut *subs, session.outbox) else { return false };
        let Some(name) = subs.names[kind.index()].take(&Wanted::new(name) as &dyn Named) else {
            return false;
        };
        let bytes = &client.subscription_bytes;
        bytes.store(bytes.load(Relaxed).saturating_sub(subscription_bytes(&name)), Relaxed);
        self.pubsub.leave(kind, &name, slot);
        engine.pubsub.leave(kind, (&name).into(), self.index);
        self.note_subscriptions(engine, session, kind, subs);
        true
    }

    /// The number of subscriptions that a client is sent, after one of this kind began or ended.
    pub fn told(session: &Session, kind: Kind) -> usize {
        session.client.subs.lock().as_ref().map_or(0, |subs| subs.told(kind))
    }

    /// The names of all subscriptions of one kind.
    pub fn subscriptions(session: &Session, kind: Kind) -> Vec<Name> {
        let subs = session.client.subs.lock();
        subs.iter().flat_map(|s| &s.names[kind.index()]).cloned().collect()
    }

    /// Ends all subscriptions without a message (RESET, a connection that is gone).
    pub fn unsubscribe_all(&mut self, engine: &Engine, session: &mut Session) {
        for kind in Kind::ALL {
            for name in Self::subscriptions(session, kind) {
                self.unsubscribe(engine, session, kind, &name);
            }
        }
        *session.client.subs.lock() = None;
    }

    /// How many subscriptions there are, and whether the connection is a subscriber, where other threads
    /// look for it.
    fn note_subscriptions(
        &self,
        engine: &Engine,
        session: &mut Session,
        kind: Kind,
        subs: &Subscriptions,
    ) {
        session.client.subscriptions[kind.index()].store(subs.count(kind) as u32, Relaxed);
        let on = subs.total() > 0;
        if session.client.pubsub.swap(on, Relaxed) != on {
            engine.pubsub.count_client(on);
        }
        session.note_attention();
    }

    /// The connection's outbox, made if it has none.
    pub(crate) fn outbox(&mut self, session: &mut Session) -> u32 {
        if let Some(slot) = session.outbox {
            return slot;
        }
        let slot = self.pubsub.open(session.client.id, session.proto);
        session.outbox = Some(slot);
        slot
    }

    /// Writes replies that are push messages. They are sent even when CLIENT REPLY holds replies
    /// back, as in Redis.
    pub fn push_reply(
        &mut self,
        session: &mut Session,
        reply: &mut Reply<'_>,
        write: impl FnOnce(&mut Reply<'_>, &Session),
    ) {
        if session.reply == ReplyMode::On {
            return write(reply, session);
        }
        let slot = self.outbox(session);
        self.pubsub.write(slot, |reply| write(reply, session));
    }

    /// Delivers the messages that other threads have sent to connections of this one.
    pub fn receive(&mut self) {
        self.pubsub.receive();
    }

    /// Hands the messages that this thread has published to the others, and wakes them.
    #[inline]
    pub fn send_mail(&mut self, engine: &Engine) {
        self.pubsub.send(engine);
    }

    /// Appends push messages that wait for this connection to `out`.
    #[inline]
    pub(crate) fn take_outbox(&mut self, session: &Session, out: &mut Out) {
        if let Some(slot) = session.outbox {
            self.pubsub.take(slot, out);
        }
    }

    /// Sends bytes that another thread has posted to a connection of this one (MONITOR), if it is still
    /// `there`.
    pub fn push_bytes(&mut self, client: u64, bytes: &[u8], there: bool) {
        if there {
            self.pubsub.push_bytes(client, bytes);
        }
        self.worker.inbox.backlog.received(bytes.len());
    }

    /// The thread that has too much to deliver, to which something was added since the last batch began.
    /// The connection that added it is to wait until there is [room](Self::has_room).
    #[inline]
    pub fn take_crowded(&mut self) -> Option<usize> {
        self.pubsub.crowded.take()
    }

    /// Whether a thread that had too much to deliver has so little that one may go on. If not, that
    /// thread wakes this one when it has.
    pub fn has_room(&self, engine: &Engine, thread: usize) -> bool {
        let Some(worker) = engine.worker(thread) else { return true };
        worker.inbox.backlog.room_or_wait(self.index)
    }

    /// To be called when outboxes have been sent: wakes the threads that wait for that.
    #[inline]
    pub fn relieve(&mut self, engine: &Engine) {
        self.pubsub.relieve(engine);
    }

    /// Connections that have something to be sent.
    #[inline]
    pub fn ready(&self) -> usize {
        self.pubsub.ready()
    }

    /// Bytes that wait in outboxes.
    pub fn ready_bytes(&self) -> usize {
        self.pubsub.bytes()
    }

    /// The next of them, and the bytes to be sent.
    pub fn next_ready(&mut self) -> Option<Ready> {
        self.pubsub.next_ready()
    }

    /// Takes back the empty buffer of a [`Ready`].
    pub fn recycle(&mut self, out: Out) {
        self.pubsub.recycle(out);
    }

    /// A connection is gone: ends its subscriptions and drops the bytes that were to be sent.
    pub fn forget(&mut self, engine: &Engine, session: &mut Session) {
        self.untrack(engine, session);
        self.unsubscribe_all(engine, session);
        self.pubsub.close(session.client.id);
        session.outbox = None;
    }

    /// HELLO: later messages are in this form.
    pub fn set_proto(&mut self, session: &mut Session, proto: Proto) {
        session.set_proto(proto);
        if let Some(slot) = session.outbox {
            self.pubsub.set_proto(slot, proto);
        }
        session.note_attention();
    }
}
