//! Memory accounting: how many bytes the process holds from its allocator.
//!
//! `used_memory`, `maxmemory` and `MEMORY USAGE` are only honest if *everything* is counted, so
//! the counting sits in the global allocator and not in the structures. It counts size classes
//! (what the allocator really hands out), not requested sizes.
//!
//! A count per allocation must cost next to nothing: every thread adds to a slot of its own with
//! a plain load and store, and a reader sums the slots. A slot may be negative (one thread
//! allocates, another frees); only the sum means something.

#![expect(unsafe_code, reason = "implements GlobalAlloc; every call is forwarded unchanged")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Threads with a slot of their own. Later ones share the last slot and pay for an atomic add.
const SLOTS: usize = 128;

/// Stands for a slot while a thread does not count.
const UNCOUNTED: usize = usize::MAX - 1;

#[repr(align(128))]
struct Slot(AtomicI64);

static COUNTS: [Slot; SLOTS] = [const { Slot(AtomicI64::new(0)) }; SLOTS];
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[inline]
fn count(bytes: i64) {
    // `try_with`: allocations happen while a thread's locals are being destroyed, too.
    let slot = MINE.try_with(|m| {
        let mut i = m.get();
        if i >= UNCOUNTED {
            if i == UNCOUNTED {
                return i;
            }
            i = TAKEN.fetch_add(1, Relaxed).min(SLOTS - 1);
            m.set(i);
        }
        i
    });
    let i = slot.unwrap_or(SLOTS - 1);
    if i == UNCOUNTED {
        return;
    }
    let c = &COUNTS[i].0;
    if i == SLOTS - 1 {
        c.fetch_add(bytes, Relaxed);
    } else {
        c.store(c.load(Relaxed).wrapping_add(bytes), Relaxed);
    }
}

/// Bytes held from the allocator now, in size classes. Zero when the binary does not install
/// [`Counting`] as its global allocator.
#[inline]
pub fn used() -> u64 {
    let n = TAKEN.load(Relaxed).min(SLOTS);
    let mut sum: i64 = COUNTS[..n].iter().map(|c| c.0.load(Relaxed)).sum();
    if n < SLOTS {
        sum += COUNTS[SLOTS - 1].0.load(Relaxed);
    }
    sum.max(0) as u64
}

/// What this thread allocated less what it freed, in size classes; below zero when it freed more. For
/// tests: the threads of the test harness allocate at any time. Exact for the first 127 threads that
/// allocate.
pub fn used_by_this_thread() -> i64 {
    let slot = MINE.try_with(Cell::get).unwrap_or(SLOTS - 1);
    COUNTS.get(slot).map_or(0, |count| count.0.load(Relaxed))
}

/// Counts bytes that were mapped past the allocator, until they are [`unmapped`].
pub fn mapped(bytes: usize) {
    count(bytes as i64);
}

/// Counts them as given back.
pub fn unmapped(bytes: usize) {
    count(-(bytes as i64));
}

/// Runs something whose memory is not counted: an observer's, which needs much for a moment and must
/// not make the server evict keys by looking at it. It must free what it allocates; `work` gets the
/// rest out by returning it, and what it returns is passed through `copy`, counted.
pub fn uncounted<T, R>(work: impl FnOnce() -> T, copy: impl FnOnce(&T) -> R) -> R {
    let slot = MINE.replace(UNCOUNTED);
    let result = work();
    MINE.set(slot);
    let copied = copy(&result);
    MINE.set(UNCOUNTED);
    drop(result);
    MINE.set(slot);
    copied
}

/// Bytes in use that are bounded by limits of their own, see [`Apart`].
static APART: AtomicI64 = AtomicI64::new(0);

/// A part of [`used`] that has a limit of its own and does not count towards `maxmemory`: the owner of
/// such memory keeps one of these with it, as long as it has the memory. Copying it counts a second time.
#[derive(Debug, Default)]
pub struct Apart {
    bytes: usize,
}

impl Apart {
    /// This many bytes.
    pub fn new(bytes: usize) -> Self {
        APART.fetch_add(bytes as i64, Relaxed);
        Self { bytes }
    }

    /// It is so many now.
    pub fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            APART.fetch_add(bytes as i64 - self.bytes as i64, Relaxed);
            self.bytes = bytes;
        }
    }

    /// How many it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Clone for Apart {
    fn clone(&self) -> Self {
        Self::new(self.bytes)
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        APART.fetch_sub(self.bytes as i64, Relaxed);
    }
}

/// Bytes that do not count towards `maxmemory` though they are in use.
#[inline]
pub fn apart() -> u64 {
    APART.load(Relaxed).max(0) as u64
}

/// The highest value [`sample_peak`] has seen, in bytes.
pub fn peak() -> u64 {
    sample_peak();
    PEAK.load(Relaxed) as u64
}

/// Updates the peak; called from the servers' periodic work, so it is a sampled peak as in Redis.
pub fn sample_peak() {
    PEAK.fetch_max(used() as i64, Relaxed);
}

