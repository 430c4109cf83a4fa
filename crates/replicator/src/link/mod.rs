//! The thread that follows a primary.
//!
//! It connects, drives the handshake ([`replication::link::Link`]), and executes the stream itself, on a thread
//! of the engine without connections. A full copy goes into a file first, so that the data stays until the
//! copy is whole; the first worker then loads it in place of all data, and its clients wait meanwhile. Where the
//! primary can, the copy comes on a connection of its own, and the stream waits here instead of there.
//!
//! * `follower`: one connection to the primary after the other.
//! * `copy`: full copies, and `beside` those on a second connection.
//! * `proving`: whether a copy is whole.
//! * `stream`: the stream is executed.
//! * `reports`: what a connection has reported.

mod beside;
mod copy;
mod follower;
mod proving;
mod reports;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Closer, Endpoint, Engine, Job, Mailbox, Message, Peer, Session, Thread};
use parking_lot::Mutex;
use replication::link::RETRY_MS;

use crate::replicas::Registry;
use crate::stale::note_link;
use crate::synced::Synced;

use follower::Follower;

/// How long the thread waits for bytes before it looks at the time, and whether it is to stop.
const TICK: Duration = Duration::from_millis(100);
/// How long the thread waits for the disk before it looks for more bytes.
const DISK: Duration = Duration::from_millis(5);
/// How long a connection may take to be made.
const CONNECTING: Duration = Duration::from_secs(5);
/// Bytes of one read.
const INPUT: usize = 256 << 10;

/// The primary of this server, if it has one.
#[derive(Default)]
pub struct Following {
    present: Mutex<Option<Present>>,
}

/// A primary, and the thread that follows it.
type Present = (Arc<Primary>, Option<JoinHandle<()>>);

/// Ends what is followed. The thread ends by itself; its handle is for the one that comes next.
fn leave(present: &mut Option<Present>) -> Option<JoinHandle<()>> {
    let (primary, thread) = present.take()?;
    primary.stop();
    thread
}

/// A primary that is followed, as others see it.
pub struct Primary {
    /// Its address.
    pub host: String,
    /// Its port.
    pub port: u16,
    stops: AtomicBool,
    /// Ends the connection that is there, so that the thread need not find out by itself that it is to stop.
    closer: Mutex<Option<Closer>>,
    up: AtomicBool,
    getack: AtomicBool,
    /// The database that its stream has selected.
    db: AtomicUsize,
    /// What ROLE says of the link.
    state: Mutex<&'static str>,
    /// Unix milliseconds: when it last said something, and since when the link is down; 0 for never.
    heard_ms: AtomicI64,
    down_since_ms: AtomicI64,
    /// Bytes of the copy that arrives, in all (0: not known) and so far.
    transfer: Mutex<(u64, u64)>,
    /// When a piece of the copy has last arrived, in Unix milliseconds; 0: never.
    copy_heard_ms: AtomicI64,
    /// Up to which offset the stream has arrived; -1: it has not.
    read: AtomicI64,
    /// Bytes of the stream that wait for a copy to be loaded, and the most that ever did.
    held: AtomicU64,
    held_most: AtomicU64,
}

impl Primary {
    fn new(engine: &Engine, host: String, port: u16) -> Self {
        Self {
            host,
            port,
            stops: AtomicBool::new(false),
            closer: Mutex::default(),
            up: AtomicBool::new(false),
            getack: AtomicBool::new(false),
            db: AtomicUsize::new(engine.replication.stream_db()),
            state: Mutex::new("connect"),
            heard_ms: AtomicI64::new(0),
            down_since_ms: AtomicI64::new(0),
            transfer: Mutex::default(),
            copy_heard_ms: AtomicI64::new(0),
            read: AtomicI64::new(-1),
            held: AtomicU64::new(0),
            held_most: AtomicU64::new(0),
        }
    }

    /// Has the thread stop, and ends its connection: the primary no longer counts this replica.
    fn stop(&self) {
        self.stops.store(true, Relaxed);
        if let Some(close) = self.closer.lock().take() {
            close();
        }
    }

    /// What ROLE says of the link.
    pub fn state(&self) -> &'static str {
        *self.state.lock()
    }

    /// Whether the stream arrives.
    pub fn is_up(&self) -> bool {
        self.up.load(Relaxed)
    }

    /// When it last said something, in Unix milliseconds; 0: never.
    pub fn heard_ms(&self) -> i64 {
        self.heard_ms.load(Relaxed)
    }

    /// Since when the link is down, in Unix milliseconds; 0: it has never been up.
    pub fn down_since_ms(&self) -> i64 {
        self.down_since_ms.load(Relaxed)
    }

    /// Bytes of the copy that arrives: in all, as far as that is known, and so far.
    pub fn transfer(&self) -> (u64, u64) {
        *self.transfer.lock()
    }

    /// When a piece of the copy has last arrived, in Unix milliseconds; 0: never.
    pub fn copy_heard_ms(&self) -> i64 {
        self.copy_heard_ms.load(Relaxed)
    }

    /// Up to which offset the stream has arrived, if that is more than what was executed.
    pub fn read(&self) -> i64 {
        if self.is_up() { self.read.load(Relaxed) } else { -1 }
    }

    /// Bytes of the stream that wait for the copy on the second connection, and the most that have waited for one.
    pub fn held(&self) -> (u64, u64) {
        (self.held.load(Relaxed), self.held_most.load(Relaxed))
    }

    fn holds(&self, bytes: u64) {
        self.held.store(bytes, Relaxed);
        self.held_most.fetch_max(bytes, Relaxed);
    }
}

