//! A connection's turn: its handshake, the reading of its input, and which of it is executed at once.

use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::{Foreseen, Thread};

use super::super::answer::{BatchIo, Turn};
use super::super::buffers::{LEFTOVER, SMALL};
use super::super::conn::{Conn, INPUT, Source, State, Wait};
use super::super::count::add;
use super::super::limits::over_query_limit;
use super::super::{tls, web};
use super::{ReadAhead, Worker};
use crate::web::Responder;

/// One turn takes at most so many bytes of a large argument, so that a fast sender does not keep
/// others waiting.
const BIG_TURN: usize = 4 << 20;

impl Worker {
    pub(super) fn turn(&mut self, i: usize, writable: bool) -> io::Result<Turn> {
        let Self { conns, thread, shared, input, out, paused, timers, inbox, gated, held, .. } =
            self;
        let crowded = (!self.stops).then_some(&mut self.crowded);
        let gathered = &*self.gathered;
        let engine = &shared.engine;
        let stats = &inbox.worker.stats;
        let c = &mut *conns[i];
        if writable && c.unsent() > 0 {
            let n = c.send_pending()?;
            c.note_sent(stats, n, thread.cx.now);
        }
        if c.web.is_some() {
            return self.turn_web(i);
        }
        match c.state() {
            State::Crowded => return Ok(Turn::Keep),
            // A peer that has closed its side may still read; when it does not, the next write says so.
            State::Sending => return self.stock_up(i),
            State::Closing => return Ok(Turn::Close),
            // The end of a blocked client is noticed.
            State::Waiting(wait) => {
                let gone = c.hangup && (!c.readable || wait == Wait::Blocked);
                return Ok(if gone { Turn::Close } else { Turn::Keep });
            }
            State::BigArgument | State::Reading => {}
        }
        // The stock comes first, and after that it is unknown whether the socket has input.
        c.readable |= !c.stock.is_empty();
        if c.parser.is_big() {
            if let Some(turn) = receive_big(engine, stats, thread, c)? {
                return Ok(turn);
            }
        } else if c.parser.is_active() && over_query_limit(engine, c, stats) {
            return Ok(Turn::Close);
        }
        // The rest of an interrupted batch, or the next input behind the leftover bytes.
        let in_place = c.buf.len() > LEFTOVER;
        let left = c.buf.len();
        let mut have = left;
        if c.readable {
            match receive(engine, stats, thread, c, input, in_place)? {
                None if left == 0 => return Ok(Turn::Close),
                n => have += n.unwrap_or(0),
            }
        } else if !in_place {
            input[..left].copy_from_slice(&c.buf);
        }
        let mut io =
            BatchIo { engine, stats, thread, out, paused, timers, gated, held, crowded, gathered };
        let arrived = (!in_place).then(|| &input[..have]);
        io.answer(c, i, arrived, left)
    }

    fn turn_web(&mut self, i: usize) -> io::Result<Turn> {
        let Self { conns, thread, shared, input, out, inbox, gated, held, .. } = self;
        let gathered = &*self.gathered;
        let stats = &inbox.worker.stats;
        let responder = self.web.get_or_insert_with(|| Responder::new(shared, thread));
        let mut io =
            web::Io { shared, stats, thread, input, out, gated, held, responder, gathered, i };
        web::turn(&mut io, &mut conns[i])
    }

