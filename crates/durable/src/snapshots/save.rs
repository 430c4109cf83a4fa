//! Taking a snapshot: the threads that serialise, and the way of the bytes into the sink.
//!
//! ```text
//!  commands that change what is not saved yet ─► Keeper ─┐
//!  walks over the shards, one thread or several ─────────┼─► Queue ─► Sink
//! ```

use std::io;
use std::sync::Arc;

use config::{Config, Id};
use engine::{COMPAT_VERSION, Engine};
use parking_lot::Mutex;
use rdb::{Access, Encoder};
use stdx::rng::Rng;
use store::{Background, Context, Db, Entry, Keep, LfuClock, Snapshot, Walk};

use super::queue::Queue;
use super::sink::{Sink, drain};
use crate::delay;

/// Bytes that are serialised while a shard is locked once: some tens of microseconds.
const STEP: usize = 8 << 10;
/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;
/// A walk sends a piece when so few bytes are missing: the next step and its last entry go beyond it seldom.
const MARGIN: usize = 2 * STEP;

/// The form in which the use of keys is written, as of the snapshot's moment.
#[derive(Clone, Copy)]
enum Use {
    Untold,
    Idle { lru_clock: u32 },
    Freq(LfuClock),
}

impl Use {
    fn of(config: &Config, cx: &Context) -> Self {
        use config::MaxmemoryPolicy as P;
        match config.chosen(Id::MaxmemoryPolicy) {
            P::AllkeysLru | P::VolatileLru => Self::Idle { lru_clock: cx.lru_clock },
            P::AllkeysLfu | P::VolatileLfu => Self::Freq(cx.lfu_clock()),
            _ => Self::Untold,
        }
    }

    fn of_entry(self, e: &Entry) -> Access {
        match self {
            Self::Untold => Access::Untold,
            Self::Idle { lru_clock } => {
                Access::Idle(u64::from(lru_clock.wrapping_sub(e.access()) & 0xff_ffff))
            }
            Self::Freq(clock) => Access::Freq(clock.counter(e.access()) as u8),
        }
    }
}

/// Who is to read a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Redis 7.0 and later, and this server.
    #[default]
    Redis,
    /// Valkey 9 and later.
    Valkey,
}

/// In which form entries are written.
#[derive(Clone, Copy)]
struct Form {
    format: Format,
    compress: bool,
}

impl Form {
    fn encoder(self) -> Encoder {
        let encoder = Encoder::new(self.compress);
        match self.format {
            Format::Redis => encoder,
            Format::Valkey => encoder.for_valkey_9(),
        }
    }
}

/// Entries on their way into the queue.
struct Writer {
    encoder: Encoder,
    buf: Vec<u8>,
    /// The database of the last entry in `buf`.
    db: Option<usize>,
    told: Use,
    /// The thread that has it is to pause now and then.
    background: Option<Background>,
}

impl Writer {
    fn new(form: Form, told: Use) -> Self {
        Self { encoder: form.encoder(), buf: Vec::new(), db: None, told, background: None }
    }

    /// Called often by a thread that has no shard locked.
    fn yield_point(&mut self) {
        if let Some(background) = &mut self.background {
            background.yield_point();
        }
    }

    fn select(&mut self, db: usize) {
        if self.buf.is_empty() || self.db != Some(db) {
            self.encoder.select(&mut self.buf, db as u64);
            self.db = Some(db);
        }
    }

    /// Adds a short entry.
    fn append(&mut self, db: usize, e: &Entry) {
        self.select(db);
        let told = self.told.of_entry(e);
        self.encoder.entry(&mut self.buf, e, told);
    }

    fn add_unless_dead(&mut self, db: usize, e: &Entry, queue: &Queue) {
        if !queue.is_dead() {
            self.add(db, e, queue);
        }
    }

    /// Adds an entry, and sends as much as there is of it when it is a long one.
    fn add(&mut self, db: usize, e: &Entry, queue: &Queue) {
        self.select(db);
        let told = self.told.of_entry(e);
        // No other thread's bytes may come between the pieces of one entry.
        let mut alone = None;
        let background = &mut self.background;
        self.encoder.entry_in_pieces(&mut self.buf, e, told, &mut |piece| {
            if let Some(background) = background {
                background.yield_point();
            }
            if piece.len() >= PIECE {
                alone.get_or_insert_with(|| queue.alone()).send(piece);
            }
        });
        if self.buf.len() >= PIECE || alone.is_some() {
            alone.unwrap_or_else(|| queue.alone()).send(&mut self.buf);
        }
    }

