//! A latency histogram of fixed size: log-linear buckets, as in Gil Tene's
//! HdrHistogram with the settings Redis uses (1 ns to about 1 s, two
//! significant digits).
//!
//! Values below 256 have a bucket each; above, every power of two is cut into
//! 128, so that a bucket is never wider than 1/128 of its values. Recording is
//! one relaxed increment: no allocation, no lock, and readers may run at the
//! same time (they see a slightly torn, never a wrong, picture).
//!
//! Not the crate `hdrhistogram`, whose recording needs `&mut`, or a queue to a thread that has it.
//!
//! ```text
//! value   0 … 255 | 256 … 511  | 512 … 1023 | …   | 2^29 … 2^30-1
//! index   0 … 255 | 256 … 383  | 384 … 511  | …   | 2944 … 3071
//! width   1       | 2          | 4          | …   | 2^22
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The longest duration told apart, as Redis has it: longer ones count as this.
pub const VALUE_MAX_NS: u64 = 1_000_000_000;

const BUCKETS: usize = 3072;

/// Counts of durations in nanoseconds; 24 KiB, so keep it behind a pointer.
pub struct Histogram {
    counts: [AtomicU64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram").field("total", &self.total()).finish_non_exhaustive()
    }
}

impl Histogram {
    /// An empty histogram.
    pub const fn new() -> Self {
        Histogram { counts: [const { AtomicU64::new(0) }; BUCKETS] }
    }

    /// Counts one duration; below 1 ns and above [`VALUE_MAX_NS`] it is
    /// clamped, as Redis does.
    #[inline]
    pub fn record(&self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts `times` events of the same duration.
    #[inline]
    pub fn record_many(&self, ns: u64, times: u64) {
        self.counts[index_of(ns.clamp(1, VALUE_MAX_NS))].fetch_add(times, Relaxed);
    }

    /// How many durations were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// The duration (ns) that `percent` of all counted stay within: the upper
    /// end of its bucket, or the lower end for 0 percent; 0 when empty.
    pub fn percentile(&self, percent: f64) -> u64 {
        let total = self.total();
        if total == 0 {
            return 0;
        }
        let wanted = (percent.clamp(0.0, 100.0) / 100.0 * total as f64 + 0.5) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count.load(Relaxed);
            if seen >= wanted.max(1) {
                let (low, high) = bounds_of(index);
                return if percent <= 0.0 { low } else { high };
            }
        }
        bounds_of(BUCKETS - 1).1
    }

    /// Adds all counts of `other`.
    pub fn merge(&self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter().zip(&other.counts) {
            match theirs.load(Relaxed) {
                0 => {}
                count => {
                    mine.fetch_add(count, Relaxed);
                }
            }
        }
    }

    /// Forgets all counts.
    pub fn reset(&self) {
        for count in &self.counts {
            count.store(0, Relaxed);
        }
    }

    /// The `histogram_usec` map of LATENCY HISTOGRAM: for 1024 ns and every
    /// doubling of it, the microseconds of that step's upper end (1, 2, 4, 8,
    /// 16, 33, 66, …) and how many durations were within it. As in Redis,
    /// steps that add nothing are left out.
    pub fn cumulative_usec(&self) -> impl Iterator<Item = (u64, u64)> {
        let (mut next, mut seen, mut reported) = (0, 0, 0);
        (10..=30).filter_map(move |power| {
            // The last step lies just beyond the largest bucket.
            let step = index_of(1u64 << power).min(BUCKETS - 1);
            seen += self.counts[next..=step].iter().map(|count| count.load(Relaxed)).sum::<u64>();
            next = step + 1;
            if seen == reported {
                return None;
            }
            reported = seen;
            Some((bounds_of(step).1 / 1000, seen))
        })
    }
}

#[inline]
fn index_of(value: u64) -> usize {
    // Powers of two above the first 256 values.
    let octave = (value | 255).ilog2() - 7;
    (octave as usize) * 128 + (value >> octave) as usize
}

/// The smallest and the largest value of a bucket.
fn bounds_of(index: usize) -> (u64, u64) {
    let octave = (index / 128).saturating_sub(1);
    let low = ((index - octave * 128) as u64) << octave;
    (low, low + (1 << octave) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (low, high) = bounds_of(index);
            assert_eq!(low, next);
            assert_eq!((index_of(low), index_of(high)), (index, index));
            assert!((high - low) * 128 <= low);
            next = high + 1;
        }
        assert_eq!(next, 1 << 30);
    }

    #[test]
    fn percentiles() {
        let histogram = Histogram::new();
        assert_eq!(histogram.percentile(50.0), 0);
        for ns in 1..=1000 {
            histogram.record(ns * 1000);
        }
        for percent in [0.1, 1.0, 50.0, 99.0, 99.9, 100.0] {
            let exact = percent * 10_000.0;
            let got = histogram.percentile(percent) as f64;
            assert!((exact..=exact * 1.01).contains(&got), "p{percent}: {got}");
        }
        assert_eq!(histogram.percentile(0.0), 1000);
    }

    #[test]
    fn clamps_and_merges() {
        let (a, b) = (Histogram::new(), Histogram::default());
        a.record(0);
        a.record(u64::MAX);
        b.record_many(7, 3);
        a.merge(&b);
        assert_eq!(a.total(), 5);
        assert_eq!(a.percentile(0.0), 1);
        assert!(a.percentile(100.0) >= VALUE_MAX_NS);
        assert_eq!(a.percentile(50.0), 7);
        a.reset();
        assert_eq!(a.total(), 0);
    }

    #[test]
    fn powers_of_two() {
        let histogram = Histogram::new();
        for ns in [1, 1000, 1031, 1032, 40_000, 1_000_000_000] {
            histogram.record(ns);
        }
        let map: Vec<_> = histogram.cumulative_usec().collect();
        assert_eq!(map, [(1, 3), (2, 4), (66, 5), (1_073_741, 6)]);
    }

    #[test]
    fn step_names_are_those_of_redis() {
        let histogram = Histogram::new();
        for power in 10..=30 {
            histogram.record(1 << power);
        }
        let names: Vec<u64> = histogram.cumulative_usec().map(|(usec, _)| usec).collect();
        assert_eq!(names[..12], [1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113]);
    }
}
