//! One connection's state.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use resp::Proto;
use store::Waiter;

use crate::acl::User;
use crate::clients::Client;
use crate::feed::Feed;
use crate::queued::{Multi, Watching};
use crate::take_input::TakeInput;
use crate::tracking::Tracker;

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
    /// The part of it that other threads see.
    pub client: Arc<Client>,
    /// It is the link to the primary: its commands are obeyed, whatever state the server is in.
    pub from_primary: bool,
    /// Selected database.
    pub db: usize,
    /// Protocol version.
    pub proto: Proto,
    /// Whether it may run commands that need authentication.
    pub authenticated: bool,
    /// The user that it is authenticated as, or else the default user.
    pub user: Arc<User>,
    /// CLIENT REPLY.
    pub reply: ReplyMode,
    /// CLIENT NO-TOUCH.
    pub no_touch: bool,
    /// Receives every command (MONITOR).
    pub monitor: bool,
    /// Close after the replies so far have been sent (QUIT, protocol errors).
    pub closing: bool,
    /// Where push messages wait for it, if it has had any reason to get some: see [`Self::slot`].
    pub(crate) outbox: Option<NonZeroU32>,
    /// CLIENT TRACKING.
    pub tracking: Option<Arc<Tracker>>,
    /// CLIENT CACHING was called for the next command.
    pub caching: bool,
    /// The page that it renders ([`::pubsub::tracking::Pages::reader`]): its reads are remembered for that.
    /// 0: none.
    pub page: u64,
    /// Its commands must take the general path: it is subscribed in RESP2, or its reads are tracked.
    pub(crate) attention: bool,
    /// A command that must wait (CLIENT PAUSE): it is run before any further input.
    pub deferred: Option<Box<Deferred>>,
    /// Since when it waits for scripts that run, in monotonic nanoseconds; 0: it does not.
    pub(crate) asked: u64,
    /// A command wants the input itself that its arguments lie in: called with it when the batch has
    /// been executed, by [`crate::Thread::run`] with a copy.
    pub take_input: Option<Box<TakeInput>>,
    /// The commands that MULTI has queued.
    pub multi: Option<Box<Multi>>,
    /// The keys that WATCH watches.
    pub(crate) watching: Option<Box<Watching>>,
    /// The command that it waits for, if one blocks it.
    pub blocked: Option<Arc<Waiter>>,
    /// Output of it that is no reply; [`Message::Fed`] tells its thread of it.
    ///
    /// [`Message::Fed`]: crate::Message::Fed
    pub feed: Option<Box<Arc<dyn Feed>>>,
}

/// A command that must wait.
pub struct Deferred {
    /// Its name and its arguments.
    pub words: Vec<Vec<u8>>,
}

impl Session {
    pub(crate) fn over(client: Arc<Client>, user: Arc<User>, authenticated: bool) -> Self {
        client.authenticated.store(authenticated, Relaxed);
        Self {
            client,
            from_primary: false,
            db: 0,
            proto: Proto::V2,
            authenticated,
            user,
            reply: ReplyMode::On,
            no_touch: false,
            monitor: false,
            closing: false,
            outbox: None,
            tracking: None,
            caching: false,
            page: 0,
            attention: false,
            deferred: None,
            asked: 0,
            take_input: None,
            multi: None,
            watching: None,
            blocked: None,
            feed: None,
        }
    }

    /// The number of its outbox, if it has one.
    #[inline]
    pub(crate) fn slot(&self) -> Option<u32> {
        self.outbox.map(|above| above.get() - 1)
    }

    /// SELECT.
    pub fn select(&mut self, db: usize) {
        self.db = db;
        self.client.db.store(db as u32, Relaxed);
    }

    /// Bytes of the arguments of the commands that MULTI has queued.
    pub fn queued_bytes(&self) -> usize {
        self.multi.as_ref().map_or(0, |multi| multi.bytes)
    }

    /// HELLO.
    pub fn set_proto(&mut self, proto: Proto) {
        self.proto = proto;
        self.client.receiver.set_proto(proto);
    }

    /// Whether it may only change its subscriptions: a RESP2 client could not distinguish messages
    /// from replies.
    #[inline]
    pub fn only_subscribes(&self) -> bool {
        self.proto == Proto::V2 && self.client.receiver.subscribed.load(Relaxed)
    }

    /// To be called when a condition of the general path has changed.
    pub(crate) fn note_attention(&mut self) {
        let reads = self.tracking.as_ref().is_some_and(|t| !t.bcast);
        self.attention = self.only_subscribes() || reads;
    }

    /// Sets the user that it acts as.
    pub fn set_user(&mut self, user: Arc<User>) {
        *self.client.user.write() = Arc::clone(&user);
        self.user = user;
    }

    /// AUTH.
    pub fn set_authenticated(&mut self, yes: bool) {
        self.authenticated = yes;
        self.client.authenticated.store(yes, Relaxed);
    }

    /// CLIENT NO-TOUCH.
    pub fn set_no_touch(&mut self, yes: bool) {
        self.no_touch = yes;
        self.client.no_touch.store(yes, Relaxed);
    }
}
