//! When the requests of an open loop are due.
//!
//! The due times are those of the plan, whatever happens meanwhile: a request that is sent late,
//! since all connections wait for a stalled server, is measured from when it was due (as wrk2 does
//! it), or else the stall would hide itself.

/// The plan of one thread: bunches of requests at a fixed rate, in turn with the other threads'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Requests per second of all threads.
    rate: u64,
    /// Requests per bunch.
    depth: u64,
    thread: u64,
    threads: u64,
    bunches: u64,
}

impl Pacer {
    /// The `thread`-th of `threads` plans that make `rate` requests per second together.
    pub(crate) fn new(rate: u64, depth: u64, thread: u64, threads: u64) -> Self {
        Pacer { rate: rate.max(1), depth, thread, threads, bunches: 0 }
    }

    /// When the next bunch is due, in nanoseconds after the start.
    pub(crate) fn due_ns(&self) -> u64 {
        let bunch = u128::from(self.bunches) * u128::from(self.threads) + u128::from(self.thread);
        (bunch * u128::from(self.depth) * 1_000_000_000 / u128::from(self.rate)) as u64
    }

    /// The due time of a bunch, when it is not later than `now_ns`; it counts as sent then.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.due_ns();
        (due <= now_ns).then(|| {
            self.bunches += 1;
            due
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_its_rate_without_drift() {
        for (rate, depth, threads) in [(7, 1, 1), (30_000, 1, 2), (1_000_003, 16, 3)] {
            let mut due = Vec::new();
            for thread in 0..threads {
                let mut pacer = Pacer::new(rate, depth, thread, threads);
                while let Some(at) = pacer.take(10_000_000_000) {
                    due.push(at);
                }
            }
            // The first is due at 0, the last at ten seconds or less than a bunch before.
            assert_eq!(due.len() as u64, 10 * rate / depth + 1, "{rate}");
            due.sort_unstable();
            let step = 1_000_000_000 * depth / rate;
            assert!(due.windows(2).all(|w| (step..=step + 1).contains(&(w[1] - w[0]))), "{rate}");
        }
    }

    #[test]
    fn a_stall_is_caught_up_with_and_keeps_its_due_times() {
        let mut pacer = Pacer::new(1000, 1, 0, 1);
        assert_eq!((pacer.take(0), pacer.take(999_999)), (Some(0), None));
        let late: Vec<u64> = std::iter::from_fn(|| pacer.take(5_000_000)).collect();
        assert_eq!(late, [1, 2, 3, 4, 5].map(|ms| ms * 1_000_000));
        assert_eq!(pacer.due_ns(), 6_000_000);
    }
}
