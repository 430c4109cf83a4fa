//! A rewrite: a snapshot replaces all records so far. No fork, and commands go on.
//!
//! A new segment begins, a snapshot is taken (whose moment has a sequence number), and when it is on
//! disk, a manifest names it and the segments that go beyond it; the others are removed. Until then
//! the old files are the journal: a rewrite that fails, or a crash in the middle of one, costs
//! nothing.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use commands::Fail;
use config::{Caller, Id};
use engine::{Attention, Engine, Thread, log};
use persist::disk;
use persist::journal::{Base, Control, Location, Manifest, Recovered};
use store::{Context, Db};

use super::{aof, start, writing};
use crate::snapshots::{self, FileSink, Sink};
use crate::state::Durable;

/// After a rewrite failed, the next automatic one waits so long.
const RETRY_MS: i64 = 60_000;

/// The refusal of a second one.
const BUSY: Fail = Fail::text("ERR Background append only file rewriting already in progress");

/// Begins a rewrite.
pub fn begin(engine: &Engine, thread: &mut Thread) -> Result<(), Fail> {
    let r = &Durable::of(engine).journal.rewrite;
    if engine.attention.get() & Attention::LOADING != 0 {
        // The journal that is being loaded is not there yet, and must not be taken for none.
        return Err(Fail::text("ERR the data is being loaded"));
    }
    if !r.claim() {
        return Err(BUSY);
    }
    let began = engine.clock.wall_ms() as i64;
    r.since_ms.store(began, Relaxed);
    r.scheduled.store(false, Relaxed);
    let outcome = match engine.journal.is_on() {
        true => take(engine, thread, began),
        false => take_alone(engine, thread, began),
    };
    if let Err(fail) = &outcome {
        ended(engine, began, &Err(fail.0.to_string()));
    } else {
        log!(engine.log, Notice, "Background append only file rewriting started");
    }
    outcome
}

fn take(engine: &Engine, thread: &mut Thread, began: i64) -> Result<(), Fail> {
    let (name, path) = {
        let mut running = Durable::of(engine).journal.running.lock();
        let Some(running) = &mut *running else {
            return Err(Fail::text("ERR the journal is being closed"));
        };
        running.bases += 1;
        let name = running.place.base(running.bases);
        let path = running.place.file(&name);
        // It fails only when the writer has ended.
        let _ = running.orders.send(Control::Rotate);
        (name, path)
    };
    engine.journal.shared.ring();
    // Known only at the snapshot's moment, which is long before it is on disk.
    let moment = Arc::new(AtomicU64::new(0));
    let known = Arc::clone(&moment);
    let shared = Arc::clone(&engine.journal.shared);
    let at = move || moment.store(shared.last(), Relaxed);
    let done = move |engine: &Engine, written: Result<u64, String>| match written {
        Err(why) => ended(engine, began, &Err(why)),
        Ok(bytes) => {
            let base = Base::Snapshot { name, bytes, sequence: known.load(Relaxed) };
            rebase(engine, began, base);
        }
    };
    take_base(engine, thread, &path, at, |_| Ok(()), done)
}

/// A rewrite while no journal is written: a base alone, which is there when one begins to be.
fn take_alone(engine: &Engine, thread: &mut Thread, began: i64) -> Result<(), Fail> {
    let place = start::place(engine);
    let disk: Arc<dyn disk::Disk> = Arc::new(disk::Real);
    let failed = |e: String| Fail::new(format!("ERR {e}"));
    let lock = writing::lock(&*disk, &place).map_err(failed)?;
    let old = left_behind(&*disk, &place).map_err(failed)?.unwrap_or_default();
    let seen = aof::find(&place).map_err(failed)?.map_or(0, |theirs| theirs.seen);
    let name = place.base(old.highest_of_all() + 1);
    let path = place.file(&name);
    let sequence = engine.journal.shared.last().max(old.base.sequence());
    // On the thread that writes the snapshot, since it waits for the disk.
    let name_it = move |bytes| {
        let base = Base::Snapshot { name, bytes, sequence };
        let manifest = Manifest { base, segments: Vec::new(), seen };
        let stored = manifest.store(&*disk, &place.manifest());
        stored.map_err(|e| io::Error::other(format!("the manifest: {e}")))?;
        old.remove(&*disk, &place);
        drop(lock);
        Ok(())
    };
    let done = move |engine: &Engine, written: Result<u64, String>| {
        ended(engine, began, &written.map(drop));
    };
    take_base(engine, thread, &path, || {}, name_it, done)
}

