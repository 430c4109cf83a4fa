//! Executing the input read from a connection, and answering it: one batch, one write.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use engine::acks::Acks;
use engine::commit::Changes;
use engine::journal::Gate;
use engine::{Batch, Next, PausedKill, Thread};
use parking_lot::Mutex;
use resp::Out;

use super::buffers::{LEFTOVER, OUTPUT, OUTPUT_KEEP, SMALL};
use super::conn::{Conn, Gated, Wait};
use super::count::add;
use super::gathered::Gathered;
use super::limits::{hard_limit, is_over_limit, over_output_limit, over_query_limit};
use super::tls;

/// Nanoseconds from which on a turn is a long one.
const LONG_NS: u64 = 10_000;

/// What happens to a connection after its turn.
pub(super) enum Turn {
    Keep,
    /// It has more to do; others first.
    Again,
    Close,
}

/// The parts of a worker that executing and answering needs besides the connection.
pub(super) struct BatchIo<'a> {
    pub(super) engine: &'a engine::Engine,
    pub(super) stats: &'a observe::stats::ThreadStats,
    pub(super) thread: &'a mut Thread,
    pub(super) out: &'a mut Out,
    pub(super) paused: &'a mut Vec<usize>,
    pub(super) timers: &'a mut BinaryHeap<Reverse<(i64, u64)>>,
    pub(super) gated: &'a mut VecDeque<(u64, u64)>,
    pub(super) held: &'a mut VecDeque<Held>,
    /// Where connections wait until a thread has less to deliver; none when nothing is waited for any more.
    pub(super) crowded: Option<&'a mut VecDeque<(usize, u64)>>,
    /// Where replies wait for those of the connections behind this one.
    pub(super) gathered: &'a Mutex<Gathered>,
}

/// What is known of a connection's turn before its input runs.
struct Begun {
    /// What the thread had changed then.
    changes: Changes,
    /// The term of acknowledgements then.
    term: u64,
    /// Monotonic nanoseconds.
    mono: u64,
}

