//! A sorted sequence of leaves in chunks, which a frozen copy shares.
//!
//! ```text
//!  before  | low | low | low | …    all chunks but the last, found by binary search
//!              |     |     |
//!           leaf … leaf … leaf …    up to 32 in each
//!  tail     leaf …                  the last chunk: where leaves are added, and all there is while that is enough
//! ```
//!
//! A leaf is a kilobyte or some of a value: entries of a stream, pending ones, integers of a set. To
//! freeze a sequence is to share its chunks. A later change of a leaf copies the chunk that it is
//! in, or takes the chunk back when the frozen copy is gone. What was never shared is a plain vector,
//! so that all this costs nothing while there are no snapshots.
//!
//! Invariants: no chunk of `before` is empty, nor is the tail unless everything is. A part's `low` is
//! above all that is in the parts before it, and not above what is in it (the first part's may be
//! above that, but is below the next one's).
//! `held` is what leaves and chunks hold from the allocator; what is shared counts in full.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use stdx::mem::{allocated, size_class};

/// A leaf of a sequence.
pub(crate) trait Leaf: Clone + Debug {
    /// The key that leaves are sorted by.
    type Key: Copy + Debug + Ord;

    /// The least of what is in it, or less.
    fn key(&self) -> Self::Key;

    /// Bytes held from the allocator beyond its own size.
    fn heap(&self) -> usize;
}

/// Leaves in a chunk at most: as many as one change copies while there is a frozen copy.
const CHUNK: usize = if cfg!(test) { 6 } else { 32 };
/// Leaves of more bytes than usual fill a chunk when they are fewer: about so many bytes are in one.
const CHUNK_BYTES: usize = 160 << 10;
/// A sequence of up to this many bytes is copied at once and not shared.
const FEW: usize = if cfg!(test) { 200 } else { 4096 };

#[derive(Debug)]
enum Chunk<T> {
    Own(Vec<T>),
    /// Frozen copies may have it as well.
    Shared(Arc<Vec<T>>),
}

impl<T: Leaf> Chunk<T> {
    #[inline]
    fn leaves(&self) -> &[T] {
        match self {
            Self::Own(leaves) => leaves,
            Self::Shared(leaves) => leaves,
        }
    }

    /// The leaves to be changed; `held` goes with what that takes.
    #[inline]
    fn own(&mut self, held: &mut usize) -> &mut Vec<T> {
        match self {
            Self::Own(leaves) => leaves,
            Self::Shared(_) => self.unshare(held),
        }
    }

    #[cold]
    fn unshare(&mut self, held: &mut usize) -> &mut Vec<T> {
        if let Self::Shared(shared) = std::mem::replace(self, Self::Own(Vec::new())) {
            *held -= ARC;
            let leaves = Arc::try_unwrap(shared).unwrap_or_else(|shared| {
                let mut copy = Vec::with_capacity(shared.capacity());
                copy.extend_from_slice(&shared);
                // The copies have no spare room.
                *held = *held - heap(&shared) + heap(&copy);
                copy
            });
            *self = Self::Own(leaves);
        }
        match self {
            Self::Own(leaves) => leaves,
            Self::Shared(_) => unreachable!("it was just taken over"),
        }
    }

    fn share(&mut self, held: &mut usize) -> Self {
        let shared = match self {
            Self::Shared(leaves) => return Self::Shared(Arc::clone(leaves)),
            Self::Own(leaves) => Arc::new(std::mem::take(leaves)),
        };
        *held += ARC;
        *self = Self::Shared(Arc::clone(&shared));
        Self::Shared(shared)
    }
}

/// Bytes of an `Arc`'s allocation, which has two counts and the three words of a vector.
const ARC: usize = size_class(5 * size_of::<usize>());

fn heap<T: Leaf>(leaves: &[T]) -> usize {
    leaves.iter().map(T::heap).sum()
}

