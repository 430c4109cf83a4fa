//! Large buffers that are used again.
//!
//! A fresh buffer of ten megabytes costs 2,560 page faults, as much as filling it. A [`Buf`] goes
//! back to its pool when its last reader lets go of it. It begins at a multiple of [`ALIGN`] in
//! memory, so that the disk can take it as it is, past the page cache; a large one is a mapping of its
//! own (`crate::pages` says why).

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use stdx::mem::Apart;

use crate::pages::{HUGE, Pages};

/// Alignment of a buffer, and of bytes that are written to a disk directly: a page, and no disk's block
/// is larger.
pub const ALIGN: usize = 4096;

/// Smaller ones are the allocator's business.
const POOLED_MIN: usize = 256 << 10;
/// Bytes of buffers that are kept free: those in which a few groups are laid out, written and read.
const FREE_BYTES: usize = 32 << 20;
/// Bytes of buffers that requests arrive in and that are kept free …
const SPARE_BYTES: usize = 32 << 20;
/// … and how many.
const SPARE: usize = 32;

/// Where buffers wait to be used again.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Memory>>,
    spare: Mutex<Vec<(Vec<u8>, Apart)>>,
}

/// Aligned bytes.
#[derive(Debug)]
pub struct Buf {
    memory: Memory,
    pool: Arc<Pool>,
}

/// Where they lie.
#[derive(Debug)]
enum Memory {
    /// From the allocator; the first one that is aligned is at `offset`.
    Heap {
        bytes: Vec<u8>,
        offset: usize,
        _apart: Apart,
    },
    Mapped(Pages, #[expect(dead_code, reason = "counts as long as it lives")] Apart),
}

impl Memory {
    /// At least `len` bytes and [`ALIGN`] more. Sizes are rounded up, so that the next group that is a
    /// little larger fits, too.
    fn new(len: usize) -> Self {
        let pages = (len >= HUGE).then(|| Pages::new(len)).flatten();
        match pages {
            Some(pages) => {
                let apart = Apart::new(pages.len());
                Self::Mapped(pages, apart)
            }
            None => Self::on_heap(len),
        }
    }

    fn on_heap(len: usize) -> Self {
        let needed = len + ALIGN;
        let rounded = if needed < POOLED_MIN { needed } else { needed.next_multiple_of(1 << 20) };
        let bytes = vec![0; rounded];
        let offset = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        let apart = Apart::new(bytes.capacity());
        Self::Heap { bytes, offset, _apart: apart }
    }

    /// The memory that it takes.
    fn capacity(&self) -> usize {
        match self {
            Self::Heap { bytes, .. } => bytes.len(),
            Self::Mapped(pages, _) => pages.len(),
        }
    }

    /// The usable part of it.
    fn len(&self) -> usize {
        match self {
            Self::Heap { bytes, offset, .. } => bytes.len() - offset,
            Self::Mapped(pages, _) => pages.len(),
        }
    }
}

impl Pool {
    /// A buffer of at least `len` bytes, whose content is anything.
    pub fn get(self: &Arc<Self>, len: usize) -> Buf {
        let pooled = (len + ALIGN >= POOLED_MIN)
            .then(|| {
                let mut free = self.free.lock();
                // The tightest fit, but none that would waste most of itself.
                let fits = len..=len.saturating_add(ALIGN).saturating_mul(4);
                let best = (0..free.len())
                    .filter(|i| fits.contains(&free[*i].len()))
                    .min_by_key(|i| free[*i].len())?;
                Some(free.swap_remove(best))
            })
            .flatten();
        Buf { memory: pooled.unwrap_or_else(|| Memory::new(len)), pool: Arc::clone(self) }
    }

    /// An empty vector with at least this capacity that was lent before, if there is one.
    pub fn spare(&self, capacity: usize) -> Option<Vec<u8>> {
        let mut spare = self.spare.lock();
        let fits = capacity..=capacity.saturating_mul(4);
        let at = spare.iter().rposition(|(v, _)| fits.contains(&v.capacity()))?;
        Some(spare.swap_remove(at).0)
    }

    /// Bytes whose vector comes back as a spare one.
    pub fn lend(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { bytes, pool: Arc::clone(self) })
    }

    /// Keeps a buffer for the next caller that needs one. Of too many, the smallest is freed: a larger
    /// one serves instead.
    fn take_back(&self, memory: Memory) {
        if memory.capacity() > FREE_BYTES {
            return;
        }
        let mut free = self.free.lock();
        free.push(memory);
        let mut gone = Vec::new();
        while free.iter().map(Memory::capacity).sum::<usize>() > FREE_BYTES
            && let Some(smallest) = (0..free.len()).min_by_key(|i| free[*i].capacity())
        {
            gone.push(free.swap_remove(smallest));
        }
        // Giving memory back takes its time: not while others wait.
        drop(free);
        drop(gone);
    }

    /// Frees the unused buffers.
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
        let sum: usize = spare.iter().map(|(v, _)| v.capacity()).sum();
        if spare.len() < SPARE && sum + bytes.capacity() <= SPARE_BYTES {
            let apart = Apart::new(bytes.capacity());
            spare.push((bytes, apart));
        }
    }
}

impl Buf {
    /// All of it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Heap { bytes, offset, .. } => &mut bytes[*offset..],
            Memory::Mapped(pages, _) => pages,
        }
    }

    /// The memory that it takes.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            Memory::Heap { bytes, offset, .. } => &bytes[*offset..],
            Memory::Mapped(pages, _) => pages,
        }
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        if self.capacity() >= POOLED_MIN {
            let nothing = Memory::Heap { bytes: Vec::new(), offset: 0, _apart: Apart::default() };
            let memory = std::mem::replace(&mut self.memory, nothing);
            self.pool.take_back(memory);
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
        (0..SPARE + 1).for_each(|_| {
            pool.spare.lock().push((Vec::with_capacity(1), Apart::default()));
        });
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

    #[test]
    fn free_ones_are_bounded_and_the_large_ones_stay() {
        let pool = Arc::new(Pool::default());
        let sizes = [300 << 10, 9 << 20, 1 << 20, 12 << 20, 5 << 20, 7 << 20];
        let all: Vec<Buf> = sizes.iter().map(|len| pool.get(*len)).collect();
        drop(all);
        let free = || pool.free.lock().iter().map(Memory::capacity).collect::<Vec<_>>();
        assert!(free().iter().sum::<usize>() <= FREE_BYTES, "{:?}", free());
        assert!(free().contains(&(12 << 20)) && !free().contains(&(1 << 20)), "{:?}", free());
        // One that is larger than all there may be is not kept, and drives none of the others out.
        let before = free();
        drop(pool.get(FREE_BYTES + 1));
        assert_eq!(free(), before);
    }
}
