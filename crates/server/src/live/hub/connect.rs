//! Connect commands, and refreshes: who a client is, until when, and what the server subscribes it to.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::live::api::{DisconnectUser, Target};
use ::live::code::Refusal;
use ::live::connect::{self, Asked, Expiry, Plan};
use ::live::permission::{self, Step, Subscription as Granted};
use ::live::proxy::Event;
use ::live::token::{ConnectToken, SubscribeToken, TokenError};
use ::live::{Disconnect, Error, timing};

use super::ask::{Done, Then};
use super::broker::After;
use super::count::names;
use super::{Cx, Hub, ttl, who};
use crate::live::mail::Mail;
use crate::live::peers;
use live_protocol::{ConnectRequest, ConnectResult, Push, ReplyResult, SubscribeRequest};

/// What a connect command asks for of a channel that the server subscribes it to.
pub(super) fn subscription(asked: &ConnectRequest, channel: &str) -> SubscribeRequest {
    let mut sub = SubscribeRequest { channel: channel.to_owned(), ..Default::default() };
    if let Some(own) = asked.subs.get(channel) {
        sub.recover = own.recover;
        sub.offset = own.offset;
        sub.epoch.clone_from(&own.epoch);
        sub.delta.clone_from(&own.delta);
    }
    sub
}

