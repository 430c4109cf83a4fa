//! A thread's live channels: its clients, and who of them is subscribed to what. See [`crate::live`].
//!
//! Everything here happens on one thread, so nothing can come between the reading of a position and the
//! subscription: a channel is tapped before its position is read, messages of before are told by their offset.

mod ask;
mod batch;
mod broker;
mod channel;
mod client;
mod commands;
mod connect;
mod count;
mod deliver;
mod encode;
mod held;
mod manage;
mod recent;
mod remote;
mod subscribe;
mod timers;
mod topic_history;
mod topics;
mod unsent;
mod waits;
pub(super) mod wire;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::code::Refusal;
use ::live::limit::Limiter;
use ::live::permission::Who;
use ::live::{Disconnect, Error, Options, Unsubscribe};
use engine::{Session, Thread};
use stdx::hash::{NumberMap, Seeded};

use self::channel::Channel;
use self::client::{Client, Grace, Headers};
use self::count::Timing;
pub(super) use self::count::received;
use self::held::Held;
use self::recent::Recent;
use self::wire::{Unsent, Wire};
use super::Live;
use super::store::{READ_ONLY, Store};
use super::tally::{Key, Tally};
use crate::Shared;
use crate::net::Outlets;
use live_protocol::{Push, Reply, ReplyResult};

/// The largest buffer that is kept for the next message.
const SCRATCH_MAX: usize = 64 * 1024;

/// Where the hub acts.
pub(crate) struct Cx<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) thread: &'a mut Thread,
    pub(crate) outlets: &'a mut Outlets,
}

/// Headers of HTTP that are kept of a request.
pub(crate) type Fields = Vec<(String, String)>;

/// What an answer of the API that comes later has of its request.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerForm {
    pub(super) date: String,
    /// The next request follows.
    pub(super) keeps: bool,
    /// The minor version of HTTP.
    pub(super) minor: u8,
}

/// See the module's text.
pub(crate) struct Hub {
    live: Arc<Live>,
    pub(super) options: Arc<Options>,
    session: Session,
    /// As whom functions that decide run.
    functions: Session,
    /// Questions that were asked over HTTP.
    questions: u64,
    /// A token was looked at whose key is being fetched.
    misses_key: bool,
    /// Clients with commands that wait for a key.
    keyless: Vec<u64>,
    /// Channels in which publications wait for others.
    batches: Vec<Arc<str>>,
    /// The number of the last channel that the thread began to follow.
    numbered: u64,
    pub(super) clients: NumberMap<Client>,
    pub(super) channels: HashMap<Arc<str>, Channel, Seeded>,
    /// Clients of the API that wait for other servers.
    pub(super) waiting: NumberMap<AnswerForm>,
    /// What was read from the broker for subscriptions that begin now.
    begun: broker::Reads,
    /// Clients that are not connected yet, with what their answers begin with.
    unsent: NumberMap<Unsent>,
    held: Held,
    /// What clients have missed that recover now.
    recent: Recent,
    /// Buffers for a message and its frame, empty.
    scratch: Cell<(Vec<u8>, Vec<u8>)>,
    /// Topics that channels of the thread follow.
    topics: HashMap<Arc<str>, topics::Followed>,
    /// What the thread counts.
    pub(super) tally: Arc<Tally>,
    timing: Timing,
}

impl Hub {
    pub(crate) fn new(shared: &Shared, live: &Arc<Live>, thread: &Thread) -> Box<Self> {
        // What was left for the hub of this thread before there was one is for nobody.
        live.take_mail(thread.index);
        Box::new(Self {
            live: Arc::clone(live),
            options: live.options(),
            session: Session::inner(&shared.engine, thread.index),
            functions: Session::inner(&shared.engine, thread.index),
            questions: 0,
            misses_key: false,
            keyless: Vec::new(),
            clients: Default::default(),
            channels: Default::default(),
            batches: Vec::new(),
            numbered: 0,
            waiting: Default::default(),
            begun: broker::Reads::new(),
            unsent: Default::default(),
            held: Held::default(),
            recent: Recent::default(),
            scratch: Cell::default(),
            topics: HashMap::new(),
            tally: live.tally(thread.index),
            timing: Timing::default(),
        })
    }

