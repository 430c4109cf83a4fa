//! Connections at the engine: how a session begins, is reset, and is closed, also for the memory that it takes.
//! Their state is in [`Session`] and [`Client`].

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use observe::stats::bump;
use resp::Proto;

use crate::clients::{Client, Endpoint, Evicted};
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::session::{ReplyMode, Session};
use crate::thread::Thread;

impl Session {
    /// A new connection on `thread`.
    pub fn new(engine: &Engine, thread: usize, endpoint: Endpoint) -> Self {
        let user = engine.acl.default_user();
        let now = engine.clock.wall_ms() as i64;
        let client = engine.clients.add(thread, endpoint, now, user);
        Self::over(client, Arc::clone(user), engine.acl.is_open())
    }

    /// A session of the server itself on `thread`, which no list shows.
    pub fn inner(engine: &Engine, thread: usize) -> Self {
        let now = engine.clock.wall_ms() as i64;
        let user = engine.acl.server();
        let client = Client::new(0, thread, Endpoint::nowhere(), now, Arc::clone(user));
        Self::over(Arc::new(client), Arc::clone(user), true)
    }

    /// Back to how it began (RESET). The caller has ended its transaction and its watches.
    pub fn reset(&mut self, engine: &Engine) {
        if self.monitor {
            engine.monitors.remove(&engine.attention, self.client.id);
        }
        self.monitor = false;
        self.client.monitor.store(false, Relaxed);
        self.select(0);
        self.set_proto(Proto::V2);
        self.reply = ReplyMode::On;
        self.set_no_touch(false);
        self.client.no_evict.store(false, Relaxed);
        self.set_user(Arc::clone(engine.acl.default_user()));
        self.set_authenticated(engine.acl.is_open());
        self.client.set_name(String::new());
    }

    /// Whether commands are refused until the client authenticates. When the password is removed, no
    /// client needs one; when one is set, authenticated clients stay authenticated.
    #[inline]
    pub fn needs_auth(&self, engine: &Engine) -> bool {
        !self.authenticated && !engine.acl.is_open()
    }
}

impl Engine {
    /// Has its thread close a connection, after its pending output. Returns false when that was asked for
    /// before. A session closes its own connection by itself (`Session::closing`).
    pub fn close(&self, client: &Client) -> bool {
        let first = client.mark_closing();
        if first {
            self.post(client.thread, Message::Close(client.id));
        }
        first
    }
}

impl Thread {
    /// Enforces `maxmemory-clients` when the memory of `client` may have changed. Returns whether it is
    /// among those that have to go; all others are notified.
    #[inline]
    pub fn evict_clients(&mut self, engine: &Engine, client: &Client) -> bool {
        // The batch may have been CONFIG SET.
        self.refresh(&engine.config);
        if self.hot.clients_max == 0 {
            return false;
        }
        let over = engine.clients.account(client) > self.hot.clients_max;
        (over || self.recount_clients) && self.evict_largest(engine, client)
    }

    #[cold]
    fn evict_largest(&mut self, engine: &Engine, client: &Client) -> bool {
        self.recount_clients = false;
        let look = engine.hooks.look.read().clone();
        let evicted = engine.clients.evict(self.hot.clients_max, look.as_ref());
        for Evicted { client: c, was_closing } in &evicted {
            if !was_closing {
                bump(&self.worker.stats.evicted_clients, 1);
                crate::log!(
                    engine.log,
                    Notice,
                    "Evicting client: id={} addr={}",
                    c.id,
                    c.endpoint.peer
                );
            }
            if c.id != client.id {
                engine.post(c.thread, Message::Close(c.id));
            }
        }
        evicted.iter().any(|e| e.client.id == client.id)
    }
}
