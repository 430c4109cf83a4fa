//! The helpers that run long commands: their line, and the shards that they have announced. What they do is
//! in [`aside`](crate::aside).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};

use parking_lot::{Condvar, Mutex};
use store::{Db, Key, ShardSet};

/// Bytes of values up to which a command that looks at all of them runs on its worker: some ten
/// milliseconds.
pub(crate) const AT_ONCE: usize = 2 << 20;

/// The shards that a long command has locked, or is about to lock.
pub(crate) enum Held {
    All,
    Some(ShardSet),
}

impl Held {
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Some(a), Self::Some(b)) => a.meets(b),
            _ => true,
        }
    }
}

/// The shards of one task.
struct Announcement {
    /// The number of the task.
    number: u64,
    held: Held,
    /// Commands wait for these shards.
    awaited: bool,
}

/// The announcements.
#[derive(Default)]
pub(crate) struct Announced {
    tasks: Vec<Announcement>,
    /// Commands have waited for a task that has ended. They run before another task begins.
    awaited: bool,
    /// A helper lets them run just now.
    yields: bool,
}

/// What a helper does that wants shards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It waits until something changes, and asks again.
    Wait,
    /// It lets the commands run that have waited, says so ([`Announced::have_run`]), and asks again.
    Yield,
    /// It announces them.
    Go,
}

impl Announced {
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether a command must wait that needs these shards.
    pub(crate) fn delays(&mut self, needs: &Held) -> bool {
        let mut waits = false;
        for task in self.tasks.iter_mut().filter(|task| task.held.meets(needs)) {
            task.awaited = true;
            waits = true;
        }
        waits
    }

    /// A helper wants shards. While another one lets commands run it waits, or it would go before them.
    pub(crate) fn turn(&mut self, wanted: &Held) -> Turn {
        if self.yields || self.tasks.iter().any(|task| task.held.meets(wanted)) {
            Turn::Wait
        } else if std::mem::take(&mut self.awaited) {
            self.yields = true;
            Turn::Yield
        } else {
            Turn::Go
        }
    }

    /// The commands that have waited have run.
    pub(crate) fn have_run(&mut self) {
        self.yields = false;
    }

    pub(crate) fn begin(&mut self, number: u64, held: Held) {
        self.tasks.push(Announcement { number, held, awaited: false });
    }

    /// A task ends. Returns whether it had announced anything.
    pub(crate) fn end(&mut self, number: u64) -> bool {
        let Some(at) = self.tasks.iter().position(|task| task.number == number) else {
            return false;
        };
        self.awaited |= self.tasks.swap_remove(at).awaited;
        true
    }
}

/// See the module's text. `T` is a task, `W` the part of a helper that other threads see.
pub(crate) struct Helpers<T, W> {
    pub(crate) line: Mutex<Line<T>>,
    /// There is a task, or there will be none any more.
    pub(crate) changed: Condvar,
    pub(crate) held: Mutex<Announced>,
    /// Some shards are no longer held.
    pub(crate) released: Condvar,
    /// Commands that are being run.
    pub(crate) running: AtomicUsize,
    pub(crate) workers: Mutex<Vec<Arc<W>>>,
}

/// The tasks that wait for a helper.
pub(crate) struct Line<T> {
    pub(crate) tasks: VecDeque<T>,
    /// Helpers, and those of them that have nothing to do.
    pub(crate) helpers: usize,
    pub(crate) idle: usize,
    pub(crate) closed: bool,
    /// The number of the last task.
    pub(crate) last: u64,
}

impl<T, W> Default for Helpers<T, W> {
    fn default() -> Self {
        let tasks = VecDeque::new();
        let line = Line { tasks, helpers: 0, idle: 0, closed: false, last: 0 };
        Self {
            line: Mutex::new(line),
            changed: Condvar::new(),
            held: Mutex::default(),
            released: Condvar::new(),
            running: AtomicUsize::new(0),
            workers: Mutex::default(),
        }
    }
}

impl<T, W> Helpers<T, W> {
    /// Whether long commands are being run. With CLIENT PAUSE on, none begins behind this look.
    pub(crate) fn is_busy(&self) -> bool {
        // The pause, then this; a helper counts itself, then looks for a pause.
        fence(SeqCst);
        self.running.load(Relaxed) > 0
    }

    /// Calls `f` with the part of every helper that others see.
    pub(crate) fn each_worker(&self, f: impl FnMut(&Arc<W>)) {
        self.workers.lock().iter().for_each(f);
    }

    /// No more tasks: the helpers end.
    pub(crate) fn close(&self) {
        self.line.lock().closed = true;
        self.changed.notify_all();
    }

    /// The next task, when there is one; none: the helper ends.
    pub(crate) fn next(&self) -> Option<T> {
        let mut line = self.line.lock();
        line.idle += 1;
        while line.tasks.is_empty() && !line.closed {
            self.changed.wait(&mut line);
        }
        line.idle -= 1;
        if line.closed { None } else { line.tasks.pop_front() }
    }
}

/// Whether a command over all of the value of `key` is handed over.
#[inline]
pub(crate) fn is_long(db: &mut Db<'_>, key: Key<'_>) -> bool {
    db.inspect(key).is_some_and(|e| e.is_big() && e.bytes() > AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(key: &str) -> Held {
        let mut set = ShardSet::default();
        set.add(stdx::hash::hash64(key.as_bytes()));
        Held::Some(set)
    }

    #[test]
    fn who_has_waited_goes_before_every_long_command() {
        let mut a = Announced::default();
        assert_eq!(a.turn(&some("k")), Turn::Go);
        a.begin(1, some("k"));
        assert!(a.delays(&some("k")) && !a.delays(&some("other")));
        // Two more long commands of the same key wait for it to end.
        assert_eq!(a.turn(&some("k")), Turn::Wait);
        assert_eq!(a.turn(&Held::All), Turn::Wait);
        assert!(a.end(1) && a.is_empty());
        assert_eq!(a.turn(&some("k")), Turn::Yield);
        assert_eq!(a.turn(&Held::All), Turn::Wait, "it does not overtake them, either");
        a.have_run();
        assert_eq!(a.turn(&Held::All), Turn::Go);
        a.begin(2, Held::All);
        assert!(a.end(2) && !a.end(2));
        assert_eq!(a.turn(&some("k")), Turn::Go, "nobody has waited for the second");
    }

    #[test]
    fn a_long_command_of_other_shards_does_not_use_up_the_precedence() {
        let mut a = Announced::default();
        a.begin(1, some("k"));
        assert!(a.delays(&some("k")));
        assert_eq!(a.turn(&some("other")), Turn::Go);
        a.begin(2, some("other"));
        assert!(a.end(1));
        assert_eq!(a.turn(&some("k")), Turn::Yield);
    }
}
