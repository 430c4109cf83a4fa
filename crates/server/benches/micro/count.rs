//! The server's allocator, with every allocation of the calling thread counted.

#![expect(unsafe_code, reason = "implements GlobalAlloc; every call is forwarded unchanged")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// See the module's text.
pub(crate) struct Counted(pub(crate) apus::Allocator);

thread_local! {
    static COUNT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Allocations of this thread so far, and the bytes that were asked for.
pub(crate) fn allocations() -> (u64, u64) {
    COUNT.get()
}

fn count(bytes: usize) {
    _ = COUNT.try_with(|c| {
        let (times, sum) = c.get();
        c.set((times + 1, sum + bytes as u64));
    });
}

// SAFETY: forwards to the server's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        // SAFETY: the caller's contract is passed on.
        unsafe { self.0.realloc(ptr, layout, new_size) }
    }
}