/// Works on a leaf; `held` goes with what it holds.
#[inline]
fn measured<T: Leaf, R>(leaf: &mut T, held: &mut usize, f: impl FnOnce(&mut T) -> R) -> R {
    let before = leaf.heap();
    let r = f(leaf);
    *held = *held - before + leaf.heap();
    r
}

#[derive(Debug)]
struct KeyedChunk<T: Leaf> {
    low: T::Key,
    chunk: Chunk<T>,
}

/// The part of those before the tail that has the leaf for a key, which is below the tail's.
#[inline]
fn part_before<T: Leaf>(parts: &VecDeque<KeyedChunk<T>>, key: T::Key) -> usize {
    parts.partition_point(|part| part.low <= key).saturating_sub(1)
}

/// Where among a part's leaves the one for a key is.
#[inline]
fn place_in<T: Leaf>(leaves: &[T], key: T::Key) -> usize {
    leaves.partition_point(|leaf| leaf.key() <= key).saturating_sub(1)
}

/// The parts before the tail; boxed, since most sequences are a tail alone.
type Before<T> = Option<Box<VecDeque<KeyedChunk<T>>>>;

/// The chunk of a part; the part behind the last is the tail.
#[inline]
fn chunk_of<'a, T: Leaf>(
    before: &'a mut Before<T>,
    tail: &'a mut Chunk<T>,
    part: usize,
) -> &'a mut Chunk<T> {
    match before {
        Some(parts) if part < parts.len() => &mut parts[part].chunk,
        _ => tail,
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Chunked<T: Leaf> {
    before: Before<T>,
    tail: Chunk<T>,
    held: usize,
}

/// Where a leaf is, or would be; valid until leaves come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeafPosition {
    part: usize,
    at: usize,
}

impl LeafPosition {
    /// The position of the first leaf.
    pub(crate) const FIRST: Self = Self { part: 0, at: 0 };
}

impl<T: Leaf> Default for Chunked<T> {
    fn default() -> Self {
        Self { before: None, tail: Chunk::Own(Vec::new()), held: 0 }
    }
}

impl<T: Leaf> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        self.iter().for_each(|leaf| copy.push(leaf.clone()));
        copy
    }
}

