//! Servers that do less than a server must: the limit of what this way of doing I/O can reach.
//!
//! ```text
//! limit PORT REPLY-FILE echo REQUEST-BYTES    a reply for so many bytes, whatever they are
//! limit PORT REPLY-FILE parse                 a reply for every request, which is parsed
//! ```
//!
//! Both do what a worker thread of the server does around its commands (crates/server/src/net):
//! edge-triggered events, one receive buffer for all connections, reads that stop when they are
//! short, and one write for all replies of a batch. `echo` shows what the kernel takes, `parse` what
//! requests and replies take on top of it. What the server itself takes beyond that is its commands.
//! `tests/bench/performance.py` drives them.

#![expect(clippy::print_stderr, reason = "a benchmark says what is wrong")]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use resp::{Limits, Parsed, Parser, Span, Template};
use slab::Slab;

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

/// As in the server.
const INPUT: usize = 256 * 1024;
const LISTENER: Token = Token(usize::MAX);

struct Conn {
    stream: TcpStream,
    /// The beginning of a request whose end has not arrived.
    left: Vec<u8>,
    /// Replies that the socket has not taken.
    unsent: Vec<u8>,
}

/// How requests are separated.
enum Cut {
    /// By their number of bytes.
    Bytes(usize),
    /// By parsing, which remembers what the last one looked like.
    Parse { shape: Option<Template>, spans: Vec<Span>, owned: Vec<Vec<u8>> },
}

impl Cut {
    /// How many requests `input` begins with, and where they end. `None`: that is no request.
    fn requests(&mut self, input: &[u8]) -> Option<(usize, usize)> {
        let (shape, spans, owned) = match self {
            // A client may ask whether a server is there (PING, INFO) before it sends what was
            // agreed.
            Self::Bytes(n) if input.len() < *n && is_question(input) => {
                return Some((1, input.len()));
            }
            Self::Bytes(n) => return Some((input.len() / *n, input.len() / *n * *n)),
            Self::Parse { shape, spans, owned } => (shape, spans, owned),
        };
        let limits = Limits { bulk_max: 512 << 20, unauthenticated: false };
        let (mut n, mut pos) = (0, 0);
        loop {
            // The spans of a group, as the server keeps them.
            if n % 32 == 0 {
                spans.clear();
            }
            if let Some(s) = shape
                && let Some(end) = s.parse(input, pos, &limits, spans)
            {
                (n, pos) = (n + 1, end);
                continue;
            }
            match Parser::default().parse(&input[pos..], pos, &limits, spans, owned) {
                Parsed::Command(used) => {
                    *shape = Template::of(&input[pos..]);
                    (n, pos) = (n + 1, pos + used);
                }
                Parsed::Nothing(used) => pos += used,
                Parsed::Incomplete => return Some((n, pos)),
                Parsed::Big { .. } | Parsed::Error(_) => return None,
            }
        }
    }
}

fn is_question(input: &[u8]) -> bool {
    input.starts_with(b"*1\r\n") || input.starts_with(b"*2\r\n$4\r\nINFO")
}

/// Serves a readable connection. Returns whether it stays.
fn serve(c: &mut Conn, cut: &mut Cut, reply: &[u8], input: &mut [u8], out: &mut Vec<u8>) -> bool {
    loop {
        if !c.unsent.is_empty() {
            match c.stream.write(&c.unsent) {
                Ok(n) => drop(c.unsent.drain(..n)),
                Err(e) => return e.kind() == ErrorKind::WouldBlock,
            }
            continue;
        }
        let left = c.left.len();
        input[..left].copy_from_slice(&c.left);
        let room = input.len() - left;
        let n = match c.stream.read(&mut input[left..]) {
            Ok(0) => return false,
            Ok(n) => n,
            Err(e) => return e.kind() == ErrorKind::WouldBlock,
        };
        let Some((requests, end)) = cut.requests(&input[..left + n]) else { return false };
        c.left.clear();
        c.left.extend_from_slice(&input[end..left + n]);
        out.clear();
        for _ in 0..requests {
            out.extend_from_slice(reply);
        }
        if !out.is_empty() {
            let sent = match c.stream.write(out) {
                Ok(sent) => sent,
                Err(e) if e.kind() == ErrorKind::WouldBlock => 0,
                Err(_) => return false,
            };
            c.unsent.extend_from_slice(&out[sent..]);
        }
        if c.unsent.is_empty() && n < room {
            return true;
        }
    }
}

fn run(port: u16, mut cut: Cut, reply: &[u8]) -> io::Result<()> {
    let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut conns: Slab<Conn> = Slab::new();
    let (mut input, mut out) = (vec![0; INPUT], Vec::new());
    let mut events = Events::with_capacity(1024);
    loop {
        poll.poll(&mut events, None)?;
        for e in &events {
            if e.token() == LISTENER {
                while let Ok((mut stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    // As the server does on the loopback interface.
                    #[cfg(target_os = "linux")]
                    let _ = socket2::SockRef::from(&stream).set_tcp_congestion(b"reno");
                    let entry = conns.vacant_entry();
                    let both = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().register(&mut stream, Token(entry.key()), both)?;
                    entry.insert(Conn { stream, left: Vec::new(), unsent: Vec::new() });
                }
            } else if let Token(i) = e.token()
                && let Some(c) = conns.get_mut(i)
                && !serve(c, &mut cut, reply, &mut input, &mut out)
            {
                conns.remove(i);
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (port, file, cut) = match *words {
        [port, file, "echo", bytes] => (port, file, bytes.parse().ok().map(Cut::Bytes)),
        [port, file, "parse"] => {
            (port, file, Some(Cut::Parse { shape: None, spans: Vec::new(), owned: Vec::new() }))
        }
        _ => ("", "", None),
    };
    let (Ok(port), Some(cut)) = (port.parse(), cut) else {
        eprintln!("usage: limit PORT REPLY-FILE (echo REQUEST-BYTES | parse)");
        std::process::exit(2);
    };
    let end = std::fs::read(file).and_then(|reply| run(port, cut, &reply));
    if let Err(e) = end {
        eprintln!("limit: port {port}, replies of {file}: {e}");
        std::process::exit(1);
    }
}
