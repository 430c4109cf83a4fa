//! When a client is due for something that happens again and again: its pings, the refresh of its presence, the check
//! of its positions.

use std::time::Duration;

/// The first time, in milliseconds: between half of the interval from now and all of it, by `random`. Clients that come
/// together after a restart do not stay together.
#[must_use]
pub fn first(now_ms: i64, interval: Duration, random: u32) -> i64 {
    let half = i64::try_from(interval.as_millis() / 2).unwrap_or(i64::MAX);
    let part = (i128::from(half) * i128::from(random)) >> 32;
    now_ms.saturating_add(half.max(1)).saturating_add(i64::try_from(part).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::first;
    use std::time::Duration;

    #[test]
    fn the_first_time_is_spread_over_half_an_interval() {
        let interval = Duration::from_secs(25);
        assert_eq!(first(1000, interval, 0), 13_500);
        assert_eq!(first(1000, interval, u32::MAX / 2), 19_749);
        assert_eq!(first(1000, interval, u32::MAX), 25_999);
        assert_eq!(first(1000, Duration::ZERO, u32::MAX), 1001, "never the same moment again");
        assert_eq!(first(i64::MAX, Duration::MAX, u32::MAX), i64::MAX);
    }
}
