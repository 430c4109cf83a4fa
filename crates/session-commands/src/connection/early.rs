//! Commands that change nothing but their own session, answered while the thread of the session is stuck
//! in a script. The client is answered at once; its session follows when the thread is free, by running
//! the command then, before any other command of this client. The state that others see of the client
//! changes at once.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::Client;
use engine::acl::User;

/// Makes the client act as `user`.
pub(super) fn enter(client: &Client, user: &Arc<User>, authenticated: bool) {
    *client.user.write() = Arc::clone(user);
    client.authenticated.store(authenticated, Relaxed);
}
