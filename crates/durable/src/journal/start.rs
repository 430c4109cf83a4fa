//! How the journal begins: at the start of the server, and at CONFIG SET appendonly yes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::Id;
use engine::{Engine, Thread, log, settings};
use persist::disk::{Disk, Real};
use persist::journal::{Base, Location, Recovered, Recovery};
use stdx::rng::Rng;
use store::Context;

use super::aof::Theirs;
use super::replay::Player;
use super::{aof, base, writing};
use crate::position::Position;
use crate::state::Durable;

/// Bytes after which a segment is not continued.
const SEGMENT: u64 = 64 << 20;
/// Zeros ahead of the records under `always`.
const AHEAD: u64 = 1 << 20;

/// Where the configuration wants the journal.
pub(super) fn place(engine: &Engine) -> Location {
    // A later change of `dir` makes no difference to a journal that is being written.
    let dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Location {
        dir: dir.join(engine.config.string(Id::Appenddirname)),
        stem: engine.config.string(Id::Appendfilename),
        segment_bytes: SEGMENT,
        ahead_bytes: AHEAD,
    }
}

/// Loads the journal into the empty keyspace and begins to write it: on the loader's thread, while
/// other commands are refused. Returns the position of the data in a history, if that is known.
///
/// # Errors
/// The journal is damaged or cannot be used: the text is for the operator. The server must not
/// start then.
pub(crate) fn load(engine: &Engine, cx: &mut Context) -> Result<Option<Position>, String> {
    let files = &Durable::of(engine).journal;
    let (disk, place): (Arc<dyn Disk>, _) = (Arc::new(Real), place(engine));
    // Loading cuts off a torn end. It must not do so to the file of another server, which may be
    // writing it.
    writing::claim(engine, &*disk, &place)?;
    files.starting.store(true, Relaxed);
    let position = Position::take_file(&Position::file_of(&place.dir, &place.stem));
    engine.keyspace.hold(cx, None);
    let found = recover(engine, cx, &disk, &place, Why::Start);
    engine.keyspace.release(cx);
    files.starting.store(false, Relaxed);
    let found = found?;
    // It may have been turned off meanwhile.
    if !engine.config.flag(Id::Appendonly) {
        files.unlock();
        return Ok(None);
    }
    // The journal may have been cut, or continued by a server that wrote no position.
    let same = found.cut.is_none().then_some(found.last);
    writing::begin(engine, disk, place, found)?;
    Ok(position.filter(|(_, sequence)| same == Some(*sequence)).map(|(position, _)| position))
}

/// The same before there are any threads, and for a journal that is elsewhere than the
/// configuration says: for tests.
///
/// # Errors
/// As said.
pub fn open_at(engine: &Engine, disk: Arc<dyn Disk>, place: Location) -> Result<(), String> {
    let now = engine.clock.wall_ms() as i64;
    let mut cx = Context::new(now, Rng::from_seed(engine.clock.monotonic_ns()));
    let solo = engine.solo.lock().take();
    if let Some(solo) = solo {
        cx.solo = solo;
    }
    settings::follow(&engine.config, &mut cx);
    let single = engine.keyspace.is_single();
    engine.keyspace.hold(&mut cx, None);
    let found = recover(engine, &mut cx, &disk, &place, Why::Test);
    engine.keyspace.release(&mut cx);
    if single {
        // For the worker that is yet to come.
        *engine.solo.lock() = Some(cx.solo);
    }
    writing::begin(engine, disk, place, found?)
}

/// DEBUG LOADAOF: throws the data away and reads it again, while no other client runs a command.
pub fn reload(engine: &Engine, thread: &mut Thread) -> Result<(), String> {
    if thread.in_transaction {
        return Err("a transaction cannot throw away what it holds".to_owned());
    }
    // No other thread turns the journal off or on meanwhile.
    let _gate = engine.lock_config();
    engine.keyspace.hold(&mut thread.cx, None);
    let loaded = reload_held(engine, thread);
    engine.keyspace.release(&mut thread.cx);
    thread.sync_clock(&engine.clock);
    loaded
}

fn reload_held(engine: &Engine, thread: &mut Thread) -> Result<(), String> {
    let files = &Durable::of(engine).journal;
    let running = files.running.lock();
    let (disk, place): (Arc<dyn Disk>, _) = match &*running {
        Some(running) => (Arc::clone(&running.disk), running.place.clone()),
        None => (Arc::new(Real), place(engine)),
    };
    let there = persist::disk::exists(&*disk, &place.manifest()).unwrap_or(false);
    if !there && running.is_none() && aof::find(&place)?.is_none() {
        return Err(format!("there is none at {}", place.dir.display()));
    }
    let (shared, rewrite) = (&engine.journal.shared, &files.rewrite);
    if running.is_some() {
        // This is for tests: all other threads wait for the writer, too. It locks no shard, nor
        // `running`.
        while (shared.written() < shared.last() || rewrite.is_rebasing()) && !shared.is_failing() {
            shared.wait_for_progress(Duration::from_millis(20));
        }
        if let Some(trouble) = shared.trouble() {
            return Err(format!("not everything is written: {}", trouble.text));
        }
    } else if rewrite.is_running() {
        return Err("a rewrite is under way".to_owned());
    }
    thread.flush_all(engine);
    recover(engine, &mut thread.cx, &disk, &place, Why::Reload).map(drop)
}