impl<T: Leaf> Chunked<T> {
    /// Bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |parts| {
            size_class(size_of::<VecDeque<KeyedChunk<T>>>())
                + allocated::<KeyedChunk<T>>(parts.capacity())
        });
        self.held + before
    }

    /// Parts before the tail.
    #[inline]
    fn parts(&self) -> usize {
        self.before.as_ref().map_or(0, |parts| parts.len())
    }

    /// The leaves of a part; the one behind the last is the tail.
    #[inline]
    fn leaves(&self, part: usize) -> &[T] {
        let parts = self.parts();
        match &self.before {
            Some(before) if part < parts => before[part].chunk.leaves(),
            _ if part == parts => self.tail.leaves(),
            _ => &[],
        }
    }

    #[inline]
    pub(crate) fn get(&self, place: LeafPosition) -> Option<&T> {
        self.leaves(place.part).get(place.at)
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.get(LeafPosition::FIRST)
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        self.tail.leaves().last()
    }

    /// The place of the last leaf, or the first place.
    #[inline]
    pub(crate) fn last_place(&self) -> LeafPosition {
        LeafPosition { part: self.parts(), at: self.tail.leaves().len().saturating_sub(1) }
    }

    /// The place before one.
    pub(crate) fn before(&self, place: LeafPosition) -> Option<LeafPosition> {
        let LeafPosition { part, at } = place;
        if let Some(at) = at.checked_sub(1) {
            return Some(LeafPosition { part, at });
        }
        let part = part.checked_sub(1)?;
        Some(LeafPosition { part, at: self.leaves(part).len().saturating_sub(1) })
    }

    /// The place behind one, whether or not there is a leaf.
    pub(crate) fn after(&self, place: LeafPosition) -> LeafPosition {
        let LeafPosition { part, at } = place;
        if at + 1 < self.leaves(part).len() || part == self.parts() {
            LeafPosition { part, at: at + 1 }
        } else {
            LeafPosition { part: part + 1, at: 0 }
        }
    }

    /// The last place whose leaf has at most this key, or another such that the key has no place in
    /// any leaf but that one.
    #[inline]
    pub(crate) fn find(&self, key: T::Key) -> LeafPosition {
        let (part, leaves) = self.part_of(key);
        LeafPosition { part, at: place_in(leaves, key) }
    }

    /// About how many leaves there are from one place to another, both included: those of full chunks.
    pub(crate) fn about_between(&self, from: LeafPosition, to: LeafPosition) -> usize {
        match to.part.checked_sub(from.part) {
            Some(0) => (to.at + 1).saturating_sub(from.at),
            Some(parts) => {
                let rest = self.leaves(from.part).len().saturating_sub(from.at);
                rest + (parts - 1) * CHUNK + to.at + 1
            }
            None => 0,
        }
    }

    /// The leaf that [`find`](Self::find) finds.
    #[inline]
    pub(crate) fn near(&self, key: T::Key) -> Option<&T> {
        let (_, leaves) = self.part_of(key);
        leaves.get(place_in(leaves, key))
    }

    /// The part that has the leaf for a key, and its leaves.
    #[inline]
    fn part_of(&self, key: T::Key) -> (usize, &[T]) {
        let leaves = self.tail.leaves();
        let Some(parts) = &self.before else { return (0, leaves) };
        if leaves.first().is_some_and(|first| first.key() > key) {
            let part = part_before(parts, key);
            (part, parts[part].chunk.leaves())
        } else {
            (parts.len(), leaves)
        }
    }

    /// The leaf that [`find`](Self::find) finds, to be looked at and perhaps changed.
    #[inline(always)]
    pub(crate) fn entry(&mut self, key: T::Key) -> Option<Entry<'_, T>> {
        let (mut part, mut chunk) = (0, &mut self.tail);
        if let Some(parts) = &mut self.before {
            part = parts.len();
            if chunk.leaves().first().is_some_and(|first| first.key() > key) {
                part = part_before(parts, key);
                chunk = &mut parts[part].chunk;
            }
        }
        let leaves = chunk.leaves();
        if leaves.is_empty() {
            return None;
        }
        let at = place_in(leaves, key);
        Some(Entry { chunk, held: &mut self.held, place: LeafPosition { part, at } })
    }

    /// The leaf at a place, to be looked at and perhaps changed.
    #[inline]
    pub(crate) fn entry_at(&mut self, place: LeafPosition) -> Option<Entry<'_, T>> {
        let chunk = chunk_of(&mut self.before, &mut self.tail, place.part);
        let there = place.at < chunk.leaves().len();
        there.then_some(Entry { chunk, held: &mut self.held, place })
    }

    /// A leaf, each with the same chance when `index` gives each number below its argument the same.
    pub(crate) fn random(&self, mut index: impl FnMut(usize) -> usize) -> Option<&T> {
        self.last()?;
        let parts = self.parts();
        // A place in any part; it counts when there is a leaf.
        let places = if parts == 0 { self.tail.leaves().len() } else { CHUNK };
        loop {
            if let Some(leaf) = self.leaves(index(parts + 1)).get(index(places)) {
                return Some(leaf);
            }
        }
    }

    /// All leaves in order.
    #[inline]
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        self.iter_from(LeafPosition::FIRST)
    }

    /// The leaves from a place on.
    #[inline]
    pub(crate) fn iter_from(&self, place: LeafPosition) -> Iter<'_, T> {
        let leaves = self.leaves(place.part).get(place.at..).unwrap_or_default();
        Iter { all: self, part: place.part, leaves: leaves.iter() }
    }

    /// Works on a leaf, whose content stays in order with its neighbours'.
    #[inline]
    pub(crate) fn edit<R>(
        &mut self,
        place: LeafPosition,
        f: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        self.entry_at(place).map(|entry| entry.edit(f))
    }

    /// The same with the last leaf.
    #[inline]
    pub(crate) fn edit_last<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let leaf = self.tail.own(&mut self.held).last_mut();
        leaf.map(|leaf| measured(leaf, &mut self.held, f))
    }

    /// Works on the last leaf unless it is shared: for what is not worth a copy.
    pub(crate) fn edit_own_last(&mut self, f: impl FnOnce(&mut T)) {
        if let Chunk::Own(_) = self.tail {
            self.edit_last(f);
        }
    }

    /// Adds a leaf behind all others.
    pub(crate) fn push(&mut self, leaf: T) {
        let len = self.tail.leaves().len();
        if len >= CHUNK || self.last().is_some_and(|last| len * last.heap() >= CHUNK_BYTES) {
            let full = std::mem::replace(&mut self.tail, Chunk::Own(Vec::new()));
            self.put_part(self.parts(), full);
        }
        self.put(self.parts(), self.tail.leaves().len(), leaf);
    }

    /// Adds a leaf behind the one at a place, if there is one.
    pub(crate) fn insert_after(&mut self, place: LeafPosition, leaf: T) {
        let (mut part, mut at) = (place.part, place.at + 1);
        let len = self.leaves(part).len();
        if part == self.parts() && at >= len {
            return self.push(leaf);
        }
        if len >= CHUNK {
            let upper = self.resize(part, |leaves| {
                let upper = leaves.split_off(CHUNK / 2);
                leaves.shrink_to_fit();
                upper
            });
            self.held += allocated::<T>(upper.capacity());
            let mut upper = Chunk::Own(upper);
            let mut behind = part + 1;
            if part == self.parts() {
                std::mem::swap(&mut self.tail, &mut upper);
                behind = part;
            } else if let Some(parts) = &mut self.before {
                // Lower ones may have come into the first part since.
                let part = &mut parts[part];
                part.low = part.low.min(part.chunk.leaves()[0].key());
            }
            self.put_part(behind, upper);
            if at > CHUNK / 2 {
                (part, at) = (part + 1, at - CHUNK / 2);
            }
        }
        self.put(part, at, leaf);
    }

    /// Puts a leaf into a part that has a place for it.
    fn put(&mut self, part: usize, at: usize, leaf: T) {
        self.held += leaf.heap();
        self.resize(part, |leaves| {
            if leaves.len() == leaves.capacity() {
                // Never beyond `CHUNK`: the rest would not be used.
                leaves.reserve_exact(leaves.len().max(4).min(CHUNK - leaves.len()));
            }
            leaves.insert(at, leaf);
        });
    }

    /// Changes a part's vector.
    fn resize<R>(&mut self, part: usize, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let leaves = chunk_of(&mut self.before, &mut self.tail, part).own(&mut self.held);
        let before = allocated::<T>(leaves.capacity());
        let r = f(leaves);
        self.held = self.held - before + allocated::<T>(leaves.capacity());
        r
    }

    fn put_part(&mut self, at: usize, chunk: Chunk<T>) {
        if let Some(first) = chunk.leaves().first() {
            let low = first.key();
            self.before.get_or_insert_default().insert(at, KeyedChunk { low, chunk });
        }
    }

    fn take_part(&mut self, at: usize) -> Option<Chunk<T>> {
        let parts = self.before.as_mut()?;
        let part = parts.remove(at)?;
        if parts.is_empty() {
            self.before = None;
        } else if parts.capacity() > 4 * parts.len() + 16 {
            parts.shrink_to(2 * parts.len());
        }
        Some(part.chunk)
    }

    /// Takes a leaf out.
    pub(crate) fn remove(&mut self, place: LeafPosition) -> Option<T> {
        let LeafPosition { part, at } = place;
        self.get(place)?;
        let (leaf, len) = self.resize(part, |leaves| {
            let leaf = leaves.remove(at);
            if leaves.capacity() > 4 * leaves.len() {
                leaves.shrink_to(2 * leaves.len());
            }
            (leaf, leaves.len())
        });
        self.held -= leaf.heap();
        if len == 0 {
            self.forget_part(part);
            return Some(leaf);
        }
        if let Some(parts) = &mut self.before
            && let Some(part) = parts.get_mut(part)
            && at == 0
        {
            // What was in it may have gone to the leaf before, which is in another part.
            part.low = part.chunk.leaves()[0].key();
        }
        if len < CHUNK / 4 {
            self.join(part);
        }
        Some(leaf)
    }

    /// Takes an empty part out.
    fn forget_part(&mut self, part: usize) {
        if part < self.parts() {
            self.take_part(part);
        } else if let Some(last) = part.checked_sub(1).and_then(|last| self.take_part(last)) {
            self.tail = last;
        }
    }

    /// Joins a part with one beside it, if both together have few leaves.
    fn join(&mut self, part: usize) {
        let len = |part: usize| self.leaves(part).len();
        let few = |low: usize| low < self.parts() && len(low) + len(low + 1) <= CHUNK / 2;
        let before = part.checked_sub(1).filter(|low| few(*low));
        let Some(low) = Some(part).filter(|low| few(*low)).or(before) else { return };
        let upper = self.resize(low + 1, std::mem::take);
        self.resize(low, |leaves| {
            leaves.reserve_exact(upper.len());
            leaves.extend(upper);
        });
        self.forget_part(low + 1);
    }

    /// The same leaves, for another thread to read while these change.
    pub(crate) fn freeze(&mut self) -> Self {
        if self.before.is_none() && self.held <= FEW {
            return self.clone();
        }
        let held = &mut self.held;
        let before = self.before.as_mut().map(|parts| {
            let share = |part: &mut KeyedChunk<T>| KeyedChunk {
                low: part.low,
                chunk: part.chunk.share(held),
            };
            Box::new(parts.iter_mut().map(share).collect())
        });
        let tail = self.tail.share(held);
        Self { before, tail, held: *held }
    }
}

