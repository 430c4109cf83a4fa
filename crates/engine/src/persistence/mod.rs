//! Snapshots: SAVE, BGSAVE, the `save` points, the last one at shutdown, and loading.
//!
//! A snapshot is taken without a fork ([`store::Snapshot`]): its moment is short, its content is
//! serialised while commands go on, and its memory is a few buffers. The file is Redis's RDB.
//!
//! A worker thread begins a snapshot. With only one worker there are no locks on the keyspace; that thread switches
//! them on ([`store::Keyspace::share`]) for as long as others serialise.

mod file;
pub mod load;
mod queue;
pub mod save;
mod shutdown;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};
use std::sync::mpsc::channel;

use commands::Fail;
use config::Id;
use parking_lot::{Mutex, RwLock};
use persist::disk::{Disk, Real};

use crate::engine::{Attention, Engine, ShutdownRequest};
use crate::log;
use crate::mailbox::{Job, Message};
use crate::thread::Thread;

pub(crate) use load::Loading;
pub use load::check_snapshot;
pub use shutdown::{abort, begin_shutdown, shut_down};

/// After a failed background save, the next one by a `save` point waits this long, in seconds.
const RETRY_SECONDS: i64 = 5;

/// The state of snapshots.
pub struct Persistence {
    /// One is being taken, in the background or not.
    busy: AtomicBool,
    /// Unix milliseconds at which the one in the background began; 0 when there is none.
    background_since: AtomicI64,
    /// BGSAVE SCHEDULE: to be begun when the present one has ended.
    scheduled: AtomicBool,
    /// Unix seconds of the last one that succeeded, or of the start.
    last_save: AtomicI64,
    /// Unix seconds at which the last one was begun.
    last_try: AtomicI64,
    /// Whether the last one in the background succeeded.
    last_ok: AtomicBool,
    /// Seconds that it took; -1 before any.
    last_seconds: AtomicI64,
    /// How many have succeeded.
    saves: AtomicU64,
    /// Changes that the last successful one has, of all since the start.
    saved_changes: AtomicU64,
    /// Keys serialised of the present one, and about how many there are.
    progress: [AtomicU64; 2],
    /// Keys that commands saved during the last one.
    early: AtomicU64,
    /// The file that is being written, under its temporary name.
    temporary: Mutex<Option<PathBuf>>,
    /// The queue of its bytes.
    present: Mutex<Option<Arc<queue::Queue>>>,
    /// Where it is written.
    disk: RwLock<Arc<dyn Disk>>,
    /// A shutdown that a signal requested and that has not begun.
    asked: Mutex<Option<ShutdownRequest>>,
    /// The load that is under way, or was the last.
    pub loading: Loading,
}

impl Persistence {
    /// Whether a snapshot is being taken in the background.
    pub fn is_in_background(&self) -> bool {
        self.background_since.load(Relaxed) != 0
    }

    /// Whether another snapshot in the background is to follow the present work.
    pub fn schedule(&self, yes: bool) {
        self.scheduled.store(yes, Relaxed);
    }

    pub(crate) fn new(now_ms: i64) -> Self {
        Self {
            busy: AtomicBool::new(false),
            background_since: AtomicI64::new(0),
            scheduled: AtomicBool::new(false),
            last_save: AtomicI64::new(now_ms / 1000),
            last_try: AtomicI64::new(0),
            last_ok: AtomicBool::new(true),
            last_seconds: AtomicI64::new(-1),
            saves: AtomicU64::new(0),
            saved_changes: AtomicU64::new(0),
            progress: Default::default(),
            early: AtomicU64::new(0),
            temporary: Mutex::default(),
            present: Mutex::default(),
            disk: RwLock::new(Arc::new(Real)),
            asked: Mutex::default(),
            loading: Loading::default(),
        }
    }

    /// Takes the right to take a snapshot.
    fn claim(&self) -> bool {
        self.busy.compare_exchange(false, true, AcqRel, Acquire).is_ok()
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk.read())
    }

    /// Has the snapshot that is being taken fail.
    pub(crate) fn give_up(&self) {
        if let Some(queue) = &*self.present.lock() {
            queue.kill();
        }
    }

    /// Whether a snapshot is being taken.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Unix seconds of the last save.
    pub fn last_save(&self) -> i64 {
        self.last_save.load(Relaxed)
    }
}

