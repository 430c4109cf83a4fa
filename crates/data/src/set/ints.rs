//! The integers of a big set: sorted blocks, and a directory of their lower bounds.
//!
//! ```text
//!  bounds  |     1 |   640 |  1201 | …     found by binary search; of a million members, 20 KB
//!  blocks  |   |   |   |   |   |   | …
//!             └ base 1: 0 1 2 5 …   up to 512 distances of 2, 4 or 8 bytes
//! ```
//!
//! Why not a hash table: value order makes neighbours alike, so that they are kept as small
//! differences (2.3 bytes for a dense set, 9 for random 64-bit integers, against about 48 in
//! Redis); intersections are merges; a scan cursor is a value. It has no worst case that a client
//! could provoke either.
//!
//! Invariants: no block is empty or longer than [`BLOCK_MAX`]; every member of block `i` but the
//! first is at least `bounds[i]`, and every member of a block is below the next bound.

use stdx::mem::size_class;
use stdx::rng::Rng;

use super::block::{BLOCK_MAX, Block};

/// Blocks that have become smaller than this are joined with a neighbour …
const BLOCK_MIN: usize = 64;
/// … if the two together have no more members than this.
const JOIN_MAX: usize = 384;

/// See the module's text.
#[derive(Default, Debug)]
pub struct Ints {
    bounds: Vec<i64>,
    blocks: Vec<Block>,
    len: usize,
    /// Bytes of all blocks' offsets.
    heap: usize,
}

