//! Reading a snapshot into the keyspace: one thread reads and cuts the input into batches of keys; the
//! others decode these and insert the keys.
//!
//! At the start of the server this is a thread of its own, while the workers answer `-LOADING`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};

use commands::{Fail, rdb_limits};
use config::Id;
use parking_lot::Mutex;
use rdb::{Batch, Item, Limits, Loaded, Reader};
use stdx::rng::Rng;
use store::{Context, Db, Key, Small};

use crate::engine::{Attention, Engine};
use crate::log;
use crate::mailbox::{Job, Message};
use crate::settings;
use crate::thread::Thread;

/// Keys that are inserted together, so that their cache misses overlap.
const BATCH: usize = 256;
/// A line in the log this often, in milliseconds.
const TELL_MS: i64 = 5000;

/// The load that is under way, or was the last.
#[derive(Default)]
pub struct Loading {
    /// Unix milliseconds at which it began; 0 while nothing is.
    since_ms: AtomicI64,
    total: AtomicU64,
    loaded: AtomicU64,
    /// Memory in use when the file was written, as the file records it.
    used_mem: AtomicU64,
    /// Keys loaded.
    pub(super) keys: AtomicU64,
    /// Commands replayed.
    commands: AtomicU64,
    /// Keys left out because they had expired.
    pub(super) expired: AtomicU64,
    /// Keys left out because they were empty.
    empty: AtomicU64,
    told_ms: AtomicI64,
}

impl Loading {
    pub(crate) fn begin(&self, total: u64, now_ms: i64) {
        self.total.store(total, Relaxed);
        for n in [&self.loaded, &self.commands] {
            n.store(0, Relaxed);
        }
        self.told_ms.store(now_ms, Relaxed);
        self.since_ms.store(now_ms, Relaxed);
    }

    /// A snapshot begins to be read: the figures of the last one are reset.
    fn begin_snapshot(&self) {
        for n in [&self.keys, &self.expired, &self.empty, &self.used_mem] {
            n.store(0, Relaxed);
        }
    }

    /// The part that is done, and about how many seconds are left, once that can be estimated.
    fn progress(&self, now_ms: i64) -> (f64, Option<f64>) {
        let (total, loaded) = (self.total.load(Relaxed), self.loaded.load(Relaxed));
        // A file may have grown since it was measured.
        let part = (loaded as f64 / total.max(1) as f64).min(1.0);
        let elapsed = (now_ms - self.since_ms.load(Relaxed)).max(0) as f64 / 1000.0;
        (part, (part > 0.0).then(|| elapsed / part - elapsed))
    }

    /// INFO's fields while something is loaded.
    pub fn info(&self, now_ms: i64) -> Vec<(&'static str, String)> {
        let since = self.since_ms.load(Relaxed);
        if since == 0 {
            return Vec::new();
        }
        let (total, loaded) = (self.total.load(Relaxed), self.loaded.load(Relaxed));
        let (part, left) = self.progress(now_ms);
        let left = left.unwrap_or(1.0);
        vec![
            ("loading_start_time", (since / 1000).to_string()),
            ("loading_total_bytes", total.to_string()),
            ("loading_rdb_used_mem", self.used_mem.load(Relaxed).to_string()),
            ("loading_loaded_bytes", loaded.to_string()),
            ("loading_loaded_perc", format!("{:.2}", part * 100.0)),
            ("loading_eta_seconds", format!("{left:.0}")),
        ]
    }

    /// Notes the progress of the replay of commands: bytes of all files, and commands.
    pub(crate) fn reached(&self, bytes: u64, commands: u64) {
        self.loaded.store(bytes, Relaxed);
        self.commands.store(commands, Relaxed);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        self.since_ms.store(0, Relaxed);
    }

