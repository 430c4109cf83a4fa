//! Commands of clients, and their replies.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::code::Refusal;
use ::live::permission::{self, Asked, Step};
use ::live::proxy::{self, Event};
use ::live::rpc::{self, Call};
use ::live::{Disconnect, Error};

use super::{Cx, Hub, failed, who};
use crate::live::store::{Keep, Span};
use crate::live::wire::{
    Command, HistoryRequest, HistoryResult, Method, Publication, PublishRequest, ReplyResult,
    RpcRequest, SubscribeRequest,
};

impl Hub {
    /// Executes commands of a client, in their order.
    pub(crate) fn commands(&mut self, cx: &mut Cx<'_>, id: u64, commands: Vec<Command>) {
        for command in commands {
            let Some(client) = self.clients.get(&id) else { return };
            if client.unusable {
                return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
            }
            self.command(cx, id, command);
        }
    }

    /// A client has sent what is no command.
    pub(crate) fn malformed(&mut self, cx: &mut Cx<'_>, id: u64) {
        self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
    }

    fn command(&mut self, cx: &mut Cx<'_>, id: u64, command: Command) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let now = cx.thread.cx.now;
        let is_connect = matches!(command.method, Method::Connect(_));
        if !client.connected && !is_connect {
            return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
        }
        let uni = client.wire.is_unidirectional();
        if command.id == 0 && !matches!(command.method, Method::Send) && !(uni && is_connect) {
            // The answer to a ping; one without a ping is an error.
            if !std::mem::take(&mut client.pinged) {
                return self.disconnect(cx, id, &Disconnect::BAD_REQUEST);
            }
            client.pong_until = 0;
            return self.schedule(cx, id);
        }
        let number = command.id;
        if let Err(error) =
            client.limiter.allow(&self.options.client.rate_limit, name(&command.method), now)
        {
            return self.refuse(cx, id, number, error.into());
        }
        let done = match command.method {
            Method::Connect(asked) => {
                let done = self.connect(cx, id, number, &asked);
                if let (Err(_), Some(client)) = (&done, self.clients.get_mut(&id)) {
                    client.unusable = true;
                }
                done.map(|()| None)
            }
            Method::Subscribe(asked) => {
                self.subscribe_command(cx, id, number, &asked).map(|()| None)
            }
            Method::Unsubscribe(asked) => {
                self.unsubscribe_command(cx, id, &asked.channel).map(Some)
            }
            Method::Publish(asked) => self.publish_command(cx, id, &asked).map(Some),
            Method::Presence(asked) => {
                self.presence_command(cx, id, &asked.channel, false).map(Some)
            }
            Method::PresenceStats(asked) => {
                self.presence_command(cx, id, &asked.channel, true).map(Some)
            }
            Method::History(asked) => self.history_command(cx, id, &asked).map(Some),
            Method::Refresh(token) => self.refresh(cx, id, &token).map(Some),
            Method::SubRefresh(asked) => {
                self.sub_refresh(cx, id, &asked.channel, &asked.token).map(Some)
            }
            Method::Rpc(asked) => self.rpc_command(cx, id, &asked).map(Some),
            Method::Send => Err(Disconnect::NOT_AVAILABLE.into()),
            Method::Ping | Method::None => Err(Disconnect::BAD_REQUEST.into()),
        };
        match done {
            Ok(Some(result)) => self.reply(cx, id, number, result),
            Ok(None) => {}
            Err(refusal) => self.refuse(cx, id, number, refusal),
        }
    }

