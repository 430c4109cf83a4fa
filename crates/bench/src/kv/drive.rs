//! One thread of load: its connections, its poll, one receive buffer.
//!
//! Nothing is allocated while requests go out. A connection has at most one pipeline under way;
//! the next is sent when its last reply has come (closed loop) or when it is due (open loop).
//! Sockets are registered once, edge-triggered; a read shorter than the buffer has drained the
//! socket, so a request costs one read and one write.

use super::client::{Socket, Target};
use super::frames::{Errors, Frames};
use super::histogram::Histogram;
use super::pace::Pacer;
use super::reel::Reel;
use super::responses::{Replies, Responses};
use super::sys::{self, Timer};
use super::tls::Secured;
use mio::net::{TcpStream, UnixStream};
use mio::{Events, Interest, Poll, Token};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes received at a time.
const BUFFER: usize = 64 * 1024;

/// How long the server may say nothing while replies are owed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long after the end of an open loop's duration requests are still sent that were due before.
/// A server that is further behind would take any time, and the report says what was not sent.
const GRACE_NS: u64 = 1_000_000_000;

const TIMER: Token = Token(usize::MAX);

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Requests not yet taken by a thread.
    pub(crate) budget: AtomicU64,
    /// Requests a thread takes from the budget at a time.
    pub(crate) chunk: u64,
    /// Requests per pipeline.
    pub(crate) depth: u64,
    /// Replies so far.
    pub(crate) done: AtomicU64,
    /// When nothing more is sent, in nanoseconds after the start; `u64::MAX` for a count.
    pub(crate) until_ns: u64,
    /// Raised when a thread failed, so that the others end.
    pub(crate) failed: AtomicBool,
}

/// What a thread measured.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) latency: Histogram,
    /// Of each command of a mix; empty for a single command.
    pub(crate) commands: Vec<Histogram>,
    pub(crate) errors: Errors,
    /// When the last reply came, in nanoseconds after the start.
    pub(crate) ended_ns: u64,
    /// What the thread had of the processors.
    pub(crate) cpu: sys::Cpu,
}

/// See the module's text.
pub(crate) struct Driver<'a> {
    plan: &'a Plan,
    poll: Poll,
    timer: Option<Timer>,
    connections: Vec<Connection>,
    reel: Reel,
    pacer: Option<Pacer>,
    /// Connections without a pipeline under way, longest idle first; only in an open loop.
    idle: VecDeque<usize>,
    /// Taken from the plan's budget, not yet sent.
    budget: u64,
    /// Replies owed by the server.
    owed: u64,
    /// Replies not yet added to the plan's count.
    unreported: u64,
    /// Replies per command of a mix, while a read is looked at.
    tally: Vec<u64>,
    outcome: Outcome,
    /// Where to reconnect when the server closes an answered connection, as servers of HTTP may; and whether
    /// the requests are HEAD.
    again: Option<(&'a Target, bool)>,
}

struct Connection {
    stream: Stream,
    replies: Replies,
    /// What the socket did not take yet.
    unsent: Vec<u8>,
    sent: usize,
    owed: u64,
    /// Where in the reel the request stands whose reply comes next.
    place: usize,
    /// What latency is measured from, in nanoseconds after the start.
    since_ns: u64,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<Secured>),
}

impl Stream {
    /// A socket that the poll reports as number `i`.
    fn register(poll: &Poll, i: usize, socket: Socket) -> io::Result<Self> {
        let both = Interest::READABLE | Interest::WRITABLE;
        Ok(match socket {
            Socket::Tcp(s) => {
                s.set_nonblocking(true)?;
                let mut s = TcpStream::from_std(s);
                poll.registry().register(&mut s, Token(i), both)?;
                Stream::Tcp(s)
            }
            Socket::Unix(s) => {
                s.set_nonblocking(true)?;
                let mut s = UnixStream::from_std(s);
                poll.registry().register(&mut s, Token(i), both)?;
                Stream::Unix(s)
            }
            Socket::Tls(s) => {
                let mut s = Box::new(Secured::from_blocking(*s)?);
                poll.registry().register(&mut *s, Token(i), both)?;
                Stream::Tls(s)
            }
        })
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.read(buf),
            Stream::Unix(s) => s.read(buf),
            Stream::Tls(s) => s.read(buf),
        }
    }

    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.write(buf),
            Stream::Unix(s) => s.write(buf),
            Stream::Tls(s) => s.write(buf),
        }
    }
}