    pub(crate) fn tell(&self, engine: &Engine, path: &Path) {
        let now = engine.clock.wall_ms() as i64;
        if now - self.told_ms.load(Relaxed) < TELL_MS {
            return;
        }
        self.told_ms.store(now, Relaxed);
        log!(engine.log, Notice, "Loading {}: {}", path.display(), self.describe(now));
    }

    fn describe(&self, now_ms: i64) -> String {
        let (part, left) = self.progress(now_ms);
        let what = match self.commands.load(Relaxed) {
            0 => format!("{} keys", self.keys.load(Relaxed)),
            commands => format!("{commands} commands"),
        };
        let left = left.map_or_else(String::new, |left| format!(", about {left:.0} seconds left"));
        format!("{:.0}%, {what}{left}", part * 100.0)
    }
}

/// The output of the reading thread.
enum Loadable {
    Batch(usize, Batch),
    /// One that is too large to be cut out.
    Key(usize, Box<Loaded>),
    Function(Vec<u8>),
}

/// The treatment of keys that are there already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Present {
    /// The file is refused.
    Refuse,
    /// They are replaced.
    Replace,
}

/// A file whose bytes are counted while they are read.
struct Counted<'a, R> {
    source: R,
    loading: &'a Loading,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buf)?;
        self.loading.loaded.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// Reads everything, and hands it on.
fn cut<R: Read>(
    engine: &Engine,
    reader: &mut Reader<R>,
    databases: usize,
    send: Option<&SyncSender<Loadable>>,
) -> Result<(), String> {
    let mut db = 0;
    // When the receiver is gone, the other side knows why.
    let gone = || "given up".to_owned();
    loop {
        // Without a receiver it only proves the file, and for that it must decode.
        let item = if send.is_some() { reader.next_or_batch() } else { reader.next() };
        match item.map_err(|e| e.to_string())? {
            Item::Aux { name, value } => {
                let text = String::from_utf8_lossy(value);
                match name {
                    b"redis-ver" | b"valkey-ver" if send.is_some() => {
                        log!(engine.log, Notice, "Loading RDB produced by version {}", text);
                    }
                    b"ctime" if send.is_some() => {
                        let age =
                            text.parse::<i64>().map(|t| engine.clock.wall_ms() as i64 / 1000 - t);
                        log!(engine.log, Notice, "RDB age {} seconds", age.unwrap_or(0).max(0));
                    }
                    b"used-mem" if send.is_some() => {
                        let bytes = text.parse::<u64>().unwrap_or(0);
                        engine.persistence.loading.used_mem.store(bytes, Relaxed);
                        let mb = bytes as f64 / f64::from(1 << 20);
                        log!(engine.log, Notice, "RDB memory usage when created {:.2} Mb", mb);
                    }
                    _ => {}
                }
            }
            Item::Select(n) => {
                db = usize::try_from(n).ok().filter(|n| *n < databases).ok_or_else(|| {
                    format!(
                        "FATAL: Data file was created with a Redis server configured to handle \
                         more than {databases} databases. Exiting"
                    )
                })?;
            }
            Item::Resize { .. } => {}
            Item::Function(code) => match send {
                Some(send) => {
                    send.send(Loadable::Function(code.to_vec())).map_err(|_| gone())?;
                }
                None => engine.try_function(code)?,
            },
            Item::ModuleAux { module } => {
                log!(
                    engine.log,
                    Warning,
                    "Passed over what the module {} has saved beside its values",
                    module
                );
            }
            Item::Empty { key } => tell_empty(engine, key),
            Item::Batch(batch) => {
                if let Some(send) = send {
                    send.send(Loadable::Batch(db, batch)).map_err(|_| gone())?;
                }
            }
            Item::Entry(loaded) => {
                if let Some(send) = send {
                    send.send(Loadable::Key(db, Box::new(loaded))).map_err(|_| gone())?;
                }
            }
            Item::End { .. } => {
                return Ok(());
            }
        }
    }
}

fn tell_empty(engine: &Engine, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    engine.persistence.loading.empty.fetch_add(1, Relaxed);
    log!(engine.log, Notice, "rdbLoadObject skipping empty key: {}", key);
}

