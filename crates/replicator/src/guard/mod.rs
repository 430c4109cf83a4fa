//! What is acknowledged, and until when the server may answer: `min-replicas-ack` and `sentinel-lease-ms`, in both
//! roles. The argument is in docs/design/replication.md.
//!
//! A primary acknowledges what all replicas have that may be promoted ([`InSync`]). It tells them, by a message in
//! its stream, which of them are in sync and which acknowledgement of each it knows: that is the replica's *grant*
//! ([`Grant`]), without which no Sentinel can promote it. Before a replica gets its first grant, all others have
//! acknowledged a message that names it: so each knows who else may hold one when it is promoted itself.
//!
//! A replica that a Sentinel promotes waits until its last acknowledgement is [`hold_off_ms`] old. A primary that knows of
//! each replica that it was one less than that ago is the only one that answers: its lease for reads.

mod lease;
mod replica;

use std::collections::HashMap;

use config::Id;
use engine::acks::{Acks, IN_SYNC};
use engine::{Attention, Engine, Thread, log};
use parking_lot::Mutex;
use replication::ReplId;
use replication::in_sync::{Grant, InSync};
use replication::sentinels::Sentinels;

pub use replica::Promotion;

/// From one message with the replicas in sync to the next, in milliseconds, while nothing changes.
const SAY_MS: u64 = 1000;
/// Writes are refused after so many milliseconds in which nothing could be acknowledged.
const STALLED_MS: u64 = 1000;
/// The key of replicas of which a server that has just started knows nothing.
const UNKNOWN: u64 = 0;

/// How long after its last acknowledgement a replica that a Sentinel promotes waits, in milliseconds.
pub fn hold_off_ms(window_ms: u64) -> u64 {
    (window_ms / 10).clamp(200, 1000)
}

/// See the module's text.
#[derive(Default)]
pub struct Guard {
    inner: Mutex<Inner>,
}

struct Inner {
    /// The term that is guarded, 0 before the first.
    term: u64,
    needed: usize,
    set: InSync,
    /// A replica by its key in the set.
    named: HashMap<u64, Named>,
    said_ms: u64,
    /// The set has changed since.
    changed: bool,
    /// Since when nothing can be acknowledged.
    stuck_ms: Option<u64>,
    /// The acknowledged offset, and when it was first seen.
    moved: (i64, u64),
    lapsed: Option<Lapse>,
    /// Replicas have data that this server may have lost.
    yields: bool,
    had_lease: bool,
    sentinels: Option<Sentinels>,
    /// This end of the Sentinels' connections.
    locals: HashMap<[u8; 8], String>,
    lease_ms: u64,
    /// The [`options`] with which the term began.
    options: [u64; 4],
    /// As a replica: its grant, and who else may hold one.
    grant: Grant,
    window_ms: u64,
    others: Vec<ReplId>,
    /// When this server's last acknowledgement was made.
    acked_ms: u64,
    /// A Sentinel wants this server to be the primary, from this time on.
    promotes_ms: Option<u64>,
    was_replica: bool,
}

/// The Sentinels' lease is over.
struct Lapse {
    since_ms: u64,
    epoch: u64,
}

#[derive(Default)]
struct Named {
    id: Option<ReplId>,
    ack: i64,
    /// The offset behind the first message that names it.
    named_at: Option<i64>,
    /// The last message has confirmed it.
    granted: bool,
    /// When it was known to be a replica, in monotonic milliseconds.
    follows_ms: Option<u64>,
    /// The Sentinels' highest epoch at its last acknowledgement.
    epoch: u64,
    /// Where it is.
    place: String,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            term: 0,
            needed: 0,
            set: InSync::new(1, 1, 1, 0),
            named: HashMap::new(),
            said_ms: 0,
            changed: false,
            stuck_ms: None,
            moved: (0, 0),
            lapsed: None,
            yields: false,
            had_lease: false,
            sentinels: None,
            locals: HashMap::new(),
            lease_ms: 0,
            options: [0; 4],
            grant: Grant::new(1),
            window_ms: 1,
            others: Vec::new(),
            acked_ms: 0,
            promotes_ms: None,
            was_replica: false,
        }
    }
}

fn now_ms(engine: &Engine) -> u64 {
    engine.clock.monotonic_ns() / 1_000_000
}

fn option(engine: &Engine, id: Id) -> u64 {
    engine.config.int(id).max(0) as u64
}

