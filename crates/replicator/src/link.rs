//! The thread that follows a primary.
//!
//! It connects, drives the handshake ([`replication::link::Link`]), and executes the stream itself, on a thread
//! of the engine without connections. A full copy goes into a file first, so that the data stays until the
//! copy is whole; the first worker then loads it in place of all data, and its clients wait meanwhile.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use config::{ClientClass, Config, Id};
use durable::Durable;
use durable::load::{self, Source};
use engine::{
    Attention, Endpoint, Engine, Job, Mailbox, Message, Next, Peer, Purpose, Session, Thread, Wire,
    log,
};
use parking_lot::{Mutex, MutexGuard};
use replication::ReplId;
use replication::link::{Event, Level, Link, RETRY_MS, Settings, State};
use resp::{Out, Parser};

use crate::failover;
use crate::guard::{Guard, needs_grant};
use crate::replicas::Registry;
use crate::stale::note_link;
use crate::state::Replicator;
use crate::whole::Scan;

/// How long the thread waits for bytes before it looks at the time, and whether it is to stop.
const TICK: Duration = Duration::from_millis(100);
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

/// A primary that is followed, as others see it.
pub struct Primary {
    /// Its address.
    pub host: String,
    /// Its port.
    pub port: u16,
    stops: AtomicBool,
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
}