/// A leaf that is there. See [`Chunked::entry`].
#[derive(Debug)]
pub(crate) struct Entry<'a, T: Leaf> {
    chunk: &'a mut Chunk<T>,
    held: &'a mut usize,
    /// Where it is.
    pub(crate) place: LeafPosition,
}

impl<T: Leaf> Entry<'_, T> {
    #[inline]
    pub(crate) fn leaf(&self) -> &T {
        &self.chunk.leaves()[self.place.at]
    }

    /// Works on the leaf, whose content stays in order with its neighbours'.
    #[inline]
    pub(crate) fn edit<R>(self, f: impl FnOnce(&mut T) -> R) -> R {
        let leaf = &mut self.chunk.own(self.held)[self.place.at];
        measured(leaf, self.held, f)
    }
}

/// See [`Chunked::iter_from`].
#[derive(Debug)]
pub(crate) struct Iter<'a, T: Leaf> {
    all: &'a Chunked<T>,
    part: usize,
    leaves: std::slice::Iter<'a, T>,
}

impl<T: Leaf> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { all: self.all, part: self.part, leaves: self.leaves.clone() }
    }
}

impl<'a, T: Leaf> Iter<'a, T> {
    /// The next leaves, as far as they are in the same part.
    #[inline]
    pub(crate) fn near(&self) -> &'a [T] {
        self.leaves.as_slice()
    }
}

