//! A little chance, for pauses and choices between equals; of no use for secrets.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number from 0 up to 1.
pub(crate) fn unit() -> f64 {
    f64::from(u32::try_from(number() >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

/// Any number; the standard library's hasher has keys that the system has drawn.
pub(crate) fn number() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    RandomState::new().hash_one(COUNT.fetch_add(1, Relaxed))
}
