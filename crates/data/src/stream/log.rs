//! The entries of a stream, in nodes, in order.
//!
//! Invariants: the first and the last node have entries. A node in between that lost its last
//! entry leaves its place behind (a removal from the middle would move all that follow), until
//! half of the places are empty. `bytes` is what all of it holds from the allocator.

use std::collections::VecDeque;

use super::id::Id;
use super::node::{EveryOther, Fields, Found, Node};

/// Longest sum of the texts of an entry, and longest node, in bytes: Redis's limit.
pub const BYTES_MAX: usize = 1 << 30;

/// Up to where a node is filled: `stream-node-max-bytes` and `stream-node-max-entries`, of which 0
/// means no limit.
#[derive(Clone, Copy, Debug)]
pub struct NodeLimits {
    /// Bytes, as Redis counts them.
    pub bytes: usize,
    /// Entries, deleted ones included.
    pub entries: usize,
}

/// What trimming leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// So many entries, the last ones.
    MaxLen(u64),
    /// The entries from this ID on.
    MinId(Id),
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Log {
    pub(super) nodes: VecDeque<Node>,
    /// Places of removed nodes.
    removed: usize,
    /// Bytes that the nodes hold, without the queue.
    pub(super) node_bytes: usize,
    /// The ID of the last entry of the last node, deleted or not.
    pub(super) tail: Id,
    pub(super) len: u64,
    /// The ID of the first entry; 0-0 when there is none.
    pub(super) first: Id,
    /// Where in the first node that entry begins, so that trimming does not go through all that was
    /// trimmed before; 0 when it is not known.
    pub(super) front: u32,
    /// The greatest ID ever added or set.
    pub last: Id,
    /// The greatest ID that XDEL removed.
    pub max_deleted: Id,
    /// Entries ever added.
    pub added: u64,
}

impl Clone for Log {
    fn clone(&self) -> Self {
        let nodes: VecDeque<Node> = self.nodes.iter().filter(|n| n.total > 0).cloned().collect();
        let node_bytes = nodes.iter().map(Node::allocated).sum();
        Self { nodes, removed: 0, node_bytes, ..*self }
    }
}

impl Log {
    /// Entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ID of the first entry; 0-0 when there is none.
    pub fn first(&self) -> Id {
        self.first
    }

    /// Nodes with entries.
    pub fn nodes(&self) -> usize {
        self.nodes.len() - self.removed
    }

    /// Bytes that it holds from the allocator.
    pub fn bytes(&self) -> usize {
        self.node_bytes + super::allocated::<Node>(self.nodes.capacity())
    }

    /// Adds an entry of fields and values in turn. The caller has seen to it that the ID is
    /// greater than [`last`](Self::last) and the texts are not longer than [`BYTES_MAX`] in all.
    pub fn append<'a, I>(&mut self, id: Id, texts: I, limits: NodeLimits)
    where
        I: ExactSizeIterator<Item = &'a [u8]> + Clone,
    {
        debug_assert!(id > self.last);
        let total_len = texts.clone().map(<[u8]>::len).sum::<usize>();
        let max = if limits.bytes == 0 { BYTES_MAX } else { limits.bytes.min(BYTES_MAX) };
        let fits = self.nodes.back().is_some_and(|node| {
            // A saved stream may end with a deleted entry whose ID comes again.
            id > self.tail
                && node.listpack_len() + total_len < max
                && (limits.entries == 0 || (node.total as usize) < limits.entries)
        });
        let mut before = 0;
        if fits {
            before = self.nodes.back().map_or(0, Node::allocated);
        } else {
            if let Some(full) = self.nodes.back_mut() {
                self.node_bytes -= full.allocated();
                full.seal();
                self.node_bytes += full.allocated();
            }
            self.nodes.push_back(Node::new(id, EveryOther(texts.clone())));
        }
        let last = fits.then_some(self.tail);
        if let Some(node) = self.nodes.back_mut() {
            node.push(last, id, texts, total_len);
            self.node_bytes = self.node_bytes - before + node.allocated();
        }
        self.tail = id;
        self.last = id;
        self.len += 1;
        self.added = self.added.saturating_add(1);
        if self.len == 1 {
            (self.first, self.front) = (id, 0);
        }
    }

