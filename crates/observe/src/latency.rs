//! The latency monitor: spikes by event, each a ring of the last moments.
//!
//! Source: <https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor/>

use std::collections::BTreeMap;
use std::collections::VecDeque;

use parking_lot::Mutex;

/// Samples kept per event, as in Redis.
pub const SAMPLES: usize = 160;

/// The spikes of one event.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Unix seconds and milliseconds of latency, oldest first.
    pub samples: VecDeque<(i64, u64)>,
    /// The highest latency ever, in milliseconds.
    pub max_ms: u64,
}

/// Spikes of all events.
#[derive(Default)]
pub struct LatencyMonitor {
    events: Mutex<BTreeMap<&'static str, Series>>,
}

impl LatencyMonitor {
    /// Whether no spikes are recorded.
    pub fn is_empty(&self) -> bool {
        self.events.lock().is_empty()
    }

    /// Notes a spike. Two in the same second are one, with the higher latency.
    pub fn record(&self, event: &'static str, nanos: u64, now_ms: i64) {
        let (at, ms) = (now_ms / 1000, nanos / 1_000_000);
        let mut events = self.events.lock();
        let s = events.entry(event).or_default();
        s.max_ms = s.max_ms.max(ms);
        match s.samples.back_mut() {
            Some((then, latency)) if *then == at => *latency = ms.max(*latency),
            _ => {
                s.samples.push_back((at, ms));
                if s.samples.len() > SAMPLES {
                    s.samples.pop_front();
                }
            }
        }
    }

    /// All events and their spikes.
    pub fn all(&self) -> Vec<(&'static str, Series)> {
        self.events.lock().iter().map(|(k, v)| (*k, v.clone())).collect()
    }

    /// One event's spikes.
    pub fn get(&self, event: &str) -> Option<Series> {
        self.events.lock().get(event).cloned()
    }

    /// Forgets the named events, or all. Returns how many there were.
    pub fn reset(&self, names: &[&str]) -> usize {
        let mut events = self.events.lock();
        let before = events.len();
        if names.is_empty() {
            events.clear();
        } else {
            events.retain(|name, _| !names.iter().any(|n| n.eq_ignore_ascii_case(name)));
        }
        before - events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_of_one_second_are_one_and_old_ones_go() {
        let monitor = LatencyMonitor::default();
        assert!(monitor.is_empty());
        for (ms, at) in [(5, 1_000), (9, 1_900), (7, 1_999), (3, 2_000)] {
            monitor.record("command", ms * 1_000_000, at);
        }
        let series = monitor.get("command").unwrap();
        assert_eq!((series.max_ms, series.samples), (9, [(1, 9), (2, 3)].into()));
        for at in 0..200 {
            monitor.record("fork", 1_000_000, at * 1000);
        }
        let series = monitor.get("fork").unwrap();
        assert_eq!((series.samples.len(), series.samples[0].0), (SAMPLES, 40));
        assert_eq!(monitor.reset(&["COMMAND", "other"]), 1);
        assert_eq!(monitor.all().len(), 1);
        assert_eq!(monitor.reset(&[]), 1);
    }
}
