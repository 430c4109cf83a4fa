//! One connection's state.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use resp::Proto;
use store::Waiter;

use crate::clients::{Client, Endpoint};
use crate::engine::Engine;
use crate::pubsub::Subscriptions;
use crate::tracking::Tracker;
use crate::transaction::{Multi, Watching};

/// CLIENT REPLY.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplyMode {
    /// Replies are sent.
    #[default]
    On,
    /// No replies at all.
    Off,
    /// No reply to this command (the CLIENT REPLY SKIP itself).
    SkipThis,
    /// No reply to the next command.
    SkipNext,
}

/// See the module's text.
pub struct Session {
    /// What others see of it.
    pub client: Arc<Client>,
    /// Selected database.
    pub db: usize,
    /// Protocol version.
    pub proto: Proto,
    /// Whether it may run commands that need authentication.
    pub authenticated: bool,
    /// CLIENT REPLY.
    pub reply: ReplyMode,
    /// CLIENT NO-TOUCH.
    pub no_touch: bool,
    /// Receives every command (MONITOR).
    pub monitor: bool,
    /// Close after the replies so far have been sent (QUIT, protocol errors).
    pub closing: bool,
    /// What it is subscribed to.
    pub(crate) subs: Option<Box<Subscriptions>>,
    /// Where push messages wait for it, if it has had any reason to get some.
    pub(crate) outbox: Option<u32>,
    /// CLIENT TRACKING.
    pub(crate) tracking: Option<Arc<Tracker>>,
    /// CLIENT CACHING was called for the next command.
    pub(crate) caching: bool,
    /// Its commands must take the general way: it is subscribed in RESP2, or what it reads is
    /// remembered.
    pub(crate) attention: bool,
    /// A command that must wait (CLIENT PAUSE): it is run before any further input.
    pub deferred: Option<Vec<Vec<u8>>>,
    /// What MULTI has queued.
    pub(crate) multi: Option<Box<Multi>>,
    /// What WATCH watches.
    pub(crate) watching: Option<Box<Watching>>,
    /// The command that it waits for, if one blocks it.
    pub blocked: Option<Arc<Waiter>>,
}

impl Session {
    /// A new connection on `thread`.
    pub fn new(engine: &Engine, thread: usize, endpoint: Endpoint) -> Self {
        let client = engine.clients.add(thread, endpoint, engine.clock.wall_ms() as i64);
        Self::over(client, !engine.needs_password())
    }

    /// A session of the server itself on `thread`, which no list shows.
    pub fn inner(engine: &Engine, thread: usize) -> Self {
        let nowhere = String::new;
        let endpoint =
            Endpoint { peer: nowhere(), local: nowhere(), unix: true, loopback: true, fd: -1 };
        let now = engine.clock.wall_ms() as i64;
        Self::over(Arc::new(Client::new(0, thread, endpoint, now)), true)
    }

    fn over(client: Arc<Client>, authenticated: bool) -> Self {
        client.authenticated.store(authenticated, Relaxed);
        Self {
            client,
            db: 0,
            proto: Proto::V2,
            authenticated,
            reply: ReplyMode::On,
            no_touch: false,
            monitor: false,
            closing: false,
            subs: None,
            outbox: None,
            tracking: None,
            caching: false,
            attention: false,
            deferred: None,
            multi: None,
            watching: None,
            blocked: None,
        }
    }

    /// Back to how it began (RESET). The caller has ended its transaction and its watches.
    pub fn reset(&mut self, engine: &Engine) {
        if self.monitor {
            engine.monitors.remove(engine, self.client.id);
        }
        self.monitor = false;
        self.client.monitor.store(false, Relaxed);
        self.select(0);
        self.set_proto(Proto::V2);
        self.reply = ReplyMode::On;
        self.set_no_touch(false);
        self.client.no_evict.store(false, Relaxed);
        self.set_authenticated(!engine.needs_password());
        let mut names = self.client.names.write();
        names.name.clear();
        names.user = "default".into();
    }

    /// SELECT.
    pub fn select(&mut self, db: usize) {
        self.db = db;
        self.client.db.store(db as u64, Relaxed);
    }

    /// HELLO.
    pub fn set_proto(&mut self, proto: Proto) {
        self.proto = proto;
        self.client.proto.store(if proto == Proto::V3 { 3 } else { 2 }, Relaxed);
    }

    /// Whether it may only change its subscriptions: a RESP2 client could not tell messages from
    /// replies.
    #[inline]
    pub(crate) fn only_subscribes(&self) -> bool {
        self.proto == Proto::V2 && self.client.pubsub.load(Relaxed)
    }

    /// To be called when what decides about the general way has changed.
    pub(crate) fn note_attention(&mut self) {
        let reads = self.tracking.as_ref().is_some_and(|t| !t.bcast);
        self.attention = self.only_subscribes() || reads;
    }

    /// AUTH.
    pub fn set_authenticated(&mut self, yes: bool) {
        self.authenticated = yes;
        self.client.authenticated.store(yes, Relaxed);
    }

    /// Whether commands are refused until the client authenticates. When the password is taken
    /// away, nobody needs one any more; when one is set, whoever is in stays in.
    #[inline]
    pub fn needs_auth(&self, engine: &Engine) -> bool {
        !self.authenticated && engine.needs_password()
    }

    /// CLIENT NO-TOUCH.
    pub fn set_no_touch(&mut self, yes: bool) {
        self.no_touch = yes;
        self.client.no_touch.store(yes, Relaxed);
    }
}
