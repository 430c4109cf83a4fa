//! The entries of a stream, in nodes, in order.
//!
//! Invariant: every node has entries, and the last one ends with `tail`.

use crate::chunked::{Chunked, Iter, LeafPosition};

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

/// Which entries trimming keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// Keep the newest n entries.
    MaxLen(u64),
    /// Keep the entries from this ID on.
    MinId(Id),
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) nodes: Chunked<Node>,
    pub(super) nodes_len: usize,
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
        self.nodes_len
    }

    /// Bytes that it holds from the allocator.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
    }

    /// A copy for a snapshot, which shares nodes.
    pub(super) fn freeze(&mut self) -> Self {
        Self { nodes: self.nodes.freeze(), ..*self }
    }

    /// Adds an entry of fields and values in turn. The caller has seen to it that the ID is
    /// greater than [`last`](Self::last) and the texts are not longer than [`BYTES_MAX`] in all.
    pub fn append<'a, I>(&mut self, id: Id, texts: I, limits: NodeLimits)
    where
        I: ExactSizeIterator<Item = &'a [u8]> + Clone,
    {
        assert!(id > self.last);
        let total_len = texts.clone().map(<[u8]>::len).sum::<usize>();
        let max = if limits.bytes == 0 { BYTES_MAX } else { limits.bytes.min(BYTES_MAX) };
        let fits = self.nodes.last().is_some_and(|node| {
            // A saved stream may end with a deleted entry whose ID comes again.
            id > self.tail
                && node.listpack_len() + total_len < max
                && (limits.entries == 0 || (node.total as usize) < limits.entries)
        });
        if !fits {
            self.nodes.edit_own_last(Node::seal);
            self.add_node(Node::new(id, EveryOther(texts.clone())));
        }
        let last = fits.then_some(self.tail);
        self.nodes.edit_last(|node| node.push(last, id, texts, total_len));
        self.tail = id;
        self.last = id;
        self.len += 1;
        self.added = self.added.saturating_add(1);
        if self.len == 1 {
            (self.first, self.front) = (id, 0);
        }
    }

    pub(super) fn add_node(&mut self, node: Node) {
        self.nodes.push(node);
        self.nodes_len += 1;
    }

    /// Entries of the node at `place`, all that are not deleted among them.
    #[inline]
    fn entries_of<'a>(&self, place: LeafPosition, node: &'a Node) -> super::node::Entries<'a> {
        if place == LeafPosition::FIRST {
            node.entries_from(self.front, self.first)
        } else {
            node.entries()
        }
    }

    /// The entries from `start` to `end`, both included, in order.
    pub fn range(&self, start: Id, end: Id) -> Range<'_> {
        let place = self.nodes.find(start);
        let mut nodes = self.nodes.iter_from(place);
        let entries = nodes.next().filter(|node| node.first <= end);
        let entries = entries.map(|node| (node, self.entries_of(place, node)));
        Range { nodes, entries, start, end }
    }

    /// About how many entries that are: as many in each node as there are on average.
    pub fn about(&self, start: Id, end: Id) -> u64 {
        let nodes = self.nodes.about_between(self.nodes.find(start), self.nodes.find(end));
        let nodes = nodes.min(self.nodes_len) as u64;
        (u128::from(self.len) * u128::from(nodes) / self.nodes_len.max(1) as u128) as u64
    }

    /// The same from the last to the first.
    pub fn range_rev(&self, start: Id, end: Id) -> RangeRev<'_> {
        RangeRev { log: self, next: Some(self.nodes.find(end)), node: None, start, end }
    }

    /// The entry with this ID.
    pub fn get(&self, id: Id) -> Option<Entry<'_>> {
        self.range(id, id).next()
    }

    /// The ID of the last entry.
    pub fn last_entry(&self) -> Option<Id> {
        if self.nodes.last().is_some_and(|node| node.live == node.total) {
            return Some(self.tail);
        }
        self.range_rev(Id::MIN, Id::MAX).next().map(|e| e.id)
    }

    /// Deletes an entry. Returns whether it was there.
    pub fn delete(&mut self, id: Id) -> bool {
        let place = self.nodes.find(id);
        let Some(node) = self.nodes.get(place) else { return false };
        let Some(found) = node.entries().find(|e| e.id >= id).filter(|e| e.id == id && !e.deleted)
        else {
            return false;
        };
        self.len -= 1;
        if node.live == 1 {
            self.remove_node(place);
        } else {
            self.nodes.edit(place, |node| node.delete(found));
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
        let mut nodes = self.nodes.iter();
        let live = |mut entries: super::node::Entries<'_>| entries.find(|e| !e.deleted);
        let first = nodes.next().map(|node| self.entries_of(LeafPosition::FIRST, node));
        (self.first, self.front) = match first.and_then(live) {
            Some(e) => (e.id, e.start()),
            None => (nodes.find_map(|node| live(node.entries())).map_or(Id::MIN, |e| e.id), 0),
        };
    }

    pub(super) fn remove_node(&mut self, place: LeafPosition) {
        let last = place == self.nodes.last_place();
        if place == LeafPosition::FIRST {
            self.front = 0;
        }
        self.nodes.remove(place);
        self.nodes_len -= 1;
        if last {
            self.tail = self.nodes.last().and_then(Node::last_id).unwrap_or_default();
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
        while let Some(node) = self.nodes.first() {
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
                    let entries = self.entries_of(LeafPosition::FIRST, node);
                    ids.extend(entries.filter(|e| !e.deleted).map(|e| e.id));
                }
                self.remove_node(LeafPosition::FIRST);
                self.len -= entries;
                gone += entries;
                continue;
            }
            if !approximate {
                gone += self.trim_front(trim, ids.take());
            }
            break;
        }
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
        let Some(node) = self.nodes.first() else { return 0 };
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
        if n > 0 {
            let delete = |node: &mut Node| doomed.into_iter().for_each(|found| node.delete(found));
            self.nodes.edit(LeafPosition::FIRST, delete);
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
    nodes: Iter<'a, Node>,
    /// A node, and what is left of it.
    entries: Option<(&'a Node, super::node::Entries<'a>)>,
    start: Id,
    end: Id,
}

impl<'a> Iterator for Range<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let (node, entries) = self.entries.as_mut()?;
            let (node, start) = (*node, self.start);
            match entries.find(|e| e.id >= start && !e.deleted) {
                Some(found) if found.id > self.end => return None,
                Some(found) => return Some(Entry { id: found.id, node, found }),
                None => {
                    let next = self.nodes.next().filter(|node| node.first <= self.end);
                    self.entries = next.map(|node| (node, node.entries()));
                }
            }
        }
    }
}

/// See [`Log::range_rev`].
pub struct RangeRev<'a> {
    log: &'a Log,
    /// Where the next node is.
    next: Option<LeafPosition>,
    /// A node, and what is left of it; nodes are read forwards only.
    node: Option<(&'a Node, Vec<Found>)>,
    start: Id,
    end: Id,
}

impl<'a> Iterator for RangeRev<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            if let Some((node, left)) = &mut self.node {
                if let Some(found) = left.pop() {
                    return Some(Entry { id: found.id, node, found });
                }
                if node.first < self.start {
                    return None;
                }
            }
            let place = self.next?;
            self.next = self.log.nodes.before(place);
            let node = self.log.nodes.get(place)?;
            let (start, end) = (self.start, self.end);
            let mut left = self.node.take().map(|(_, left)| left).unwrap_or_default();
            let within = self.log.entries_of(place, node).take_while(|e| e.id <= end);
            left.extend(within.filter(|e| e.id >= start && !e.deleted));
            self.node = Some((node, left));
        }
    }
}