impl<'a, T: Leaf> Iterator for Iter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        if let Some(leaf) = self.leaves.next() {
            return Some(leaf);
        }
        // No part is empty.
        self.part += 1;
        self.leaves = self.all.leaves(self.part).iter();
        self.leaves.next()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stdx::rng::Rng;

    use super::*;

    /// Some numbers in order, never none.
    #[derive(Clone, Debug)]
    struct Few(Vec<u64>);

    impl Leaf for Few {
        type Key = u64;

        fn key(&self) -> u64 {
            self.0[0]
        }

        fn heap(&self) -> usize {
            allocated::<u64>(self.0.capacity())
        }
    }

    type Numbers = Chunked<Few>;
    type Model = BTreeSet<u64>;

    fn change(all: &mut Numbers, model: &mut Model, r: &mut Rng, more: bool, spread: u64) {
        let ascending = r.below(4) == 0;
        let n = match model.last() {
            Some(last) if more && ascending => last + 1 + r.below(9),
            _ => r.below(spread),
        };
        if !more {
            let n = model.range(n..).next().copied().unwrap_or(n);
            let entry = all.entry(n);
            let at = entry.as_ref().map_or(Err(0), |entry| entry.leaf().0.binary_search(&n));
            assert_eq!(at.is_ok(), model.remove(&n));
            let (Ok(at), Some(entry)) = (at, entry) else { return };
            let place = entry.place;
            if entry.leaf().0.len() > 1 {
                entry.edit(|few| few.0.remove(at));
            } else {
                assert_eq!(all.remove(place).map(|few| few.0), Some(vec![n]));
            }
            return;
        }
        let absent = model.insert(n);
        let (place, last) = (all.find(n), all.last_place());
        let Some(entry) = all.entry_at(place) else { return all.push(Few(vec![n])) };
        let (Err(at), len) = (entry.leaf().0.binary_search(&n), entry.leaf().0.len()) else {
            return assert!(!absent, "{n}");
        };
        assert!(absent);
        if at == len && place == last && len > 2 {
            all.push(Few(vec![n]));
        } else if let Some(upper) = entry.edit(|few| {
            few.0.insert(at, n);
            (few.0.len() > 5).then(|| Few(few.0.split_off(3)))
        }) {
            all.insert_after(place, upper);
        }
    }

    fn numbers(all: &Numbers) -> Vec<u64> {
        all.iter().flat_map(|few| &few.0).copied().collect()
    }

    fn check(all: &Numbers, model: &Model) {
        assert!(numbers(all).iter().eq(model));
        let mut held = all.tail.leaves().iter().map(Few::heap).sum::<usize>();
        let frame = |chunk: &Chunk<Few>| match chunk {
            Chunk::Own(leaves) => allocated::<Few>(leaves.capacity()),
            Chunk::Shared(leaves) => allocated::<Few>(leaves.capacity()) + ARC,
        };
        held += frame(&all.tail);
        let mut low = 0;
        let lows = all.before.iter().flat_map(|parts| parts.iter().map(|part| part.low));
        assert!(lows.is_sorted());
        for (i, part) in all.before.iter().flat_map(|parts| parts.iter()).enumerate() {
            let leaves = part.chunk.leaves();
            assert!((1..=CHUNK).contains(&leaves.len()));
            assert!(i == 0 || part.low > low && part.low <= leaves[0].key());
            low = *leaves[leaves.len() - 1].0.last().expect("never none");
            held += heap(leaves) + frame(&part.chunk);
        }
        assert!(all.before.is_none() || all.tail.leaves()[0].key() > low);
        assert_eq!(all.held, held);
        // Backwards, and from the middle.
        let mut back = Vec::new();
        let mut at = all.last().map(|_| all.last_place());
        while let Some(place) = at {
            back.push(all.get(place).expect("there").key());
            assert!(all.before(place).is_none_or(|before| all.after(before) == place));
            at = all.before(place);
        }
        back.reverse();
        assert!(all.iter().map(Few::key).eq(back));
        if let Some(middle) = model.iter().nth(model.len() / 2) {
            let place = all.find(*middle);
            assert_eq!(all.near(*middle).map(Few::key), all.get(place).map(Few::key));
            let from = all.iter_from(place).flat_map(|few| &few.0);
            assert!(from.skip_while(|n| *n < middle).eq(model.range(middle..)));
        }
    }

    #[test]
    fn frozen_copies_stay_as_they_were() {
        let rounds = if cfg!(miri) { 1_000 } else { 60_000 };
        let mut r = Rng::from_seed(7);
        let (mut all, mut model) = (Numbers::default(), Model::new());
        let mut frozen: Vec<(Numbers, Model)> = Vec::new();
        for round in 0..rounds {
            // Growing, shrinking to nothing, growing, shrinking to some.
            let adds = [8, 2, 7, 4][round * 4 / rounds];
            let more = r.below(10) < adds;
            change(&mut all, &mut model, &mut r, more, 4_000);
            if r.below(rounds as u64 / 60) == 0 {
                frozen.push((all.freeze(), model.clone()));
            }
            if r.below(rounds as u64 / 50) == 0 && !frozen.is_empty() {
                let any = r.below(frozen.len() as u64) as usize;
                let (copy, then) = frozen.swap_remove(any);
                check(&copy, &then);
            }
            if round % 100 == 0 {
                check(&all, &model);
            }
        }
        check(&all, &model);
        check(&all.clone(), &model);
        // The one that lives on may go first.
        drop(all);
        frozen.iter().for_each(|(copy, then)| check(copy, then));
    }

    #[test]
    fn a_change_copies_one_chunk_and_nothing_when_the_frozen_copy_is_gone() {
        let (mut all, mut model) = (Numbers::default(), Model::new());
        (0..900).for_each(|n| {
            all.push(Few(vec![n]));
            model.insert(n);
        });
        let own = |all: &Numbers| {
            let parts = all.before.iter().flat_map(|parts| parts.iter());
            parts.filter(|part| matches!(part.chunk, Chunk::Own(_))).count()
        };
        let at = |all: &Numbers, n| std::ptr::from_ref(all.get(all.find(n)).expect("there"));
        let copy = all.freeze();
        assert_eq!(own(&all), 0);
        assert_eq!(at(&all, 300), at(&copy, 300));
        all.edit(all.find(300), |few| few.0.push(300));
        assert_eq!(own(&all), 1);
        assert_ne!(at(&all, 300), at(&copy, 300));
        assert_eq!(at(&all, 600), at(&copy, 600));
        check(&copy, &model);
        let before = at(&copy, 600);
        drop(copy);
        all.edit(all.find(600), |few| few.0.push(600));
        assert_eq!(own(&all), 2);
        assert_eq!(at(&all, 600), before, "taken over");
    }

    #[test]
    fn another_thread_reads_a_frozen_copy_while_the_other_changes() {
        let mut r = Rng::from_seed(5);
        let (mut all, mut model) = (Numbers::default(), Model::new());
        for round in 0..if cfg!(miri) { 4 } else { 200 } {
            let (copy, then) = (all.freeze(), model.clone());
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    check(&copy, &then);
                    drop(copy);
                });
                for _ in 0..200 {
                    let more = r.below(10) < [7, 4][round % 2];
                    change(&mut all, &mut model, &mut r, more, 2_000);
                }
            });
        }
        check(&all, &model);
    }

    #[test]
    fn each_leaf_is_as_likely_as_any_other() {
        let mut r = Rng::from_seed(9);
        for n in [1, 4, 40] {
            let mut all = Numbers::default();
            (0..n).for_each(|n| all.push(Few(vec![n])));
            let mut counts = vec![0; n as usize];
            for _ in 0..n * 1000 {
                counts[all.random(|n| r.index(n)).expect("some").key() as usize] += 1;
            }
            assert!(counts.iter().all(|c| (800..1200).contains(c)), "{counts:?}");
        }
        assert!(Numbers::default().random(|n| r.index(n)).is_none());
    }
}
