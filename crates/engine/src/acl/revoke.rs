//! Closing connections whose user is gone, or that are subscribed to what he may no longer use.

use std::sync::Arc;

use super::rules::Rules;
use super::selector::{Selector, channel_fits};
use super::user::User;
use crate::clients::Client;
use crate::mailbox::Message;
use crate::pubsub::Kind;
use crate::table::Call;

/// A user who may use fewer channels than before.
pub(super) struct Narrowed {
    user: Arc<User>,
    /// The patterns of all channels that he may still use.
    left: Vec<Vec<u8>>,
}

impl Narrowed {
    /// The user, if `new` allows fewer channels than `old`: if not all, and not all of the patterns
    /// of before.
    pub(super) fn between(user: &Arc<User>, old: &Rules, new: &Rules) -> Option<Self> {
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
}

/// Closes the user's connections that are subscribed to what he may no longer use; the caller's own
/// after this reply.
pub(super) fn subscribers(call: &mut Call<'_>, n: &Narrowed) {
    let denied = |kind: Kind, name: &[u8]| !channel_fits(&n.left, name, kind == Kind::Pattern);
    close_where(call, |client| {
        Arc::ptr_eq(&client.user.read(), &n.user)
            && client.subs.lock().as_ref().is_some_and(|s| s.any(denied))
    });
}

/// Closes all connections of these users; the caller's own after this reply.
pub(super) fn connections(call: &mut Call<'_>, users: &[Arc<User>]) {
    close_where(call, |client| {
        let theirs = client.user.read();
        users.iter().any(|user| Arc::ptr_eq(user, &theirs))
    });
}

fn close_where(call: &mut Call<'_>, wanted: impl Fn(&Client) -> bool) {
    for client in call.engine.clients.all().into_iter().filter(|c| wanted(c)) {
        if client.id == call.session.client.id {
            call.session.closing = true;
        } else if client.mark_closing() {
            call.engine.post(client.thread, Message::Close(client.id));
        }
    }
}