impl Connection {
    /// Sends on what was left; ends when all is sent or the socket is full.
    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.unsent.len() {
            match self.stream.write(&self.unsent[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.unsent.clear();
        self.sent = 0;
        Ok(())
    }

    /// Sends `bytes`, keeping what the socket does not take.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = match self.unsent.is_empty() {
            true => match self.stream.write(bytes) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
                Err(e) => return Err(e),
            },
            false => 0,
        };
        if taken < bytes.len() {
            self.unsent.extend_from_slice(&bytes[taken..]);
            self.flush()?;
        }
        Ok(())
    }
}

impl<'a> Driver<'a> {
    /// Takes over connected sockets, to send a reel of `commands` different ones.
    pub(crate) fn new(
        plan: &'a Plan,
        sockets: Vec<Socket>,
        reel: Reel,
        commands: usize,
        pacer: Option<Pacer>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(sockets.len());
        for (i, socket) in sockets.into_iter().enumerate() {
            let stream = Stream::register(&poll, i, socket)?;
            connections.push(Connection {
                stream,
                replies: Replies::Resp(Frames::default()),
                unsent: Vec::new(),
                sent: 0,
                owed: 0,
                place: 0,
                since_ns: 0,
            });
        }
        let timer = pacer.map(|_| Timer::new(poll.registry(), TIMER)).transpose()?;
        Ok(Driver {
            plan,
            poll,
            timer,
            idle: VecDeque::with_capacity(connections.len()),
            connections,
            reel,
            pacer,
            budget: 0,
            owed: 0,
            unreported: 0,
            tally: vec![0; commands],
            outcome: Outcome {
                commands: if commands > 1 { vec![Histogram::default(); commands] } else { vec![] },
                ..Outcome::default()
            },
            again: None,
        })
    }

