//! Connect commands, and refreshes: who a client is, until when, and what the server subscribes it to.

use std::sync::atomic::Ordering::Relaxed;

use ::live::code::Refusal;
use ::live::permission::{self, Asked, Step, Subscription as Granted};
use ::live::token::{ConnectToken, SubscribeToken, TokenError};
use ::live::{Disconnect, Error, Source, SubscribeOptions};

use super::{Cx, Hub, ttl, who};
use crate::live::wire::{ConnectRequest, ConnectResult, Push, ReplyResult, SubscribeRequest};

/// Who connects, and with what.
#[derive(Default)]
struct Credentials {
    user: String,
    info: Vec<u8>,
    expire_at: i64,
    /// The client refreshes the connection itself.
    client_side_refresh: bool,
    subs: Vec<(String, Granted)>,
}

impl Hub {
    /// A connect command: `command` is its number, 0 for a connection in one direction.
    pub(super) fn connect(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        command: u32,
        asked: &ConnectRequest,
    ) -> Result<(), Refusal> {
        let Some(client) = self.clients.get(&id) else { return Ok(()) };
        if client.connected {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        let options = std::sync::Arc::clone(&self.options);
        let limit = options.client.connection_limit;
        if limit > 0 && self.live.counts.clients.load(Relaxed) >= limit as u64 {
            return Err(Disconnect::CONNECTION_LIMIT.into());
        }
        let credentials = self.credentials(cx, id, asked)?;
        let limit = options.client.channel_limit;
        if limit > 0 && credentials.subs.len() > limit {
            return Err(Disconnect::CHANNEL_LIMIT.into());
        }
        let now = cx.thread.cx.now;
        if credentials.expire_at > 0 && credentials.expire_at < now / 1000 {
            return Err(Error::EXPIRED.into());
        }
        let mut result = ConnectResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ping: options.client.ping_interval.map_or(0, |t| t.as_secs() as u32),
            ..ConnectResult::default()
        };
        if options.client.connect_include_server_time {
            result.time = now as u64;
        }
        if credentials.expire_at > 0 && credentials.client_side_refresh {
            result.expires = true;
            result.ttl = ttl(now, credentials.expire_at);
        }
        self.admit(cx, id, &credentials, &mut result);
        let mut joined = Vec::new();
        for (channel, granted) in &credentials.subs {
            let mut sub = SubscribeRequest { channel: channel.clone(), ..Default::default() };
            if let Some(own) = asked.subs.get(channel) {
                sub.recover = own.recover;
                sub.offset = own.offset;
                sub.epoch.clone_from(&own.epoch);
            }
            let subscribed = self.subscribe(cx, id, &sub, granted, true)?;
            result.subs.push((channel.clone(), subscribed));
            joined.push(channel);
        }
        if command == 0 {
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

    /// The client is somebody from now on.
    fn admit(&mut self, cx: &Cx<'_>, id: u64, by: &Credentials, result: &mut ConnectResult) {
        let options = &self.options.client;
        let now = cx.thread.cx.now;
        let Some(client) = self.clients.get_mut(&id) else { return };
        let wire = client.wire;
        client.connected = true;
        client.user = by.user.as_str().into();
        client.info = by.info.clone().into();
        client.expire_at = by.expire_at;
        client.stale_at = 0;
        let every = |time: std::time::Duration| now + time.as_millis().max(1) as i64;
        client.ping_at = options.ping_interval.map_or(0, every);
        client.presence_at = every(options.presence_update_interval);
        client.check_at = options.channel_position_check_delay.map_or(0, every);
        result.pong = !wire.is_unidirectional() && options.pong_timeout.is_some();
        result.client = client.uid.to_string();
        if wire.is_emulated() || wire.is_unidirectional() {
            result.session = client.session.to_string();
        }
        if wire.is_emulated() {
            result.node.clone_from(&self.live.node);
        }
        self.live.counts.clients.fetch_add(1, Relaxed);
        self.live.counts.connects.fetch_add(1, Relaxed);
    }

    fn credentials(
        &mut self,
        cx: &Cx<'_>,
        id: u64,
        asked: &ConnectRequest,
    ) -> Result<Credentials, Refusal> {
        let options = std::sync::Arc::clone(&self.options);
        let mut by = Credentials::default();
        if !asked.token.is_empty() {
            let token = self.connection_token(cx, &asked.token);
            let token = token.map_err(|error| error.of_connection())?;
            if token.user.is_empty() && options.client.disallow_anonymous_connection_tokens {
                return Err(Disconnect::PERMISSION_DENIED.into());
            }
            by.client_side_refresh = options.client.refresh_proxy.is_none();
            for (channel, sub) in &token.subs {
                let Ok(found) = options.channel.find(channel) else {
                    return Err(Error::UNKNOWN_CHANNEL.into());
                };
                let mut granted =
                    SubscribeOptions::of(found.namespace, Source::ConnectionToken);
                granted.info.clone_from(&sub.info);
                granted.data.clone_from(&sub.data);
                granted.apply(found.namespace, &sub.differs);
                let granted = Granted { options: granted, client_side_refresh: false };
                by.subs.push((channel.clone(), granted));
            }
            by.user = token.user;
            by.info = token.info;
            by.expire_at = token.expire_at;
        } else if !options.client.allow_anonymous_connect_without_token && !options.client.insecure
        {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        if let Some(personal) = &options.client.personal_channel
            && !by.user.is_empty()
        {
            let channel = options.channel.personal(&personal.namespace, &by.user);
            if let Ok(found) = options.channel.find(&channel) {
                let granted = SubscribeOptions::of(found.namespace, Source::UserPersonal);
                by.subs.push((channel.clone(), Granted { options: granted, client_side_refresh: false }));
            }
        }
        let uni = self.clients.get(&id).is_some_and(|client| client.wire.is_unidirectional());
        for channel in asked.subs.keys().filter(|_| uni) {
            if by.subs.iter().any(|(there, _)| there == channel) {
                continue;
            }
            let asked = Asked { channel, ..Asked::default() };
            let as_user = permission::Who { user: &by.user, client: "" };
            match permission::subscribe(&options, as_user, &asked, by.subs.len(), false)? {
                Step::Allowed(mut granted) => {
                    granted.options.source = Source::UniConnect;
                    by.subs.push((channel.clone(), granted));
                }
                Step::Token | Step::Proxy(_) => return Err(Error::PERMISSION_DENIED.into()),
            }
        }
        Ok(by)
    }

    fn connection_token(&self, cx: &Cx<'_>, token: &str) -> Result<ConnectToken, TokenError> {
        let client = &self.options.client;
        let now = cx.thread.cx.now;
        let mut jwks = self.live.jwks.lock();
        let mut lookup = |name: &_| jwks.lookup(name, now);
        let skip = client.insecure_skip_token_signature_verify;
        available(client.token.connection(token, now, skip, &mut lookup))
    }

    pub(super) fn subscription_token(
        &self,
        cx: &Cx<'_>,
        token: &str,
    ) -> Result<SubscribeToken, TokenError> {
        let client = &self.options.client;
        let now = cx.thread.cx.now;
        let mut jwks = self.live.jwks.lock();
        let mut lookup = |name: &_| jwks.lookup(name, now);
        let skip = client.insecure_skip_token_signature_verify;
        available(client.subscription_token.subscription(token, now, skip, &mut lookup))
    }

    /// A refresh command.
    pub(super) fn refresh(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        token: &str,
    ) -> Result<ReplyResult, Refusal> {
        if token.is_empty() {
            return Err(Disconnect::BAD_REQUEST.into());
        }
        let token = self.connection_token(cx, token).map_err(|error| error.of_connection())?;
        let now = cx.thread.cx.now;
        let Some(client) = self.clients.get_mut(&id) else {
            return Err(Disconnect::CONNECTION_CLOSED.into());
        };
        if *client.user != *token.user {
            return Err(Disconnect::INVALID_TOKEN.into());
        }
        if token.expire_at > 0 && token.expire_at < now / 1000 {
            return Err(Error::EXPIRED.into());
        }
        client.expire_at = token.expire_at;
        client.info = token.info.into();
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
        Ok(ReplyResult::SubRefresh { expires, ttl: if expires { ttl(now, token.expire_at) } else { 0 } })
    }
}

/// A key that is not there yet cannot be waited for here: the client tries again.
fn available<T>(verified: Result<T, TokenError>) -> Result<T, TokenError> {
    verified.map_err(|error| match error {
        TokenError::Wait(key) => {
            TokenError::Unavailable(format!("the key {:?} is being fetched", key.kid))
        }
        other => other,
    })
}