    /// Entries of the node at `index`, all that are not deleted among them.
    #[inline]
    fn entries_of<'a>(&self, index: usize, node: &'a Node) -> super::node::Entries<'a> {
        if index == 0 { node.entries_from(self.front, self.first) } else { node.entries() }
    }

    /// The entries from `start` to `end`, both included, in order.
    pub fn range(&self, start: Id, end: Id) -> Range<'_> {
        let node = self.index_of(start);
        Range { log: self, node, entries: None, start, end }
    }

    /// The same from the last to the first.
    pub fn range_rev(&self, start: Id, end: Id) -> RangeRev<'_> {
        let node = self.nodes.partition_point(|node| node.first <= end);
        RangeRev { log: self, node, found: Vec::new(), start, end }
    }

    /// The last place whose node begins at or before `id`, or the first.
    fn index_of(&self, id: Id) -> usize {
        self.nodes.partition_point(|node| node.first <= id).saturating_sub(1)
    }

    /// The entry with this ID.
    pub fn get(&self, id: Id) -> Option<Entry<'_>> {
        self.range(id, id).next()
    }

    /// The ID of the last entry.
    pub fn last_entry(&self) -> Option<Id> {
        if self.nodes.back().is_some_and(|node| node.live == node.total) {
            return Some(self.tail);
        }
        self.range_rev(Id::MIN, Id::MAX).next().map(|e| e.id)
    }

    /// Deletes an entry. Returns whether it was there.
    pub fn delete(&mut self, id: Id) -> bool {
        let index = self.index_of(id);
        let Some(node) = self.nodes.get_mut(index) else { return false };
        let Some(found) = node.entries().find(|e| e.id >= id).filter(|e| e.id == id && !e.deleted)
        else {
            return false;
        };
        node.delete(found);
        self.len -= 1;
        if node.live == 0 {
            self.node_bytes -= node.allocated();
            node.clear();
            self.removed += 1;
            self.tidy();
        }
        if self.len == 0 {
            (self.first, self.front) = (Id::MIN, 0);
        } else if id == self.first {
            self.find_first();
        }
        self.max_deleted = self.max_deleted.max(id);
        true
    }

    /// Finds the first entry, which is the one that was or a later one.
    pub(super) fn find_first(&mut self) {
        let live = |(i, node)| self.entries_of(i, node).find(|e| !e.deleted).map(|e| (i, e));
        let found = self.nodes.iter().enumerate().find_map(live);
        (self.first, self.front) = match found {
            None => (Id::MIN, 0),
            Some((0, e)) => (e.id, e.start()),
            Some((_, e)) => (e.id, 0),
        };
    }

    /// Removes the first node.
    fn pop_first(&mut self) -> Option<Node> {
        self.front = 0;
        self.nodes.pop_front()
    }

    /// Restores the invariants of the places.
    fn tidy(&mut self) {
        while self.nodes.front().is_some_and(|node| node.total == 0) {
            self.pop_first();
            self.removed -= 1;
        }
        let mut popped = false;
        while self.nodes.back().is_some_and(|node| node.total == 0) {
            self.nodes.pop_back();
            self.removed -= 1;
            popped = true;
        }
        if popped {
            self.tail = self.nodes.back().and_then(Node::last_id).unwrap_or_default();
        }
        if self.removed > 16 && self.removed > self.nodes.len() / 2 {
            self.nodes.retain(|node| node.total > 0);
            self.removed = 0;
        }
        if self.nodes.capacity() > 4 * self.nodes.len() + 16 {
            self.nodes.shrink_to(2 * self.nodes.len());
        }
    }

    /// Removes entries from the front as Redis does: whole nodes as long as nothing but what is to
    /// go is in them and no more than `limit` entries go (0: any number), and then, unless
    /// `approximate`, entries of the next one. Returns how many went.
    pub fn trim(&mut self, trim: Trim, approximate: bool, limit: u64) -> u64 {
        self.trim_noting(trim, approximate, limit, None)
    }

    /// The same; the IDs of what went are added to `ids`.
    pub fn trim_noting(
        &mut self,
        trim: Trim,
        approximate: bool,
        limit: u64,
        mut ids: Option<&mut Vec<Id>>,
    ) -> u64 {
        let mut gone = 0;
        while let Some(node) = self.nodes.front() {
            if matches!(trim, Trim::MaxLen(max) if self.len <= max) {
                break;
            }
            let entries = u64::from(node.live);
            if limit != 0 && gone + entries > limit {
                break;
            }
            let whole = match trim {
                Trim::MaxLen(max) => self.len - entries >= max,
                Trim::MinId(min) => node.first < min && node.last_id().is_some_and(|id| id < min),
            };
            if whole {
                if let Some(ids) = &mut ids {
                    ids.extend(self.entries_of(0, node).filter(|e| !e.deleted).map(|e| e.id));
                }
                self.node_bytes -= node.allocated();
                self.pop_first();
                self.len -= entries;
                gone += entries;
                while self.nodes.front().is_some_and(|node| node.total == 0) {
                    self.pop_first();
                    self.removed -= 1;
                }
                continue;
            }
            if !approximate {
                gone += self.trim_front(trim, ids.take());
            }
            break;
        }
        self.tidy();
        if self.len == 0 {
            (self.first, self.front) = (Id::MIN, 0);
        } else if gone > 0 {
            self.find_first();
        }
        gone
    }

    /// Marks entries of the first node.
    fn trim_front(&mut self, trim: Trim, ids: Option<&mut Vec<Id>>) -> u64 {
        let (front, first) = (self.front, self.first);
        let Some(node) = self.nodes.front_mut() else { return 0 };
        let excess = match trim {
            Trim::MaxLen(max) => self.len.saturating_sub(max),
            Trim::MinId(_) => u64::MAX,
        };
        let doomed: Vec<Found> = node
            .entries_from(front, first)
            .take_while(|e| !matches!(trim, Trim::MinId(min) if e.id >= min))
            .filter(|e| !e.deleted)
            .take(usize::try_from(excess).unwrap_or(usize::MAX))
            .collect();
        let n = doomed.len() as u64;
        if let Some(ids) = ids {
            ids.extend(doomed.iter().map(|found| found.id));
        }
        for found in doomed {
            node.delete(found);
        }
        self.len -= n;
        n
    }
}

