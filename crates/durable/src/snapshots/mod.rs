//! Snapshots: SAVE, BGSAVE, the `save` points, and any that another part of the server wants.
//!
//! A snapshot is taken without a fork ([`store::Snapshot`]): its moment is short, its content is
//! serialised while commands go on, and its memory is a few buffers. The bytes are Redis's RDB, and go
//! into a [`Sink`]: a file, or a [`pipe`] to whatever sends them on.
//!
//! A worker thread begins a snapshot. With only one worker there are no locks on the keyspace; that thread switches
//! them on ([`store::Keyspace::share`]) for as long as others serialise.

mod file;
mod pipe;
mod queue;
mod save;
mod sink;
mod state;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;

use commands::Fail;
use config::{Config, Id};
use engine::{Attention, Engine, Job, Message, Thread, log};

use crate::state::Durable;

pub(crate) use file::FileSink;
pub use pipe::{PipeSink, PipeSource, pipe};
pub use save::{Format, Taken};
pub use sink::Sink;
pub use state::Snapshots;

/// After a failed background save, the next one by a `save` point waits this long, in seconds.
const RETRY_SECONDS: i64 = 5;

/// Fields at the beginning of a snapshot: name and value.
pub type Fields = Vec<(&'static str, String)>;

/// The snapshot's file.
pub fn path(engine: &Engine) -> PathBuf {
    PathBuf::from(engine.config.string(Id::Dbfilename))
}

/// Says in the log when snapshots are to be saved where no file can be made. The end of the server would be
/// a late moment to learn of it.
pub fn warn_unless_writable(engine: &Engine) {
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
fn changes(engine: &Engine, snapshots: &Snapshots) -> u64 {
    engine.totals().dirty.saturating_sub(snapshots.saved_changes.load(Relaxed))
}

/// Refuses writes after a failure, where that is wanted: called when a condition of it changes. The refusal
/// begins with a save in the background that failed, and ends with any that succeeds.
pub(crate) fn follow_config(snapshots: &Snapshots, c: &Config, attention: &Attention) {
    let refuse =
        !snapshots.last_ok() && c.flag(Id::StopWritesOnBgsaveError) && !c.save_points().is_empty();
    attention.set(Attention::UNSAVED, refuse);
}

/// The refusal of writes after a failed save.
pub(crate) const MISCONF: Fail = Fail::text(
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to \
     disk. Commands that may modify the data set are disabled, because this instance is \
     configured to report errors during writes if RDB snapshotting fails \
     (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB \
     error.",
);

/// The refusal of a second one.
pub const BUSY: Fail = Fail::text("ERR Background save already in progress");

/// Why no snapshot has begun.
#[derive(Debug)]
pub enum NotBegun {
    /// One is under way.
    Busy,
    /// There is no thread to be had.
    NoThread(io::Error),
}

impl From<NotBegun> for Fail {
    fn from(why: NotBegun) -> Self {
        match why {
            NotBegun::Busy => BUSY,
            NotBegun::NoThread(e) => Self::new(format!("ERR no thread: {e}")),
        }
    }
}

/// The fields that show whether a snapshot is the base of a journal.
pub(crate) fn aof_base(yes: bool) -> Fields {
    vec![("aof-base", u8::from(yes).to_string())]
}

/// The fields of the file of SAVE and BGSAVE: with them the position in the replication stream, if the data is at
/// one. Every shard is locked. `within` says that a transaction or a script has changes that are not in the stream
/// yet.
fn file_fields(engine: &Engine, within: bool) -> Fields {
    let mut fields = aof_base(false);
    if within {
        return fields;
    }
    fields.extend(crate::position::Position::now(engine).iter().flat_map(|p| p.fields()));
    fields
}

/// The file of SAVE and BGSAVE.
fn file(engine: &Engine, snapshots: &Snapshots) -> FileSink {
    let often = engine.config.flag(Id::RdbSaveIncrementalFsync);
    FileSink::new(snapshots.disk(), &path(engine), often)
}

/// Takes a snapshot in this thread. The shards that it has locked stay locked meanwhile; other threads go on.
///
/// # Errors
/// A snapshot is under way, or the file cannot be written: the log says why.
pub fn save(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let p = &Durable::of(engine).snapshots;
    if !p.claim() {
        return Err(BUSY);
    }
    thread.collect();
    let mut at = 0;
    let within = thread.in_transaction || thread.cx.in_script;
    let moment = || {
        at = engine.totals().dirty;
        file_fields(engine, within)
    };
    let Some(taking) = save::begin(engine, &mut thread.cx, Format::Redis, moment) else {
        p.release();
        return Err(BUSY);
    };
    p.begun(taking.queue(), taking.keys());
    let mut sink = file(engine, p);
    p.writes(sink.temporary());
    let outcome = taking.here(engine, &mut thread.cx, &mut sink);
    drop(sink);
    if outcome.is_ok() {
        p.saved(engine.clock.wall_ms() as i64, at);
    }
    follow_config(p, &engine.config, &engine.attention);
    p.release();
    match outcome {
        Ok(_) => {
            log!(engine.log, Notice, "DB saved on disk");
            Ok(())
        }
        Err(e) => {
            log!(engine.log, Warning, "Error saving DB to {}: {}", path(engine).display(), e);
            Err(Fail::text("ERR"))
        }
    }
}

/// Begins a snapshot that threads of their own take: `end` is called on this worker thread when the sink has
/// it or has failed, and [releases](Snapshots::release) the right to take one. `moment` is called while every
/// shard is locked, and gives the fields. The thread has nothing locked.
fn begin(
    engine: &Engine,
    thread: &mut Thread,
    format: Format,
    mut sink: impl Sink + 'static,
    moment: impl FnOnce() -> Fields,
    end: impl FnOnce(&Engine, &mut Thread, io::Result<Taken>) + Send + 'static,
) -> Result<(), NotBegun> {
    let p = &Durable::of(engine).snapshots;
    if !p.claim() {
        return Err(NotBegun::Busy);
    }
    let (give, take) = channel::<save::Taking>();
    let (shared, index) = (engine.arc(), thread.index);
    let now = engine.clock.wall_ms() as i64;
    let work = move || {
        let Ok(taking) = take.recv() else { return };
        let progress = &Durable::of(&shared).snapshots.progress[0];
        let count = |keys| {
            progress.fetch_add(keys, Relaxed);
        };
        let outcome = taking.apart(&shared, &mut sink, walkers(), now, &count);
        // A file that has failed goes before the next one begins.
        drop(sink);
        let end = move |engine: &Engine, thread: &mut Thread| {
            // The locks go when no thread except that one uses the keyspace.
            engine.keyspace.unshare(&thread.cx.solo);
            end(engine, thread, outcome);
        };
        shared.post(index, Message::Run(Job::new(end)));
    };
    // Before the snapshot begins: one that has begun must be walked.
    if let Err(e) = std::thread::Builder::new().name("apus-snapshot".into()).spawn(work) {
        p.release();
        return Err(NotBegun::NoThread(e));
    }
    thread.collect();
    let Some(taking) = save::begin(engine, &mut thread.cx, format, moment) else {
        p.release();
        return Err(NotBegun::Busy);
    };
    engine.keyspace.share(&thread.cx.solo);
    p.begun(taking.queue(), taking.keys());
    // The thread lives until it has got this.
    let _ = give.send(taking);
    Ok(())
}

/// Begins a snapshot of this moment, which goes into `sink` on a thread of its own while commands go on: the
/// base of a journal. `moment` is called while every shard is locked and no command is under
/// way: the place to take a position in the stream of records; what it returns is written among the snapshot's
/// first fields. `done` is called on this worker thread when the sink has everything, or has failed. The
/// thread has nothing locked.
///
/// # Errors
/// A snapshot is under way, or the system has no more threads. Nothing is called then.
pub fn save_into(
    engine: &Engine,
    thread: &mut Thread,
    sink: impl Sink + 'static,
    moment: impl FnOnce() -> Fields,
    done: impl FnOnce(&Engine, &mut Thread, io::Result<Taken>) + Send + 'static,
) -> Result<(), NotBegun> {
    begin(engine, thread, Format::Redis, sink, moment, |engine, thread, outcome| {
        Durable::of(engine).snapshots.release();
        done(engine, thread, outcome);
    })
}

/// The same for replicas that read `format`. As in Redis, INFO shows it as it shows BGSAVE.
///
/// # Errors
/// As [`save_into`].
pub fn save_for_replicas(
    engine: &Engine,
    thread: &mut Thread,
    format: Format,
    sink: impl Sink + 'static,
    moment: impl FnOnce() -> Fields,
    done: impl FnOnce(&Engine, &mut Thread, io::Result<Taken>) + Send + 'static,
) -> Result<(), NotBegun> {
    let began = engine.clock.wall_ms() as i64;
    let end = move |engine: &Engine, thread: &mut Thread, outcome: io::Result<Taken>| {
        let p = &Durable::of(engine).snapshots;
        p.ended_in_background(engine.clock.wall_ms() as i64);
        p.release();
        done(engine, thread, outcome);
    };
    begin(engine, thread, format, sink, moment, end)?;
    Durable::of(engine).snapshots.background_since.store(began, Relaxed);
    Ok(())
}

/// Begins a snapshot in the background, called by a worker thread that has nothing locked.
///
/// # Errors
/// A snapshot is under way, or the system has no more threads.
pub fn save_in_background(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let p = &Durable::of(engine).snapshots;
    if p.is_busy() {
        return Err(BUSY);
    }
    let began = engine.clock.wall_ms() as i64;
    p.last_try.store(began / 1000, Relaxed);
    let sink = file(engine, p);
    let (path, temporary) = (sink.path().to_owned(), sink.temporary().to_owned());
    // Known only at the snapshot's moment.
    let at = Arc::new(AtomicU64::new(0));
    let known = Arc::clone(&at);
    let moment = move || {
        at.store(engine.totals().dirty, Relaxed);
        file_fields(engine, false)
    };
    let end = move |engine: &Engine, _: &mut Thread, outcome: io::Result<Taken>| {
        saved_in_background(engine, &path, known.load(Relaxed), &outcome);
    };
    match begin(engine, thread, Format::Redis, sink, moment, end) {
        Ok(()) => {
            p.writes(&temporary);
            p.background_since.store(began, Relaxed);
            log!(engine.log, Notice, "Background saving started");
            Ok(())
        }
        Err(NotBegun::Busy) => Err(BUSY),
        Err(NotBegun::NoThread(e)) => {
            log!(engine.log, Warning, "Can't save in background: no thread: {}", e);
            p.last_ok.store(false, Relaxed);
            follow_config(p, &engine.config, &engine.attention);
            Err(Fail::text("ERR"))
        }
    }
}

/// The end of a save in the background.
fn saved_in_background(engine: &Engine, path: &Path, changes: u64, outcome: &io::Result<Taken>) {
    match outcome {
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
    let p = &Durable::of(engine).snapshots;
    let now = engine.clock.wall_ms() as i64;
    p.ended_in_background(now);
    match outcome {
        Ok(_) => p.saved(now, changes),
        Err(_) => p.last_ok.store(false, Relaxed),
    }
    follow_config(p, &engine.config, &engine.attention);
    p.release();
}

/// FLUSHALL leaves an empty snapshot where snapshots are configured, as Redis does: the deleted data
/// does not come back with a restart.
#[cold]
pub(crate) fn save_after_flush(engine: &Engine, thread: &mut Thread) {
    let loading = engine.attention.get() & Attention::LOADING != 0;
    if loading || engine.config.save_points().is_empty() {
        return;
    }
    // A snapshot that is being taken in the background contains the deleted data: another follows it.
    let p = &Durable::of(engine).snapshots;
    let busy = p.is_busy();
    p.owed.store(busy, Relaxed);
    if !busy {
        // The log has the reason if it fails, and Redis does not report it to the client either.
        let _ = save(engine, thread);
    }
}

/// Periodic work of the first worker: scheduled saves, and those that a `save` point or FLUSHALL asks for.
pub(crate) fn upkeep(engine: &Engine, thread: &mut Thread) {
    begin_due(engine, thread);
    if Durable::of(engine).snapshots.owed.load(Relaxed) {
        save_after_flush(engine, thread);
    }
}

fn begin_due(engine: &Engine, thread: &mut Thread) {
    let p = &Durable::of(engine).snapshots;
    if p.is_busy() || engine.attention.get() & Attention::LOADING != 0 {
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
    if !p.last_ok() && now - p.last_try.load(Relaxed) <= RETRY_SECONDS {
        return;
    }
    let changes = changes(engine, p);
    let since = u64::try_from(now - p.last_save(engine.started_ms)).unwrap_or(0);
    if let Some((seconds, n)) = points.iter().find(|(s, n)| changes >= *n && since > *s)
        && !engine.puts_off_locking_all()
    {
        log!(engine.log, Notice, "{} changes in {} seconds. Saving...", n, seconds);
        // Only one that is under way refuses, and there is none.
        let _ = save_in_background(engine, thread);
    }
}

/// INFO's fields about snapshots: name and value.
pub fn info(engine: &Engine) -> Vec<(&'static str, i64)> {
    let d = Durable::of(engine);
    let p = &d.snapshots;
    let since = p.background_since.load(Relaxed);
    let now = engine.clock.wall_ms() as i64;
    let n = |a: &AtomicU64| a.load(Relaxed) as i64;
    let running = since != 0;
    vec![
        ("current_save_keys_processed", if running { n(&p.progress[0]) } else { 0 }),
        ("current_save_keys_total", if running { n(&p.progress[1]) } else { 0 }),
        ("rdb_changes_since_last_save", changes(engine, p) as i64),
        ("rdb_bgsave_in_progress", i64::from(running)),
        ("rdb_last_save_time", p.last_save(engine.started_ms)),
        ("rdb_last_bgsave_time_sec", p.last_seconds.load(Relaxed)),
        ("rdb_current_bgsave_time_sec", if running { (now - since) / 1000 } else { -1 }),
        ("rdb_saves", n(&p.saves)),
        ("rdb_last_cow_size", 0),
        ("rdb_last_load_keys_expired", n(&d.loading.expired)),
        ("rdb_last_load_keys_loaded", n(&d.loading.keys)),
    ]
}