/// Proves that a file is whole, without keeping anything of it.
pub(crate) fn check(engine: &Engine, cx: &Context, path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let checksum = engine.config.flag(Id::Rdbchecksum);
    let mut reader =
        Reader::new(file, rdb_limits(&cx.small), checksum).map_err(|e| e.to_string())?;
    cut(engine, &mut reader, engine.keyspace.databases(), None)
}

/// Looks at a snapshot by itself: how many keys it has, or its error and the number of keys before it.
/// With them come the bytes behind its end that were read, and the source of the others.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn check_snapshot<R: Read>(source: R) -> Result<(u64, (Vec<u8>, R)), String> {
    let limits = rdb_limits(&Small::default());
    let mut reader = Reader::new(source, limits, true).map_err(|e| e.to_string())?;
    let mut keys = 0;
    loop {
        match reader.next() {
            Ok(Item::Entry(_)) => keys += 1,
            Ok(Item::End { .. }) => return Ok((keys, reader.into_rest())),
            Ok(_) => {}
            Err(e) => return Err(format!("{e}, behind {keys} keys")),
        }
    }
}

/// Reads a snapshot from `source` into the keyspace; `path` is for messages. Returns the source and the
/// bytes that were read beyond the snapshot's end: an append-only file may go on there.
///
/// # Errors
/// The file is damaged, or names a key twice. The keys that were read before that are in the keyspace.
pub(crate) fn read<R: Read + Send>(
    engine: &Engine,
    cx: &mut Context,
    path: &Path,
    source: R,
    present: Present,
) -> Result<(Vec<u8>, R), String> {
    let loading = &engine.persistence.loading;
    loading.begin_snapshot();
    let checksum = engine.config.flag(Id::Rdbchecksum);
    let limits = rdb_limits(&cx.small);
    let databases = engine.keyspace.databases();
    let (send, receive) = sync_channel::<Loadable>(16);
    let receive = Mutex::new(Some(receive));
    let (now, keep, receive) = (cx.now, cx.keep_expired, &receive);
    let place = |cx: &mut Context| -> Result<(), String> {
        loop {
            let part = match &*receive.lock() {
                Some(parts) => parts.recv(),
                None => return Ok(()),
            };
            let Ok(part) = part else { return Ok(()) };
            let outcome = take(engine, cx, part, limits, present);
            if outcome.is_err() {
                // The others and the reader stop, too.
                *receive.lock() = None;
                return outcome;
            }
            loading.tell(engine, path);
        }
    };
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let source = Counted { source, loading };
            let mut reader = Reader::new(source, limits, checksum).map_err(|e| e.to_string())?;
            cut(engine, &mut reader, databases, Some(&send))?;
            let (rest, counted) = reader.into_rest();
            Ok((rest, counted.source))
        });
        // Not where only this thread's context may look at the keyspace.
        let alone = engine.keyspace.is_single() || cx.holds();
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get().min(10));
        // One reads, and one is this.
        let others = if alone { 0 } else { cores - 1 };
        let others: Vec<_> = (1..others)
            .map(|n| {
                let place = &place;
                scope.spawn(move || {
                    let mut cx = Context::new(now, Rng::from_seed(now as u64 ^ n as u64));
                    settings::follow(&engine.config, &mut cx);
                    cx.keep_expired = keep;
                    place(&mut cx)
                })
            })
            .collect();
        let mut outcome = place(cx);
        for other in others {
            outcome = outcome.and(other.join().unwrap_or_else(|_| Err("a thread died".into())));
        }
        let read = reading.join().unwrap_or_else(|_| Err("the reader has died".to_owned()));
        outcome.and(read)
    })
}

