//! Client-side caching: clients are notified when keys that they have cached change.
//! <https://redis.io/docs/latest/develop/reference/client-side-caching/>
//!
//! ```text
//!  a read by a tracking client ──► Keys: key → clients      keys.rs      under the key's shard lock
//!  commit of a change ───────────► Keys::take ──► Notice ─► outboxes     (crate::pubsub)
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

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::RwLock;
use resp::{Args, Out, Proto, Reply};

use crate::clients::Client;
use crate::engine::Engine;
use crate::pubsub::{Local, Map};
use crate::session::Session;
use crate::table::Cmd;
use crate::thread::Thread;
use broadcast::Prefixes;
use keys::Keys;

/// The channel on which RESP2 connections receive the invalidations of others.
const CHANNEL: &str = "__redis__:invalidate";
/// Keys forgotten at once when there are more than `tracking-table-max-keys`.
pub(crate) const FORGET_AT_ONCE: usize = 128;

/// Bytes that a prefix takes besides its name: at its connection, and in the tree of all.
const PREFIX_BYTES: usize = size_of::<Vec<u8>>() + 64;

/// Keys forgotten at once when the last connection stops tracking; more of them go little by little.
const CLEARED_AT_ONCE: u64 = 10_000;

/// How one connection tracks.
pub struct Tracker {
    /// The client that tracks.
    pub client: Arc<Client>,
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

/// The message to a connection.
#[derive(Debug)]
pub(crate) enum Notice {
    /// These keys have changed: an array of bulk strings, as it is sent.
    Keys { array: Vec<u8>, redirected: bool },
    /// Everything has changed.
    All { redirected: bool },
    /// The connection with this number, which was to receive the invalidations, is gone.
    Broken(u64),
}

impl Notice {
    fn keys<'k>(keys: impl ExactSizeIterator<Item = &'k [u8]>, redirected: bool) -> Self {
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, Proto::V3);
        reply.array(keys.len());
        keys.for_each(|key| reply.bulk(key));
        Self::Keys { array: out.buf, redirected }
    }

    /// About how many bytes it is when it is sent.
    pub(crate) fn len(&self) -> usize {
        let keys = match self {
            Self::Keys { array, .. } => array.len(),
            Self::All { .. } | Self::Broken(_) => 0,
        };
        keys + 48
    }

    /// Writes it in the form that suits the connection, if any does: RESP2 has no push messages, but a
    /// client that subscribes to the channel for it receives the invalidations redirected to it.
    pub(crate) fn write(&self, out: &mut Out, client: &Client) -> usize {
        let before = out.len();
        let three = client.proto.load(Relaxed) == 3;
        let redirected = match self {
            Self::Keys { redirected, .. } | Self::All { redirected } => *redirected,
            Self::Broken(_) => false,
        };
        if !(three || redirected && client.pubsub.load(Relaxed)) {
            return 0;
        }
        let mut reply = Reply::new(out, if three { Proto::V3 } else { Proto::V2 });
        match self {
            Self::Broken(id) => {
                reply.push(2);
                reply.bulk("tracking-redir-broken");
                reply.int(*id as i64);
            }
            Self::Keys { .. } | Self::All { .. } if three => {
                reply.push(2);
                reply.bulk("invalidate");
            }
            Self::Keys { .. } | Self::All { .. } => {
                reply.push(3);
                reply.bulk("message");
                reply.bulk(CHANNEL);
            }
        }
        match self {
            Self::Keys { array, .. } => reply.out().buf.extend_from_slice(array),
            Self::All { .. } => reply.null(),
            Self::Broken(_) => {}
        }
        out.len() - before
    }
}

/// See the module's text.
#[derive(Default)]
pub struct Tracking {
    keys: Keys,
    prefixes: Prefixes,
    trackers: RwLock<Map<u64, Arc<Tracker>>>,
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
}

/// Notifies the clients that cached a key that it has changed. `by` is the connection that changed it,
/// or 0. To be called while the key's shard is locked.
pub(crate) fn invalidate(engine: &Engine, local: &mut Local, by: u64, key: &[u8]) {
    if engine.tracking.prefixes.count() > 0 {
        local.note_changed(key, by);
    }
    tell(engine, local, by, key);
}

fn tell(engine: &Engine, local: &mut Local, by: u64, key: &[u8]) {
    for id in engine.tracking.keys.take(key) {
        let Some(tracker) = engine.tracking.tracker(id) else { continue };
        if tracker.bcast || tracker.noloop && id == by {
            continue;
        }
        let one = [key];
        send(engine, local, &tracker, |redirected| Notice::keys(one.into_iter(), redirected));
    }
}

/// Notifies all tracking clients that everything has changed (FLUSHALL, FLUSHDB), and forgets all
/// keys.
pub(crate) fn invalidate_all(engine: &Engine, local: &mut Local) {
    engine.tracking.keys.clear();
    let all: Vec<_> = engine.tracking.trackers.read().values().cloned().collect();
    for tracker in all {
        send(engine, local, &tracker, |redirected| Notice::All { redirected });
    }
}

