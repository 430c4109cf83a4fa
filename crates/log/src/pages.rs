//! Memory for groups, in huge pages where the system has them.
//!
//! A write past the page cache is handed to the disk page by page: of 4 KiB pages, a request to the disk
//! holds a megabyte at most and the kernel looks up 2,048 of them for a group of 8 MiB; of 2 MiB pages it
//! looks up four. Measured on a virtual disk: groups of 8 MiB, each synced, are written with 3.8 GB/s
//! from huge pages and with 2.0 GB/s from small ones.
//!
//! Huge pages are off in most servers (`disable-thp`), since the thread that touches one first may wait
//! for milliseconds. No client waits for a buffer that is filled here, by a thread of the log and once in
//! its life, so they are allowed for the moment in which it is filled. Another thread that touches fresh
//! memory in that very moment may get one, too, which costs it time and nothing else.

#![expect(unsafe_code, reason = "maps memory")]

use std::ptr::NonNull;

/// Bytes of a huge page on the processors that matter; where it is another size, all of this still works.
pub(crate) const HUGE: usize = 2 << 20;

/// A mapping of its own. Begins at a multiple of [`HUGE`].
pub(crate) struct Pages {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: it is owned memory, as a Box<[u8]> is.
unsafe impl Send for Pages {}
// SAFETY: shared references only read.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `len` bytes, zeros; none if the system does not give them.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(len: usize) -> Option<Self> {
        let len = len.checked_next_multiple_of(HUGE).filter(|l| *l > 0)?;
        let mapped = len.checked_add(HUGE)?;
        // SAFETY: a new private mapping that touches no other memory.
        let start = unsafe {
            let (prot, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), mapped, prot, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = start.cast::<u8>();
        let before = start.align_offset(HUGE);
        assert!(before <= HUGE, "bytes can be aligned to anything");
        // SAFETY: `before` <= HUGE, so that `before + len` lies within the mapping.
        let at = unsafe { start.add(before) };
        let behind = HUGE - before;
        for (part, len) in [(start, before), (at.wrapping_add(len), behind)] {
            if len > 0 {
                // SAFETY: whole pages of this mapping that no other code refers to. Should it fail,
                // address space is lost, and nothing else.
                unsafe { libc::munmap(part.cast(), len) };
            }
        }
        allowed(|| {
            // SAFETY: the mapping is ours. Advice that is not taken leaves small pages.
            unsafe {
                libc::madvise(at.cast(), len, libc::MADV_HUGEPAGE);
                libc::madvise(at.cast(), len, libc::MADV_POPULATE_WRITE);
            }
        });
        stdx::mem::mapped(len);
        Some(Self { at: NonNull::new(at)?, len })
    }

    /// None: there is the allocator.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new(_: usize) -> Option<Self> {
        None
    }
}

/// Locked while they are allowed: a thread must not find them allowed by another thread, which may forbid
/// them at any moment.
#[cfg(target_os = "linux")]
static SWITCH: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// Does something while huge pages are allowed.
#[cfg(target_os = "linux")]
fn allowed(work: impl FnOnce()) {
    let _switch = SWITCH.lock();
    let switch = |off: libc::c_ulong| {
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, off, 0, 0, 0) };
    };
    // SAFETY: takes numbers only. 1: they are off for all memory; newer kernels know other values.
    let off = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } == 1;
    if off {
        switch(0);
    }
    work();
    if off {
        switch(1);
    }
}

impl std::ops::Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `len` bytes long, initialised by the kernel, and lives as long as this.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl std::ops::DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        // SAFETY: no reference exists any more.
        unsafe {
            libc::munmap(self.at.as_ptr().cast(), self.len);
        }
        stdx::mem::unmapped(self.len);
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn zeros_that_can_be_written() {
        for len in [1, HUGE - 1, HUGE, 5 * HUGE + 1] {
            let mut pages = Pages::new(len).expect("there is memory");
            assert_eq!(pages.len(), len.next_multiple_of(HUGE));
            assert_eq!(pages.as_ptr() as usize % HUGE, 0);
            assert!(pages.iter().all(|b| *b == 0));
            pages.fill(7);
            assert!(pages.iter().all(|b| *b == 7));
        }
        assert!(Pages::new(0).is_none() && Pages::new(usize::MAX).is_none());
        assert!(Pages::new(usize::MAX / 2 + 1).is_none(), "nobody has so much");
    }

    #[test]
    fn what_is_off_stays_off() {
        // Other tests use pages, too: no test switches while this one looks.
        let off = || {
            let _switch = SWITCH.lock();
            // SAFETY: takes numbers only.
            unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) }
        };
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1 as libc::c_ulong, 0, 0, 0) };
        for _ in 0..3 {
            let pages = Pages::new(HUGE).expect("there is memory");
            assert_eq!((off(), pages.len()), (1, HUGE));
        }
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0 as libc::c_ulong, 0, 0, 0) };
    }

    #[test]
    fn counted_as_used_memory() {
        // Much more than other tests use meanwhile.
        let before = stdx::mem::used();
        let pages = Pages::new(256 << 20);
        assert!(pages.is_none() || stdx::mem::used() >= before + (128 << 20));
    }
}
