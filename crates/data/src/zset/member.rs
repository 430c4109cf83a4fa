//! A member of a big sorted set: its bytes, with its score for a head. The dictionary owns the members; the tree
//! refers to them.

#![expect(unsafe_code, reason = "members that two data structures share")]

use std::ptr::NonNull;

use crate::headed::{Headed, bytes_at};

const SCORE: usize = size_of::<f64>();

/// An owned member.
pub(super) type Member = Headed<SCORE>;

impl Member {
    /// Copies the bytes.
    pub(super) fn new(bytes: &[u8], score: f64) -> Self {
        Self::with_head(score.to_ne_bytes(), bytes)
    }

    /// Its score.
    #[inline]
    pub(super) fn score(&self) -> f64 {
        f64::from_ne_bytes(self.head())
    }

    /// Stores another score.
    #[inline]
    pub(super) fn set_score(&mut self, score: f64) {
        self.set_head(score.to_ne_bytes());
    }

    /// A second pointer to it.
    ///
    /// # Safety
    /// The pointer is not read after the member was dropped.
    #[inline]
    pub(super) unsafe fn share(&self) -> Ref {
        Ref(self.pointer())
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
        unsafe { bytes_at::<SCORE>(self.0) }
    }

    /// The same for as long as the caller knows the member to live.
    ///
    /// # Safety
    /// The member is neither dropped nor changed during `'a`.
    #[inline]
    pub(super) unsafe fn bytes_for<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's contract.
        unsafe { bytes_at::<SCORE>(self.0) }
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
