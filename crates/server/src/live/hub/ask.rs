//! Questions to the application: a function in the store answers at once, what goes over HTTP later.
//!
//! ```text
//!  command ─► ask() ─► function ───────────────────────────► finish() ─► reply
//!               └────► live-http ─► mail ─► answered() ──────┘
//! ```
//!
//! What is to be done with the answer is a [`Then`]: it is kept with the client, and is gone when the client is gone.

use std::sync::Arc;

use ::live::code::Refusal;
use ::live::options::{Endpoint, Proxy};
use ::live::proxy::{self, Caller, Event, Outcome};
use ::live::{Error, connect, permission};
use config::Id;
use engine::log;
use live_http::Question;
use live_protocol::{ConnectRequest, Form, Publication, ReplyResult, SubscribeRequest};

use super::{Client, Cx, Hub};
use crate::live::mail::Mail;
use crate::live::store::Keep;
use crate::live::value::Value;

/// What comes of a command; `Ok(None)`: its reply was sent, or is still to come.
pub(super) type Done = Result<Option<ReplyResult>, Refusal>;

/// What is done with an answer.
#[derive(Debug)]
pub(super) enum Then {
    Connect(Box<ConnectRequest>),
    Subscribe(Box<SubscribeRequest>),
    Publish(String, Box<Publication>),
    Rpc,
    /// A connection has expired.
    Refresh,
    /// A subscription has.
    SubRefresh(Arc<str>),
}

/// A question that has no answer yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) number: u64,
    /// The number of the client's command; 0: it was none.
    command: u32,
    proxy: Arc<Proxy>,
    then: Then,
}

impl Pending {
    /// Whether a client waits for the answer.
    pub(super) fn is_command(&self) -> bool {
        !matches!(self.then, Then::Refresh | Then::SubRefresh(_))
    }
}

fn caller(client: &Client) -> Caller<'_> {
    Caller {
        client: &client.uid,
        transport: client.wire.kind.name(),
        protocol: if client.wire.form == Form::Json { "json" } else { "protobuf" },
        user: &client.user,
        meta: client.meta.as_deref(),
    }
}

impl Hub {
    /// Asks what a client may do, or what its call comes to, and goes on with the answer when it is there.
    pub(super) fn ask(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        (command, proxy): (u32, &Arc<Proxy>),
        event: &Event<'_>,
        then: Then,
    ) -> Done {
        let Some(client) = self.clients.get_mut(&id) else { return Ok(None) };
        let body = proxy::request(proxy, &caller(client), event);
        let asked = self.live.proxies.asks(event.name(), proxy);
        let url = match &proxy.endpoint {
            Endpoint::Http(url) => url.clone(),
            Endpoint::Function(name) => {
                let outcome = self.call(cx, name, event.name(), body);
                asked.ends(&outcome);
                return self.finish(cx, id, (command, proxy), then, &outcome);
            }
        };
        let (emulated, http) = client
            .headers
            .as_deref()
            .map_or((&[][..], &[][..]), |headers| (&*headers.emulated, &*headers.http));
        let question = Question {
            url,
            headers: proxy::headers(proxy, emulated, http),
            body: Some(body),
            timeout: proxy.timeout,
            tls: proxy.tls.clone(),
            answer_max: proxy::ANSWER_MAX,
        };
        self.questions += 1;
        let number = self.questions;
        let pending = Pending { number, command, proxy: Arc::clone(proxy), then };
        client.waits.get_or_insert_default().pending.push(pending);
        let (live, engine) = (Arc::clone(&self.live), Arc::clone(&cx.shared.engine));
        let (thread, name) = (cx.thread.index, proxy.name.clone());
        self.live.ask(question, move |outcome| {
            asked.ends(&outcome);
            if let Some(why) = outcome.why_none() {
                log!(engine.log, Warning, "live: proxy {}: {}", name, why);
            }
            live.post(&engine, thread, Mail::Answered(id, number, outcome));
        });
        Ok(None)
    }

