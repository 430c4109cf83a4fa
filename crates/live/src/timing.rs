//! When a connection is due: for its connect, its ping, its pong, its presence, its refresh. One deadline at a time,
//! so that a connection takes one place in a timer wheel.
//!
//! Times are milliseconds of any clock that only goes forward; expiries are given as what is left of them.

use crate::code::Disconnect;
use crate::options::{Client, Options};
use std::time::Duration;

/// What a connection is due for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It did not connect in time: [`Disconnect::STALE`].
    Stale,
    /// It expired: [`Disconnect::EXPIRED`], or ask the refresh proxy and call [`Timing::expires`] again.
    Expire,
    /// Its presence must be refreshed, its subscriptions and positions checked.
    Presence,
    /// A ping must be sent.
    Ping,
    /// Its pong did not come: [`Disconnect::NO_PONG`].
    NoPong,
}

const NEVER: i64 = i64::MAX;

/// The times of one connection: 56 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// For the connect command at first, then for the expiry: a connection waits for one of them.
    expire_ms: i64,
    presence_ms: i64,
    ping_ms: i64,
    pong_ms: i64,
    /// When the last ping was sent that has no answer; [`NEVER`]: none.
    pinged_ms: i64,
    is_connected: bool,
    is_unidirectional: bool,
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(NEVER)
}

fn after(now_ms: i64, duration: Option<Duration>) -> i64 {
    duration.map_or(NEVER, |duration| now_ms.saturating_add(ms(duration)))
}

/// Between half of an interval and all of it, by `random` from 0 to `u32::MAX`: clients that come together after a
/// restart are spread.
fn spread(now_ms: i64, interval: Option<Duration>, random: u32) -> i64 {
    let Some(interval) = interval else { return NEVER };
    let half = ms(interval) / 2;
    let part = (i128::from(half) * i128::from(random)) >> 32;
    now_ms.saturating_add(half).saturating_add(i64::try_from(part).unwrap_or_default())
}

impl Timing {
    /// A transport that is there, and whose client has not connected.
    #[must_use]
    pub fn opened(options: &Options, is_unidirectional: bool, now_ms: i64) -> Self {
        Self {
            expire_ms: after(now_ms, options.client.stale_close_delay),
            presence_ms: NEVER,
            ping_ms: NEVER,
            pong_ms: NEVER,
            pinged_ms: NEVER,
            is_connected: false,
            is_unidirectional,
        }
    }

    /// The client connected. `random` spreads it.
    pub fn connected(&mut self, options: &Options, now_ms: i64, random: u32) {
        self.is_connected = true;
        self.expire_ms = NEVER;
        self.presence_ms = spread(now_ms, Some(options.client.presence_update_interval), random);
        self.ping_ms = spread(now_ms, options.client.ping_interval, random.rotate_left(16));
    }

    /// It expires in `left_s` seconds; `None`: never. With a client-side refresh there is a grace.
    pub fn expires(
        &mut self,
        client: &Client,
        left_s: Option<i64>,
        client_side_refresh: bool,
        now_ms: i64,
    ) {
        let grace = if client_side_refresh { ms(client.expired_close_delay) } else { 0 };
        self.expire_ms = left_s.map_or(NEVER, |left_s| {
            now_ms.saturating_add(left_s.max(0).saturating_mul(1000)).saturating_add(grace)
        });
    }

    /// When it is due next; `None`: never.
    #[must_use]
    pub fn next_deadline(&self) -> Option<i64> {
        let first = self.expire_ms.min(self.presence_ms).min(self.ping_ms).min(self.pong_ms);
        (first != NEVER).then_some(first)
    }

    /// What it is due for; the next time is set. Call it until it returns `None`.
    pub fn due(&mut self, options: &Options, now_ms: i64) -> Option<Due> {
        let client = &options.client;
        if self.expire_ms <= now_ms {
            self.expire_ms = NEVER;
            return Some(if self.is_connected { Due::Expire } else { Due::Stale });
        }
        if self.pong_ms <= now_ms {
            self.pong_ms = NEVER;
            return Some(Due::NoPong);
        }
        if self.ping_ms <= now_ms {
            self.ping_ms = after(now_ms, client.ping_interval);
            self.pinged_ms = now_ms;
            let waits = client.pong_timeout.filter(|_| !self.is_unidirectional);
            // A ping while another waits does not give it more time.
            self.pong_ms = self.pong_ms.min(after(now_ms, waits));
            return Some(Due::Ping);
        }
        if self.presence_ms <= now_ms {
            self.presence_ms = after(now_ms, Some(client.presence_update_interval));
            return Some(Due::Presence);
        }
        None
    }

