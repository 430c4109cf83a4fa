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

/// The announcements.
#[derive(Default)]
pub(crate) struct Announced {
    /// By the number of the task.
    pub(crate) tasks: Vec<(u64, Held)>,
    /// Commands wait, or have waited for the last one that ended.
    pub(crate) awaited: bool,
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
