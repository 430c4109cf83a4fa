//! A block of a big set's integers: sorted, each kept as its distance from the block's base in
//! as few bytes as the widest of them needs.
//!
//! Members that lie near each other (identifiers, timestamps) so take two bytes each instead of
//! eight; the set stays in value order, so blocks of neighbours are the rule.

use stdx::mem::size_class;

use crate::chunked::Leaf;

/// Members a block holds before it is split: small enough that shifting half of them costs about
/// as much as the cache misses of finding the place.
pub(super) const BLOCK_MAX: usize = 512;

/// Distances from the base, ascending, none twice.
#[derive(Clone, Debug)]
enum Offsets {
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

/// Evaluates an expression for the vector whatever its width.
macro_rules! each_width {
    ($offsets:expr, $v:ident => $body:expr) => {
        match $offsets {
            Offsets::Two($v) => $body,
            Offsets::Four($v) => $body,
            Offsets::Eight($v) => $body,
        }
    };
}

/// See the module's text. Never empty while it is part of a set.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The lowest value that can be kept: that of the first member when the block was made, or of
    /// a lower one that came later.
    base: i64,
    offsets: Offsets,
}

/// The distance from `base` up to `v`, which is not below it.
#[inline]
fn distance(base: i64, v: i64) -> u64 {
    (v as u64).wrapping_sub(base as u64)
}

/// Makes room for one more at the cost of a size class, not of a doubling.
#[inline]
fn reserve<T>(v: &mut Vec<T>) {
    if v.len() == v.capacity() {
        let bytes = size_class((v.len() + 1).max(8) * size_of::<T>());
        v.reserve_exact(bytes / size_of::<T>() - v.len());
    }
}

impl Leaf for Block {
    type Key = i64;

    #[inline]
    fn key(&self) -> i64 {
        self.base
    }

    #[inline]
    fn heap(&self) -> usize {
        each_width!(&self.offsets, o => held(o))
    }
}

impl Block {
    /// A block of some values, ascending and at least one.
    pub(super) fn new(values: &[i64]) -> Self {
        let base = values[0];
        let range = distance(base, values[values.len() - 1]);
        let offsets = values.iter().map(|v| distance(base, *v));
        let offsets = if range <= u16::MAX.into() {
            Offsets::Two(exact(offsets.map(|o| o as u16)))
        } else if range <= u32::MAX.into() {
            Offsets::Four(exact(offsets.map(|o| o as u32)))
        } else {
            Offsets::Eight(exact(offsets))
        };
        Self { base, offsets }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        each_width!(&self.offsets, v => v.len())
    }

