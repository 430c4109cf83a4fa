//! Closing connections whose user is gone, or that are subscribed to channels that the user may not
//! use any more.

use std::sync::Arc;

use super::rules::Rules;
use super::selector::{Selector, channel_fits};
use super::user::User;
use crate::clients::Client;
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::pubsub::Kind;
use crate::session::Session;

/// A user that may use fewer channels than before.
pub(super) struct Narrowed {
    user: Arc<User>,
    /// The patterns of all channels that it may still use.
    left: Vec<Vec<u8>>,
}

impl Narrowed {
    /// The user, if `new` allows fewer channels than `old`: if not all, and not all of the patterns
    /// of `old`.
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

/// Closes the user's connections that are subscribed to channels that it may not use any more; the
/// caller's own after this reply.
pub(super) fn subscribers(engine: &Engine, own: Option<&mut Session>, n: &Narrowed) {
    let denied = |kind: Kind, name: &[u8]| !channel_fits(&n.left, name, kind == Kind::Pattern);
    close_where(engine, own, |client| {
        Arc::ptr_eq(&client.user.read(), &n.user)
            && client.subs.lock().as_ref().is_some_and(|s| s.any(denied))
    });
}

/// Closes all connections of these users; the caller's own after this reply.
pub(super) fn connections(engine: &Engine, own: Option<&mut Session>, users: &[Arc<User>]) {
    close_where(engine, own, |client| {
        let theirs = client.user.read();
        users.iter().any(|user| Arc::ptr_eq(user, &theirs))
    });
}

fn close_where(engine: &Engine, mut own: Option<&mut Session>, wanted: impl Fn(&Client) -> bool) {
    for client in engine.clients.all().into_iter().filter(|c| wanted(c)) {
        if let Some(own) = own.as_deref_mut()
            && client.id == own.client.id
        {
            own.closing = true;
        } else if client.mark_closing() {
            engine.post(client.thread, Message::Close(client.id));
        }
    }
}
