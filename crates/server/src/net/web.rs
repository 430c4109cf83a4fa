//! The connections of the web port, on the event loops of the workers: bytes become requests, and answers
//! bytes. What is answered is in [`crate::web`].
//!
//! Requests of a pipeline are answered with one write. Nothing is read or executed for a client that does
//! not take its answers. A connection that ends is closed for writing first, and what the client still sends is
//! read for a moment: otherwise its system could throw the last answer away.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::{Config, Id};
use engine::Thread;
use engine::commit::Changes;
use engine::journal::Gate;
use http1::{Bad, Body, Framing, Head, Limits, Progress, head};
use parking_lot::Mutex;
use resp::Out;

use super::answer::{Held, Turn, gate_output, hold_output, term_to_hold};
use super::buffers::{OUTPUT, OUTPUT_KEEP};
use super::conn::{Conn, INPUT};
use super::count::add;
use super::gathered::Gathered;
use super::streaming;
use crate::Shared;
use crate::web::{After, At, Peer, Responder, Streaming};

/// Answers of one turn, in bytes: with more, they are sent first.
const OUT_STOP: usize = 256 * 1024;
/// How long a closed connection is read from.
const LINGER_MS: i64 = 2000;
/// Heads of requests for endpoints of live channels: a browser can only put what it has to say, a token above all, into the
/// address of an event stream. There may be as much of it as in a body.
const LIVE_HEADS: Limits = Limits { head_max: 80 * 1024, target_max: 64 * 1024, body_max: 0 };
const _: () = assert!(LIVE_HEADS.head_max < INPUT, "a head is read as a whole");
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A connection's state besides its socket.
pub(crate) struct WebConn {
    doing: Doing,
    phase: Phase,
    /// Since when it is in this phase, in Unix milliseconds.
    since: i64,
    peer: Peer,
}

// It is as large as a block of the allocator.
const _: () = assert!(size_of::<WebConn>() <= 48, "a connection of the web port has got larger");

/// What a connection is in the middle of: no body arrives at a stream.
enum Doing {
    /// The request whose body arrives, if one does: its head, and the body so far.
    Request(Option<Box<(Vec<u8>, Body)>>),
    /// The protocol behind the last answer's head, which has become a stream.
    Stream(Box<dyn Streaming>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between requests.
    Idle,
    /// A part of a head has arrived.
    Head,
    /// A body arrives.
    Body,
    /// It has become a stream, and no request follows.
    Streaming,
    /// The answer to a request is still to come: nothing is read, and requests behind it wait.
    Waiting,
    /// It is closed when its answers have been sent.
    Closing,
    /// It is closed for writing.
    Lingering,
}

impl WebConn {
    /// A new connection, whose session acts as nobody.
    pub(super) fn begin(shared: &Shared, c: &mut Conn) -> Box<Self> {
        let engine = &shared.engine;
        c.session.set_user(Arc::clone(engine.acl.reader()));
        c.session.set_authenticated(true);
        // It is not read ahead, which is for commands.
        c.short = false;
        let since = engine.clock.wall_ms() as i64;
        let ip = c.session.client.endpoint.peer.parse::<SocketAddr>().map(|at| at.ip());
        let peer = Peer { ip: ip.unwrap_or(Peer::NONE.ip), tls: c.tls };
        Box::new(Self { doing: Doing::Request(None), phase: Phase::Idle, since, peer })
    }

    /// The protocol of a connection that has become a stream.
    pub(super) fn stream(&mut self) -> Option<&mut (dyn Streaming + 'static)> {
        match &mut self.doing {
            Doing::Stream(stream) => Some(&mut **stream),
            Doing::Request(_) => None,
        }
    }

    /// Takes the protocol of a connection that has become a stream.
    pub(super) fn take_stream(&mut self) -> Option<Box<dyn Streaming>> {
        match std::mem::replace(&mut self.doing, Doing::Request(None)) {
            Doing::Stream(stream) => Some(stream),
            request @ Doing::Request(_) => {
                self.doing = request;
                None
            }
        }
    }

    fn enter(&mut self, phase: Phase, now: i64) {
        if phase == Phase::Idle || self.phase != phase {
            self.since = now;
        }
        self.phase = phase;
    }