    /// Member `i`, if there are so many.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<i64> {
        let offset = match &self.offsets {
            Offsets::Two(o) => (*o.get(i)?).into(),
            Offsets::Four(o) => (*o.get(i)?).into(),
            Offsets::Eight(o) => *o.get(i)?,
        };
        Some((self.base as u64).wrapping_add(offset) as i64)
    }

    #[inline]
    pub(super) fn last(&self) -> i64 {
        self.get(self.len().saturating_sub(1)).unwrap_or(self.base)
    }

    /// Where `v` is, or where it would be.
    #[inline]
    pub(super) fn find(&self, v: i64) -> Result<usize, usize> {
        if v < self.base {
            return Err(0);
        }
        let offset = distance(self.base, v);
        match &self.offsets {
            Offsets::Two(o) => u16::try_from(offset).map_or(Err(o.len()), |x| o.binary_search(&x)),
            Offsets::Four(o) => u32::try_from(offset).map_or(Err(o.len()), |x| o.binary_search(&x)),
            Offsets::Eight(o) => o.binary_search(&offset),
        }
    }

    /// The first place from `from` on whose member is not below `v`; looks near `from` first, for
    /// walks that advance in small steps.
    #[inline]
    pub(super) fn seek(&self, from: usize, v: i64) -> usize {
        if v <= self.base {
            return from;
        }
        let offset = distance(self.base, v);
        match &self.offsets {
            Offsets::Two(o) => u16::try_from(offset).map_or(o.len(), |x| gallop(o, from, x)),
            Offsets::Four(o) => u32::try_from(offset).map_or(o.len(), |x| gallop(o, from, x)),
            Offsets::Eight(o) => gallop(o, from, offset),
        }
    }

    /// Puts `v` at the place that [`find`](Self::find) gave for it.
    pub(super) fn insert(&mut self, at: usize, v: i64) {
        if v < self.base {
            self.lower_base(v);
        }
        let offset = distance(self.base, v);
        self.widen(offset);
        match &mut self.offsets {
            Offsets::Two(o) => {
                reserve(o);
                o.insert(at, offset as u16);
            }
            Offsets::Four(o) => {
                reserve(o);
                o.insert(at, offset as u32);
            }
            Offsets::Eight(o) => {
                reserve(o);
                o.insert(at, offset);
            }
        }
    }

    /// Makes every distance up to `offset` expressible.
    fn widen(&mut self, offset: u64) {
        let wide = |v: &mut dyn Iterator<Item = u64>| -> Offsets {
            if offset <= u32::MAX.into() {
                Offsets::Four(v.map(|o| o as u32).collect())
            } else {
                Offsets::Eight(v.collect())
            }
        };
        self.offsets = match &self.offsets {
            Offsets::Two(o) if offset > u16::MAX.into() => wide(&mut o.iter().map(|o| (*o).into())),
            Offsets::Four(o) if offset > u32::MAX.into() => {
                wide(&mut o.iter().map(|o| (*o).into()))
            }
            _ => return,
        };
    }

    fn lower_base(&mut self, base: i64) {
        let by = distance(base, self.base);
        // Does not overflow: both ends are 64-bit integers.
        self.widen(distance(base, self.last()));
        match &mut self.offsets {
            Offsets::Two(o) => o.iter_mut().for_each(|o| *o += by as u16),
            Offsets::Four(o) => o.iter_mut().for_each(|o| *o += by as u32),
            Offsets::Eight(o) => o.iter_mut().for_each(|o| *o += by),
        }
        self.base = base;
    }

    /// Takes out member `at`.
    pub(super) fn remove(&mut self, at: usize) {
        each_width!(&mut self.offsets, o => {
            o.remove(at);
            if o.capacity() > 2 * o.len() + 16 {
                o.shrink_to(o.len() + o.len() / 4);
            }
        });
    }

    /// Moves the upper half into a block of its own.
    pub(super) fn split(&mut self) -> Self {
        let values: Vec<i64> = self.iter().collect();
        let (low, high) = values.split_at(values.len() / 2);
        *self = Self::new(low);
        Self::new(high)
    }

    /// Joins the members of the block that follows this one.
    pub(super) fn join(&mut self, next: &Self) {
        let values: Vec<i64> = self.iter().chain(next.iter()).collect();
        *self = Self::new(&values);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).filter_map(|i| self.get(i))
    }
}

/// The first place from `from` on whose value is not below `x`.
#[inline]
fn gallop<T: Ord>(o: &[T], from: usize, x: T) -> usize {
    let below = |i: usize| o.get(i).is_some_and(|y| *y < x);
    if !below(from) {
        return from;
    }
    let (mut low, mut step) = (from, 1);
    while below(low + step) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(o.len());
    low + 1 + o[low + 1..high].partition_point(|y| *y < x)
}

#[inline]
fn held<T>(v: &Vec<T>) -> usize {
    size_class(v.capacity() * size_of::<T>())
}

/// Collects into a vector that fills its size class.
fn exact<T>(values: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let bytes = size_class(values.len() * size_of::<T>());
    let mut v = Vec::with_capacity(bytes / size_of::<T>());
    v.extend(values);
    v
}
