//! What connections are sent that does not answer the input just read: replies that waited for the journal, replies
//! of blocked commands, push messages.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::journal::Gate;
use resp::Out;

use super::super::answer::{gate_output, hold_output, term_to_hold};
use super::super::conn::Conn;
use super::super::count::add;
use super::super::gathered::Sent;
use super::super::limits::{is_over_limit, over_output_limit};
use super::Worker;

/// Push messages are sent to this many connections per wake-up, or to this part of those for which
/// some wait, or to all when so many bytes wait.
const PUSH_LEAST: usize = 16;
const PUSH_TURNS: usize = 8;
const PUSH_BYTES: usize = 4 << 20;

impl Worker {
    /// Connection `i` has a turn now, and `behind` others behind it: sends the gathered answers if they must not wait any
    /// longer.
    pub(super) fn begin_turn(&mut self, i: usize, behind: usize) {
        let is_due = self.gathered.lock().begin_turn(i, behind);
        if is_due {
            self.send_gathered();
        }
    }

    /// Sends the gathered answers.
    pub(super) fn send_gathered(&mut self) {
        let gathered = Arc::clone(&self.gathered);
        let mut gathered = gathered.lock();
        if gathered.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let timed = self.thread.write_begins(&shared.engine);
        self.thread.answers_sent();
        gathered.take_sent(|Sent { i, id, sent, rest }| {
            let Some(c) = self.conns.get_mut(i).filter(|c| c.session.client.id == id) else {
                return;
            };
            match sent {
                Ok(n) => {
                    c.keep_rest(rest);
                    c.note_sent(&self.inbox.worker.stats, n, self.thread.cx.now);
                }
                Err(_) => self.close(i),
            }
        });
        self.thread.write_ends(&shared.engine, timed);
    }

    /// Sends the replies that have waited and need not wait any more. Whether connections went on with requests
    /// that had come meanwhile.
    pub(super) fn release(&mut self) -> bool {
        let went_on = self.release_held();
        self.release_gated() || went_on
    }

    /// Those that have waited for the journal alone.
    fn release_gated(&mut self) -> bool {
        let mut went_on = false;
        if self.gated.is_empty() {
            return went_on;
        }
        // Announced before the look at how far it is: a thread that makes it durable in between wakes this
        // one.
        self.inbox.worker.wake_request.announce();
        while let Some((sequence, id)) = self.gated.front().copied() {
            let gate = self.shared.engine.journal.reached(sequence);
            if matches!(gate, Gate::At(_)) {
                break;
            }
            self.gated.pop_front();
            let Some(&i) = self.places.get(&id) else { continue };
            let c = &mut *self.conns[i];
            if gate == Gate::Never && c.gate.is_some_and(|gated| gated.acts) {
                self.close(i);
                continue;
            }
            // It may wait for more than this.
            if c.gate.is_none_or(|gated| gated.until != sequence || gated.holds) {
                continue;
            }
            c.gate = None;
            if c.has_only_output() {
                let sent = c.send_pending();
                self.note_sent(i, sent);
            } else {
                self.serve(i, true);
                went_on = true;
            }
        }
        went_on
    }

    /// Sends the reply of the command that blocked a connection, and goes on with its input.
    pub(super) fn answered(&mut self, i: usize, mut out: Out) {
        let c = &mut *self.conns[i];
        c.session.unblocked();
        c.wait = None;
        if let Some(crowded) = c.session.client.crowded.swap(0, Relaxed).checked_sub(1) {
            c.crowded = true;
            self.crowded.push_back((crowded as usize, c.session.client.id));
        }
        if self.thread.may_answer(&mut c.session) {
            // It was served by another client's command, on any thread: this counts as an action of its
            // own.
            let engine = &self.shared.engine;
            if is_over_limit(engine, c, &out) {
                add(&self.inbox.worker.stats.client_output_buffer_limit_disconnections, 1);
                return self.close(i);
            }
            let shows = shows_data(engine, c).then_some(true);
            match engine.journal.gate(&self.inbox.worker.lane, u64::MAX) {
                _ if let Some(term) = term_to_hold(engine, c.term, shows) => {
                    hold_output(engine, c, (term, true), &mut self.held);
                }
                Gate::Open => {}
                Gate::At(n) => gate_output(c, n, true, &mut self.gated),
                Gate::Never => return self.close(i),
            }
            if self.send_push(i, &mut out).is_err() {
                return self.close(i);
            }
        }
        self.serve(i, false);
    }

