//! The memory of a state: an allocator with a limit.
//!
//! Lua tells the size of what it gives back, so the global allocator serves it directly, and what
//! scripts use is in `used_memory` like everything else. Beyond the limit Lua is refused memory and
//! raises its own error, "not enough memory". While Rust code runs on behalf of Lua (*grace*), there
//! are no refusals, since an error raised through Rust code would skip its destructors.

#![expect(unsafe_code, reason = "an allocator for C")]

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::c_void;

use crate::state::State;

/// What Lua's types need at most.
const ALIGN: usize = 8;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Memory {
    used: usize,
    limit: usize,
    grace: bool,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        // Only while Lua runs, protected, is there somebody to catch the error.
        Self { used: 0, limit, grace: true }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Returns what was before.
    #[inline]
    pub(crate) fn set_grace(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.grace, on)
    }

    pub(crate) fn fits(&self) -> bool {
        self.used < self.limit
    }
}

/// The allocator, as `lua_Alloc` describes it; `ud` is the [`State`].
pub(crate) unsafe extern "C" fn allocate(
    ud: *mut c_void,
    p: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `ud` is the state's record, which nobody else is looking at while Lua allocates; `p`
    // came from here with size `old`.
    unsafe {
        let memory = &raw mut (*ud.cast::<State>()).memory;
        if new == 0 {
            if !p.is_null() && old > 0 {
                (*memory).used -= old;
                dealloc(p.cast(), Layout::from_size_align_unchecked(old, ALIGN));
            }
            return std::ptr::null_mut();
        }
        let old = if p.is_null() { 0 } else { old };
        if new > old && !(*memory).grace && (*memory).used + (new - old) > (*memory).limit {
            return std::ptr::null_mut();
        }
        let Ok(layout) = Layout::from_size_align(new, ALIGN) else { return std::ptr::null_mut() };
        let q = if old == 0 {
            alloc(layout)
        } else {
            realloc(p.cast(), Layout::from_size_align_unchecked(old, ALIGN), new)
        };
        if q.is_null() {
            // Lua relies on shrinking to succeed, and Rust code on everything.
            if new <= old || (*memory).grace {
                std::alloc::handle_alloc_error(layout);
            }
            return q.cast();
        }
        (*memory).used = (*memory).used - old + new;
        q.cast()
    }
}