/// Makes the present use the peak (`CONFIG RESETSTAT` and `MEMORY` tests).
pub fn reset_peak() {
    PEAK.store(used() as i64, Relaxed);
}

/// See [`set_huge`].
static HUGE: AtomicU64 = AtomicU64::new(0);

/// Notes how many bytes of the process lie in huge pages: to find out takes long.
pub fn set_huge(bytes: u64) {
    HUGE.store(bytes, Relaxed);
}

/// Bytes in huge pages as noted last; 0 when nothing notes them.
pub fn huge() -> u64 {
    HUGE.load(Relaxed)
}

/// Bytes that an allocation for `n` values takes; none is made for none.
#[inline]
pub const fn allocated<T>(n: usize) -> usize {
    let bytes = n * size_of::<T>();
    if bytes == 0 { 0 } else { size_class(bytes) }
}

/// The bytes an allocation of `n` bytes takes: mimalloc's size classes, which are multiples of 16
/// up to 64 and then four steps to every doubling. An allocation made with exactly this size
/// wastes nothing inside its class.
#[inline]
pub const fn size_class(n: usize) -> usize {
    if n <= 64 {
        if n == 0 { 16 } else { (n + 15) & !15 }
    } else {
        // Steps of an eighth to a quarter: the top three bits of n - 1 decide.
        let shift = (usize::BITS - 1 - (n - 1).leading_zeros()) - 2;
        let step = 1usize << shift;
        (n + step - 1) & !(step - 1)
    }
}

/// A global allocator that counts what passes through it.
pub struct Counting<A>(pub A);

// SAFETY: forwards to `A` with the same layout; the counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size_class(layout.size()) as i64);
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(size_class(layout.size()) as i64));
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.dealloc(ptr, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size_class(layout.size()) as i64);
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let (old, new) = (size_class(layout.size()), size_class(new_size));
        count(new as i64 - old as i64);
        if new < old {
            // mimalloc leaves what shrinks by less than half where it is, and the rest of its block
            // unused. Code that shrinks an allocation wants the memory back.
            // SAFETY: the caller promises that `new_size` is neither zero nor too large for the
            // alignment, and that `ptr` was allocated with `layout`; what is copied is within both.
            return unsafe {
                let layout_now = Layout::from_size_align_unchecked(new_size, layout.align());
                let moved = self.0.alloc(layout_now);
                if !moved.is_null() {
                    ptr.copy_to_nonoverlapping(moved, new_size.min(layout.size()));
                    self.0.dealloc(ptr, layout);
                }
                moved
            };
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.realloc(ptr, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never moves what is reallocated, as mimalloc does when a block is still half used.
    struct Stays;

    // SAFETY: `realloc` is only asked for less than there is; the rest is the system's.
    unsafe impl GlobalAlloc for Stays {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller's contract is passed on.
            unsafe { std::alloc::System.alloc(layout) }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: the caller's contract is passed on.
            unsafe { std::alloc::System.dealloc(ptr, layout) }
        }

        unsafe fn realloc(&self, ptr: *mut u8, _: Layout, _: usize) -> *mut u8 {
            ptr
        }
    }

    #[test]
    fn what_shrinks_to_another_class_is_moved_to_a_block_of_that_class() {
        let allocator = Counting(Stays);
        let layout = |n| Layout::from_size_align(n, 1).unwrap();
        // SAFETY: every pointer is used with the layout it was allocated with last.
        unsafe {
            let wide = allocator.alloc(layout(5120));
            wide.write_bytes(7, 5120);
            let narrow = allocator.realloc(wide, layout(5120), 3584);
            assert_ne!(narrow, wide);
            assert_eq!(std::slice::from_raw_parts(narrow, 3584), &[7; 3584]);
            let same = allocator.realloc(narrow, layout(3584), 3100);
            assert_eq!(same, narrow, "the same class");
            allocator.dealloc(same, layout(3584));
        }
    }

    #[test]
    fn what_is_apart_is_counted_as_long_as_it_is_held() {
        let before = apart();
        let mut one = Apart::new(1000);
        let two = one.clone();
        one.set(500);
        assert_eq!((apart(), one.bytes(), two.bytes()), (before + 1500, 500, 1000));
        drop((one, two));
        assert_eq!(apart(), before);
    }

    #[test]
    fn classes_are_those_of_mimalloc() {
        let expected = [
            (1, 16),
            (16, 16),
            (17, 32),
            (48, 48),
            (49, 64),
            (64, 64),
            (65, 80),
            (81, 96),
            (97, 112),
            (113, 128),
            (129, 160),
            (161, 192),
            (200, 224),
            (256, 256),
            (257, 320),
            (1000, 1024),
            (1025, 1280),
            (4097, 5120),
        ];
        for (n, class) in expected {
            assert_eq!(size_class(n), class, "size {n}");
        }
    }

    #[test]
    fn a_class_is_its_own_class() {
        for n in 0..100_000 {
            let c = size_class(n);
            assert!(c >= n && size_class(c) == c);
        }
    }
}
