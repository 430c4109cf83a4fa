//! One run: subscribers on a few threads, a thread per publisher.
//!
//! A message begins with the time at which it was sent (or was due), in nanoseconds since the run
//! began and sixteen hexadecimal digits. Channels have names of one length and messages one size, so
//! that every message comes in as many bytes as the others: receiving is counting bytes and reading
//! the time of each message, which costs the client next to nothing.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::{Events, Interest, Poll, Token};

use super::options::{Mode, Options};
use crate::kv::client::{Login, Socket, Target, call};
use crate::kv::histogram::Histogram;
use crate::kv::sys;
use crate::kv::tls::Secured;

/// Bytes received at a time.
const BUFFER: usize = 64 * 1024;
/// A server from which nothing comes for so long, although something is due, is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// What each subscriber sends when all is published: its answer comes behind all messages before it.
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Digits of a message's time.
const STAMP: usize = 16;

/// What one run has measured.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) seconds: f64,
    pub(super) messages: u64,
    pub(super) deliveries: u64,
    /// Deliveries that the server promised and that did not come before it answered PING.
    pub(super) lost: u64,
    pub(super) latency: Histogram,
    /// CPU time of the server's process, if it is on this machine and known.
    pub(super) server_cpu_ns: Option<u64>,
    /// CPU time of the receiving threads.
    pub(super) client_cpu_ns: u64,
}

/// What the threads of a run share.
struct Shared {
    begin: Instant,
    /// Deliveries that publishes were answered with.
    promised: AtomicU64,
    delivered: AtomicU64,
    /// Raised when no publisher publishes any more.
    published: AtomicBool,
    /// Raised when a thread failed, so that the others end.
    failed: AtomicBool,
}

fn channel(number: usize) -> String {
    format!("bench:{number:07}")
}

/// What comes before the message in what subscribers to `channel` get.
fn head(o: &Options, resp3: bool, channel: &str) -> String {
    let mark = if resp3 { '>' } else { '*' };
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    let size = o.size;
    match o.mode {
        Mode::Channel => format!("{mark}3\r\n{}{}${size}\r\n", bulk("message"), bulk(channel)),
        Mode::Shard => format!("{mark}3\r\n{}{}${size}\r\n", bulk("smessage"), bulk(channel)),
        Mode::Pattern => {
            let pattern = format!("{channel}*");
            format!("{mark}4\r\n{}{}{}${size}\r\n", bulk("pmessage"), bulk(&pattern), bulk(channel))
        }
    }
}

/// A socket that a poll can watch.
trait Stream: Read + Write + Source {}
impl<T: Read + Write + Source> Stream for T {}

struct Subscriber {
    stream: Box<dyn Stream + Send>,
    /// What the head of each message must be.
    head: Vec<u8>,
    /// The beginning of a message whose end has not arrived.
    left: Vec<u8>,
    /// What answers PING, which is shorter than any message.
    pong: &'static [u8],
}

impl Subscriber {
    fn connect(o: &Options, target: &Target, number: usize) -> Result<Self, String> {
        let mut socket = target.connect()?;
        let channel = channel(number % o.channels);
        let pattern = format!("{channel}*");
        let request = match o.mode {
            Mode::Channel => ["SUBSCRIBE", &channel],
            Mode::Pattern => ["PSUBSCRIBE", &pattern],
            Mode::Shard => ["SSUBSCRIBE", &channel],
        };
        let named = |e: io::Error| format!("{}: {e}", target.address);
        let reply = if target.login.resp3 {
            // What answers there is no reply but a push, so that another reply must show the end.
            let [command, name] = request;
            let text =
                format!("*2\r\n${}\r\n{command}\r\n${}\r\n{name}\r\n", command.len(), name.len());
            socket.write_all(text.as_bytes()).map_err(named)?;
            call(&mut socket, &["PING"]).map_err(named)?
        } else {
            call(&mut socket, &request).map_err(named)?
        };
        if let Some(e) = reply.strip_prefix(b"-") {
            return Err(format!("{}: {}", target.address, String::from_utf8_lossy(e).trim_end()));
        }
        let stream: io::Result<Box<dyn Stream + Send>> = match socket {
            Socket::Tcp(s) => s
                .set_nonblocking(true)
                .map(|()| Box::new(mio::net::TcpStream::from_std(s)) as Box<dyn Stream + Send>),
            Socket::Unix(s) => s
                .set_nonblocking(true)
                .map(|()| Box::new(mio::net::UnixStream::from_std(s)) as Box<dyn Stream + Send>),
            Socket::Tls(s) => {
                Secured::from_blocking(*s).map(|s| Box::new(s) as Box<dyn Stream + Send>)
            }
        };
        let stream = stream.map_err(|e| e.to_string())?;
        let head = head(o, target.login.resp3, &channel).into_bytes();
        let pong: &[u8] =
            if target.login.resp3 { b"+PONG\r\n" } else { b"*2\r\n$4\r\npong\r\n$0\r\n\r\n" };
        Ok(Self { stream, head, left: Vec::new(), pong })
    }