/// Begins a snapshot in the background: at its moment `at` is called, when it is on disk, `written` is called
/// with its length, on the thread that wrote it, and `done` with the result. The thread has nothing locked.
fn take_base(
    engine: &Engine,
    thread: &mut Thread,
    path: &Path,
    at: impl FnOnce(),
    written: impl FnOnce(u64) -> io::Result<()> + Send + 'static,
    done: impl FnOnce(&Engine, Result<u64, String>) + Send + 'static,
) -> Result<(), Fail> {
    let snapshots = &Durable::of(engine).snapshots;
    let often = engine.config.flag(Id::AofRewriteIncrementalFsync);
    let file = FileSink::new(snapshots.disk(), path, often);
    let temporary = file.temporary().to_owned();
    let sink = BaseSink { file, bytes: 0, written: Some(written) };
    let moment = || {
        at();
        snapshots::aof_base(true)
    };
    snapshots::save_into(engine, thread, sink, moment, move |engine, _, outcome| {
        done(engine, outcome.map(|t| t.bytes).map_err(|e| e.to_string()));
    })?;
    snapshots.writes(&temporary);
    Ok(())
}

/// A file, and what is done when it is on disk.
struct BaseSink<W> {
    file: FileSink,
    bytes: u64,
    written: Option<W>,
}

impl<W: FnOnce(u64) -> io::Result<()> + Send> Sink for BaseSink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.file.write(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.finish()?;
        match self.written.take() {
            Some(written) => written(self.bytes),
            None => Ok(()),
        }
    }
}

