//! The threads that have subscribers of a channel, for publishers.
//!
//! Names are spread over stripes by hash, each behind a lock of its own, which publishers take
//! shared. Only their own threads know the subscribers, so that subscribing touches one stripe for
//! a moment, however many subscribers a channel has.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;

use crate::name::{Named, Names};
use crate::{ChannelKind, Name, Wanted};

/// Locks per kind of channel.
const STRIPES: usize = 256;

/// Subscriptions per thread; only threads that have some are listed.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub(crate) struct Threads {
    /// Most names have subscribers on one thread: that one, and how many; none if that is 0.
    first: (u32, u32),
    more: Vec<(u32, u32)>,
}

impl Threads {
    /// Subscriptions on a thread.
    pub(crate) fn count(&self, thread: usize) -> u32 {
        self.iter().find(|(t, _)| *t == thread).map_or(0, |(_, n)| n)
    }

    /// Threads, and subscriptions on each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let all = std::iter::once(&self.first).chain(&self.more);
        all.filter(|(_, n)| *n > 0).map(|(t, n)| (*t as usize, *n))
    }

    fn total(&self) -> u64 {
        self.iter().map(|(_, n)| u64::from(n)).sum()
    }

    fn add(&mut self, thread: usize) {
        let thread = thread as u32;
        if self.first.1 == 0 {
            self.first = (thread, 0);
        }
        let mut all = std::iter::once(&mut self.first).chain(&mut self.more);
        match all.find(|(t, _)| *t == thread) {
            Some((_, n)) => *n += 1,
            None => self.more.push((thread, 1)),
        }
    }

    /// Returns whether no subscription is left.
    fn remove(&mut self, thread: usize) -> bool {
        let thread = thread as u32;
        if self.first.0 == thread {
            self.first.1 = self.first.1.saturating_sub(1);
        } else if let Some((_, n)) = self.more.iter_mut().find(|(t, _)| *t == thread) {
            *n -= 1;
            self.more.retain(|(_, n)| *n > 0);
        }
        if self.first.1 == 0
            && let Some(other) = self.more.pop()
        {
            self.first = other;
        }
        self.first.1 == 0
    }
}

/// A lock with a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Stripe(RwLock<Names<Threads>>);

/// See the module's text.
pub struct Hub {
    channels: Box<[Stripe]>,
    shards: Box<[Stripe]>,
    /// Every publish to a channel looks at all of them.
    patterns: Stripe,
    /// Names per kind.
    names: [AtomicU64; 3],
    /// Connections with subscriptions.
    clients: AtomicU64,
}

impl Default for Hub {
    fn default() -> Self {
        let stripes = || (0..STRIPES).map(|_| Stripe::default()).collect();
        Self {
            channels: stripes(),
            shards: stripes(),
            patterns: Stripe::default(),
            names: Default::default(),
            clients: AtomicU64::new(0),
        }
    }
}

