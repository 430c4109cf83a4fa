//! A replica's side: its grant, and its promotion by a Sentinel.

use config::Id;
use engine::acks::Silence;
use engine::{Attention, Engine};
use replication::ReplId;
use replication::in_sync::Grant;

use super::{Change, Guard, hold_off_ms, needs_grant, now_ms, option};

/// What a Sentinel that wants this server promoted is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Promotion {
    /// It is promoted at once.
    Now,
    /// Soon: it follows its primary no more.
    Soon,
    /// It may lack acknowledged writes.
    Refused,
}

impl Guard {
    /// This server follows another primary from now on: it was granted nothing by that one.
    pub(crate) fn follow_another(&self, engine: &Engine) {
        let mut inner = self.inner.lock();
        inner.window_ms = option(engine, Id::MinReplicasAckWindow);
        inner.grant = Grant::new(inner.window_ms);
        (inner.promotes_ms, inner.was_replica) = (None, true);
        inner.others.clear();
    }

    /// The link to the primary was lost.
    pub(crate) fn link_lost(&self) {
        self.inner.lock().grant.link_lost();
    }

    /// The data is being replaced.
    pub(crate) fn loads(&self) {
        let mut inner = self.inner.lock();
        inner.grant = Grant::new(inner.window_ms);
    }

    /// This server acknowledges the stream up to `offset`.
    pub(crate) fn acknowledges(&self, engine: &Engine, offset: i64) {
        let mut inner = self.inner.lock();
        let now = now_ms(engine);
        inner.acked_ms = now;
        inner.grant.sent(offset.max(0) as u64, now);
    }

    /// Messages of the primary have been executed.
    pub(crate) fn heard(&self, engine: &Engine) {
        if !engine.replication.acks.listens() {
            return;
        }
        let mut inner = self.inner.lock();
        for note in engine.replication.acks.take_notes().iter().filter(|note| !note.hello) {
            let text = String::from_utf8_lossy(&note.text).into_owned();
            inner.others.clear();
            for word in text.split(' ').skip(1) {
                let (id, ack) = match word.split_at_checked(1) {
                    Some(("+", rest)) => rest.split_once(':').unwrap_or((rest, "")),
                    Some(("-", rest)) => (rest, ""),
                    _ => continue,
                };
                let Some(id) = ReplId::parse(id.as_bytes()) else { continue };
                if id.as_str() != engine.run_id {
                    inner.others.push(id);
                } else if let Ok(ack) = ack.parse() {
                    inner.grant.confirmed(ack);
                }
            }
        }
    }

    /// Whether a Sentinel may promote this server.
    pub fn is_promotable(&self, engine: &Engine) -> bool {
        let now = now_ms(engine);
        let inner = self.inner.lock();
        !needs_grant(engine) || inner.grant.is_valid(now + hold_off_ms(inner.window_ms))
    }

    /// A Sentinel wants this server to be the primary.
    pub(crate) fn promotion(&self, engine: &Engine) -> Promotion {
        if !engine.is_replica() && engine.replication.acks.is_silent(Silence::Info) {
            return Promotion::Refused;
        }
        if !needs_grant(engine) || !engine.is_replica() {
            return Promotion::Now;
        }
        if !self.is_promotable(engine) {
            return Promotion::Refused;
        }
        let mut inner = self.inner.lock();
        let at = inner.acked_ms + hold_off_ms(inner.window_ms);
        if at <= now_ms(engine) {
            return Promotion::Now;
        }
        inner.promotes_ms = Some(at);
        Promotion::Soon
    }

    pub(super) fn promote_if_due(&self, engine: &Engine, now: u64) -> Change {
        let mut inner = self.inner.lock();
        // The thread that follows may have acknowledged once more before it saw that it is to end.
        let hold_off = hold_off_ms(inner.window_ms);
        if inner.promotes_ms.is_some_and(|at| at <= now && inner.acked_ms + hold_off <= now) {
            inner.promotes_ms = None;
            if engine.attention.get() & Attention::LOADING == 0 {
                return Change::Promote;
            }
        }
        Change::None
    }
}