    /// As [`Driver::new`], for HTTP.
    pub(crate) fn of_http(
        plan: &'a Plan,
        sockets: Vec<Socket>,
        reel: Reel,
        commands: usize,
        pacer: Option<Pacer>,
        (target, head_request): (&'a Target, bool),
    ) -> io::Result<Self> {
        let mut driver = Self::new(plan, sockets, reel, commands, pacer)?;
        for connection in &mut driver.connections {
            connection.replies = Replies::Http(Responses::new(head_request));
        }
        driver.again = Some((target, head_request));
        Ok(driver)
    }

    /// Makes a connection again that the server has closed. As many requests are sent as it left unanswered;
    /// their latency counts from when they were first due.
    fn reconnect(&mut self, i: usize) -> io::Result<()> {
        let Some((target, head_request)) = self.again else { return Ok(()) };
        let socket = target.connect().map_err(io::Error::other)?;
        let connection = &mut self.connections[i];
        connection.stream = Stream::register(&self.poll, i, socket)?;
        connection.replies = Replies::Http(Responses::new(head_request));
        connection.unsent.clear();
        connection.sent = 0;
        connection.place = self.reel.place();
        let mut wanted = connection.owed;
        while wanted > 0 {
            let (bytes, n) = self.reel.next(wanted as usize);
            connection.send(bytes)?;
            wanted -= n as u64;
        }
        Ok(())
    }

    /// Sends and receives until the plan is fulfilled and every reply is in.
    pub(crate) fn run(mut self, start: Instant) -> io::Result<Outcome> {
        let (ran, waited) = (sys::thread_cpu_ns(), sys::thread_waited_ns());
        let result = self.work(start);
        self.outcome.cpu.ran_ns = sys::thread_cpu_ns().saturating_sub(ran);
        self.outcome.cpu.waited_ns = sys::thread_waited_ns().saturating_sub(waited);
        match result {
            Ok(()) => Ok(self.outcome),
            Err(e) => {
                self.plan.failed.store(true, Relaxed);
                // What the server said before it hung up is most often why.
                Err(match self.outcome.errors.count {
                    0 => e,
                    _ => io::Error::new(
                        e.kind(),
                        format!("{e}, after the error reply: {}", self.outcome.errors.text()),
                    ),
                })
            }
        }
    }

    fn work(&mut self, start: Instant) -> io::Result<()> {
        let clock = || start.elapsed().as_nanos() as u64;
        let mut events = Events::with_capacity(1024);
        let mut buf = vec![0; BUFFER];
        let mut more = true;
        for i in 0..self.connections.len() {
            match self.pacer {
                Some(_) => self.idle.push_back(i),
                None => more = more && self.launch(i, clock(), None)?,
            }
        }
        let mut heard = Instant::now();
        let mut armed_ns = u64::MAX;
        while !self.plan.failed.load(Relaxed) {
            let mut wait = Duration::from_millis(500);
            if more && self.pacer.is_some() {
                more = self.launch_due(&clock)?;
                if more && let (Some(pacer), false) = (&self.pacer, self.idle.is_empty()) {
                    let ns = pacer.due_ns().saturating_sub(clock());
                    wait = wait.min(Duration::from_nanos(ns).max(Duration::from_millis(1)));
                    if let (Some(timer), true) = (&self.timer, Timer::WAKES && ns < 500_000_000) {
                        // Replies wake the poll as well, and the timer is still set then.
                        if armed_ns != pacer.due_ns() {
                            timer.arm(ns)?;
                            armed_ns = pacer.due_ns();
                        }
                        wait = Duration::from_millis(500);
                    }
                }
            }
            if self.owed == 0 && (!more || self.pacer.is_none()) {
                break;
            }
            match self.poll.poll(&mut events, Some(wait)) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            if events.is_empty() && self.owed > 0 && heard.elapsed() > PATIENCE {
                let text = format!("{} replies have not come in {PATIENCE:?}", self.owed);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            for event in &events {
                if event.token() != TIMER {
                    self.ready(event.token().0, &mut buf, &clock)?;
                }
            }
            if self.unreported > 0 {
                self.plan.done.fetch_add(self.unreported, Relaxed);
                self.unreported = 0;
                heard = Instant::now();
            }
        }
        Ok(())
    }

    /// Sends every bunch that is due while there are idle connections; whether more will come.
    fn launch_due(&mut self, clock: &impl Fn() -> u64) -> io::Result<bool> {
        let now = clock();
        if now >= self.plan.until_ns.saturating_add(GRACE_NS) {
            return Ok(false);
        }
        while let (Some(pacer), Some(i)) = (&mut self.pacer, self.idle.front().copied()) {
            if pacer.due_ns() >= self.plan.until_ns {
                return Ok(false);
            }
            let Some(due) = pacer.take(now) else {
                break;
            };
            self.idle.pop_front();
            if !self.launch(i, now, Some(due))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends the next pipeline on a connection; false when the plan is fulfilled.
    #[inline]
    fn launch(&mut self, i: usize, now_ns: u64, due_ns: Option<u64>) -> io::Result<bool> {
        if due_ns.unwrap_or(now_ns) >= self.plan.until_ns {
            return Ok(false);
        }
        if self.budget == 0 {
            let chunk = self.plan.chunk;
            let take = |left: u64| Some(left.saturating_sub(chunk));
            let left = self.plan.budget.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
            self.budget = left.min(chunk);
            if self.budget == 0 {
                return Ok(false);
            }
        }
        let connection = &mut self.connections[i];
        connection.since_ns = due_ns.unwrap_or(now_ns);
        let mut wanted = self.plan.depth.min(self.budget);
        self.budget -= wanted;
        self.owed += wanted;
        connection.owed += wanted;
        connection.place = self.reel.place();
        while wanted > 0 {
            let (bytes, n) = self.reel.next(wanted as usize);
            connection.send(bytes)?;
            wanted -= n as u64;
        }
        Ok(true)
    }

    /// Reads what has come on a connection, and sends its next pipeline.
    #[inline]
    fn ready(&mut self, i: usize, buf: &mut [u8], clock: &impl Fn() -> u64) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(i) else {
            return Ok(());
        };
        if !connection.unsent.is_empty() {
            connection.flush()?;
        }
        loop {
            let connection = &mut self.connections[i];
            let n = match connection.stream.read(buf) {
                // Nothing was owed: it was idle for too long.
                Ok(0) if self.again.is_some() && connection.owed == 0 => return self.reconnect(i),
                Ok(0) => {
                    let text = "the server closed a connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
                }
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let done = connection.replies.feed(&buf[..n], &mut self.outcome.errors);
            let done = done.map_err(io::Error::other)?;
            let closes = connection.replies.closes();
            if done > connection.owed {
                return Err(io::Error::other("more replies than requests"));
            }
            if done > 0 {
                let now = clock();
                let took = now.saturating_sub(connection.since_ns);
                self.outcome.latency.record(took, done);
                if !self.outcome.commands.is_empty() {
                    connection.place = self.reel.tally(connection.place, done, &mut self.tally);
                    for (histogram, n) in self.outcome.commands.iter_mut().zip(&mut self.tally) {
                        if *n > 0 {
                            histogram.record(took, std::mem::take(n));
                        }
                    }
                }
                self.outcome.ended_ns = now;
                connection.owed -= done;
                self.owed -= done;
                self.unreported += done;
                let owed = connection.owed;
                if closes {
                    self.reconnect(i)?;
                }
                if owed == 0 {
                    match self.pacer {
                        Some(_) => self.idle.push_back(i),
                        None => {
                            self.launch(i, now, None)?;
                        }
                    }
                }
            }
            if n < buf.len() || closes {
                return Ok(());
            }
        }
    }
}
