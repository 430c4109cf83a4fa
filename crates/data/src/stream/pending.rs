//! A sorted map from IDs, made for lists of pending entries: they grow at the end and shrink near
//! the front.
//!
//! Chunks of up to [`CHUNK`] pairs in a queue. Full chunks stay full while entries are appended,
//! and every byte is accounted for, neither of which `BTreeMap` offers.

use std::collections::VecDeque;

use super::id::Id;

/// Pairs of a chunk at most.
const CHUNK: usize = 64;

type Chunk<V> = Vec<(Id, V)>;

/// See the module's text. No chunk is empty.
#[derive(Clone, Debug)]
pub(super) struct Sorted<V> {
    chunks: VecDeque<Chunk<V>>,
    len: usize,
    chunk_bytes: usize,
}

impl<V> Default for Sorted<V> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), len: 0, chunk_bytes: 0 }
    }
}

fn allocated<V>(chunk: &Chunk<V>) -> usize {
    super::allocated::<(Id, V)>(chunk.capacity())
}

impl<V> Sorted<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it holds from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.chunk_bytes + super::allocated::<Chunk<V>>(self.chunks.capacity())
    }

    /// Counts the bytes anew, for a copy: it has other capacities.
    pub(super) fn recount(&mut self) {
        self.chunk_bytes = self.chunks.iter().map(allocated).sum();
    }

    /// The chunk that has `id`, or would.
    fn chunk_of(&self, id: Id) -> usize {
        // Appending is the usual case.
        match self.chunks.back().and_then(|chunk| chunk.first()) {
            Some((first, _)) if *first <= id => self.chunks.len() - 1,
            _ => self
                .chunks
                .partition_point(|chunk| chunk.first().is_some_and(|(first, _)| *first <= id))
                .saturating_sub(1),
        }
    }

    fn find(&self, id: Id) -> Option<(usize, usize)> {
        let c = self.chunk_of(id);
        let chunk = self.chunks.get(c)?;
        chunk.binary_search_by_key(&id, |(id, _)| *id).ok().map(|i| (c, i))
    }

    pub(super) fn get(&self, id: Id) -> Option<&V> {
        let (c, i) = self.find(id)?;
        Some(&self.chunks.get(c)?.get(i)?.1)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut V> {
        let (c, i) = self.find(id)?;
        Some(&mut self.chunks.get_mut(c)?.get_mut(i)?.1)
    }

    /// Adds a pair, replacing the value of an ID that is there.
    pub(super) fn insert(&mut self, id: Id, value: V) {
        let c = self.chunk_of(id);
        let Some(chunk) = self.chunks.get_mut(c) else {
            return self.push_chunk(0, id, value);
        };
        match chunk.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(i) => {
                if let Some(pair) = chunk.get_mut(i) {
                    pair.1 = value;
                }
            }
            Err(i) if chunk.len() < CHUNK => {
                self.chunk_bytes -= allocated(chunk);
                if chunk.len() == chunk.capacity() {
                    // Never beyond CHUNK: the rest would not be used. A copy may lack room for one.
                    chunk.reserve_exact(chunk.len().max(2).min(CHUNK - chunk.len()));
                }
                chunk.insert(i, (id, value));
                self.chunk_bytes += allocated(chunk);
                self.len += 1;
            }
            Err(i) if i == chunk.len() => self.push_chunk(c + 1, id, value),
            Err(_) => {
                self.chunk_bytes -= allocated(chunk);
                let rest = chunk.split_off(CHUNK / 2);
                self.chunk_bytes += allocated(chunk) + allocated(&rest);
                self.chunks.insert(c + 1, rest);
                self.insert(id, value);
            }
        }
    }

    fn push_chunk(&mut self, at: usize, id: Id, value: V) {
        let mut chunk = Vec::with_capacity(2);
        chunk.push((id, value));
        self.chunk_bytes += allocated(&chunk);
        self.chunks.insert(at, chunk);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<V> {
        let (c, i) = self.find(id)?;
        let chunk = self.chunks.get_mut(c)?;
        self.chunk_bytes -= allocated(chunk);
        let (_, value) = chunk.remove(i);
        if chunk.len() <= chunk.capacity() / 4 {
            chunk.shrink_to(chunk.len() * 2);
        }
        self.chunk_bytes += allocated(chunk);
        if chunk.is_empty() {
            self.chunk_bytes -= allocated(chunk);
            self.chunks.remove(c);
            if self.chunks.capacity() > 4 * self.chunks.len() + 16 {
                self.chunks.shrink_to(2 * self.chunks.len());
            }
        }
        self.len -= 1;
        Some(value)
    }

    /// The pairs with IDs from `start` on, in order.
    pub(super) fn iter_from(&self, start: Id) -> impl Iterator<Item = (Id, &V)> + Clone {
        let c = self.chunk_of(start);
        let skip = self.chunks.get(c).map_or(0, |chunk| chunk.partition_point(|p| p.0 < start));
        self.chunks.range(c.min(self.chunks.len())..).flatten().skip(skip).map(|(id, v)| (*id, v))
    }

    pub(super) fn first(&self) -> Option<Id> {
        self.chunks.front()?.first().map(|(id, _)| *id)
    }

    pub(super) fn last(&self) -> Option<Id> {
        self.chunks.back()?.last().map(|(id, _)| *id)
    }
}
