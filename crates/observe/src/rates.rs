//! Counts per second over the last moments, for INFO.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::stats::Totals;

/// Rates are over the time of this many samples: 1.6 seconds, as in Redis. One sample alone would
/// count single events as tens per second.
const SAMPLES: usize = 16;

/// See the module's text.
#[derive(Debug, Default)]
pub struct Rates {
    /// Commands.
    pub ops_per_sec: AtomicU64,
    /// Bytes received.
    pub input_bytes_per_sec: AtomicU64,
    /// Bytes sent.
    pub output_bytes_per_sec: AtomicU64,
    /// Bytes received of a primary, and sent to replicas.
    pub repl_input_bytes_per_sec: AtomicU64,
    /// See there.
    pub repl_output_bytes_per_sec: AtomicU64,
    /// Wake-ups of one event loop, on average.
    pub eventloop_cycles_per_sec: AtomicU64,
    /// Microseconds of one of them.
    pub eventloop_duration_usec: AtomicU64,
    /// Monotonic nanoseconds and totals, newest last.
    samples: Mutex<VecDeque<(u64, Totals)>>,
}

impl Rates {
    /// Adds a sample: the totals of `threads` threads at `now` (monotonic nanoseconds). To be called some
    /// times per second by one thread.
    pub fn sample(&self, now: u64, t: Totals, threads: usize) {
        let mut samples = self.samples.lock();
        if let Some(&(then, old)) = samples.front() {
            let ns = now.saturating_sub(then).max(1);
            let rate = |a: u64, b: u64| {
                (u128::from(a.saturating_sub(b)) * 1_000_000_000 / u128::from(ns)) as u64
            };
            self.ops_per_sec.store(rate(t.commands_processed, old.commands_processed), Relaxed);
            self.input_bytes_per_sec.store(rate(t.net_input_bytes, old.net_input_bytes), Relaxed);
            self.output_bytes_per_sec
                .store(rate(t.net_output_bytes, old.net_output_bytes), Relaxed);
            self.repl_input_bytes_per_sec
                .store(rate(t.net_repl_input_bytes, old.net_repl_input_bytes), Relaxed);
            self.repl_output_bytes_per_sec
                .store(rate(t.net_repl_output_bytes, old.net_repl_output_bytes), Relaxed);
            let cycles = t.eventloop_cycles.saturating_sub(old.eventloop_cycles);
            // Of one loop, on average, so that the figure means the same with any number of them.
            let loops = threads.max(1) as u64;
            self.eventloop_cycles_per_sec
                .store(rate(t.eventloop_cycles, old.eventloop_cycles) / loops, Relaxed);
            let busy = t.eventloop_nanos.saturating_sub(old.eventloop_nanos);
            self.eventloop_duration_usec.store(busy / 1000 / cycles.max(1), Relaxed);
        }
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        samples.push_back((now, t));
    }

    /// CONFIG RESETSTAT.
    pub fn reset(&self) {
        self.samples.lock().clear();
        for rate in [
            &self.ops_per_sec,
            &self.input_bytes_per_sec,
            &self.output_bytes_per_sec,
            &self.repl_input_bytes_per_sec,
            &self.repl_output_bytes_per_sec,
            &self.eventloop_cycles_per_sec,
            &self.eventloop_duration_usec,
        ] {
            rate.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_last_samples() {
        let rates = Rates::default();
        // A tenth of a second each: ten commands per sample at first, then none.
        for i in 0..40u64 {
            let n = i.min(20) * 10;
            let t = Totals { commands_processed: n, eventloop_cycles: 2 * n, ..Totals::default() };
            rates.sample(i * 100_000_000, t, 2);
            let expected = match i {
                0 => 0,
                1..=20 => 100,
                // 16 samples before this one, and fewer and fewer of them with commands.
                _ => 20u64.saturating_sub(i - 16) * 100 / 16,
            };
            assert_eq!(rates.ops_per_sec.load(Relaxed), expected, "{i}");
            assert_eq!(rates.eventloop_cycles_per_sec.load(Relaxed), expected, "{i}");
        }
        rates.sample(0, Totals::default(), 1);
        rates.reset();
        assert_eq!(rates.ops_per_sec.load(Relaxed), 0);
    }
}
