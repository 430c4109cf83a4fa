//! How a stuck thread serves its connections.
//!
//! While a script does not end, or a command waits for shards that such a script has locked, the thread
//! cannot get back to its event loop. From within, every now and then, it looks at its other connections:
//! their commands are answered with BUSY, and SCRIPT KILL ends the script. That goes past the connections'
//! own state, which is borrowed further up the stack: only sockets with no work under way are touched,
//! whole commands alone are taken from them, and commands that need the thread stay where they are.
//! Commands that change their session only (HELLO, AUTH) are answered, and the session follows later. Each
//! socket has two owners for that: its connection, and [`Sockets`](super::inbox::Sockets).

use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::Client;
use resp::{Args, Limits, Parsed, Parser};

use super::Stream;
use super::inbox::Inbox;
use super::listen::Door;
use super::tls::is_refused;
use crate::Shared;

/// The part of a connection's input that is read, in bytes.
const LOOK: usize = 16 * 1024;

/// See the module's text.
pub(crate) struct StuckResponder {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    thread: usize,
    /// Monotonic nanoseconds of the last look.
    last: Cell<u64>,
}

/// Time between two looks, in nanoseconds.
const PAUSE_NS: u64 = 5_000_000;

impl StuckResponder {
    pub(crate) fn new(shared: Arc<Shared>, inbox: Arc<Inbox>, thread: usize) -> Self {
        Self { shared, inbox, thread, last: Cell::new(0) }
    }

    /// Serves all connections of the thread once.
    pub(crate) fn look(&self) {
        let engine = &self.shared.engine;
        let now = engine.clock.monotonic_ns();
        if !engine.is_busy() || now < self.last.get() + PAUSE_NS {
            return;
        }
        self.last.set(now);
        for a in self.inbox.arrivals().iter_mut().filter(|a| a.door != Door::Web) {
            let client = a.begin(engine, self.thread);
            self.look_at(&client, &a.stream);
        }
        // A copy: an answer may evict clients, which looks into the list again.
        let known = self.inbox.sockets.all();
        for (client, stream) in &known {
            self.look_at(client, stream);
        }
    }

    /// Serves one connection.
    fn look_at(&self, c: &Client, stream: &Stream) {
        let engine = &self.shared.engine;
        engine.do_paused_kill(c);
        if is_untouched(c) && !(stream.is_tls() && is_refused(engine, &c.endpoint)) {
            serve(stream, &mut |args: &Args<'_>| engine.answer_busy(c, args));
            if c.closing.load(Relaxed) {
                // The thread closes it when it can; the client sees the end now.
                stream.finish();
            }
        }
    }
}

/// Whether nothing of the connection's input has been read that was not answered, and all its replies
/// have been sent.
fn is_untouched(c: &Client) -> bool {
    c.query_bytes.load(Relaxed) == 0
        && c.output_bytes.load(Relaxed) == 0
        && !c.paused.load(Relaxed)
        && !c.closing.load(Relaxed)
        && c.blocked.lock().is_none()
}

type Answer<'a> = &'a mut dyn FnMut(&Args<'_>) -> Option<Vec<u8>>;

/// Answers the whole commands at the start of a socket's input, up to one that has to wait.
fn serve(mut socket: &Stream, answer: Answer<'_>) {
    let mut space = [0; LOOK];
    let Ok(n) = socket.peek(&mut space) else { return };
    let input = &space[..n];
    let mut consumed = 0;
    // Nothing large is taken apart here: that waits for the thread.
    let limits = Limits { bulk_max: LOOK, unauthenticated: true };
    while consumed < n {
        let (mut parser, mut spans, mut owned) = (Parser::default(), Vec::new(), Vec::new());
        let rest = &input[consumed..];
        match parser.parse(rest, 0, &limits, &mut spans, &mut owned) {
            Parsed::Nothing(end) if end > 0 => consumed += end,
            Parsed::Command(end) => {
                let Some(reply) = answer(&Args::new(rest, &spans, &mut owned)) else { break };
                if socket.write_whole(&reply).is_err() {
                    break;
                }
                consumed += end;
            }
            _ => break,
        }
    }
    let mut left = consumed;
    while left > 0 {
        let Ok(n @ 1..) = socket.read(&mut space[..left.min(LOOK)]) else { break };
        left -= n;
    }
}
