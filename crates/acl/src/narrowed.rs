//! What a change of rules withdraws: channels that connections may be subscribed to.

use std::sync::Arc;

use crate::rules::Rules;
use crate::selector::{Selector, channel_fits};
use crate::user::User;

/// A user that may use fewer channels than before.
#[derive(Debug)]
pub struct Narrowed {
    user: Arc<User>,
    /// The patterns of all channels that it may still use.
    left: Vec<Vec<u8>>,
}

impl Narrowed {
    /// The user, if `new` allows fewer channels than `old`: if not all, and not all of the patterns
    /// of `old`.
    pub(crate) fn between(user: &Arc<User>, old: &Rules, new: &Rules) -> Option<Self> {
        if new.selectors().any(Selector::allows_all_channels) {
            return None;
        }
        let left: Vec<Vec<u8>> = new.selectors().flat_map(Selector::channels).cloned().collect();
        let kept = |s: &Selector| {
            !s.allows_all_channels() && s.channels().iter().all(|c| left.contains(c))
        };
        if old.selectors().all(kept) {
            return None;
        }
        Some(Self { user: Arc::clone(user), left })
    }

    /// The user.
    pub fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// Whether it may still be subscribed to a channel, or to a pattern of channels.
    pub fn may_listen(&self, name: &[u8], is_pattern: bool) -> bool {
        channel_fits(&self.left, name, is_pattern)
    }
}
