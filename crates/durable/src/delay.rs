//! Slowness on request, for tests: `rdb-key-save-delay` and `key-load-delay`.

use std::time::Duration;

use config::{Config, Id};

/// Waits as the option says for so many keys: microseconds per key, or keys per microsecond when negative.
/// Ends early once it is `enough`, or the option has another value.
pub(crate) fn wait(config: &Config, option: Id, keys: u64, enough: impl Fn() -> bool) {
    let delay = config.int(option);
    if delay == 0 {
        return;
    }
    let n = delay.unsigned_abs();
    let us = if delay > 0 { keys.saturating_mul(n) } else { keys / n };
    let mut left = Duration::from_micros(us);
    while !left.is_zero() && !enough() && config.int(option) == delay {
        let some = left.min(Duration::from_millis(10));
        std::thread::sleep(some);
        left -= some;
    }
}