impl Following {
    /// The primary.
    pub fn primary(&self) -> Option<Arc<Primary>> {
        self.present.lock().as_ref().map(|(primary, _)| Arc::clone(primary))
    }

    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        self.primary().is_some_and(|p| p.is_up())
    }

    /// The primary wants an acknowledgement.
    pub fn getack(&self) {
        if let Some(primary) = self.primary() {
            primary.getack.store(true, Relaxed);
        }
    }

    /// The database that the primary's stream has selected.
    pub fn stream_db(&self) -> Option<usize> {
        self.primary().map(|p| p.db.load(Relaxed))
    }

    /// Takes nothing from the primary any more, which stays the one that this server names.
    pub fn cease(&self) {
        if let Some((primary, _)) = &*self.present.lock() {
            primary.stop();
            primary.up.store(false, Relaxed);
        }
    }

    /// Follows no primary any more. Returns the handle of the thread, which ends by itself.
    pub(crate) fn stop(&self) -> Option<JoinHandle<()>> {
        leave(&mut self.present.lock())
    }

    /// Names a primary that is followed later.
    pub(crate) fn expect(&self, engine: &Engine, host: String, port: u16) {
        *self.present.lock() = Some((Arc::new(Primary::new(engine, host, port)), None));
    }

    /// Names the primary that is followed when the transaction is over which says so. The one before is followed no more.
    pub(crate) fn announce(&self, engine: &Engine, host: String, port: u16) {
        let mut present = self.present.lock();
        let thread = leave(&mut present);
        *present = Some((Arc::new(Primary::new(engine, host, port)), thread));
    }

    /// Begins to follow a primary, once the thread that followed another has ended.
    pub(crate) fn start(
        &self,
        engine: &Engine,
        registry: &Arc<Registry>,
        host: String,
        port: u16,
        previous: Option<JoinHandle<()>>,
    ) {
        let primary = Arc::new(Primary::new(engine, host, port));
        let (engine, registry, shown) = (engine.arc(), Arc::clone(registry), Arc::clone(&primary));
        let follow = move || {
            if let Some(previous) = previous {
                // A panic there has been logged.
                let _ = previous.join();
            }
            follow(&engine, &registry, &shown);
        };
        let thread = std::thread::Builder::new().name("apus-link".into()).spawn(follow);
        *self.present.lock() = Some((primary, thread.ok()));
    }
}

/// Runs `f` on the first worker and waits for its result; none when the server stops.
fn on_worker<R: Send + 'static>(
    engine: &Engine,
    mut meanwhile: impl FnMut(),
    f: impl FnOnce(&Engine, &mut Thread) -> R + Send + 'static,
) -> Option<R> {
    let (give, take) = channel();
    let job = move |engine: &Engine, thread: &mut Thread| {
        // No thread waits any more when this one has given up.
        let _ = give.send(f(engine, thread));
    };
    engine.post(0, Message::Run(Job::new(job)));
    loop {
        match take.recv_timeout(TICK) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) => meanwhile(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn follow(engine: &Arc<Engine>, registry: &Registry, primary: &Primary) {
    // A keyspace without locks belongs to the first worker.
    if on_worker(engine, || {}, |e, thread| e.keyspace.share(&thread.cx.solo)).is_none() {
        return;
    }
    // No other thread follows: the one before has ended.
    let worker = engine.link_worker.get_or_init(|| engine.new_worker(Mailbox::new(|| {})));
    let mut thread = Thread::new(engine, engine.workers().len() + LINK, Arc::clone(worker));
    let endpoint = Endpoint {
        peer: format!("{}:{}", primary.host, primary.port).into(),
        local: Box::default(),
        unix: false,
        loopback: true,
        fd: -1,
    };
    let mut session = Session::new(engine, 0, endpoint);
    session.set_user(Arc::clone(engine.acl.server()));
    session.set_authenticated(true);
    session.from_primary = true;
    session.select(engine.replication.stream_db());
    session.client.set_peer(Peer::Primary);
    let mut follower = Follower {
        engine,
        registry,
        primary,
        thread: &mut thread,
        session: &mut session,
        begin_anew: None,
        synced: Synced::default(),
        asked: false,
    };
    while !primary.stops.load(Relaxed) {
        follower.session.client.closing.store(false, Relaxed);
        let began = Instant::now();
        let was_up = follower.connect();
        follower.guard().link_lost();
        *primary.state.lock() = "connect";
        primary.holds(0);
        if primary.up.swap(false, Relaxed) {
            primary.down_since_ms.store(engine.clock.wall_ms() as i64, Relaxed);
            note_link(engine, false);
        }
        // A link that was up is replaced at once, before the primary's backlog has moved on; but not again
        // and again when the primary breaks it each time.
        let lived = began.elapsed();
        let mut left = match was_up {
            true if lived > TICK => 0,
            true => 1,
            false => RETRY_MS / 100,
        };
        while left > 0 && !primary.stops.load(Relaxed) {
            std::thread::sleep(TICK);
            left -= 1;
        }
    }
    thread.leave(engine, &mut session);
    thread.collect();
    engine.clients.remove(&session.client);
    let _ = on_worker(engine, || {}, |e, thread| e.keyspace.unshare(&thread.cx.solo));
}

/// Added to the number of workers, for the number of the thread.
const LINK: usize = 1000;
