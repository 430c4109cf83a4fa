//! A log as it is saved and loaded: node by node, deleted entries included, since a node is filled
//! up to a number of entries that counts them.

use super::id::Id;
use super::log::Log;
use super::node::{EveryOther, Fields, Found, Node};

/// A node to be saved.
#[derive(Clone, Copy)]
pub struct NodeView<'a>(&'a Node);

/// An entry of it.
#[derive(Clone, Copy)]
pub struct SavedEntry<'a> {
    /// Its ID.
    pub id: Id,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Whether it has the fields of the node's first entry.
    pub same_fields: bool,
    node: &'a Node,
    found: Found,
}

impl<'a> SavedEntry<'a> {
    /// Its fields and values.
    pub fn fields(&self) -> Fields<'a> {
        self.node.fields(self.found)
    }
}

impl<'a> NodeView<'a> {
    /// Entries that are not deleted.
    pub fn live(&self) -> u32 {
        self.0.live
    }

    /// All entries.
    pub fn total(&self) -> u32 {
        self.0.total
    }

    /// The entries in order.
    pub fn entries(&self) -> impl Iterator<Item = SavedEntry<'a>> + use<'a> {
        let node = self.0;
        let mut first = true;
        node.entries().map(move |found| {
            // The first entry's fields are the node's by definition.
            let same_fields = std::mem::take(&mut first) || !found.own;
            SavedEntry { id: found.id, deleted: found.deleted, same_fields, node, found }
        })
    }
}

impl Log {
    /// The nodes in order.
    pub fn saved_nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.nodes.iter().filter(|node| node.live > 0).map(NodeView)
    }

    /// Adds an entry that was saved, of fields and values in turn: to a new node with `begin`, as
    /// the first entry of a log is in any case. Returns false, and does nothing, if its ID is not
    /// greater than that of the entry before or its texts are too long. After the last one comes
    /// [`loaded`](Self::loaded).
    pub fn load<'a, I>(&mut self, id: Id, texts: I, begin: bool, deleted: bool) -> bool
    where
        I: ExactSizeIterator<Item = &'a [u8]> + Clone,
    {
        let total_len: usize = texts.clone().map(<[u8]>::len).sum();
        if total_len > super::BYTES_MAX || id == Id::MIN {
            return false;
        }
        let behind = self.nodes.last().is_none() || id > self.tail;
        // XSETID may have gone back behind deleted entries, but never behind others.
        match deleted {
            true if !behind => return true,
            false if self.len > 0 && id <= self.last => return false,
            _ => {}
        }
        let begin = begin || self.nodes.last().is_none() || !behind;
        if begin {
            self.end_node();
            self.add_node(Node::new(id, EveryOther(texts.clone())));
        }
        let last = (!begin).then_some(self.tail);
        self.nodes.edit_last(|node| {
            let start = node.push(last, id, texts, total_len);
            if deleted {
                node.mark_deleted(start);
            }
        });
        self.tail = id;
        if !deleted {
            self.last = id;
            self.len += 1;
        }
        true
    }

    /// Ends the last node: one without entries goes.
    fn end_node(&mut self) {
        if self.nodes.last().is_some_and(|node| node.live == 0) {
            self.remove_node(self.nodes.last_place());
        } else {
            self.nodes.edit_own_last(Node::seal);
        }
    }

    /// Ends loading: the log is ready for use, once the caller has set `last` (which is that of the
    /// last entry now), `max_deleted` and `added`.
    pub fn loaded(&mut self) {
        self.end_node();
        self.tail = self.nodes.last().and_then(Node::last_id).unwrap_or_default();
        self.front = 0;
        self.find_first();
    }
}