    /// Sends push messages to some of the connections for which some wait. Not to all at once: messages
    /// published while the others wait are sent with those that already wait.
    pub(super) fn send_pushes(&mut self) {
        let ready = self.thread.ready();
        let turn = match self.thread.ready_bytes() {
            ..PUSH_BYTES => ready.div_ceil(PUSH_TURNS).max(PUSH_LEAST),
            _ => ready,
        };
        for _ in 0..turn {
            let Some(mut r) = self.thread.next_ready() else { break };
            // It may have been closed meanwhile.
            if let Some(&i) = self.places.get(&r.client)
                && self.send_push(i, &mut r.out).is_err()
            {
                self.close(i);
            }
            self.thread.recycle(r.out);
        }
    }

    /// Sends `out` to one connection. An error says that it is to be closed.
    pub(super) fn send_push(&mut self, i: usize, out: &mut Out) -> io::Result<()> {
        let stats = &self.inbox.worker.stats;
        let c = &mut *self.conns[i];
        let n = c.send(out)?;
        c.note_sent(stats, n, self.thread.cx.now);
        if c.unsent() > 0 && over_output_limit(&self.shared.engine, c, c.unsent()) {
            add(&stats.client_output_buffer_limit_disconnections, 1);
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if c.unsent() > 0 && self.thread.evict_clients(&self.shared.engine, &c.session.client) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    /// Goes on with connections that waited for a thread to deliver their messages, one after the other as
    /// long as there is room: each may fill it again.
    pub(super) fn resume_crowded(&mut self) {
        for _ in 0..self.crowded.len() {
            let Some((thread, id)) = self.crowded.pop_front() else { break };
            let Some(&i) = self.places.get(&id) else { continue };
            if self.thread.has_room(&self.shared.engine, thread) {
                self.conns[i].crowded = false;
                self.serve(i, false);
            } else {
                self.crowded.push_back((thread, id));
            }
        }
    }

    /// Answers blocked connections whose time is over.
    pub(super) fn time_out(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let now = shared.engine.clock.wall_ms() as i64;
        while let Some(Reverse((at, id))) = self.timers.peek().copied()
            // Milliseconds are cut off: one later it is not a moment too early.
            && at < now
        {
            self.timers.pop();
            let Some(&i) = self.places.get(&id) else { continue };
            let session = &mut self.conns[i].session;
            // It may have been answered, and wait for something else by now; or another thread has run its
            // command again, and it is checked later.
            match session.wakes_at() {
                None => continue,
                Some(at) if at >= now => {
                    self.timers.push(Reverse((at, id)));
                    continue;
                }
                Some(_) => {}
            }
            if let Some(reply) = self.thread.time_out(&shared.engine, session) {
                self.answered(i, Out { buf: reply, ..Out::default() });
            } else if let Some(at) = session.wakes_at() {
                // Another thread may be running it at this moment.
                self.timers.push(Reverse((at.max(now), id)));
            }
        }
    }
}

/// Whether the command that a connection has waited with tells of data.
fn shows_data(engine: &engine::Engine, c: &Conn) -> bool {
    let last = usize::from(c.session.client.last_cmd.load(Relaxed));
    last.checked_sub(1).and_then(|id| engine.table.all().get(id)).is_none_or(|cmd| cmd.shows_data)
}
