//! The end of the server's threads.
//!
//! A thread ends when it has left its event loop. A script that has written and is cut off by
//! SHUTDOWN NOSAVE cannot be undone, and no thread may see, send or save its changes so far: its thread
//! is *stranded*. It stays where it is, with the shards that it has locked, until the process ends;
//! threads that wait for these shards stay with it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The server goes on.
const NOT: u8 = 0;
/// An end has been requested and has not begun.
const ASKED: u8 = 1;
/// Commands and scripts under way finish first.
pub const ORDERLY: u8 = 2;
/// SHUTDOWN NOSAVE: scripts are not waited for.
pub const AT_ONCE: u8 = 3;

/// See the module's text.
#[derive(Debug, Default)]
pub struct Ends {
    /// How the server ends, if it does: see the constants.
    manner: AtomicU8,
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Now {
    ended: usize,
    stranded: usize,
}

/// A thread that runs; it has ended when this is dropped.
#[derive(Debug)]
pub struct Alive<'a>(&'a Ends);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.now.lock().ended += 1;
        self.0.changed.notify_all();
    }
}

impl Ends {
    /// Whether the server has been asked to end, and the request was not cancelled and has not failed.
    pub fn is_requested(&self) -> bool {
        self.manner.load(Relaxed) != NOT
    }

    /// Whether scripts are cut off.
    pub(crate) fn is_at_once(&self) -> bool {
        self.manner.load(Relaxed) == AT_ONCE
    }

    /// An end is requested, and begins later.
    pub fn ask(&self) {
        self.manner.fetch_max(ASKED, Relaxed);
    }

    /// The request is cancelled, unless the end has begun.
    pub fn cancel(&self) {
        // It fails when the end has begun.
        let _ = self.manner.compare_exchange(ASKED, NOT, Relaxed, Relaxed);
    }

    /// The end begins, as [`ORDERLY`] or [`AT_ONCE`] says. False: it has begun already, and is no less
    /// patient.
    pub fn begin(&self, manner: u8) -> bool {
        self.manner.fetch_max(manner, Relaxed) < manner
    }

    /// The end that had begun has failed: the server goes on.
    pub fn fail(&self) {
        self.manner.store(NOT, Relaxed);
    }

    /// Called by a thread that [`wait`](Self::wait) waits for.
    pub fn alive(&self) -> Alive<'_> {
        Alive(self)
    }

    /// The calling thread goes no further.
    pub(crate) fn strand(&self) -> ! {
        self.now.lock().stranded += 1;
        self.changed.notify_all();
        loop {
            std::thread::park();
        }
    }

    /// Waits until `threads` threads have ended. Once one is stranded, the others have so long. Returns
    /// whether all have ended.
    pub fn wait(&self, threads: usize, patience: Duration) -> bool {
        let mut now = self.now.lock();
        while now.ended + now.stranded < threads {
            if now.stranded == 0 {
                self.changed.wait(&mut now);
            } else if self.changed.wait_for(&mut now, patience).timed_out() {
                return false;
            }
        }
        now.stranded == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_stranded_thread_is_not_waited_for() {
        let ends = Arc::new(Ends::default());
        for strands in [false, true] {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                let alive = ends.alive();
                if strands {
                    ends.strand();
                }
                drop(alive);
            });
        }
        assert!(!ends.wait(2, Duration::from_secs(1000)));
        assert_eq!(ends.now.lock().ended, 1);
        // A third thread waits for a lock of the stranded one.
        assert!(!ends.wait(3, Duration::from_millis(1)));
        assert_eq!(ends.now.lock().stranded, 1);
    }
}
