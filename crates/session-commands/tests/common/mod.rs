//! A server without sockets: an engine with one worker thread, time that stands still, and
//! connections that are byte strings in and out.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod grammar;

use std::sync::Arc;

use config::{Caller, Config};
use engine::log::Log;
use engine::{Endpoint, Engine, Mailbox, Message, Next, Options, Session, Thread};
use resp::{Out, Parser};
use stdx::clock::{Clock, VirtualClock};
use transcript::Reply;

/// The start of every test, in Unix milliseconds.
pub(crate) const START_MS: u64 = 1_770_000_000_000;

/// An engine and its only thread.
pub(crate) struct Server {
    pub(crate) engine: Arc<Engine>,
    pub(crate) thread: Thread,
    pub(crate) clock: VirtualClock,
}

impl Server {
    /// An empty server with these options set.
    pub(crate) fn with(options: &[(&str, &str)]) -> Self {
        testing::leave_the_sources();
        let mut server = Self::configured(Config::new(), None);
        for (name, value) in options {
            server.configure(name, value);
        }
        server
    }

    /// An empty server with this configuration, which came from a file.
    pub(crate) fn configured(config: Config, config_file: Option<std::path::PathBuf>) -> Self {
        testing::leave_the_sources();
        let (clock, hand) = Clock::simulated(START_MS);
        let engine = Engine::new(Options {
            config,
            commands: session_commands::ALL,
            durability: Arc::<durable::Durable>::default(),
            renames: Vec::new(),
            clock,
            log: Log::silent(),
            config_file,
            executable: String::new(),
        });
        let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
        let thread = Thread::new(&engine, index, worker);
        Self { engine, thread, clock: hand }
    }

    /// An empty server as it comes.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// CONFIG SET.
    pub(crate) fn configure(&mut self, name: &str, value: &str) {
        let pairs: &[(&[u8], &[u8])] = &[(name.as_bytes(), value.as_bytes())];
        self.engine
            .config
            .set(pairs, Caller::default(), &mut |_, _| Ok(()))
            .expect("an option with its value");
        self.engine.config_changed();
    }

    /// Lets time pass.
    pub(crate) fn wait_ms(&mut self, ms: u64) {
        self.clock.advance_ms(ms);
        self.thread.sync_clock(&self.engine.clock);
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Conn {
        static PORT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(1);
        let port = PORT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let endpoint = Endpoint {
            peer: format!("127.0.0.1:{port}").into(),
            local: "127.0.0.1:6379".into(),
            unix: false,
            loopback: true,
            fd: 7,
        };
        Conn {
            session: Session::new(&self.engine, self.thread.index, endpoint),
            parser: Parser::default(),
            input: Vec::new(),
            closed: false,
            waiting: false,
        }
    }

    /// Delivers `bytes` to the connection. Returns the bytes that it sends back.
    pub(crate) fn feed(&mut self, c: &mut Conn, mut bytes: &[u8]) -> Vec<u8> {
        let mut sent = Vec::new();
        if c.closed {
            return sent;
        }
        if c.waiting {
            c.input.extend_from_slice(bytes);
            return sent;
        }
        loop {
            // A large argument goes to where the parser wants it.
            let mut whole = true;
            while let Some((big, missing)) = c.parser.big() {
                let n = missing.min(bytes.len()).min(big.capacity() - big.len());
                if n == 0 {
                    whole = false;
                    break;
                }
                big.extend_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
            }
            if !whole {
                return sent;
            }
            c.input.extend_from_slice(bytes);
            bytes = &[];
            let mut out = Out::default();
            let batch =
                self.thread.run(&self.engine, &mut c.session, &mut c.parser, &c.input, &mut out);
            sent.extend_from_slice(&out.join());
            c.input.drain(..batch.consumed);
            match batch.next {
                Next::Read => return sent,
                Next::Flush => {}
                Next::ReadBig => assert!(c.input.is_empty(), "the parser has taken it over"),
                Next::Wait | Next::Block => {
                    c.waiting = true;
                    return sent;
                }
                Next::Close => {
                    c.closed = true;
                    return sent;
                }
            }
        }
    }

    /// Sends one command given as words. Returns the bytes of its reply.
    pub(crate) fn send(&mut self, c: &mut Conn, line: &str) -> String {
        let reply = self.feed(c, &request(line));
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// The messages to the thread; a pause that has ended lets `c` go on.
    pub(crate) fn deliver(&mut self, c: &mut Conn) -> Vec<u8> {
        let mut sent = Vec::new();
        for message in self.thread.worker().mailbox.take() {
            match message {
                Message::Resume => {
                    c.waiting = false;
                    sent.extend_from_slice(&self.feed(c, b""));
                }
                Message::Answer(id, bytes) => {
                    if id == c.session.client.id {
                        c.session.unblocked();
                        c.waiting = false;
                        sent.extend_from_slice(&bytes);
                        sent.extend_from_slice(&self.feed(c, b""));
                    }
                }
                Message::Pieces(id, out) => {
                    if id == c.session.client.id {
                        c.session.unblocked();
                        c.waiting = false;
                        sent.extend_from_slice(&out.join());
                        sent.extend_from_slice(&self.feed(c, b""));
                    }
                }
                Message::Close(id) if id == c.session.client.id => c.closed = true,
                Message::Run(job) => {
                    job.run(&self.engine, &mut self.thread);
                    sent.extend_from_slice(&self.deliver(c));
                }
                Message::Close(_) | Message::Fed(_) | Message::Purge | Message::Wakes(_) => {}
                Message::Push(id, bytes) => {
                    if id == c.session.client.id {
                        sent.extend_from_slice(&bytes);
                    }
                }
            }
        }
        sent
    }
}

/// A connection.
pub(crate) struct Conn {
    pub(crate) session: Session,
    pub(crate) parser: Parser,
    /// Input that is not consumed yet.
    pub(crate) input: Vec<u8>,
    pub(crate) closed: bool,
    /// Waits for a pause to end.
    pub(crate) waiting: bool,
}

/// A request from words.
pub(crate) fn array<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A request from a line, quoted as in redis-cli.
pub(crate) fn request(line: &str) -> Vec<u8> {
    array(&transcript::split_args(line).expect("a line of words"))
}

/// All replies in `bytes`, which must be well formed and whole.
pub(crate) fn replies(mut bytes: &[u8]) -> Vec<Reply> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let reply = transcript::decode(&mut bytes).expect("well-formed RESP");
        found.push(reply.expect("whole replies"));
    }
    found
}