/// What a term is begun with: whether replicas are waited for, and the Sentinels' lease.
fn options(engine: &Engine) -> [u64; 4] {
    let [lease, sentinels, quorum] =
        [Id::SentinelLeaseMs, Id::SentinelLeaseSentinels, Id::SentinelLeaseQuorum]
            .map(|id| option(engine, id));
    [option(engine, Id::MinReplicasAck).min(1), lease, sentinels, quorum]
}

/// Whether this server must hold a grant to be promoted.
pub fn needs_grant(engine: &Engine) -> bool {
    engine.config.int(Id::MinReplicasAck) > 0
}

/// A replica, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Its name for itself: an Apus.
    pub(crate) id: Option<ReplId>,
    /// Where it is.
    pub(crate) place: String,
    /// It gets the stream.
    pub(crate) online: bool,
    pub(crate) ack: i64,
    pub(crate) fack: i64,
}

impl Progress {
    fn key(&self) -> u64 {
        match self.id {
            Some(id) => stdx::hash::hash64(id.as_bytes()),
            None => stdx::hash::hash64(self.place.as_bytes()),
        }
    }
}

/// What the role is to be changed to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// To a primary: a Sentinel has wanted it.
    Promote,
    /// To a replica of the server that the Sentinels name.
    Follow(String, u16),
}

impl Guard {
    /// A replica has acknowledged.
    pub(crate) fn acked(&self, engine: &Engine, replica: &Progress) {
        if !engine.replication.acks.is_on() {
            return;
        }
        let disk = engine.config.flag(Id::MinReplicasAckDisk);
        let seen = replica.ack;
        let ack = if disk { replica.fack } else { seen };
        let follows = engine.replication.state().requested_before(seen);
        let mut inner = self.inner.lock();
        if !replica.online || inner.term != engine.replication.acks.term() || inner.needed == 0 {
            return;
        }
        let now = now_ms(engine);
        let (key, id) = (replica.key(), replica.id);
        let epoch = inner.sentinels.as_ref().map_or(0, Sentinels::epoch);
        if inner.set.acked(key, ack, now) {
            let is_new = inner.named.get(&key).is_none_or(|named| named.named_at.is_none());
            if is_new {
                inner.changed = true;
                inner.replace_former(key, &replica.place);
            }
            let named = inner.named.entry(key).or_default();
            named.follows_ms = named.follows_ms.max(follows);
            (named.id, named.ack, named.epoch) = (id, seen, epoch);
        }
        let safe = inner.set.safe();
        inner.follow_lease(engine, now);
        drop(inner);
        if let Some(offset) = safe {
            engine.stream_acknowledged(offset);
        }
    }

    /// While this server does not know whether it is the primary, a replica with data has asked for more. Without a
    /// journal this server has less than it.
    pub(crate) fn asked_for_more(&self, engine: &Engine) {
        let mut inner = self.inner.lock();
        if !engine.journal.is_on() && !inner.yields {
            inner.yields = true;
            log!(
                engine.log,
                Warning,
                "Replicas have data that this server has lost: a Sentinel or an operator must promote one of them"
            );
        }
    }

    /// A replica's connection has ended.
    pub(crate) fn lost(&self, replica: &Progress) {
        self.inner.lock().set.lost(replica.key());
    }

    /// Periodic work, about ten times a second, on the first worker.
    pub(crate) fn tick(&self, engine: &Engine, thread: &mut Thread, alone: bool) -> Change {
        let acks = &engine.replication.acks;
        if !acks.listens() {
            return Change::None;
        }
        let (term, now) = (acks.term(), now_ms(engine));
        if Acks::waits_in(term) && self.inner.lock().term != term {
            // The journal's records that are being read have numbers: changes are rendered behind them.
            if engine.attention.get() & Attention::LOADING != 0 {
                return Change::None;
            }
            self.begin(engine, thread, term, now);
        }
        let mut inner = self.inner.lock();
        if inner.term == term && inner.are_options_changed(engine) {
            // What waits is uncertain. The next look begins the new term.
            acks.renew(true);
            drop(inner);
            // They may have been switched off meanwhile.
            engine.follow_acks();
            engine.wake_gated();
            return Change::None;
        }
        inner.hear(engine, now);
        if !Acks::waits_in(term) {
            inner.was_replica = true;
            inner.named.clear();
            drop(inner);
            stall(engine, false);
            return self.promote_if_due(engine, now);
        }
        if let Some((host, port)) = inner.other_primary() {
            log!(engine.log, Warning, "The Sentinels have made {}:{} the primary", host, port);
            return Change::Follow(host, port);
        }
        if inner.needed > 0 {
            inner.needed = option(engine, Id::MinReplicasAck).max(1) as usize;
            let needed = inner.needed;
            inner.set.need(needed);
            inner.set.tick(now);
            inner.let_out(engine, now);
            inner.say(engine, now, alone);
        }
        let is_seen = inner.follow_lease(engine, now);
        let safe = inner.set.safe().filter(|_| inner.needed > 0);
        let lacks_replicas =
            inner.needed > 0 && (safe.is_none() || inner.set.members().any(|(_, leaving)| leaving));
        let stuck = !is_seen || lacks_replicas;
        inner.stuck_ms = if stuck { Some(inner.stuck_ms.unwrap_or(now)) } else { None };
        let stalled = inner.stuck_ms.is_some_and(|since| now - since > STALLED_MS)
            || inner.needed > 0 && inner.is_unanswered(engine, now);
        drop(inner);
        stall(engine, stalled);
        if let Some(offset) = safe {
            engine.stream_acknowledged(offset);
        }
        engine.wake_gated();
        Change::None
    }

