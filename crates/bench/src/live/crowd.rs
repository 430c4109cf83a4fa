//! The subscribers of a run: connections that one thread drives, and what they have seen.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, SockAddr, Socket, Type};

use super::frame;
use super::message::{Reader, Seen, Step, every, number};
use super::options::{Options, Place};
use super::publisher::Publisher;
use super::wire::{credentials, send, upgrade};
use crate::kv::histogram::Histogram;
use crate::kv::sys;

/// Bytes received at a time.
const BUFFER: usize = 256 * 1024;
/// Connections of one source address: an address has about 28,000 ports to connect from.
const PER_SOURCE: usize = 20_000;
/// Tokens from here on are publishers'.
const PUBLISHERS: usize = 1 << 32;
const TIMER: Token = Token(usize::MAX);
/// How often an open loop looks at what has arrived: delays are measured as accurately as this.
const LOOK_EVERY: Duration = Duration::from_micros(250);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    /// The head of the answer to the handshake is awaited.
    Upgrading,
    /// The reply to the subscription is awaited.
    Joining,
    Joined,
    Ended,
}

/// A subscriber.
struct Member {
    stream: TcpStream,
    state: State,
    /// The beginning of a frame whose end has not arrived.
    left: Vec<u8>,
    /// What the socket has not taken.
    out: Vec<u8>,
    channel: usize,
    begun: Instant,
    seen: Seen,
    offset: u64,
}

/// What is kept of a subscriber that drops.
pub(super) struct Dropped {
    channel: usize,
    seen: Seen,
    offset: u64,
}

/// What subscribers have seen.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) gaps: u64,
    pub(super) duplicates: u64,
    /// Connections that the server ended.
    pub(super) ended: u64,
    /// Why the first one was, or what the server said of an error.
    pub(super) note: Option<String>,
    /// From when a message was due, while it is measured.
    pub(super) latency: Histogram,
    /// From the beginning of a connection to its subscription.
    pub(super) joining: Histogram,
    /// Subscriptions that recovered, and that could not.
    pub(super) recovered: u64,
    pub(super) failed: u64,
}

/// A poll of nothing but its timer.
struct Pausing {
    poll: Poll,
    timer: sys::Timer,
    events: Events,
}

impl Pausing {
    fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = sys::Timer::new(poll.registry(), TIMER)?;
        Ok(Self { poll, timer, events: Events::with_capacity(1) })
    }
}

/// The subscribers of a run, and its publishers: they wait in the same poll.
pub(super) struct Crowd<'o> {
    o: &'o Options,
    place: &'o Place,
    at: SocketAddr,
    poll: Poll,
    events: Events,
    timer: sys::Timer,
    pausing: Pausing,
    members: Vec<Member>,
    pub(super) publishers: Vec<Publisher>,
    buffer: Vec<u8>,
    reader: Reader,
    every: u64,
    /// Of each channel.
    epochs: Vec<String>,
    joined: usize,
    recovering: bool,
    /// Whether delays are counted.
    pub(super) measuring: bool,
    pub(super) begin: Instant,
    pub(super) tally: Tally,
}

impl<'o> Crowd<'o> {
    pub(super) fn new(o: &'o Options, place: &'o Place, at: SocketAddr) -> io::Result<Self> {
        let poll = Poll::new()?;
        Ok(Self {
            o,
            place,
            at,
            timer: sys::Timer::new(poll.registry(), TIMER)?,
            pausing: Pausing::new()?,
            poll,
            events: Events::with_capacity(1024),
            members: Vec::new(),
            publishers: Vec::new(),
            buffer: vec![0; BUFFER],
            reader: Reader::new(o.storm > 0),
            every: every(o.channels as u64, o.publishers as u64),
            epochs: vec![String::new(); o.channels],
            joined: 0,
            recovering: false,
            measuring: false,
            begin: Instant::now(),
            tally: Tally::default(),
        })
    }

    /// Nanoseconds since the run began.
    pub(super) fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// Adds a publisher that is connected.
    pub(super) fn add_publisher(&mut self, mut publisher: Publisher) -> io::Result<()> {
        let token = Token(PUBLISHERS + self.publishers.len());
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(publisher.stream(), token, interest)?;
        self.publishers.push(publisher);
        Ok(())
    }

    /// Subscribes `count` new connections, `burst` at a time.
    ///
    /// # Errors
    /// The server refused one, or a minute has passed.
    pub(super) fn gather(&mut self, count: usize, burst: usize) -> Result<(), String> {
        let fresh = |n: usize| Dropped {
            channel: n % self.o.channels,
            seen: Seen::new(self.o.publishers),
            offset: 0,
        };
        self.admit((0..count).map(fresh).collect(), burst)
    }

    /// All connections drop.
    pub(super) fn drop_all(&mut self) -> Vec<Dropped> {
        self.joined = 0;
        let gone = self.members.drain(..);
        gone.map(|m| Dropped { channel: m.channel, seen: m.seen, offset: m.offset }).collect()
    }