/// An entry.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Its ID.
    pub id: Id,
    node: &'a Node,
    found: Found,
}

impl<'a> Entry<'a> {
    /// Its fields and values.
    pub fn fields(&self) -> Fields<'a> {
        self.node.fields(self.found)
    }
}

/// See [`Log::range`].
pub struct Range<'a> {
    log: &'a Log,
    node: usize,
    entries: Option<super::node::Entries<'a>>,
    start: Id,
    end: Id,
}

impl<'a> Iterator for Range<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let node = self.log.nodes.get(self.node)?;
            if node.first > self.end {
                return None;
            }
            let (log, index) = (self.log, self.node);
            let entries = self.entries.get_or_insert_with(|| log.entries_of(index, node));
            let start = self.start;
            match entries.find(|e| e.id >= start && !e.deleted) {
                Some(found) if found.id > self.end => return None,
                Some(found) => return Some(Entry { id: found.id, node, found }),
                None => {
                    self.entries = None;
                    self.node += 1;
                }
            }
        }
    }
}

/// See [`Log::range_rev`].
pub struct RangeRev<'a> {
    log: &'a Log,
    /// The node behind the one that `found` is of.
    node: usize,
    /// What is left of a node; nodes are read forwards only.
    found: Vec<Found>,
    start: Id,
    end: Id,
}

impl<'a> Iterator for RangeRev<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            if let Some(found) = self.found.pop() {
                let node = self.log.nodes.get(self.node)?;
                return (found.id >= self.start).then_some(Entry { id: found.id, node, found });
            }
            self.node = self.node.checked_sub(1)?;
            let node = self.log.nodes.get(self.node)?;
            if node.total == 0 {
                continue;
            }
            let (start, end) = (self.start, self.end);
            let within = self.log.entries_of(self.node, node).take_while(|e| e.id <= end);
            self.found.extend(within.filter(|e| e.id >= start && !e.deleted));
            if self.found.is_empty() && node.first < start {
                return None;
            }
        }
    }
}
