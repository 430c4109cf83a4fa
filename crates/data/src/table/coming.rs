//! The array that a long table will grow into, while it is filled with zeros.
//!
//! The first touch of a page is a page fault, which takes some microseconds on a virtual machine: an array of 800 KiB
//! that is zeroed in one go holds its thread up for one to four milliseconds. So each insertion zeroes one page, and the table grows
//! when all are. It has a few more nodes by then: one in a thousand.

use std::alloc::alloc;

use super::{Array, Bucket};

/// Buckets from which on an array is prepared: as many as are zeroed within a tenth of a millisecond.
pub(super) const LONG: usize = 1024;
/// Buckets that one insertion zeroes: a page of 4 KiB.
const AT_ONCE: usize = 64;

/// See the module's text.
pub(super) struct Coming {
    /// Its buckets from `zeroed` on are not initialised. No other thread knows of it.
    array: Array,
    zeroed: usize,
}

impl Coming {
    pub(super) fn new(n: usize) -> Self {
        Self { array: Array::with(n, alloc), zeroed: 0 }
    }

    /// Zeroes some buckets. Returns the array when all are.
    pub(super) fn step(&mut self) -> Option<Array> {
        let left = self.array.len() - self.zeroed;
        let some = left.min(AT_ONCE);
        let from = self.array.base_ptr().wrapping_add(self.zeroed);
        // SAFETY: these buckets lie within the array, which nothing else refers to. All zeros is a value of a bucket.
        unsafe { std::ptr::write_bytes::<Bucket>(from, 0, some) };
        self.zeroed += some;
        (some == left).then(|| std::mem::replace(&mut self.array, Array::NONE))
    }

    /// Its buckets.
    pub(super) fn len(&self) -> usize {
        self.array.len()
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // It has not been published.
        self.array.retire(false);
    }
}