    /// Counts the messages in `input` and how long each took. Returns how many there were.
    fn take(
        &mut self,
        input: &[u8],
        size: usize,
        now_ns: u64,
        latency: &mut Histogram,
    ) -> Result<u64, String> {
        let frame = self.head.len() + size + 2;
        let mut messages = 0;
        let mut rest = input;
        if !self.left.is_empty() {
            let missing = (frame - self.left.len()).min(rest.len());
            self.left.extend_from_slice(&rest[..missing]);
            rest = &rest[missing..];
            if self.left.len() < frame {
                return Ok(0);
            }
            note(&self.left, &self.head, now_ns, latency)?;
            messages += 1;
            self.left.clear();
        }
        let mut frames = rest.chunks_exact(frame);
        for f in frames.by_ref() {
            note(f, &self.head, now_ns, latency)?;
            messages += 1;
        }
        self.left.extend_from_slice(frames.remainder());
        Ok(messages)
    }
}

fn note(frame: &[u8], head: &[u8], now_ns: u64, latency: &mut Histogram) -> Result<(), String> {
    let stamp = frame.strip_prefix(head).and_then(|m| m.get(..STAMP));
    let sent = stamp.and_then(|s| u64::from_str_radix(std::str::from_utf8(s).ok()?, 16).ok());
    let Some(sent) = sent else {
        let text = String::from_utf8_lossy(&frame[..frame.len().min(80)]).into_owned();
        return Err(format!("this is no message: {text:?}"));
    };
    latency.record(now_ns.saturating_sub(sent), 1);
    Ok(())
}

/// Why a subscriber's connection has ended.
const CLOSED: &str = "the server closed a subscriber's connection";

/// Receives until each subscriber's PING is answered. Returns delays and the thread's CPU time.
fn receive(
    o: &Options,
    shared: &Shared,
    mut subscribers: Vec<Subscriber>,
) -> Result<(Histogram, u64), String> {
    let text = |e: io::Error| e.to_string();
    let mut poll = Poll::new().map_err(text)?;
    for (i, s) in subscribers.iter_mut().enumerate() {
        poll.registry().register(&mut s.stream, Token(i), Interest::READABLE).map_err(text)?;
    }
    let mut events = Events::with_capacity(1024);
    let (mut buffer, mut latency) = (vec![0; BUFFER], Histogram::default());
    let cpu = sys::thread_cpu_ns();
    let (mut pinged, mut answered, mut last) = (false, 0, Instant::now());
    loop {
        match poll.poll(&mut events, Some(Duration::from_millis(20))) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(text(e)),
            _ => {}
        }
        for event in &events {
            let Some(s) = subscribers.get_mut(event.token().0) else { continue };
            loop {
                let n = match s.stream.read(&mut buffer) {
                    Ok(0) => return Err(CLOSED.to_owned()),
                    Ok(n) => n,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(format!("{CLOSED}: {e}")),
                };
                let now = since(shared.begin);
                last = Instant::now();
                let messages = s.take(&buffer[..n], o.size, now, &mut latency)?;
                shared.delivered.fetch_add(messages, Relaxed);
                answered += usize::from(pinged && s.left == s.pong);
                if n < buffer.len() {
                    break;
                }
            }
        }
        if shared.failed.load(Relaxed) {
            break;
        }
        if !pinged && shared.published.load(Relaxed) {
            (pinged, last) = (true, Instant::now());
            for s in &mut subscribers {
                s.stream.write_all(PING).map_err(|e| format!("{CLOSED}: {e}"))?;
            }
        }
        if pinged && answered == subscribers.len() {
            break;
        }
        if pinged && last.elapsed() > PATIENCE {
            return Err(format!(
                "{} subscribers are silent for {} s",
                subscribers.len() - answered,
                PATIENCE.as_secs()
            ));
        }
    }
    Ok((latency, sys::thread_cpu_ns() - cpu))
}

