//! Members in order of (score, member), with ranks: a B+-tree whose inner nodes know how many
//! members lie below each child.
//!
//! Scores lie in the nodes, so that a descent follows a member's pointer only where scores are
//! equal. An inner node keeps the first item of every child, exactly: after every change of a child
//! its entry is written anew. Hence "how many come before …" is one descent for everything that can be
//! decided by looking at an item, and all ranges of the commands are pairs of such ranks.
//!
//! Nodes are split in the middle, except at either end of the tree, where a full node stays full
//! and a new one begins: sets that are filled in order (times, counters) waste nothing. A node that
//! has become nearly empty is merged with a neighbour that has room.

use stdx::mem::size_class;

use super::member::Ref;

/// Items of a leaf: with its length 1,016 bytes, which is one size class.
const LEAF: usize = 63;
/// Children of an inner node: with its length 1,768 bytes, in a class of 1,792.
const FAN: usize = 44;

/// A member and its score, never NaN.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) score: f64,
    pub(super) member: Ref,
}

impl Item {
    /// Whether it comes before a score and member.
    #[inline]
    fn is_before(score: f64, member: &Ref, at: (f64, &[u8])) -> bool {
        score < at.0 || (score == at.0 && member.bytes() < at.1)
    }
}

struct Leaf {
    len: usize,
    scores: [f64; LEAF],
    members: [Ref; LEAF],
}

struct Inner {
    len: usize,
    scores: [f64; FAN],
    members: [Ref; FAN],
    counts: [usize; FAN],
    nodes: [Option<Node>; FAN],
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Its leaves are dropped after this.
        stdx::yield_point::reached();
    }
}

enum Node {
    Leaf(Box<Leaf>),
    Inner(Box<Inner>),
}