    fn begin(&self, engine: &Engine, thread: &mut Thread, term: u64, now: u64) {
        let needed = option(engine, Id::MinReplicasAck) as usize;
        let window = option(engine, Id::MinReplicasAckWindow);
        let offset = durable::load::within(engine, thread, |_| {
            if engine.replication.acks.term() != term {
                return None;
            }
            if needed == 0 {
                engine.replication.state().mark(None);
                engine.replication.acks.acknowledged(u64::MAX - 1);
                return Some(0);
            }
            engine.begin_rendering(engine.config.bytes(Id::ReplBacklogSize) as usize);
            let mut state = engine.replication.state();
            state.render();
            state.mark(Some(engine.stream.last()));
            Some(state.history.offset())
        });
        let Some(offset) = offset else { return };
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        // Clocks drift by less than a tenth.
        let hold = window + window / 10 + 100;
        inner.set = InSync::new(needed.max(1), (window / 3).max(2000), hold, offset);
        inner.named.clear();
        for id in std::mem::take(&mut inner.others) {
            let key = stdx::hash::hash64(id.as_bytes());
            inner.set.expect(key, now);
            inner.named.insert(key, Named { id: Some(id), ..Named::default() });
        }
        inner.lease_ms = option(engine, Id::SentinelLeaseMs);
        inner.options = options(engine);
        if !inner.was_replica && inner.lease_ms > 0 && needed > 0 {
            inner.set.expect(UNKNOWN, now);
            inner.named.insert(UNKNOWN, Named::default());
        }
        let quorum = match option(engine, Id::SentinelLeaseQuorum) {
            0 => usize::MAX,
            quorum => quorum as usize,
        };
        let expected = option(engine, Id::SentinelLeaseSentinels) as usize;
        inner.sentinels = Some(Sentinels::new(expected, quorum, inner.lease_ms));
        (inner.term, inner.needed, inner.changed) = (term, needed, true);
        (inner.lapsed, inner.stuck_ms, inner.had_lease) = (None, None, false);
        inner.moved = (offset, now);
    }
}

fn stall(engine: &Engine, yes: bool) {
    if engine.replication.acks.set_stalled(yes) {
        engine.follow_good_replicas();
    }
}

impl Inner {
    /// Whether replicas that were there have left the requests of so long a time unanswered that a write has waited in vain,
    /// and nothing was acknowledged meanwhile. The requests move the offset on, so that one answer ends it.
    fn is_unanswered(&mut self, engine: &Engine, now: u64) -> bool {
        let offset = self.set.acknowledged();
        if self.moved.0 != offset {
            self.moved = (offset, now);
        }
        let timeout = option(engine, Id::MinReplicasAckTimeout);
        timeout > 0 && now.saturating_sub(self.moved.1) > timeout.max(STALLED_MS)
    }

    /// A replica has come: another process that was at the same place has ended, and is not promoted any more.
    fn replace_former(&mut self, key: u64, place: &str) {
        let former = |(other, named): (&u64, &Named)| {
            (*other != key && named.place == place).then_some(*other)
        };
        let all: Vec<u64> = self.named.iter().filter_map(former).collect();
        for other in all {
            self.set.remove(other);
            self.named.remove(&other);
        }
        self.named.entry(key).or_default().place = place.to_owned();
    }

