//! How long threads wait for shards.
//!
//! A free shard is locked without reading a clock. Only a thread that finds the shard locked
//! measures the wait and notes it; the caller that ran the command asks afterwards.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

#[cfg(not(loom))]
use lock_api::{RawMutex as _, RawMutexTimed as _};
use stdx::sync::RawMutex;

thread_local! {
    /// Waits and nanoseconds since the last query.
    static WAITED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// The work of this thread while it is stuck.
    static MEANWHILE: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// A wait that is longer than this is no contention: another thread keeps the shard locked.
const LONG: Duration = Duration::from_millis(10);

/// The work that this thread does from time to time while it is stuck: waiting for a shard for
/// long, or in a script that does not end. It must not touch the keyspace.
pub fn do_meanwhile(f: Box<dyn FnMut()>) {
    MEANWHILE.set(Some(f));
}

/// Does what the thread has to do while it is stuck.
#[cold]
pub fn meanwhile() {
    MEANWHILE.with(|m| {
        // The work itself may be the part that is stuck.
        if let Ok(mut m) = m.try_borrow_mut()
            && let Some(f) = m.as_mut()
        {
            f();
        }
    });
}

/// Locks `lock`, and notes the wait if there was one.
#[inline(always)]
pub(crate) fn lock(lock: &RawMutex) {
    if !lock.try_lock() {
        wait(lock);
    }
}

#[cold]
fn wait(lock: &RawMutex) {
    let start = Instant::now();
    while !lock.try_lock_for(LONG) {
        meanwhile();
    }
    let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let (waits, sum) = WAITED.get();
    WAITED.set((waits + 1, sum.saturating_add(nanos)));
}

/// How often this thread has found a shard locked since the last call, and for how many nanoseconds
/// it has waited.
#[inline]
pub fn take_waits() -> (u64, u64) {
    let waited = WAITED.get();
    if waited.0 != 0 {
        WAITED.set((0, 0));
    }
    waited
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_the_slow_path_is_a_wait() {
        let mutex = RawMutex::INIT;
        lock(&mutex);
        assert_eq!(take_waits(), (0, 0));
        let other = RawMutex::INIT;
        wait(&other);
        assert_eq!(take_waits().0, 1);
        assert_eq!(take_waits(), (0, 0));
    }
}
