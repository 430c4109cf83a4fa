//! Which keys of a part expire when, and which values have parts (fields of hashes) that do: a heap
//! of small hints for either, so that active expiry finds the due entries without visiting the
//! others.
//!
//! A hint is 8 bytes: 44 bits of deadline (milliseconds after the keyspace's base) and the top 20
//! bits of the key's table position. The deadline in the entry decides; a hint only says: at that
//! time, look at that position. 44 bits are 557 years: a keyspace may be made while the clock says
//! 1970, and a later deadline is hinted at the last moment that can be said, which no clock must
//! reach (the position would be visited again and again). 20 bits distinguish a million positions
//! of a shard, each a bucket or a part of one.
//!
//! **Invariant:** every entry with a deadline has at least one hint that is not later than its
//! deadline. So setting a *later* deadline on a key that has one pushes nothing: when the old hint
//! comes up, the position is visited, and a new hint is pushed for each entry that is not due yet.
//! Deleting a key leaves its hint behind; when stale hints outnumber living keys, a new heap is
//! made from the table, some buckets at a time, since the shard is locked meanwhile. Until that
//! walk ends, every new hint goes into both heaps, so the new one has the invariant for all entries
//! that lie behind the walk, and both have it at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use data::entry::Entry;
use data::table::Table;

const POS_BITS: u32 = 20;
const TIME_MAX: i64 = (1 << (64 - POS_BITS)) - 1;
/// Buckets that one step of making a new heap looks at: some thousand entries, below 0.1 ms.
const TIDY_BUCKETS: usize = 128;

/// An index of keys' deadlines, or with `FIELDS` of the earliest deadlines within values.
#[derive(Default)]
pub(crate) struct ExpiryIndex<const FIELDS: bool = false> {
    heap: BinaryHeap<Reverse<u64>>,
    /// Entries of the part that have such a deadline.
    pub(crate) keys: usize,
    /// The heap that is being made anew, if one is.
    fresh: Option<Box<Fresh>>,
}

/// A heap in the making.
struct Fresh {
    heap: BinaryHeap<Reverse<u64>>,
    /// Table position up to which entries have their hints in it.
    at: u32,
}

/// Table position of a hash, as the table computes it.
fn position(hash: u64) -> u32 {
    (hash >> 16) as u32
}

fn hint(base_ms: i64, deadline: i64, hash: u64) -> u64 {
    let time = (deadline.saturating_sub(base_ms)).clamp(0, TIME_MAX) as u64;
    time << POS_BITS | u64::from(position(hash) >> (32 - POS_BITS))
}