impl Primary {
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
            primary.stops.store(true, Relaxed);
            primary.up.store(false, Relaxed);
        }
    }

    /// Follows no primary any more. The thread ends by itself; its handle is for the one that comes next.
    pub(crate) fn stop(&self) -> Option<JoinHandle<()>> {
        let (primary, thread) = self.present.lock().take()?;
        primary.stops.store(true, Relaxed);
        thread
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
        let primary = Arc::new(Primary {
            host,
            port,
            stops: AtomicBool::new(false),
            up: AtomicBool::new(false),
            getack: AtomicBool::new(false),
            db: AtomicUsize::new(engine.replication.stream_db()),
            state: Mutex::new("connect"),
            heard_ms: AtomicI64::new(0),
            down_since_ms: AtomicI64::new(0),
            transfer: Mutex::default(),
        });
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
        // Nobody waits any more when this thread has given up.
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
    let worker = engine.new_worker(Mailbox::new(|| {}));
    let mut thread = Thread::new(engine, engine.workers().len() + LINK, worker);
    let endpoint = Endpoint {
        peer: format!("{}:{}", primary.host, primary.port),
        local: String::new(),
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
    };
    while !primary.stops.load(Relaxed) {
        follower.session.client.closing.store(false, Relaxed);
        let began = Instant::now();
        let was_up = follower.connect();
        follower.guard().link_lost();
        *primary.state.lock() = "connect";
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

/// Bytes that are held of a command or a transaction that is not whole: the most that a client may send without
/// ending one, or what a primary with the same configuration keeps for a replica, whichever is more. A script may
/// write more than that in one piece, so it can be raised.
fn held_max(config: &Config) -> u64 {
    let kept = config.output_limits(ClientClass::Replica).hard;
    config.bytes(Id::ClientQueryBufferLimit).max(kept)
}

/// Added to the number of workers, for the number of the thread.
const LINK: usize = 1000;

struct Follower<'a> {
    engine: &'a Arc<Engine>,
    registry: &'a Registry,
    primary: &'a Primary,
    thread: &'a mut Thread,
    session: &'a mut Session,
    /// The stream cannot be gone on with from where it stopped; why.
    begin_anew: Option<&'static str>,
}

/// What the link has reported since it was last looked at.
#[derive(Default)]
struct Reports {
    full: Option<(ReplId, i64)>,
    copy: Option<(PathBuf, File)>,
    trouble: Option<String>,
    whole: bool,
    goes_on: Option<Option<ReplId>>,
    stream: Vec<u8>,
    failed: bool,
}

impl Reports {
    fn take(&mut self, engine: &Engine, event: Event<'_>) {
        match event {
            Event::Log(Level::Notice, line) => log!(engine.log, Notice, "{}", line),
            Event::Log(Level::Warning, line) => log!(engine.log, Warning, "{}", line),
            Event::FullResync { id, offset } => {
                failover::succeeded(engine);
                self.full = Some((id, offset));
            }
            Event::RdbBegin { .. } => {
                let path = PathBuf::from(format!("temp-{}.link.rdb", std::process::id()));
                match File::create(&path) {
                    Ok(file) => self.copy = Some((path, file)),
                    Err(e) => self.trouble = Some(format!("no file for the copy: {e}")),
                }
            }
            Event::Rdb(bytes) => {
                if let Some((_, file)) = &mut self.copy
                    && let Err(e) = file.write_all(bytes)
                {
                    self.trouble = Some(format!("the copy cannot be written: {e}"));
                }
            }
            Event::RdbEnd => self.whole = true,
            Event::Continue { id } => {
                failover::succeeded(engine);
                self.goes_on = Some(id);
            }
            Event::Refused => failover::refused(engine),
            Event::Stream(bytes) => self.stream.extend_from_slice(bytes),
            Event::Failed(line) => {
                log!(engine.log, Warning, "{}", line);
                self.failed = true;
            }
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.copy {
            // The next copy has a file of its own.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl<'a> Follower<'a> {
    fn guard(&self) -> &Guard {
        &self.registry.guard
    }

    /// Has an acknowledgement noted that the link has made.
    fn note_acknowledgement(&self, link: &mut Link) {
        if let Some(offset) = link.take_acknowledged() {
            self.guard().acknowledges(self.engine, offset);
        }
    }

    fn now(&self) -> u64 {
        self.engine.clock.wall_ms()
    }

    fn stops(&self) -> bool {
        self.primary.stops.load(Relaxed) || self.session.client.closing.load(Relaxed)
    }

    fn settings(&self) -> Settings {
        let c = &self.engine.config;
        let word = |id| Some(c.string(id).into_bytes()).filter(|s| !s.is_empty());
        let port = match c.int(Id::ReplicaAnnouncePort) {
            // Those who come for it come as this server goes to its primary.
            0 if c.flag(Id::TlsReplication) && c.int(Id::TlsPort) != 0 => c.int(Id::TlsPort) as u16,
            0 => self.engine.tcp_port.load(Relaxed) as u16,
            port => port as u16,
        };
        let state = self.engine.replication.state();
        // Without a backlog the offset has stood still: it says nothing about the data.
        let has_position = state.backlog.is_some();
        Settings {
            user: word(Id::Masteruser),
            password: word(Id::Masterauth),
            port,
            announce_ip: word(Id::ReplicaAnnounceIp),
            timeout_ms: c.int(Id::ReplTimeout).max(1) as u64 * 1000,
            resume: self
                .begin_anew
                .is_none()
                .then(|| state.history.resume())
                .filter(|_| has_position),
            why_full: self.begin_anew.unwrap_or("this server's data has no position in a history"),
            failover: Replicator::of(self.engine).failover.asks(),
            id: needs_grant(self.engine)
                .then(|| ReplId::parse(self.engine.run_id.as_bytes()))
                .flatten(),
        }
    }

    /// Makes a connection and follows until it ends. Returns whether the stream has arrived.
    fn connect(&mut self) -> bool {
        let (engine, primary) = (self.engine, self.primary);
        // DEBUG SLEEP has it.
        drop(engine.replication.applying.lock());
        *primary.state.lock() = "connecting";
        log!(engine.log, Notice, "Connecting to MASTER {}:{}", primary.host, primary.port);
        let dial = engine.on_dial.read().clone();
        let Some(dial) = dial else { return false };
        let mut wire = match dial(Purpose::Replicate, &primary.host, primary.port, CONNECTING) {
            Ok(wire) => wire,
            Err(why) => {
                log!(engine.log, Warning, "Unable to connect to MASTER: {:?}", why);
                return false;
            }
        };
        if wire.limit(TICK).is_err() {
            return false;
        }
        log!(engine.log, Notice, "MASTER <-> REPLICA sync started");
        let mut link = Link::new(self.settings(), self.now());
        let mut reports = Reports::default();
        let mut scan = Scan::default();
        let mut input = vec![0; INPUT];
        while !self.stops() && !reports.failed {
            self.send(&mut *wire, &mut link, &mut reports);
            match wire.read(&mut input) {
                Ok(0) => link.lost("connection lost", &mut |e| reports.take(engine, e)),
                Ok(n) => {
                    primary.heard_ms.store(self.now() as i64, Relaxed);
                    self.receive(&input[..n], &mut *wire, &mut link, &mut reports);
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(e) => link.lost(&e.to_string(), &mut |e| reports.take(engine, e)),
            }
            if let Err(why) = self.execute(&mut link, &mut reports.stream, &mut scan) {
                link.fail(why, &mut |e| reports.take(engine, e));
            }
            self.count_held(&reports.stream);
            link.tick(self.now(), &mut |e| reports.take(engine, e));
            *primary.state.lock() = link.role_state();
            *primary.transfer.lock() = link.transfer();
        }
        primary.is_up()
    }

    fn send(&self, wire: &mut dyn Wire, link: &mut Link, reports: &mut Reports) {
        self.note_acknowledgement(link);
        let mut sent = 0;
        while sent < link.output().len() {
            match wire.write(&link.output()[sent..]) {
                Ok(n) => sent += n,
                // The rest follows in the next turn.
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(e) => {
                    link.lost(&e.to_string(), &mut |e| reports.take(self.engine, e));
                    return;
                }
            }
        }
        link.output().drain(..sent);
    }

    fn receive(
        &mut self,
        mut rest: &[u8],
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) {
        let engine = self.engine;
        while !rest.is_empty() && !reports.failed {
            let taken = link.receive(rest, self.now(), &mut |e| reports.take(engine, e));
            rest = &rest[taken..];
            if let Some(why) = reports.trouble.take() {
                return link.fail(why, &mut |e| reports.take(engine, e));
            }
            if let Some(id) = reports.goes_on.take() {
                self.go_on(id);
            }
            if std::mem::take(&mut reports.whole)
                && let Err(why) = self.load(wire, link, reports)
            {
                return link.fail(why, &mut |e| reports.take(engine, e));
            }
            if taken == 0 {
                return;
            }
        }
    }

    /// The primary goes on from where this server is.
    fn go_on(&self, id: Option<ReplId>) {
        let size = self.engine.config.bytes(Id::ReplBacklogSize) as usize;
        let mut state = self.engine.replication.state();
        state.ensure_backlog(size);
        let other = state.history.adopt_continue(id);
        drop(state);
        if other {
            // They are to learn the new id.
            self.registry.disconnect_all(self.engine);
        }
        self.is_up_now();
    }

    fn is_up_now(&self) {
        self.primary.up.store(true, Relaxed);
        note_link(self.engine, true);
    }

    /// Replaces all data by the copy that has arrived.
    fn load(
        &mut self,
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) -> Result<(), String> {
        let engine = self.engine;
        let (Some((path, file)), Some((id, offset))) = (reports.copy.take(), reports.full.take())
        else {
            return Err("a copy has arrived that was not announced".into());
        };
        drop(file);
        self.guard().loads();
        log!(engine.log, Notice, "MASTER <-> REPLICA sync: Loading DB in memory");
        let source = path.clone();
        let alive = || {
            link.tick(engine.clock.wall_ms(), &mut |_| {});
            let bytes = std::mem::take(link.output());
            // If it cannot be sent, the next read says so.
            let _ = wire.write(&bytes);
        };
        let loaded = on_worker(engine, alive, move |engine, thread| {
            // A copy that is damaged must not cost the data.
            load::prove(engine, thread, &source)?;
            engine.attention.set(Attention::LOADING, true);
            thread.cx.keep_expired = true;
            let loaded = Source::open(&source)
                .map_err(|e| commands::Fail::new(e.to_string()))
                .and_then(|source| durable::replace_all(engine, thread, source));
            thread.cx.keep_expired = false;
            engine.attention.set(Attention::LOADING, false);
            loaded
        });
        // It has been read.
        let _ = std::fs::remove_file(&path);
        match loaded {
            None => return Err("the server stops".into()),
            Some(Err(fail)) => {
                return Err(format!(
                    "Failed trying to load the MASTER synchronization DB: {}",
                    fail.0
                ));
            }
            Some(Ok(())) => {}
        }
        let size = engine.config.bytes(Id::ReplBacklogSize) as usize;
        self.thread.discard(engine, self.session);
        let db = Durable::of(engine).loading.stream_db();
        self.session.select(db.min(engine.keyspace.databases() - 1));
        let applying = engine.replication.applying.lock();
        engine.replication.state().adopt_full(id, offset, size);
        self.note_db();
        drop(applying);
        self.registry.disconnect_all(engine);
        link.loaded(self.now());
        self.begin_anew = None;
        self.is_up_now();
        log!(engine.log, Notice, "MASTER <-> REPLICA sync: Finished with success");
        Ok(())
    }

    /// Tells which database the stream has selected at the present offset. A copy for a replica of this server
    /// has both, so `applying` is locked until both are there.
    fn note_db(&self) {
        self.primary.db.store(self.session.db, Relaxed);
        self.engine.replication.set_stream_db(self.session.db);
    }

    /// Executes the whole commands of the stream.
    fn execute(
        &mut self,
        link: &mut Link,
        stream: &mut Vec<u8>,
        scan: &mut Scan,
    ) -> Result<(), String> {
        if link.state() != State::Stream || stream.is_empty() {
            return Ok(());
        }
        let malformed = |_| "The stream of MASTER is malformed".to_owned();
        let n = scan.whole(stream).map_err(malformed)?;
        if n == 0 {
            let most = held_max(&self.engine.config);
            if stream.len() as u64 <= most {
                return Ok(());
            }
            // The same bytes would come again. A full copy has what they do.
            self.begin_anew = Some("a transaction of MASTER is larger than the limits for one");
            return Err(format!(
                "A command or a transaction of MASTER does not end within {most} bytes (see \
                 client-query-buffer-limit and client-output-buffer-limit replica)"
            ));
        }
        let engine = self.engine;
        let Some(applying) = self.lock_applying() else { return Ok(()) };
        // Fewer when the link was killed meanwhile: the rest is asked for again.
        let (n, done) = self.run(&stream[..n]);
        self.guard().heard(engine);
        let mut state = engine.replication.state();
        state.append(&stream[..n]);
        let offset = state.history.offset();
        drop(state);
        self.note_db();
        drop(applying);
        stream.drain(..n);
        scan.consume(n);
        engine.feed_soon();
        engine.journal.turn_over(self.thread.worker());
        let journal = &engine.journal;
        let durable = journal.is_on() && journal.shared.durable() >= self.thread.last_written();
        link.applied(offset, durable.then_some(offset));
        if self.primary.getack.swap(false, Relaxed) {
            link.acknowledge(self.now());
        }
        done
    }

    /// The right to execute; none when the link is to end. DEBUG SLEEP may have it for long.
    fn lock_applying(&self) -> Option<MutexGuard<'a, ()>> {
        loop {
            if self.stops() {
                return None;
            }
            let applying = self.engine.replication.applying.try_lock_for(TICK);
            if let Some(applying) = applying {
                return (!self.primary.stops.load(Relaxed)).then_some(applying);
            }
        }
    }

    /// Shows what waits for its end as the input of the primary's connection.
    fn count_held(&self, stream: &Vec<u8>) {
        let client = &self.session.client;
        client.query_bytes.store(stream.len() as u64, Relaxed);
        client.query_capacity.store(stream.capacity() as u64, Relaxed);
    }

    /// Returns how many bytes were executed.
    fn run(&mut self, input: &[u8]) -> (usize, Result<(), String>) {
        let engine = self.engine;
        self.thread.sync_clock(engine);
        self.thread.cx.set_timeless(true, 0);
        let mut parser = Parser::default();
        let mut out = Out::default();
        let errors = self.thread.worker().stats.error_replies.load(Relaxed);
        let mut at = 0;
        let mut outcome = Ok(());
        while at < input.len() || self.session.deferred.is_some() {
            let batch = self.thread.run(engine, self.session, &mut parser, &input[at..], &mut out);
            at += batch.consumed;
            let first_error = out.buf.starts_with(b"-").then(|| out.buf.clone());
            out.clear();
            if self.thread.worker().stats.error_replies.load(Relaxed) > errors
                && let Some(line) = first_error
            {
                let text = String::from_utf8_lossy(&line[1..line.len().min(200)]).into_owned();
                let text = text.lines().next().unwrap_or_default().to_owned();
                log!(
                    engine.log,
                    Warning,
                    "== CRITICAL == This replica is sending an error to its master: '{}'",
                    text
                );
            }
            match batch.next {
                Next::Read | Next::Flush => {}
                // A pause, or shards that a long command has locked.
                Next::Wait => std::thread::sleep(Duration::from_millis(1)),
                Next::Close if self.session.client.closing.load(Relaxed) => break,
                Next::ReadBig | Next::Block | Next::Close => {
                    outcome =
                        Err("The stream of MASTER has a command that cannot be executed".into());
                    break;
                }
            }
            if batch.consumed == 0 && batch.next == Next::Read {
                outcome = Err("The stream of MASTER is malformed".into());
                break;
            }
        }
        let now = engine.clock.wall_ms() as i64;
        self.thread.cx.set_timeless(false, now);
        self.thread.collect();
        (at, outcome)
    }
}