    /// Whether it has taken too long. `active` is when something was sent or received last, `unsent` whether
    /// its client has something to take.
    pub(super) fn is_overdue(&self, config: &Config, now: i64, active: i64, unsent: bool) -> bool {
        let seconds = |id| config.int(id).saturating_mul(1000);
        let most = match self.phase {
            // Its protocol knows when a client that takes everything must show that it is there.
            Phase::Streaming if !unsent => return false,
            // Who is asked has a time of its own.
            Phase::Waiting if !unsent => return false,
            Phase::Idle | Phase::Closing | Phase::Streaming | Phase::Waiting => {
                seconds(Id::WebIdleTimeout)
            }
            Phase::Head => seconds(Id::WebHeadTimeout),
            Phase::Body => seconds(Id::WebBodyTimeout),
            Phase::Lingering => LINGER_MS,
        };
        let since = match self.phase {
            // A large answer may take long, as long as some of it is taken.
            Phase::Idle | Phase::Closing | Phase::Streaming | Phase::Waiting => {
                self.since.max(active)
            }
            _ => self.since,
        };
        now - since > most
    }

    /// Its stream has appended its last bytes.
    pub(super) fn ends(&mut self, c: &mut Conn, now: i64) -> Turn {
        self.enter(Phase::Closing, now);
        if c.unsent() == 0 { end(c, self, now) } else { Turn::Keep }
    }

    /// The answer for which it has waited is appended: the next request follows.
    pub(super) fn goes_on(&mut self, c: &Conn, now: i64) -> Turn {
        self.doing = Doing::Request(None);
        self.enter(Phase::Idle, now);
        let has_more = c.readable || c.hangup || !c.buf.is_empty();
        if c.unsent() == 0 && has_more { Turn::Again } else { Turn::Keep }
    }
}

/// The parts of a worker that a turn needs besides the connection.
pub(super) struct Io<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) stats: &'a observe::stats::ThreadStats,
    pub(super) thread: &'a mut Thread,
    pub(super) input: &'a mut Vec<u8>,
    pub(super) out: &'a mut Out,
    pub(super) gated: &'a mut VecDeque<(u64, u64)>,
    pub(super) held: &'a mut VecDeque<Held>,
    pub(super) responder: &'a mut Responder,
    pub(super) gathered: &'a Mutex<Gathered>,
    /// The connection's place.
    pub(super) i: usize,
}

/// What the input of a turn has come to.
struct Done {
    /// Bytes of it that are dealt with.
    consumed: usize,
    /// There may be whole requests among the rest.
    more: bool,
}

/// Gives a connection its turn.
pub(super) fn turn(io: &mut Io<'_>, c: &mut Conn) -> io::Result<Turn> {
    let mut web = c.web.take().expect("the caller has looked");
    let turn = turn_with(io, c, &mut web);
    c.web = Some(web);
    turn
}

fn turn_with(io: &mut Io<'_>, c: &mut Conn, web: &mut WebConn) -> io::Result<Turn> {
    let now = io.thread.cx.now;
    if web.phase == Phase::Streaming {
        return streaming::turn(io, c, web);
    }
    if c.unsent() > 0 {
        return Ok(Turn::Keep);
    }
    match web.phase {
        Phase::Lingering => return linger(io, c),
        Phase::Waiting if c.is_closing() => return Ok(Turn::Close),
        Phase::Waiting => return Ok(Turn::Keep),
        Phase::Closing => return Ok(end(c, web, now)),
        _ if c.is_closing() => return Ok(Turn::Close),
        _ => {}
    }
    let left = c.buf.len();
    io.input[..left].copy_from_slice(&c.buf);
    let mut have = left;
    if c.readable && left < INPUT {
        have += receive(io, c, left)?;
    }
    io.responder.peer = web.peer;
    let before = io.thread.changes();
    let term = io.shared.engine.replication.acks.term();
    io.out.clear();
    io.out.limit = 0;
    let input = std::mem::take(io.input);
    let done = answer(io, web, (c.session.client.id, &input[..have]), now);
    let rest = &input[done.consumed..have];
    c.buf.clear();
    c.buf.extend_from_slice(rest);
    if rest.is_empty() {
        c.buf = Vec::new();
    }
    *io.input = input;
    let in_head = !c.buf.is_empty() && !done.more;
    match web.phase {
        Phase::Closing | Phase::Streaming | Phase::Waiting => {}
        _ if matches!(web.doing, Doing::Request(Some(_))) => web.enter(Phase::Body, now),
        _ if in_head => web.enter(Phase::Head, now),
        _ if done.consumed > 0 => web.enter(Phase::Idle, now),
        _ => {}
    }
    c.session.client.query_bytes.store(c.buf.len() as u64, Relaxed);
    if !send(io, c, web, (before, term))? {
        return Ok(Turn::Close);
    }
    if web.phase == Phase::Streaming {
        // What the client has sent behind its request.
        return Ok(if done.more || c.readable { Turn::Again } else { Turn::Keep });
    }
    if web.phase == Phase::Waiting {
        return Ok(Turn::Keep);
    }
    Ok(if web.phase == Phase::Closing {
        if c.unsent() == 0 { end(c, web, now) } else { Turn::Keep }
    } else if c.unsent() > 0 {
        Turn::Keep
    } else if done.more {
        Turn::Again
    } else if c.hangup && !c.readable {
        Turn::Close
    } else if c.readable {
        Turn::Again
    } else {
        Turn::Keep
    })
}

