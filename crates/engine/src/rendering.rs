//! When changes are rendered for replicas, and on which thread: see [`crate::replication`].

use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use config::Id;

use crate::acks::Silence;
use crate::attention::Attention;
use crate::engine::{Engine, Worker};
use crate::feeders::Urgency;

/// A thread that feeds no connection, and has more bytes in its lane, renders them itself.
const LANE_MAX: usize = 256 << 10;

impl Engine {
    /// Renders the changes so far for the replicas, for the sake of the offset. Those who feed send them soon.
    pub fn render_changes(&self, own: &Arc<Worker>) {
        if self.render_to_feed(own) {
            own.feed_request.ask(Urgency::Soon);
        }
    }

    /// The same on a thread that sends them then; other threads with fed connections are woken. Returns whether there
    /// were any.
    pub fn render_to_feed(&self, own: &Arc<Worker>) -> bool {
        let r = &self.replication;
        if !r.renders() {
            return false;
        }
        r.told.look();
        let mut state = r.state.lock();
        let any = state.render();
        let settled = state.ask(false, || self.clock.monotonic_ns() / 1_000_000);
        drop(state);
        if any {
            self.wake_feeding(Some(own), usize::MAX, Urgency::Soon);
        }
        if let Some(sequence) = settled {
            r.acks.acknowledged(sequence);
            self.wake_gated();
        }
        any
    }

    /// Has the changes of this thread, which feeds no connection, rendered by a thread that does.
    #[inline]
    pub fn pass_on_changes(&self, worker: &Arc<Worker>) {
        if self.replication.renders() && worker.lane.waiting() > 0 {
            self.pass_on(worker);
        }
    }

    #[cold]
    fn pass_on(&self, worker: &Arc<Worker>) {
        let alone = || self.workers().iter().all(|w| w.fed.load(Relaxed) == 0);
        if worker.lane.waiting() > LANE_MAX || self.replication.acks.is_on() && alone() {
            return self.render_changes(worker);
        }
        if self.replication.told.tell() {
            self.wake_feeding(None, 1, Urgency::Soon);
        }
    }

    /// Has the threads with fed connections feed them in their next turn: a client waits for it, or it is a piece of
    /// a full copy.
    pub fn feed_now(&self) {
        self.wake_feeding(None, usize::MAX, Urgency::Now);
    }

    /// The stream of this server's primary has gone on: this server's own replicas get it soon.
    pub fn feed_soon(&self) {
        self.wake_feeding(None, usize::MAX, Urgency::Soon);
    }

    /// Wakes the threads with fed connections, `most` of them at most, and `own` not.
    fn wake_feeding(&self, own: Option<&Arc<Worker>>, most: usize, urgency: Urgency) {
        let mut left = most;
        self.each_worker(|w| {
            let other = own.is_none_or(|own| !Arc::ptr_eq(own, w));
            if left > 0 && other && w.fed.load(Relaxed) > 0 {
                left -= 1;
                w.feed_request.ask(urgency);
                w.mailbox.wake();
            }
        });
    }

    /// Begins to render changes, into a backlog that is made if there is none. The caller has every shard
    /// locked, so that this is a moment between two changes.
    pub fn begin_rendering(&self, backlog_size: usize) {
        let mut state = self.replication.state();
        let state = &mut *state;
        state.ensure_backlog(backlog_size);
        state.renderer.forget_db();
        if state.records.is_none() {
            state.records = Some(self.stream.reader(self.stream.last()));
            self.keyspace.keep_journal(true);
            self.replication.renders.store(true, SeqCst);
        }
    }

    /// Renders no more changes: this server becomes a replica, or no replica wants them. The caller has every
    /// shard locked.
    pub fn end_rendering(&self) {
        let mut state = self.replication.state();
        if state.records.is_some() {
            state.render();
            state.records = None;
            self.keyspace.keep_journal(false);
            self.replication.renders.store(false, SeqCst);
        }
    }

    /// Whether this server is a replica.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.attention.get() & Attention::REPLICA != 0
    }
}

impl Engine {
    /// Begins or ends a term, as options and role say; the caller has every shard locked, if the role has
    /// changed.
    pub fn follow_acks(&self) {
        let acks = &self.replication.acks;
        let (acked, lease) =
            (self.config.int(Id::MinReplicasAck) > 0, self.config.int(Id::SentinelLeaseMs) > 0);
        acks.free_reads(self.config.flag(Id::SentinelLeaseReads));
        acks.listen(acked || lease);
        let on = (acked || lease) && !self.is_replica();
        // A server that starts as a primary does not know whether it still is one.
        if on && acked && lease && acks.term() == 0 && self.workers().is_empty() {
            acks.set_silence(Silence::Ping);
        } else if !on {
            acks.set_silence(Silence::None);
        }
        if acks.set_on(on, true) {
            self.wake_gated();
        }
    }

    /// Replicas have acknowledged the stream up to `offset`: wakes the threads whose output has waited for that.
    pub fn stream_acknowledged(&self, offset: i64) {
        let reached = self.replication.state().acknowledge(offset);
        if let Some(sequence) = reached {
            self.replication.acks.acknowledged(sequence);
            self.wake_gated();
        }
    }
}
