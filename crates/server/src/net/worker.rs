//! A worker thread: its event loop, and the connections that live on it.
//!
//! One wake-up serves every ready connection: all that is readable of one is read (up to a buffer),
//! executed as a batch and answered with one write, then the next one has its turn. Reads are
//! edge-triggered and stop at a short read. Of a connection that does not take its replies nothing
//! is executed until it does, so that few requests cannot make the server's memory grow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::Id;
use engine::journal::Gate;
use engine::{Foreseen, Message, Session, Thread, log};
use mio::{Events, Interest, Poll, Token, Waker};
use resp::Out;
use slab::Slab;

use super::answer::{BatchIo, Held, Turn, gate_output, hold_output, term_to_hold};
use super::buffers::{LEFTOVER, OUTPUT, SMALL};
use super::conn::{Conn, INPUT, Source, State, Wait};
use super::count::{add, raise};
use super::inbox::{Arrival, Inbox};
use super::limits::{is_subscriber, over_output_limit, over_query_limit};
use super::listen::Door;
use super::stuck::StuckResponder;
use super::tls;
use super::web::{self, WebConn};
use crate::Shared;
use crate::give_back::GiveBack;
use crate::web::Responder;

/// Connections that are read before the first of them is executed, while their input is short.
const READ_AHEAD_MAX: usize = 32;
/// With work left, the periodic work has a turn this often: short turns, because connections wait
/// meanwhile. [`engine::cron_ns`] says which part of it.
const CRON_EVERY_NS: u64 = 1_000_000;
/// One turn takes at most so many bytes of a large argument, so that a fast sender does not keep
/// others waiting.
const BIG_TURN: usize = 4 << 20;
/// Push messages are sent to this many connections per wake-up, or to this part of those for which
/// some wait, or to all when so many bytes wait.
const PUSH_LEAST: usize = 16;
const PUSH_TURNS: usize = 8;
const PUSH_BYTES: usize = 4 << 20;
const WAKE: Token = Token(usize::MAX);

/// See the module's text.
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: Arc<Inbox>,
    poll: Poll,
    pub(super) thread: Thread,
    threads: usize,
    pub(super) conns: Slab<Box<Conn>>,
    /// Client number to index in `conns`.
    pub(super) places: std::collections::HashMap<u64, usize>,
    input: Vec<u8>,
    /// Places for the input of connections that are read ahead.
    small: Vec<u8>,
    ahead: Vec<ReadAhead>,
    pub(super) out: Out,
    /// Connections with more to do than one turn.
    more: Vec<usize>,
    /// Connections that wait for CLIENT PAUSE to end.
    paused: Vec<usize>,
    /// When blocked commands give up: Unix milliseconds and client. Commands that have been answered since
    /// are still here.
    timers: BinaryHeap<Reverse<(i64, u64)>>,
    /// Connections whose output waits for the journal: up to where it must be durable (ascending),
    /// and the client.
    gated: VecDeque<(u64, u64)>,
    /// Connections whose output waits for replicas, in the order of numbers and times.
    pub(super) held: VecDeque<Held>,
    /// Connections that have given a thread more to deliver than it can, so far: its number, and the
    /// client, in the order in which they go on.
    crowded: VecDeque<(usize, u64)>,
    /// Connections whose handshake can go on, by client.
    handshakes: VecDeque<u64>,
    /// The server stops: no thread waits for others any more, since they may have ended.
    stops: bool,
    give_back: GiveBack,
    /// Clients that are fed, and when they last were, in monotonic nanoseconds.
    pub(super) fed: Vec<u64>,
    pub(super) fed_ns: u64,
    /// Changes wait to be sent to them.
    owes: bool,
    /// What answers the connections for pages; made for the first of them.
    web: Option<Box<Responder>>,
}

/// A connection that has been read and not executed yet.
struct ReadAhead {
    i: usize,
    /// Bytes in its buffer.
    n: usize,
    db: usize,
    /// The hash that was prefetched for, 0 for none.
    hash: u64,
}

