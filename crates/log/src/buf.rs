//! Large buffers that are used again.
//!
//! A fresh buffer of ten megabytes costs 2,560 page faults, as much as filling it. A [`Buf`] goes
//! back to its pool when its last reader lets go of it. It begins at a multiple of [`ALIGN`] in
//! memory, so that the disk can take it as it is, past the page cache.

use std::sync::Arc;

use parking_lot::Mutex;

/// Alignment of a buffer, and of what is written to a disk directly: a page, and no disk's block is
/// larger.
pub const ALIGN: usize = 4096;

/// Smaller ones are the allocator's business.
const POOLED_MIN: usize = 256 << 10;
/// Buffers that are kept free.
const KEPT: usize = 4;

/// Where buffers wait to be used again.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Vec<u8>>>,
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

    /// Frees what is not in use.
    pub fn clear(&self) {
        self.free.lock().clear();
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
