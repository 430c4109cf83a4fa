//! Closing connections whose user is gone, or that are subscribed to what he may no longer use.

use std::sync::Arc;

use super::rules::Rules;
use super::selector::{Selector, channel_fits};
use super::user::User;
use crate::clients::Client;
use crate::engine::Engine;
use crate::mailbox::{Job, Message};
use crate::pubsub::{Kind, Local};
use crate::table::Call;

/// A user who may use fewer channels than before.
#[derive(Clone)]
pub(super) struct Narrowed {
    user: Arc<User>,
    /// The patterns of all channels that he may still use.
    left: Arc<Vec<Vec<u8>>>,
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
        Some(Self { user: Arc::clone(user), left: Arc::new(left) })
    }

    /// Closes those connections of a thread that are subscribed to something else. Returns whether
    /// `me` is one of them; that one is left to the caller.
    fn sweep(&self, engine: &Engine, local: &Local, me: u64) -> bool {
        let denied =
            |kind: Kind, name: &[u8]| !channel_fits(&self.left, name, kind == Kind::Pattern);
        let mut mine = false;
        for id in local.subscribers_of(denied) {
            let Some(client) = engine.clients.get(id) else { continue };
            if Arc::ptr_eq(&client.user.read(), &self.user) {
                if id == me {
                    mine = true;
                } else {
                    close(engine, &client);
                }
            }
        }
        mine
    }
}

/// Closes the user's connections that are subscribed to what he may no longer use: those of other
/// threads before they execute their next batch, and the caller's own after this reply.
pub(super) fn subscribers(call: &mut Call<'_>, n: Narrowed) {
    let engine = call.engine;
    if n.sweep(engine, &call.thread.pubsub, call.session.client.id) {
        call.session.closing = true;
    }
    for thread in (0..engine.workers().len()).filter(|t| *t != call.thread.index) {
        let n = n.clone();
        let sweep = move |engine: &Engine, thread: &mut crate::thread::Thread| {
            n.sweep(engine, &thread.pubsub, 0);
        };
        engine.post(thread, Message::Run(Job::new(sweep)));
    }
}

/// Closes all connections of these users; the caller's own after this reply.
pub(super) fn connections(call: &mut Call<'_>, users: &[Arc<User>]) {
    for client in call.engine.clients.all() {
        if !users.iter().any(|user| Arc::ptr_eq(user, &client.user.read())) {
            continue;
        }
        if client.id == call.session.client.id {
            call.session.closing = true;
        } else {
            close(call.engine, &client);
        }
    }
}

fn close(engine: &Engine, client: &Client) {
    if client.mark_closing() {
        engine.post(client.thread, Message::Close(client.id));
    }
}