/// Notifies the clients that track by prefix of the changes of a batch.
#[cold]
pub(crate) fn broadcast(engine: &Engine, local: &mut Local) {
    let changed = local.take_changed();
    for (ids, keys) in engine.tracking.prefixes.affected(&changed) {
        for id in ids {
            let Some(tracker) = engine.tracking.tracker(id) else { continue };
            let keys: Vec<&[u8]> = keys
                .iter()
                .filter(|(_, by)| !(tracker.noloop && *by == id))
                .map(|(key, _)| *key)
                .collect();
            if !keys.is_empty() {
                send(engine, local, &tracker, |redirected| {
                    Notice::keys(keys.iter().copied(), redirected)
                });
            }
        }
    }
}

fn send(
    engine: &Engine,
    local: &mut Local,
    tracker: &Tracker,
    notice: impl FnOnce(bool) -> Notice,
) {
    let me = &tracker.client;
    if tracker.redirect == 0 {
        return local.notice(me, notice(false));
    }
    match engine.clients.get(tracker.redirect).filter(|c| !c.closing.load(Relaxed)) {
        Some(other) => local.notice(&other, notice(true)),
        None => {
            me.redirect_broken.store(true, Relaxed);
            local.notice(me, Notice::Broken(tracker.redirect));
        }
    }
}

/// Remembers that a connection has read the keys of a command. To be called while their shards are
/// locked, after the read: clients are not notified of the removal of an expired key that the read
/// came upon.
#[cold]
pub(crate) fn remember(
    engine: &Engine,
    local: &mut Local,
    session: &Session,
    cmd: &Cmd,
    args: &Args<'_>,
) {
    let Some(t) = &session.tracking else { return };
    if t.bcast || t.optin && !session.caching || t.optout && session.caching {
        return;
    }
    let keys = &engine.tracking.keys;
    // Without valid keys nothing was read.
    let _ = commands::keys::positions(cmd.row, args, &mut |i| keys.add(&args[i], t.client.id));
    limit(engine, local, FORGET_AT_ONCE);
}

/// Forgets some keys when there are more than `tracking-table-max-keys`, `most` of them at once: the
/// clients that read them are notified as of a change.
pub(crate) fn limit(engine: &Engine, local: &mut Local, most: usize) {
    let max = engine.config.int(config::Id::TrackingTableMaxKeys) as u64;
    for _ in 0..most {
        if max == 0 || engine.tracking.keys.count() <= max {
            return;
        }
        let Some(key) = engine.tracking.keys.any() else { return };
        tell(engine, local, 0, &key);
    }
}

/// Periodic work: keeps the table below its limit, and empties it when no client tracks.
pub(crate) fn upkeep(engine: &Engine, local: &mut Local) {
    limit(engine, local, 10_000);
    if engine.tracking.keys.count() > 0 && engine.tracking.clients() == 0 {
        engine.tracking.keys.clear_some();
    }
}

impl Thread {
    /// CLIENT TRACKING ON, or other options for a connection that tracks already.
    pub fn track(&mut self, engine: &Engine, session: &mut Session, tracker: Tracker) {
        self.outbox(session);
        let id = session.client.id;
        let c = &session.client;
        c.redirect.store(tracker.redirect as i64, Relaxed);
        c.bcast.store(tracker.bcast, Relaxed);
        c.redirect_broken.store(false, Relaxed);
        for prefix in &tracker.prefixes {
            engine.tracking.prefixes.add(prefix, id);
        }
        let bytes: usize = tracker.prefixes.iter().map(|p| PREFIX_BYTES + p.capacity()).sum();
        c.prefix_bytes.store(bytes as u64, Relaxed);
        let tracker = Arc::new(tracker);
        if session.tracking.is_none() {
            engine.keyspace.take_interest();
        }
        engine.tracking.trackers.write().insert(id, Arc::clone(&tracker));
        session.tracking = Some(tracker);
        session.note_attention();
    }

    /// CLIENT TRACKING OFF; harmless without tracking.
    pub fn untrack(&mut self, engine: &Engine, session: &mut Session) {
        let Some(tracker) = session.tracking.take() else { return };
        let id = session.client.id;
        let mut trackers = engine.tracking.trackers.write();
        trackers.remove(&id);
        if trackers.is_empty() && engine.tracking.keys.count() <= CLEARED_AT_ONCE {
            // Changes are not noted any more, so remembered reads do not stay valid.
            engine.tracking.keys.clear();
        }
        drop(trackers);
        for prefix in &tracker.prefixes {
            engine.tracking.prefixes.remove(prefix, id);
        }
        let c = &session.client;
        c.redirect.store(-1, Relaxed);
        c.prefix_bytes.store(0, Relaxed);
        c.bcast.store(false, Relaxed);
        c.redirect_broken.store(false, Relaxed);
        session.caching = false;
        engine.keyspace.lose_interest();
        session.note_attention();
    }
}
