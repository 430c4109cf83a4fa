//! What the replicas' acknowledgements allow: WAIT, WAITAOF and `min-replicas-to-write`.
//!
//! All of them count replicas that are online; they differ in what of a replica they look at.
//! No call here waits: the caller looks again after each acknowledgement.

use crate::serve::Replica;

/// The error of a write when too few replicas are good.
pub const NOREPLICAS: &str = "NOREPLICAS Not enough good replicas to write.";

/// How far one replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// It gets the stream.
    pub online: bool,
    /// It has executed the stream up to this offset.
    pub ack: i64,
    /// It has the stream on disk up to this offset.
    pub fack: i64,
    /// When it last acknowledged, in milliseconds.
    pub ack_ms: u64,
}

impl From<&Replica> for Progress {
    fn from(r: &Replica) -> Self {
        Self { online: r.is_online(), ack: r.ack(), fack: r.fack(), ack_ms: r.ack_ms() }
    }
}

/// Replicas that have executed the stream up to `offset`: WAIT's reply.
pub fn executed(replicas: impl IntoIterator<Item = Progress>, offset: i64) -> usize {
    replicas.into_iter().filter(|r| r.online && r.ack >= offset).count()
}

/// Replicas that have the stream on disk up to `offset`: the second number of WAITAOF's reply.
pub fn on_disk(replicas: impl IntoIterator<Item = Progress>, offset: i64) -> usize {
    replicas.into_iter().filter(|r| r.online && r.fack >= offset).count()
}

/// The highest offset that at least `n` replicas have executed: all who wait for `n` replicas and
/// for no more than this offset can go on. `None` when fewer than `n` are online.
///
/// One pass for all waiters of the same `n`, where [`executed`] would be one for each of them.
pub fn executed_by(
    replicas: impl IntoIterator<Item = Progress>,
    n: usize,
    scratch: &mut Vec<i64>,
) -> Option<i64> {
    scratch.clear();
    if n == 0 {
        return Some(i64::MAX);
    }
    scratch.extend(replicas.into_iter().filter(|r| r.online).map(|r| r.ack));
    let nth = scratch.len().checked_sub(n)?;
    Some(*scratch.select_nth_unstable(nth).1)
}

/// `min-replicas-to-write` and `min-replicas-max-lag`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinReplicas {
    /// Good replicas that a write needs; 0 switches the check off.
    pub to_write: usize,
    /// A replica is good while its last acknowledgement is not older, in seconds; 0 switches the
    /// check off.
    pub max_lag_s: u64,
}

impl MinReplicas {
    /// Whether the check is switched on: INFO then has `min_slaves_good_slaves`.
    pub fn is_on(self) -> bool {
        self.to_write > 0 && self.max_lag_s > 0
    }

    /// Good replicas now. Redis counts in whole seconds of the clock.
    pub fn good(self, replicas: impl IntoIterator<Item = Progress>, now_ms: u64) -> usize {
        let lag = |r: &Progress| (now_ms / 1000).saturating_sub(r.ack_ms / 1000);
        replicas.into_iter().filter(|r| r.online && lag(r) <= self.max_lag_s).count()
    }

    /// Whether a primary with so many good replicas takes writes. A replica does not ask.
    pub fn allows(self, good: usize) -> bool {
        !self.is_on() || good >= self.to_write
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    fn at(ack: i64, fack: i64, ack_ms: u64) -> Progress {
        Progress { online: true, ack, fack, ack_ms }
    }

    #[test]
    fn waits_count_replicas_that_are_online() {
        let all = [at(10, 5, 0), at(20, 20, 0), Progress { online: false, ..at(99, 99, 0) }];
        assert_eq!((executed(all, 10), executed(all, 11), executed(all, 21)), (2, 1, 0));
        assert_eq!((on_disk(all, 5), on_disk(all, 6)), (2, 1));
        let mut scratch = Vec::new();
        let mut by = |n| executed_by(all, n, &mut scratch);
        assert_eq!((by(0), by(1), by(2), by(3)), (Some(i64::MAX), Some(20), Some(10), None));
    }

    #[test]
    fn what_n_replicas_have_is_what_n_are_counted_for() {
        let mut rng = Rng::from_seed(2);
        for _ in 0..2000 {
            let all: Vec<Progress> = (0..rng.index(6))
                .map(|_| Progress { online: rng.index(4) > 0, ..at(rng.index(9) as i64, 0, 0) })
                .collect();
            for n in 1..6 {
                let most = executed_by(all.iter().copied(), n, &mut Vec::new());
                for offset in 0..10 {
                    let enough = executed(all.iter().copied(), offset) >= n;
                    assert_eq!(enough, most.is_some_and(|m| m >= offset), "{all:?} {n} {offset}");
                }
            }
        }
    }

    #[test]
    fn a_replica_is_good_while_it_acknowledges() {
        let min = MinReplicas { to_write: 1, max_lag_s: 10 };
        let all = [at(0, 0, 1_900), Progress { online: false, ..at(0, 0, 9_000) }];
        assert_eq!((min.good(all, 11_999), min.good(all, 12_000)), (1, 0));
        assert!(min.allows(1) && !min.allows(0));
        assert!(MinReplicas { to_write: 0, ..min }.allows(0));
        assert!(MinReplicas { max_lag_s: 0, ..min }.allows(0));
    }
}