    /// Receives input of a connection that has replies to take first.
    #[cold]
    pub(super) fn stock_up(&mut self, i: usize) -> io::Result<Turn> {
        let Self { conns, thread, shared, input, inbox, .. } = self;
        let (engine, stats) = (&shared.engine, &inbox.worker.stats);
        let c = &mut *conns[i];
        if !c.readable || c.wait.is_some() || c.session.closing {
            return Ok(Turn::Keep);
        }
        if c.session.needs_auth(engine) {
            // The server buffers no input of clients that have not authenticated; the kernel does.
            return Ok(Turn::Keep);
        }
        match (&*c.stream).read(input) {
            // It will say so again when the stock has been used up.
            Ok(0) => {
                c.hangup = true;
                return Ok(Turn::Keep);
            }
            Ok(n) => {
                c.stock.add(&input[..n]);
                c.readable = n == input.len() || c.has_more();
                add(&stats.reads_processed, 1);
                add(&stats.net_input_bytes, n as u64);
                add(&c.session.client.net_in, n as u64);
                c.session.client.active_ms.store(thread.cx.now, Relaxed);
                c.note_input();
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => c.readable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if over_query_limit(engine, c, stats) || thread.evict_clients(engine, &c.session.client) {
            return Ok(Turn::Close);
        }
        Ok(if c.readable { Turn::Again } else { Turn::Keep })
    }

    /// Reads from a connection whose input was short so far, into a buffer of its own, and prefetches for
    /// it. It is executed by [`run_read_ahead`](Self::run_read_ahead) when others have been read, too.
    pub(super) fn read_ahead(&mut self, i: usize) {
        let at = self.ahead.len() * SMALL;
        let stats = &self.inbox.worker.stats;
        let c = &mut *self.conns[i];
        add(&stats.reads_processed, 1);
        let timed = self.thread.read_begins(&self.shared.engine);
        let r = (&*c.stream).read(&mut self.small[at..at + SMALL]);
        self.thread.read_ends(&self.shared.engine, timed);
        match r {
            Ok(n @ 1..) => {
                add(&stats.net_input_bytes, n as u64);
                add(&c.session.client.net_in, n as u64);
                c.session.client.active_ms.store(self.thread.cx.now, Relaxed);
                if n == SMALL || c.has_more() {
                    // There is more: this one is not short any more, and is read on.
                    c.short = false;
                    c.buf = self.small[at..at + n].to_vec();
                    self.run_read_ahead();
                    return self.serve(i, false);
                }
                let bytes = &self.small[at..at + n];
                let hash = match self.thread.foresee(&self.shared.engine, &c.session, bytes) {
                    Foreseen::Short(hash) => hash,
                    Foreseen::EndsScripts => {
                        // Those before it may have to wait for the very script.
                        c.buf = bytes.to_vec();
                        return self.serve(i, false);
                    }
                    Foreseen::RunsScript => {
                        c.buf = bytes.to_vec();
                        self.run_read_ahead();
                        return self.serve(i, false);
                    }
                };
                c.readable = false;
                // Something of it is under way from here on.
                c.session.client.query_bytes.store(n as u64, Relaxed);
                self.ahead.push(ReadAhead { i, n, db: c.session.db, hash });
            }
            Ok(_) => self.close(i),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => c.readable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => self.serve(i, false),
            Err(_) => self.close(i),
        }
    }

    /// Executes and answers the input that was read. By now the memory that the commands need is on its
    /// way or there: at pipeline 1 a request has no neighbours of its own to prefetch with.
    pub(super) fn run_read_ahead(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        if ahead.len() > 1 {
            self.thread.prefetch(&self.shared.engine, ahead.iter().map(|h| (h.db, h.hash)));
        }
        for (k, h) in ahead.iter().enumerate() {
            self.begin_turn(h.i, self.behind + ahead.len() - k - 1);
            let Self {
                conns, thread, shared, small, out, paused, timers, inbox, gated, held, ..
            } = self;
            let (engine, stats) = (&shared.engine, &inbox.worker.stats);
            let crowded = (!self.stops).then_some(&mut self.crowded);
            let gathered = &*self.gathered;
            let mut io = BatchIo {
                engine,
                stats,
                thread,
                out,
                paused,
                timers,
                gated,
                held,
                crowded,
                gathered,
            };
            let Some(c) = conns.get_mut(h.i) else { continue };
            let arrived = &small[k * SMALL..k * SMALL + h.n];
            let turn = io.answer(c, h.i, Some(arrived), 0).unwrap_or(Turn::Close);
            self.follow(h.i, turn);
        }
        ahead.clear();
        self.ahead = ahead;
    }

    /// Goes on with some of the handshakes that can go on; the next turn takes the next.
    pub(super) fn shake_hands(&mut self) {
        if self.handshakes.is_empty() {
            return;
        }
        let most = self.shared.engine.config.int(Id::MaxNewTlsConnectionsPerCycle).max(1);
        for _ in 0..most {
            let Some(id) = self.handshakes.pop_front() else { break };
            if let Some(&i) = self.places.get(&id) {
                self.shake(i);
            }
        }
    }

    pub(super) fn shake(&mut self, i: usize) {
        let Self { conns, shared, inbox, handshakes, .. } = self;
        let c = &mut *conns[i];
        let Some(handshake) = c.rare.as_mut().and_then(|r| r.handshake.as_mut()) else { return };
        handshake.queued = false;
        match c.stream.handshake() {
            // The end stands behind what has been read, and no other event tells of it.
            Ok(false) if c.stream.has_more() || c.hangup => {
                tls::queue(handshake, &c.session.client, handshakes);
            }
            Ok(false) => {}
            Ok(true) => {
                c.rare = None;
                c.readable = true;
                // Pages are for everybody.
                if c.web.is_some() || tls::enter(&shared.engine, &c.stream, &mut c.session) {
                    return self.serve(i, false);
                }
                inbox.worker.stats.rejected_connections.fetch_add(1, Relaxed);
                self.close(i);
            }
            Err(e) => {
                tls::note_failure(shared, &c.session.client, &e);
                self.close(i);
            }
        }
    }
}

/// Receives input behind the bytes that the connection has: into its own buffer if it is `in_place`, into the
/// thread's otherwise, together with those. Returns how much has come; nothing at the end of
/// the stream.
#[inline]
fn receive(
    engine: &engine::Engine,
    stats: &observe::stats::ThreadStats,
    thread: &mut Thread,
    c: &mut Conn,
    input: &mut [u8],
    in_place: bool,
) -> io::Result<Option<usize>> {
    let left = c.buf.len();
    let timed = thread.read_begins(engine);
    let stocked = !c.stock.is_empty();
    if in_place && c.buf.capacity() < left + INPUT {
        c.buf.reserve_exact(c.room(left) - left);
    }
    let mut source = Source { stock: &mut c.stock, stream: &c.stream, received: 0 };
    let r = if in_place {
        source.append(&mut c.buf, INPUT)
    } else {
        input[..left].copy_from_slice(&c.buf);
        source.read(&mut input[left..])
    };
    let received = source.received;
    thread.read_ends(engine, timed);
    add(&stats.reads_processed, 1);
    let n = match r {
        Ok(0) => {
            c.readable = false;
            c.hangup = true;
            return Ok(None);
        }
        Ok(n) => n,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            c.readable = false;
            return Ok(Some(0));
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(Some(0)),
        Err(e) => return Err(e),
    };
    let filled = n == if in_place { INPUT } else { INPUT - left };
    // A short read means that the socket is empty; a new edge will tell of more.
    c.readable = filled || c.hangup || stocked || c.has_more();
    add(&stats.net_input_bytes, received as u64);
    add(&c.session.client.net_in, received as u64);
    c.session.client.active_ms.store(thread.cx.now, Relaxed);
    Ok(Some(n))
}

/// Receives a part of a large argument, straight to where it will stay. Returns none when the argument is
/// whole: the connection goes on with what follows.
fn receive_big(
    engine: &engine::Engine,
    stats: &observe::stats::ThreadStats,
    thread: &mut Thread,
    c: &mut Conn,
) -> io::Result<Option<Turn>> {
    let mut left_of_turn = BIG_TURN;
    while c.readable
        && left_of_turn > 0
        && let Some((buf, missing)) = c.parser.big()
    {
        let room = missing.min(buf.capacity() - buf.len()).min(left_of_turn).max(1);
        let before = buf.len();
        let mut source = Source { stock: &mut c.stock, stream: &c.stream, received: 0 };
        let r = source.by_ref().take(room as u64).read_to_end(buf);
        let received = source.received;
        let n = buf.len() - before;
        let room_left = n < room;
        left_of_turn -= n;
        if n > 0 {
            c.session.client.active_ms.store(thread.cx.now, Relaxed);
            c.note_input();
        }
        add(&stats.reads_processed, 1);
        add(&stats.net_input_bytes, received as u64);
        add(&c.session.client.net_in, received as u64);
        match r {
            Ok(_) if room_left => return Ok(Some(Turn::Close)),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => c.readable = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    // Also when it is whole now: how fast it came makes no difference.
    if over_query_limit(engine, c, stats) || thread.evict_clients(engine, &c.session.client) {
        return Ok(Some(Turn::Close));
    }
    let again = if c.readable { Turn::Again } else { Turn::Keep };
    Ok(c.parser.is_big().then_some(again))
}
