//! A worker thread: its event loop, and the connections that live on it.
//!
//! One wake-up serves every ready connection: all that is readable of one is read (up to a buffer),
//! executed as a batch and answered with one write, then the next one has its turn. Reads are
//! edge-triggered and stop at a short read. Of a connection that does not take its replies nothing
//! is executed until it does, so that few requests cannot make the server's memory grow.

mod held;
mod mail;
mod reading;
mod sending;
mod upkeep;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::Id;
use engine::{Session, Thread, log};
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;
use resp::Out;
use slab::Slab;
use stdx::hash::NumberMap;

use super::answer::{Held, Turn};
use super::buffers::{OUTPUT, SMALL};
use super::conn::{Conn, INPUT};
use super::count::{add, raise};
use super::gathered::Gathered;
use super::inbox::{Arrival, Inbox};
use super::listen::Door;
use super::stuck::StuckResponder;
use super::tls;
use super::web::WebConn;
use crate::Shared;
use crate::give_back::GiveBack;
use crate::web::Responder;

/// Connections that are read before the first of them is executed, while their input is short.
const READ_AHEAD_MAX: usize = 32;
/// With work left, the periodic work has a turn this often: short turns, because connections wait
/// meanwhile. [`engine::cron_ns`] says which part of it.
const CRON_EVERY_NS: u64 = 1_000_000;
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
    pub(super) places: NumberMap<usize>,
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
    pub(super) gated: VecDeque<(u64, u64)>,
    /// Connections whose output waits for replicas, in the order of numbers and times.
    held: VecDeque<Held>,
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
    /// Changes gather for them, for so many nanoseconds at most.
    gathers: Option<u64>,
    /// Answers of this turn; the thread that executes sends them when they must not wait.
    pub(super) gathered: Arc<Mutex<Gathered>>,
    /// So many connections have a turn behind the present one's.
    behind: usize,
    /// What answers the connections for pages; made for the first of them.
    pub(super) web: Option<Box<Responder>>,
}