    /// A question is answered.
    pub(super) fn answered(&mut self, cx: &mut Cx<'_>, id: u64, number: u64, outcome: &Outcome) {
        let waits = self.clients.get_mut(&id).and_then(|client| client.waits.as_mut());
        let Some(waits) = waits else { return };
        let Some(at) = waits.pending.iter().position(|one| one.number == number) else { return };
        let Pending { command, proxy, then, .. } = waits.pending.swap_remove(at);
        let connects = matches!(then, Then::Connect(_));
        let done = self.finish(cx, id, (command, &proxy), then, outcome);
        self.done(cx, id, command, connects, done);
        self.go_on(cx, id);
    }

    /// Calls a function in the store.
    fn call(&mut self, cx: &mut Cx<'_>, name: &str, event: &str, request: Vec<u8>) -> Outcome {
        let engine = &cx.shared.engine;
        let user = engine.config.string(Id::LiveUser);
        if !user.is_empty() {
            let Some(user) = engine.acl.user(user.as_bytes()) else {
                log!(engine.log, Warning, "live: live-user names no user");
                return Outcome::Failed("live-user names no user".into());
            };
            self.functions.set_user(user);
        }
        let mut words = vec![
            b"fcall".to_vec(),
            name.as_bytes().to_vec(),
            b"0".to_vec(),
            event.as_bytes().to_vec(),
            request,
        ];
        let reply = cx.thread.call_for_page(engine, &mut self.functions, &mut words);
        match Value::of(&reply) {
            Value::Error(why) => {
                log!(engine.log, Warning, "live: function {}: {}", name, why);
                Outcome::Failed(why)
            }
            Value::Nothing => Outcome::Answer(b"{}".to_vec()),
            other => Outcome::Answer(other.bytes().to_vec()),
        }
    }

    /// Goes on with an answer.
    fn finish(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        (command, proxy): (u32, &Arc<Proxy>),
        then: Then,
        outcome: &Outcome,
    ) -> Done {
        let options = self.options();
        match then {
            Then::Connect(asked) => {
                let answer = proxy::connect(&options, proxy, outcome)?;
                let channels: Vec<&str> = asked.subs.keys().map(String::as_str).collect();
                let wish = self.wish(id, &asked, &channels);
                let plan = connect::with_proxy(&options, &wish, answer)?;
                self.connect_with(cx, id, command, &asked, plan).map(|()| None)
            }
            Then::Subscribe(asked) => {
                let namespace = options.channel.find(&asked.channel)?.namespace;
                let granted = proxy::subscribe(namespace, proxy, outcome)?;
                let Some(client) = self.clients.get(&id) else { return Ok(None) };
                let limit = options.client.channel_limit;
                if client.subscription(&asked.channel).is_some() {
                    return Err(Error::ALREADY_SUBSCRIBED.into());
                }
                if limit > 0 && client.subscriptions.len() >= limit {
                    return Err(Error::LIMIT_EXCEEDED.into());
                }
                let granted = permission::subscribe_with_proxy(namespace, granted);
                self.subscribe_with(cx, id, command, &asked, &granted).map(|()| None)
            }
            Then::Publish(channel, mut publication) => {
                let namespace = options.channel.find(&channel)?.namespace;
                let answer = proxy::publish(namespace, proxy, outcome)?;
                if let Some(data) = answer.data {
                    publication.data = data;
                }
                publication.tags = answer.tags;
                let keep = Keep {
                    idempotency_key: answer.idempotency_key,
                    version: answer.version,
                    version_epoch: answer.version_epoch,
                    ..Keep::of(&answer.plan)
                };
                self.publish_with(cx, (id, command), &channel, *publication, keep)
            }
            Then::Rpc => Ok(Some(ReplyResult::Rpc(proxy::rpc(proxy, outcome)?))),
            Then::Refresh => {
                self.refreshed(cx, id, proxy, outcome);
                Ok(None)
            }
            Then::SubRefresh(channel) => {
                self.sub_refreshed(cx, id, proxy, &channel, outcome);
                Ok(None)
            }
        }
    }
}