/// The first of `0..len` for which `before` does not hold.
#[inline]
fn partition(len: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut left) = (0, len);
    while left > 0 {
        let half = left / 2;
        if before(from + half) {
            from += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    from
}

/// How many of the items, which are in order, come before a score and member, or with `equal` are
/// that item.
#[inline]
fn place(scores: &[f64], members: &[Ref], at: (f64, &[u8]), equal: bool) -> usize {
    // All scores are compared: several at once, and without a branch to guess wrong.
    let lower: usize = scores.iter().map(|score| usize::from(*score < at.0)).sum();
    if scores.get(lower).is_none_or(|score| *score != at.0) {
        return lower;
    }
    let same = scores[lower..].partition_point(|score| *score == at.0);
    let before = |member: &Ref| {
        let bytes = member.bytes();
        bytes < at.1 || equal && bytes == at.1
    };
    lower + members[lower..lower + same].partition_point(before)
}

/// Hints the processor to load a slice, whose items are of eight bytes.
#[inline]
fn prefetch<T>(items: &[T]) {
    for line in items.chunks(8) {
        crate::table::prefetch(line.as_ptr().cast());
    }
}

impl Leaf {
    fn place(&self, at: (f64, &[u8])) -> usize {
        place(&self.scores[..self.len], &self.members[..self.len], at, false)
    }

    /// The place of an item that is there. Of equal scores the member is told by its address, so
    /// that none of the others has to be loaded.
    fn find(&self, item: Item) -> Option<usize> {
        let scores = &self.scores[..self.len];
        let lower: usize = scores.iter().map(|score| usize::from(*score < item.score)).sum();
        let same = scores[lower..].iter().take_while(|score| **score == item.score).count();
        let at = self.members[lower..lower + same].iter().position(|m| m.is(item.member))?;
        Some(lower + at)
    }

    /// Gives the item at `i` another score if it stays between its neighbours in the leaf.
    fn rescore(&mut self, i: usize, new: f64) -> bool {
        if i == 0 || i + 1 >= self.len {
            return false;
        }
        let at = (new, self.members[i].bytes());
        let fits = Item::is_before(self.scores[i - 1], &self.members[i - 1], at)
            && !Item::is_before(self.scores[i + 1], &self.members[i + 1], at);
        if fits {
            self.scores[i] = new;
        }
        fits
    }

    fn new() -> Box<Self> {
        Box::new(Self { len: 0, scores: [0.0; LEAF], members: [Ref::none(); LEAF] })
    }

    fn insert(&mut self, i: usize, item: Item) {
        self.scores.copy_within(i..self.len, i + 1);
        self.members.copy_within(i..self.len, i + 1);
        self.scores[i] = item.score;
        self.members[i] = item.member;
        self.len += 1;
    }

    /// Moves the items from `mid` on to the end of another leaf, which has room.
    fn give(&mut self, mid: usize, to: &mut Self) {
        let n = self.len - mid;
        to.scores[to.len..to.len + n].copy_from_slice(&self.scores[mid..self.len]);
        to.members[to.len..to.len + n].copy_from_slice(&self.members[mid..self.len]);
        to.len += n;
        self.len = mid;
    }
}

impl Inner {
    fn new() -> Box<Self> {
        Box::new(Self {
            len: 0,
            scores: [0.0; FAN],
            members: [Ref::none(); FAN],
            counts: [0; FAN],
            nodes: [const { None }; FAN],
        })
    }

    fn insert(&mut self, i: usize, node: Node) {
        let n = self.len;
        self.scores.copy_within(i..n, i + 1);
        self.members.copy_within(i..n, i + 1);
        self.counts.copy_within(i..n, i + 1);
        self.nodes[i..=n].rotate_right(1);
        self.counts[i] = node.count();
        self.nodes[i] = Some(node);
        self.len += 1;
        self.note_first(i);
    }

    fn remove(&mut self, i: usize) -> Option<Node> {
        let n = self.len;
        self.scores.copy_within(i + 1..n, i);
        self.members.copy_within(i + 1..n, i);
        self.counts.copy_within(i + 1..n, i);
        let node = self.nodes[i].take();
        self.nodes[i..n].rotate_left(1);
        self.len -= 1;
        node
    }

    fn give(&mut self, mid: usize, to: &mut Self) {
        for i in mid..self.len {
            to.scores[to.len] = self.scores[i];
            to.members[to.len] = self.members[i];
            to.counts[to.len] = self.counts[i];
            to.nodes[to.len] = self.nodes[i].take();
            to.len += 1;
        }
        self.len = mid;
    }

    fn note_first(&mut self, i: usize) {
        if let Some(first) = self.nodes[i].as_ref().and_then(Node::first) {
            self.scores[i] = first.score;
            self.members[i] = first.member;
        }
    }

    /// The child in which an item belongs; what a search there reads is being loaded already.
    #[inline]
    fn child(&self, at: (f64, &[u8])) -> usize {
        self.child_for(at).0
    }

    /// [`child`](Self::child), and whether the item would come before all that are there.
    #[inline]
    fn child_for(&self, at: (f64, &[u8])) -> (usize, bool) {
        let i = place(&self.scores[..self.len], &self.members[..self.len], at, true);
        let (before_all, i) = (i == 0, i.saturating_sub(1));
        if let Some(node) = &self.nodes[i] {
            node.prefetch();
        }
        (i, before_all)
    }

    /// The child with the item of this rank, and its rank there.
    #[inline]
    fn child_at(&self, mut rank: usize) -> (usize, usize) {
        let mut i = 0;
        // Eight at a time, as long as the one that is looked for comes behind all of them.
        while i + 8 < self.len {
            let eight: usize = self.counts[i..i + 8].iter().sum();
            if rank < eight {
                break;
            }
            rank -= eight;
            i += 8;
        }
        while i + 1 < self.len && rank >= self.counts[i] {
            rank -= self.counts[i];
            i += 1;
        }
        (i, rank)
    }

    /// Merges child `i` with the next one if both together leave room.
    fn merge(&mut self, i: usize) -> bool {
        if i + 1 >= self.len {
            return false;
        }
        let (left, right) = self.nodes.split_at_mut(i + 1);
        let merged = match (&mut left[i], &mut right[0]) {
            (Some(Node::Leaf(a)), Some(Node::Leaf(b))) if a.len + b.len <= LEAF * 3 / 4 => {
                b.give(0, a);
                true
            }
            (Some(Node::Inner(a)), Some(Node::Inner(b))) if a.len + b.len <= FAN * 3 / 4 => {
                b.give(0, a);
                true
            }
            _ => false,
        };
        if merged {
            self.counts[i] += self.counts[i + 1];
            self.remove(i + 1);
        }
        merged
    }
}

impl Node {
    fn count(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.len,
            Self::Inner(inner) => inner.counts[..inner.len].iter().sum(),
        }
    }

    fn first(&self) -> Option<Item> {
        let (len, scores, members): (_, &[f64], &[Ref]) = match self {
            Self::Leaf(l) => (l.len, &l.scores, &l.members),
            Self::Inner(n) => (n.len, &n.scores, &n.members),
        };
        (len > 0).then(|| Item { score: scores[0], member: members[0] })
    }

    #[inline]
    fn prefetch(&self) {
        match self {
            Self::Leaf(leaf) => {
                prefetch(&leaf.scores);
                prefetch(&leaf.members);
            }
            Self::Inner(inner) => {
                prefetch(&inner.scores);
                prefetch(&inner.counts);
            }
        }
    }

    fn is_sparse(&self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.len < LEAF / 4,
            Self::Inner(inner) => inner.len < FAN / 4,
        }
    }
}

