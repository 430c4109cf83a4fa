//! Client-side caching: clients are notified when keys that they have cached change.
//! <https://redis.io/docs/latest/develop/reference/client-side-caching/>
//!
//! ```text
//!  a read by a tracking client ──► Keys: key → clients      keys.rs      under the key's shard lock
//!  commit of a change ───────────► Keys::take ──► Notice ─► outboxes     (the crate)
//!                          └─────► changed keys of the batch ─► prefixes broadcast.rs
//! ```
//!
//! Invariants:
//! - A read is remembered while its shard is locked, so before any later change of the key: a client
//!   that was sent an old value is notified that it is old.
//! - A client is notified of its own changes behind the replies of the commands that made them: the
//!   notice waits in the outbox, which is sent behind replies.
//! - The table knows connections by number alone. A connection that is gone, or does not track any
//!   more, is skipped when its keys change, as in Redis.

mod broadcast;
mod keys;
mod pages;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::RwLock;

use crate::map::Map;
use crate::notice::Notice;
use crate::{Local, Peer, Peers, Receiver};
use broadcast::Prefixes;
use keys::Keys;
pub use pages::{Changed, Pages, Watcher};

/// Keys forgotten at once when there are more than `tracking-table-max-keys`.
pub const FORGET_AT_ONCE: usize = 128;

/// Bytes that a prefix takes besides its name: at its connection, and in the tree of all.
const PREFIX_BYTES: usize = size_of::<Vec<u8>>() + 64;

/// Keys forgotten at once when the last connection stops tracking; more of them go little by little.
const CLEARED_AT_ONCE: u64 = 10_000;

/// How one connection tracks.
#[derive(Debug)]
pub struct Tracker {
    /// The connection.
    pub receiver: Arc<Receiver>,
    /// The connection that receives the invalidations; 0: the same.
    pub redirect: u64,
    /// Notified of all keys with its prefixes, whether it has read them or not.
    pub bcast: bool,
    /// Only reads behind CLIENT CACHING YES are tracked.
    pub optin: bool,
    /// All reads are tracked, except those behind CLIENT CACHING NO.
    pub optout: bool,
    /// Not notified of its own changes.
    pub noloop: bool,
    /// In broadcasting mode; sorted.
    pub prefixes: Vec<Vec<u8>>,
}

impl Tracker {
    /// Whether it tracks what the present command reads; `caching` says that CLIENT CACHING stands before
    /// the command.
    pub fn wants(&self, caching: bool) -> bool {
        !(self.bcast || self.optin && !caching || self.optout && caching)
    }
}

/// See the module's text.
#[derive(Default)]
pub struct Tracking {
    keys: Keys,
    prefixes: Prefixes,
    trackers: RwLock<Map<u64, Arc<Tracker>>>,
    /// Cached pages, which are readers like connections.
    pub pages: Pages,
}

impl Tracking {
    /// Connections that track.
    pub fn clients(&self) -> usize {
        self.trackers.read().len()
    }

    /// Keys that are remembered for any client.
    pub fn keys(&self) -> u64 {
        self.keys.count()
    }

    /// Pairs of a key and a client.
    pub fn items(&self) -> u64 {
        self.keys.items()
    }

    /// Prefixes in broadcasting mode.
    pub fn prefixes(&self) -> u64 {
        self.prefixes.count()
    }

    fn tracker(&self, id: u64) -> Option<Arc<Tracker>> {
        self.trackers.read().get(&id).cloned()
    }

    /// Notifies the clients that cached a key that it has changed. `by` is the connection that changed it,
    /// or 0. To be called while the key's shard is locked.
    pub fn invalidate<P: Peer>(
        &self,
        peers: &impl Peers<Peer = P>,
        local: &mut Local<P>,
        by: u64,
        key: &[u8],
    ) {
        if self.prefixes.count() > 0 {
            local.note_changed(key, by);
        }
        self.tell(peers, local, by, key);
    }

    fn tell<P: Peer>(
        &self,
        peers: &impl Peers<Peer = P>,
        local: &mut Local<P>,
        by: u64,
        key: &[u8],
    ) {
        let ids = self.keys.take(key);
        // The ids are in order, those of pages last.
        if ids.last().is_some_and(|id| Pages::is_page(*id)) {
            self.pages.key_changed(key);
        }
        for id in ids {
            if Pages::is_page(id) {
                self.pages.changed(id);
                continue;
            }
            let Some(tracker) = self.tracker(id) else { continue };
            if tracker.bcast || tracker.noloop && id == by {
                continue;
            }
            let one = [key];
            send(peers, local, &tracker, |redirected| Notice::keys(one.into_iter(), redirected));
        }
    }

