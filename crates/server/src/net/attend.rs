//! What a stuck thread does for its connections.
//!
//! While a script does not end, or a command waits for what such a script holds, the thread cannot get
//! back to its event loop. From within, every now and then, it looks at its other connections: their
//! commands are answered with BUSY, and SCRIPT KILL ends the script. That goes past the connections'
//! own state, which is borrowed further up the stack: only sockets of which nothing is under way are
//! touched, whole commands alone are taken from them, and what needs the thread stays where it is. Commands
//! that change their session only (HELLO, AUTH) are answered, and the session follows later.

#![expect(unsafe_code, reason = "borrows sockets by their number")]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::Client;
use resp::{Args, Limits, Parsed, Parser};
use socket2::SockRef;

use super::worker::Inbox;
use crate::Shared;

/// What is looked at of a connection's input, in bytes.
const LOOK: usize = 16 * 1024;

/// See the module's text.
pub(crate) struct Attendant {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    thread: usize,
    /// Monotonic nanoseconds of the last look.
    last: Cell<u64>,
}

/// Time between two looks, in nanoseconds.
const PAUSE_NS: u64 = 5_000_000;

impl Attendant {
    pub(crate) fn new(shared: Arc<Shared>, inbox: Arc<Inbox>, thread: usize) -> Self {
        Self { shared, inbox, thread, last: Cell::new(0) }
    }

    /// Looks after all connections of the thread once.
    pub(crate) fn attend(&self) {
        let engine = &self.shared.engine;
        let now = engine.clock.monotonic_ns();
        if !engine.is_busy() || now < self.last.get() + PAUSE_NS {
            return;
        }
        self.last.set(now);
        for a in self.inbox.arrivals().iter_mut() {
            a.begin(engine, self.thread);
        }
        for c in engine.clients.all() {
            if c.thread != self.thread {
                continue;
            }
            engine.do_held_kill(&c);
            if is_untouched(&c) {
                let Ok(fd) = RawFd::try_from(c.endpoint.fd) else { continue };
                // SAFETY: the connection belongs to this very thread, which is here: it is open.
                let socket = unsafe { BorrowedFd::borrow_raw(fd) };
                let mut answer = |args: &Args<'_>| engine.answer_busy(&c, args);
                let socket = SockRef::from(&socket);
                serve(&socket, &mut answer);
                if c.closing.load(Relaxed) {
                    // The thread closes it when it can; the client sees the end now.
                    let _ = socket.shutdown(std::net::Shutdown::Write);
                }
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
fn serve(socket: &SockRef<'_>, answer: Answer<'_>) {
    let mut space = [MaybeUninit::<u8>::uninit(); LOOK];
    let Ok(n) = socket.peek(&mut space) else { return };
    // SAFETY: `peek` has written so many bytes.
    let input = unsafe { std::slice::from_raw_parts(space.as_ptr().cast::<u8>(), n) };
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
                if socket.send(&reply).ok() != Some(reply.len()) {
                    // A socket that takes no short reply is one that nobody reads from.
                    break;
                }
                consumed += end;
            }
            _ => break,
        }
    }
    let mut left = consumed;
    while left > 0 {
        let Ok(n @ 1..) = socket.recv(&mut space[..left.min(LOOK)]) else { break };
        left -= n;
    }
}
