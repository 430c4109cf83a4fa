//! Which keys of a part expire when: a heap of small hints, so that active expiry finds what is
//! due without looking at the living.
//!
//! A hint is 8 bytes: 44 bits of deadline (milliseconds after the keyspace's base) and the top 20
//! bits of the key's table position. The truth is the deadline in the entry; a hint only says: at
//! that time, look at that place. 44 bits are 557 years: a keyspace may be made while the clock
//! says 1970, and a later deadline is hinted at the last moment that can be said, which no clock
//! must reach (the place would be looked at again and again). 20 bits tell a million places of a
//! shard apart, each a bucket or a part of one.
//!
//! **Invariant:** every entry with a deadline has at least one hint that is not later than its
//! deadline. So setting a *later* deadline on a key that has one pushes nothing: when the old hint
//! comes up, the place is looked at, and a new hint is pushed for what is not due yet. Deleting a
//! key leaves its hint behind; when stale hints outnumber living keys, the heap is rebuilt.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use data::entry::Entry;
use data::table::Table;

const POS_BITS: u32 = 20;
const TIME_MAX: i64 = (1 << (64 - POS_BITS)) - 1;

#[derive(Default)]
pub(crate) struct ExpiryIndex {
    heap: BinaryHeap<Reverse<u64>>,
    /// Entries of the part that have a deadline.
    pub(crate) keys: usize,
}

/// Table position of a hash, as the table computes it.
fn position(hash: u64) -> u32 {
    (hash >> 16) as u32
}

fn hint(base_ms: i64, deadline: i64, hash: u64) -> u64 {
    let time = (deadline.saturating_sub(base_ms)).clamp(0, TIME_MAX) as u64;
    time << POS_BITS | u64::from(position(hash) >> (32 - POS_BITS))
}

impl ExpiryIndex {
    /// Notes that an entry's deadline changed from `before` to `after`.
    #[inline]
    pub(crate) fn note(
        &mut self,
        base_ms: i64,
        hash: u64,
        before: Option<i64>,
        after: Option<i64>,
    ) {
        match (before, after) {
            (None, None) => {}
            (Some(_), None) => self.keys -= 1,
            (Some(b), Some(a)) if a >= b => {}
            (_, Some(a)) => {
                self.keys += usize::from(before.is_none());
                self.heap.push(Reverse(hint(base_ms, a, hash)));
            }
        }
    }

    /// Whether a hint is due.
    pub(crate) fn is_due(&self, base_ms: i64, now: i64) -> bool {
        self.heap.peek().is_some_and(|h| Self::time(base_ms, h.0) < now)
    }

    fn time(base_ms: i64, hint: u64) -> i64 {
        base_ms + (hint >> POS_BITS) as i64
    }

    /// Pops due hints until one leads to entries; returns those entries' hashes and keys.
    /// Entries at that place that are not due get a new hint.
    pub(crate) fn next_due(
        &mut self,
        table: &Table<Entry>,
        base_ms: i64,
        now: i64,
    ) -> Option<Vec<(u64, Vec<u8>)>> {
        while self.is_due(base_ms, now) {
            let Reverse(h) = self.heap.pop()?;
            while self.heap.peek() == Some(&Reverse(h)) {
                self.heap.pop();
            }
            let place = (h & ((1 << POS_BITS) - 1)) as u32;
            let (mut due, mut later) = (Vec::new(), Vec::new());
            Self::at_place(table, place, |e, hash| match e.deadline() {
                Some(d) if d < now => due.push((hash, e.key().to_vec())),
                Some(d) => later.push(hint(base_ms, d, hash)),
                None => {}
            });
            // A hint that equals one in the heap is the same hint; popping removes them together.
            self.heap.extend(later.into_iter().map(Reverse));
            if !due.is_empty() {
                return Some(due);
            }
        }
        None
    }

    /// Calls `f` for the entries whose position starts with these bits.
    fn at_place(table: &Table<Entry>, place: u32, mut f: impl FnMut(&Entry, u64)) {
        use data::table::Node as _;
        let shift = 32 - POS_BITS;
        let mut at = Some(place << shift);
        while let Some(pos) = at.filter(|p| p >> shift == place) {
            at = table.scan(pos, |e| {
                let hash = e.hash();
                if position(hash) >> shift == place {
                    f(e, hash);
                }
            });
        }
    }

    /// A random entry that has a deadline, roughly fair; `pick(n)` chooses below `n`.
    pub(crate) fn sample(
        &self,
        table: &Table<Entry>,
        pick: impl FnOnce(usize) -> usize,
    ) -> Option<(u64, Vec<u8>)> {
        if self.heap.is_empty() {
            return None;
        }
        let n = pick(self.heap.len());
        let h = self.heap.as_slice().get(n)?.0;
        let mut found = None;
        Self::at_place(table, (h & ((1 << POS_BITS) - 1)) as u32, |e, hash| {
            if e.deadline().is_some() {
                found = Some((hash, e.key().to_vec()));
            }
        });
        found
    }

    /// The hints' deadlines, some of them, for the average time to live.
    pub(crate) fn some_deadlines(&self, base_ms: i64, n: usize) -> impl Iterator<Item = i64> + '_ {
        self.heap.iter().take(n).map(move |h| Self::time(base_ms, h.0))
    }

    /// Rebuilds the heap when most of it is stale.
    pub(crate) fn tidy(&mut self, table: &Table<Entry>, base_ms: i64) {
        use data::table::Node as _;
        if self.heap.len() <= 4 * self.keys + 64 {
            return;
        }
        let mut hints = Vec::with_capacity(self.keys);
        table.for_each(|e| {
            if let Some(d) = e.deadline() {
                hints.push(Reverse(hint(base_ms, d, e.hash())));
            }
        });
        self.heap = BinaryHeap::from(hints);
    }

    /// Takes everything, leaving an empty index.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
