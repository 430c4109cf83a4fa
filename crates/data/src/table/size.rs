//! How many buckets a table has, and the array that a long one will grow into, while it is filled with zeros.
//!
//! The first touch of a page is a page fault, which takes some microseconds on a virtual machine: an array of 800 KiB
//! that is zeroed in one go holds its thread up for one to four milliseconds. So each insertion into a long table zeroes
//! one page, and the table grows when all are. It has a few more nodes by then: one in a thousand.

use std::alloc::alloc;

use super::{Array, BUCKETS_MAX, Bucket, FILL_MAX_QUARTERS, Node, Table};

/// Buckets from which on an array is prepared: as many as are zeroed within a tenth of a millisecond. Fewer under Miri, which
/// would take hours to fill so many.
pub(super) const LONG: usize = if cfg!(miri) { 96 } else { 1024 };
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
        let from = self.array.ptr(self.zeroed).cast_mut();
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

impl<T: Node> Table<T> {
    pub(super) fn make_room(&mut self) {
        let main = self.main;
        if main.is_none() {
            self.main = Array::new(1);
            self.publish();
        } else if 4 * self.len >= main.len() * FILL_MAX_QUARTERS && main.len() < BUCKETS_MAX {
            self.finish();
            let n = if self.main.len() < 6 {
                self.main.len() + 1
            } else if self.main.len() < 64 {
                // The first sizes are where the phase comes in: 1.25 to 1.75 times.
                self.main.len() * (1280 + usize::from(self.phase) / 2) / 1024
            } else {
                // By three eighths: growing more at a time would leave buckets emptier on
                // average, growing less would move nodes more often.
                self.main.len() * 11 / 8
            };
            self.grow(n.min(BUCKETS_MAX));
        }
    }

    /// Begins to grow to `n` buckets, or prepares for it.
    fn grow(&mut self, n: usize) {
        if n < LONG {
            return self.resize(n);
        }
        let coming = self.coming.get_or_insert_with(|| Box::new(Coming::new(n)));
        if let Some(array) = coming.step() {
            self.coming = None;
            self.move_to(array);
        }
    }

    pub(super) fn maybe_shrink(&mut self) {
        let n = self.main.len();
        if n > 1 && self.len < n && !self.is_resizing() {
            self.resize((n / 4).max(1));
        }
    }

    pub(super) fn resize(&mut self, n: usize) {
        self.coming = None;
        if n != self.main.len() {
            self.move_to(Array::new(n));
        }
    }

    /// Begins to move all nodes to this array.
    fn move_to(&mut self, array: Array) {
        assert!(!self.is_resizing(), "the old array would be lost");
        self.old = self.main;
        self.moved = 0;
        self.main = array;
        self.publish();
    }
}