    /// Lets replicas out that cannot be promoted any more, and have not been.
    fn let_out(&mut self, engine: &Engine, now: u64) {
        let expired: Vec<(u64, u64)> = self.set.expired(now).collect();
        for (key, since) in expired {
            if key == UNKNOWN && self.yields {
                continue;
            }
            let named = self.named.get(&key);
            let epoch = named.map_or(0, |n| n.epoch);
            let may = self.sentinels.as_ref().is_none_or(|s| {
                // An election may have chosen it, unless the last one has chosen this server, or is long over.
                let ours = s.is_ours() && s.epoch() <= epoch.max(1);
                let over = s.raised_ms().is_none_or(|at| at + 3 * self.window_ms(engine) < now);
                let none = key == UNKNOWN || ours || over;
                s.count() == 0 || none && s.confirm(since, s.epoch(), false)
            });
            if may && self.set.let_out(key, now) {
                let id = named.and_then(|n| n.id).map_or_else(String::new, |id| id.to_string());
                log!(
                    engine.log,
                    Notice,
                    "The lost replica {} cannot be promoted any more: writes do not wait for it",
                    id
                );
                self.named.remove(&key);
                self.changed = true;
            }
        }
    }

    fn window_ms(&self, engine: &Engine) -> u64 {
        option(engine, Id::MinReplicasAckWindow)
    }

    /// Whether CONFIG SET asks for another guard than that of this term. The next term expects the
    /// replicas that may hold a grant of this one.
    fn are_options_changed(&mut self, engine: &Engine) -> bool {
        if !engine.replication.acks.is_on() || self.options == options(engine) {
            return false;
        }
        let members: Vec<u64> = self.set.members().map(|(key, _)| key).collect();
        self.others = members.iter().filter_map(|key| self.named.get(key)?.id).collect();
        self.was_replica |= !members.contains(&UNKNOWN);
        true
    }

    /// Tells the replicas who is in sync, and asks them for a sign of life.
    fn say(&mut self, engine: &Engine, now: u64, alone: bool) {
        if alone || !engine.replication.renders() {
            return;
        }
        let safe = self.set.safe();
        let mut state = engine.replication.state();
        state.render();
        let known = |n: &Named| n.named_at.is_some_and(|at| safe.is_some_and(|safe| at <= safe));
        let news = self.named.values().any(|n| n.id.is_some() && known(n) && !n.granted);
        if self.changed || news || now - self.said_ms >= SAY_MS {
            let mut text = state.history.id().to_string();
            let after = state.history.offset();
            for (key, leaving) in self.set.members() {
                let Some(named) = self.named.get_mut(&key) else { continue };
                let Some(id) = named.id else { continue };
                named.granted = known(named) && !leaving;
                match named.granted {
                    true => text.push_str(&format!(" +{id}:{}", named.ack)),
                    false => text.push_str(&format!(" -{id}")),
                }
                // Behind the message, whose bytes follow; any later offset does as well.
                named.named_at.get_or_insert(after + 1);
            }
            let mut bytes = Vec::new();
            replication::render::push_command(&mut bytes, &[b"PUBLISH", IN_SYNC, text.as_bytes()]);
            state.append(&bytes);
            (self.said_ms, self.changed) = (now, false);
        }
        let settled = state.ask(true, || now_ms(engine));
        drop(state);
        if let Some(sequence) = settled {
            engine.replication.acks.acknowledged(sequence);
        }
        engine.feed_now();
    }
}

impl Guard {
    /// Lines of INFO replication.
    pub fn info(&self, engine: &Engine) -> Vec<(&'static str, String)> {
        if !engine.replication.acks.is_on() {
            return Vec::new();
        }
        let now = now_ms(engine);
        let inner = self.inner.lock();
        let (mut present, mut leaving) = (0, 0);
        for (_, leaves) in inner.set.members() {
            *(if leaves { &mut leaving } else { &mut present }) += 1;
        }
        let sentinels = inner.sentinels.as_ref().map_or(0, Sentinels::heard);
        let lease = inner.lease_ms == 0
            || inner.lapsed.is_none()
                && inner.sentinels.as_ref().is_some_and(|s| s.until_ms().is_some_and(|t| now < t));
        vec![
            ("in_sync_replicas", present.to_string()),
            ("in_sync_replicas_lost", leaving.to_string()),
            ("acknowledged_offset", inner.set.acknowledged().to_string()),
            ("sentinels_heard", sentinels.to_string()),
            ("sentinel_lease", u8::from(lease).to_string()),
        ]
    }
}