/// At which ends of the tree a node lies.
#[derive(Clone, Copy)]
struct Ends {
    first: bool,
    last: bool,
}

/// The items to take out.
#[derive(Clone, Copy)]
enum Which {
    /// Up to this many from a rank on.
    Ranks(usize, usize),
    /// One item.
    Item(Item),
    /// One item, which gets another score, unless that leaves it where it is.
    Rescored(Item, f64),
}

/// See the module's text.
#[derive(Default)]
pub(super) struct Tree {
    root: Option<Node>,
    len: usize,
    leaves: usize,
    inners: usize,
}

impl Tree {
    /// Items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.leaves * size_class(size_of::<Leaf>()) + self.inners * size_class(size_of::<Inner>())
    }

    /// Adds an item that is not there.
    pub(super) fn insert(&mut self, item: Item) {
        self.len += 1;
        let Some(mut root) = self.root.take() else {
            self.leaves += 1;
            let mut leaf = Leaf::new();
            leaf.insert(0, item);
            self.root = Some(Node::Leaf(leaf));
            return;
        };
        let split = self.insert_below(&mut root, item, Ends { first: true, last: true });
        self.root = Some(match split {
            None => root,
            Some(right) => {
                self.inners += 1;
                let mut top = Inner::new();
                top.insert(0, root);
                top.insert(1, right);
                Node::Inner(top)
            }
        });
    }

    /// Returns the right part of a node that was split.
    fn insert_below(&mut self, node: &mut Node, item: Item, ends: Ends) -> Option<Node> {
        match node {
            Node::Leaf(leaf) => {
                let key = (item.score, item.member.bytes());
                let i = leaf.place(key);
                if leaf.len < LEAF {
                    leaf.insert(i, item);
                    return None;
                }
                self.leaves += 1;
                let mut right = Leaf::new();
                if i == LEAF && ends.last {
                    right.insert(0, item);
                } else if i == 0 && ends.first {
                    right.insert(0, item);
                    std::mem::swap(leaf, &mut right);
                } else {
                    leaf.give(LEAF / 2, &mut right);
                    if i <= leaf.len {
                        leaf.insert(i, item);
                    } else {
                        right.insert(i - leaf.len, item);
                    }
                }
                Some(Node::Leaf(right))
            }
            Node::Inner(inner) => {
                let (i, before_all) = inner.child_for((item.score, item.member.bytes()));
                let below =
                    Ends { first: ends.first && i == 0, last: ends.last && i + 1 == inner.len };
                let split = self.insert_below(inner.nodes[i].as_mut()?, item, below);
                inner.counts[i] += 1;
                if before_all {
                    inner.note_first(i);
                }
                let new = split?;
                inner.counts[i] -= new.count();
                if inner.len < FAN {
                    inner.insert(i + 1, new);
                    return None;
                }
                self.inners += 1;
                let mut right = Inner::new();
                if below.last {
                    right.insert(0, new);
                } else {
                    let mid = if below.first { 1 } else { FAN / 2 };
                    inner.give(mid, &mut right);
                    if i < mid {
                        inner.insert(i + 1, new);
                    } else {
                        right.insert(i + 1 - mid, new);
                    }
                }
                Some(Node::Inner(right))
            }
        }
    }

    /// Takes out an item that is there.
    pub(super) fn remove(&mut self, item: Item) {
        self.take(Which::Item(item), &mut |_| {});
    }

    /// Takes out up to `n` items from a rank on, as many as one leaf gives; the caller goes on
    /// until it has all.
    pub(super) fn remove_some(&mut self, from: usize, n: usize, f: &mut impl FnMut(Item)) -> usize {
        if from >= self.len || n == 0 {
            return 0;
        }
        self.take(Which::Ranks(from, n), f)
    }

    fn take(&mut self, which: Which, f: &mut impl FnMut(Item)) -> usize {
        let Some(mut root) = self.root.take() else {
            return 0;
        };
        let n = self.take_below(&mut root, which, f);
        self.len -= n;
        // A root of one child is one level too many.
        loop {
            match root {
                Node::Inner(mut inner) if inner.len == 1 => match inner.remove(0) {
                    Some(only) => {
                        self.inners -= 1;
                        root = only;
                    }
                    None => return n,
                },
                _ => break,
            }
        }
        if self.len > 0 {
            self.root = Some(root);
        } else {
            (self.leaves, self.inners) = (0, 0);
        }
        n
    }

    fn take_below(&mut self, node: &mut Node, which: Which, f: &mut impl FnMut(Item)) -> usize {
        match node {
            Node::Leaf(leaf) => {
                let (i, n) = match which {
                    Which::Ranks(from, n) => (from, n.min(leaf.len.saturating_sub(from))),
                    Which::Item(item) => leaf.find(item).map_or((0, 0), |i| (i, 1)),
                    Which::Rescored(item, new) => match leaf.find(item) {
                        Some(i) if !leaf.rescore(i, new) => (i, 1),
                        _ => (0, 0),
                    },
                };
                for k in i..i + n {
                    f(Item { score: leaf.scores[k], member: leaf.members[k] });
                }
                leaf.scores.copy_within(i + n..leaf.len, i);
                leaf.members.copy_within(i + n..leaf.len, i);
                leaf.len -= n;
                n
            }
            Node::Inner(inner) => {
                let (i, which) = match which {
                    Which::Ranks(from, n) => {
                        let (i, from) = inner.child_at(from);
                        (i, Which::Ranks(from, n))
                    }
                    Which::Item(item) | Which::Rescored(item, _) => {
                        (inner.child((item.score, item.member.bytes())), which)
                    }
                };
                let Some(child) = inner.nodes[i].as_mut() else {
                    return 0;
                };
                let n = self.take_below(child, which, f);
                if n == 0 {
                    return 0;
                }
                let sparse = child.is_sparse();
                let leaf = matches!(child, Node::Leaf(_));
                inner.counts[i] -= n;
                let gone = if inner.counts[i] == 0 {
                    // Whatever levels are below: an inner node empties together with its leaf.
                    inner.remove(i);
                    true
                } else {
                    inner.note_first(i);
                    sparse && (inner.merge(i) || i > 0 && inner.merge(i - 1))
                };
                if gone {
                    let kind = if leaf { &mut self.leaves } else { &mut self.inners };
                    *kind -= 1;
                }
                n
            }
        }
    }

    /// Gives an item that is there another score: where it lies, if it stays between its neighbours
    /// there, or else it is taken out. Returns whether it was, and has to be put in again.
    pub(super) fn rescore(&mut self, old: Item, new: f64) -> bool {
        self.take(Which::Rescored(old, new), &mut |_| {}) > 0
    }

    /// Hints the processor to load the leaf in which an item is, or would be.
    pub(super) fn prefetch(&self, score: f64, member: &[u8]) {
        let mut node = self.root.as_ref();
        while let Some(Node::Inner(inner)) = node {
            node = inner.nodes[inner.child((score, member))].as_ref();
        }
    }

    /// How many items have a score for which `before` holds; it must hold for none above one for which
    /// it does not. All scores of a node are looked at, as in [`place`].
    #[inline]
    pub(super) fn count_scores(&self, before: impl Fn(f64) -> bool) -> usize {
        let count = |scores: &[f64]| scores.iter().map(|score| usize::from(before(*score))).sum();
        let (mut node, mut rank) = (self.root.as_ref(), 0);
        loop {
            match node {
                None => return rank,
                Some(Node::Inner(inner)) => {
                    let i: usize = count(&inner.scores[..inner.len]);
                    let Some(i) = i.checked_sub(1) else {
                        return rank;
                    };
                    rank += inner.counts[..i].iter().sum::<usize>();
                    node = inner.nodes[i].as_ref();
                }
                Some(Node::Leaf(leaf)) => return rank + count(&leaf.scores[..leaf.len]),
            }
        }
    }

    /// How many items come before the first for which `before` does not hold; it must hold for
    /// none behind that.
    #[inline]
    pub(super) fn count_before(&self, before: impl Fn(f64, &Ref) -> bool) -> usize {
        let (mut node, mut rank) = (self.root.as_ref(), 0);
        loop {
            match node {
                None => return rank,
                Some(Node::Inner(inner)) => {
                    let i = partition(inner.len, |i| before(inner.scores[i], &inner.members[i]));
                    let Some(i) = i.checked_sub(1) else {
                        return rank;
                    };
                    rank += inner.counts[..i].iter().sum::<usize>();
                    node = inner.nodes[i].as_ref();
                }
                Some(Node::Leaf(leaf)) => {
                    return rank
                        + partition(leaf.len, |i| before(leaf.scores[i], &leaf.members[i]));
                }
            }
        }
    }

    /// The rank of an item that is there, or would be.
    pub(super) fn rank(&self, score: f64, member: &[u8]) -> usize {
        let (mut node, mut rank) = (self.root.as_ref(), 0);
        loop {
            match node {
                None => return rank,
                Some(Node::Inner(inner)) => {
                    let i = inner.child((score, member));
                    rank += inner.counts[..i].iter().sum::<usize>();
                    node = inner.nodes[i].as_ref();
                }
                Some(Node::Leaf(leaf)) => return rank + leaf.place((score, member)),
            }
        }
    }

    /// The leaf with the item of a rank, and its place there.
    fn leaf_at(&self, mut rank: usize) -> Option<(&Leaf, usize)> {
        let mut node = self.root.as_ref();
        loop {
            match node? {
                Node::Inner(inner) => {
                    let (i, below) = inner.child_at(rank);
                    rank = below;
                    node = inner.nodes[i].as_ref();
                }
                Node::Leaf(leaf) => return (rank < leaf.len).then_some((leaf, rank)),
            }
        }
    }

    /// Items from a rank on: upwards, or with `back` downwards.
    pub(super) fn iter(&self, rank: usize, back: bool) -> Iter<'_> {
        let mut iter = Iter { tree: self, rank, back, leaf: None };
        iter.leaf = iter.seek();
        iter
    }

    /// Panics unless everything is as it should be (for tests).
    #[cfg(test)]
    pub(super) fn check(&self) {
        let (mut leaves, mut inners, mut depths) = (0, 0, std::collections::BTreeSet::new());
        fn go(
            n: &Node,
            depth: usize,
            leaves: &mut usize,
            inners: &mut usize,
            depths: &mut std::collections::BTreeSet<usize>,
        ) {
            match n {
                Node::Leaf(l) => {
                    assert!(l.len > 0);
                    *leaves += 1;
                    depths.insert(depth);
                }
                Node::Inner(n) => {
                    *inners += 1;
                    assert!(n.len > 0 && n.nodes[n.len..].iter().all(Option::is_none));
                    for i in 0..n.len {
                        let child = n.nodes[i].as_ref().expect("a child");
                        let first = child.first().expect("not empty");
                        assert!(first.score == n.scores[i]);
                        assert_eq!(first.member.bytes(), n.members[i].bytes());
                        assert_eq!(child.count(), n.counts[i]);
                        go(child, depth + 1, leaves, inners, depths);
                    }
                }
            }
        }
        if let Some(root) = &self.root {
            go(root, 0, &mut leaves, &mut inners, &mut depths);
            assert_eq!(root.count(), self.len);
        }
        assert_eq!((leaves, inners), (self.leaves, self.inners));
        assert!(depths.len() <= 1);
    }
}