    /// A connection has become a live one, by a request with these headers.
    pub(crate) fn open(&mut self, cx: &mut Cx<'_>, id: u64, wire: Wire, http: Fields) {
        let now = cx.thread.cx.now;
        let stale = self.options.client.stale_close_delay;
        let session: Box<str> = if wire.is_emulated() || wire.is_unidirectional() {
            super::uuid::new_uuid().into()
        } else {
            "".into()
        };
        if wire.is_emulated() {
            self.live.add_session(&session, cx.thread.index, id, wire);
        }
        let client = Client {
            uid: super::uuid::new_uuid().into(),
            session,
            wire,
            connected: false,
            unusable: false,
            user: "".into(),
            info: Box::default(),
            meta: None,
            client_side_refresh: true,
            limiter: Limiter::default(),
            headers: (!http.is_empty()).then(|| Box::new(Headers { http, emulated: Vec::new() })),
            waits: None,
            refreshing: false,
            subscriptions: Vec::new(),
            expire_at: 0,
            stale_at: stale.map_or(0, |delay| now + delay.as_millis() as i64),
            ping_at: 0,
            pong_until: 0,
            presence_at: 0,
            check_at: 0,
            pinged_at: 0,
            names: 0,
        };
        self.clients.insert(id, client);
        self.schedule(cx, id);
    }

    /// A connection is gone.
    pub(crate) fn ended(&mut self, cx: &mut Cx<'_>, id: u64) {
        self.remove(cx, id);
    }

    /// A client has not taken what it was sent: it connects again, and recovers.
    pub(crate) fn slow(&mut self, cx: &mut Cx<'_>, id: u64) {
        cx.shared.engine.live.slow.fetch_add(1, Relaxed);
        self.disconnect(cx, id, &Disconnect::SLOW);
    }

    /// The server stops.
    pub(crate) fn stop(&mut self, cx: &mut Cx<'_>, id: u64) {
        self.disconnect(cx, id, &Disconnect::SHUTDOWN);
    }

    /// Once in each turn of the event loop: mail of other threads, and messages.
    pub(crate) fn turn(&mut self, cx: &mut Cx<'_>) {
        self.follow_options(cx);
        self.recent.forget(cx.thread.cx.now);
        for mail in self.live.take_mail(cx.thread.index) {
            self.read_mail(cx, mail);
        }
        self.drain(cx);
        self.flush_due(cx);
        if cx.thread.index == 0 {
            self.keep_company(cx);
        }
    }

