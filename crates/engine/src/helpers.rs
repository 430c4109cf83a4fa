//! The helpers that run long commands: their line, and the shards that they have announced. What they do is
//! in [`aside`](crate::aside).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{
    Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use stdx::sync::{AtomicUsize, Condvar, Mutex, fence};
use store::{Budget, ShardSet};

/// How much of its values a command may look at on its worker: some ten milliseconds.
pub(crate) const AT_ONCE: Budget = Budget::new(2 << 20);

/// The shards that a long command has locked, or is about to lock.
pub(crate) enum Shards {
    All,
    Some(ShardSet),
}

impl Shards {
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
    shards: Shards,
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

/// Whether a helper that wants shards goes on or waits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It waits until something changes, and asks again.
    Wait,
    /// It lets the commands run that have waited, says so ([`Announced::have_run`]), and asks again.
    Yield,
    /// It announces the shards.
    Go,
}

impl Announced {
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether a command must wait that needs these shards.
    pub(crate) fn delays(&mut self, needs: &Shards) -> bool {
        let mut waits = false;
        for task in self.tasks.iter_mut().filter(|task| task.shards.meets(needs)) {
            task.awaited = true;
            waits = true;
        }
        waits
    }

    /// A helper wants shards. While another one lets commands run it waits, or it would go before them.
    pub(crate) fn turn(&mut self, wanted: &Shards) -> Turn {
        if self.yields || self.tasks.iter().any(|task| task.shards.meets(wanted)) {
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

    pub(crate) fn begin(&mut self, number: u64, shards: Shards) {
        self.tasks.push(Announcement { number, shards, awaited: false });
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
    pub(crate) announced: Mutex<Announced>,
    /// Some shards are no longer announced.
    pub(crate) released: Condvar,
    /// Commands that are being run.
    running: AtomicUsize,
    pub(crate) workers: Mutex<Vec<Arc<W>>>,
    /// How often periodic work has been put off because of the announcements.
    pub(crate) put_off: AtomicUsize,
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
            announced: Mutex::default(),
            released: Condvar::new(),
            running: AtomicUsize::new(0),
            workers: Mutex::default(),
            put_off: AtomicUsize::new(0),
        }
    }
}

impl<T, W> Helpers<T, W> {
    /// Whether long commands are being run. With CLIENT PAUSE on, none begins behind this look.
    pub(crate) fn is_busy(&self) -> bool {
        // The pause, then this; a helper counts itself, then looks for a pause.
        fence(SeqCst);
        self.running.load(Acquire) > 0
    }

    /// A helper is about to run a command: counts it, while there is no pause for it. `wait` passes some
    /// time.
    pub(crate) fn begin(&self, is_paused: impl Fn() -> bool, wait: impl Fn()) {
        loop {
            self.running.fetch_add(1, Relaxed);
            fence(SeqCst);
            if !is_paused() {
                return;
            }
            self.done();
            wait();
        }
    }

    /// A command that was [counted](Self::begin) has run.
    pub(crate) fn done(&self) {
        self.running.fetch_sub(1, Release);
    }

    /// Announces the shards of a task when its turn has come. `let_run` lets the commands run that have
    /// waited; `set` is called under the lock when there is an announcement.
    pub(crate) fn announce(
        &self,
        number: u64,
        shards: Shards,
        let_run: impl Fn(),
        set: impl FnOnce(),
    ) {
        let mut announced = self.announced.lock();
        loop {
            match announced.turn(&shards) {
                Turn::Wait => self.released.wait(&mut announced),
                Turn::Yield => {
                    drop(announced);
                    let_run();
                    announced = self.announced.lock();
                    announced.have_run();
                    self.released.notify_all();
                }
                Turn::Go => break,
            }
        }
        announced.begin(number, shards);
        set();
    }

    /// A task has unlocked its shards. If it had announced any, `resume` is called under the lock, and told
    /// whether no announcement is left: it has the commands go on that wait.
    pub(crate) fn release(&self, number: u64, resume: impl FnOnce(bool)) {
        let mut announced = self.announced.lock();
        if announced.end(number) {
            resume(announced.is_empty());
            drop(announced);
            self.released.notify_all();
        }
    }

