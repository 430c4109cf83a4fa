//! Which replicas must have a write before it is acknowledged, so that no failover loses it:
//! `min-replicas-ack`.
//!
//! To wait for *some* N replicas is not enough: Sentinel may promote another one. So the primary waits
//! for **every replica that may be promoted**. These are its replicas in sync. The claim: an
//! acknowledged offset is on every server that may become the primary.
//!
//! 1. The acknowledged offset is the least that all replicas in sync have acknowledged, while at
//!    least N of them are not leaving.
//! 2. A replica whose link is lost, or that has been silent for too long, is *leaving*: its last
//!    offset still counts, so that nothing beyond it is acknowledged. It is out when it is certain
//!    that it cannot be promoted and has not been: see below.
//! 3. A replica may be promoted only while it holds a *grant* ([`Grant`]). Without one it reports
//!    `slave_priority:0`, and refuses `REPLICAOF NO ONE` from a Sentinel's connection: Sentinel may act on
//!    an INFO that is up to 5 s old (30 s in a manual failover), reads the effect back and tries
//!    again later. The replica counts a grant from the time at which it *sent* an
//!    acknowledgement that the primary has since confirmed.
//! 4. A replica comes (back) in when it has acknowledged the acknowledged offset. It gets its first
//!    grant after that.
//!
//! **Why that suffices.** Let offset x be acknowledged at time t. A replica in sync or leaving has
//! x, by 1 and 2. A replica that is out held its last grant from the sending of an acknowledgement that the
//! primary received later; the primary counts `hold_ms` from the receipt of the last one, and
//! `hold_ms` exceeds the grant's length by the drift of the clocks: the grant is over. It gets the next
//! one only after 4, with x. No bound on the network's delays is used, and none on pauses: a
//! replica that was paused looks at its clock when it is asked to become the primary.
//!
//! **A promotion that has already happened.** A promoted replica acknowledges no more, so from that
//! moment on the primary acknowledges nothing, by 1. It must not let that replica out. The caller
//! therefore says, with [`InSync::let_out`], that none of the Sentinels' elections can have chosen it:
//! hellos from a majority, *sent after the hold was over*, whose `current_epoch` is the one that was known
//! long before the loss. An election needs the votes of a majority, a vote raises the voter's epoch, and
//! two majorities share a member. (That hellos still name this primary is not enough: they do so for
//! seconds after a promotion.) A higher epoch may also be a failed election: then the primary waits for
//! the replica's return or for an operator. `SENTINEL FAILOVER` needs no votes: one Sentinel that no
//! message reaches may promote by it, and only hellos of *all* known Sentinels exclude that.
//!
//! What this module has is the primary's set and the replica's grant. Confirmations are messages in the stream
//! that name replicas and the offsets of their acknowledgements (the crate `replicator`): all replicas share its bytes,
//! and those that are not Apus deliver them to no client. With such replicas the claim holds only if Sentinel may promote
//! none of them (`replica-priority 0`).
//!
//! A server that becomes a primary does not know who holds grants of the one before, except by those messages:
//! it [expects](InSync::expect) all replicas that the last one named. That suffices when a replica gets its first grant only after
//! all others have acknowledged a message that names it.

use std::collections::VecDeque;

/// A replica in the set.
#[derive(Clone, Copy, Debug)]
struct Member {
    key: u64,
    ack: i64,
    /// When its last acknowledgement was received.
    ack_ms: u64,
    /// It has left at some time and counts until it is out.
    leaving: bool,
}

/// The primary's replicas in sync. Replicas have keys that stay the same over their links, such as a
/// number for each run id or address.
#[derive(Clone, Debug)]
pub struct InSync {
    needed: usize,
    silent_ms: u64,
    hold_ms: u64,
    members: Vec<Member>,
    acknowledged: i64,
}

impl InSync {
    /// A set without members, for a primary whose data at `offset` is acknowledged: what it has when
    /// it becomes one. A replica is leaving after `silent_ms` without an acknowledgement, and may be
    /// let out when that is `hold_ms` ago; the hold is longer than a grant by the clocks' drift.
    pub fn new(needed: usize, silent_ms: u64, hold_ms: u64, offset: i64) -> Self {
        Self { needed, silent_ms, hold_ms, members: Vec::new(), acknowledged: offset }
    }