    fn flush(&mut self, queue: &Queue) {
        queue.alone().send(&mut self.buf);
    }
}

/// Takes the entries that commands are about to change.
struct Keeper {
    queue: Arc<Queue>,
    early: Mutex<Writer>,
}

impl Keep for Keeper {
    fn keep(&self, db: usize, e: &Entry) {
        if self.queue.is_dead() {
            return;
        }
        let mut early = self.early.lock();
        early.append(db, e);
        if early.buf.len() >= PIECE {
            self.queue.send_soon(&mut early.buf);
        }
    }
}

/// A snapshot that has begun: its moment is past, nothing is written yet.
pub(super) struct Taking {
    snapshot: Snapshot,
    keeper: Arc<Keeper>,
    head: Vec<u8>,
    /// The sink gets a checksum at the end.
    checksum: bool,
    form: Form,
    told: Use,
    keys: u64,
}

/// The figures of a snapshot that has been written.
#[derive(Debug)]
pub struct Taken {
    /// Its length.
    pub bytes: u64,
    /// Keys that commands saved because they changed them.
    pub early: u64,
    /// About how many keys it has.
    pub keys: u64,
}

/// Begins a snapshot of this moment; `at` is called at it, when no command is under way, and gives fields of
/// the snapshot: name and value. None when there is one under way.
pub(super) fn begin(
    engine: &Engine,
    cx: &mut Context,
    format: Format,
    at: impl FnOnce() -> Vec<(&'static str, String)>,
) -> Option<Taking> {
    let c = &engine.config;
    let form = Form { format, compress: c.flag(Id::Rdbcompression) };
    let told = Use::of(c, cx);
    let queue = Arc::new(Queue::default());
    let keeper = Arc::new(Keeper { queue, early: Mutex::new(Writer::new(form, told)) });
    let keep: Arc<dyn Keep> = Arc::<Keeper>::clone(&keeper);
    let (mut fields, mut functions) = (Vec::new(), Vec::new());
    let moment = || {
        fields = at();
        functions = engine.function_codes();
    };
    let snapshot = engine.keyspace.begin_snapshot(cx, keep, moment)?;
    let mut encoder = form.encoder();
    let mut head = Vec::new();
    encoder.header(&mut head);
    let mut note = |name: &str, value: String| {
        encoder.aux(&mut head, name.as_bytes(), value.as_bytes());
    };
    note("redis-ver", COMPAT_VERSION.to_owned());
    note("redis-bits", usize::BITS.to_string());
    note("ctime", (cx.now / 1000).to_string());
    note("used-mem", stdx::mem::used().to_string());
    for (name, value) in fields {
        note(name, value);
    }
    note("apus-ver", env!("CARGO_PKG_VERSION").to_owned());
    for library in functions {
        encoder.function(&mut head, &library.code);
    }
    let mut keys = 0;
    for index in 0..engine.keyspace.databases() {
        // Not exact for the moment, but good enough to reserve room.
        let mut db = Db::unlocked(&engine.keyspace, index, cx);
        let (len, expiring) = (db.len(), db.expiring().0);
        if len > 0 {
            encoder.select(&mut head, index as u64);
            encoder.resize(&mut head, len as u64, expiring as u64);
            keys += len as u64;
        }
    }
    let checksum = c.flag(Id::Rdbchecksum);
    Some(Taking { snapshot, keeper, head, checksum, form, told, keys })
}

impl Taking {
    /// About how many keys there are.
    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The queue of its bytes.
    pub(super) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.keeper.queue)
    }

    fn walk(
        &self,
        engine: &Engine,
        mut walk: Walk,
        cx: &mut Context,
        background: Option<Background>,
        done: &dyn Fn(u64),
    ) {
        let queue = &*self.keeper.queue;
        let mut w = Writer::new(self.form, self.told);
        w.background = background;
        loop {
            let mut keys = 0;
            let more = walk.step(cx, STEP, |db, e| {
                keys += 1;
                if queue.is_dead() {
                    // The marks must agree again, whether or not the file is written.
                    return 64;
                }
                let before = w.buf.len();
                w.append(db, e);
                w.buf.len().saturating_sub(before).max(64)
            });
            done(keys);
            // No shard is locked from here on: the disk may be slow.
            if w.buf.len() + MARGIN > PIECE {
                w.flush(queue);
                // There is more: the next piece is made without moving it while it grows.
                w.buf.reserve_exact(PIECE);
            }
            w.yield_point();
            self.snapshot.orphans(|db, e| {
                w.add_unless_dead(db, e, queue);
                w.yield_point();
            });
            delay::wait(&engine.config, Id::RdbKeySaveDelay, keys, || queue.is_dead());
            if !more {
                break;
            }
        }
        w.flush(queue);
    }

    fn finish(snapshot: Snapshot, keeper: &Keeper, cx: &mut Context, w: &mut Writer) {
        let queue = &*keeper.queue;
        snapshot.finish(cx, |db, e| {
            w.add_unless_dead(db, e, queue);
            w.yield_point();
        });
        w.flush(queue);
        keeper.early.lock().flush(queue);
        queue.close();
    }

    /// Walks in this thread, with its context, while another one writes. The context may have the
    /// whole keyspace locked.
    ///
    /// # Errors
    /// The sink's errors.
    pub(super) fn here(
        self,
        engine: &Engine,
        cx: &mut Context,
        sink: &mut dyn Sink,
    ) -> io::Result<Taken> {
        let keeper = Arc::clone(&self.keeper);
        let head = self.head.clone();
        let (checksum, keys) = (self.checksum, self.keys);
        std::thread::scope(|scope| {
            let queue = Arc::clone(&keeper.queue);
            let file = scope.spawn(move || drain(sink, &head, &queue, checksum, None));
            for walk in self.snapshot.walks(1) {
                self.walk(engine, walk, cx, None, &|_| {});
            }
            let early = self.snapshot.early();
            let mut w = Writer::new(self.form, self.told);
            Self::finish(self.snapshot, &keeper, cx, &mut w);
            let bytes = file.join().unwrap_or_else(|_| Err(io::Error::other("panicked")))?;
            Ok(Taken { bytes, early, keys })
        })
    }

    /// Walks in `threads` threads of its own while this one writes. `done` is called with the number of saved
    /// keys.
    ///
    /// # Errors
    /// The sink's errors.
    pub(super) fn apart(
        self,
        engine: &Engine,
        sink: &mut dyn Sink,
        threads: usize,
        now_ms: i64,
        done: &(dyn Fn(u64) + Sync),
    ) -> io::Result<Taken> {
        let context = |n: u64| Context::new(now_ms, Rng::from_seed(now_ms as u64 ^ n));
        std::thread::scope(|scope| {
            let keeper = Arc::clone(&self.keeper);
            let head = self.head.clone();
            let (checksum, keys) = (self.checksum, self.keys);
            let walking = scope.spawn(move || {
                std::thread::scope(|scope| {
                    for (n, walk) in self.snapshot.walks(threads).into_iter().enumerate() {
                        let this = &self;
                        let mut cx = context(n as u64);
                        scope.spawn(move || {
                            this.walk(engine, walk, &mut cx, Some(Background::begin()), done);
                        });
                    }
                });
                let early = self.snapshot.early();
                // So that a snapshot takes as long as it was asked to, whatever commands have changed meanwhile.
                let dead = || self.keeper.queue.is_dead();
                delay::wait(&engine.config, Id::RdbKeySaveDelay, early / threads as u64, dead);
                let mut w = Writer::new(self.form, self.told);
                w.background = Some(Background::begin());
                Self::finish(self.snapshot, &self.keeper, &mut context(99), &mut w);
                early
            });
            let background = Some(Background::begin());
            let written = drain(sink, &head, &keeper.queue, checksum, background);
            let early = walking.join().unwrap_or(0);
            Ok(Taken { bytes: written?, early, keys })
        })
    }
}