    /// Puts a task in the line, with its number.
    pub(crate) fn add(&self, task: impl FnOnce(u64) -> T) {
        let mut line = self.line.lock();
        line.last += 1;
        let task = task(line.last);
        line.tasks.push_back(task);
        drop(line);
        self.changed.notify_one();
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn some(key: &str) -> Shards {
        let mut set = ShardSet::default();
        set.add(stdx::hash::hash64(key.as_bytes()));
        Shards::Some(set)
    }

    #[test]
    fn who_has_waited_goes_before_every_long_command() {
        let mut a = Announced::default();
        assert_eq!(a.turn(&some("k")), Turn::Go);
        a.begin(1, some("k"));
        assert!(a.delays(&some("k")) && !a.delays(&some("other")));
        // Two more long commands of the same key wait for it to end.
        assert_eq!(a.turn(&some("k")), Turn::Wait);
        assert_eq!(a.turn(&Shards::All), Turn::Wait);
        assert!(a.end(1) && a.is_empty());
        assert_eq!(a.turn(&some("k")), Turn::Yield);
        assert_eq!(a.turn(&Shards::All), Turn::Wait, "it does not overtake them, either");
        a.have_run();
        assert_eq!(a.turn(&Shards::All), Turn::Go);
        a.begin(2, Shards::All);
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

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::loom::{sync::Notify, thread};
    use stdx::sync::{AtomicBool, check, yield_now};

    use super::*;

    type Helpers = super::Helpers<u64, ()>;

    /// A worker with one command, which needs the shards of both long commands.
    struct Beside {
        helpers: Helpers,
        /// The worker has a message.
        bell: Notify,
        /// The command has waited; it has run.
        waited: AtomicBool,
        has_run: AtomicBool,
        /// A long command has the shards.
        locked: AtomicBool,
    }

    impl Beside {
        fn new() -> Self {
            let no = AtomicBool::default;
            let (waited, has_run, locked) = (no(), no(), no());
            Self { helpers: Helpers::default(), bell: Notify::new(), waited, has_run, locked }
        }

        fn run_command(&self) {
            loop {
                let mut announced = self.helpers.announced.lock();
                if !announced.delays(&Shards::All) {
                    break;
                }
                self.waited.store(true, Relaxed);
                drop(announced);
                self.bell.wait();
            }
            self.has_run.store(true, Release);
        }

        fn run_long(&self, number: u64) {
            let let_run = || {
                self.bell.notify();
                while !self.has_run.load(Acquire) {
                    yield_now();
                }
            };
            let set = || {
                assert!(!self.waited.load(Relaxed) || self.has_run.load(Acquire), "it overtakes");
            };
            self.helpers.announce(number, Shards::All, let_run, set);
            assert!(!self.locked.swap(true, Relaxed), "two have announced the same shards");
            self.locked.store(false, Relaxed);
            self.helpers.release(number, |_| self.bell.notify());
        }
    }

    #[test]
    fn who_waits_runs_before_the_next_long_command() {
        check(3, || {
            let beside = Arc::new(Beside::new());
            let long = |number| {
                let beside = Arc::clone(&beside);
                thread::spawn(move || beside.run_long(number))
            };
            let threads = [long(1), long(2)];
            beside.run_command();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(beside.helpers.announced.lock().is_empty());
        });
    }

    #[test]
    fn nothing_runs_behind_a_pause_that_saw_nothing_run() {
        check(3, || {
            let no = AtomicBool::default;
            let shared = Arc::new((Helpers::default(), no(), no(), Notify::new()));
            let theirs = Arc::clone(&shared);
            let helper = thread::spawn(move || {
                let (helpers, pause, runs, end_of_pause) = &*theirs;
                helpers.begin(|| pause.load(Relaxed), || end_of_pause.wait());
                runs.store(true, Relaxed);
                runs.store(false, Relaxed);
                helpers.done();
            });
            let (helpers, pause, runs, end_of_pause) = &*shared;
            pause.store(true, Relaxed);
            if !helpers.is_busy() {
                assert!(!runs.load(Relaxed));
            }
            pause.store(false, Relaxed);
            end_of_pause.notify();
            helper.join().unwrap();
            assert!(!helpers.is_busy());
        });
    }

    #[test]
    fn every_task_is_run_and_every_helper_ends() {
        check(3, || {
            let helpers = Arc::new(Helpers::default());
            let sum = Arc::new(AtomicUsize::new(0));
            let threads = [(); 2].map(|()| {
                let (helpers, sum) = (Arc::clone(&helpers), Arc::clone(&sum));
                thread::spawn(move || {
                    while let Some(number) = helpers.next() {
                        sum.fetch_add(number as usize, Relaxed);
                    }
                })
            });
            helpers.add(|number| number);
            helpers.add(|number| number);
            while sum.load(Relaxed) < 3 {
                yield_now();
            }
            helpers.close();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(helpers.line.lock().idle, 0);
        });
    }
}