    fn subscribe_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        number: u32,
        asked: &SubscribeRequest,
    ) -> Result<(), Refusal> {
        let Some(client) = self.clients.get(&id) else { return Ok(()) };
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
                permission::subscribe_with_token(&options, who(client), &wish, token)?
            }
            Step::Proxy(proxy) => {
                let (channel, token) = (&*asked.channel, &*asked.token);
                let event = Event::Subscribe { channel, token, data: &asked.data.0 };
                let outcome = self.ask(cx, id, &proxy, &event);
                let namespace = options.channel.find(channel)?.namespace;
                let granted = proxy::subscribe(namespace, &proxy, &outcome)?;
                permission::subscribe_with_proxy(namespace, granted)
            }
        };
        let now = cx.thread.cx.now;
        if granted.options.expire_at > 0 && granted.options.expire_at < now / 1000 {
            return Err(Error::EXPIRED.into());
        }
        let result = self.subscribe(cx, id, asked, &granted, false)?;
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
        asked: &PublishRequest,
    ) -> Result<ReplyResult, Refusal> {
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
        let mut publication =
            Publication { data: asked.data.0.clone(), info: Some(info), ..Publication::default() };
        let keep = match step {
            Step::Allowed(plan) => Keep::of(&plan),
            Step::Proxy(proxy) => {
                let event = Event::Publish { channel: &asked.channel, data: &asked.data.0 };
                let outcome = self.ask(cx, id, &proxy, &event);
                let namespace = options.channel.find(&asked.channel)?.namespace;
                let answer = proxy::publish(namespace, &proxy, &outcome)?;
                publication.data = answer.data.unwrap_or(publication.data);
                publication.tags = answer.tags;
                Keep {
                    idempotency_key: answer.idempotency_key,
                    version: answer.version,
                    version_epoch: answer.version_epoch,
                    ..Keep::of(&answer.plan)
                }
            }
            Step::Token => return Err(Error::NOT_AVAILABLE.into()),
        };
        if let Err(why) = self.store(cx).publish(&asked.channel, &publication, &keep) {
            return Err(failed(cx, &why).into());
        }
        cx.shared.engine.live.published.fetch_add(1, Relaxed);
        if let Ok(found) = options.channel.find(&asked.channel) {
            self.live.counts(&found.namespace.name).published.fetch_add(1, Relaxed);
        }
        // The client sees its own publication before the reply.
        self.drain(cx);
        Ok(ReplyResult::Publish)
    }

    fn rpc_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: &RpcRequest,
    ) -> Result<ReplyResult, Refusal> {
        match rpc::call(&self.options, &asked.method)? {
            Call::Ping => Ok(ReplyResult::Rpc(b"{}".to_vec())),
            Call::Proxy(proxy) => {
                let event = Event::Rpc { method: &asked.method, data: &asked.data.0 };
                let outcome = self.ask(cx, id, &proxy, &event);
                Ok(ReplyResult::Rpc(proxy::rpc(&proxy, &outcome)?))
            }
        }
    }

    fn presence_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        channel: &str,
        counts: bool,
    ) -> Result<ReplyResult, Refusal> {
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let options = Arc::clone(&self.options);
        let there = client.subscription(channel).is_some();
        permission::presence(&options, who(client), channel, there)?;
        let presence = self.store(cx).presence(channel);
        let presence = presence.map_err(|why| Refusal::from(failed(cx, &why)))?;
        if !counts {
            return Ok(ReplyResult::Presence(presence));
        }
        let mut users: Vec<&str> = presence.iter().map(|(_, info)| info.user.as_str()).collect();
        users.sort_unstable();
        users.dedup();
        let (clients, users) = (presence.len() as u32, users.len() as u32);
        Ok(ReplyResult::PresenceStats { clients, users })
    }

    fn history_command(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        asked: &HistoryRequest,
    ) -> Result<ReplyResult, Refusal> {
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
        let read = self.store(cx).history(&asked.channel, span, found.history_meta_ttl);
        let (place, publications) = read.map_err(|why| Refusal::from(failed(cx, &why)))?;
        if since.is_some_and(|since| !since.epoch.is_empty() && since.epoch != place.epoch) {
            return Err(Error::UNRECOVERABLE_POSITION.into());
        }
        let (epoch, offset) = (place.epoch, place.offset);
        Ok(ReplyResult::History(HistoryResult { publications, epoch, offset }))
    }
}

/// The name of a command, as limits of rates have it.
fn name(method: &Method) -> &'static str {
    match method {
        Method::Connect(_) => "connect",
        Method::Subscribe(_) => "subscribe",
        Method::Unsubscribe(_) => "unsubscribe",
        Method::Publish(_) => "publish",
        Method::Presence(_) => "presence",
        Method::PresenceStats(_) => "presence_stats",
        Method::History(_) => "history",
        Method::Ping | Method::None => "ping",
        Method::Send => "send",
        Method::Rpc(_) => "rpc",
        Method::Refresh(_) => "refresh",
        Method::SubRefresh(_) => "sub_refresh",
    }
}