impl Clone for Ints {
    fn clone(&self) -> Self {
        let blocks = self.blocks.clone();
        // The copies have no spare room, so they are smaller.
        let heap = blocks.iter().map(Block::heap).sum();
        Self { bounds: self.bounds.clone(), blocks, len: self.len, heap }
    }
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
        for chunk in values.chunks(BLOCK_MAX) {
            let block = Block::new(chunk);
            ints.heap += block.heap();
            ints.bounds.push(chunk[0]);
            ints.blocks.push(block);
        }
        ints.len = values.len();
        ints
    }

    /// The block in which `v` is or would be; 0 when there are none.
    #[inline]
    fn block_of(&self, v: i64) -> usize {
        // The first bound is no bound: lower ones may have come into the first block since.
        let others = self.bounds.get(1..).unwrap_or_default();
        others.partition_point(|b| *b <= v)
    }

    /// Whether `v` is a member.
    #[inline]
    pub fn contains(&self, v: i64) -> bool {
        self.blocks.get(self.block_of(v)).is_some_and(|b| b.find(v).is_ok())
    }

    /// Adds `v`. Returns whether it was absent.
    pub fn insert(&mut self, v: i64) -> bool {
        let mut i = self.block_of(v);
        let Some(block) = self.blocks.get(i) else {
            self.put_block(0, v, Block::new(&[v]));
            self.len = 1;
            return true;
        };
        let Err(mut at) = block.find(v) else { return false };
        if block.len() >= BLOCK_MAX {
            if at == block.len() && i + 1 == self.blocks.len() {
                // Ascending values leave full blocks behind.
                self.put_block(i + 1, v, Block::new(&[v]));
                self.len += 1;
                return true;
            }
            self.heap -= self.blocks[i].heap();
            let upper = self.blocks[i].split();
            self.heap += self.blocks[i].heap();
            let low = self.blocks[i].len();
            let bound = upper.get(0).unwrap_or(v);
            self.put_block(i + 1, bound, upper);
            if v >= bound {
                i += 1;
                at -= low;
            }
        }
        let block = &mut self.blocks[i];
        self.heap -= block.heap();
        block.insert(at, v);
        self.heap += block.heap();
        self.len += 1;
        true
    }

    fn put_block(&mut self, i: usize, bound: i64, block: Block) {
        self.heap += block.heap();
        self.bounds.insert(i, bound);
        self.blocks.insert(i, block);
    }

    fn drop_block(&mut self, i: usize) {
        self.heap -= self.blocks[i].heap();
        self.bounds.remove(i);
        self.blocks.remove(i);
    }

    /// Takes `v` out. Returns whether it was present.
    pub fn remove(&mut self, v: i64) -> bool {
        let i = self.block_of(v);
        let Some(block) = self.blocks.get_mut(i) else { return false };
        let Ok(at) = block.find(v) else { return false };
        if block.len() == 1 {
            self.drop_block(i);
        } else {
            self.heap -= block.heap();
            block.remove(at);
            self.heap += block.heap();
            if block.len() < BLOCK_MIN {
                self.join(i);
            }
        }
        self.len -= 1;
        if self.bounds.capacity() > 4 * self.bounds.len() + 16 {
            self.bounds.shrink_to(2 * self.bounds.len());
            self.blocks.shrink_to(2 * self.blocks.len());
        }
        true
    }

    /// Joins block `i` with the next or the previous one if both are small.
    fn join(&mut self, i: usize) {
        let size = |i: usize| self.blocks.get(i).map_or(BLOCK_MAX, Block::len);
        let low = if size(i) + size(i + 1) <= JOIN_MAX {
            i
        } else if i > 0 && size(i - 1) + size(i) <= JOIN_MAX {
            i - 1
        } else {
            return;
        };
        let next = self.blocks[low + 1].clone();
        self.drop_block(low + 1);
        self.heap -= self.blocks[low].heap();
        self.blocks[low].join(&next);
        self.heap += self.blocks[low].heap();
    }

    /// The highest member.
    pub fn last(&self) -> Option<i64> {
        self.blocks.last().map(Block::last)
    }

    /// A member, every one with the same chance; none of an empty set.
    pub fn random(&self, rng: &mut Rng) -> Option<i64> {
        if self.blocks.is_empty() {
            return None;
        }
        loop {
            // A place among `BLOCK_MAX` in any block; it counts when there is a member.
            let block = &self.blocks[rng.index(self.blocks.len())];
            if let Some(v) = block.get(rng.index(BLOCK_MAX)) {
                return Some(v);
            }
        }
    }

    /// A walk over all members in ascending order.
    #[inline]
    pub fn walk(&self) -> Walk<'_> {
        Walk { ints: self, block: 0, at: 0 }
    }

    /// A walk over the members that are not below `v`.
    pub fn walk_from(&self, v: i64) -> Walk<'_> {
        let mut walk = self.walk();
        walk.seek(v);
        walk
    }

    /// Bytes held from the allocator.
    pub fn bytes(&self) -> usize {
        let of = |n: usize| if n == 0 { 0 } else { size_class(n) };
        self.heap + of(self.bounds.capacity() * 8) + of(self.blocks.capacity() * size_of::<Block>())
    }

    /// Allocations.
    pub fn allocations(&self) -> usize {
        self.blocks.len() + 2
    }
}

/// A walk in ascending order, which can skip ahead.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    ints: &'a Ints,
    block: usize,
    at: usize,
}

impl Walk<'_> {
    /// Skips what is below `v`.
    #[inline]
    pub fn seek(&mut self, v: i64) {
        let ints = self.ints;
        let Some(block) = ints.blocks.get(self.block) else { return };
        if block.last() < v {
            let further = &ints.bounds[self.block + 1..];
            // Mostly it is the next block.
            let skip = if further.get(1).is_none_or(|b| *b > v) {
                1
            } else {
                further.partition_point(|b| *b <= v).max(1)
            };
            self.block += skip;
            self.at = 0;
            let Some(block) = ints.blocks.get(self.block) else { return };
            self.at = block.seek(0, v);
            if self.at == block.len() {
                self.block += 1;
                self.at = 0;
            }
            return;
        }
        self.at = block.seek(self.at, v);
    }
}

impl Iterator for Walk<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        let block = self.ints.blocks.get(self.block)?;
        let v = block.get(self.at)?;
        self.at += 1;
        if self.at >= block.len() {
            self.block += 1;
            self.at = 0;
        }
        Some(v)
    }
}
