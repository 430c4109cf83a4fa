//! Connections that are fed: replicas, with full syncs and the stream of changes.
//!
//! A write to a replica costs as much as a request, on both sides. So what changes within [`LINGER_NS`] of the last
//! write gathers, and goes with one write; a change after a quiet time goes at once. Nobody waits for that: WAIT,
//! FAILOVER and what else asks for acknowledgements have the threads feed in their next turn
//! ([`engine::Urgency`]), as have full copies, and while replies wait for replicas (`min-replicas-ack`)
//! every turn feeds that has not more to execute.

use config::Id;
use engine::{Fed, Peer, Urgency, log};

use super::answer::Turn;
use super::buffers::{OUTPUT, OUTPUT_KEEP};
use super::count::add;
use super::limits::over_replica_limit;
use super::worker::Worker;

/// How long behind the last write changes gather; the event loop may add a millisecond. A replica is that much
/// further behind than it need be, far less than a client on another machine can tell. A thousand writes per second
/// cost a primary a hundredth of a core.
const LINGER_NS: u64 = 1_000_000;
/// The same while replies wait for replicas, and while there is more to execute.
const LINGER_HELD_NS: u64 = 200_000;
/// Bytes of records in this thread's lane that do not wait for more: a write of so many costs little per byte.
const GATHER_MAX: usize = 64 << 10;
/// A thread feeds at least this often: should nobody have asked it to.
const FEED_EVERY_NS: u64 = 100_000_000;
/// Bytes that one connection gets in one turn.
const TURN_MAX: usize = 1 << 20;

impl Worker {
    /// A client of this thread is fed from now on.
    pub(super) fn begin_feeding(&mut self, id: u64) {
        if let Some(&i) = self.places.get(&id)
            && !self.fed.contains(&id)
        {
            if self.shared.engine.config.flag(Id::ReplDisableTcpNodelay)
                && let Some(socket) = self.conns[i].stream.tcp()
            {
                // A system that refuses sends more packets, and nothing is wrong.
                let _ = socket.set_nodelay(false);
            }
            self.fed.push(id);
            self.count_fed();
        }
        self.inbox.worker.feed_request.ask(Urgency::Now);
    }

    fn count_fed(&self) {
        self.inbox.worker.fed.store(self.fed.len(), std::sync::atomic::Ordering::Relaxed);
    }

    /// Called at the end of each turn, `idle` when nothing was to be executed in it. Returns for how many
    /// nanoseconds changes wait at most: then a turn is to come.
    pub(super) fn feed(&mut self, idle: bool) -> Option<u64> {
        let shared = std::sync::Arc::clone(&self.shared);
        let engine = &shared.engine;
        if self.fed.is_empty() {
            engine.pass_on_changes(&self.inbox.worker);
            return None;
        }
        let now = self.thread.mono();
        let since = now.saturating_sub(self.fed_ns);
        let worker = &self.inbox.worker;
        let request = match worker.feed_request.look() {
            Urgency::None if worker.lane.waiting() > 0 => Urgency::Soon,
            Urgency::None if since < FEED_EVERY_NS => return None,
            request => request,
        };
        if request == Urgency::Soon && worker.lane.waiting() < GATHER_MAX {
            // Only while there is more to execute: the next turn comes at once.
            let held = engine.replication.acks.is_on();
            if held && !idle && since < LINGER_HELD_NS {
                return Some(0);
            }
            if !held && since < LINGER_NS {
                return Some(LINGER_NS - since);
            }
        }
        self.feed_all();
        None
    }

    /// Sends the fed connections everything that there is for them.
    pub(super) fn feed_all(&mut self) {
        let shared = std::sync::Arc::clone(&self.shared);
        let engine = &shared.engine;
        self.fed_ns = self.thread.mono();
        self.inbox.worker.feed_request.begin();
        engine.render_to_feed(&self.inbox.worker);
        let all = std::mem::take(&mut self.fed);
        for id in &all {
            if let Some(&i) = self.places.get(id) {
                self.feed_one(i);
            }
        }
        self.fed = all;
        self.fed.retain(|id| self.places.contains_key(id));
        self.count_fed();
    }

    /// Sends a connection what there is for it, as far as its socket takes it.
    pub(super) fn feed_one(&mut self, i: usize) {
        let mut left = TURN_MAX;
        loop {
            let c = &mut *self.conns[i];
            if c.unsent() > 0 || c.gate.is_some() || c.is_closing() {
                // When the socket takes more there is a turn, and it goes on.
                self.inbox.worker.feed_request.ask(Urgency::Now);
                return;
            }
            let Some(feed) = c.session.feed.as_deref().cloned() else { return };
            self.out.clear();
            let fed = feed.next(&mut self.out.buf);
            if fed == Fed::End {
                return self.close(i);
            }
            if self.out.buf.is_empty() {
                return;
            }
            let n = self.out.buf.len();
            let sent = c.send(&mut self.out);
            if self.out.buf.capacity() > OUTPUT_KEEP {
                self.out.buf = Vec::with_capacity(OUTPUT);
            }
            match sent {
                Ok(sent) => c.note_sent(&self.inbox.worker.stats, sent, self.thread.cx.now),
                Err(_) => return self.close(i),
            }
            if fed == Fed::Nothing {
                return;
            }
            left = left.saturating_sub(n);
            if left == 0 {
                self.inbox.worker.feed_request.ask(Urgency::Now);
                return self.follow(i, Turn::Again);
            }
        }
    }

    /// Closes the fed connections for which too much waits.
    pub(super) fn check_fed(&mut self) {
        for id in self.fed.clone() {
            let Some(&i) = self.places.get(&id) else { continue };
            if over_replica_limit(&self.shared.engine, &mut self.conns[i]) {
                add(&self.inbox.worker.stats.client_output_buffer_limit_disconnections, 1);
                self.close(i);
            }
        }
    }

    /// Says in the log that a replica has gone, and has replication forget it.
    pub(super) fn end_feeding(&mut self, c: &super::conn::Conn) {
        let Some(feed) = &c.session.feed else { return };
        feed.ended();
        if matches!(c.session.client.peer(), Peer::Replica | Peer::ReplicaCopy) {
            log!(
                self.shared.engine.log,
                Notice,
                "Connection with replica {} lost.",
                c.session.client.endpoint.peer
            );
        }
    }
}