/// Inserts a part.
fn take(
    engine: &Engine,
    cx: &mut Context,
    part: Loadable,
    limits: Limits,
    present: Present,
) -> Result<(), String> {
    let (db, batch) = match part {
        Loadable::Function(code) => {
            return engine.load_function(&code, present == Present::Replace);
        }
        Loadable::Key(db, loaded) => return insert(engine, cx, db, vec![*loaded], present),
        Loadable::Batch(db, batch) => (db, batch),
    };
    let mut entries = batch.entries(limits);
    let mut keys = Vec::with_capacity(BATCH);
    loop {
        match entries.next().map_err(|e| e.to_string())? {
            Some(Item::Entry(loaded)) => keys.push(loaded),
            Some(Item::Empty { key }) => tell_empty(engine, key),
            Some(_) => {}
            None => return insert(engine, cx, db, keys, present),
        }
        if keys.len() == BATCH {
            insert(
                engine,
                cx,
                db,
                std::mem::replace(&mut keys, Vec::with_capacity(BATCH)),
                present,
            )?;
        }
    }
}

fn insert(
    engine: &Engine,
    cx: &mut Context,
    index: usize,
    keys: Vec<Loaded>,
    present: Present,
) -> Result<(), String> {
    let (ks, loading) = (&engine.keyspace, &engine.persistence.loading);
    super::save::wait_for_test(engine, Id::KeyLoadDelay, keys.len() as u64, || false);
    let hashes: Vec<u64> = keys.iter().map(|l| stdx::hash::hash64(l.entry.key())).collect();
    let pin = crossbeam_epoch::pin();
    for hash in &hashes {
        ks.prefetch_bucket(index, *hash, &pin);
    }
    drop(pin);
    let (mut loaded_keys, mut expired) = (0, 0);
    for (loaded, hash) in keys.into_iter().zip(hashes) {
        let mut e = loaded.entry;
        if e.deadline().is_some_and(|d| d < cx.now) && !cx.keep_expired {
            expired += 1;
            continue;
        }
        e.set_access(cx.access_of(loaded.idle, loaded.freq));
        let name = e.key().to_vec();
        let key = Key { bytes: &name, hash };
        let mut db = Db::lock_one(ks, index, key, cx);
        if db.peek(key).is_some() {
            if present == Present::Refuse {
                let name = stdx::repr::quoted(&name);
                return Err(format!("RDB has duplicated key {name} in DB {index}"));
            }
            db.unlink(key);
        }
        db.put(e);
        db.cx.effects.clear();
        loaded_keys += 1;
    }
    loading.keys.fetch_add(loaded_keys, Relaxed);
    loading.expired.fetch_add(expired, Relaxed);
    Ok(())
}

/// Reads the snapshot file at `path`; see `read`.
pub fn read_file(
    engine: &Engine,
    cx: &mut Context,
    path: &Path,
    present: Present,
) -> Result<(), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let bytes = file.metadata().map_or(0, |m| m.len());
    let loading = &engine.persistence.loading;
    let began = engine.clock.monotonic_ns();
    loading.begin(bytes, engine.clock.wall_ms() as i64);
    let outcome = read(engine, cx, path, file, present);
    loading.end();
    outcome?;
    let seconds = (engine.clock.monotonic_ns() - began) as f64 / 1e9;
    let (keys, expired) = (loading.keys.load(Relaxed), loading.expired.load(Relaxed));
    log!(
        engine.log,
        Notice,
        "Done loading RDB, keys loaded: {}, keys expired: {}, empty keys skipped: {}.",
        keys,
        expired,
        loading.empty.load(Relaxed)
    );
    log!(engine.log, Notice, "DB loaded from disk: {:.3} seconds", seconds);
    Ok(())
}

/// Refuses a snapshot file that is not whole.
pub fn prove(engine: &Engine, thread: &Thread, path: &Path) -> Result<(), Fail> {
    check(engine, &thread.cx, path).map_err(|e| {
        log!(engine.log, Warning, "{} is not loaded: {}", path.display(), e);
        Fail::new(format!("ERR {} cannot be loaded: {e}", path.display()))
    })
}