impl BatchIo<'_> {
    /// Executes the input of connection `i`, which is `arrived` or, without that, in the
    /// connection's own buffer; `left` bytes of it were left over from before.
    pub(super) fn answer(
        &mut self,
        c: &mut Conn,
        i: usize,
        arrived: Option<&[u8]>,
        left: usize,
    ) -> io::Result<Turn> {
        let engine = self.engine;
        let changes = self.thread.changes();
        let (term, mono) = (engine.replication.acks.term(), self.thread.mono());
        let begun = Begun { changes, term, mono };
        c.term = begun.term;
        let bytes = arrived.unwrap_or(&c.buf);
        let have = bytes.len();
        if bytes.first() == Some(&tls::HANDSHAKE) && tls::is_hello(bytes) && !c.parser.is_active() {
            tls::note_hello(engine, &c.session.client);
            return Ok(Turn::Close);
        }
        self.out.limit = hard_limit(engine, c);
        let late_kill = c.session.deferred.is_some() && c.ends_scripts(engine);
        let thread = &mut *self.thread;
        let Batch { consumed, next } = match arrived {
            Some(bytes) => thread.run(engine, &mut c.session, &mut c.parser, bytes, self.out),
            None => thread.run_and_give(engine, &mut c.session, &mut c.parser, bytes, self.out),
        };
        if let (Some(crowd), Some(waiting)) = (thread.take_crowded(), &mut self.crowded) {
            c.crowded = true;
            waiting.push_back((crowd, c.session.client.id));
        }
        if next == Next::Close {
            // A peer that has read the last reply may rely on it that the client is gone.
            c.session.client.closing.store(true, Relaxed);
        }
        c.short = have <= SMALL / 2;
        keep_rest(engine, c, (arrived, left), consumed, next);
        if have > 0 {
            c.note_input();
        }
        if self.thread.evict_clients(engine, &c.session.client) {
            self.out.clear();
            return Ok(Turn::Close);
        }
        if !self.out.is_empty() {
            let ends_scripts = || {
                late_kill && consumed == 0
                    || arrived.is_some_and(|a| engine.only_ends_scripts(&a[..consumed]))
            };
            if !self.send_replies((c, i), &begun, next, ends_scripts)? {
                return Ok(Turn::Close);
            }
        }
        if matches!(next, Next::Read | Next::ReadBig) && over_query_limit(engine, c, self.stats) {
            return Ok(Turn::Close);
        }
        Ok(self.turn_after(c, i, next))
    }

    /// Sends the replies of the batch to connection `i`, or keeps them until they may be sent. False: the connection is
    /// to be closed.
    #[inline(always)]
    fn send_replies(
        &mut self,
        (c, i): (&mut Conn, usize),
        begun: &Begun,
        next: Next,
        ends_scripts: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let engine = self.engine;
        // The limit holds for the output of the batch, too, before the socket takes any of it.
        if is_over_limit(engine, c, self.out) {
            self.out.clear();
            shrink(self.out);
            add(&self.stats.client_output_buffer_limit_disconnections, 1);
            return Ok(false);
        }
        if let Some(rare) = c.get_rare()
            && let Some(sentinel) = &mut rare.sentinel
            && memchr::memmem::find(&self.out.buf, b"+PONG\r\n").is_some()
        {
            sentinel.pong.get_or_insert(self.thread.mono());
        }
        if !self.gate(c, begun, ends_scripts) {
            // Closed without a reply: its changes may or may not be there after a restart.
            self.out.clear();
            return Ok(false);
        }
        let long = self.thread.mono().saturating_sub(begun.mono) >= LONG_NS;
        if next == Next::Read && c.gather(i, self.gathered, long, self.thread, self.out) {
            return Ok(true);
        }
        let timed = self.thread.write_begins(engine);
        if next == Next::Close {
            c.stream.hold_until_finished();
        }
        let n = c.send(self.out)?;
        c.note_sent(self.stats, n, self.thread.cx.now);
        if next == Next::Close && c.unsent() == 0 {
            c.stream.finish();
        }
        self.thread.write_ends(engine, timed);
        shrink(self.out);
        if c.unsent() > 0 && over_output_limit(engine, c, c.unsent()) {
            add(&self.stats.client_output_buffer_limit_disconnections, 1);
            return Ok(false);
        }
        Ok(c.unsent() == 0 || !self.thread.evict_clients(engine, &c.session.client))
    }

    /// Decides what the connection's output waits for: nothing, the journal, or replicas. False: it must never be
    /// sent, since the journal cannot be written.
    #[inline(always)]
    fn gate(&mut self, c: &mut Conn, begun: &Begun, ends_scripts: impl Fn() -> bool) -> bool {
        let engine = self.engine;
        let acts = self.thread.changes() != begun.changes;
        let shows = self.thread.take_shows_data();
        match engine.journal.gate(&self.thread.worker().lane, begun.changes.lane) {
            Gate::Never => return false,
            _ if let Some(term) = term_to_hold(engine, begun.term, shows.then_some(acts)) => {
                hold_output(engine, c, (term, acts), self.held);
            }
            Gate::Open => {}
            // That there is no script yet, or none any more, is nothing that could be lost; and before
            // the journal is that far, the thread may wait for the very script.
            Gate::At(_) if c.gate.is_none() && ends_scripts() => {}
            Gate::At(sequence) => gate_output(c, sequence, acts, self.gated),
        }
        true
    }

    /// What happens to connection `i` after its batch.
    #[inline(always)]
    fn turn_after(&mut self, c: &mut Conn, i: usize, next: Next) -> Turn {
        match next {
            Next::Close if c.unsent() == 0 => Turn::Close,
            Next::Close => {
                c.session.closing = true;
                Turn::Keep
            }
            Next::Wait => {
                self.pause(c, i);
                Turn::Keep
            }
            Next::Block if c.hangup => Turn::Close,
            Next::Block => {
                c.wait = Some(Wait::Blocked);
                if let Some(at) = c.session.wakes_at() {
                    self.timers.push(Reverse((at, c.session.client.id)));
                }
                Turn::Keep
            }
            // It goes on, and is read from, when the other threads have delivered its messages.
            _ if c.crowded => Turn::Keep,
            // The socket has reported its input already and will not do so again.
            _ if c.unsent() > 0 && c.readable => Turn::Again,
            _ if c.unsent() > 0 => Turn::Keep,
            Next::Flush => Turn::Again,
            Next::ReadBig => Turn::Again,
            Next::Read if c.hangup && !c.readable => Turn::Close,
            Next::Read if c.readable => Turn::Again,
            Next::Read => Turn::Keep,
        }
    }

    /// The command at the front of connection `i` waits for CLIENT PAUSE to end, or for a script.
    #[cold]
    fn pause(&mut self, c: &mut Conn, i: usize) {
        c.wait = Some(Wait::Paused);
        c.session.client.paused.store(true, Relaxed);
        if let Some(deferred) = c.session.deferred.as_ref().filter(|_| c.ends_scripts(self.engine))
        {
            c.session.client.set_paused_kill(PausedKill::Words(deferred.words.clone()));
        }
        self.paused.push(i);
    }
}