impl Hub {
    /// A connect command: `command` is its number, 0 for a connection in one direction.
    pub(super) fn connect(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &ConnectRequest,
    ) -> Done {
        let options = self.options();
        let emulated = self.live.forwards(&options);
        let emulated =
            emulated.of_command(asked.headers.iter().map(|(name, value)| (&**name, &**value)));
        let Some(client) = self.clients.get_mut(&id) else { return Ok(None) };
        if client.connected {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        if !emulated.is_empty() {
            client.headers.get_or_insert_default().emulated = emulated;
        }
        let channels: Vec<&str> = asked.subs.keys().map(String::as_str).collect();
        let wish = self.wish(id, asked, &channels);
        let plan = match connect::begin(&options, &wish)? {
            Step::Allowed(plan) => plan,
            Step::Token => {
                let token = self.connection_token(cx, &asked.token);
                connect::with_token(&options, &self.wish(id, asked, &channels), token)?
            }
            Step::Proxy(proxy) => {
                let (name, version) = (&*asked.name, &*asked.version);
                let event =
                    Event::Connect { data: &asked.data.0, name, version, channels: &channels };
                let then = Then::Connect(Box::new(asked.clone()));
                return self.ask(cx, id, (command, &proxy), &event, then);
            }
        };
        self.connect_with(cx, id, command, asked, plan).map(|()| None)
    }

    /// What a connect command asks for.
    pub(super) fn wish<'a>(
        &'a self,
        id: u64,
        asked: &'a ConnectRequest,
        channels: &'a [&'a str],
    ) -> Asked<'a> {
        let named = self.options.client.user_id_http_header.as_deref().and_then(|name| {
            let headers = self.clients.get(&id)?.headers.as_deref()?;
            let mut all = headers.http.iter();
            all.find(|(known, _)| known == name).map(|(_, user)| &**user)
        });
        Asked { token: &asked.token, channels, user_header: named }
    }

    /// Connects a client whose user is known.
    pub(super) fn connect_with(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &ConnectRequest,
        plan: Plan,
    ) -> Result<(), Refusal> {
        let Some(mut plan) = self.read_for_connect(cx, id, command, asked, plan)? else {
            return Ok(());
        };
        if plan.subscriptions.iter().any(|(channel, _)| self.begins_remotely(channel)) {
            let after = After::Connect(Box::new(asked.clone()), Box::new(plan));
            return self.begin_remotely(cx, id, command, after);
        }
        let options = self.options();
        let now = cx.thread.cx.now;
        let expiry = self.place(cx, id, &mut plan)?;
        let mut result = ConnectResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ping: options.client.ping_interval.map_or(0, |t| t.as_secs() as u32),
            ..ConnectResult::default()
        };
        if options.client.connect_include_server_time {
            result.time = now as u64;
        }
        result.expires = expiry.expires;
        result.ttl = expiry.ttl;
        result.data.clone_from(&plan.data);
        self.admit(cx, id, &plan, names(&asked.name, &asked.version), &mut result);
        if plan.single_connection.is_some() {
            self.end_others(cx, &plan.user, &result.client);
        }
        let mut joined = Vec::new();
        for (channel, granted) in &plan.subscriptions {
            let granted = &Granted { options: granted.clone(), client_side_refresh: false };
            let sub = subscription(asked, channel);
            let subscribed = self.subscribe(cx, id, &sub, granted, true)?;
            result.subs.push((channel.clone(), subscribed));
            joined.push(channel);
        }
        self.send_head(cx, id);
        if command == 0 {
            self.command_replied(id, 0, None);
            self.push(cx, id, "", &Push::Connect(&result));
        } else {
            self.reply(cx, id, command, ReplyResult::Connect(Box::new(result)));
        }
        for channel in joined {
            self.joined(cx, id, channel);
        }
        self.drain(cx);
        self.schedule(cx, id);
        Ok(())
    }

    /// Counts a connection, if its user and the server may have one more. Nothing fails between this and
    /// [`Hub::admit`], from which on the client's end takes it off again.
    fn place(&self, cx: &Cx<'_>, id: u64, plan: &mut Plan) -> Result<Expiry, Refusal> {
        let live = &cx.shared.engine.live;
        if self.clients.get(&id).is_none_or(|client| client.connected) {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        if !self.live.begin_user(&plan.user, plan.user_limit(&self.options)) {
            return Err(Disconnect::CONNECTION_LIMIT.into());
        }
        let most = self.options.client.connection_limit as u64;
        let more = |n: u64| (most == 0 || n < most).then_some(n + 1);
        let placed = plan.admit(cx.thread.cx.now / 1000).and_then(|expiry| {
            let counted = live.clients.fetch_update(Relaxed, Relaxed, more);
            // It had found a place when it began. It comes back: others may go meanwhile.
            counted.map(|_| expiry).map_err(|_| Disconnect::TOO_MANY_REQUESTS.into())
        });
        if placed.is_err() {
            self.live.end_user(&plan.user);
        }
        placed
    }

    /// The client is connected from now on.
    fn admit(&mut self, cx: &Cx<'_>, id: u64, by: &Plan, names: u8, result: &mut ConnectResult) {
        let options = &self.options.client;
        let now = cx.thread.cx.now;
        let Some(client) = self.clients.get_mut(&id) else { return };
        let wire = client.wire;
        client.connected = true;
        client.user = by.user.as_str().into();
        client.info = by.info.clone().into();
        client.expire_at = by.expire_at;
        client.client_side_refresh = by.client_side_refresh;
        client.meta = by.meta.clone().map(Into::into);
        client.stale_at = 0;
        client.names = names;
        self.tally.connections[wire.kind as usize][usize::from(names)].begun.add(1);
        // Client numbers that follow each other are far from each other in this.
        let spread = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let first = |time| timing::first(now, time, spread);
        client.ping_at = options.ping_interval.map_or(0, first);
        client.presence_at = first(options.presence_update_interval);
        client.check_at = options.channel_position_check_delay.map_or(0, first);
        result.pong = !wire.is_unidirectional() && options.pong_timeout.is_some();
        result.client = client.uid.to_string();
        if wire.is_emulated() || wire.is_unidirectional() {
            result.session = client.session.to_string();
        }
        if wire.is_emulated() {
            result.node.clone_from(&self.live.node);
        }
        cx.shared.engine.live.connects.fetch_add(1, Relaxed);
    }

    /// The other connections of a user end.
    fn end_others(&self, cx: &mut Cx<'_>, user: &str, client: &str) {
        let disconnect = Disconnect::CONNECTION_LIMIT;
        let target = Target { user: user.to_owned(), ..Target::default() };
        let whitelist = vec![client.to_owned()];
        let asked = DisconnectUser { target, disconnect, whitelist };
        let end = peers::disconnects(&asked);
        self.live.post_all(&cx.shared.engine, &Mail::Disconnect(asked));
        self.live.tell(&cx.shared.engine, cx.thread, None, end);
    }

    fn connection_token(&mut self, cx: &Cx<'_>, token: &str) -> Result<ConnectToken, TokenError> {
        let client = &self.options.client;
        let (verifier, skip) = (&client.token, client.insecure_skip_token_signature_verify);
        let now = cx.thread.cx.now;
        let mut lookup = |name: &_| self.live.jwks.lock().lookup(name, now);
        let verified = verifier.connection(token, now, skip, &mut lookup);
        let fetches = verifier.fetches();
        self.available(cx, verified, fetches)
    }

    pub(super) fn subscription_token(
        &mut self,
        cx: &Cx<'_>,
        token: &str,
    ) -> Result<SubscribeToken, TokenError> {
        let client = &self.options.client;
        let verifier = &client.subscription_token;
        let skip = client.insecure_skip_token_signature_verify;
        let now = cx.thread.cx.now;
        let mut lookup = |name: &_| self.live.jwks.lock().lookup(name, now);
        let verified = verifier.subscription(token, now, skip, &mut lookup);
        let fetches = verifier.fetches();
        self.available(cx, verified, fetches)
    }

    /// Has keys fetched that are needed. A token whose key is not there yet makes its command wait.
    fn available<T>(
        &mut self,
        cx: &Cx<'_>,
        verified: Result<T, TokenError>,
        fetches: bool,
    ) -> Result<T, TokenError> {
        if fetches {
            self.live.fetch_keys(&cx.shared.engine);
        }
        verified.map_err(|error| match error {
            TokenError::Wait(key) => {
                self.misses_key = true;
                TokenError::Unavailable(format!("the key {:?} is being fetched", key.kid))
            }
            other => other,
        })
    }

    /// A refresh command.
    pub(super) fn refresh(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        token: &str,
    ) -> Result<ReplyResult, Refusal> {
        let options = Arc::clone(&self.options);
        let token = (!token.is_empty()).then(|| self.connection_token(cx, token));
        let now = cx.thread.cx.now;
        let Some(client) = self.clients.get_mut(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let subscribed = |channel: &str| client.subscription(channel).is_some();
        let refreshed =
            connect::refresh(&options, &client.user, token, subscribed, &[], now / 1000)?;
        client.expire_at = refreshed.expire_at;
        if !refreshed.info.is_empty() {
            client.info = refreshed.info.into();
        }
        let result = ReplyResult::Refresh {
            client: client.uid.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            expires: client.expire_at > 0,
            ttl: if client.expire_at > 0 { ttl(now, client.expire_at) } else { 0 },
        };
        self.schedule(cx, id);
        Ok(result)
    }

    /// A sub_refresh command.
    pub(super) fn sub_refresh(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        channel: &str,
        token: &str,
    ) -> Result<ReplyResult, Refusal> {
        if channel.is_empty() {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let Some(sub) = client.subscription(channel) else {
            return Err(Error::PERMISSION_DENIED.into());
        };
        if sub.client_side_refresh && token.is_empty() {
            return Err(Error::BAD_REQUEST.into());
        }
        let token = self.subscription_token(cx, token);
        let Some(client) = self.clients.get(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        let token = permission::sub_refresh(who(client), channel, token)?;
        let now = cx.thread.cx.now;
        if token.expire_at > 0 && token.expire_at < now / 1000 {
            return Err(Error::EXPIRED.into());
        }
        let client = self.clients.get_mut(&id);
        if let Some(sub) = client.and_then(|client| client.subscription_mut(channel)) {
            sub.expire_at = token.expire_at;
            sub.info = token.subscription.info.into();
        }
        self.schedule(cx, id);
        let expires = token.expire_at > 0;
        Ok(ReplyResult::SubRefresh {
            expires,
            ttl: if expires { ttl(now, token.expire_at) } else { 0 },
        })
    }
}
