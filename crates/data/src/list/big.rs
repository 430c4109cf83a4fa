//! The structure of a list that does not fit into its entry; see the parent module.

use std::collections::VecDeque;

use stdx::mem::size_class;

use super::hot::{BYTES_MAX, Hot};
use super::node::{Node, SOLO_MIN, View};
use super::{Elem, End, Needle};
use crate::big::Value;
use crate::entry::Kind;
use crate::packed::{Item, START};

/// Nodes in a chunk, at most.
const CHUNK: usize = 64;
/// Neighbours are joined when one is smaller than this …
const SMALL: usize = BYTES_MAX / 4;
/// … and both together are not larger than this, in bytes of elements.
const JOINED_MAX: usize = BYTES_MAX / 4 * 3;

/// Some nodes in a row, at least one.
#[derive(Clone, Debug)]
struct Chunk {
    nodes: Vec<Node>,
    /// Elements in them.
    count: usize,
}

impl Chunk {
    fn of(node: Node) -> Self {
        Self { count: node.count as usize, nodes: vec![node] }
    }

    /// Bytes of the vector of nodes.
    fn frame(&self) -> usize {
        size_class(self.nodes.capacity() * size_of::<Node>())
    }
}

/// A big list. Only its first and last node may be hot; see the parent module.
#[derive(Debug)]
pub struct List {
    chunks: VecDeque<Chunk>,
    count: usize,
    /// Bytes of all elements in packed form.
    raw: usize,
    nodes: usize,
    /// Bytes of nodes and of the chunks' vectors.
    bytes: usize,
    quick: bool,
}

/// Where an element is: chunk, node, and its number within the node.
#[derive(Clone, Copy, Debug)]
struct Position {
    chunk: usize,
    node: usize,
    at: usize,
}

impl List {
    /// A list of a run's elements. `quick`: whether its name is `quicklist`.
    pub fn from_run(run: &[u8], quick: bool) -> Self {
        let mut list =
            Self { chunks: VecDeque::new(), count: 0, raw: 0, nodes: 0, bytes: 0, quick };
        let node = Node::from_run(run);
        if node.count > 0 {
            list.add_node(End::Tail, node);
        }
        list
    }

    /// Elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty list is not kept")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Bytes that a packed run of all elements would have, its count included.
    #[inline]
    pub fn run_len(&self) -> usize {
        START + self.raw
    }

    /// Whether its name is `quicklist`.
    #[inline]
    pub fn is_quick(&self) -> bool {
        self.quick
    }

    /// Chooses the name.
    pub fn set_quick(&mut self, quick: bool) {
        self.quick = quick;
    }

    /// Nodes.
    pub fn nodes_len(&self) -> usize {
        self.nodes
    }