/// The snapshot's file.
pub fn path(engine: &Engine) -> PathBuf {
    PathBuf::from(engine.config.string(Id::Dbfilename))
}

/// Says in the log when snapshots are to be saved where no file can be made. The end of the server would be
/// a late moment to learn of it.
pub(crate) fn warn_unless_writable(engine: &Engine) {
    if engine.config.save_points().is_empty() {
        return;
    }
    let probe = PathBuf::from(format!("temp-{}.probe", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&probe);
    if let Err(e) = made {
        log!(
            engine.log,
            Warning,
            "No file can be made in `dir` {}: {}. Snapshots will fail, and SIGTERM and SHUTDOWN will not \
             end the server because of that. Set `dir` to another directory, or `save \"\"` for no \
             snapshots.",
            engine.config.string(Id::Dir),
            config::os_text(&e)
        );
        return;
    }
    // The probe file has no other use.
    let _ = std::fs::remove_file(&probe);
}

/// Threads that serialise: half of the cores, since commands go on meanwhile.
fn walkers() -> usize {
    std::thread::available_parallelism().map_or(1, |n| (n.get() / 2).clamp(1, 8))
}

/// Changes since the last save.
pub(crate) fn changes(engine: &Engine) -> u64 {
    engine.totals().dirty.saturating_sub(engine.persistence.saved_changes.load(Relaxed))
}

/// Notes how one has ended. The refusal of writes begins with one in the background that failed,
/// and ends with any that succeeds.
fn ended(engine: &Engine, changes: u64, outcome: &std::io::Result<save::Taken>) {
    let p = &engine.persistence;
    let now = engine.clock.wall_ms() as i64;
    if let Ok(taken) = outcome {
        p.last_ok.store(true, Relaxed);
        p.last_save.store(now / 1000, Relaxed);
        p.saves.fetch_add(1, Relaxed);
        p.saved_changes.store(changes, Relaxed);
        p.early.store(taken.early, Relaxed);
    }
    follow_config(engine);
    *p.temporary.lock() = None;
    p.busy.store(false, Relaxed);
}

/// Refuses writes after a failure, where that is wanted: called when a condition of it changes.
pub(crate) fn follow_config(engine: &Engine) {
    let c = &engine.config;
    let refuse = !engine.persistence.last_ok.load(Relaxed)
        && c.flag(Id::StopWritesOnBgsaveError)
        && !c.save_points().is_empty();
    engine.attention.set(Attention::UNSAVED, refuse);
}

/// The refusal of writes after a failed save.
const MISCONF: Fail = Fail::text(
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to \
     disk. Commands that may modify the data set are disabled, because this instance is \
     configured to report errors during writes if RDB snapshotting fails \
     (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB \
     error.",
);

/// The refusal of a second one.
pub const BUSY: Fail = Fail::text("ERR Background save already in progress");

/// Takes a snapshot in this thread. The shards that it has locked stay locked meanwhile; other threads go on.
pub fn save(engine: &Engine, thread: &mut Thread, path: &Path) -> Result<(), Fail> {
    let p = &engine.persistence;
    if !p.claim() {
        return Err(BUSY);
    }
    thread.collect();
    let mut at = 0;
    let taking = save::begin(engine, &mut thread.cx, path, &[("aof-base", "0".into())], || {
        at = engine.totals().dirty;
    });
    let Some(taking) = taking else {
        p.busy.store(false, Relaxed);
        return Err(BUSY);
    };
    let outcome = taking.here(engine, &mut thread.cx, &|_| {});
    ended(engine, at, &outcome);
    match outcome {
        Ok(_) => {
            log!(engine.log, Notice, "DB saved on disk");
            Ok(())
        }
        Err(e) => {
            log!(engine.log, Warning, "Error saving DB to {}: {}", path.display(), e);
            Err(Fail::text("ERR"))
        }
    }
}

/// Begins a snapshot in the background, called by a worker thread that has nothing locked.
pub fn save_in_background(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let p = &engine.persistence;
    if !p.claim() {
        return Err(BUSY);
    }
    let began = engine.clock.wall_ms() as i64;
    p.last_try.store(began / 1000, Relaxed);
    let (give, take) = channel::<(save::Taking, u64)>();
    let (shared, index) = (engine.arc(), thread.index);
    let work = move || {
        if let Ok((taking, changes)) = take.recv() {
            in_background(&shared, index, taking, began, changes);
        }
    };
    // Before the snapshot begins: one that has begun must be walked.
    let spawned = std::thread::Builder::new().name("apus-snapshot".into()).spawn(work);
    if let Err(e) = spawned {
        log!(engine.log, Warning, "Can't save in background: no thread: {}", e);
        p.last_ok.store(false, Relaxed);
        follow_config(engine);
        p.busy.store(false, Relaxed);
        return Err(Fail::text("ERR"));
    }
    thread.collect();
    let mut at = 0;
    let aux = [("aof-base", "0".to_owned())];
    let taking =
        save::begin(engine, &mut thread.cx, &path(engine), &aux, || at = engine.totals().dirty);
    let Some(taking) = taking else {
        p.busy.store(false, Relaxed);
        return Err(BUSY);
    };
    engine.keyspace.share(&thread.cx.solo);
    p.background_since.store(began, Relaxed);
    p.progress[0].store(0, Relaxed);
    p.progress[1].store(taking.keys(), Relaxed);
    log!(engine.log, Notice, "Background saving started");
    // The thread lives until it has got this.
    let _ = give.send((taking, at));
    Ok(())
}

/// Begins a snapshot in the background for the journal: at its moment `at` is called, when it is on
/// disk, `written` is called with its length, on the thread that wrote it, and `done` with the result. Called by a
/// worker thread that has nothing locked.
///
/// # Errors
/// There is a snapshot under way, or no thread to be had.
pub(crate) fn take_base(
    engine: &Engine,
    thread: &mut Thread,
    path: &Path,
    at: impl FnOnce(),
    written: impl FnOnce(u64) -> Result<u64, String> + Send + 'static,
    done: impl FnOnce(&Engine, Result<u64, String>) + Send + 'static,
) -> Result<(), Fail> {
    let p = &engine.persistence;
    if !p.claim() {
        return Err(BUSY);
    }
    let (give, take) = channel::<save::Taking>();
    let (shared, index) = (engine.arc(), thread.index);
    let now = engine.clock.wall_ms() as i64;
    let work = move || {
        let Ok(taking) = take.recv() else { return };
        let outcome = taking.apart(&shared, walkers(), now, &|_| {});
        let outcome = outcome.map_err(|e| e.to_string()).and_then(|t| written(t.bytes));
        let end = move |engine: &Engine, thread: &mut Thread| {
            engine.keyspace.unshare(&thread.cx.solo);
            engine.persistence.busy.store(false, Relaxed);
            done(engine, outcome);
        };
        shared.post(index, Message::Run(Job::new(end)));
    };
    if let Err(e) = std::thread::Builder::new().name("apus-snapshot".into()).spawn(work) {
        p.busy.store(false, Relaxed);
        return Err(Fail::new(format!("ERR no thread: {e}")));
    }
    let aux = [("aof-base", "1".to_owned())];
    let Some(taking) = save::begin(engine, &mut thread.cx, path, &aux, at) else {
        p.busy.store(false, Relaxed);
        return Err(BUSY);
    };
    engine.keyspace.share(&thread.cx.solo);
    // The thread lives until it has got this.
    let _ = give.send(taking);
    Ok(())
}

/// The work of the thread of a background save.
fn in_background(engine: &Engine, index: usize, taking: save::Taking, began: i64, changes: u64) {
    let path = taking.path().to_owned();
    let outcome = taking.apart(engine, walkers(), began, &|keys| {
        engine.persistence.progress[0].fetch_add(keys, Relaxed);
    });
    match &outcome {
        Ok(t) => log!(
            engine.log,
            Notice,
            "DB saved on disk: {} bytes, {} keys, {} of them by commands that changed them",
            t.bytes,
            t.keys,
            t.early
        ),
        Err(e) => log!(
            engine.log,
            Warning,
            "Write error while saving DB to the disk ({}): {}",
            path.display(),
            e
        ),
    }
    let word = if outcome.is_ok() { "terminated with success" } else { "error" };
    log!(engine.log, Notice, "Background saving {}", word);
    let end = move |engine: &Engine, thread: &mut Thread| {
        // The locks go when no thread except that one uses the keyspace.
        engine.keyspace.unshare(&thread.cx.solo);
        let p = &engine.persistence;
        p.background_since.store(0, Relaxed);
        let seconds = (engine.clock.wall_ms() as i64 - began) / 1000;
        p.last_seconds.store(seconds, Relaxed);
        if outcome.is_err() {
            p.last_ok.store(false, Relaxed);
        }
        ended(engine, changes, &outcome);
    };
    engine.post(index, Message::Run(Job::new(end)));
}

/// Periodic work of the first worker: scheduled saves, and those that a `save` point asks for.
pub(crate) fn upkeep(engine: &Engine, thread: &mut Thread) {
    shutdown::begin_asked(engine, thread);
    let p = &engine.persistence;
    if p.busy.load(Relaxed) || engine.attention.get() & Attention::LOADING != 0 {
        return;
    }
    if p.scheduled.load(Relaxed) {
        if engine.puts_off_locking_all() {
            return;
        }
        if save_in_background(engine, thread).is_ok() {
            p.scheduled.store(false, Relaxed);
        }
        return;
    }
    let points = engine.config.save_points();
    if points.is_empty() {
        return;
    }
    let now = engine.clock.wall_ms() as i64 / 1000;
    if !p.last_ok.load(Relaxed) && now - p.last_try.load(Relaxed) <= RETRY_SECONDS {
        return;
    }
    let changes = changes(engine);
    let since = u64::try_from(now - p.last_save()).unwrap_or(0);
    if let Some((seconds, n)) = points.iter().find(|(s, n)| changes >= *n && since > *s)
        && !engine.puts_off_locking_all()
    {
        log!(engine.log, Notice, "{} changes in {} seconds. Saving...", n, seconds);
        // Only one that is under way refuses, and there is none.
        let _ = save_in_background(engine, thread);
    }
}

impl Engine {
    /// INFO's fields about snapshots: name and value.
    pub fn snapshot_info(&self) -> Vec<(&'static str, i64)> {
        let p = &self.persistence;
        let since = p.background_since.load(Relaxed);
        let now = self.clock.wall_ms() as i64;
        let n = |a: &AtomicU64| a.load(Relaxed) as i64;
        let running = since != 0;
        vec![
            ("current_save_keys_processed", if running { n(&p.progress[0]) } else { 0 }),
            ("current_save_keys_total", if running { n(&p.progress[1]) } else { 0 }),
            ("rdb_changes_since_last_save", changes(self) as i64),
            ("rdb_bgsave_in_progress", i64::from(running)),
            ("rdb_last_save_time", p.last_save()),
            ("rdb_last_bgsave_time_sec", p.last_seconds.load(Relaxed)),
            ("rdb_current_bgsave_time_sec", if running { (now - since) / 1000 } else { -1 }),
            ("rdb_saves", n(&p.saves)),
            ("rdb_last_cow_size", 0),
            ("rdb_last_load_keys_expired", n(&p.loading.expired)),
            ("rdb_last_load_keys_loaded", n(&p.loading.keys)),
        ]
    }

    /// Why commands that write are refused at present, if they are: the disk has failed.
    pub(crate) fn refuses_writes(&self) -> Option<Fail> {
        let attention = self.attention.get();
        if attention & Attention::UNSAVED != 0 {
            return Some(MISCONF);
        }
        (attention & Attention::DISK != 0).then(|| self.journal.misconf())
    }

    /// Logs the configured features that will not work.
    pub fn warn_at_start(&self) {
        warn_unless_writable(self);
        if self.attention.get() & Attention::REPLICAS != 0 {
            log!(
                self.log,
                Warning,
                "min-replicas-to-write is {}: all writes are refused, since Apus does not replicate",
                self.config.int(Id::MinReplicasToWrite)
            );
        }
    }

    /// Whether the last save in the background succeeded.
    pub fn last_save_ok(&self) -> bool {
        self.persistence.last_ok.load(Relaxed)
    }

    /// Writes snapshots to another disk: for tests.
    pub fn save_to(&self, disk: Arc<dyn Disk>) {
        *self.persistence.disk.write() = disk;
    }

    /// Removes the file of an unfinished save: the process is about to end.
    pub fn abandon_save(&self) {
        if let Some(path) = self.persistence.temporary.lock().take() {
            // The thread that writes it ends with the process.
            let _ = std::fs::remove_file(path);
        }
    }

    /// This engine, for a thread that outlives the call.
    pub(crate) fn arc(&self) -> Arc<Engine> {
        self.me.upgrade().expect("an engine in use is owned by somebody")
    }
}
