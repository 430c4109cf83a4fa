//! Rates of commands: token buckets, one for each rate of a connection that is limited.

use crate::code::Error;
use crate::options::{Rate, RateLimits};

/// A bucket: full at first, one token a command, filled again evenly over the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    tokens: f64,
    filled_ms: i64,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn full(rate: Rate, now_ms: i64) -> Self {
        Self { tokens: f64::from(rate.rate), filled_ms: now_ms }
    }

    /// Fills it for the time that went by, and says whether there is a token.
    fn fill(&mut self, rate: Rate, now_ms: i64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds between two commands")]
        let gone_ms = (now_ms - self.filled_ms).max(0) as f64;
        let rate_ms = f64::from(rate.rate) / (rate.interval.as_secs_f64() * 1000.0);
        self.tokens = gone_ms.mul_add(rate_ms, self.tokens).min(f64::from(rate.rate));
        self.filled_ms = now_ms;
        self.tokens >= 1.0
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, rate: Rate, now_ms: i64) -> bool {
        let has = self.fill(rate, now_ms);
        if has {
            self.tokens -= 1.0;
        }
        has
    }
}

/// The buckets of one connection. It takes no memory before the first command that is limited.
#[derive(Clone, Debug, Default)]
pub struct Limiter {
    /// Of the total, then of the default, then of each command, as in the options.
    buckets: Vec<Bucket>,
}

impl Limiter {
    /// Counts a command; its name is that of the protocol. After a reload with other rates, the buckets begin anew.
    ///
    /// # Errors
    /// [`Error::TOO_MANY_REQUESTS`]: a rate is reached; then nothing is counted.
    pub fn allow(&mut self, limits: &RateLimits, command: &str, now_ms: i64) -> Result<(), Error> {
        let all = || {
            let commands = limits.commands.iter().flat_map(|(_, rates)| rates);
            limits.total.iter().chain(&limits.default).chain(commands)
        };
        let count = all().count();
        if count == 0 {
            return Ok(());
        }
        if self.buckets.len() != count {
            self.buckets = all().map(|rate| Bucket::full(*rate, now_ms)).collect();
        }
        let own = limits.commands.iter().position(|(name, _)| *name == command);
        let total = limits.total.len();
        let (start, rates) = match own {
            None => (total, &limits.default),
            Some(index) => {
                let before: usize =
                    limits.commands[..index].iter().map(|(_, rates)| rates.len()).sum();
                (total + limits.default.len() + before, &limits.commands[index].1)
            }
        };
        let chosen = || {
            limits
                .total
                .iter()
                .enumerate()
                .chain(rates.iter().enumerate().map(|(at, rate)| (start + at, rate)))
        };
        let mut is_allowed = true;
        for (at, rate) in chosen() {
            is_allowed &= self.buckets[at].fill(*rate, now_ms);
        }
        if !is_allowed {
            return Err(Error::TOO_MANY_REQUESTS);
        }
        chosen().for_each(|(at, _)| self.buckets[at].tokens -= 1.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Limiter;
    use crate::code::Error;
    use crate::options::{Rate, RateLimits};
    use std::time::Duration;

    fn rate(rate: u32, seconds: u64) -> Vec<Rate> {
        vec![Rate { interval: Duration::from_secs(seconds), rate }]
    }

    #[test]
    fn a_rate_lets_so_many_through_and_fills_again() {
        let limits = RateLimits { commands: vec![("publish", rate(2, 1))], ..Default::default() };
        let mut limiter = Limiter::default();
        let mut allow = |now_ms| limiter.allow(&limits, "publish", now_ms);
        assert_eq!((allow(0), allow(0)), (Ok(()), Ok(())));
        assert_eq!(allow(0), Err(Error::TOO_MANY_REQUESTS));
        assert_eq!(allow(499), Err(Error::TOO_MANY_REQUESTS), "a token takes half a second");
        assert_eq!((allow(500), allow(999)), (Ok(()), Err(Error::TOO_MANY_REQUESTS)));
        assert_eq!(
            (allow(9_000), allow(9_000), allow(9_000)),
            (Ok(()), Ok(()), Err(Error::TOO_MANY_REQUESTS))
        );
    }

    #[test]
    fn the_total_counts_every_command_and_the_default_those_without_their_own() {
        let limits = RateLimits {
            total: rate(3, 60),
            default: rate(1, 60),
            commands: vec![("rpc", rate(9, 60))],
        };
        let mut limiter = Limiter::default();
        let mut allow = |command| limiter.allow(&limits, command, 0).is_ok();
        assert!(allow("history") && !allow("history"), "the default is used up");
        assert!(
            allow("rpc") && allow("rpc") && !allow("rpc"),
            "what was refused did not count, the total does"
        );
    }

    #[test]
    fn without_rates_nothing_is_limited_or_kept() {
        let mut limiter = Limiter::default();
        assert!((0..1000).all(|_| limiter.allow(&RateLimits::default(), "publish", 0).is_ok()));
        assert_eq!(limiter.buckets.capacity(), 0);
    }
}