fn since(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Publishes until time is over. Returns how many messages.
fn publish(
    o: &Options,
    depth: usize,
    shared: &Shared,
    mut socket: Socket,
    number: usize,
) -> Result<u64, String> {
    let text = |e: io::Error| e.to_string();
    let command = if o.mode == Mode::Shard { "SPUBLISH" } else { "PUBLISH" };
    let until = o.duration.as_nanos() as u64;
    // Each publisher has its share of the rate, and they are spread evenly.
    let step = o.rate.map(|r| 1e9 * o.publishers as f64 / r as f64);
    let (mut sent, mut next) = (0u64, number % o.channels);
    let (mut out, mut input) = (Vec::new(), vec![0; BUFFER]);
    while !shared.failed.load(Relaxed) {
        let due = |n: u64| {
            let offset = number as f64 / o.publishers as f64;
            step.map(|step| ((n as f64 + offset) * step) as u64)
        };
        let now = since(shared.begin);
        let mut batch = depth as u64;
        if let Some(at) = due(sent) {
            if at >= until {
                break;
            }
            if at > now {
                std::thread::sleep(Duration::from_nanos(at - now));
                continue;
            }
            // Those that are due by now, at most as many as may be sent at once.
            batch = (1..batch).find(|n| due(sent + n).is_some_and(|at| at > now)).unwrap_or(batch);
        } else if now >= until {
            break;
        }
        out.clear();
        for n in 0..batch {
            let stamp = due(sent + n).unwrap_or(now);
            let channel = channel(next);
            next = (next + 1) % o.channels;
            let name = format!("${}\r\n{command}", command.len());
            let head =
                format!("*3\r\n{name}\r\n${}\r\n{channel}\r\n${}\r\n", channel.len(), o.size);
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(format!("{stamp:016x}").as_bytes());
            out.resize(out.len() + o.size - STAMP, b'x');
            out.extend_from_slice(b"\r\n");
        }
        socket.write_all(&out).map_err(text)?;
        sent += batch;
        let mut answers = Vec::new();
        while answers.iter().filter(|b| **b == b'\n').count() < batch as usize {
            let n = socket.read(&mut input).map_err(text)?;
            if n == 0 {
                return Err("the server closed a publisher's connection".to_owned());
            }
            answers.extend_from_slice(&input[..n]);
        }
        let answers = String::from_utf8_lossy(&answers);
        let mut receivers = 0;
        for line in answers.lines() {
            let n = line.strip_prefix(':').and_then(|n| n.parse::<u64>().ok());
            receivers += n.ok_or_else(|| format!("{command} was answered {line:?}"))?;
        }
        shared.promised.fetch_add(receivers, Relaxed);
    }
    Ok(sent)
}

/// How many connections the server has closed because of their output limit so far, if it says so.
fn cut_off(target: &Target) -> Option<u64> {
    let login = Login { resp3: false, ..target.login.clone() };
    let mut socket = Target { login, ..target.clone() }.connect().ok()?;
    let info = call(&mut socket, &["INFO", "stats"]).ok()?;
    let info = String::from_utf8_lossy(&info);
    let n = info.lines().find_map(|l| l.strip_prefix("client_output_buffer_limit_disconnections:"));
    n?.trim().parse().ok()
}

/// Runs the threads of publishers, one per socket, and of subscribers, one per group. Returns the number of
/// messages that were sent, and what each group of subscribers measured: latencies and CPU nanoseconds.
fn run_threads(
    o: &Options,
    depth: usize,
    shared: &Shared,
    groups: Vec<Vec<Subscriber>>,
    sockets: Vec<Socket>,
) -> Result<(u64, Vec<(Histogram, u64)>), String> {
    std::thread::scope(|scope| {
        let failing = |failed: bool| {
            if failed {
                shared.failed.store(true, Relaxed);
            }
        };
        let receivers: Vec<_> = groups
            .into_iter()
            .map(|group| {
                scope.spawn(move || {
                    let result = receive(o, shared, group);
                    failing(result.is_err());
                    result
                })
            })
            .collect();
        let publishers: Vec<_> = sockets
            .into_iter()
            .enumerate()
            .map(|(number, socket)| {
                scope.spawn(move || {
                    let result = publish(o, depth, shared, socket, number);
                    failing(result.is_err());
                    result
                })
            })
            .collect();
        let panicked = || "a thread has panicked".to_owned();
        let sent: Vec<_> =
            publishers.into_iter().map(|p| p.join().unwrap_or_else(|_| Err(panicked()))).collect();
        shared.published.store(true, Relaxed);
        let got: Vec<_> =
            receivers.into_iter().map(|r| r.join().unwrap_or_else(|_| Err(panicked()))).collect();
        let messages = sent.into_iter().sum::<Result<u64, String>>()?;
        let got = got.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok((messages, got))
    })
}

/// One run against one server.
pub(super) fn run(o: &Options, target: &Target, depth: usize) -> Result<Run, String> {
    sys::raise_file_limit((o.subscribers + o.publishers) as u64 + 64);
    let pid = o.pid.or_else(|| target.local_pid());
    let mut groups: Vec<Vec<Subscriber>> = (0..o.threads).map(|_| Vec::new()).collect();
    for number in 0..o.subscribers {
        groups[number % o.threads].push(Subscriber::connect(o, target, number)?);
    }
    // Answers to publishes are the same in both versions.
    let login = Login { resp3: false, ..target.login.clone() };
    let publisher = Target { login, ..target.clone() };
    let sockets: Vec<Socket> =
        (0..o.publishers).map(|_| publisher.connect()).collect::<Result<_, _>>()?;
    let cut = cut_off(target);
    let before = pid.map(sys::process_cpu);
    let shared = &Shared {
        begin: Instant::now(),
        promised: AtomicU64::new(0),
        delivered: AtomicU64::new(0),
        published: AtomicBool::new(false),
        failed: AtomicBool::new(false),
    };
    let outcome = run_threads(o, depth, shared, groups, sockets);
    let seconds = shared.begin.elapsed().as_secs_f64();
    let (messages, got) = outcome.map_err(|e| {
        let mut text = format!("{}: {e}", target.address);
        let now = if e.starts_with(CLOSED) { cut_off(target) } else { None };
        if let Some(n) = cut.zip(now).map(|(before, now)| now.saturating_sub(before))
            && n > 0
        {
            text += &format!(
                "\nIt has cut off {n} connections that were beyond client-output-buffer-limit: the \
                 subscribers take messages more slowly than they are published."
            );
        }
        text
    })?;
    let after = pid.map(sys::process_cpu);
    let server = before.zip(after).and_then(|(b, a)| sys::cpu_between(&b, &a));
    let (mut latency, mut client_cpu_ns) = (Histogram::default(), 0);
    for (histogram, cpu) in &got {
        latency.merge(histogram);
        client_cpu_ns += cpu;
    }
    let deliveries = shared.delivered.load(Relaxed);
    Ok(Run {
        seconds,
        messages,
        deliveries,
        lost: shared.promised.load(Relaxed).saturating_sub(deliveries),
        latency,
        server_cpu_ns: server.map(|(ran, _)| ran),
        client_cpu_ns,
    })
}
