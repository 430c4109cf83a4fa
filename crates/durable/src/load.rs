//! Reading a snapshot into the keyspace: one thread reads and cuts the input into batches of keys; the
//! others decode these and insert the keys.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};

use commands::{Fail, rdb_limits};
use config::Id;
use engine::{Engine, Thread, log, settings};
use parking_lot::Mutex;
use rdb::{Batch, Item, Limits, Loaded, Reader};
use stdx::rng::Rng;
use store::{Context, Db, Key, Small};

use crate::delay;
use crate::loading::Loading;
use crate::state::Durable;

/// Keys that are inserted together, so that their cache misses overlap.
const BATCH: usize = 256;

/// A snapshot that is to be read: bytes that come from a file or a connection.
pub struct Source<R> {
    /// The bytes; a thread of its own reads them, and waits for them where it must.
    pub bytes: R,
    /// How many there are, as far as that is known: for the progress that INFO shows.
    pub total: u64,
    /// What they are, for the log.
    pub name: String,
}

impl Source<File> {
    /// A file.
    ///
    /// # Errors
    /// As the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let bytes = File::open(path)?;
        let total = bytes.metadata().map_or(0, |m| m.len());
        Ok(Self { bytes, total, name: path.display().to_string() })
    }
}

/// The output of the reading thread.
enum Loadable {
    Batch(usize, Batch),
    /// One that is too large to be cut out.
    Key(usize, Box<Loaded>),
    Function(Vec<u8>),
    /// The file announces this many keys of the database.
    Reserve(usize, u64),
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

/// Takes over what a file says of itself.
fn note_aux(engine: &Engine, name: &[u8], value: &[u8]) {
    let text = String::from_utf8_lossy(value);
    match name {
        b"redis-ver" | b"valkey-ver" => {
            log!(engine.log, Notice, "Loading RDB produced by version {}", text);
        }
        b"ctime" => {
            let age = text.parse::<i64>().map(|t| engine.clock.wall_ms() as i64 / 1000 - t);
            log!(engine.log, Notice, "RDB age {} seconds", age.unwrap_or(0).max(0));
        }
        b"repl-stream-db" => {
            let db = text.parse::<u64>().unwrap_or(0);
            Durable::of(engine).loading.stream_db.store(db, Relaxed);
        }
        b"used-mem" => {
            let bytes = text.parse::<u64>().unwrap_or(0);
            Durable::of(engine).loading.used_mem.store(bytes, Relaxed);
            let mb = bytes as f64 / f64::from(1 << 20);
            log!(engine.log, Notice, "RDB memory usage when created {:.2} Mb", mb);
        }
        _ => {}
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
            Item::Aux { name, value } if send.is_some() => note_aux(engine, name, value),
            Item::Select(n) => {
                db = usize::try_from(n).ok().filter(|n| *n < databases).ok_or_else(|| {
                    format!(
                        "FATAL: Data file was created with a Redis server configured to handle \
                         more than {databases} databases. Exiting"
                    )
                })?;
            }
            Item::Aux { .. } => {}
            Item::Resize { keys, .. } => {
                if let Some(send) = send {
                    send.send(Loadable::Reserve(db, keys)).map_err(|_| gone())?;
                }
            }
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
    Durable::of(engine).loading.empty.fetch_add(1, Relaxed);
    log!(engine.log, Notice, "rdbLoadObject skipping empty key: {}", key);
}

/// Proves that a snapshot is whole, without keeping anything of it. Any thread may do that.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn prove_source<R: Read>(engine: &Engine, source: R) -> Result<(), String> {
    let now = engine.clock.wall_ms() as i64;
    let mut cx = Context::new(now, Rng::from_seed(now as u64));
    settings::follow(&engine.config, &mut cx);
    let checksum = engine.config.flag(Id::Rdbchecksum);
    let limits = rdb_limits(&cx.small);
    let mut reader = Reader::new(source, limits, checksum).map_err(|e| e.to_string())?;
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

/// Reads a snapshot from `source` into the keyspace; `name` is for the log. Returns the source and the
/// bytes that were read beyond the snapshot's end: an append-only file may go on there.
///
/// # Errors
/// The file is damaged, or names a key twice. The keys that were read before that are in the keyspace.
pub(crate) fn read<R: Read + Send>(
    engine: &Engine,
    cx: &mut Context,
    name: &(dyn Display + Sync),
    source: R,
    present: Present,
) -> Result<(Vec<u8>, R), String> {
    let loading = &Durable::of(engine).loading;
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
            loading.tell(&engine.log, engine.clock.wall_ms() as i64, name);
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
        Loadable::Reserve(db, keys) => {
            let keys = keys.min(Durable::of(engine).loading.keys_max());
            engine.keyspace.reserve(db, usize::try_from(keys).unwrap_or(0), cx);
            return Ok(());
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
    let (ks, loading) = (&engine.keyspace, &Durable::of(engine).loading);
    delay::wait(&engine.config, Id::KeyLoadDelay, keys.len() as u64, || false);
    let hashes: Vec<u64> = keys.iter().map(|l| stdx::hash::hash64(l.entry.key())).collect();
    let pin = store::epoch::pin();
    let spots: Vec<_> = hashes.iter().map(|hash| ks.spot(index, *hash, &pin)).collect();
    spots.iter().for_each(|spot| spot.prefetch_bucket());
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

/// Reads a snapshot into the keyspace.
///
/// # Errors
/// It cannot be read, is damaged, or names a key twice. The keys that were read before that are in the
/// keyspace.
pub fn read_source<R: Read + Send>(
    engine: &Engine,
    cx: &mut Context,
    source: Source<R>,
    present: Present,
) -> Result<(), String> {
    let loading = &Durable::of(engine).loading;
    let began = engine.clock.monotonic_ns();
    loading.begin(source.total, engine.clock.wall_ms() as i64);
    let outcome = read(engine, cx, &source.name, source.bytes, present);
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

/// The same for a file.
///
/// # Errors
/// As [`read_source`].
pub fn read_file(
    engine: &Engine,
    cx: &mut Context,
    path: &Path,
    present: Present,
) -> Result<(), String> {
    read_source(engine, cx, Source::open(path).map_err(|e| e.to_string())?, present)
}

/// Refuses a snapshot file that is not whole.
pub fn prove(engine: &Engine, path: &Path) -> Result<(), Fail> {
    let file = File::open(path).map_err(|e| e.to_string());
    file.and_then(|file| prove_source(engine, file)).map_err(|e| {
        log!(engine.log, Warning, "{} is not loaded: {}", path.display(), e);
        Fail::new(format!("ERR {} cannot be loaded: {e}", path.display()))
    })
}

/// Replaces everything by the data of a snapshot. No client sees anything in between: the thread has the
/// whole keyspace locked until the source ends, and other threads wait. The journal does not learn of it: see
/// [`replace_all`](crate::replace_all).
///
/// # Errors
/// The snapshot cannot be read or is damaged. Nothing is left then.
pub(crate) fn replace_all<R: Read + Send>(
    engine: &Engine,
    thread: &mut Thread,
    source: Source<R>,
) -> Result<(), Fail> {
    within(engine, thread, |thread| {
        thread.flush_all(engine);
        let name = source.name.clone();
        // A duplicate key is no reason to end with half of the data.
        read_source(engine, &mut thread.cx, source, Present::Replace).map_err(|e| {
            thread.flush_all(engine);
            Fail::new(format!("ERR {name} cannot be loaded: {e}"))
        })
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
