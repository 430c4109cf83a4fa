//! Counters that one thread writes and others read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds to a counter that only this thread writes.
pub(super) fn add(c: &AtomicU64, n: u64) {
    c.store(c.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Raises a maximum that only this thread writes.
pub(super) fn raise(c: &AtomicU64, n: u64) {
    if n > c.load(Relaxed) {
        c.store(n, Relaxed);
    }
}