/// Replaces everything by the data of the snapshot file, which has proved whole. No client sees anything
/// in between: the thread has the whole keyspace locked.
pub fn replace_all(engine: &Engine, thread: &mut Thread, path: &Path) -> Result<(), Fail> {
    within(engine, thread, |thread| {
        thread.flush_all(engine);
        // A duplicate key is no reason to end with half of the data.
        read_file(engine, &mut thread.cx, path, Present::Replace)
            .map_err(|e| Fail::new(format!("ERR {} cannot be loaded: {e}", path.display())))
    })
}

/// Calls the function while this thread has the whole keyspace locked.
pub fn within<R>(engine: &Engine, thread: &mut Thread, f: impl FnOnce(&mut Thread) -> R) -> R {
    engine.keyspace.hold(&mut thread.cx, None);
    let r = f(thread);
    engine.keyspace.release(&mut thread.cx);
    thread.collect();
    r
}

impl Engine {
    /// Begins to load the data on disk, in a thread of its own; commands are answered `-LOADING` until it
    /// is done. Called before the workers run. `done` is called with the result, after commands are
    /// admitted again.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn load(
        self: &Arc<Self>,
        done: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> io::Result<()> {
        let path = super::path(self);
        let journal = self.config.flag(Id::Appendonly);
        if !journal && !path.exists() {
            done(Ok(()));
            return Ok(());
        }
        self.attention.set(Attention::LOADING, true);
        let single = self.solo.lock().as_ref().map(|solo| self.keyspace.share(solo)).is_some();
        let engine = Arc::clone(self);
        let work = move || {
            let now = engine.clock.wall_ms() as i64;
            let mut cx = Context::new(now, Rng::from_seed(engine.clock.monotonic_ns()));
            settings::follow(&engine.config, &mut cx);
            let outcome = if journal {
                engine.load_journal(&mut cx)
            } else {
                let read = read_file(&engine, &mut cx, &path, Present::Refuse);
                if let Err(e) = &read {
                    // The text that operators of Redis look for.
                    log!(engine.log, Warning, "Internal error in RDB reading: {}", e);
                    let dir = std::env::current_dir().unwrap_or_default();
                    log!(
                        engine.log,
                        Warning,
                        "{} is left as it is. Restore it from a backup, or move it away to begin \
                         without data; `apus check` tells how far it can be read.",
                        dir.join(&path).display()
                    );
                    log!(engine.log, Warning, "Terminating server after rdb file reading failure.");
                }
                read.map_err(|e| format!("{}: {e}", path.display()))
            };
            match outcome {
                Ok(()) => {
                    let end = move |engine: &Engine, thread: &mut Thread| {
                        if single {
                            engine.keyspace.unshare(&thread.cx.solo);
                        }
                        engine.attention.set(Attention::LOADING, false);
                        done(Ok(()));
                    };
                    engine.post(0, Message::Run(Job::new(end)));
                }
                Err(e) => {
                    let why = e.trim_end_matches('.');
                    log!(engine.log, Warning, "Fatal error loading the DB: {}. Exiting.", why);
                    done(Err(e));
                }
            }
        };
        std::thread::Builder::new().name("apus-loader".into()).spawn(work).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_part_and_the_rest_is_not_negative() {
        let loading = Loading::default();
        loading.begin(200, 10_000);
        assert_eq!(loading.describe(12_000), "0%, 0 keys");
        loading.reached(50, 7);
        assert_eq!(loading.describe(12_000), "25%, 7 commands, about 6 seconds left");
        // The clock was set back, and the file has grown.
        loading.reached(400, 9);
        assert_eq!(loading.describe(9_000), "100%, 9 commands, about 0 seconds left");
        let info = loading.info(9_000);
        assert!(info.contains(&("loading_loaded_perc", "100.00".to_owned())), "{info:?}");
        loading.end();
        assert!(loading.info(9_000).is_empty());
    }
}