/// Items ahead whose members are loaded while one is used.
const AHEAD: usize = 10;

/// See [`Tree::iter`]. Crossing from leaf to leaf costs a descent.
pub(super) struct Iter<'a> {
    tree: &'a Tree,
    /// The rank of the next item.
    rank: usize,
    back: bool,
    leaf: Option<(&'a Leaf, usize)>,
}

impl<'a> Iter<'a> {
    fn seek(&self) -> Option<(&'a Leaf, usize)> {
        let (leaf, i) = self.tree.leaf_at(self.rank)?;
        let (from, to) = if self.back { (i.saturating_sub(AHEAD), i) } else { (i, i + AHEAD) };
        for member in &leaf.members[from..to.min(leaf.len)] {
            member.prefetch();
        }
        Some((leaf, i))
    }
}

impl Iterator for Iter<'_> {
    type Item = Item;

    #[inline]
    fn next(&mut self) -> Option<Item> {
        let (leaf, i) = self.leaf?;
        let item = Item { score: leaf.scores[i], member: leaf.members[i] };
        if self.back {
            if let Some(ahead) = i.checked_sub(AHEAD) {
                leaf.members[ahead].prefetch();
            }
            self.leaf = match self.rank.checked_sub(1) {
                None => None,
                Some(rank) => {
                    self.rank = rank;
                    if i > 0 { Some((leaf, i - 1)) } else { self.seek() }
                }
            };
        } else {
            if let Some(ahead) = leaf.members.get(i + AHEAD) {
                ahead.prefetch();
            }
            self.rank += 1;
            self.leaf = if i + 1 < leaf.len { Some((leaf, i + 1)) } else { self.seek() };
        }
        Some(item)
    }
}
