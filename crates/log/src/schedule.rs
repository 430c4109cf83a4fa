//! Threads that do things at their time, as many as there is work for, and none while there is none.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Threads at most: each may be waiting for a disk or for an object store.
const THREADS: usize = 64;
/// How long a thread waits for more work before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Something to be done.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

struct Due {
    at: Instant,
    /// Equal times are served in the order in which they came.
    number: u64,
    job: Job,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    // The heap gives the greatest first: the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[derive(Default)]
struct State {
    due: BinaryHeap<Due>,
    number: u64,
    threads: usize,
    idle: usize,
}

/// See the module's text.
pub(crate) struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    idle: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), idle: IDLE }
    }
}

impl Schedule {
    /// Has a job done at this time or a little later.
    pub(crate) fn add(self: &Arc<Self>, at: Instant, job: Job) {
        let mut state = self.state.lock();
        state.number += 1;
        let number = state.number;
        state.due.push(Due { at, number, job });
        if state.idle > 0 {
            drop(state);
            self.changed.notify_one();
        } else {
            self.grow(&mut state);
        }
    }

    /// One thread more, if there may be.
    fn grow(self: &Arc<Self>, state: &mut State) {
        if state.threads >= THREADS {
            return;
        }
        let this = Arc::clone(self);
        let name = format!("apus-log-{}", state.threads);
        // Without threads, those that are there do it later; without any, the next call tries again.
        if std::thread::Builder::new().name(name).spawn(move || this.work()).is_ok() {
            state.threads += 1;
        }
    }

    fn work(self: &Arc<Self>) {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            match state.due.peek().map(|d| d.at) {
                Some(at) if at <= now => {
                    let Some(due) = state.due.pop() else { continue };
                    // While this thread works, another one must serve the other jobs.
                    if state.idle == 0 && !state.due.is_empty() {
                        self.grow(&mut state);
                    }
                    drop(state);
                    (due.job)();
                    state = self.state.lock();
                }
                next => {
                    let until = next.unwrap_or(now + self.idle);
                    state.idle += 1;
                    let late = self.changed.wait_until(&mut state, until).timed_out();
                    state.idle -= 1;
                    // Not if it is time for something: the others may sleep longer.
                    let ready = state.due.peek().is_some_and(|d| d.at <= Instant::now());
                    if late && !ready && (state.due.is_empty() || state.idle > 0) {
                        state.threads -= 1;
                        if !state.due.is_empty() {
                            // For the next job, which this thread may have been woken for.
                            self.changed.notify_one();
                        }
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn in_time_and_side_by_side() {
        let schedule = Arc::new(Schedule::default());
        let (tx, rx) = mpsc::channel();
        let now = Instant::now();
        // No thread waits for a later job, and nothing comes before its time. (Two whose time is near
        // may be due at once for a machine that does other things, and then run side by side.)
        schedule.add(now + 60 * IDLE, Box::new(|| panic!("it is not time")));
        for ms in [60, 0, 30] {
            let tx = tx.clone();
            let at = now + Duration::from_millis(ms);
            let job = move || tx.send((ms, Instant::now() >= at)).expect("received");
            schedule.add(at, Box::new(job));
        }
        let mut all: Vec<_> = rx.iter().take(3).collect();
        all.sort_unstable();
        assert_eq!(all, [(0, true), (30, true), (60, true)]);
        // Each waits for the next one: they must run at the same time.
        let (first_tx, first_rx) = mpsc::channel();
        let mut before = first_rx;
        for _ in 0..20 {
            let (tx, rx) = mpsc::channel();
            let wait = std::mem::replace(&mut before, rx);
            schedule.add(
                now,
                Box::new(move || {
                    let _ = wait.recv();
                    let _ = tx.send(());
                }),
            );
        }
        first_tx.send(()).expect("waiting");
        before.recv().expect("all have run");
        // A thread is there in time although others sleep for a later job.
        schedule.add(Instant::now() + 60 * IDLE, Box::new(|| {}));
        for _ in 0..20 {
            let (tx, rx) = mpsc::channel();
            let at = Instant::now() + Duration::from_millis(2);
            schedule.add(at, Box::new(move || tx.send(()).expect("received")));
            rx.recv_timeout(30 * IDLE).expect("in time");
        }
    }

    /// Two threads sleep until the first job's time and two for long; one of the former does the job,
    /// and the other one is one too many.
    #[test]
    fn who_leaves_hands_over_what_comes_next() {
        let schedule =
            Arc::new(Schedule { idle: Duration::from_secs(3600), ..Schedule::default() });
        let all = Arc::new(std::sync::Barrier::new(4));
        for _ in 0..4 {
            let all = Arc::clone(&all);
            schedule.add(
                Instant::now(),
                Box::new(move || {
                    all.wait();
                }),
            );
        }
        while schedule.state.lock().idle < 4 {
            std::thread::yield_now();
        }
        let (tx, rx) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let at = Instant::now() + Duration::from_millis(200);
        let first = move || done.send(rx.recv()).expect("waited for");
        schedule.add(at, Box::new(first));
        schedule.add(
            at + Duration::from_millis(200),
            Box::new(move || tx.send(()).expect("waited for")),
        );
        is_done
            .recv_timeout(30 * IDLE)
            .expect("the second is done while the first waits for it")
            .expect("sent");
    }
}