/// The manifest that an earlier journal has left, if it can be read.
fn left_behind(disk: &dyn disk::Disk, place: &Location) -> Result<Option<Manifest>, String> {
    match disk.read(&place.manifest()) {
        Ok(text) => Ok(Manifest::parse(&text).ok()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{}: {e}", place.manifest().display())),
    }
}

/// Has the writer take a base that is on disk.
fn rebase(engine: &Engine, began: i64, base: Base) {
    let me = engine.arc();
    let done = Box::new(move |outcome: Result<(), String>| ended(&me, began, &outcome));
    let sent = match &*Durable::of(engine).journal.running.lock() {
        Some(running) => {
            Durable::of(engine).journal.rewrite.rebasing.store(true, Relaxed);
            running.orders.send(Control::Rebase(base, done)).is_ok()
        }
        None => false,
    };
    if sent {
        engine.journal.shared.ring();
    } else {
        ended(engine, began, &Err("the journal has been closed".to_owned()));
    }
}

fn ended(engine: &Engine, began: i64, outcome: &Result<(), String>) {
    let r = &Durable::of(engine).journal.rewrite;
    let now = engine.clock.wall_ms() as i64;
    r.last_ok.store(outcome.is_ok(), Relaxed);
    r.last_seconds.store((now - began) / 1000, Relaxed);
    r.rebasing.store(false, Relaxed);
    match outcome {
        Ok(()) => {
            Durable::of(engine).journal.based.store(engine.journal.is_on(), Relaxed);
            writing::follow_config(engine);
            r.failures.store(0, Relaxed);
            log!(engine.log, Notice, "Background append only file rewriting finished successfully");
        }
        Err(why) => {
            r.failures.fetch_add(1, Relaxed);
            r.not_before.store(now + RETRY_MS, Relaxed);
            log!(engine.log, Warning, "Background append only file rewriting failed: {}", why);
        }
    }
    r.since_ms.store(0, Relaxed);
    r.busy.store(false, Relaxed);
    // A thread that sees this may begin the next.
    r.count.fetch_add(u64::from(outcome.is_ok()), Relaxed);
    writing::answer_durable(engine, engine.journal.shared.durable());
}

/// Periodic work of the first worker: rewrites that were scheduled, and those that
/// `auto-aof-rewrite-percentage` asks for.
pub(crate) fn upkeep(engine: &Engine, thread: &mut Thread) {
    let (j, r, c) = (&engine.journal, &Durable::of(engine).journal.rewrite, &engine.config);
    if r.busy.load(Relaxed)
        || Durable::of(engine).snapshots.is_busy()
        || engine.attention.get() & Attention::LOADING != 0
    {
        return;
    }
    let percent = c.int(Id::AutoAofRewritePercentage).max(0) as u64;
    let size = j.shared.figures.size.load(Relaxed);
    let base = j.shared.figures.base_size.load(Relaxed).max(1);
    let grown = percent > 0
        && j.is_on()
        && size >= c.bytes(Id::AutoAofRewriteMinSize)
        && u128::from(size.saturating_sub(base)) * 100 >= u128::from(base) * u128::from(percent)
        && engine.clock.wall_ms() as i64 >= r.not_before.load(Relaxed);
    if (grown || r.scheduled.load(Relaxed)) && engine.puts_off_locking_all() {
        return;
    }
    if grown {
        let growth = u128::from(size - base) * 100 / u128::from(base);
        log!(engine.log, Notice, "Starting automatic rewriting of AOF on {}% growth", growth);
    }
    if grown || r.scheduled.load(Relaxed) {
        // The result is logged.
        let _ = begin(engine, thread);
    }
}

/// CONFIG SET appendonly. An error is the log's text; the client is told to look there.
pub(crate) fn switch(engine: &Engine, thread: &mut Thread, on: bool) -> Result<(), String> {
    if on == engine.journal.is_on() || Durable::of(engine).journal.starting.load(Relaxed) {
        // The thread that loads it looks at the option when it is done.
        return Ok(());
    }
    if !on {
        stop_appending(engine, thread);
        if Durable::of(engine).journal.rewrite.is_busy() {
            // There is no child; these are the words that tools wait for.
            log!(engine.log, Notice, "Killing AOF child: the rewrite is given up");
            Durable::of(engine).snapshots.give_up();
        }
        writing::end(engine, thread);
        return Ok(());
    }
    turn_on(engine, thread).inspect_err(|why| {
        log!(engine.log, Warning, "Unable to turn on AOF: {}", why);
    })
}

fn stop_appending(engine: &Engine, thread: &mut Thread) {
    let held = thread.in_transaction;
    if held {
        // The transaction's changes so far belong to this journal, and not to the next.
        thread.end_unit(engine);
        thread.begin_unit();
    } else {
        engine.keyspace.hold(&mut thread.cx, None);
    }
    engine.keyspace.keep_journal(false);
    engine.journal.set_on(false);
    if !held {
        engine.keyspace.release(&mut thread.cx);
    }
}

/// Does something that has no record, and begins the journal anew with the data that is there then.
pub fn anew<R>(
    engine: &Engine,
    thread: &mut Thread,
    f: impl FnOnce(&mut Thread) -> R,
) -> Result<R, Fail> {
    let r = &Durable::of(engine).journal.rewrite;
    // A base of the previous data must not become one of the new journal.
    if !r.claim() {
        return Err(BUSY);
    }
    // No other thread turns it off or on meanwhile.
    let _gate = engine.lock_config();
    let is_on = engine.journal.is_on();
    if is_on {
        stop_appending(engine, thread);
        writing::end(engine, thread);
    }
    let result = f(thread);
    r.busy.store(false, Relaxed);
    if is_on {
        switch(engine, thread, true).map_err(|why| {
            // The option shows the actual state.
            let caller = Caller { local: true, ..Caller::default() };
            let no = [(b"appendonly".as_slice(), b"no".as_slice())];
            let _ = engine.config.set(&no, caller, &mut |_, _| Ok(()));
            Fail::new(format!("ERR the journal cannot begin anew: {why}"))
        })?;
    }
    Ok(result)
}

fn turn_on(engine: &Engine, thread: &mut Thread) -> Result<(), String> {
    if Durable::of(engine).journal.rewrite.is_busy() {
        return Err("a rewrite of the old journal has not ended yet".to_owned());
    }
    let place = start::place(engine);
    let disk: Arc<dyn disk::Disk> = Arc::new(disk::Real);
    writing::claim(engine, &*disk, &place)?;
    // The files of an earlier journal do not count: this one begins with the data in memory.
    let old = left_behind(&*disk, &place)?;
    let seen = aof::find(&place)?.map_or(0, |theirs| theirs.seen);
    let held = thread.in_transaction;
    if !held {
        engine.keyspace.hold(&mut thread.cx, None);
    }
    // Data that is still being loaded is not in it.
    let loading = engine.attention.get() & Attention::LOADING != 0;
    let empty = !loading && is_empty(engine, &mut thread.cx);
    // Numbers go on: some connection may not have looked yet whether it waits for an old one.
    let last = engine.journal.shared.last();
    let from = Recovered::instead_of(old, empty, last).having_seen(seen);
    let begun = writing::begin(engine, disk, place, from);
    if !held {
        engine.keyspace.release(&mut thread.cx);
    }
    if let Err(why) = begun {
        Durable::of(engine).journal.unlock();
        return Err(why);
    }
    if empty {
        return Ok(());
    }
    if loading || Durable::of(engine).snapshots.is_busy() {
        // Behind that, or behind the snapshot that is being taken.
        Durable::of(engine).journal.rewrite.schedule();
        return Ok(());
    }
    begin(engine, thread).map_err(|fail| {
        engine.keyspace.keep_journal(false);
        writing::end(engine, thread);
        fail.0.into_owned()
    })
}

fn is_empty(engine: &Engine, cx: &mut Context) -> bool {
    (0..engine.keyspace.databases()).all(|i| Db::lock_all(&engine.keyspace, i, cx).is_empty())
}
