//! Connections that are fed: replicas, with full syncs and the stream of changes.
//!
//! Everything that the commands of a turn have changed goes to the replicas with one write. While there is
//! more to execute, what has come together waits for the next turn, for a bounded time: a write costs as much
//! as a request.

use engine::{Fed, Peer, log};

use super::answer::Turn;
use super::buffers::{OUTPUT, OUTPUT_KEEP};
use super::count::add;
use super::limits::over_replica_limit;
use super::worker::Worker;

/// How long changes wait for more of them while there is more to execute.
const LINGER_NS: u64 = 200_000;
/// Bytes that one connection gets in one turn.
const TURN_MAX: usize = 1 << 20;

impl Worker {
    /// A client of this thread is fed from now on.
    pub(super) fn begin_feeding(&mut self, id: u64) {
        if self.places.contains_key(&id) && !self.fed.contains(&id) {
            self.fed.push(id);
            self.count_fed();
        }
    }

    fn count_fed(&self) {
        self.inbox.worker.fed.store(self.fed.len(), std::sync::atomic::Ordering::Relaxed);
    }

    /// Called at the end of each turn, `idle` when nothing was to be executed in it. Returns whether changes
    /// wait, so that the next turn is to come soon.
    pub(super) fn feed(&mut self, idle: bool) -> bool {
        let shared = std::sync::Arc::clone(&self.shared);
        let engine = &shared.engine;
        if self.fed.is_empty() {
            engine.pass_on_changes(&self.inbox.worker);
            return false;
        }
        let now = self.thread.mono();
        if !idle && now.saturating_sub(self.fed_ns) < LINGER_NS {
            return true;
        }
        self.fed_ns = now;
        engine.render_changes(&self.inbox.worker);
        let all = std::mem::take(&mut self.fed);
        for id in &all {
            if let Some(&i) = self.places.get(id) {
                self.feed_one(i);
            }
        }
        self.fed = all;
        self.fed.retain(|id| self.places.contains_key(id));
        self.count_fed();
        false
    }

    /// Sends a connection what there is for it, as far as its socket takes it.
    pub(super) fn feed_one(&mut self, i: usize) {
        let mut left = TURN_MAX;
        loop {
            let c = &mut *self.conns[i];
            if c.unsent() > 0 || c.gate.is_some() || c.is_closing() {
                return;
            }
            let Some(feed) = c.session.feed.clone() else { return };
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
        if c.session.client.peer() == Peer::Replica {
            log!(
                self.shared.engine.log,
                Notice,
                "Connection with replica {} lost.",
                c.session.client.endpoint.peer
            );
        }
    }
}