/// Reads behind the first `left` bytes of the input. Returns how many bytes came.
pub(super) fn receive(io: &mut Io<'_>, c: &mut Conn, left: usize) -> io::Result<usize> {
    add(&io.stats.reads_processed, 1);
    let room = INPUT - left;
    match (&*c.stream).read(&mut io.input[left..INPUT]) {
        Ok(0) => {
            c.readable = false;
            c.hangup = true;
            Ok(0)
        }
        Ok(n) => {
            // A short read means that the socket is empty; a new edge will tell of more.
            c.readable = n == room || c.hangup;
            add(&io.stats.net_input_bytes, n as u64);
            add(&c.session.client.net_in, n as u64);
            c.session.client.active_ms.store(io.thread.cx.now, Relaxed);
            Ok(n)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            c.readable = false;
            Ok(0)
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(e) => Err(e),
    }
}

/// Answers the whole requests of the input.
fn answer(io: &mut Io<'_>, web: &mut WebConn, (id, input): (u64, &[u8]), now: i64) -> Done {
    let limits = Limits {
        body_max: io.shared.engine.config.bytes(Id::WebMaxBody) as usize,
        ..Limits::default()
    };
    let mut consumed = 0;
    while consumed < input.len() {
        if io.out.len() > OUT_STOP {
            return Done { consumed, more: true };
        }
        match step(io, web, (id, &input[consumed..]), &limits) {
            Ok((n, true)) => consumed += n,
            Ok((n, false)) => return Done { consumed: consumed + n, more: false },
            Err(bad) => {
                io.responder.refuse(io.shared, bad, &mut io.out.buf);
                web.enter(Phase::Closing, now);
            }
        }
        if web.phase == Phase::Closing {
            // Nothing behind the last request counts.
            return Done { consumed: input.len(), more: false };
        }
        if matches!(web.phase, Phase::Streaming | Phase::Waiting) {
            return Done { consumed, more: consumed < input.len() };
        }
    }
    Done { consumed, more: false }
}

/// Deals with the head or the body at the beginning of the input. Returns bytes consumed, and whether it may
/// go on.
fn step(
    io: &mut Io<'_>,
    web: &mut WebConn,
    (id, input): (u64, &[u8]),
    limits: &Limits,
) -> Result<(usize, bool), Bad> {
    if let Doing::Request(request) = &mut web.doing
        && let Some(pending) = request
    {
        let (n, progress) = pending.1.take(input)?;
        if progress == Progress::More {
            return Ok((n, false));
        }
        if let Some(pending) = request.take()
            && let Some(head) = read_head(io.shared, &pending.0, limits)?
        {
            respond(io, web, id, &head, &pending.1.bytes);
        }
        return Ok((n, true));
    }
    let Some(head) = read_head(io.shared, input, limits)? else { return Ok((0, false)) };
    if head.framing == Framing::Length(0) {
        respond(io, web, id, &head, &[]);
        return Ok((head.len, true));
    }
    let body = Body::new(head.framing, &body_limits(io.shared, &head, limits))?;
    if head.expects_continue && input.len() == head.len {
        io.out.buf.extend_from_slice(CONTINUE);
    }
    web.doing = Doing::Request(Some(Box::new((input[..head.len].to_vec(), body))));
    Ok((head.len, true))
}

/// Parses a head. Endpoints of live channels take longer ones than others.
fn read_head<'b>(
    shared: &Shared,
    input: &'b [u8],
    limits: &Limits,
) -> Result<Option<Head<'b>>, Bad> {
    let bad = match head::parse(input, limits) {
        Err(bad) if matches!(bad.status, 414 | 431) => bad,
        parsed => return parsed,
    };
    match shared.live.as_ref().zip(head::early_path(input)) {
        Some((live, path)) if live.is_endpoint(path) => {
            head::parse(input, &Limits { body_max: limits.body_max, ..LIVE_HEADS })
        }
        _ => Err(bad),
    }
}

