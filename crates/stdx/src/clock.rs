//! Time as an argument: the real clock, or one that a test moves.
//!
//! Two readings that must not be mixed: *wall* time (Unix epoch, may jump when
//! the system's clock is set; deadlines of keys, as Redis has them) and
//! *monotonic* time (never goes back; durations and timeouts). Both come from
//! the vDSO through `std`, some 20 ns; callers on hot paths read once per batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of time, cheap to clone; clones of a virtual clock share it.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    Real { origin: Instant },
    Virtual(Arc<VirtualTime>),
}

#[derive(Debug)]
struct VirtualTime {
    wall_us: AtomicU64,
    monotonic_ns: AtomicU64,
    /// The time that passes with each reading of the monotonic time.
    step_us: AtomicU64,
}

impl Clock {
    /// The system's clocks. Monotonic time counts from this call.
    pub fn real() -> Self {
        Clock(Source::Real { origin: Instant::now() })
    }

    /// A clock that stands at `wall_ms` (Unix time) and monotonic zero until
    /// it is moved through the [`VirtualClock`].
    pub fn simulated(wall_ms: u64) -> (Self, VirtualClock) {
        let time = Arc::new(VirtualTime {
            wall_us: AtomicU64::new(wall_ms * 1000),
            monotonic_ns: AtomicU64::new(0),
            step_us: AtomicU64::new(0),
        });
        (Clock(Source::Virtual(Arc::clone(&time))), VirtualClock(time))
    }

    /// Wall time in microseconds since the Unix epoch; 0 for a system clock
    /// set before it.
    #[inline]
    pub fn wall_us(&self) -> u64 {
        match &self.0 {
            Source::Real { .. } => {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
            }
            Source::Virtual(time) => time.wall_us.load(Relaxed),
        }
    }

    /// Wall time in milliseconds since the Unix epoch.
    #[inline]
    pub fn wall_ms(&self) -> u64 {
        self.wall_us() / 1000
    }

    /// Monotonic time in nanoseconds since an origin of this clock's own.
    #[inline]
    pub fn monotonic_ns(&self) -> u64 {
        match &self.0 {
            Source::Real { origin } => origin.elapsed().as_nanos() as u64,
            Source::Virtual(time) => {
                let step = time.step_us.load(Relaxed);
                time.wall_us.fetch_add(step, Relaxed);
                time.monotonic_ns.fetch_add(step * 1000, Relaxed) + step * 1000
            }
        }
    }
}

/// The handle by which a test moves the time of its [`Clock`].
#[derive(Debug, Clone)]
pub struct VirtualClock(Arc<VirtualTime>);

impl VirtualClock {
    /// Lets `us` microseconds pass, on both readings.
    pub fn advance_us(&self, us: u64) {
        self.0.wall_us.fetch_add(us, Relaxed);
        self.0.monotonic_ns.fetch_add(us * 1000, Relaxed);
    }

    /// Lets `ms` milliseconds pass, on both readings.
    pub fn advance_ms(&self, ms: u64) {
        self.advance_us(ms * 1000);
    }

    /// Lets this much time pass with each reading of the monotonic time from now on, as if the code between
    /// two readings took that long.
    pub fn step_us(&self, us: u64) {
        self.0.step_us.store(us, Relaxed);
    }

    /// Sets the wall clock, as an administrator or NTP would: monotonic time
    /// does not notice.
    pub fn set_wall_ms(&self, ms: u64) {
        self.0.wall_us.store(ms * 1000, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_moves_only_by_hand() {
        let (clock, hand) = Clock::simulated(1_700_000_000_000);
        let shared = clock.clone();
        assert_eq!(clock.wall_us(), 1_700_000_000_000_000);
        hand.advance_us(1_500);
        assert_eq!((shared.wall_ms(), shared.monotonic_ns()), (1_700_000_000_001, 1_500_000));
        hand.set_wall_ms(5);
        assert_eq!((clock.wall_ms(), clock.monotonic_ns()), (5, 1_500_000));
        hand.step_us(1_000);
        assert_eq!((clock.monotonic_ns(), clock.wall_ms()), (2_500_000, 6));
    }

    #[test]
    fn real_time_is_of_this_century() {
        let clock = Clock::real();
        let before = clock.monotonic_ns();
        assert!(clock.wall_ms() > 1_577_836_800_000); // 2020
        assert!(clock.monotonic_ns() >= before);
    }
}