    /// The elements in pieces of a few kilobytes, or of one long element.
    pub fn nodes(&self) -> impl Iterator<Item = View<'_>> {
        self.chunks.iter().flat_map(|c| &c.nodes).map(View)
    }

    /// All elements as a run, which must not be longer than one may be.
    pub fn to_run(&self) -> Vec<u8> {
        let mut run = Vec::with_capacity(self.run_len());
        run.extend_from_slice(&(self.count as u16).to_le_bytes());
        self.each(0, |elem| {
            match elem {
                Elem::Int(n) => Item::Int(n).encode(&mut run),
                Elem::Bytes(b) => Item::of(b).encode(&mut run),
                Elem::Shared(b) => Item::of(b).encode(&mut run),
            }
            true
        });
        run
    }

    fn node_mut(&mut self, chunk: usize, node: usize) -> &mut Node {
        &mut self.chunks[chunk].nodes[node]
    }

    /// Works on a node and keeps all sums right.
    fn edit<R>(&mut self, chunk: usize, node: usize, f: impl FnOnce(&mut Node) -> R) -> R {
        let n = self.node_mut(chunk, node);
        let (count, raw, bytes) = (n.count as usize, n.raw as usize, n.bytes());
        let r = f(n);
        let (count_now, raw_now, bytes_now) = (n.count as usize, n.raw as usize, n.bytes());
        self.count = self.count + count_now - count;
        self.raw = self.raw + raw_now - raw;
        self.bytes = self.bytes + bytes_now - bytes;
        let c = &mut self.chunks[chunk];
        c.count = c.count + count_now - count;
        r
    }

    /// Whether neither end of the list is in this node.
    fn is_inside(&self, chunk: usize, node: usize) -> bool {
        (chunk, node) != (0, 0)
            && (chunk + 1 != self.chunks.len() || node + 1 != self.chunks[chunk].nodes.len())
    }

    fn freeze(&mut self, chunk: usize, node: usize) {
        if self.is_inside(chunk, node) && self.chunks[chunk].nodes[node].is_hot() {
            self.edit(chunk, node, Node::freeze);
        }
    }

    /// Puts a node in front of number `at` of a chunk, which is cut in two when it is full.
    fn insert_node(&mut self, chunk: usize, at: usize, node: Node) {
        self.nodes += 1;
        self.count += node.count as usize;
        self.raw += node.raw as usize;
        self.bytes += node.bytes();
        let (mut chunk, mut at) = (chunk, at);
        if self.chunks[chunk].nodes.len() >= CHUNK {
            let c = &mut self.chunks[chunk];
            self.bytes -= c.frame();
            let nodes = c.nodes.split_off(CHUNK / 2);
            c.nodes.shrink_to_fit();
            let count = nodes.iter().map(|n| n.count as usize).sum();
            c.count -= count;
            let second = Chunk { nodes, count };
            self.bytes += c.frame() + second.frame();
            self.chunks.insert(chunk + 1, second);
            if at > CHUNK / 2 {
                (chunk, at) = (chunk + 1, at - CHUNK / 2);
            }
        }
        let c = &mut self.chunks[chunk];
        let frame = c.frame();
        c.count += node.count as usize;
        c.nodes.insert(at, node);
        self.bytes = self.bytes + c.frame() - frame;
    }

    /// Adds a node at one end; the one that was there until now is frozen.
    fn add_node(&mut self, end: End, node: Node) {
        let full = |c: Option<&Chunk>| c.is_none_or(|c| c.nodes.len() >= CHUNK);
        let (list_end, fill) = match end {
            End::Head => (self.chunks.front(), 0),
            End::Tail => (self.chunks.back(), self.chunks.len().saturating_sub(1)),
        };
        if full(list_end) {
            self.nodes += 1;
            self.count += node.count as usize;
            self.raw += node.raw as usize;
            self.bytes += node.bytes();
            let c = Chunk::of(node);
            self.bytes += c.frame();
            match end {
                End::Head => self.chunks.push_front(c),
                End::Tail => self.chunks.push_back(c),
            }
        } else {
            let at = match end {
                End::Head => 0,
                End::Tail => self.chunks[fill].nodes.len(),
            };
            self.insert_node(fill, at, node);
        }
        if self.nodes < 3 {
            return;
        }
        let second = match end {
            End::Head if self.chunks[0].nodes.len() > 1 => (0, 1),
            End::Head => (1, 0),
            End::Tail => {
                let last = self.chunks.len() - 1;
                match self.chunks[last].nodes.len() {
                    1 => (last - 1, self.chunks[last - 1].nodes.len() - 1),
                    n => (last, n - 2),
                }
            }
        };
        self.freeze(second.0, second.1);
    }

    /// Takes a node out, and its chunk when that leaves it empty.
    fn remove_node(&mut self, chunk: usize, node: usize) {
        let c = &mut self.chunks[chunk];
        let n = c.nodes.remove(node);
        c.count -= n.count as usize;
        self.nodes -= 1;
        self.count -= n.count as usize;
        self.raw -= n.raw as usize;
        self.bytes -= n.bytes();
        if c.nodes.is_empty() {
            self.bytes -= c.frame();
            self.chunks.remove(chunk);
        }
    }

    /// Joins a node with the next one of its chunk if that is worth it. Returns whether it did.
    fn join(&mut self, chunk: usize, node: usize) -> bool {
        let nodes = &self.chunks[chunk].nodes;
        let (Some(a), Some(b)) = (nodes.get(node), nodes.get(node + 1)) else {
            return false;
        };
        let (x, y) = (a.raw as usize, b.raw as usize);
        if a.is_solo() || b.is_solo() || x.min(y) >= SMALL || x + y > JOINED_MAX {
            return false;
        }
        let next = self.chunks[chunk].nodes.remove(node + 1);
        self.nodes -= 1;
        let c = &mut self.chunks[chunk];
        c.count -= next.count as usize;
        self.count -= next.count as usize;
        self.raw -= next.raw as usize;
        self.bytes -= next.bytes();
        self.edit(chunk, node, |n| n.absorb(next));
        true
    }

    /// Restores the invariants around a node that was edited.
    fn settle(&mut self, chunk: usize, node: usize) {
        let n = &self.chunks[chunk].nodes[node];
        if n.count == 0 {
            return self.remove_node(chunk, node);
        }
        if n.raw as usize > BYTES_MAX && n.count > 1 {
            let half = n.count as usize / 2;
            if let Some(second) = self.edit(chunk, node, |n| n.halve(half)) {
                let chunks = self.chunks.len();
                self.insert_node(chunk, node + 1, second);
                // The chunk may have been cut in two between or before them.
                let places = if chunks == self.chunks.len() {
                    [(chunk, node), (chunk, node + 1)]
                } else {
                    let cut = self.chunks[chunk].nodes.len();
                    let place = |i: usize| {
                        if i < cut { (chunk, i) } else { (chunk + 1, i - cut) }
                    };
                    [place(node), place(node + 1)]
                };
                places.into_iter().for_each(|(c, n)| self.freeze(c, n));
            }
            return;
        }
        let mut node = node;
        if (n.raw as usize) < SMALL {
            if node > 0 && self.join(chunk, node - 1) {
                node -= 1;
            } else {
                self.join(chunk, node);
            }
        }
        self.freeze(chunk, node);
    }

    /// Where element `index`, which exists, is.
    fn locate(&self, index: usize) -> Position {
        let (mut chunk, mut at);
        if index < self.count / 2 {
            (chunk, at) = (0, index);
            while at >= self.chunks[chunk].count {
                at -= self.chunks[chunk].count;
                chunk += 1;
            }
        } else {
            let mut back = self.count - index;
            chunk = self.chunks.len() - 1;
            while back > self.chunks[chunk].count {
                back -= self.chunks[chunk].count;
                chunk -= 1;
            }
            at = self.chunks[chunk].count - back;
        }
        let mut node = 0;
        for n in &self.chunks[chunk].nodes {
            if at < n.count as usize {
                break;
            }
            at -= n.count as usize;
            node += 1;
        }
        Position { chunk, node, at }
    }

    fn end_place(&self, end: End) -> (usize, usize) {
        match end {
            End::Head => (0, 0),
            End::Tail => {
                let last = self.chunks.len().saturating_sub(1);
                (last, self.chunks.get(last).map_or(0, |c| c.nodes.len().saturating_sub(1)))
            }
        }
    }

    /// Adds an element at one end; `encoded` is the same in packed form.
    pub fn push(&mut self, end: End, value: &[u8], encoded: &[u8]) {
        if value.len() > SOLO_MIN {
            return self.add_node(end, Node::solo(value));
        }
        let (mut chunk, mut node) = self.end_place(end);
        if self.chunks.is_empty() {
            self.add_node(end, Node::hot(Hot::new()));
        } else if !self.chunks[chunk].nodes[node].takes(encoded.len()) {
            if let Some(cold) = self.edit(chunk, node, |n| n.split_off(end)) {
                match end {
                    End::Head => self.insert_node(0, 1, cold),
                    End::Tail => self.insert_node(chunk, node, cold),
                }
            }
            (chunk, node) = self.end_place(end);
            if !self.chunks[chunk].nodes[node].takes(encoded.len()) {
                self.add_node(end, Node::hot(Hot::new()));
            }
        }
        (chunk, node) = self.end_place(end);
        self.edit(chunk, node, |n| n.push(end, encoded));
    }

    /// Takes the element at one end out and shows it to `f`.
    pub fn pop<R>(&mut self, end: End, f: impl FnOnce(Elem<'_>) -> R) -> Option<R> {
        if self.count == 0 {
            return None;
        }
        let (chunk, node) = self.end_place(end);
        let mut f = Some(f);
        let mut show = |elem: Elem<'_>| f.take().map(|f| f(elem));
        let r = self.edit(chunk, node, |n| {
            n.thaw();
            let mut r = None;
            let mut first = |elem: Elem<'_>| {
                r = show(elem);
                false
            };
            match end {
                End::Head => n.each(0, &mut first),
                End::Tail => n.each_back(0, &mut first),
            };
            n.cut(end, 1);
            r
        });
        if self.chunks[chunk].nodes[node].count == 0 {
            self.remove_node(chunk, node);
        }
        r
    }

    /// Puts an element in front of number `index`, which exists.
    pub fn insert(&mut self, index: usize, value: &[u8], encoded: &[u8]) {
        let Position { chunk, mut node, at } = self.locate(index);
        let solo = value.len() > SOLO_MIN;
        if !solo && !self.chunks[chunk].nodes[node].is_solo() {
            self.edit(chunk, node, |n| n.splice(at, 0, encoded, 1));
            return self.settle(chunk, node);
        }
        let new = if solo {
            Node::solo(value)
        } else {
            let mut n = Node::hot(Hot::new());
            n.push(End::Tail, encoded);
            n
        };
        let mut second = None;
        if at > 0 {
            second = self.edit(chunk, node, |n| n.halve(at));
            node += 1;
        }
        // The last one first, so that the place of the others stays known.
        if let Some(mut second) = second {
            second.freeze();
            self.insert_node(chunk, node, second);
            // The chunk may have been cut in two.
            let cut = self.chunks[chunk].nodes.len();
            if node <= cut {
                self.insert_node(chunk, node, new);
            } else {
                self.insert_node(chunk + 1, node - cut, new);
            }
        } else {
            self.insert_node(chunk, node, new);
        }
        let around = self.locate(index);
        self.freeze(around.chunk, around.node);
        for i in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
            if i < self.count {
                let p = self.locate(i);
                self.freeze(p.chunk, p.node);
            }
        }
    }

    /// Replaces element `index`, which exists.
    pub fn set(&mut self, index: usize, value: &[u8], encoded: &[u8]) {
        let Position { chunk, node, at } = self.locate(index);
        let was = &self.chunks[chunk].nodes[node];
        if value.len() > SOLO_MIN || was.is_solo() {
            self.insert(index, value, encoded);
            return self.remove(index + 1, 1);
        }
        self.edit(chunk, node, |n| n.splice(at, 1, encoded, 1));
        self.settle(chunk, node);
    }

    /// Removes `n` elements from number `index` on, as far as they exist.
    pub fn remove(&mut self, index: usize, n: usize) {
        let mut left = n.min(self.count.saturating_sub(index));
        while left > 0 {
            let Position { chunk, node, at } = self.locate(index);
            let c = &self.chunks[chunk];
            if node == 0 && at == 0 && c.count <= left {
                left -= c.count;
                self.remove_chunk(chunk);
                continue;
            }
            let count = c.nodes[node].count as usize;
            let here = left.min(count - at);
            left -= here;
            if here == count {
                self.remove_node(chunk, node);
                continue;
            }
            self.edit(chunk, node, |n| {
                if at == 0 {
                    n.cut(End::Head, here);
                } else if at + here == count {
                    n.cut(End::Tail, here);
                } else {
                    n.splice(at, here, &[], 0);
                }
            });
            self.settle(chunk, node);
        }
    }

    fn remove_chunk(&mut self, chunk: usize) {
        if let Some(c) = self.chunks.remove(chunk) {
            self.nodes -= c.nodes.len();
            self.count -= c.count;
            self.raw -= c.nodes.iter().map(|n| n.raw as usize).sum::<usize>();
            self.bytes -= c.frame() + c.nodes.iter().map(Node::bytes).sum::<usize>();
        }
    }

    /// Removes elements equal to the needle, at most `most`, beginning at one end. Returns how
    /// many.
    pub fn remove_equal(&mut self, needle: Needle<'_>, most: usize, from: End) -> usize {
        let mut left = most;
        let mut chunk = if from == End::Head { 0 } else { self.chunks.len() };
        loop {
            if from == End::Tail {
                let Some(before) = chunk.checked_sub(1) else { break };
                chunk = before;
            } else if chunk >= self.chunks.len() {
                break;
            }
            let (before, chunks) = (left, self.chunks.len());
            let nodes = self.chunks[chunk].nodes.len();
            let mut removed_nodes = 0;
            for i in 0..nodes {
                let node = if from == End::Head { i - removed_nodes } else { nodes - 1 - i };
                if left == 0 {
                    break;
                }
                left -= self.edit(chunk, node, |n| n.remove_equal(needle, left, from));
                if self.chunks[chunk].nodes[node].count == 0 {
                    self.remove_node(chunk, node);
                    removed_nodes += 1;
                }
            }
            if chunks == self.chunks.len() {
                if left < before {
                    self.tidy(chunk);
                }
                chunk += usize::from(from == End::Head);
            }
            if left == 0 {
                break;
            }
        }
        most - left
    }

    /// Joins what became small in a chunk, and freezes what was thawed.
    fn tidy(&mut self, chunk: usize) {
        let mut node = 0;
        while node < self.chunks[chunk].nodes.len() {
            if !self.join(chunk, node) {
                self.freeze(chunk, node);
                node += 1;
            }
        }
    }

    /// Element `index`.
    pub fn get<R>(&self, index: usize, f: impl FnOnce(Elem<'_>) -> R) -> Option<R> {
        let (mut f, mut r) = (Some(f), None);
        self.each(index, |elem| {
            r = f.take().map(|f| f(elem));
            false
        });
        r
    }

    /// Calls `f` with the elements from number `from` on until it returns false.
    pub fn each(&self, from: usize, mut f: impl FnMut(Elem<'_>) -> bool) {
        if from >= self.count {
            return;
        }
        let Position { chunk, node, mut at } = self.locate(from);
        let mut skip = node;
        for c in self.chunks.range(chunk..) {
            for n in c.nodes.iter().skip(skip) {
                if !n.each(at, &mut f) {
                    return;
                }
                at = 0;
            }
            skip = 0;
        }
    }

    /// The same from element `from` on towards the head.
    pub fn each_back(&self, from: usize, mut f: impl FnMut(Elem<'_>) -> bool) {
        if from >= self.count {
            return;
        }
        let Position { chunk, node, at } = self.locate(from);
        let mut upto = node + 1;
        let mut skip = self.chunks[chunk].nodes[node].count as usize - 1 - at;
        for c in self.chunks.range(..=chunk).rev() {
            for n in c.nodes[..upto.min(c.nodes.len())].iter().rev() {
                if !n.each_back(skip, &mut f) {
                    return;
                }
                skip = 0;
            }
            upto = usize::MAX;
        }
    }
}

impl Value for List {
    const KIND: Kind = Kind::List;

    fn bytes(&self) -> usize {
        self.bytes + size_class(self.chunks.capacity() * size_of::<Chunk>())
    }

    fn effort(&self) -> usize {
        self.nodes
    }

    fn encoding_name(&self) -> &'static str {
        if self.quick { "quicklist" } else { "listpack" }
    }

    fn duplicate(&self) -> Self {
        let chunks = self.chunks.clone();
        let bytes =
            chunks.iter().map(|c| c.frame() + c.nodes.iter().map(Node::bytes).sum::<usize>()).sum();
        Self { chunks, bytes, ..*self }
    }
}

#[cfg(test)]
impl List {
    /// Panics when a sum or an invariant is wrong.
    pub(super) fn check(&self) {
        let nodes = || self.chunks.iter().flat_map(|c| &c.nodes);
        assert_eq!(self.nodes, nodes().count());
        assert_eq!(self.count, nodes().map(|n| n.count as usize).sum::<usize>());
        assert_eq!(self.raw, nodes().map(|n| n.raw as usize).sum::<usize>());
        let frames: usize = self.chunks.iter().map(Chunk::frame).sum();
        assert_eq!(self.bytes, frames + nodes().map(Node::bytes).sum::<usize>());
        for c in &self.chunks {
            assert!(!c.nodes.is_empty() && c.nodes.len() <= CHUNK);
            assert_eq!(c.count, c.nodes.iter().map(|n| n.count as usize).sum::<usize>());
            assert!(c.nodes.iter().all(|n| n.count > 0));
        }
        for (i, n) in nodes().enumerate() {
            assert!(!n.is_hot() || i == 0 || i + 1 == self.nodes, "node {i} is hot");
        }
    }
}
