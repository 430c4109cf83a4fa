//! The periodic checks of connections, and the end of all of them.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::Id;
use engine::log;
use mio::Events;

use super::super::buffers::OUTPUT;
use super::super::conn::Conn;
use super::super::count::add;
use super::super::limits::{is_subscriber, over_output_limit};
use super::super::tls;
use super::Worker;

impl Worker {
    /// Checks connections a few times per second.
    pub(super) fn housekeeping(&mut self) {
        let shared = Arc::clone(&self.shared);
        let engine = &shared.engine;
        let timeout = engine.config.int(Id::Timeout).saturating_mul(1000);
        let now = engine.clock.wall_ms() as i64;
        let mut close = Vec::new();
        let mono = engine.clock.monotonic_ns();
        for (i, c) in &mut self.conns {
            if c.handshake().is_some_and(|h| !h.queued && h.until < mono) {
                tls::note_late(engine, &c.session.client);
                close.push(i);
                continue;
            }
            if let Some(web) = &c.web {
                let active = c.session.client.active_ms.load(Relaxed);
                if web.is_overdue(&engine.config, now, active, c.unsent() > 0) {
                    close.push(i);
                }
                continue;
            }
            let idle = now - c.session.client.active_ms.load(Relaxed);
            if timeout > 0
                && idle > timeout
                && !c.session.monitor
                && c.session.feed.is_none()
                && !is_subscriber(c)
                && c.wait.is_none()
                && !c.crowded
            {
                add(&self.inbox.worker.stats.timed_out_clients, 1);
                log!(engine.log, Verbose, "Closing idle client");
                close.push(i);
            } else if c.unsent() > 0 && over_output_limit(engine, c, c.unsent()) {
                add(&self.inbox.worker.stats.client_output_buffer_limit_disconnections, 1);
                close.push(i);
            }
        }
        close.into_iter().for_each(|i| self.close(i));
        self.check_fed();
        self.give_up_late();
        self.note_pongs();
        if self.timers.len() > 64 + 2 * self.conns.len() {
            // Most have been answered long before their time.
            let wakes = |c: &Conn| Some(Reverse((c.session.wakes_at()?, c.session.client.id)));
            self.timers = self.conns.iter().filter_map(|(_, c)| wakes(c)).collect();
        }
        if self.out.buf.capacity() > OUTPUT {
            self.out.buf = Vec::with_capacity(OUTPUT);
        }
        if engine.is_busy() && !self.paused.is_empty() {
            // The pause does not hold these back any more.
            self.resume_kills();
        }
        self.give_back.turn(self.inbox.worker.stats.batches.load(Relaxed));
        if self.thread.index == 0 {
            replicator::upkeep::upkeep(engine, &mut self.thread);
            engine.sample_rates();
            engine.check_pause();
        }
    }

    /// The last turn: input that has arrived is executed, replies are sent, then all connections are
    /// closed.
    pub(super) fn drain(&mut self) {
        let engine = Arc::clone(&self.shared.engine);
        let deadline = engine.clock.monotonic_ns() + crate::DRAIN_NS;
        self.stops = true;
        self.crowded.clear();
        self.conns.iter_mut().for_each(|(_, c)| c.crowded = false);
        if let (0, Some(live)) = (self.thread.index, &self.shared.live) {
            live.leave(&engine, &mut self.thread);
        }
        let all: Vec<usize> = self.conns.iter().map(|(i, _)| i).collect();
        for i in all {
            if let Some(c) = self.conns.get_mut(i) {
                c.readable = true;
                self.serve(i, true);
            }
        }
        self.send_gathered();
        while self.thread.ready() > 0 {
            self.send_pushes();
        }
        self.feed_all();
        self.stop_streams();
        // No new input is looked for: only the work that did not fit one turn goes on.
        let mut events = Events::with_capacity(256);
        while engine.clock.monotonic_ns() < deadline
            && (!self.more.is_empty() || self.conns.iter().any(|(_, c)| c.unsent() > 0))
        {
            self.send_gathered();
            engine.journal.turn_over(&self.inbox.worker);
            self.release();
            let wait =
                if self.more.is_empty() { Duration::from_millis(10) } else { Duration::ZERO };
            match self.poll.poll(&mut events, Some(wait)) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => break,
                _ => {}
            }
            let went_on = std::mem::take(&mut self.more);
            let ready = events.iter().map(|e| (e.token().0, e.is_writable()));
            let ready: Vec<_> = ready.chain(went_on.iter().map(|i| (*i, false))).collect();
            for i in went_on {
                if let Some(c) = self.conns.get_mut(i) {
                    c.queued = false;
                }
            }
            for (i, writable) in ready {
                if self.conns.contains(i) {
                    self.serve(i, writable);
                }
            }
        }
        let all: Vec<usize> = self.conns.iter().map(|(i, _)| i).collect();
        all.into_iter().for_each(|i| self.close(i));
    }
}