impl Hub {
    fn stripe(&self, kind: ChannelKind, name: Wanted<'_>) -> &Stripe {
        let of = |stripes: &'_ [Stripe]| {
            // The map uses other bits of the same hash.
            (name.hash() >> 40) as usize % stripes.len()
        };
        match kind {
            ChannelKind::Channel => &self.channels[of(&self.channels)],
            ChannelKind::Shard => &self.shards[of(&self.shards)],
            ChannelKind::Pattern => &self.patterns,
        }
    }

    /// Counts a subscription on a thread. Returns the name that all share.
    pub(crate) fn join(&self, kind: ChannelKind, name: Wanted<'_>, thread: usize) -> Name {
        let mut map = self.stripe(kind, name).0.write();
        if let Some((shared, _)) = map.get_key_value(&name as &dyn Named) {
            let shared = shared.clone();
            map.entry(shared.clone()).or_default().add(thread);
            return shared;
        }
        let shared = name.keep();
        map.entry(shared.clone()).or_default().add(thread);
        self.names[kind.index()].fetch_add(1, Relaxed);
        shared
    }

    /// Ends a subscription that [`join`](Self::join) counted.
    pub(crate) fn leave(&self, kind: ChannelKind, name: Wanted<'_>, thread: usize) {
        let mut map = self.stripe(kind, name).0.write();
        let threads = map.get_mut(&name as &dyn Named);
        if threads.is_some_and(|threads| threads.remove(thread)) {
            map.remove(&name as &dyn Named);
            self.names[kind.index()].fetch_sub(1, Relaxed);
        }
    }

    /// Calls `f` for a channel that has subscribers, under the lock.
    #[inline]
    pub(crate) fn find(
        &self,
        kind: ChannelKind,
        name: Wanted<'_>,
        f: impl FnOnce(&Name, &Threads),
    ) {
        if self.names(kind) == 0 {
            return;
        }
        let map = self.stripe(kind, name).0.read();
        if let Some((name, threads)) = map.get_key_value(&name as &dyn Named) {
            f(name, threads);
        }
    }

    /// Calls `f` for every pattern that a channel matches, under the lock.
    pub(crate) fn matching(&self, channel: &[u8], f: &mut dyn FnMut(&Name, &Threads)) {
        for (pattern, threads) in self.patterns.0.read().iter() {
            if stdx::glob::matches(pattern, channel, false) {
                f(pattern, threads);
            }
        }
    }

    /// Whether any connection is subscribed to a pattern.
    #[inline]
    pub fn has_patterns(&self) -> bool {
        self.names(ChannelKind::Pattern) > 0
    }

    /// Names of one kind that have subscribers.
    #[inline]
    pub fn names(&self, kind: ChannelKind) -> u64 {
        self.names[kind.index()].load(Relaxed)
    }

    /// Subscriptions to one name.
    pub fn subscribers(&self, kind: ChannelKind, name: &[u8]) -> u64 {
        let name = Wanted::new(name);
        self.stripe(kind, name).0.read().get(&name as &dyn Named).map_or(0, Threads::total)
    }

    /// All names of a kind that match a pattern; without one, all.
    pub fn list(&self, kind: ChannelKind, pattern: Option<&[u8]>) -> Vec<Name> {
        let stripes = match kind {
            ChannelKind::Channel => &*self.channels,
            ChannelKind::Shard => &*self.shards,
            ChannelKind::Pattern => std::slice::from_ref(&self.patterns),
        };
        let fits = |name: &Name| pattern.is_none_or(|p| stdx::glob::matches(p, name, false));
        let mut all = Vec::new();
        for stripe in stripes {
            all.extend(stripe.0.read().keys().filter(|name| fits(name)).cloned());
        }
        all
    }

    pub(crate) fn count_client(&self, more: bool) {
        if more {
            self.clients.fetch_add(1, Relaxed);
        } else {
            self.clients.fetch_sub(1, Relaxed);
        }
    }

    /// Connections that are subscribed to anything.
    pub fn clients(&self) -> u64 {
        self.clients.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_counted_per_thread() {
        let hub = Hub::default();
        let name = Wanted::new(b"a");
        let a = hub.join(ChannelKind::Channel, name, 0);
        let again = hub.join(ChannelKind::Channel, name, 3);
        assert!(a.is(&again));
        hub.join(ChannelKind::Channel, name, 3);
        hub.join(ChannelKind::Shard, name, 1);
        let mut seen = Vec::new();
        hub.find(ChannelKind::Channel, name, |_, t| seen.extend(t.iter()));
        assert_eq!(seen, [(0, 1), (3, 2)]);
        assert_eq!(hub.subscribers(ChannelKind::Channel, b"a"), 3);
        assert_eq!((hub.names(ChannelKind::Channel), hub.names(ChannelKind::Shard)), (1, 1));
        for thread in [3, 0, 3] {
            hub.leave(ChannelKind::Channel, name, thread);
        }
        hub.find(ChannelKind::Channel, name, |_, _| panic!("nobody is left"));
        assert_eq!((hub.names(ChannelKind::Channel), hub.names(ChannelKind::Shard)), (0, 1));
        assert!(hub.list(ChannelKind::Channel, None).is_empty());
    }

    #[test]
    fn patterns_are_matched_and_listed() {
        let hub = Hub::default();
        for p in ["n*", "*x", "q"] {
            hub.join(ChannelKind::Pattern, Wanted::new(p.as_bytes()), 0);
        }
        let mut seen = Vec::new();
        hub.matching(b"nx", &mut |p, _| seen.push(p.to_vec()));
        seen.sort();
        assert_eq!(seen, [b"*x".to_vec(), b"n*".to_vec()]);
        hub.join(ChannelKind::Channel, Wanted::new(b"news"), 0);
        hub.join(ChannelKind::Channel, Wanted::new(b"olds"), 0);
        assert_eq!(hub.list(ChannelKind::Channel, Some(b"n*")), [Wanted::new(b"news").keep()]);
    }
}