impl Worker {
    /// A worker and its waker, which posting to its mailbox uses.
    pub(crate) fn poll() -> io::Result<(Poll, Arc<Waker>)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        Ok((poll, waker))
    }

    pub(crate) fn new(
        shared: Arc<Shared>,
        inbox: Arc<Inbox>,
        poll: Poll,
        index: usize,
        threads: usize,
    ) -> Self {
        let thread = Thread::new(&shared.engine, index, Arc::clone(&inbox.worker));
        Self {
            shared,
            inbox,
            poll,
            thread,
            threads,
            conns: Slab::new(),
            places: std::collections::HashMap::new(),
            input: vec![0; INPUT],
            small: vec![0; READ_AHEAD_MAX * SMALL],
            ahead: Vec::with_capacity(READ_AHEAD_MAX),
            out: Out { buf: Vec::with_capacity(OUTPUT), ..Out::default() },
            more: Vec::new(),
            paused: Vec::new(),
            timers: BinaryHeap::new(),
            gated: VecDeque::new(),
            held: VecDeque::new(),
            crowded: VecDeque::new(),
            handshakes: VecDeque::new(),
            stops: false,
            give_back: GiveBack::default(),
            fed: Vec::new(),
            fed_ns: 0,
            owes: false,
            web: None,
        }
    }

    pub(crate) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let engine = &shared.engine;
        let responder =
            StuckResponder::new(Arc::clone(&shared), Arc::clone(&self.inbox), self.thread.index);
        engine::do_meanwhile(Box::new(move || responder.look()));
        let mut events = Events::with_capacity(1024);
        let mut next_cron = 0u64;
        let mut housekeeping = 0u64;
        // Its writes must reach the journal now, not when the next request comes.
        let mut went_on_held = false;
        loop {
            let now = self.thread.mono();
            let at_once = !self.more.is_empty() || !self.handshakes.is_empty();
            let wait = if at_once || self.thread.ready() > 0 || went_on_held || self.owes {
                Duration::ZERO
            } else {
                let cron = Duration::from_nanos(next_cron.saturating_sub(now));
                self.timers.peek().map_or(cron, |Reverse((at, _))| {
                    let left = at.saturating_sub(engine.clock.wall_ms() as i64);
                    cron.min(Duration::from_millis(left.max(0) as u64 + 1))
                })
            };
            if let Err(e) = self.poll.poll(&mut events, Some(wait))
                && e.kind() != io::ErrorKind::Interrupted
            {
                log!(engine.log, Warning, "waiting for events: {}", e);
                std::thread::sleep(Duration::from_millis(10));
            }
            let woke = self.thread.tick(engine);
            let before = self.inbox.worker.stats.commands_processed.load(Relaxed);
            let went_on = std::mem::take(&mut self.more);
            for e in &events {
                let Token(i) = e.token();
                if i == WAKE.0 {
                    continue;
                }
                let Some(c) = self.conns.get_mut(i) else { continue };
                if e.is_readable() {
                    c.readable = true;
                }
                if e.is_read_closed() || e.is_error() {
                    c.readable = true;
                    c.hangup = true;
                }
                if c.tls {
                    if let Some(handshake) = &mut c.handshake {
                        tls::queue(handshake, &c.session.client, &mut self.handshakes);
                        continue;
                    }
                    c.readable |= c.stream.has_more();
                }
                if c.may_be_read_ahead() {
                    self.read_ahead(i);
                    if self.ahead.len() == READ_AHEAD_MAX {
                        self.run_read_ahead();
                    }
                } else {
                    // Its input may be a script that takes long: no client whose input has been read
                    // already waits behind it.
                    self.run_read_ahead();
                    self.serve(i, e.is_writable());
                }
            }
            self.run_read_ahead();
            for i in went_on {
                if let Some(c) = self.conns.get_mut(i) {
                    c.queued = false;
                    self.serve(i, false);
                }
            }
            self.shake_hands();
            self.read_mail();
            self.time_out();
            engine.journal.turn_over(&self.inbox.worker);
            went_on_held = self.release();
            self.owes = self.feed(events.is_empty());
            self.thread.send_mail(engine);
            self.send_pushes();
            self.thread.relieve(engine);
            self.resume_crowded();
            if self.shared.stopping() {
                self.shared.await_shut();
                self.drain();
                return;
            }
            let now = self.thread.mono();
            if now >= next_cron {
                let hz = engine.config.int(Id::Hz).clamp(1, 500) as u64;
                let share = engine::cron_ns(engine.config.int(Id::ActiveExpireEffort));
                let due = self.thread.cron(engine, self.threads, share);
                // With work left the next turn comes soon, but connections are served in between.
                next_cron = now + if due { CRON_EVERY_NS } else { 1_000_000_000 / hz };
                if now >= housekeeping {
                    housekeeping = now + 100_000_000;
                    self.housekeeping();
                }
                // The cycle includes this work, which no command has timed.
                self.thread.tick(engine);
            }
            let stats = &self.inbox.worker.stats;
            add(&stats.eventloop_cycles, 1);
            let nanos = self.thread.mono() - woke;
            add(&stats.eventloop_nanos, nanos);
            raise(&stats.eventloop_nanos_max, nanos);
            // A reset of the statistics makes the count smaller than it was.
            let executed = stats.commands_processed.load(Relaxed).saturating_sub(before);
            raise(&stats.eventloop_commands_max, executed);
        }
    }

    /// Goes on with some of the handshakes that can go on; the next turn takes the next.
    fn shake_hands(&mut self) {
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

    fn shake(&mut self, i: usize) {
        let Self { conns, shared, inbox, handshakes, .. } = self;
        let c = &mut *conns[i];
        let Some(handshake) = &mut c.handshake else { return };
        handshake.queued = false;
        match c.stream.handshake() {
            Ok(false) if c.stream.has_more() => {
                tls::queue(handshake, &c.session.client, handshakes);
            }
            Ok(false) => {}
            Ok(true) => {
                c.handshake = None;
                c.readable = true;
                if tls::enter(&shared.engine, &c.stream, &mut c.session) {
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

    /// Gives one connection its turn.
    pub(super) fn serve(&mut self, i: usize, writable: bool) {
        let turn = self.turn(i, writable).unwrap_or(Turn::Close);
        self.follow(i, turn);
    }

    pub(super) fn follow(&mut self, i: usize, turn: Turn) {
        match turn {
            Turn::Keep => {}
            Turn::Again => {
                let c = &mut self.conns[i];
                if !c.queued {
                    c.queued = true;
                    self.more.push(i);
                }
            }
            Turn::Close => self.close(i),
        }
    }

    fn turn(&mut self, i: usize, writable: bool) -> io::Result<Turn> {
        let Self { conns, thread, shared, input, out, paused, timers, inbox, gated, held, .. } =
            self;
        let crowded = (!self.stops).then_some(&mut self.crowded);
        let engine = &shared.engine;
        let stats = &inbox.worker.stats;
        let c = &mut *conns[i];
        if writable && c.unsent() > 0 {
            let n = c.send_pending()?;
            c.note_sent(stats, n, thread.cx.now);
        }
        if c.web.is_some() {
            let responder = self.web.get_or_insert_with(|| Responder::new(shared, thread));
            return web::turn(
                &mut web::Io { shared, stats, thread, input, out, gated, held, responder },
                c,
            );
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
                    if left == 0 {
                        return Ok(Turn::Close);
                    }
                    0
                }
                Ok(n) => {
                    let filled = n == if in_place { INPUT } else { INPUT - left };
                    // A short read means that the socket is empty; a new edge will tell of more.
                    c.readable = filled || c.hangup || stocked || c.has_more();
                    n
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    c.readable = false;
                    0
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
                Err(e) => return Err(e),
            };
            have += n;
            if n > 0 {
                add(&stats.net_input_bytes, received as u64);
                add(&c.session.client.net_in, received as u64);
                c.session.client.active_ms.store(thread.cx.now, Relaxed);
            }
        } else if !in_place {
            input[..left].copy_from_slice(&c.buf);
        }
        let mut io = BatchIo { engine, stats, thread, out, paused, timers, gated, held, crowded };
        let arrived = (!in_place).then(|| &input[..have]);
        io.answer(c, i, arrived, left)
    }

    /// Receives input of a connection that has replies to take first.
    #[cold]
    fn stock_up(&mut self, i: usize) -> io::Result<Turn> {
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
                c.stock.extend(&input[..n]);
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
    fn read_ahead(&mut self, i: usize) {
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
    fn run_read_ahead(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        if ahead.len() > 1 {
            self.thread.prefetch(&self.shared.engine, ahead.iter().map(|h| (h.db, h.hash)));
        }
        for (k, h) in ahead.iter().enumerate() {
            let Self {
                conns, thread, shared, small, out, paused, timers, inbox, gated, held, ..
            } = self;
            let (engine, stats) = (&shared.engine, &inbox.worker.stats);
            let crowded = (!self.stops).then_some(&mut self.crowded);
            let mut io =
                BatchIo { engine, stats, thread, out, paused, timers, gated, held, crowded };
            let Some(c) = conns.get_mut(h.i) else { continue };
            let arrived = &small[k * SMALL..k * SMALL + h.n];
            let turn = io.answer(c, h.i, Some(arrived), 0).unwrap_or(Turn::Close);
            self.follow(h.i, turn);
        }
        ahead.clear();
        self.ahead = ahead;
    }

    /// Sends the replies that have waited for the journal and need not wait any more. Whether connections
    /// went on with requests that had come meanwhile.
    fn release(&mut self) -> bool {
        let went_on = self.release_held();
        self.release_gated() || went_on
    }

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
            if c.gate.is_none_or(|gated| gated.until != sequence || gated.term.is_some()) {
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

    pub(super) fn note_sent(&mut self, i: usize, sent: io::Result<usize>) {
        let Ok(n) = sent else { return self.close(i) };
        self.conns[i].note_sent(&self.inbox.worker.stats, n, self.thread.cx.now);
    }

    pub(super) fn close(&mut self, i: usize) {
        let Some(mut c) = self.conns.try_remove(i) else { return };
        c.stream.say_goodbye();
        self.inbox.sockets.remove(&c.session.client);
        // Now the socket has one owner. Dropping it closes it; there is no use for an error here.
        let stream = Arc::get_mut(&mut c.stream);
        let _ = stream.map(|stream| self.poll.registry().deregister(stream));
        let id = c.session.client.id;
        self.places.remove(&id);
        self.end_feeding(&c);
        let engine = &self.shared.engine;
        self.thread.leave(engine, &mut c.session);
        if c.session.monitor {
            engine.monitors.remove(engine, id);
        }
        self.thread.forget(engine, &mut c.session);
        engine.clients.remove(&c.session.client);
        self.paused.retain(|p| *p != i);
        self.inbox.worker.connections.fetch_sub(1, Relaxed);
    }

    fn read_mail(&mut self) {
        let arrivals = std::mem::take(&mut *self.inbox.arrivals());
        for a in arrivals {
            self.welcome(a);
        }
        self.thread.receive();
        for m in self.inbox.worker.mailbox.take() {
            match m {
                Message::Close(id) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.close(i);
                    }
                }
                Message::Push(id, bytes) => {
                    let there = self.places.contains_key(&id);
                    self.thread.push_bytes(id, &bytes, there);
                }
                Message::Answer(id, bytes) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.answered(i, Out { buf: bytes, ..Out::default() });
                    }
                }
                Message::Pieces(id, out) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.answered(i, out);
                    }
                }
                Message::Wakes(id) => {
                    let waiting = self.places.get(&id).map(|&i| &self.conns[i].session);
                    if let Some(at) = waiting.and_then(Session::wakes_at) {
                        self.timers.push(Reverse((at, id)));
                    }
                }
                Message::Fed(id) => self.begin_feeding(id),
                Message::Purge => crate::give_back::purge(),
                Message::Run(job) => {
                    job.run(&self.shared.engine, &mut self.thread);
                    // The job may have taken long, and the next messages run commands.
                    self.thread.tick(&self.shared.engine);
                }
                Message::Resume => {
                    // A command that ends a script must not wait behind one.
                    self.resume_kills();
                    let paused = std::mem::take(&mut self.paused);
                    self.resume(&paused);
                }
            }
        }
    }

    /// Goes on with those paused connections that wait with a command that ends scripts.
    fn resume_kills(&mut self) {
        let engine = &self.shared.engine;
        let ends = |i: &usize| self.conns.get(*i).is_some_and(|c| c.ends_scripts(engine));
        let (kills, others) = std::mem::take(&mut self.paused).into_iter().partition(ends);
        self.paused = others;
        self.resume(&kills);
    }

    fn resume(&mut self, paused: &[usize]) {
        for &i in paused {
            if let Some(c) = self.conns.get_mut(i) {
                c.wait = None;
                c.session.client.paused.store(false, Relaxed);
                self.serve(i, false);
            }
        }
    }

    /// Sends the reply of the command that blocked a connection, and goes on with its input.
    fn answered(&mut self, i: usize, mut out: Out) {
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

    /// Answers blocked connections whose time is over.
    fn time_out(&mut self) {
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

    /// Sends push messages to some of the connections for which some wait. Not to all at once: messages
    /// published while the others wait are sent with those that already wait.
    fn send_pushes(&mut self) {
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
    fn send_push(&mut self, i: usize, out: &mut Out) -> io::Result<()> {
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
    fn resume_crowded(&mut self) {
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

    fn welcome(&mut self, arrival: Arrival) {
        let Arrival { mut stream, door, endpoint, session } = arrival;
        let engine = &self.shared.engine;
        let session = session.unwrap_or_else(|| Session::new(engine, self.thread.index, endpoint));
        let id = session.client.id;
        let both = Interest::READABLE | Interest::WRITABLE;
        let token = Token(self.conns.vacant_key());
        let registered = self.poll.registry().register(&mut stream, token, both);
        let stream = Arc::new(stream);
        let client = Arc::clone(&session.client);
        let mut conn = Box::new(Conn::new(Arc::clone(&stream), session));
        if conn.tls {
            conn.handshake = Some(tls::begin(engine, &conn.session.client));
        }
        let i = self.conns.insert(conn);
        self.places.insert(id, i);
        if door == Door::Web {
            self.conns[i].web = Some(WebConn::begin(&self.shared, &mut self.conns[i]));
        } else {
            // What answers while this thread is stuck speaks RESP.
            self.inbox.sockets.insert(client, stream);
        }
        add(&self.inbox.worker.stats.connections_received, 1);
        if let Err(e) = registered {
            log!(self.shared.engine.log, Warning, "registering a connection: {}", e);
            self.close(i);
        }
    }

    /// Looks after connections a few times per second.
    fn housekeeping(&mut self) {
        let shared = Arc::clone(&self.shared);
        let engine = &shared.engine;
        let timeout = engine.config.int(Id::Timeout).saturating_mul(1000);
        let now = engine.clock.wall_ms() as i64;
        let mut close = Vec::new();
        let mono = engine.clock.monotonic_ns();
        for (i, c) in &mut self.conns {
            if c.handshake.is_some_and(|h| !h.queued && h.until < mono) {
                tls::note_late(engine, &c.session.client);
                close.push(i);
                continue;
            }
            if let Some(web) = &c.web {
                let active = c.session.client.active_ms.load(Relaxed);
                if web.is_overdue(&engine.config, now, active) {
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
    fn drain(&mut self) {
        let engine = Arc::clone(&self.shared.engine);
        let deadline = engine.clock.monotonic_ns() + crate::DRAIN_NS;
        self.stops = true;
        self.crowded.clear();
        self.conns.iter_mut().for_each(|(_, c)| c.crowded = false);
        let all: Vec<usize> = self.conns.iter().map(|(i, _)| i).collect();
        for i in all {
            if let Some(c) = self.conns.get_mut(i) {
                c.readable = true;
                self.serve(i, true);
            }
        }
        while self.thread.ready() > 0 {
            self.send_pushes();
        }
        // No new input is looked for: only the work that did not fit one turn goes on.
        let mut events = Events::with_capacity(256);
        while engine.clock.monotonic_ns() < deadline
            && (!self.more.is_empty() || self.conns.iter().any(|(_, c)| c.unsent() > 0))
        {
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

/// Whether the command that a connection has waited with tells of data.
fn shows_data(engine: &engine::Engine, c: &Conn) -> bool {
    let last = usize::from(c.session.client.last_cmd.load(Relaxed));
    last.checked_sub(1).and_then(|id| engine.table.all().get(id)).is_none_or(|cmd| cmd.shows_data)
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