impl<const FIELDS: bool> ExpiryIndex<FIELDS> {
    /// The deadline of an entry that this index is about.
    fn deadline(e: &Entry) -> Option<i64> {
        if FIELDS { e.part_deadline() } else { e.deadline() }
    }

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
                self.push(hint(base_ms, a, hash));
            }
        }
    }

    /// Puts back the hint of an entry that [`next_due`](Self::next_due) gave and that has this
    /// deadline now.
    pub(crate) fn renew(&mut self, base_ms: i64, hash: u64, deadline: i64) {
        self.push(hint(base_ms, deadline, hash));
    }

    #[inline]
    fn push(&mut self, hint: u64) {
        self.heap.push(Reverse(hint));
        if let Some(f) = &mut self.fresh {
            f.heap.push(Reverse(hint));
        }
    }

    /// Whether a hint is due.
    pub(crate) fn is_due(&self, base_ms: i64, now: i64) -> bool {
        self.heap.peek().is_some_and(|h| Self::time(base_ms, h.0) < now)
    }

    fn time(base_ms: i64, hint: u64) -> i64 {
        base_ms + (hint >> POS_BITS) as i64
    }

    /// Pops due hints until one leads to entries; returns those entries' hashes and keys. Entries
    /// at that position that are not due get a new hint.
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
            Self::at_place(table, place, |e, hash| match Self::deadline(e) {
                Some(d) if d < now => due.push((hash, e.key().to_vec())),
                Some(d) => later.push(hint(base_ms, d, hash)),
                None => {}
            });
            // A hint that equals one in the heap is the same hint; popping removes them together.
            later.into_iter().for_each(|h| self.push(h));
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

    /// The hash of a random key that has a deadline, roughly fair; `pick(n)` chooses below `n`.
    pub(crate) fn sample(
        &self,
        table: &Table<Entry>,
        pick: impl FnOnce(usize) -> usize,
    ) -> Option<u64> {
        if self.heap.is_empty() {
            return None;
        }
        let n = pick(self.heap.len());
        let h = self.heap.as_slice().get(n)?.0;
        let mut found = None;
        Self::at_place(table, (h & ((1 << POS_BITS) - 1)) as u32, |e, hash| {
            if Self::deadline(e).is_some() {
                found = Some(hash);
            }
        });
        found
    }

    /// The hints' deadlines, some of them, for the average time to live.
    pub(crate) fn some_deadlines(&self, base_ms: i64, n: usize) -> impl Iterator<Item = i64> + '_ {
        self.heap.iter().take(n).map(move |h| Self::time(base_ms, h.0))
    }

    /// Makes the heap anew, step by step, when most of it is stale, and returns memory when most of
    /// it is unused.
    pub(crate) fn tidy(&mut self, table: &Table<Entry>, base_ms: i64) {
        use data::table::Node as _;
        let Some(fresh) = &mut self.fresh else {
            if self.heap.len() > 4 * self.keys + 64 {
                self.fresh = Some(Box::new(Fresh { heap: BinaryHeap::new(), at: 0 }));
            } else if self.heap.capacity() > 4 * self.heap.len() + 64 {
                self.heap.shrink_to(2 * self.heap.len());
            }
            return;
        };
        for _ in 0..TIDY_BUCKETS {
            let next = table.scan(fresh.at, |e| {
                if let Some(d) = Self::deadline(e) {
                    fresh.heap.push(Reverse(hint(base_ms, d, e.hash())));
                }
            });
            let Some(next) = next else {
                self.heap = std::mem::take(&mut fresh.heap);
                self.fresh = None;
                return;
            };
            fresh.at = next;
        }
    }

    /// Takes everything, leaving an empty index.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::entry::Content;
    use data::table::Node as _;
    use std::collections::BTreeSet;

    const BASE: i64 = 1_000_000;

    struct IndexedTable {
        table: Table<Entry>,
        index: ExpiryIndex,
    }

    impl IndexedTable {
        fn add(&mut self, key: &[u8], deadline: i64) {
            let e = Entry::string(key, Content::Bytes(b"v"), Some(deadline), 0);
            self.index.note(BASE, e.hash(), None, Some(deadline));
            self.table.insert(e);
        }

        fn remove(&mut self, key: &[u8]) {
            let hash = stdx::hash::hash64(key);
            let e = self.table.remove(hash, |e| e.key() == key).expect("the test added it");
            self.index.note(BASE, hash, e.deadline(), None);
        }

        fn due(&mut self, now: i64) -> BTreeSet<Vec<u8>> {
            let mut all = BTreeSet::new();
            while let Some(due) = self.index.next_due(&self.table, BASE, now) {
                for (_, key) in due {
                    self.remove(&key);
                    all.insert(key);
                }
            }
            all
        }
    }

    fn key(kind: &str, i: usize) -> Vec<u8> {
        format!("{kind}:{i}").into_bytes()
    }

    /// While the heap is made anew in steps, keys come, go and fall due.
    #[test]
    fn tidying_in_steps_loses_no_deadline() {
        let mut p = IndexedTable { table: Table::new(0), index: ExpiryIndex::default() };
        let n = 20_000;
        (0..n).for_each(|i| p.add(&key("gone", i), BASE + 50_000));
        (0..n / 8).for_each(|i| p.add(&key("stays", i), BASE + 40_000 + i as i64));
        (0..n).for_each(|i| p.remove(&key("gone", i)));
        let stale = p.index.heap.len();
        let mut expected: BTreeSet<_> = (0..n / 8).map(|i| key("stays", i)).collect();
        let mut steps = 0;
        loop {
            p.index.tidy(&p.table, BASE);
            if p.index.fresh.is_none() {
                break;
            }
            steps += 1;
            p.add(&key("later", steps), BASE + 30_000);
            p.add(&key("soon", steps), BASE + 10);
            expected.insert(key("later", steps));
            if steps % 2 == 0 {
                assert_eq!(p.due(BASE + 20).len(), 2, "those that came since");
            }
        }
        assert!(steps > 3, "it was done at once");
        assert!(p.index.heap.len() < stale / 4, "nothing was tidied");
        assert!(p.due(BASE + 20).len() <= 1);
        assert!(p.due(BASE + 100_000) == expected, "a deadline was lost");
        assert_eq!(p.index.keys, 0);
    }

    #[test]
    fn memory_is_given_back_after_all_keys_expired() {
        let mut p = IndexedTable { table: Table::new(0), index: ExpiryIndex::default() };
        (0..5000).for_each(|i| p.add(&key("k", i), BASE + 1));
        assert_eq!(p.due(BASE + 2).len(), 5000);
        p.index.tidy(&p.table, BASE);
        assert!(p.index.heap.capacity() < 100, "{} hints of room", p.index.heap.capacity());
    }
}
