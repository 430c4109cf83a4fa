//! A member of a big set that is no integer: its length and its bytes in one allocation.
//!
//! ```text
//!  | length, 1 byte below 255 | bytes |            | 255 | length, 8 bytes | bytes |
//! ```

#![expect(unsafe_code, reason = "variable-length layout behind one thin pointer")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use stdx::mem::size_class;

use crate::table::Node;

const LONG: u8 = 255;

/// See the module's text.
pub(super) struct Member(NonNull<u8>);

// SAFETY: a member owns its bytes.
unsafe impl Send for Member {}
// SAFETY: `&Member` only reads.
unsafe impl Sync for Member {}

#[inline]
fn layout(len: usize) -> Layout {
    let head = if len < LONG.into() { 1 } else { 9 };
    Layout::from_size_align(size_class(head + len), 8).expect("lengths are below isize::MAX")
}

impl Member {
    /// A copy of `bytes`.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let layout = layout(bytes.len());
        // SAFETY: the size is at least 16.
        let ptr = unsafe { alloc(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        // SAFETY: `layout` has room for the head and the bytes.
        unsafe {
            let p = ptr.as_ptr();
            let head = if bytes.len() < LONG.into() {
                p.write(bytes.len() as u8);
                1
            } else {
                p.write(LONG);
                p.add(1).cast::<u64>().write_unaligned(bytes.len() as u64);
                9
            };
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), p.add(head), bytes.len());
        }
        Self(ptr)
    }

    /// Its bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        let p = self.0.as_ptr();
        // SAFETY: `new` wrote a head and as many bytes as it says.
        unsafe {
            match p.read() {
                LONG => {
                    let len = p.add(1).cast::<u64>().read_unaligned() as usize;
                    std::slice::from_raw_parts(p.add(9), len)
                }
                len => std::slice::from_raw_parts(p.add(1), len.into()),
            }
        }
    }

    /// Bytes held from the allocator.
    #[inline]
    pub(super) fn allocated(&self) -> usize {
        layout(self.bytes().len()).size()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let layout = layout(self.bytes().len());
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.0.as_ptr(), layout) }
    }
}

// SAFETY: the pointer comes from the allocator with 8-byte alignment, and the bytes never change.
unsafe impl Node for Member {
    #[inline]
    fn into_raw(self) -> NonNull<u8> {
        let p = self.0;
        std::mem::forget(self);
        p
    }

    #[inline]
    unsafe fn from_raw(ptr: NonNull<u8>) -> Self {
        Self(ptr)
    }

    #[inline]
    fn hash(&self) -> u64 {
        stdx::hash::hash64(self.bytes())
    }

    fn duplicate(&self) -> Self {
        Self::new(self.bytes())
    }
}
