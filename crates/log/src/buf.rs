//! Large buffers that are used again.
//!
//! A fresh buffer of ten megabytes costs 2,560 page faults, as much as filling it. A [`Buf`] goes
//! back to its pool when its last reader lets go of it. It begins at a multiple of [`ALIGN`] in
//! memory, so that the disk can take it as it is, past the page cache.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Alignment of a buffer, and of what is written to a disk directly: a page, and no disk's block is
/// larger.
pub const ALIGN: usize = 4096;

/// Smaller ones are the allocator's business.
const POOLED_MIN: usize = 256 << 10;
/// Buffers that are kept free.
const KEPT: usize = 4;
/// Bytes of buffers that requests arrive in and that are kept free …
const SPARE_BYTES: usize = 32 << 20;
/// … and how many.
const SPARE: usize = 32;

/// Where buffers wait to be used again.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Vec<u8>>>,
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Aligned bytes.
#[derive(Debug)]
pub struct Buf {
    bytes: Vec<u8>,
    offset: usize,
    pool: Arc<Pool>,
}

impl Pool {
    /// A buffer of at least `len` bytes, whose content is anything.
    pub fn get(self: &Arc<Self>, len: usize) -> Buf {
        let needed = len + ALIGN;
        let pooled = (needed >= POOLED_MIN)
            .then(|| {
                let mut free = self.free.lock();
                // The tightest fit, but none that would waste most of itself.
                let best = (0..free.len())
                    .filter(|i| (needed..=needed.saturating_mul(4)).contains(&free[*i].len()))
                    .min_by_key(|i| free[*i].len())?;
                Some(free.swap_remove(best))
            })
            .flatten();
        // Sizes are rounded up, so that the next group that is a little larger fits, too.
        let bytes = pooled.unwrap_or_else(|| {
            vec![0; if needed < POOLED_MIN { needed } else { needed.next_multiple_of(1 << 20) }]
        });
        let offset = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        Buf { bytes, offset, pool: Arc::clone(self) }
    }

    /// An empty vector with at least this capacity that was lent before, if there is one.
    pub fn spare(&self, capacity: usize) -> Option<Vec<u8>> {
        let mut spare = self.spare.lock();
        let fits = capacity..=capacity.saturating_mul(4);
        let at = spare.iter().rposition(|v| fits.contains(&v.capacity()))?;
        Some(spare.swap_remove(at))
    }

    /// Bytes whose vector comes back as a spare one.
    pub fn lend(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { bytes, pool: Arc::clone(self) })
    }

    /// Frees what is not in use.
    pub fn clear(&self) {
        self.free.lock().clear();
        self.spare.lock().clear();
    }
}

struct Lent {
    bytes: Vec<u8>,
    pool: Arc<Pool>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let mut spare = self.pool.spare.lock();
        let sum: usize = spare.iter().map(Vec::capacity).sum();
        if spare.len() < SPARE && sum + bytes.capacity() <= SPARE_BYTES {
            spare.push(bytes);
        }
    }
}

impl Buf {
    /// All of it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.offset..]
    }

    /// What it takes of memory.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.offset..]
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        if self.bytes.len() >= POOLED_MIN {
            let mut free = self.pool.free.lock();
            if free.len() < KEPT {
                free.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_and_come_back() {
        let pool = Arc::new(Pool::default());
        let mut vector = Vec::with_capacity(1000);
        vector.extend_from_slice(b"abc");
        let at = vector.as_ptr();
        let lent = pool.lend(vector);
        let part = lent.slice(1..);
        drop(lent);
        assert!(pool.spare(500).is_none() && part == "bc");
        drop(part);
        assert!(pool.spare(1001).is_none() && pool.spare(200).is_none());
        let back = pool.spare(500).expect("it is back");
        assert!(back.is_empty() && back.as_ptr() == at && pool.spare(500).is_none());
        drop(pool.lend(Vec::with_capacity(SPARE_BYTES + 1)));
        (0..SPARE + 1).for_each(|_| pool.spare.lock().push(Vec::with_capacity(1)));
        drop(pool.lend(back));
        assert!(pool.spare(500).is_none(), "there are enough");
        pool.clear();
        assert!(pool.spare.lock().is_empty());
    }

    #[test]
    fn aligned_and_used_again() {
        let pool = Arc::new(Pool::default());
        for len in [0, 1, 4096, 5000, 1 << 20, (1 << 20) + 1] {
            let mut buf = pool.get(len);
            assert_eq!(buf.as_ref().as_ptr() as usize % ALIGN, 0);
            assert!(buf.bytes_mut().len() >= len.next_multiple_of(ALIGN).min(len));
        }
        let first = pool.get(3 << 20);
        let at = first.as_ref().as_ptr();
        drop(first);
        assert_eq!(pool.get((3 << 20) - 5).as_ref().as_ptr(), at);
        // Not for something tiny.
        assert_ne!(pool.get(300 << 10).as_ref().as_ptr(), at);
        pool.clear();
        assert!(pool.free.lock().is_empty());
    }
}
