//! What a client has done, in numbers: a snapshot that a program asks for.
//!
//! A snapshot and not a facade of metrics: counting costs an addition under a lock that is held anyway, nothing is
//! registered anywhere, and a program passes the numbers on to whatever it has. Times are taken once per write and
//! once per read, not per command.

use crate::connection::Stats;
use std::fmt;
use std::time::Duration;

/// Counts of all shared connections since they were made. `commands / writes` is how well commands are gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Commands that were queued.
    pub commands: u64,
    /// Replies that came.
    pub replies: u64,
    /// Replies that were errors; those within arrays do not count.
    pub errors: u64,
    /// Commands that failed without a reply: the connection broke, none could be made, or no reply came in time.
    pub failures: u64,
    /// Commands given up before their reply came, or before they were sent.
    pub discarded: u64,
    /// Commands whose reply did not come in time.
    pub timeouts: u64,
    /// Buffers that were written.
    pub writes: u64,
    /// Reads that brought something.
    pub reads: u64,
    /// Connections that were made: all but the first of each are after a break.
    pub connects: u64,
    /// Attempts to connect that failed, the first ones of [`Client::connect`](crate::Client::connect) not counted.
    pub connects_failed: u64,
    /// Commands that only read and were written again after a connection broke.
    pub repeated: u64,
    /// What the server sent without being asked.
    pub pushes: u64,
    /// How long replies took.
    pub latencies: Latencies,
    /// Commands that wait for their replies now.
    pub pending: usize,
    /// Bytes of commands that are not answered yet.
    pub pending_bytes: u64,
    /// Callers that wait now for room in a full queue.
    pub waiting: usize,
}

/// What waits on a connection now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) pending: usize,
    pub(crate) bytes: u64,
    pub(crate) waiting: usize,
}

impl Metrics {
    /// Adds those of a connection.
    pub(crate) fn add(&mut self, stats: &Stats, load: Load) {
        self.commands += stats.commands;
        self.replies += stats.replies;
        self.errors += stats.errors;
        self.failures += stats.failures;
        self.discarded += stats.discarded;
        self.timeouts += stats.timeouts;
        self.writes += stats.writes;
        self.reads += stats.reads;
        self.connects += stats.connects;
        self.connects_failed += stats.connects_failed;
        self.repeated += stats.repeated;
        self.pushes += stats.pushes;
        self.latencies.add(&stats.latencies);
        self.pending += load.pending;
        self.pending_bytes += load.bytes;
        self.waiting += load.waiting;
    }
}

/// Classes of times: four for each power of two of microseconds, up to 71 minutes.
const CLASSES: usize = 124;

/// How many replies took how long, in classes whose bounds are at most a quarter apart. A command's time begins when
/// the oldest command of its write was queued, so the wait for a flush is in it; that for room in a full queue is not.
#[derive(Clone, PartialEq, Eq)]
pub struct Latencies {
    counts: [u64; CLASSES],
    sum: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: [0; CLASSES], sum: Duration::ZERO }
    }
}

impl Latencies {
    #[inline]
    pub(crate) fn record(&mut self, time: Duration) {
        self.counts[class(time)] += 1;
        self.sum += time;
    }

    fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }

    /// How many replies there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of their times.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The time below which so many replies were, from 0 to 1, rounded up to the class's bound; zero without a reply.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of it")]
        #[expect(clippy::cast_precision_loss, reason = "a quantile of 2^53 replies")]
        let wanted = ((self.count() as f64 * part.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bound, count) in self.classes() {
            seen += count;
            if seen >= wanted {
                return bound;
            }
        }
        Duration::ZERO
    }

    /// The upper bound of each class, exclusive, and how many replies are in it: what a histogram elsewhere needs.
    pub fn classes(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.counts.iter().enumerate().map(|(class, &count)| (bound(class), count))
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies")
            .field("count", &self.count())
            .field("median", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.quantile(1.0))
            .finish()
    }
}

fn class(time: Duration) -> usize {
    let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    match micros.checked_ilog2() {
        Some(power @ 2..) => {
            let quarter = (micros >> (power - 2)) & 3;
            (4 * (power - 1) + quarter) as usize
        }
        _ => micros as usize,
    }
}

/// The upper bound of a class.
fn bound(class: usize) -> Duration {
    let (power, quarter) = (class / 4, class as u64 % 4);
    Duration::from_micros(match power {
        0 => quarter + 1,
        _ => (quarter + 5) << (power - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Latencies, bound, class};
    use std::time::Duration;

    #[test]
    fn classes_have_no_holes() {
        for micros in (0..10_000).chain([99_999, 1 << 20, u64::from(u32::MAX)]) {
            let class = class(Duration::from_micros(micros));
            assert!(bound(class) > Duration::from_micros(micros), "{micros}");
            assert!(class == 0 || bound(class - 1) <= Duration::from_micros(micros), "{micros}");
        }
        assert_eq!(class(Duration::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_bounds_of_classes() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.quantile(0.5), latencies.count()), (Duration::ZERO, 0));
        for micros in 1..=100 {
            latencies.record(Duration::from_micros(micros));
        }
        let at = |part| latencies.quantile(part).as_micros();
        // 48..56 has the 50th, 96..112 the 100th.
        assert_eq!((at(0.0), at(0.5), at(1.0)), (2, 56, 112));
        assert_eq!((latencies.count(), latencies.sum()), (100, Duration::from_micros(5050)));
    }
}