/// When a worker's periodic work is due, in monotonic nanoseconds.
#[derive(Default)]
struct Cron {
    next: u64,
    housekeeping: u64,
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
            places: NumberMap::default(),
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
            gathers: None,
            gathered: Arc::default(),
            behind: 0,
            web: None,
        }
    }

    pub(crate) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let engine = &shared.engine;
        let responder =
            StuckResponder::new(Arc::clone(&shared), Arc::clone(&self.inbox), self.thread.index);
        engine::do_meanwhile(Box::new(move || responder.look()));
        let gathered = Arc::clone(&self.gathered);
        self.thread.send_answers_by(Box::new(move || gathered.lock().send()));
        let mut events = Events::with_capacity(1024);
        let mut cron = Cron::default();
        // Its writes must reach the journal now, not when the next request comes.
        let mut went_on_held = false;
        loop {
            self.send_gathered();
            let wait = self.wait(&cron, went_on_held);
            if let Err(e) = self.poll.poll(&mut events, Some(wait))
                && e.kind() != io::ErrorKind::Interrupted
            {
                log!(engine.log, Warning, "waiting for events: {}", e);
                std::thread::sleep(Duration::from_millis(10));
            }
            let woke = self.thread.tick(engine);
            let before = self.inbox.worker.stats.commands_processed.load(Relaxed);
            let went_on = std::mem::take(&mut self.more);
            self.serve_events(&events);
            for i in went_on {
                if let Some(c) = self.conns.get_mut(i) {
                    c.queued = false;
                    self.serve(i, false);
                }
            }
            self.send_gathered();
            self.shake_hands();
            self.read_mail();
            self.time_out();
            self.turn_streams();
            engine.journal.turn_over(&self.inbox.worker);
            went_on_held = self.release();
            self.gathers = self.feed(events.is_empty());
            self.thread.send_mail(engine);
            self.send_pushes();
            self.flush_streams();
            self.thread.relieve(engine);
            self.resume_crowded();
            if self.shared.stopping() {
                self.send_gathered();
                self.shared.await_shut();
                self.drain();
                return;
            }
            self.run_cron(&mut cron);
            self.note_cycle(woke, before);
        }
    }

    /// How long the thread may sleep until it has something to do by itself.
    #[inline(always)]
    fn wait(&self, cron: &Cron, went_on_held: bool) -> Duration {
        let now = self.thread.mono();
        let at_once = !self.more.is_empty() || !self.handshakes.is_empty();
        if at_once || self.thread.ready() > 0 || went_on_held {
            return Duration::ZERO;
        }
        let cron = cron.next.saturating_sub(now).min(self.gathers.unwrap_or(u64::MAX));
        let cron = Duration::from_nanos(cron);
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let due = self.web.as_ref().and_then(|web| web.outlets.first_due());
        timer.into_iter().chain(due).min().map_or(cron, |at| {
            let left = at.saturating_sub(self.shared.engine.clock.wall_ms() as i64);
            cron.min(Duration::from_millis(left.max(0) as u64 + 1))
        })
    }

    /// Reads ahead from the connections that allow it, and gives the others their turns.
    #[inline(always)]
    fn serve_events(&mut self, events: &Events) {
        self.behind = events.iter().count();
        for e in events {
            self.behind -= 1;
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
                if let Some(handshake) = c.rare.as_mut().and_then(|rare| rare.handshake.as_mut()) {
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
    }

    /// Runs the periodic work, if it is due.
    #[inline(always)]
    fn run_cron(&mut self, cron: &mut Cron) {
        let now = self.thread.mono();
        if now < cron.next {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let engine = &shared.engine;
        let hz = engine.config.int(Id::Hz).clamp(1, 500) as u64;
        let share = engine::cron_ns(engine.config.int(Id::ActiveExpireEffort));
        let due = self.thread.cron(engine, self.threads, share);
        // With work left the next turn comes soon, but connections are served in between.
        cron.next = now + if due { CRON_EVERY_NS } else { 1_000_000_000 / hz };
        if now >= cron.housekeeping {
            cron.housekeeping = now + 100_000_000;
            self.housekeeping();
        }
        // The cycle includes this work, which no command has timed.
        self.thread.tick(engine);
    }

    /// Counts a cycle of the loop that began at `woke`, when `before` commands had been executed.
    #[inline(always)]
    fn note_cycle(&self, woke: u64, before: u64) {
        let stats = &self.inbox.worker.stats;
        add(&stats.eventloop_cycles, 1);
        let nanos = self.thread.mono() - woke;
        add(&stats.eventloop_nanos, nanos);
        raise(&stats.eventloop_nanos_max, nanos);
        // A reset of the statistics makes the count smaller than it was.
        let executed = stats.commands_processed.load(Relaxed).saturating_sub(before);
        raise(&stats.eventloop_commands_max, executed);
    }

    /// Gives one connection its turn.
    fn serve(&mut self, i: usize, writable: bool) {
        self.begin_turn(i, self.behind);
        if !self.conns.contains(i) {
            return;
        }
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

    fn note_sent(&mut self, i: usize, sent: io::Result<usize>) {
        let Ok(n) = sent else { return self.close(i) };
        let c = &self.conns[i];
        c.note_sent(&self.inbox.worker.stats, n, self.thread.cx.now);
        if let (Some(web), true) = (&mut self.web, c.web.is_some()) {
            web.outlets.note_unsent(c.session.client.id, c.unsent());
        }
    }

    pub(super) fn close(&mut self, i: usize) {
        let Some(mut c) = self.conns.try_remove(i) else { return };
        c.stream.say_goodbye();
        self.inbox.sockets.remove(&c.session.client);
        // Its last owner closes the socket, and with that it leaves the poll.
        let id = c.session.client.id;
        self.places.remove(&id);
        self.end_feeding(&c);
        self.end_stream(&mut c);
        let engine = &self.shared.engine;
        self.thread.leave(engine, &mut c.session);
        if c.session.monitor {
            engine.monitors.remove(&engine.attention, id);
        }
        self.thread.forget(engine, &mut c.session);
        engine.clients.remove(&c.session.client);
        self.paused.retain(|p| *p != i);
        self.inbox.worker.connections.fetch_sub(1, Relaxed);
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
            conn.rare().handshake = Some(tls::begin(engine, &conn.session.client));
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
}
