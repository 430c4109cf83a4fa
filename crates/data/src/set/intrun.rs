//! A small set of integers as a run inside the entry: ascending, all of one width, so that it is
//! searched by halving; the contents of Redis's intset.
//!
//! ```text
//!  | count, 2 bytes LE | value | value | …        2, 4 or 8 bytes each, little-endian
//! ```

use crate::packed::START;

/// See the module's text. Reading never panics, whatever the bytes.
#[derive(Clone, Copy, Debug)]
pub struct IntRun<'a> {
    values: &'a [u8],
    width: usize,
}

/// Bytes that every one of `values` fits in: 2, 4 or 8.
#[inline]
pub(super) fn width_of(v: i64) -> usize {
    if i16::try_from(v).is_ok() {
        2
    } else if i32::try_from(v).is_ok() {
        4
    } else {
        8
    }
}

/// A run of some values, ascending, none twice; at most as many as 16 bits count.
pub(super) fn encode(values: &[i64]) -> Vec<u8> {
    let ends = [values.first(), values.last()];
    let width = ends.into_iter().flatten().map(|v| width_of(*v)).max().unwrap_or(2);
    let mut run = Vec::with_capacity(START + width * values.len());
    run.extend_from_slice(&(values.len() as u16).to_le_bytes());
    for v in values {
        run.extend_from_slice(&v.to_le_bytes()[..width]);
    }
    run
}

impl<'a> IntRun<'a> {
    /// The run in `bytes`, its count included.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        let count = bytes.first_chunk().map_or(0, |c| usize::from(u16::from_le_bytes(*c)));
        let values = bytes.get(START..).unwrap_or(&[]);
        let width = match values.len().checked_div(count) {
            Some(8) => 8,
            Some(4) => 4,
            _ => 2,
        };
        Self { values, width }
    }

    /// Bytes of a value.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Member `i`, if there are so many.
    #[inline]
    pub fn get(&self, i: usize) -> Option<i64> {
        let b = self.values.get(i * self.width..)?;
        Some(match self.width {
            2 => i16::from_le_bytes(*b.first_chunk()?).into(),
            4 => i32::from_le_bytes(*b.first_chunk()?).into(),
            _ => i64::from_le_bytes(*b.first_chunk()?),
        })
    }

    /// The first place from `from` on whose member is not below `v`.
    #[inline]
    pub fn seek(&self, from: usize, v: i64) -> usize {
        let (mut low, mut high) = (from, self.len().max(from));
        while low < high {
            let mid = low.midpoint(high);
            if self.get(mid).is_some_and(|x| x < v) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        low
    }

    /// Where `v` is, or where it would be.
    #[inline]
    pub fn find(&self, v: i64) -> Result<usize, usize> {
        let at = self.seek(0, v);
        if self.get(at) == Some(v) { Ok(at) } else { Err(at) }
    }

    /// All members, ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = i64> + use<'a> {
        let run = *self;
        (0..run.len()).filter_map(move |i| run.get(i))
    }
}
