//! Commands of clients, and their replies.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::code::Refusal;
use ::live::permission::{self, Asked, Step, Subscription as Granted};
use ::live::proxy::Event;
use ::live::rpc::{self, Call};
use ::live::{Disconnect, Error};

use super::ask::{Done, Then};
use super::broker::After;
use super::count::name;
use super::{Cx, Hub, failed, read_only, who};
use crate::live::store::{Keep, Op, Span};
use live_protocol::{
    Command, HistoryRequest, Method, Publication, PublishRequest, ReplyResult, RpcRequest,
    SubscribeRequest,
};

impl Hub {
    /// A client has sent what is no command.
    pub(crate) fn malformed(&mut self, cx: &mut Cx<'_>, id: u64) {
        self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
    }

    pub(super) fn command(&mut self, cx: &mut Cx<'_>, id: u64, command: Command) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let now = cx.thread.cx.now;
        let is_connect = matches!(command.method, Method::Connect(_));
        if !client.connected && !is_connect {
            return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
        }
        let uni = client.wire.is_unidirectional();
        if command.id == 0 && !matches!(command.method, Method::Send(_)) && !(uni && is_connect) {
            // The answer to a ping; one without a ping is an error.
            let sent = std::mem::take(&mut client.pinged_at);
            if sent == 0 {
                return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
            }
            client.pong_until = 0;
            let kind = client.wire.kind;
            self.ponged(kind, sent, now);
            return self.schedule(cx, id);
        }
        let limited =
            client.limiter.allow(&self.options.client.rate_limit, name(&command.method), now);
        self.command_begins(id, &command);
        match limited {
            Ok(()) => self.execute(cx, id, command),
            Err(error) => self.refuse(cx, id, command.id, error.into()),
        }
        self.command_executed(id);
    }

    /// Executes a command that may be.
    pub(super) fn execute(&mut self, cx: &mut Cx<'_>, id: u64, command: Command) {
        let number = command.id;
        let connects = matches!(command.method, Method::Connect(_));
        let done = match &command.method {
            Method::Connect(asked) => self.connect(cx, id, number, asked),
            Method::Subscribe(asked) => self.subscribe_command(cx, id, number, asked),
            Method::Unsubscribe(asked) => {
                self.unsubscribe_command(cx, id, &asked.channel).map(Some)
            }
            Method::Publish(asked) => self.publish_command(cx, id, number, asked),
            Method::Presence(asked) => {
                self.presence_command(cx, (id, number), &asked.channel, false)
            }
            Method::PresenceStats(asked) => {
                self.presence_command(cx, (id, number), &asked.channel, true)
            }
            Method::History(asked) => self.history_command(cx, (id, number), asked),
            Method::Refresh(token) => self.refresh(cx, id, token).map(Some),
            Method::SubRefresh(asked) => {
                self.sub_refresh(cx, id, &asked.channel, &asked.token).map(Some)
            }
            Method::Rpc(asked) => self.rpc_command(cx, id, number, asked),
            Method::Send(_) => Err(Disconnect::NOT_AVAILABLE.into()),
            Method::Ping | Method::None => Err(Disconnect::BAD_REQUEST.into()),
        };
        if std::mem::take(&mut self.misses_key) && done.is_err() {
            return self.wait_for_key(id, command);
        }
        self.done(cx, id, number, connects, done);
    }

    /// Replies to a command that is done.
    pub(super) fn done(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u32,
        connects: bool,
        done: Done,
    ) {
        match done {
            Ok(Some(result)) => self.reply(cx, id, number, result),
            Ok(None) => {}
            Err(refusal) => {
                if let Some(client) = self.clients.get_mut(&id).filter(|_| connects) {
                    client.unusable = true;
                }
                self.refuse(cx, id, number, refusal);
            }
        }
    }

