//! The journal while it is written: its begin, what replies and WAITAOF wait for, its end.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use commands::Fail;
use config::{Appendfsync, Id};
use engine::journal::Condition;
use engine::{Attention, Engine, Job, Message, Thread, log};
use persist::disk::{Disk, Lock};
use persist::journal::{Control, Location, Observer, Recovered, Sync, Trouble, Writer};
use store::Waiter;

use super::start::position_file;
use super::state::Running;
use crate::position::Position;
use crate::state::Durable;

/// The answer of WAITAOF when there is no journal.
pub const OFF: Fail =
    Fail::text("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

/// Whether it was turned on at run time and its first base is not there yet.
pub fn is_beginning(engine: &Engine) -> bool {
    engine.journal.is_on() && !Durable::of(engine).journal.based.load(Relaxed)
}

/// Copies `appendfsync`, and derives what replies wait for.
pub(crate) fn follow_config(engine: &Engine) {
    let journal = &engine.journal;
    let policy = match engine.config.chosen(Id::Appendfsync) {
        Appendfsync::Always => Sync::Always,
        Appendfsync::Everysec => Sync::EverySecond,
        Appendfsync::No => Sync::Never,
    };
    if journal.shared.policy() != policy {
        journal.shared.set_policy(policy);
    }
    journal.set_condition(match policy {
        _ if !journal.is_on() || !Durable::of(engine).journal.based.load(Relaxed) => {
            Condition::None
        }
        Sync::Always => Condition::Durable,
        Sync::EverySecond | Sync::Never => Condition::Written,
    });
}

/// The refusal of writes while they cannot be made durable.
pub(crate) fn misconf(engine: &Engine) -> Fail {
    let reason = engine.journal.shared.trouble().map_or_else(String::new, |t| t.reason);
    Fail::new(format!("MISCONF Errors writing to the AOF file: {reason}"))
}

/// Answers `w` when everything up to `sequence` is durable and there is a base. Returns false when
/// that is so.
pub(crate) fn wait(engine: &Engine, sequence: u64, w: &Arc<Waiter>) -> bool {
    let files = &Durable::of(engine).journal;
    let mut waiters = files.waiters.lock();
    // Looked at under the lock under which the writer looks for waiters.
    if sequence <= engine.journal.shared.durable() && files.based.load(Relaxed) {
        return false;
    }
    if waiters.len() >= 1024 {
        // No other list knows the waiters whose time is over.
        waiters.retain(|(_, w)| Arc::strong_count(w) > 1);
    }
    waiters.push((sequence, Arc::clone(w)));
    true
}

/// Answers the clients in WAITAOF that wait for nothing beyond `sequence`.
pub(super) fn answer_durable(engine: &Engine, sequence: u64) {
    let files = &Durable::of(engine).journal;
    let mut waiters = files.waiters.lock();
    // Without a base, records that are durable are of no use.
    if !files.based.load(Relaxed) {
        return;
    }
    let (due, rest) = std::mem::take(&mut *waiters).into_iter().partition(|w| w.0 <= sequence);
    *waiters = rest;
    drop(waiters);
    let due: Vec<(u64, Arc<Waiter>)> = due;
    for (_, w) in due {
        let thread = w.thread;
        let job = move |engine: &Engine, thread: &mut Thread| thread.durable(engine, &w);
        engine.post(thread, Message::Run(Job::new(job)));
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

/// Makes sure that no other server uses these files.
pub(super) fn claim(engine: &Engine, disk: &dyn Disk, place: &Location) -> Result<(), String> {
    let mut lock = Durable::of(engine).journal.lock.lock();
    if lock.is_none() {
        *lock = Some(self::lock(disk, place)?);
    }
    Ok(())
}

/// Begins to write: from here on, commits append.
pub(super) fn begin(
    engine: &Engine,
    disk: Arc<dyn Disk>,
    place: Location,
    from: Recovered,
) -> Result<(), String> {
    let (journal, files) = (&engine.journal, &Durable::of(engine).journal);
    claim(engine, &*disk, &place)?;
    follow_config(engine);
    let shown = place.dir.display().to_string();
    let bases = from.bases();
    files.based.store(!from.baseless(), Relaxed);
    let (writer, orders) = Writer::start(
        Arc::clone(&disk),
        Arc::clone(&journal.shared),
        Arc::new(Bell(engine.weak())),
        place.clone(),
        from,
    )
    .map_err(|e| format!("the journal in {shown} cannot be written: {e}"))?;
    let thread = std::thread::Builder::new().name("apus-journal".into());
    let writer = thread.spawn(move || writer.run()).map_err(|e| format!("no thread: {e}"))?;
    *files.running.lock() = Some(Running { orders, writer, place, disk, bases });
    engine.keyspace.keep_journal(true);
    journal.set_on(true);
    follow_config(engine);
    Ok(())
}

/// The server ends: closes the journal, and writes down its position in a history. No thread has clients any more,
/// and nothing of a primary's stream is executed behind this.
pub fn close_at_the_end(engine: &Engine) {
    let place = Durable::of(engine).journal.running.lock().as_ref().map(|r| r.place.clone());
    let position = Position::at_the_end(engine);
    close(engine);
    let shared = &engine.journal.shared;
    let whole = shared.trouble().is_none() && shared.durable() >= shared.last();
    if let (Some(place), Some(position)) = (place, position)
        && whole
        && let Err(e) = position.write_file(&position_file(&place), shared.last())
    {
        log!(engine.log, Warning, "The position of the journal could not be written: {}", e);
    }
}

/// Makes everything durable and ends the writer. Called when no command appends any more.
pub fn close(engine: &Engine) {
    let files = &Durable::of(engine).journal;
    let Some(running) = files.running.lock().take() else { return };
    engine.journal.set_on(false);
    // It fails only when the writer has ended.
    let _ = running.orders.send(Control::Stop);
    engine.journal.shared.ring();
    let _ = running.writer.join();
    // Not before the writer has ended: from here on, output that was held back is sent.
    engine.journal.set_condition(Condition::None);
    engine.wake_gated();
    files.unlock();
    if let Some(trouble) = engine.journal.shared.trouble() {
        log!(engine.log, Warning, "The end of the journal could not be written: {}", trouble.text);
    }
}

/// Closes the journal while the server goes on: no client waits for it any more.
pub(super) fn end(engine: &Engine, thread: &mut Thread) {
    close(engine);
    engine.journal.shared.forget_trouble();
    engine.attention.set(Attention::DISK, false);
    for (_, w) in std::mem::take(&mut *Durable::of(engine).journal.waiters.lock()) {
        let bytes = format!("-{}\r\n", OFF.0).into_bytes();
        thread.answer_waiter(engine, &w, bytes, Some(&OFF));
    }
}

/// The writer's reports, and the threads that they concern.
struct Bell(Weak<Engine>);

impl Observer for Bell {
    fn durable(&self, sequence: u64) {
        let Some(engine) = self.0.upgrade() else { return };
        engine.wake_gated();
        answer_durable(&engine, sequence);
    }

    fn trouble(&self, trouble: Option<&Trouble>) {
        let Some(engine) = self.0.upgrade() else { return };
        match trouble {
            Some(t) if t.lasting => log!(
                engine.log,
                Warning,
                "The journal cannot be made durable: {}. Nothing is acknowledged any more, writes \
                 are refused. When the disk works again, BGREWRITEAOF makes a new journal of what \
                 is in memory.",
                t.text
            ),
            Some(t) => log!(
                engine.log,
                Warning,
                "The journal cannot be written: {}. Writes are refused until it can; tried again \
                 every second.",
                t.text
            ),
            None => log!(engine.log, Notice, "The journal can be written again."),
        }
        engine.attention.set(Attention::DISK, trouble.is_some());
        engine.wake_gated();
    }

    fn written(&self) {
        if let Some(engine) = self.0.upgrade() {
            engine.wake_gated();
        }
    }

    fn may_have_lost(&self) {
        if let Some(engine) = self.0.upgrade() {
            log!(
                engine.log,
                Warning,
                "The journal is rewritten, since the system may have dropped what it could not write"
            );
            Durable::of(&engine).journal.rewrite.schedule();
        }
    }

    fn note(&self, text: &str) {
        if let Some(engine) = self.0.upgrade() {
            log!(engine.log, Warning, "Journal: {}", text);
        }
    }
}
