//! Connections of the web port that have become streams: behind the head of an answer comes what the
//! producers of the thread append ([`Outlets`](super::outlets::Outlets)), until one side ends.
//!
//! What the bytes are is the affair of a [`Streaming`].

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use engine::journal::Gate;

use super::answer::{Turn, gate_output};
use super::conn::{Conn, INPUT};
use super::web::{Io, WebConn, gate, receive};
use super::worker::Worker;
use crate::web::{At, Responder, Streaming};

/// The turn of a connection that is a stream.
pub(super) fn turn(io: &mut Io<'_>, c: &mut Conn, web: &mut WebConn) -> io::Result<Turn> {
    let id = c.session.client.id;
    io.responder.outlets.note_unsent(id, c.unsent());
    if c.is_closing() || c.hangup && c.unsent() > 0 {
        // A client that closes its side while something waits for it does not want it.
        return Ok(Turn::Close);
    }
    if io.responder.outlets.is_ending(id) {
        c.buf = Vec::new();
        return Ok(Turn::Keep);
    }
    // What a client has to take comes first: from one that takes nothing, nothing is read.
    if c.unsent() > 0 || c.gate.is_some() || !c.readable && c.buf.is_empty() {
        return Ok(Turn::Keep);
    }
    let left = c.buf.len();
    io.input[..left].copy_from_slice(&c.buf);
    let mut have = left;
    if c.readable && left < INPUT {
        have += receive(io, c, left)?;
    }
    let before = io.thread.changes();
    let term = io.shared.engine.replication.acks.term();
    let input = std::mem::take(io.input);
    let consumed = match web.stream() {
        Some(stream) if have > 0 => {
            let Io { shared, thread, responder, .. } = &mut *io;
            stream.input(&mut At { id, shared, thread, web: responder }, &input[..have])
        }
        _ => have,
    };
    c.buf.clear();
    c.buf.extend_from_slice(&input[consumed.min(have)..have]);
    if c.buf.is_empty() {
        c.buf = Vec::new();
    }
    let full = c.buf.len() >= INPUT;
    *io.input = input;
    c.session.client.query_bytes.store(c.buf.len() as u64, Relaxed);
    if io.responder.outlets.appended(id) > 0 && !gate(io, c, before, term) {
        return Ok(Turn::Close);
    }
    Ok(if full || c.hangup && !c.readable {
        Turn::Close
    } else if c.readable {
        Turn::Again
    } else {
        Turn::Keep
    })
}

impl Worker {
    /// Calls handlers whose time has come, and gives the producers their turn.
    pub(super) fn turn_streams(&mut self) {
        if self.thread.index == 0 && self.shared.live.is_some() {
            // It speaks with other servers of live channels, even when it has no client.
            let (shared, thread) = (&self.shared, &self.thread);
            self.web.get_or_insert_with(|| Responder::new(shared, thread));
        }
        let Some(web) = &mut self.web else { return };
        web.turn(&self.shared, &mut self.thread);
        let now = self.thread.cx.now;
        while let Some(id) = self.web.as_mut().and_then(|web| web.outlets.next_due(now)) {
            self.with_stream(id, |stream, at| stream.due(at));
        }
    }

    /// Sends what was appended since the last turn, when the journal has what it tells of: a client must not know of a
    /// publication that a crash takes back. What is appended while a connection waits for the journal is sent in a later
    /// turn, so that it never waits for more than it has.
    pub(super) fn flush_streams(&mut self) {
        if let Some(web) = &mut self.web {
            web.journaled(&self.shared, &mut self.thread);
        }
        let lane = &self.inbox.worker.lane;
        let gate = self.shared.engine.journal.gate(lane, lane.acted());
        let mut later = Vec::new();
        while let Some(w) = self.web.as_mut().and_then(|web| web.outlets.next()) {
            let Some(&i) = self.places.get(&w.id) else { continue };
            let stats = &self.inbox.worker.stats;
            let c = &mut *self.conns[i];
            if let Gate::At(sequence) = gate {
                if c.gate.is_some_and(|gated| gated.until < sequence) && !w.full {
                    later.push(w);
                    continue;
                }
                gate_output(c, sequence, false, &mut self.gated);
            }
            let mut out = w.out;
            if w.joins {
                out.buf = websocket::frame::join(&out.buf);
            }
            let sent = c.send(&mut out);
            let unsent = c.unsent();
            if let Some(web) = &mut self.web {
                web.outlets.recycle(out);
                web.outlets.note_unsent(w.id, unsent);
            }
            let Ok(n) = sent else {
                self.close(i);
                continue;
            };
            c.note_sent(stats, n, self.thread.cx.now);
            if unsent > 0 && self.thread.evict_clients(&self.shared.engine, &c.session.client) {
                self.close(i);
                continue;
            }
            if w.full {
                self.with_stream(w.id, |stream, at| stream.slow(at));
                self.end_unless_it_ends(w.id);
            } else if w.ending
                && let Some(mut web) = c.web.take()
            {
                let now = self.thread.cx.now;
                let turn = if w.answered { web.goes_on(c, now) } else { web.ends(c, now) };
                c.web = Some(web);
                if w.answered
                    && let Some(web) = &mut self.web
                {
                    web.outlets.remove(w.id);
                }
                self.follow(i, turn);
            }
        }
        if let Some(web) = &mut self.web {
            later.into_iter().rev().for_each(|w| web.outlets.put_back(w));
        }
    }

    /// The server stops: all streams end.
    pub(super) fn stop_streams(&mut self) {
        let ids: Vec<u64> = self.web.as_ref().map(|web| web.outlets.ids()).unwrap_or_default();
        for id in ids {
            self.with_stream(id, |stream, at| stream.stop(at));
            self.end_unless_it_ends(id);
        }
        self.flush_streams();
    }

    /// A connection whose handler has not said how it ends ends at once.
    fn end_unless_it_ends(&mut self, id: u64) {
        if self.web.as_ref().is_some_and(|web| !web.outlets.is_ending(id))
            && let Some(&i) = self.places.get(&id)
        {
            self.close(i);
        }
    }

    /// Calls the handler of a stream.
    fn with_stream(&mut self, id: u64, f: impl FnOnce(&mut dyn Streaming, &mut At<'_>)) {
        let Some(&i) = self.places.get(&id) else { return };
        let Some(stream) = self.conns[i].web.as_mut().and_then(|w| w.stream()) else {
            return;
        };
        if let Some(web) = self.web.as_deref_mut() {
            f(stream, &mut At { id, shared: &self.shared, thread: &mut self.thread, web });
        }
    }

    /// Tells the handler of a closed connection.
    pub(super) fn end_stream(&mut self, c: &mut Conn) {
        let Some(mut stream) = c.web.as_mut().and_then(|w| w.take_stream()) else { return };
        let Some(web) = self.web.as_deref_mut() else { return };
        let id = c.session.client.id;
        web.outlets.remove(id);
        stream.ended(&mut At { id, shared: &self.shared, thread: &mut self.thread, web });
    }
}
