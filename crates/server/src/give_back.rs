//! Giving memory back to the system after much of it has been freed.
//!
//! mimalloc would return free memory when a thread next allocates or frees a second later. The system takes 0.3 ms for
//! two mebibytes in small pages, and a table that grows frees many of them, so that thread's clients would wait for
//! milliseconds. A thread of its own (`start`) does this for all others.
//!
//! Pages of which a thread still has the lists come back to mimalloc by that thread alone. A server whose clients have just
//! gone may not allocate for hours, so its worker threads ask for it (`GiveBack`).

#![expect(unsafe_code, reason = "calls the allocator's C interface, which takes no pointer")]

use std::time::{Duration, Instant};

use libmimalloc_sys::mi_collect;

/// Bytes that are worth it.
const WORTH: u64 = 16 << 20;

/// How often an idle thread collects after a fall.
const ROUNDS: u8 = 4;

/// `mi_option_purge_delay`, in milliseconds.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// After so long the thread that frees memory returns it, should the thread for this be gone.
const LAST_RESORT: Duration = Duration::from_secs(3600);
/// Between two looks whether there is something to return.
const OFTEN: Duration = Duration::from_secs(1);
/// Bytes by which used memory changes before it is worth a look, and after how long it is looked without that.
const CHANGE: u64 = 64 << 10;
const SELDOM: Duration = Duration::from_secs(60);

/// Starts the thread that returns free memory. Without it every thread returns some.
pub fn start() {
    let _ = std::thread::Builder::new().name("apus-purge".into()).spawn(|| {
        engine::process::lowest_priority();
        // SAFETY: sets an aligned word, which mimalloc loads when memory is freed; it can do with any number at any time.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, LAST_RESORT.as_millis() as _) };
        let (mut used, mut looked) = (0, Instant::now());
        loop {
            std::thread::sleep(OFTEN);
            let now = stdx::mem::used();
            if now.abs_diff(used) >= CHANGE || looked.elapsed() >= SELDOM {
                (used, looked) = (now, Instant::now());
                collect(true);
            }
        }
    });
}

/// One thread's memory of its last turn.
#[derive(Default)]
pub(crate) struct GiveBack {
    used: u64,
    batches: u64,
    /// Something has happened since resident memory was last looked at.
    stirred: bool,
    /// Turns that still collect.
    rounds: u8,
}

impl GiveBack {
    /// Called some times per second with the number of batches this thread has executed. When the
    /// thread has had nothing to do since the last call, and much more is resident than is in use,
    /// its free memory goes back to the system. A busy thread is left alone: its connections would
    /// wait (14 ms after the flush of five million keys), and its allocator has the occasion.
    pub(crate) fn turn(&mut self, batches: u64) {
        let used = stdx::mem::used();
        let settled = used.abs_diff(self.used) < WORTH / 16 && batches == self.batches;
        (self.used, self.batches) = (used, batches);
        if !settled {
            self.stirred = true;
            return;
        }
        // Resident memory is looked at, not how much was in use: a rise and a fall between two
        // turns leave no other trace.
        if std::mem::take(&mut self.stirred) && resident() > used + WORTH.max(used / 8) {
            // More than once: memory that another thread frees a moment later, and pages that the
            // allocator keeps for a while before it counts them as empty, are returned in a later
            // round.
            self.rounds = ROUNDS;
        }
        if self.rounds > 0 {
            self.rounds -= 1;
            purge();
        }
    }
}

/// Bytes of the process in physical memory; 0 where the system does not say.
fn resident() -> u64 {
    engine::process::rss()
}

/// Gives this thread's free memory back to the system.
pub(crate) fn purge() {
    // This thread's empty pages become free: takes time in proportion to its pages.
    collect(false);
    // Unmapping a gigabyte takes a tenth of a second, and connections must not wait for it.
    // Without the thread the allocator does it when it is next used.
    let _ = std::thread::Builder::new().name("apus-purge".into()).spawn(|| collect(true));
}

fn collect(all: bool) {
    // SAFETY: may be called at any time by any thread; it touches free memory only.
    unsafe { mi_collect(all) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_of_the_option_is_right() {
        // Neighbouring mimalloc options have other defaults: one of old versions, and the number of NUMA nodes.
        // SAFETY: reads numbers.
        let values =
            [-1, 0, 1].map(|i| unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY + i) });
        assert_eq!(values, [1, 1000, 0]);
    }
}