    /// A pong came. Returns how many milliseconds the ping took.
    ///
    /// # Errors
    /// [`Disconnect::BAD_REQUEST`]: there was no ping.
    pub fn pong(&mut self, now_ms: i64) -> Result<i64, Disconnect> {
        if self.pinged_ms == NEVER {
            return Err(Disconnect::BAD_REQUEST);
        }
        let took = now_ms - self.pinged_ms;
        self.pinged_ms = NEVER;
        self.pong_ms = NEVER;
        Ok(took)
    }
}

/// Whether a subscription's expiry and grace are over: without a refresh it ends. Seconds of the Unix clock.
#[must_use]
pub fn is_subscription_over(options: &Options, expire_at: i64, now_s: i64) -> bool {
    let grace = i64::try_from(options.client.expired_sub_close_delay.as_secs()).unwrap_or(i64::MAX);
    expire_at > 0 && now_s > expire_at.saturating_add(grace)
}

/// Whether a position must be checked that was last right at `checked_s`.
#[must_use]
pub fn needs_position_check(options: &Options, checked_s: i64, now_s: i64) -> bool {
    let delay = options.client.channel_position_check_delay;
    delay
        .is_some_and(|delay| now_s - checked_s > i64::try_from(delay.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{Due, Timing, is_subscription_over, needs_position_check};
    use crate::code::Disconnect;
    use crate::options::Options;

    fn connected(random: u32) -> (Options, Timing) {
        let options = Options::default();
        let mut timing = Timing::opened(&options, false, 0);
        timing.connected(&options, 0, random);
        (options, timing)
    }

    #[test]
    fn a_client_that_does_not_connect_is_stale() {
        let options = Options::default();
        let mut timing = Timing::opened(&options, false, 0);
        assert_eq!(timing.next_deadline(), Some(10_000));
        assert_eq!(timing.due(&options, 9_999), None);
        assert_eq!(timing.due(&options, 10_000), Some(Due::Stale));
        assert_eq!(timing.next_deadline(), None);
    }

    #[test]
    fn the_first_ping_is_spread_over_half_an_interval() {
        let (_, early) = connected(0);
        let (_, late) = connected(u32::MAX);
        assert_eq!(early.next_deadline(), Some(12_500));
        assert_eq!(late.next_deadline(), Some(24_999));
    }

    #[test]
    fn a_ping_needs_its_pong_in_time() {
        let (options, mut timing) = connected(0);
        assert_eq!(timing.pong(1), Err(Disconnect::BAD_REQUEST), "there was no ping");
        assert_eq!(timing.due(&options, 12_500), Some(Due::Ping));
        assert_eq!(timing.pong(12_600), Ok(100));
        assert_eq!(timing.pong(12_601), Err(Disconnect::BAD_REQUEST), "one ping, one pong");
        assert_eq!(timing.due(&options, 20_499), Some(Due::Presence));
        assert_eq!(timing.due(&options, 20_500), None, "it was answered");
        assert_eq!(timing.due(&options, 37_500), Some(Due::Ping));
        assert_eq!(timing.due(&options, 45_500), Some(Due::NoPong));
    }

    #[test]
    fn unidirectional_clients_owe_no_pong() {
        let options = Options::default();
        let mut timing = Timing::opened(&options, true, 0);
        timing.connected(&options, 0, 0);
        assert_eq!(timing.due(&options, 12_500), Some(Due::Ping));
        assert_eq!(timing.next_deadline(), Some(13_500), "its presence");
    }

    #[test]
    fn expiry_has_a_grace_if_the_client_refreshes() {
        let (options, mut timing) = connected(u32::MAX);
        timing.expires(&options.client, Some(5), true, 0);
        assert_eq!(timing.due(&options, 24_000), None);
        timing.expires(&options.client, Some(5), false, 0);
        assert_eq!(timing.due(&options, 5_000), Some(Due::Expire));
        timing.expires(&options.client, None, false, 5_000);
        assert_eq!(timing.due(&options, 6_000), None);
    }

    #[test]
    fn subscriptions_and_positions_have_their_delays() {
        let options = Options::default();
        assert!(!is_subscription_over(&options, 0, i64::MAX));
        assert!(!is_subscription_over(&options, 100, 125));
        assert!(is_subscription_over(&options, 100, 126));
        assert!(!needs_position_check(&options, 100, 140));
        assert!(needs_position_check(&options, 100, 141));
    }
}