/// Why something is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The server starts: the keyspace is unlocked for a moment from time to time, for INFO.
    Start,
    /// So it does, in a test.
    Test,
    /// It runs, and writes to the journal.
    Reload,
}

/// Loads base and segments, or the files of a Redis, or nothing. The keyspace is empty and locked.
fn recover(
    engine: &Engine,
    cx: &mut Context,
    disk: &Arc<dyn Disk>,
    place: &Location,
    why: Why,
) -> Result<Recovered, String> {
    let began = engine.clock.monotonic_ns();
    let truncated = engine.config.flag(Id::AofLoadTruncated);
    let refusal = |r: persist::journal::Refusal| r.to_string();
    let mut found = Recovery::open(Arc::clone(disk), place.clone()).map_err(refusal)?;
    let theirs = aof::find(place)?;
    if let (Some(ours), Some(theirs)) = (&found, &theirs)
        && ours.manifest.seen != theirs.seen
        && why != Why::Reload
    {
        log!(
            engine.log,
            Warning,
            "The files of {} have changed since this journal began: they are loaded, and the \
             journal is set aside (*.old)",
            theirs.name
        );
        let aside = ours.manifest.set_aside(&**disk, place);
        aside.map_err(|e| format!("setting the journal aside: {e}"))?;
        found = None;
    }
    let Some(found) = found else {
        let Some(Theirs { name, seen }) = theirs else {
            return Ok(Recovered::fresh(Base::default()));
        };
        let mut player = Player::new(engine, cx, why == Why::Start);
        load_files_of_redis(engine, &mut player, place, &name)?;
        report(engine, &player, began, "append-only file of Redis");
        back_to_present(engine, cx);
        return Ok(Recovered::fresh(Base::Redis { name }).having_seen(seen));
    };
    load_base(engine, cx, place, &found.manifest.base, why)?;
    let total = found.bytes().max(1);
    let mut player = Player::new(engine, cx, why == Why::Start);
    let loading = &Durable::of(engine).loading;
    loading.begin(total, engine.clock.wall_ms() as i64);
    let shown = place.manifest();
    let recovered = found.replay(truncated, |changes, at| {
        loading.reached(at, player.commands);
        loading.tell(&engine.log, engine.clock.wall_ms() as i64, &shown.display());
        player.play(changes)
    });
    loading.end();
    let recovered = recovered.map_err(refusal)?;
    if let Some(cut) = &recovered.cut {
        warn_of_cut(engine, cut);
    }
    report(engine, &player, began, "journal");
    back_to_present(engine, cx);
    Ok(recovered)
}

/// Loads what the segments of a journal build on.
fn load_base(
    engine: &Engine,
    cx: &mut Context,
    place: &Location,
    base: &Base,
    why: Why,
) -> Result<(), String> {
    match base {
        Base::Empty(_) => {}
        Base::Snapshot { name, .. } => {
            let path = place.file(name);
            base::let_go(engine, cx, why == Why::Start, |cx| base::load_base(engine, cx, &path))?;
        }
        Base::Redis { name } => {
            load_files_of_redis(
                engine,
                &mut Player::new(engine, cx, why == Why::Start),
                place,
                name,
            )?;
        }
    }
    Ok(())
}

/// Loads append-only files of a Redis, and schedules the rewrite that replaces them.
fn load_files_of_redis(
    engine: &Engine,
    player: &mut Player<'_>,
    place: &Location,
    name: &str,
) -> Result<(), String> {
    let files = aof::files(place, name)?;
    aof::load(engine, player, &files, engine.config.flag(Id::AofLoadTruncated))?;
    Durable::of(engine).journal.rewrite.schedule();
    Ok(())
}

/// Tells of the end of a journal that was cut off: its file, the offset, and the number of bytes.
fn warn_of_cut(engine: &Engine, (file, at, bytes): &(String, u64, u64)) {
    log!(
        engine.log,
        Warning,
        "The journal ended in the middle of a record, as it does when a server is stopped while \
         it writes: cut {} at offset {} ({} bytes that were never acknowledged as \
         durable)",
        file,
        at,
        bytes
    );
}

fn report(engine: &Engine, player: &Player<'_>, began: u64, what: &str) {
    let seconds = (engine.clock.monotonic_ns() - began) as f64 / 1e9;
    let commands = player.commands;
    log!(engine.log, Notice, "DB loaded from {}: {} commands in {:.3} s", what, commands, seconds);
    if let (n, Some(first)) = &player.refused {
        log!(
            engine.log,
            Warning,
            "{} commands of the {} were refused; the first: {}",
            n,
            what,
            first
        );
    }
}

/// Back to the present.
fn back_to_present(engine: &Engine, cx: &mut Context) {
    cx.set_now(engine.clock.wall_ms() as i64);
    cx.counters = store::Counters::default();
}