    pub(super) fn options(&self) -> Arc<Options> {
        Arc::clone(&self.options)
    }

    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live)
    }

    pub(super) fn store<'a>(&'a mut self, cx: &'a mut Cx<'_>) -> Store<'a> {
        Store {
            engine: &cx.shared.engine,
            thread: cx.thread,
            session: &mut self.session,
            prefixes: &self.live.prefixes,
        }
    }

    fn grace(&self) -> Grace {
        let client = &self.options.client;
        Grace {
            connection: client.expired_close_delay.as_secs() as i64,
            subscription: client.expired_sub_close_delay.as_secs() as i64,
        }
    }

    /// Has the client's connection call when something is due next.
    pub(super) fn schedule(&self, cx: &mut Cx<'_>, id: u64) {
        let due = self.clients.get(&id).map_or(0, |client| client.due(self.grace()));
        cx.outlets.call_at(id, due);
    }

    /// Sends a message, encoded by `encode` in the form of its wire.
    fn send(
        &self,
        cx: &mut Cx<'_>,
        id: u64,
        frame: &'static str,
        encode: impl FnOnce(Wire, &mut Vec<u8>),
    ) {
        let Some(client) = self.clients.get(&id) else { return };
        let (mut message, mut framed) = self.scratch.take();
        encode(client.wire, &mut message);
        client.wire.frame(&message, &mut framed);
        cx.outlets.append(id, &framed);
        if self.counts_all() {
            self.tally.message(Key::Sent(client.wire.kind, frame), message.len());
        }
        if message.capacity() <= SCRATCH_MAX {
            message.clear();
            framed.clear();
            self.scratch.set((message, framed));
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, id: u64, command: u32, result: ReplyResult) {
        let error = if let ReplyResult::Error(error) = &result { Some(error.code) } else { None };
        let method = self.command_replied(id, command, error);
        let reply = Reply { id: command, result };
        self.send(cx, id, method, |wire, out| reply.encode(wire.form, out));
    }

    fn push(&self, cx: &mut Cx<'_>, id: u64, channel: &str, push: &Push<'_>) {
        self.send(cx, id, frame(push), |wire, out| {
            push.encode(channel, wire.form, wire.is_unidirectional(), out)
        });
    }

    /// Tells a client why its command failed, or ends it.
    fn refuse(&mut self, cx: &mut Cx<'_>, id: u64, command: u32, refusal: Refusal) {
        let uni = self.clients.get(&id).is_some_and(|client| client.wire.is_unidirectional());
        match refusal {
            Refusal::Error(error)
                if self.refuse_by_status(cx, id, (error.code, &error.message)) => {}
            refusal if uni => {
                let end = ::live::connect::unidirectional(&self.options, refusal);
                self.disconnect(cx, id, &end);
            }
            Refusal::Error(error) => self.reply(cx, id, command, ReplyResult::Error(error)),
            Refusal::Disconnect(end) => self.disconnect(cx, id, &end),
        }
    }

    /// Ends a connection, and tells its client why.
    pub(super) fn disconnect(&mut self, cx: &mut Cx<'_>, id: u64, end: &Disconnect) {
        if self.clients.contains_key(&id) {
            self.tally.count(Key::Disconnected(end.code));
        }
        if self.refuse_by_status(cx, id, (end.code, &end.reason)) {
            return;
        }
        let Some(client) = self.clients.get(&id) else { return };
        let wire = client.wire;
        let mut last = Vec::new();
        let pushes = !wire.is_websocket()
            || wire.is_unidirectional() && !self.options.uni_websocket.disable_disconnect_push;
        if pushes {
            let mut message = Vec::new();
            Push::Disconnect(end).encode("", wire.form, wire.is_unidirectional(), &mut message);
            wire.frame(&message, &mut last);
            if self.counts_all() {
                self.tally.message(Key::Sent(wire.kind, "push_disconnect"), message.len());
            }
        }
        if wire.is_websocket() {
            websocket::frame::close(&mut last, end.code as u16, &end.reason);
        }
        cx.outlets.end(id, &last);
        self.remove(cx, id);
    }

    /// Forgets a client: its subscriptions end, and others are told.
    fn remove(&mut self, cx: &mut Cx<'_>, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let channels: Vec<Arc<str>> =
            client.subscriptions.iter().map(|s| Arc::clone(&s.channel)).collect();
        for channel in channels {
            self.unsubscribe(cx, id, &channel);
        }
        self.unsent.remove(&id);
        self.timing.forget(id);
        if let Some(client) = self.clients.remove(&id) {
            if client.wire.is_emulated() {
                self.live.remove_session(&client.session);
            }
            if client.connected {
                cx.shared.engine.live.clients.fetch_sub(1, Relaxed);
                self.live.end_user(&client.user);
                let all = &self.tally.connections[client.wire.kind as usize];
                all[usize::from(client.names)].ended.add(1);
            }
        }
    }

    /// Ends a subscription of a client from this side, and tells it.
    pub(super) fn end_subscription(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        channel: &str,
        end: &Unsubscribe,
    ) {
        if self.unsubscribe(cx, id, channel) {
            self.tally.count(Key::Unsubscribed(end.code, self.label(channel)));
            self.push(cx, id, channel, &Push::Unsubscribe(end));
        }
    }
}

/// What a push is called in metrics.
fn frame(push: &Push<'_>) -> &'static str {
    match push {
        Push::Publication(_) => "push_publication",
        Push::Join(_) => "push_join",
        Push::Leave(_) => "push_leave",
        Push::Unsubscribe(_) => "push_unsubscribe",
        Push::Message(_) => "push_message",
        Push::Subscribe(_) => "push_subscribe",
        Push::Connect(_) => "push_connect",
        Push::Disconnect(_) => "push_disconnect",
        Push::Refresh { .. } => "push_refresh",
    }
}

/// A client as the rules see it.
fn who(client: &Client) -> Who<'_> {
    Who { user: &client.user, client: &client.uid }
}

/// The store has failed: what it says is for the log, and the client may try again.
fn failed(cx: &Cx<'_>, why: &str) -> Error {
    engine::log!(cx.shared.engine.log, Verbose, "live: {}", why);
    Error::INTERNAL
}

/// What a client of a replica is told that wants to tell others something. It passes: the server may become a primary.
fn read_only() -> Error {
    Error { message: READ_ONLY.into(), ..Error::INTERNAL }
}

/// Seconds from now until a second, 0 if that is over.
fn ttl(now_ms: i64, expire_at: i64) -> u32 {
    u32::try_from((expire_at - now_ms / 1000).max(0)).unwrap_or(u32::MAX)
}
