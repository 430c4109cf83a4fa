//! Taking a snapshot: the threads that serialise, and the way of the bytes into the file.
//!
//! ```text
//!  commands that change what is not saved yet ─► Keeper ─┐
//!  walks over the shards, one thread or several ─────────┼─► Queue ─► file
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Config, Id};
use parking_lot::Mutex;
use rdb::{Access, Encoder};
use stdx::rng::Rng;
use store::{Background, Context, Db, Entry, Keep, LfuClock, Snapshot, Walk};

use super::file::{self, Wishes};
use super::queue::Queue;
use crate::COMPAT_VERSION;
use crate::engine::Engine;

/// Bytes that are serialised while a shard is locked once: some tens of microseconds.
const STEP: usize = 8 << 10;
/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;

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

/// Entries on their way into the file.
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
    fn new(compress: bool, told: Use) -> Self {
        let encoder = Encoder::new(compress);
        Self { encoder, buf: Vec::new(), db: None, told, background: None }
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
pub(crate) struct Taking {
    snapshot: Snapshot,
    keeper: Arc<Keeper>,
    head: Vec<u8>,
    path: PathBuf,
    wishes: Wishes,
    compress: bool,
    told: Use,
    keys: u64,
}

/// The figures of a written snapshot.
pub(crate) struct Taken {
    pub(crate) bytes: u64,
    /// Keys that commands saved because they changed them.
    pub(crate) early: u64,
    pub(crate) keys: u64,
}

/// Begins a snapshot of this moment; `at` is called at it, when no command is under way. None when
/// there is one under way.
pub(crate) fn begin(
    engine: &Engine,
    cx: &mut Context,
    path: &Path,
    aux: &[(&str, String)],
    at: impl FnOnce(),
) -> Option<Taking> {
    let c = &engine.config;
    let is_base = path != super::path(engine);
    // `dir` may be another when it is done.
    let path = engine.persistence.disk().absolute(path);
    let compress = c.flag(Id::Rdbcompression);
    let told = Use::of(c, cx);
    let queue = Arc::new(Queue::default());
    let keeper = Arc::new(Keeper { queue, early: Mutex::new(Writer::new(compress, told)) });
    let keep: Arc<dyn Keep> = Arc::<Keeper>::clone(&keeper);
    let mut functions = Vec::new();
    let moment = || {
        at();
        functions = engine.function_codes();
    };
    let snapshot = engine.keyspace.begin_snapshot(cx, keep, moment)?;
    *engine.persistence.present.lock() = Some(Arc::clone(&keeper.queue));
    *engine.persistence.temporary.lock() = Some(file::temporary(&path));
    let mut encoder = Encoder::new(compress);
    let mut head = Vec::new();
    encoder.header(&mut head);
    let mut note = |name: &str, value: String| {
        encoder.aux(&mut head, name.as_bytes(), value.as_bytes());
    };
    note("redis-ver", COMPAT_VERSION.to_owned());
    note("redis-bits", usize::BITS.to_string());
    note("ctime", (cx.now / 1000).to_string());
    note("used-mem", stdx::mem::used().to_string());
    for (name, value) in aux {
        note(name, value.clone());
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
    Some(Taking {
        snapshot,
        keeper,
        head,
        path,
        wishes: Wishes {
            checksum: c.flag(Id::Rdbchecksum),
            sync_often: c.flag(if is_base {
                Id::AofRewriteIncrementalFsync
            } else {
                Id::RdbSaveIncrementalFsync
            }),
        },
        compress,
        told,
        keys,
    })
}

/// `rdb-key-save-delay` and `key-load-delay`: microseconds per key, or keys per microsecond when
/// negative.
pub(super) fn wait_for_test(engine: &Engine, option: Id, keys: u64, enough: impl Fn() -> bool) {
    let delay = engine.config.int(option);
    if delay != 0 {
        let n = delay.unsigned_abs();
        let us = if delay > 0 { keys.saturating_mul(n) } else { keys / n };
        let mut left = std::time::Duration::from_micros(us);
        while !left.is_zero() && !enough() {
            let some = left.min(std::time::Duration::from_millis(10));
            std::thread::sleep(some);
            left -= some;
        }
    }
}

impl Taking {
    /// About how many keys there are.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The file that it becomes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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
        let mut w = Writer::new(self.compress, self.told);
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
            if w.buf.len() >= PIECE {
                w.flush(queue);
            }
            w.yield_point();
            self.snapshot.orphans(|db, e| {
                w.add_unless_dead(db, e, queue);
                w.yield_point();
            });
            wait_for_test(engine, Id::RdbKeySaveDelay, keys, || queue.is_dead());
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
    /// whole keyspace locked. `done` is called with the number of saved keys.
    ///
    /// # Errors
    /// As the system says; the file that was there before still is.
    pub(crate) fn here(
        self,
        engine: &Engine,
        cx: &mut Context,
        done: &dyn Fn(u64),
    ) -> std::io::Result<Taken> {
        let keeper = Arc::clone(&self.keeper);
        let (head, path) = (self.head.clone(), self.path.clone());
        let wishes = self.wishes;
        std::thread::scope(|scope| {
            let queue = Arc::clone(&keeper.queue);
            let disk = engine.persistence.disk();
            let write = move || file::write(&*disk, &path, &head, &queue, &wishes, None);
            let file = scope.spawn(write);
            for walk in self.snapshot.walks(1) {
                self.walk(engine, walk, cx, None, done);
            }
            let early = self.snapshot.early();
            let mut w = Writer::new(self.compress, self.told);
            Self::finish(self.snapshot, &keeper, cx, &mut w);
            let bytes = file.join().unwrap_or_else(|_| Err(std::io::Error::other("panicked")))?;
            Ok(Taken { bytes, early, keys: self.keys })
        })
    }

    /// Walks in `threads` threads of its own while this one writes.
    ///
    /// # Errors
    /// As the system says; the file that was there before still is.
    pub(crate) fn apart(
        self,
        engine: &Engine,
        threads: usize,
        now_ms: i64,
        done: &(dyn Fn(u64) + Sync),
    ) -> std::io::Result<Taken> {
        let context = |n: u64| Context::new(now_ms, Rng::from_seed(now_ms as u64 ^ n));
        std::thread::scope(|scope| {
            let keeper = Arc::clone(&self.keeper);
            let (head, path) = (self.head.clone(), self.path.clone());
            let wishes = self.wishes;
            let keys = self.keys;
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
                let mut w = Writer::new(self.compress, self.told);
                w.background = Some(Background::begin());
                Self::finish(self.snapshot, &self.keeper, &mut context(99), &mut w);
                early
            });
            let disk = engine.persistence.disk();
            let background = Some(Background::begin());
            let written = file::write(&*disk, &path, &head, &keeper.queue, &wishes, background);
            let early = walking.join().unwrap_or(0);
            Ok(Taken { bytes: written?, early, keys })
        })
    }
}
