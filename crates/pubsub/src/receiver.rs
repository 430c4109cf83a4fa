//! A connection as the sender of a push message sees it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use resp::Proto;

use crate::name::{NameSet, Named};
use crate::{ChannelKind, Hub, Name, Wanted};

/// The part of a connection that publish/subscribe and client-side caching use. Its thread writes; other
/// threads may read.
#[derive(Debug)]
pub struct Receiver {
    /// The connection's number.
    pub id: u64,
    /// Number of the thread it lives on.
    pub thread: usize,
    /// Version of the protocol: 2 or 3.
    pub proto: AtomicU8,
    /// Subscribed to anything.
    pub subscribed: AtomicBool,
    /// Channels, patterns and shard channels it is subscribed to.
    pub counts: [AtomicU32; 3],
    /// Its subscriptions.
    pub subscriptions: Mutex<Option<Box<Subscriptions>>>,
    /// Bytes of the subscriptions.
    pub subscription_bytes: AtomicU64,
    /// Receiver of its invalidations: 0 itself, -1 when it does not track.
    pub redirect: AtomicI64,
    /// The receiver is gone.
    pub redirect_broken: AtomicBool,
    /// Tracks by prefix.
    pub bcast: AtomicBool,
    /// Bytes of the tracked prefixes.
    pub prefix_bytes: AtomicU64,
}

impl Receiver {
    /// Connection `id` on `thread`, which receives nothing yet.
    pub fn new(id: u64, thread: usize) -> Self {
        Self {
            id,
            thread,
            proto: AtomicU8::new(2),
            subscribed: AtomicBool::new(false),
            counts: Default::default(),
            subscriptions: Mutex::default(),
            subscription_bytes: AtomicU64::new(0),
            redirect: AtomicI64::new(-1),
            redirect_broken: AtomicBool::new(false),
            bcast: AtomicBool::new(false),
            prefix_bytes: AtomicU64::new(0),
        }
    }

    /// The version of the protocol that it has chosen.
    pub fn proto(&self) -> Proto {
        if self.proto.load(Relaxed) == 3 { Proto::V3 } else { Proto::V2 }
    }

    /// It has chosen a version.
    pub fn set_proto(&self, proto: Proto) {
        self.proto.store(if proto == Proto::V3 { 3 } else { 2 }, Relaxed);
    }

    /// The number of subscriptions that a client is sent, after one of this kind began or ended.
    pub fn told(&self, kind: ChannelKind) -> usize {
        self.subscriptions.lock().as_ref().map_or(0, |subs| subs.told(kind))
    }

    /// The names of all subscriptions of one kind.
    pub fn names(&self, kind: ChannelKind) -> Vec<Name> {
        let subs = self.subscriptions.lock();
        subs.iter().flat_map(|s| &s.names[kind.index()]).cloned().collect()
    }

    /// Shows how many subscriptions of this kind there are, and whether the connection is a subscriber,
    /// where other threads look for it. To be called when `subs`, which are its own, have changed.
    pub fn note(&self, hub: &Hub, kind: ChannelKind, subs: &Subscriptions) {
        self.counts[kind.index()].store(subs.count(kind) as u32, Relaxed);
        let on = subs.total() > 0;
        if self.subscribed.swap(on, Relaxed) != on {
            hub.count_client(on);
        }
    }
}

/// The subscriptions of one connection. Its thread alone changes them; others look when a user's
/// permissions are withdrawn.
#[derive(Debug, Default)]
pub struct Subscriptions {
    names: [NameSet; 3],
}

impl Subscriptions {
    fn count(&self, kind: ChannelKind) -> usize {
        self.names[kind.index()].len()
    }

    /// The count that clients are sent: channels and patterns are counted together.
    pub(crate) fn told(&self, kind: ChannelKind) -> usize {
        match kind {
            ChannelKind::Shard => self.count(kind),
            ChannelKind::Channel | ChannelKind::Pattern => {
                self.count(ChannelKind::Channel) + self.count(ChannelKind::Pattern)
            }
        }
    }

    /// Whether there is one that `wanted` picks.
    pub fn any(&self, wanted: impl Fn(ChannelKind, &[u8]) -> bool) -> bool {
        let any =
            |kind: ChannelKind| self.names[kind.index()].iter().any(|name| wanted(kind, name));
        ChannelKind::ALL.into_iter().any(any)
    }

    pub(crate) fn has(&self, kind: ChannelKind, name: Wanted<'_>) -> bool {
        self.names[kind.index()].contains(&name as &dyn Named)
    }

    pub(crate) fn insert(&mut self, kind: ChannelKind, name: Name) {
        self.names[kind.index()].insert(name);
    }

    pub(crate) fn take(&mut self, kind: ChannelKind, name: Wanted<'_>) -> Option<Name> {
        self.names[kind.index()].take(&name as &dyn Named)
    }

    fn total(&self) -> usize {
        self.names.iter().map(NameSet::len).sum()
    }
}
