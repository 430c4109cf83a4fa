//! A sorted map from IDs, made for lists of pending entries: they grow at the end and shrink near
//! the front.
//!
//! Runs of up to [`RUN_MAX`] pairs in a sequence that frozen copies share. Full runs stay full while
//! entries are appended, and every byte is accounted for, neither of which `BTreeMap` offers.

use stdx::mem::allocated;

use std::fmt::Debug;

use crate::chunked::{Chunked, Entry, Leaf, LeafPosition};

use super::id::Id;

/// Pairs of a run at most.
const RUN_MAX: usize = 64;

type Run<V> = Vec<(Id, V)>;

impl<V: Clone + Debug> Leaf for Run<V> {
    type Key = Id;

    #[inline]
    fn key(&self) -> Id {
        self.first().map_or(Id::MIN, |(first, _)| *first)
    }

    #[inline]
    fn heap(&self) -> usize {
        allocated::<(Id, V)>(self.capacity())
    }
}

/// Where an ID is, or where it would be.
fn find<V>(run: &[(Id, V)], id: Id) -> Result<usize, usize> {
    run.binary_search_by_key(&id, |(id, _)| *id)
}

/// See the module's text. No run is empty.
#[derive(Clone, Debug)]
pub(super) struct Sorted<V: Clone + Debug> {
    runs: Chunked<Run<V>>,
    len: usize,
}

impl<V: Clone + Debug> Default for Sorted<V> {
    fn default() -> Self {
        Self { runs: Chunked::default(), len: 0 }
    }
}

impl<V: Clone + Debug> Sorted<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it holds from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.runs.bytes()
    }

    /// A copy for a snapshot, which shares runs.
    pub(super) fn freeze(&mut self) -> Self {
        Self { runs: self.runs.freeze(), len: self.len }
    }

    /// The run that has `id`, or would.
    fn run_of(&self, id: Id) -> LeafPosition {
        // To append is usual, and to take from the front.
        match (self.runs.first(), self.runs.last()) {
            (_, Some(last)) if last.key() <= id => self.runs.last_place(),
            (Some(first), _) if first.last().is_some_and(|(last, _)| *last >= id) => {
                LeafPosition::FIRST
            }
            _ => self.runs.find(id),
        }
    }

    /// The same, to be looked at and perhaps changed.
    fn entry(&mut self, id: Id) -> Option<Entry<'_, Run<V>>> {
        let place = self.run_of(id);
        self.runs.entry_at(place)
    }

    pub(super) fn get(&self, id: Id) -> Option<&V> {
        let run = self.runs.get(self.run_of(id))?;
        let i = find(run, id).ok()?;
        Some(&run[i].1)
    }

    /// Changes the value of an ID that is there.
    pub(super) fn edit<R>(&mut self, id: Id, f: impl FnOnce(&mut V) -> R) -> Option<R> {
        let entry = self.entry(id)?;
        let i = find(entry.leaf(), id).ok()?;
        Some(entry.edit(|run| f(&mut run[i].1)))
    }

    /// Adds a pair, replacing the value of an ID that is there.
    pub(super) fn insert(&mut self, id: Id, value: V) {
        let Some(entry) = self.entry(id) else {
            return self.push_run(LeafPosition::FIRST, id, value);
        };
        let (run, place) = (entry.leaf(), entry.place);
        match find(run, id) {
            Ok(i) => entry.edit(|run| run[i].1 = value),
            Err(i) if run.len() < RUN_MAX => {
                entry.edit(|run| {
                    if run.len() == run.capacity() {
                        // Never beyond RUN_MAX: the rest would not be used. A copy may lack room for one.
                        run.reserve_exact(run.len().max(2).min(RUN_MAX - run.len()));
                    }
                    run.insert(i, (id, value));
                });
                self.len += 1;
            }
            Err(i) if i == run.len() => self.push_run(place, id, value),
            Err(_) => {
                let rest = entry.edit(|run| run.split_off(RUN_MAX / 2));
                self.runs.insert_after(place, rest);
                self.insert(id, value);
            }
        }
    }

    fn push_run(&mut self, behind: LeafPosition, id: Id, value: V) {
        let mut run = Vec::with_capacity(2);
        run.push((id, value));
        self.runs.insert_after(behind, run);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<V> {
        let entry = self.entry(id)?;
        let (run, place) = (entry.leaf(), entry.place);
        let i = find(run, id).ok()?;
        let last = run.len() == 1;
        let (_, value) = entry.edit(|run| {
            let pair = run.remove(i);
            if run.len() <= run.capacity() / 4 {
                run.shrink_to(run.len() * 2);
            }
            pair
        });
        if last {
            self.runs.remove(place);
        }
        self.len -= 1;
        Some(value)
    }

    /// The pairs with IDs from `start` on, in order.
    pub(super) fn iter_from(&self, start: Id) -> impl Iterator<Item = (Id, &V)> + Clone {
        let place = self.run_of(start);
        let skip = self.runs.get(place).map_or(0, |run| run.partition_point(|p| p.0 < start));
        self.runs.iter_from(place).flatten().skip(skip).map(|(id, v)| (*id, v))
    }

    pub(super) fn first(&self) -> Option<Id> {
        self.runs.first()?.first().map(|(id, _)| *id)
    }

    pub(super) fn last(&self) -> Option<Id> {
        self.runs.last()?.last().map(|(id, _)| *id)
    }
}
