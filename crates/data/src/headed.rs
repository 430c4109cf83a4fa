//! Bytes of any length with a head of `HEAD` bytes, in one allocation behind one thin pointer: what the hash tables of
//! sets and sorted sets own.
//!
//! ```text
//!  | head | length, 1 byte below 255 | bytes |            | head | 255 | length, 8 bytes | bytes |
//! ```
//!
//! The allocation has exactly the size of its class. The bytes never change.

#![expect(unsafe_code, reason = "variable-length layout behind one thin pointer")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use stdx::mem::size_class;

use crate::table::Node;

/// From this length on, the length takes nine bytes.
const LONG: usize = 255;

/// See the module's text.
pub(crate) struct Headed<const HEAD: usize>(NonNull<u8>);

// SAFETY: it owns its bytes.
unsafe impl<const HEAD: usize> Send for Headed<HEAD> {}
// SAFETY: `&Headed` only reads.
unsafe impl<const HEAD: usize> Sync for Headed<HEAD> {}

#[inline]
fn layout(head: usize, len: usize) -> Layout {
    let head = head + if len < LONG { 1 } else { 9 };
    Layout::from_size_align(size_class(head + len), 8).expect("lengths are below isize::MAX")
}

/// The bytes behind the head at `p`.
///
/// # Safety
/// `p` is the pointer of a [`Headed<HEAD>`] that is neither dropped nor changed during `'a`.
#[inline]
pub(crate) unsafe fn bytes_at<'a, const HEAD: usize>(p: NonNull<u8>) -> &'a [u8] {
    // SAFETY: the caller's contract; the layout is the one that `with_head` wrote.
    unsafe {
        let short = usize::from(p.add(HEAD).read());
        if short < LONG {
            return std::slice::from_raw_parts(p.add(HEAD + 1).as_ptr(), short);
        }
        let len = p.add(HEAD + 1).cast::<u64>().read_unaligned() as usize;
        std::slice::from_raw_parts(p.add(HEAD + 9).as_ptr(), len)
    }
}

impl<const HEAD: usize> Headed<HEAD> {
    /// Copies the bytes.
    pub(crate) fn with_head(head: [u8; HEAD], bytes: &[u8]) -> Self {
        let layout = layout(HEAD, bytes.len());
        // SAFETY: the size is at least 16.
        let Some(p) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: all writes lie within the layout made for this length.
        unsafe {
            p.cast::<[u8; HEAD]>().write(head);
            let mut at = HEAD + 1;
            if bytes.len() < LONG {
                p.add(HEAD).write(bytes.len() as u8);
            } else {
                p.add(HEAD).write(LONG as u8);
                p.add(at).cast::<u64>().write_unaligned(bytes.len() as u64);
                at += 8;
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), p.add(at).as_ptr(), bytes.len());
        }
        Self(p)
    }

    /// The bytes behind the head.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: it is alive as long as `self`.
        unsafe { bytes_at::<HEAD>(self.0) }
    }

    /// The head.
    #[inline]
    pub(crate) fn head(&self) -> [u8; HEAD] {
        // SAFETY: `with_head` wrote it.
        unsafe { self.0.cast::<[u8; HEAD]>().read() }
    }

    /// Replaces the head.
    #[inline]
    pub(crate) fn set_head(&mut self, head: [u8; HEAD]) {
        // SAFETY: as above, and `&mut self`.
        unsafe { self.0.cast::<[u8; HEAD]>().write(head) }
    }

    /// Where it lies, aligned to 8.
    #[inline]
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.0
    }

    /// Bytes held from the allocator.
    #[inline]
    pub(crate) fn allocated(&self) -> usize {
        layout(HEAD, self.bytes().len()).size()
    }
}

impl<const HEAD: usize> Drop for Headed<HEAD> {
    fn drop(&mut self) {
        let layout = layout(HEAD, self.bytes().len());
        // SAFETY: `with_head` allocated it with this layout.
        unsafe { dealloc(self.0.as_ptr(), layout) }
    }
}

// SAFETY: the pointer comes from the allocator with 8-byte alignment, and the hash depends on the bytes alone,
// which never change.
unsafe impl<const HEAD: usize> Node for Headed<HEAD> {
    #[inline]
    fn into_raw(self) -> NonNull<u8> {
        let p = self.0;
        std::mem::forget(self);
        p
    }

    #[inline]
    unsafe fn from_raw(p: NonNull<u8>) -> Self {
        Self(p)
    }

    #[inline]
    fn hash(&self) -> u64 {
        stdx::hash::hash64(self.bytes())
    }

    fn duplicate(&self) -> Self {
        Self::with_head(self.head(), self.bytes())
    }
}