    /// Up to this offset writes are acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.acknowledged
    }

    /// Up to this offset every replica has everything that may be promoted; `None` while fewer are present than
    /// are needed, or while one may be promoted of which that is not known.
    pub fn safe(&self) -> Option<i64> {
        let all = self.members.iter().all(|m| m.ack >= self.acknowledged);
        (all && self.present() >= self.needed.max(1)).then_some(self.acknowledged)
    }

    /// The keys of the replicas that may be promoted, and whether they are leaving.
    pub fn members(&self) -> impl Iterator<Item = (u64, bool)> {
        self.members.iter().map(|m| (m.key, m.leaving))
    }

    /// A replica that may hold a grant of an earlier primary: it counts as one that is leaving.
    pub fn expect(&mut self, key: u64, now_ms: u64) {
        if self.members.iter().all(|m| m.key != key) {
            self.members.push(Member { key, ack: -1, ack_ms: now_ms, leaving: true });
        }
    }

    /// The replica does not exist any more.
    pub fn remove(&mut self, key: u64) {
        self.members.retain(|m| m.key != key);
        self.move_on();
    }

    /// Sets how many replicas are needed from now on.
    pub fn need(&mut self, needed: usize) {
        self.needed = needed;
    }

    /// Replicas in sync that are not leaving.
    pub fn present(&self) -> usize {
        self.members.iter().filter(|m| !m.leaving).count()
    }

    /// A replica has acknowledged. Returns whether it is in sync: then, and only then, it is
    /// confirmed to it. A replica that has not caught up is no member, but one that is leaving
    /// stays that.
    pub fn acked(&mut self, key: u64, ack: i64, now_ms: u64) -> bool {
        let caught_up = ack >= self.acknowledged;
        match self.members.iter_mut().find(|m| m.key == key) {
            Some(m) => {
                m.ack = m.ack.max(ack);
                m.leaving &= !caught_up;
                if !m.leaving {
                    m.ack_ms = now_ms;
                }
                let present = !m.leaving;
                self.move_on();
                present
            }
            None => {
                if caught_up {
                    self.members.push(Member { key, ack, ack_ms: now_ms, leaving: false });
                    self.move_on();
                }
                caught_up
            }
        }
    }

    /// The replica's link is lost.
    pub fn lost(&mut self, key: u64) {
        if let Some(m) = self.members.iter_mut().find(|m| m.key == key) {
            m.leaving = true;
        }
    }

    /// Looks at the time: silent members are leaving.
    pub fn tick(&mut self, now_ms: u64) {
        for m in &mut self.members {
            m.leaving |= now_ms.saturating_sub(m.ack_ms) > self.silent_ms;
        }
    }

    /// The members that are leaving and can hold no grant any more, and since when.
    pub fn expired(&self, now_ms: u64) -> impl Iterator<Item = (u64, u64)> {
        self.members.iter().filter_map(move |m| {
            let since = m.ack_ms.checked_add(self.hold_ms)?;
            (m.leaving && since < now_ms).then_some((m.key, since))
        })
    }

    /// A leaving member whose grant is over has not been promoted: it is out. Returns whether it is;
    /// the caller must not ask for it without the evidence that the header describes.
    pub fn let_out(&mut self, key: u64, now_ms: u64) -> bool {
        let expired = self.expired(now_ms).any(|(k, _)| k == key);
        if expired {
            self.members.retain(|m| m.key != key);
            self.move_on();
        }
        expired
    }

    fn move_on(&mut self) {
        if self.present() >= self.needed.max(1) {
            let least = self.members.iter().map(|m| m.ack).min().unwrap_or(self.acknowledged);
            self.acknowledged = self.acknowledged.max(least);
        }
    }
}

/// A replica's right to be promoted.
#[derive(Clone, Debug)]
pub struct Grant {
    length_ms: u64,
    /// Acknowledgements that are not confirmed: their numbers and when they were sent.
    sent: VecDeque<(u64, u64)>,
    until_ms: u64,
}

/// Acknowledgements of which a replica remembers the time; later ones are not remembered.
const SENT_MAX: usize = 1024;

impl Grant {
    /// A replica without a grant; each one will last `length_ms`.
    pub fn new(length_ms: u64) -> Self {
        Self { length_ms, sent: VecDeque::new(), until_ms: 0 }
    }

    /// The replica sends its acknowledgement with this number; numbers grow.
    pub fn sent(&mut self, number: u64, now_ms: u64) {
        if self.sent.len() < SENT_MAX {
            self.sent.push_back((number, now_ms));
        }
    }

    /// The primary has confirmed the acknowledgements up to this number.
    pub fn confirmed(&mut self, number: u64) {
        while let Some(&(n, sent_ms)) = self.sent.front()
            && n <= number
        {
            self.until_ms = self.until_ms.max(sent_ms.saturating_add(self.length_ms));
            self.sent.pop_front();
        }
    }

    /// The link is lost: what was sent on it will not be confirmed on another one. The grant stays.
    pub fn link_lost(&mut self) {
        self.sent.clear();
    }