    /// All of these come back and recover.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub(super) fn return_all(&mut self, all: Vec<Dropped>) -> Result<(), String> {
        self.recovering = true;
        self.tally.joining = Histogram::default();
        let burst = all.len();
        self.admit(all, burst)
    }

    fn admit(&mut self, all: Vec<Dropped>, burst: usize) -> Result<(), String> {
        let (wanted, begun) = (all.len(), Instant::now());
        let mut waiting = all.into_iter();
        while self.joined < wanted {
            while self.members.len() < (self.joined + burst).min(wanted)
                && let Some(one) = waiting.next()
            {
                self.open(one).map_err(|e| format!("connecting: {e}"))?;
            }
            self.turn(Some(Duration::from_millis(100))).map_err(|e| e.to_string())?;
            if self.tally.ended > 0 || begun.elapsed() > Duration::from_secs(60) {
                let note = self.tally.note.as_deref().unwrap_or("no reply in time");
                return Err(format!("{} of {wanted} subscribed; {note}", self.joined));
            }
        }
        Ok(())
    }

    fn open(&mut self, one: Dropped) -> io::Result<()> {
        let socket = Socket::new(Domain::for_address(self.at), Type::STREAM, None)?;
        let number = self.members.len();
        if number >= PER_SOURCE && self.at.ip() == Ipv4Addr::LOCALHOST {
            let source = Ipv4Addr::new(127, 0, 1, (number / PER_SOURCE) as u8);
            socket.bind(&SocketAddr::from((source, 0)).into())?;
        }
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&SockAddr::from(self.at)) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(e),
            _ => {}
        }
        let mut stream = TcpStream::from_std(socket.into());
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(number), interest)?;
        self.members.push(Member {
            stream,
            state: State::Connecting,
            left: Vec::new(),
            out: upgrade(self.place).into_bytes(),
            channel: one.channel,
            begun: Instant::now(),
            seen: one.seen,
            offset: one.offset,
        });
        Ok(())
    }

    /// Pauses, so long at most, and takes what has come meanwhile. During the pause no poll waits: to wake one costs a
    /// server on the same machine as much as the delivery itself, and no server has to wake a client that is elsewhere.
    pub(super) fn pause(&mut self, most: Duration) -> io::Result<()> {
        if !most.is_zero() {
            let most = most.min(LOOK_EVERY);
            let Pausing { poll, timer, events } = &mut self.pausing;
            timer.arm(most.as_nanos() as u64)?;
            let wait = (!sys::Timer::WAKES).then_some(most);
            match poll.poll(events, wait) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
        }
        self.turn(Some(Duration::ZERO))
    }

    /// Waits for what comes, so long at most, and takes it.
    pub(super) fn turn(&mut self, wait: Option<Duration>) -> io::Result<()> {
        // Waits that are shorter than a poll's milliseconds are the timer's.
        let wait = match wait {
            Some(wait) if sys::Timer::WAKES && !wait.is_zero() => {
                self.timer.arm(wait.as_nanos() as u64)?;
                None
            }
            other => other,
        };
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let polled = self.poll.poll(&mut events, wait);
        for event in &events {
            match event.token() {
                TIMER => {}
                Token(n) if n >= PUBLISHERS => {
                    let now_ready = self.publishers.get_mut(n - PUBLISHERS);
                    if let Some(publisher) = now_ready
                        && let Err(e) = publisher.turn(&mut self.buffer)
                    {
                        self.tally.ended += 1;
                        self.tally.note.get_or_insert(format!("a publisher: {e}"));
                    }
                }
                Token(n) => self.member(n, event.is_readable(), event.is_writable()),
            }
        }
        self.events = events;
        match polled {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            _ => Ok(()),
        }
    }

    fn member(&mut self, n: usize, readable: bool, writable: bool) {
        // An event may be of a connection that has dropped.
        let Some(member) = self.members.get_mut(n) else { return };
        if member.state == State::Ended {
            return;
        }
        let mut done = Ok(());
        if writable {
            if member.state == State::Connecting {
                member.state = State::Upgrading;
            }
            done = member.flush();
        }
        if readable && done.is_ok() {
            done = self.receive(n);
        }
        if let Err(why) = done {
            self.end(n, why);
        }
    }

    fn end(&mut self, n: usize, why: String) {
        let member = &mut self.members[n];
        self.joined -= usize::from(member.state == State::Joined);
        member.state = State::Ended;
        // The socket closes when the run ends; no further events of it are of interest.
        _ = self.poll.registry().deregister(&mut member.stream);
        self.tally.ended += 1;
        self.tally.note.get_or_insert(why);
    }

    fn receive(&mut self, n: usize) -> Result<(), String> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let got = self.members[n].stream.read(&mut buffer);
            let taken = match &got {
                Ok(len) => self.input(n, &buffer[..*len]),
                Err(_) => Ok(()),
            };
            self.buffer = buffer;
            taken?;
            match got {
                Ok(0) => return Err("the server closed a connection".to_owned()),
                // A short read of a stream has emptied it.
                Ok(len) if len < BUFFER => return Ok(()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("a connection: {e}")),
            }
        }
    }

    /// Takes what has arrived, and keeps what is not whole.
    fn input(&mut self, n: usize, input: &[u8]) -> Result<(), String> {
        let mut left = std::mem::take(&mut self.members[n].left);
        if left.is_empty() {
            let used = self.consume(n, input)?;
            left.extend_from_slice(&input[used..]);
        } else {
            left.extend_from_slice(input);
            let used = self.consume(n, &left)?;
            left.drain(..used);
        }
        // Connections that wait keep no memory of the load before.
        self.members[n].left = if left.is_empty() { Vec::new() } else { left };
        Ok(())
    }

    /// How many bytes were whole.
    fn consume(&mut self, n: usize, input: &[u8]) -> Result<usize, String> {
        let mut at = 0;
        if self.members[n].state == State::Upgrading {
            let Some(end) = memchr::memmem::find(input, b"\r\n\r\n") else { return Ok(0) };
            if !input.starts_with(b"HTTP/1.1 101") {
                let head = String::from_utf8_lossy(&input[..end.min(200)]);
                return Err(format!("the handshake is answered with {head}"));
            }
            at = end + 4;
            self.join(n)?;
        }
        let now_ns = self.now_ns();
        while let Some(got) = frame::read(&input[at..])? {
            at += got.len;
            match got.opcode {
                frame::CLOSE => {
                    let code = got.payload.first_chunk().map_or(0, |c| u16::from_be_bytes(*c));
                    let reason = String::from_utf8_lossy(got.payload.get(2..).unwrap_or(b""));
                    return Err(format!("the server closed a connection: {code} {reason}"));
                }
                frame::PING => {
                    let member = &mut self.members[n];
                    frame::write(&mut member.out, frame::PONG, got.payload);
                    member.flush()?;
                }
                frame::PONG => {}
                _ => {
                    for line in got.payload.split(|b| *b == b'\n') {
                        self.line(n, line, now_ns)?;
                    }
                }
            }
        }
        Ok(at)
    }

    /// Connects and subscribes.
    fn join(&mut self, n: usize) -> Result<(), String> {
        let member = &mut self.members[n];
        member.state = State::Joining;
        let mut subscribe = format!("\"channel\":\"{}\"", self.o.channel_name(member.channel));
        if self.recovering {
            let epoch = &self.epochs[member.channel];
            subscribe +=
                &format!(",\"recover\":true,\"epoch\":\"{epoch}\",\"offset\":{}", member.offset);
        }
        let text = format!(
            "{{\"id\":1,\"connect\":{{{}}}}}\n{{\"id\":2,\"subscribe\":{{{subscribe}}}}}",
            credentials(self.o)
        );
        frame::text(&mut member.out, &text);
        member.flush()
    }

    fn line(&mut self, n: usize, line: &[u8], now_ns: u64) -> Result<(), String> {
        if line.starts_with(b"{\"push\":{") {
            self.messages(n, line, now_ns);
            return Ok(());
        }
        if line == b"{}" {
            let member = &mut self.members[n];
            frame::text(&mut member.out, "{}");
            return member.flush();
        }
        if memchr::memmem::find(line, b"\"error\":{").is_some() {
            return Err(format!("the server says {}", String::from_utf8_lossy(line)));
        }
        if memchr::memmem::find(line, b"\"subscribe\":{").is_some() {
            self.joins(n, line, now_ns);
        }
        Ok(())
    }

    /// The reply to a subscription.
    fn joins(&mut self, n: usize, line: &[u8], now_ns: u64) {
        let member = &mut self.members[n];
        member.state = State::Joined;
        self.joined += 1;
        self.tally.joining.record(member.begun.elapsed().as_nanos() as u64, 1);
        if self.recovering {
            let recovered = memchr::memmem::find(line, b"\"recovered\":true").is_some();
            self.tally.recovered += u64::from(recovered);
            self.tally.failed += u64::from(!recovered);
            self.messages(n, line, now_ns);
            return;
        }
        if let Some(at) = memchr::memmem::find(line, b"\"epoch\":\"") {
            let epoch = line[at + 9..].split(|b| *b == b'"').next().unwrap_or(b"");
            self.epochs[member.channel] = String::from_utf8_lossy(epoch).into_owned();
        }
        if let Some(at) = memchr::memmem::rfind(line, b"\"offset\":") {
            member.offset = number(line, at + 9).0;
        }
    }

    /// Messages in a publication, or in the reply to a subscription that recovers.
    fn messages(&mut self, n: usize, line: &[u8], now_ns: u64) {
        let member = &mut self.members[n];
        let mut at = 0;
        while let Some(found) = self.reader.next(line, at) {
            at = found.end;
            self.tally.delivered += 1;
            if found.offset > 0 {
                member.offset = found.offset;
            }
            match member.seen.take(found.number, self.every) {
                Step::Next => {}
                Step::Gap(missing) => self.tally.gaps += missing,
                Step::Again => self.tally.duplicates += 1,
            }
            if self.measuring {
                self.tally.latency.record(now_ns.saturating_sub(found.due_ns), 1);
            }
        }
    }
}

impl Member {
    fn flush(&mut self) -> Result<(), String> {
        send(&mut self.stream, &mut self.out)
    }
}