/// Keeps the input that a batch has not `consumed` with the connection. `arrived` and `left` are those of
/// [`BatchIo::answer`].
#[inline(always)]
fn keep_rest(
    engine: &engine::Engine,
    c: &mut Conn,
    (arrived, left): (Option<&[u8]>, usize),
    consumed: usize,
    next: Next,
) {
    match (arrived, c.session.take_input.take()) {
        (None, Some(taker)) => {
            let rest = c.buf.split_off(consumed);
            taker.give(std::mem::replace(&mut c.buf, rest));
        }
        _ if next == Next::ReadBig => c.buf = Vec::new(),
        (None, None) => {
            c.buf.drain(..consumed);
        }
        (Some(bytes), _) if consumed < bytes.len() || left > 0 => {
            let rest = &bytes[consumed..];
            c.buf.clear();
            if rest.len() > LEFTOVER.max(c.buf.capacity()) {
                c.buf = engine.topics.spare(c.room(rest.len())).unwrap_or_default();
            }
            c.buf.extend_from_slice(rest);
        }
        (Some(_), _) => {}
    }
    if c.buf.is_empty() && c.buf.capacity() > 0 {
        c.buf = Vec::new();
    }
}

/// Gives back the memory of a thread's output buffer that an unusual batch has made large.
fn shrink(out: &mut Out) {
    if out.buf.capacity() > OUTPUT_KEEP {
        out.buf = Vec::with_capacity(OUTPUT);
    }
}

/// Output that waits for replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Changes up to this number must be acknowledged, and as safe as the journal's policy says.
    pub(super) until: u64,
    pub(super) client: u64,
    /// Since when, in monotonic nanoseconds.
    pub(super) since: u64,
    /// It waits in vain when this term is over.
    pub(super) term: u64,
}

/// The term in which output waits for replicas, if it does, of a batch that began in `term` and, with `acts`, tells of
/// data (`acts`: of changes that the connection has made).
#[inline]
pub(super) fn term_to_hold(engine: &engine::Engine, term: u64, acts: Option<bool>) -> Option<u64> {
    let acks = &engine.replication.acks;
    let now = acks.term();
    // A part of it may have run in the term that has begun meanwhile.
    let term = if Acks::waits_in(term) { term } else { now };
    let acts = acts.filter(|_| Acks::waits_in(term))?;
    let passes = || acks.pass(engine.stream.last(), acts, || engine.clock.monotonic_ns());
    (now != term || !passes()).then_some(term)
}

/// From here on, output to a connection waits for replicas: it tells of data as of a batch that began in
/// `term`, and reports changes if it `acts`.
pub(super) fn hold_output(
    engine: &engine::Engine,
    c: &mut Conn,
    (term, acts): (u64, bool),
    held: &mut VecDeque<Held>,
) {
    let until = engine.stream.last();
    let acts = acts || c.gate.is_some_and(|gated| gated.acts);
    c.gate = Some(Gated { until, acts, holds: true, term });
    let since = engine.clock.monotonic_ns();
    held.push_back(Held { until, client: c.session.client.id, since, term });
}

/// From here on, output to a connection waits until the journal is durable up to `sequence`. `acts`: it
/// reports changes that the connection has made.
pub(super) fn gate_output(
    c: &mut Conn,
    sequence: u64,
    acts: bool,
    gated: &mut VecDeque<(u64, u64)>,
) {
    // Outputs are let go from the front: one that stood behind a later one would wait for too much.
    assert!(gated.back().is_none_or(|(last, _)| *last <= sequence));
    if c.gate.is_some_and(|gate| gate.holds) {
        // That is the stricter one; what comes behind it shows no data.
        return;
    }
    let acts = acts || c.gate.is_some_and(|gated| gated.acts);
    c.gate = Some(Gated { until: sequence, acts, holds: false, term: 0 });
    gated.push_back((sequence, c.session.client.id));
}
