//! A member of a big set that is no integer: its bytes, without a head.

use crate::headed::Headed;

/// See the module's text.
pub(super) type Member = Headed<0>;

impl Member {
    /// A copy of `bytes`.
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self::with_head([], bytes)
    }
}