    /// Whether the replica may be promoted now.
    pub fn is_valid(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    #[test]
    fn every_replica_in_sync_has_what_is_acknowledged() {
        let mut set = InSync::new(1, 100, 1000, 0);
        assert!(set.acked(1, 10, 0));
        assert_eq!(set.acknowledged(), 10);
        assert!(!set.acked(2, 9, 0), "behind: not a member");
        assert!(set.acked(1, 20, 1) && set.acked(2, 20, 1));
        set.acked(1, 30, 2);
        assert_eq!(set.acknowledged(), 20, "the other has not got it");
        set.lost(2);
        set.acked(1, 40, 3);
        assert_eq!(set.acknowledged(), 20, "it may still be promoted");
        assert!(!set.let_out(2, 1001));
        assert_eq!(set.expired(1002).collect::<Vec<_>>(), [(2, 1001)]);
        assert!(set.let_out(2, 1002));
        assert_eq!((set.acknowledged(), set.present()), (40, 1));
    }

    #[test]
    fn without_enough_replicas_nothing_is_acknowledged() {
        let mut set = InSync::new(2, 100, 1000, 0);
        set.acked(1, 10, 0);
        assert_eq!(set.acknowledged(), 0);
        set.acked(2, 10, 0);
        assert_eq!(set.acknowledged(), 10);
        set.tick(101);
        assert_eq!(set.present(), 0);
        assert!(!set.acked(1, 9, 200), "a replica that went back does not come in");
        assert!(set.acked(1, 11, 200) && set.acked(2, 12, 200));
        assert_eq!(set.acknowledged(), 11);
    }

    #[test]
    fn a_holder_of_an_earlier_grant_is_waited_for() {
        let mut set = InSync::new(1, 100, 1000, 50);
        set.expect(2, 0);
        assert!(set.acked(1, 60, 10));
        assert_eq!((set.acknowledged(), set.safe()), (50, None), "the other one may lack them");
        assert!(!set.acked(2, 49, 20) && set.acked(2, 55, 30));
        assert_eq!(set.safe(), Some(55));
        let mut set = InSync::new(1, 100, 1000, 50);
        set.expect(2, 0);
        set.acked(1, 60, 10);
        assert!(set.let_out(2, 1001));
        assert_eq!(set.safe(), Some(60));
    }

    /// Replicas with clocks of their own, links with delays and losses: whenever an offset is
    /// acknowledged, all who hold a grant have it, and all who will get one.
    #[test]
    fn a_replica_with_a_grant_has_what_is_acknowledged() {
        struct Node {
            has: i64,
            grant: Grant,
            /// Acknowledgements on their way: number, offset; then confirmations.
            up: Vec<(u64, i64)>,
            down: Vec<u64>,
            /// Its clock is ahead or behind by this; it runs at the same rate.
            clock: u64,
        }
        let mut rng = Rng::from_seed(31);
        let mut acknowledged = 0;
        for _ in 0..200 {
            let mut set = InSync::new(1, 50, 300, 0);
            let mut nodes: Vec<Node> = (0..3)
                .map(|_| Node {
                    has: 0,
                    grant: Grant::new(300),
                    up: Vec::new(),
                    down: Vec::new(),
                    clock: rng.below(10_000),
                })
                .collect();
            let (mut now, mut written, mut number) = (0, 0, 0);
            for _ in 0..600 {
                now += rng.below(20);
                written += rng.below(3) as i64;
                let key = rng.index(3);
                let node = &mut nodes[key];
                match rng.index(9) {
                    0..4 => {
                        node.has = node.has.max(written - rng.below(4) as i64);
                        number += 1;
                        node.grant.sent(number, now + node.clock);
                        node.up.push((number, node.has));
                    }
                    4 | 5 if !node.up.is_empty() => {
                        let (n, ack) = node.up.remove(0);
                        if set.acked(key as u64, ack, now) {
                            node.down.push(n);
                        }
                    }
                    6 if !node.down.is_empty() => node.grant.confirmed(node.down.remove(0)),
                    7 if rng.index(6) == 0 => {
                        node.up.clear();
                        node.down.clear();
                        node.grant.link_lost();
                        set.lost(key as u64);
                        now += rng.below(200);
                    }
                    _ => set.tick(now),
                }
                for key in 0..3 {
                    set.let_out(key, now);
                }
                acknowledged += set.acknowledged();
                for node in &nodes {
                    let promotable = node.grant.is_valid(now + node.clock);
                    assert!(!promotable || node.has >= set.acknowledged());
                }
            }
        }
        assert!(acknowledged > 1_000_000, "{acknowledged}: the test does nothing");
    }
}