/// The limits of a request's body: endpoints of live channels have their own.
fn body_limits(shared: &Shared, head: &Head<'_>, limits: &Limits) -> Limits {
    let own = shared.live.as_ref().and_then(|live| live.body_max_of(&head.target.path));
    Limits { body_max: own.unwrap_or(limits.body_max), ..*limits }
}

fn respond(io: &mut Io<'_>, web: &mut WebConn, id: u64, head: &Head<'_>, body: &[u8]) {
    let Io { shared, thread, responder, out, .. } = &mut *io;
    let after = responder.respond(shared, thread, head, body, out);
    let now = thread.cx.now;
    match after {
        After::Keeps => web.enter(Phase::Idle, now),
        After::Ends => web.enter(Phase::Closing, now),
        After::Streams(stream, cap) => begin(io, (web, id), Phase::Streaming, (stream, cap)),
        After::Waits(stream) => begin(io, (web, id), Phase::Waiting, (stream, usize::MAX / 4)),
    }
}

fn begin(
    io: &mut Io<'_>,
    (web, id): (&mut WebConn, u64),
    phase: Phase,
    (mut stream, cap): (Box<dyn Streaming>, usize),
) {
    let Io { shared, thread, responder, .. } = io;
    web.enter(phase, thread.cx.now);
    responder.outlets.open(id, cap);
    stream.begin(&mut At { id, shared, thread, web: responder });
    web.doing = Doing::Stream(stream);
}

/// Sends the answers, with those of others or at once, or keeps them until the journal has what they tell of.
/// Returns false when the connection must end without them.
fn send(
    io: &mut Io<'_>,
    c: &mut Conn,
    web: &mut WebConn,
    (before, term): (Changes, u64),
) -> io::Result<bool> {
    if io.out.is_empty() {
        return Ok(true);
    }
    if !gate(io, c, before, term) {
        io.out.clear();
        return Ok(false);
    }
    let goes_on = !matches!(web.phase, Phase::Closing | Phase::Streaming | Phase::Waiting);
    let long = io.responder.has_rendered();
    if !(goes_on && c.gather(io.i, io.gathered, long, io.thread, io.out)) {
        let n = c.send(io.out)?;
        c.note_sent(io.stats, n, io.thread.cx.now);
    }
    if io.out.buf.capacity() > OUTPUT_KEEP {
        io.out.buf = Vec::with_capacity(OUTPUT);
    }
    Ok(true)
}

/// Has the output of a turn wait until the journal, and replicas, have what it tells of. `before` and `term` are of
/// the beginning of the turn. Returns false when the connection must end without it.
pub(super) fn gate(io: &mut Io<'_>, c: &mut Conn, before: Changes, term: u64) -> bool {
    let (engine, thread) = (&io.shared.engine, &mut *io.thread);
    thread.send_mail(engine);
    let acts = thread.changes() != before;
    let shows = thread.take_shows_data();
    match engine.journal.gate(&thread.worker().lane, before.lane) {
        Gate::Never => return false,
        _ if let Some(term) = term_to_hold(engine, term, shows.then_some(acts)) => {
            hold_output(engine, c, (term, acts), io.held);
        }
        Gate::Open => {}
        Gate::At(sequence) => gate_output(c, sequence, acts, io.gated),
    }
    true
}

/// Closes for writing.
fn end(c: &mut Conn, web: &mut WebConn, now: i64) -> Turn {
    if c.hangup {
        return Turn::Close;
    }
    c.stream.finish();
    web.enter(Phase::Lingering, now);
    if c.readable { Turn::Again } else { Turn::Keep }
}

/// Throws away what still comes.
fn linger(io: &mut Io<'_>, c: &mut Conn) -> io::Result<Turn> {
    if c.readable {
        receive(io, c, 0)?;
    }
    Ok(match (c.hangup, c.readable) {
        (true, _) => Turn::Close,
        (false, true) => Turn::Again,
        (false, false) => Turn::Keep,
    })
}
