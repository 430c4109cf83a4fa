//! Closing connections whose user is gone, or that are subscribed to channels that the user may not
//! use any more.

use std::sync::Arc;

use super::{Narrowed, User};
use crate::clients::Client;
use crate::engine::Engine;
use crate::pubsub::ChannelKind;
use crate::session::Session;

/// Closes the user's connections that are subscribed to channels that it may not use any more; the
/// caller's own after this reply.
pub(super) fn subscribers(engine: &Engine, own: Option<&mut Session>, n: &Narrowed) {
    let denied = |kind: ChannelKind, name: &[u8]| !n.may_listen(name, kind == ChannelKind::Pattern);
    close_where(engine, own, |client| {
        Arc::ptr_eq(&client.user.read(), n.user())
            && client.receiver.subscriptions.lock().as_ref().is_some_and(|s| s.any(denied))
    });
}

/// Closes all connections of these users; the caller's own after this reply.
pub(super) fn connections(engine: &Engine, own: Option<&mut Session>, users: &[Arc<User>]) {
    if users.is_empty() {
        return;
    }
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
        } else {
            engine.close(&client);
        }
    }
}
