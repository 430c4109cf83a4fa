//! How the journal begins: at the start of the server, and at CONFIG SET appendonly yes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use config::Id;
use persist::disk::{Disk, Lock, Real};
use persist::journal::{Base, Location, Recovered, Recovery, Writer};
use stdx::rng::Rng;
use store::Context;

use super::aof::Theirs;
use super::replay::Player;
use super::{Bell, Running, aof, base};
use crate::engine::Engine;
use crate::log;
use crate::settings;
use crate::thread::Thread;

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

impl Engine {
    /// Loads the journal into the empty keyspace and begins to write it: on the loader's thread, while
    /// other commands are refused.
    ///
    /// # Errors
    /// The journal is damaged or cannot be used: the text is for the operator. The server must not
    /// start then.
    pub(crate) fn load_journal(self: &Arc<Self>, cx: &mut Context) -> Result<(), String> {
        let (disk, place): (Arc<dyn Disk>, _) = (Arc::new(Real), place(self));
        // Loading cuts off a torn end. It must not do so to the file of another server, which may be
        // writing it.
        self.lock_journal(&*disk, &place)?;
        self.journal.starting.store(true, Relaxed);
        self.keyspace.hold(cx, None);
        let found = load(self, cx, &disk, &place, Why::Start);
        self.keyspace.release(cx);
        self.journal.starting.store(false, Relaxed);
        let found = found?;
        // It may have been turned off meanwhile.
        if !self.config.flag(Id::Appendonly) {
            self.journal.unlock();
            return Ok(());
        }
        self.begin_journal(disk, place, found)
    }

    /// The same before there are any threads, and for a journal that is elsewhere than the
    /// configuration says: for tests.
    ///
    /// # Errors
    /// As said.
    pub fn open_journal_at(
        self: &Arc<Self>,
        disk: Arc<dyn Disk>,
        place: Location,
    ) -> Result<(), String> {
        let now = self.clock.wall_ms() as i64;
        let mut cx = Context::new(now, Rng::from_seed(self.clock.monotonic_ns()));
        let solo = self.solo.lock().take();
        if let Some(solo) = solo {
            cx.solo = solo;
        }
        settings::follow(&self.config, &mut cx);
        let single = self.keyspace.is_single();
        self.keyspace.hold(&mut cx, None);
        let found = load(self, &mut cx, &disk, &place, Why::Test);
        self.keyspace.release(&mut cx);
        if single {
            // For the worker that is yet to come.
            *self.solo.lock() = Some(cx.solo);
        }
        self.begin_journal(disk, place, found?)
    }

    /// Makes sure that no other server uses these files.
    pub(super) fn lock_journal(&self, disk: &dyn Disk, place: &Location) -> Result<(), String> {
        let mut lock = self.journal.lock.lock();
        if lock.is_none() {
            *lock = Some(self::lock(disk, place)?);
        }
        Ok(())
    }

    /// Begins to write: from here on, commits append.
    pub(super) fn begin_journal(
        self: &Arc<Self>,
        disk: Arc<dyn Disk>,
        place: Location,
        from: Recovered,
    ) -> Result<(), String> {
        let journal = &self.journal;
        self.lock_journal(&*disk, &place)?;
        journal.follow_config(&self.config);
        let shown = place.dir.display().to_string();
        let bases = from.bases();
        journal.based.store(!from.baseless(), Relaxed);
        let (writer, orders) = Writer::start(
            Arc::clone(&disk),
            Arc::clone(&journal.shared),
            Arc::new(Bell(Arc::downgrade(self))),
            place.clone(),
            from,
        )
        .map_err(|e| format!("the journal in {shown} cannot be written: {e}"))?;
        let thread = std::thread::Builder::new().name("apus-journal".into());
        let writer = thread.spawn(move || writer.run()).map_err(|e| format!("no thread: {e}"))?;
        *journal.running.lock() = Some(Running { orders, writer, place, disk, bases });
        self.keyspace.keep_journal(true);
        journal.on.store(true, Relaxed);
        journal.follow_config(&self.config);
        Ok(())
    }
}

/// The right to use these files, which one server has at a time.
pub(super) fn lock(disk: &dyn Disk, place: &Location) -> Result<Lock, String> {
    let shown = place.dir.display();
    let failed = |e: std::io::Error| format!("the journal in {shown} cannot be used: {e}");
    disk.create_dir(&place.dir).map_err(failed)?;
    disk.lock(&place.lock()).map_err(failed)?.ok_or_else(|| {
        format!(
            "another server is using the journal in {shown}: stop it, or give this one another dir, \
             appenddirname or appendfilename"
        )
    })
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
    thread.sync_clock(engine);
    loaded
}

fn reload_held(engine: &Engine, thread: &mut Thread) -> Result<(), String> {
    let running = engine.journal.running.lock();
    let (disk, place): (Arc<dyn Disk>, _) = match &*running {
        Some(running) => (Arc::clone(&running.disk), running.place.clone()),
        None => (Arc::new(Real), place(engine)),
    };
    let there = persist::disk::exists(&*disk, &place.manifest()).unwrap_or(false);
    if !there && running.is_none() && aof::find(&place)?.is_none() {
        return Err(format!("there is none at {}", place.dir.display()));
    }
    let (shared, rewrite) = (&engine.journal.shared, &engine.journal.rewrite);
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
    load(engine, &mut thread.cx, &disk, &place, Why::Reload).map(drop)
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
fn load(
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
        let files = aof::files(place, &name)?;
        let mut player = Player::new(engine, cx, why == Why::Start);
        aof::load(engine, &mut player, &files, truncated)?;
        engine.journal.rewrite.schedule();
        report(engine, &player, began, "append-only file of Redis");
        back_to_present(engine, cx);
        return Ok(Recovered::fresh(Base::Redis { name }).having_seen(seen));
    };
    match &found.manifest.base {
        Base::Empty(_) => {}
        Base::Snapshot { name, .. } => {
            let path = place.file(name);
            base::let_go(engine, cx, why == Why::Start, |cx| base::load_base(engine, cx, &path))?;
        }
        Base::Redis { name } => {
            let files = aof::files(place, name)?;
            aof::load(engine, &mut Player::new(engine, cx, why == Why::Start), &files, truncated)?;
            engine.journal.rewrite.schedule();
        }
    }
    let total = found.bytes().max(1);
    let mut player = Player::new(engine, cx, why == Why::Start);
    let loading = &engine.persistence.loading;
    loading.begin(total, engine.clock.wall_ms() as i64);
    let shown = place.manifest();
    let recovered = found.replay(truncated, |changes, at| {
        loading.reached(at, player.commands);
        loading.tell(engine, &shown);
        player.play(changes)
    });
    loading.end();
    let recovered = recovered.map_err(refusal)?;
    if let Some((file, at, bytes)) = &recovered.cut {
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
    report(engine, &player, began, "journal");
    back_to_present(engine, cx);
    Ok(recovered)
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
