//! A member of a big sorted set: its score and its bytes in one allocation.
//!
//! ```text
//!  | score, 8 bytes | length, 1 byte (255: eight more bytes follow) | member |
//! ```
//!
//! The allocation has exactly the size of its class. The dictionary owns the members; the tree
//! refers to them.

#![expect(unsafe_code, reason = "variable-length layout behind one thin pointer, shared by two")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use stdx::mem::size_class;

use crate::table::Node;

const SCORE: usize = 8;
/// From this length on, the length takes nine bytes.
const LONG: usize = 255;

/// An owned member.
pub(super) struct Member(NonNull<u8>);

// SAFETY: a member owns its bytes; `&Member` only reads.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

fn layout(len: usize) -> Layout {
    let head = SCORE + if len < LONG { 1 } else { 9 };
    Layout::from_size_align(size_class(head + len), 8).expect("lengths are below isize::MAX")
}

impl Member {
    /// Copies the bytes.
    pub(super) fn new(bytes: &[u8], score: f64) -> Self {
        let layout = layout(bytes.len());
        // SAFETY: the size is not zero.
        let Some(p) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: all writes lie within the layout made for this length; the score is aligned.
        unsafe {
            p.cast::<f64>().write(score);
            let mut at = SCORE + 1;
            if bytes.len() < LONG {
                p.add(SCORE).write(bytes.len() as u8);
            } else {
                p.add(SCORE).write(LONG as u8);
                p.add(at).cast::<u64>().write_unaligned(bytes.len() as u64);
                at += 8;
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), p.add(at).as_ptr(), bytes.len());
        }
        Self(p)
    }

    /// The member.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: it is alive as long as `self`.
        unsafe { read(self.0) }
    }

    /// Its score.
    #[inline]
    pub(super) fn score(&self) -> f64 {
        // SAFETY: every member begins with its score.
        unsafe { self.0.cast::<f64>().read() }
    }

    /// Stores another score.
    #[inline]
    pub(super) fn set_score(&mut self, score: f64) {
        // SAFETY: as above, and `&mut self`.
        unsafe { self.0.cast::<f64>().write(score) }
    }

    /// Bytes it holds from the allocator.
    pub(super) fn allocated(&self) -> usize {
        layout(self.bytes().len()).size()
    }

    /// A second pointer to it.
    ///
    /// # Safety
    /// The pointer is not read after the member was dropped.
    #[inline]
    pub(super) unsafe fn share(&self) -> Ref {
        Ref(self.0)
    }
}

/// The bytes of the member at `p`.
///
/// # Safety
/// The member is alive for `'a`.
#[inline]
unsafe fn read<'a>(p: NonNull<u8>) -> &'a [u8] {
    // SAFETY: the caller's contract; the layout is the one that `new` wrote.
    unsafe {
        let short = usize::from(p.add(SCORE).read());
        if short < LONG {
            return std::slice::from_raw_parts(p.add(SCORE + 1).as_ptr(), short);
        }
        let len = p.add(SCORE + 1).cast::<u64>().read_unaligned() as usize;
        std::slice::from_raw_parts(p.add(SCORE + 9).as_ptr(), len)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let layout = layout(self.bytes().len());
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.0.as_ptr(), layout) }
    }
}

// SAFETY: the allocator aligns to 8, and the hash depends on the bytes alone, which never change.
unsafe impl Node for Member {
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
        Self::new(self.bytes(), self.score())
    }
}

/// A pointer to a member that the dictionary owns; see [`Member::share`].
#[derive(Clone, Copy)]
pub(super) struct Ref(NonNull<u8>);

// SAFETY: it only reads what its owner, which is Sync, does not change meanwhile.
unsafe impl Send for Ref {}
// SAFETY: as above.
unsafe impl Sync for Ref {}

#[repr(align(8))]
struct NoMember([u8; 16]);
static NO_MEMBER: NoMember = NoMember([0; 16]);

impl Ref {
    /// Refers to an empty member that always lives: for places that hold none.
    pub(super) fn none() -> Self {
        Self(NonNull::from(&NO_MEMBER.0).cast())
    }

    /// The member. The caller of [`Member::share`] has promised that it is alive.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: see above; the owner is not changed while the set is borrowed.
        unsafe { read(self.0) }
    }

    /// The same for as long as the caller knows the member to live.
    ///
    /// # Safety
    /// The member is neither dropped nor changed during `'a`.
    #[inline]
    pub(super) unsafe fn bytes_for<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's contract.
        unsafe { read(self.0) }
    }

    /// Whether both are the same member, by its address.
    #[inline]
    pub(super) fn is(self, other: Self) -> bool {
        self.0 == other.0
    }

    /// Hints the processor to load it.
    #[inline]
    pub(super) fn prefetch(self) {
        crate::table::prefetch(self.0.as_ptr());
    }
}