    fn subscribe_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u32,
        asked: &SubscribeRequest,
    ) -> Done {
        let Some(client) = self.clients.get(&id) else { return Ok(None) };
        let options = Arc::clone(&self.options);
        let wish = Asked {
            channel: &asked.channel,
            token: &asked.token,
            positioned: asked.positioned,
            recoverable: asked.recoverable,
            join_leave: asked.join_leave,
        };
        let there = client.subscription(&asked.channel).is_some();
        let channels = client.subscriptions.len();
        let granted = match permission::subscribe(&options, who(client), &wish, channels, there)? {
            Step::Allowed(granted) => granted,
            Step::Token => {
                let token = self.subscription_token(cx, &asked.token);
                let Some(client) = self.clients.get(&id) else { return Ok(None) };
                permission::subscribe_with_token(&options, who(client), &wish, token)?
            }
            Step::Proxy(proxy) => {
                let (channel, token) = (&*asked.channel, &*asked.token);
                let event = Event::Subscribe { channel, token, data: &asked.data.0 };
                let then = Then::Subscribe(Box::new(asked.clone()));
                return self.ask(cx, id, (number, &proxy), &event, then);
            }
        };
        self.subscribe_with(cx, id, number, asked, &granted).map(|()| None)
    }

    /// Subscribes a client that may subscribe, and replies.
    pub(super) fn subscribe_with(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u32,
        asked: &SubscribeRequest,
        granted: &Granted,
    ) -> Result<(), Refusal> {
        let now = cx.thread.cx.now;
        if granted.options.expire_at > 0 && granted.options.expire_at < now / 1000 {
            return Err(Error::EXPIRED.into());
        }
        if !self.is_read(&asked.channel)
            && self.read_for_subscribe(cx, id, number, asked, granted)?
        {
            return Ok(());
        }
        if self.begins_remotely(&asked.channel) {
            let after = After::Subscribe(Box::new(asked.clone()), Box::new(granted.clone()));
            return self.begin_remotely(cx, id, number, after);
        }
        let result = self.subscribe(cx, id, asked, granted, false)?;
        self.reply(cx, id, number, ReplyResult::Subscribe(Box::new(result)));
        self.joined(cx, id, &asked.channel);
        self.drain(cx);
        Ok(())
    }

    fn unsubscribe_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        channel: &str,
    ) -> Result<ReplyResult, Refusal> {
        if channel.is_empty() {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        self.unsubscribe(cx, id, channel);
        self.schedule(cx, id);
        Ok(ReplyResult::Unsubscribe)
    }

    fn publish_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u32,
        asked: &PublishRequest,
    ) -> Done {
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        if asked.data.0.is_empty() {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        let options = Arc::clone(&self.options);
        let sub = client.subscription(&asked.channel);
        let there = sub.is_some();
        let step =
            permission::publish(&options, who(client), &asked.channel, &asked.data.0, there)?;
        let info = client.info_in(sub.map_or(&[], |sub| &sub.info));
        let publication = Publication {
            data: asked.data.0.clone(),
            info: Some(info),
            time: cx.thread.cx.now as u64,
            ..Publication::default()
        };
        match step {
            Step::Allowed(plan) => {
                self.publish_with(cx, (id, number), &asked.channel, publication, Keep::of(&plan))
            }
            Step::Proxy(proxy) => {
                let event = Event::Publish { channel: &asked.channel, data: &asked.data.0 };
                let then = Then::Publish(asked.channel.clone(), Box::new(publication));
                self.ask(cx, id, (number, &proxy), &event, then)
            }
            Step::Token => Err(Error::NOT_AVAILABLE.into()),
        }
    }

    /// Publishes what a client may publish.
    pub(super) fn publish_with(
        &mut self,
        cx: &mut Cx<'_>,
        (id, number): (u64, u32),
        channel: &str,
        publication: Publication,
        keep: Keep,
    ) -> Done {
        if self.is_remote() {
            let channel = channel.to_owned();
            let after = After::Publish(channel.clone());
            let op = Op::Publish { channel, publication, keep };
            return self.ask_remotely(cx, (id, number), op, after);
        }
        if cx.shared.engine.is_read_only() {
            return Err(read_only().into());
        }
        if let Err(why) = self.store(cx).publish(channel, &publication, &keep) {
            return Err(failed(cx, &why).into());
        }
        self.count_published(cx, channel);
        // The client sees its own publication before the reply.
        self.drain(cx);
        Ok(Some(ReplyResult::Publish))
    }

    pub(super) fn count_published(&self, cx: &Cx<'_>, channel: &str) {
        cx.shared.engine.live.published.fetch_add(1, Relaxed);
        if let Some(there) = self.channels.get(channel) {
            there.counts.published.fetch_add(1, Relaxed);
        } else if let Ok(found) = self.options.channel.find(channel) {
            self.live.counts(&found.namespace.name).published.fetch_add(1, Relaxed);
        }
    }

    fn rpc_command(&mut self, cx: &mut Cx<'_>, id: u64, number: u32, asked: &RpcRequest) -> Done {
        match rpc::call(&self.options, &asked.method)? {
            Call::Ping => Ok(Some(ReplyResult::Rpc(b"{}".to_vec()))),
            Call::Proxy(proxy) => {
                let event = Event::Rpc { method: &asked.method, data: &asked.data.0 };
                self.ask(cx, id, (number, &proxy), &event, Then::Rpc)
            }
        }
    }

    fn presence_command(
        &mut self,
        cx: &mut Cx<'_>,
        (id, number): (u64, u32),
        channel: &str,
        counts: bool,
    ) -> Done {
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let options = Arc::clone(&self.options);
        let there = client.subscription(channel).is_some();
        permission::presence(&options, who(client), channel, there)?;
        self.acts(if counts { "presence_stats" } else { "presence" }, channel);
        let op = Op::Presence { channel: channel.to_owned() };
        self.ask_store(cx, (id, number), op, After::Presence { counts })
    }

    fn history_command(
        &mut self,
        cx: &mut Cx<'_>,
        (id, number): (u64, u32),
        asked: &HistoryRequest,
    ) -> Done {
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let options = Arc::clone(&self.options);
        let there = client.subscription(&asked.channel).is_some();
        let found = permission::history(&options, who(client), &asked.channel, there)?;
        let limit = permission::history_limit(&options, asked.limit);
        let since = asked.since.as_ref();
        if asked.reverse && since.is_some_and(|since| since.offset == 0) {
            return Err(Error::BAD_REQUEST.into());
        }
        let span = Span {
            since: since.map(|since| since.offset),
            limit: limit.map_or(-1, |limit| limit as i64),
            reverse: asked.reverse,
        };
        if found.topic.is_some() {
            return self.read_for_history(cx, id, number, asked, span);
        }
        self.acts("history", &asked.channel);
        let channel = asked.channel.clone();
        let op = Op::History { channel, span, meta_ttl: found.history_meta_ttl };
        let epoch = since.map(|since| since.epoch.clone()).filter(|epoch| !epoch.is_empty());
        self.ask_store(cx, (id, number), op, After::History(epoch))
    }
}
