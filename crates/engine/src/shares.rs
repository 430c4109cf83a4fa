//! The memory of all connections: a sum, and the share of each connection in it.
//!
//! Any thread may count a connection, also while another thread removes it. A share that has been removed
//! stays removed: bytes that were added after its removal would never leave the sum.

use std::sync::atomic::Ordering::Relaxed;

use stdx::sync::AtomicU64;

/// The value of a share that has been removed.
const GONE: u64 = u64::MAX;

/// The bytes that one connection adds to the sum.
#[derive(Debug)]
pub(crate) struct Share(AtomicU64);

impl Default for Share {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// The sum of all shares.
#[derive(Debug)]
pub(crate) struct Sum(AtomicU64);

impl Default for Sum {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Sum {
    /// Sets a share, and changes the sum by the difference. The two changes are two steps: the sum may be
    /// wrong for a moment while several threads change the same share, and is right when they are done.
    pub(crate) fn count(&self, share: &Share, now: u64) {
        let mut before = share.0.load(Relaxed);
        while before != GONE && before != now {
            match share.0.compare_exchange(before, now, Relaxed, Relaxed) {
                Ok(_) => {
                    self.0.fetch_add(now.wrapping_sub(before), Relaxed);
                    return;
                }
                Err(other) => before = other,
            }
        }
    }

    /// Removes a share. Returns false when it had been removed before.
    pub(crate) fn take_back(&self, share: &Share) -> bool {
        let before = share.0.swap(GONE, Relaxed);
        if before == GONE {
            return false;
        }
        self.0.fetch_sub(before, Relaxed);
        true
    }

    /// The sum. It may be below zero for a moment, when a share is subtracted before it was added: then zero.
    pub(crate) fn get(&self) -> u64 {
        let sum = self.0.load(Relaxed);
        if sum > u64::MAX / 2 { 0 } else { sum }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_gone_does_not_come_back() {
        let (sum, a, b) = (Sum::default(), Share::default(), Share::default());
        sum.count(&a, 7);
        sum.count(&b, 5);
        sum.count(&a, 3);
        assert_eq!(sum.get(), 8);
        assert!(sum.take_back(&a));
        sum.count(&a, 100);
        assert!(!sum.take_back(&a));
        assert_eq!(sum.get(), 5);
    }

    #[test]
    fn a_sum_below_zero_is_not_a_large_one() {
        let (sum, a) = (Sum::default(), Share::default());
        sum.0.fetch_sub(1, Relaxed);
        assert_eq!(sum.get(), 0);
        sum.count(&a, 3);
        assert_eq!(sum.get(), 2);
    }
}

#[cfg(all(test, loom))]
mod model {
    use std::sync::Arc;

    use stdx::sync::check;
    use stdx::sync::loom::thread;

    use super::*;

    #[test]
    fn nothing_is_left_of_a_removed_share() {
        check(3, || {
            let shared = Arc::new((Sum::default(), Share::default(), Share::default()));
            shared.0.count(&shared.1, 2);
            shared.0.count(&shared.2, 5);
            let count = |n| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.count(&shared.1, n);
                    assert!(shared.0.get() < 20);
                })
            };
            let (a, b) = (count(3), count(4));
            assert!(shared.0.take_back(&shared.1));
            a.join().unwrap();
            b.join().unwrap();
            assert_eq!(shared.0.get(), 5);
        });
    }
}