    /// Notifies all tracking clients that everything has changed (FLUSHALL, FLUSHDB), and forgets all
    /// keys.
    pub fn invalidate_all<P: Peer>(&self, peers: &impl Peers<Peer = P>, local: &mut Local<P>) {
        self.keys.clear();
        self.pages.drop_all();
        let all: Vec<_> = self.trackers.read().values().cloned().collect();
        for tracker in all {
            send(peers, local, &tracker, |redirected| Notice::All { redirected });
        }
    }

    /// Notifies the clients that track by prefix of the changes of a batch. To be called when a batch ends,
    /// before [`Local::send`].
    #[inline]
    pub fn broadcast<P: Peer>(&self, peers: &impl Peers<Peer = P>, local: &mut Local<P>) {
        if local.has_changed() {
            self.broadcast_changes(peers, local);
        }
    }

    #[cold]
    fn broadcast_changes<P: Peer>(&self, peers: &impl Peers<Peer = P>, local: &mut Local<P>) {
        let changed = local.take_changed();
        for (ids, keys) in self.prefixes.affected(&changed) {
            for id in ids {
                let Some(tracker) = self.tracker(id) else { continue };
                let keys: Vec<&[u8]> = keys
                    .iter()
                    .filter(|(_, by)| !(tracker.noloop && *by == id))
                    .map(|(key, _)| *key)
                    .collect();
                if !keys.is_empty() {
                    send(peers, local, &tracker, |redirected| {
                        Notice::keys(keys.iter().copied(), redirected)
                    });
                }
            }
        }
    }

    /// Remembers that a connection has read a key. To be called while the key's shard is locked, after
    /// the read: clients are not notified of the removal of an expired key that the read came upon.
    pub fn remember(&self, key: &[u8], id: u64) {
        self.keys.add(key, id);
    }

    /// Forgets some keys when there are more than `max` (0: any number), `most` of them at once: the
    /// clients that read them are notified as of a change.
    pub fn limit<P: Peer>(
        &self,
        peers: &impl Peers<Peer = P>,
        local: &mut Local<P>,
        max: u64,
        most: usize,
    ) {
        for _ in 0..most {
            if max == 0 || self.keys.count() <= max {
                return;
            }
            let Some(key) = self.keys.any() else { return };
            self.tell(peers, local, 0, &key);
        }
    }

    /// Periodic work: keeps the table below its limit, and empties it when no client tracks.
    pub fn upkeep<P: Peer>(&self, peers: &impl Peers<Peer = P>, local: &mut Local<P>, max: u64) {
        self.limit(peers, local, max, 10_000);
        if self.keys.count() > 0 && self.clients() == 0 && !self.pages.is_on() {
            self.keys.clear_some();
        }
    }

    /// A connection tracks, or does so in another way.
    pub fn begin(&self, tracker: &Arc<Tracker>) {
        let r = &tracker.receiver;
        r.redirect.store(tracker.redirect as i64, Relaxed);
        r.bcast.store(tracker.bcast, Relaxed);
        r.redirect_broken.store(false, Relaxed);
        for prefix in &tracker.prefixes {
            self.prefixes.add(prefix, r.id);
        }
        let bytes: usize = tracker.prefixes.iter().map(|p| PREFIX_BYTES + p.capacity()).sum();
        r.prefix_bytes.store(bytes as u64, Relaxed);
        self.trackers.write().insert(r.id, Arc::clone(tracker));
    }

    /// A connection does not track any more.
    pub fn end(&self, tracker: &Tracker) {
        let r = &tracker.receiver;
        let mut trackers = self.trackers.write();
        trackers.remove(&r.id);
        if trackers.is_empty() && !self.pages.is_on() && self.keys.count() <= CLEARED_AT_ONCE {
            // Changes are not noted any more, so remembered reads do not stay valid.
            self.keys.clear();
        }
        drop(trackers);
        for prefix in &tracker.prefixes {
            self.prefixes.remove(prefix, r.id);
        }
        r.redirect.store(-1, Relaxed);
        r.prefix_bytes.store(0, Relaxed);
        r.bcast.store(false, Relaxed);
        r.redirect_broken.store(false, Relaxed);
    }
}

fn send<P: Peer>(
    peers: &impl Peers<Peer = P>,
    local: &mut Local<P>,
    tracker: &Tracker,
    notice: impl FnOnce(bool) -> Notice,
) {
    let me = &tracker.receiver;
    if tracker.redirect == 0 {
        return local.notice(me, notice(false));
    }
    match peers.receiver(tracker.redirect) {
        Some(other) => local.notice(&other, notice(true)),
        None => {
            me.redirect_broken.store(true, Relaxed);
            local.notice(me, Notice::Broken(tracker.redirect));
        }
    }
}
