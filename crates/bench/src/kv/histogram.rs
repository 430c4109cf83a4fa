//! Latencies of one thread, with three significant digits: log-linear buckets as in Gil Tene's
//! HdrHistogram.
//!
//! Unlike `stdx::histogram`, which servers share between threads and which keeps two digits up to
//! a second, as Redis reports it, this one belongs to one thread and reaches up to 18 minutes: a
//! stall is what an open-loop run is there to show.
//!
//! Not the crate `hdrhistogram`: that is three packages for these eighty lines, and its mean is that of its buckets,
//! where this one is exact.
//!
//! ```text
//! value   0 … 2047 | 2048 … 4095 | 4096 … 8191 | …
//! width   1        | 2           | 4           | …
//! ```

/// Durations from here on count as this one, in nanoseconds.
const VALUE_MAX: u64 = (1 << 40) - 1;

/// Buckets per power of two; a bucket is never wider than 1/1024 of its values.
const STEPS: usize = 1024;

const BUCKETS: usize = (40 - 10 + 1) * STEPS;

/// Counts of durations in nanoseconds; 248 KiB.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice();
        Histogram { counts, total: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Counts `times` events that took `ns` each.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64, times: u64) {
        let ns = ns.min(VALUE_MAX);
        self.counts[index_of(ns)] += times;
        self.total += times;
        self.sum += u128::from(ns) * u128::from(times);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds all that `other` counted.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many durations were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The average in nanoseconds; 0 when empty.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.total.max(1) as f64
    }

    /// The shortest duration, exact; 0 when empty.
    pub(crate) fn min(&self) -> u64 {
        if self.total == 0 { 0 } else { self.min }
    }

    /// The longest duration, exact; 0 when empty.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The duration (ns) that `percent` of all stay within, never beyond the longest.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let wanted = (percent / 100.0 * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return end_of(index).min(self.max);
            }
        }
        self.max
    }
}

#[inline]
fn index_of(value: u64) -> usize {
    let octave = (value | (2 * STEPS as u64 - 1)).ilog2() - 10;
    octave as usize * STEPS + (value >> octave) as usize
}

/// The largest value of a bucket.
fn end_of(index: usize) -> u64 {
    let octave = (index / STEPS).saturating_sub(1);
    (((index - octave * STEPS) as u64 + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let end = end_of(index);
            assert_eq!((index_of(next), index_of(end)), (index, index));
            assert!((end - next) * 1000 <= next.max(1), "three digits at {next}");
            next = end + 1;
        }
        assert_eq!(next - 1, VALUE_MAX);
    }

    #[test]
    fn percentiles_have_three_digits() {
        let mut all = Histogram::default();
        assert_eq!((all.percentile(50.0), all.min(), all.max()), (0, 0, 0));
        let mut other = Histogram::default();
        for ns in 1..=50_000 {
            all.record(ns * 100, 1);
            other.record((ns + 50_000) * 100, 1);
        }
        all.merge(&other);
        assert_eq!(all.total(), 100_000);
        for percent in [0.1, 50.0, 95.0, 99.0, 99.9, 99.99] {
            let exact = percent * 100_000.0;
            let got = all.percentile(percent) as f64;
            assert!((exact - 1.0..=exact * 1.001).contains(&got), "p{percent}: {got}");
        }
        assert_eq!((all.min(), all.max(), all.percentile(100.0)), (100, 10_000_000, 10_000_000));
        assert!((all.mean() - 5_000_050.0).abs() < 1.0);
    }

    #[test]
    fn long_stalls_are_kept() {
        let mut all = Histogram::default();
        all.record(10, 99);
        all.record(u64::MAX, 1);
        assert_eq!((all.percentile(99.0), all.percentile(99.9)), (10, VALUE_MAX));
    }
}
