//! The memory of a state: an allocator with a limit.
//!
//! Lua gives the size of each block that it frees, so free small blocks are kept in one list per
//! size, and taken from there again. Other blocks go back to the global allocator, and the memory of
//! scripts is in `used_memory` like all other memory. Beyond the limit Lua is refused memory and
//! raises its own error, "not enough memory". While Rust code runs on behalf of Lua (*grace*), there
//! are no refusals, since an error raised through Rust code would skip its destructors.

#![expect(unsafe_code, reason = "an allocator for C")]

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::c_void;

/// The largest alignment that Lua's types need.
const ALIGN: usize = 8;

/// Sizes of small blocks differ by this, in bytes.
const STEP: usize = 16;
/// Blocks up to `STEP * CLASSES` bytes are small: strings, tables, and the parts of most tables.
const CLASSES: usize = 32;
/// Bytes of free small blocks that are kept, which is more than one collection frees as a rule.
const KEPT_MAX: usize = 1 << 20;

/// A free block: it holds the address of the next one.
#[derive(Debug)]
struct Free(*mut Free);

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Memory {
    used: usize,
    limit: usize,
    grace: bool,
    /// Bytes in `free`.
    kept: usize,
    /// Free blocks of each class: of number `n`, those of `STEP * (n + 1)` bytes.
    free: [*mut Free; CLASSES],
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.trim();
    }
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        // Only while Lua runs, protected, is the error caught.
        let free = [std::ptr::null_mut(); CLASSES];
        Self { used: 0, limit, grace: true, kept: 0, free }
    }

    /// Bytes that Lua has.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Bytes of free blocks that are kept for Lua.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Returns the previous setting.
    #[inline]
    pub(crate) fn set_grace(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.grace, on)
    }

    pub(crate) fn fits(&self) -> bool {
        self.used < self.limit
    }

    /// Gives back the blocks that are kept.
    pub(crate) fn trim(&mut self) {
        for (class, first) in self.free.iter_mut().enumerate() {
            while !first.is_null() {
                // SAFETY: a block in the list was allocated with this layout, and is not in use.
                unsafe {
                    let block = *first;
                    *first = (*block).0;
                    dealloc(block.cast(), layout_of(class));
                }
            }
        }
        self.kept = 0;
    }

    /// Takes a block of at least `size` bytes, which is not 0; null when there is no memory.
    #[inline]
    fn take(&mut self, size: usize) -> *mut u8 {
        let class = (size - 1) / STEP;
        let Some(first) = self.free.get_mut(class) else {
            let Ok(layout) = Layout::from_size_align(size, ALIGN) else {
                return std::ptr::null_mut();
            };
            // SAFETY: the size is not 0.
            return unsafe { alloc(layout) };
        };
        let block = *first;
        if block.is_null() {
            // SAFETY: nor is that of a class.
            return unsafe { alloc(layout_of(class)) };
        }
        // SAFETY: the list holds free blocks, which begin with the address of the next.
        *first = unsafe { (*block).0 };
        self.kept -= STEP * (class + 1);
        block.cast()
    }

    /// Gives back a block that was taken with this size.
    ///
    /// # Safety
    /// The block was taken with this size, and is not in use.
    #[inline]
    unsafe fn give(&mut self, p: *mut u8, size: usize) {
        let class = (size - 1) / STEP;
        // SAFETY: the caller's; a small block has room for an address, and the layout is that with
        // which it was taken.
        unsafe {
            if class >= CLASSES {
                dealloc(p, Layout::from_size_align_unchecked(size, ALIGN));
            } else if self.kept >= KEPT_MAX {
                dealloc(p, layout_of(class));
            } else {
                let block = p.cast::<Free>();
                block.write(Free(self.free[class]));
                self.free[class] = block;
                self.kept += STEP * (class + 1);
            }
        }
    }
}

fn layout_of(class: usize) -> Layout {
    // SAFETY: a multiple of 16 that is small.
    unsafe { Layout::from_size_align_unchecked(STEP * (class + 1), ALIGN) }
}

impl Memory {
    /// The allocator, as `lua_Alloc` describes it.
    ///
    /// # Safety
    /// `p` came from here with size `old`, or is null.
    pub(crate) unsafe fn allocate(
        &mut self,
        p: *mut c_void,
        old: usize,
        new: usize,
    ) -> *mut c_void {
        // SAFETY: the caller's.
        unsafe {
            let old = if p.is_null() { 0 } else { old };
            if new == 0 {
                if old > 0 {
                    self.used -= old;
                    self.give(p.cast(), old);
                }
                return std::ptr::null_mut();
            }
            if new > old && !self.grace && self.used + (new - old) > self.limit {
                return std::ptr::null_mut();
            }
            let q: *mut u8 = if old == 0 {
                self.take(new)
            } else {
                let (from, to) = ((old - 1) / STEP, (new - 1) / STEP);
                if from == to && from < CLASSES {
                    p.cast()
                } else if from >= CLASSES && to >= CLASSES {
                    realloc(p.cast(), Layout::from_size_align_unchecked(old, ALIGN), new)
                } else {
                    let q = self.take(new);
                    if !q.is_null() {
                        std::ptr::copy_nonoverlapping(p.cast::<u8>(), q, old.min(new));
                        self.give(p.cast(), old);
                    }
                    q
                }
            };
            if q.is_null() {
                // Lua relies on shrinking to succeed, and Rust code on everything.
                if new <= old || self.grace {
                    std::alloc::handle_alloc_error(Layout::new::<u64>());
                }
                return q.cast();
            }
            self.used = self.used - old + new;
            q.cast()
        }
    }
}
