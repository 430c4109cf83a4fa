//! The integers of a big set: sorted blocks, found by the lowest value that each can keep.
//!
//! ```text
//!  base 1: 0 1 2 5 …  |  base 640: 0 3 4 …  |  base 1201: …      up to 512 distances of 2, 4 or 8 bytes each
//! ```
//!
//! Why not a hash table: value order makes neighbours alike, so that they are kept as small
//! differences (2.3 bytes for a dense set, 9 for random 64-bit integers, against about 48 in
//! Redis); intersections are merges; a scan cursor is a value. It has no worst case that a client
//! could provoke either.
//!
//! Invariants: no block is empty or longer than [`BLOCK_MAX`]; every member of a block is below the
//! base of the next.

use stdx::rng::Rng;

use super::block::{BLOCK_MAX, Block};
use crate::chunked::{Chunked, Iter, Leaf as _, LeafPosition};

/// Blocks that have become smaller than this are joined with a neighbour …
const BLOCK_MIN: usize = 64;
/// … if the two together have no more members than this.
const JOIN_MAX: usize = 384;

/// See the module's text.
#[derive(Clone, Default, Debug)]
pub struct Ints {
    blocks: Chunked<Block>,
    blocks_len: usize,
    len: usize,
}

impl Ints {
    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The set of some values, ascending, none twice.
    pub fn from_sorted(values: &[i64]) -> Self {
        let mut ints = Self::default();
        values.chunks(BLOCK_MAX).for_each(|chunk| ints.push(Block::new(chunk)));
        ints
    }

    /// A copy for a snapshot, which shares blocks.
    pub(super) fn freeze(&mut self) -> Self {
        Self { blocks: self.blocks.freeze(), ..*self }
    }

    /// Adds a block behind all others.
    fn push(&mut self, block: Block) {
        self.len += block.len();
        self.blocks_len += 1;
        self.blocks.push(block);
    }

    /// Whether `v` is a member.
    #[inline]
    pub fn contains(&self, v: i64) -> bool {
        self.blocks.near(v).is_some_and(|b| b.find(v).is_ok())
    }

    /// Adds `v`. Returns whether it was absent.
    pub fn insert(&mut self, v: i64) -> bool {
        let Some(entry) = self.blocks.entry(v) else {
            self.push(Block::new(&[v]));
            return true;
        };
        let block = entry.leaf();
        let Err(at) = block.find(v) else { return false };
        if block.len() >= BLOCK_MAX {
            let (place, behind) = (entry.place, at == block.len());
            return self.insert_full(place, behind, v);
        }
        entry.edit(|block| block.insert(at, v));
        self.len += 1;
        true
    }

    /// Adds `v`, whose block is full, to it or `behind` it.
    #[cold]
    fn insert_full(&mut self, place: LeafPosition, behind: bool, v: i64) -> bool {
        if behind && place == self.blocks.last_place() {
            // Ascending values leave full blocks behind.
            self.push(Block::new(&[v]));
            return true;
        }
        if let Some(upper) = self.blocks.edit(place, Block::split) {
            self.blocks.insert_after(place, upper);
            self.blocks_len += 1;
        }
        self.insert(v)
    }

    /// Takes `v` out. Returns whether it was present.
    pub fn remove(&mut self, v: i64) -> bool {
        let Some(entry) = self.blocks.entry(v) else { return false };
        let (block, place) = (entry.leaf(), entry.place);
        let Ok(at) = block.find(v) else { return false };
        let left = block.len() - 1;
        if left == 0 {
            self.drop_block(place);
        } else {
            entry.edit(|block| block.remove(at));
            if left < BLOCK_MIN {
                self.join(place);
            }
        }
        self.len -= 1;
        true
    }

    fn drop_block(&mut self, place: LeafPosition) {
        self.blocks.remove(place);
        self.blocks_len -= 1;
    }

    /// Joins a block with the next or the previous one if both together are small.
    fn join(&mut self, place: LeafPosition) {
        let size = |place: LeafPosition| self.blocks.get(place).map_or(BLOCK_MAX, Block::len);
        let few = |low: &LeafPosition| size(*low) + size(self.blocks.after(*low)) <= JOIN_MAX;
        let before = self.blocks.before(place).filter(few);
        let Some(low) = Some(place).filter(few).or(before) else { return };
        let behind = self.blocks.after(low);
        if let Some(next) = self.blocks.get(behind).cloned() {
            self.blocks.edit(low, |block| block.join(&next));
            self.drop_block(behind);
        }
    }

    /// The highest member.
    pub fn last(&self) -> Option<i64> {
        self.blocks.last().map(Block::last)
    }

    /// A member, every one with the same chance; none of an empty set.
    pub fn random(&self, rng: &mut Rng) -> Option<i64> {
        loop {
            // A place among `BLOCK_MAX` in any block; it counts when there is a member.
            let block = self.blocks.random(|n| rng.index(n))?;
            if let Some(v) = block.get(rng.index(BLOCK_MAX)) {
                return Some(v);
            }
        }
    }

    /// A walk over all members in ascending order.
    #[inline]
    pub fn walk(&self) -> Walk<'_> {
        self.walk_blocks(LeafPosition::FIRST)
    }

    /// A walk over the members that are not below `v`.
    pub fn walk_from(&self, v: i64) -> Walk<'_> {
        let mut walk = self.walk_blocks(self.blocks.find(v));
        walk.seek(v);
        walk
    }

    #[inline]
    fn walk_blocks(&self, place: LeafPosition) -> Walk<'_> {
        let mut blocks = self.blocks.iter_from(place);
        Walk { ints: self, block: blocks.next(), blocks, at: 0 }
    }

    /// Bytes held from the allocator.
    pub fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    /// Allocations.
    pub fn allocations(&self) -> usize {
        self.blocks_len + 2
    }
}

/// A walk in ascending order, which can skip ahead.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    ints: &'a Ints,
    block: Option<&'a Block>,
    /// The blocks behind it.
    blocks: Iter<'a, Block>,
    at: usize,
}

impl Walk<'_> {
    /// Skips what is below `v`.
    #[inline]
    pub fn seek(&mut self, v: i64) {
        let Some(block) = self.block else { return };
        if block.last() >= v {
            self.at = block.seek(self.at, v);
            return;
        }
        // Mostly it is the next block.
        if self.blocks.near().get(1).is_some_and(|after| after.key() > v) {
            self.enter();
        } else {
            self.blocks = self.ints.blocks.iter_from(self.ints.blocks.find(v));
            self.enter();
        }
        let Some(block) = self.block else { return };
        self.at = block.seek(0, v);
        if self.at == block.len() {
            self.enter();
        }
    }

    /// Goes on to the next block.
    #[inline]
    fn enter(&mut self) {
        (self.block, self.at) = (self.blocks.next(), 0);
    }
}

impl Iterator for Walk<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        let block = self.block?;
        let v = block.get(self.at)?;
        self.at += 1;
        if self.at >= block.len() {
            self.enter();
        }
        Some(v)
    }
}
