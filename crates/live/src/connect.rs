//! What a connect command comes to: who the client is, what it is subscribed to, when it expires. Pure decisions, in
//! Centrifugo's order.
//!
//! ```text
//!  begin() ─► Step::Token ─► with_token() ─┐
//!          ├► Step::Proxy ─► with_proxy() ─┼─► Plan ─► admit() ─► a reply
//!          └► Step::Allowed ───────────────┘
//! ```
//!
//! Refreshes are here, too: they are the same token again.

use crate::code::{Disconnect, Error, Refusal};
use crate::options::{Namespace, Options};
use crate::permission::Step;
use crate::proxy::ConnectAnswer;
pub use crate::proxy::Refreshed;
use crate::subscription::{Source, SubscribeOptions};
use crate::token::{ConnectToken, TokenError, TokenSubscription};

/// Longest time that a connection or subscription lives without a refresh, in seconds: a longer one is a mistake.
pub const TTL_MAX_S: i64 = 365 * 24 * 3600;

/// What a client sends to connect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The token; empty: none.
    pub token: &'a str,
    /// Channels that a client asks the server to subscribe it to: the names in `subs`.
    pub channels: &'a [&'a str],
    /// The value of the header that names users, if the options name one and the request has it.
    pub user_header: Option<&'a str>,
}

/// What a connection is made with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The user; empty: nobody.
    pub user: String,
    /// When it expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the connection; empty: none.
    pub info: Vec<u8>,
    /// JSON for proxies.
    pub meta: Option<Vec<u8>>,
    /// Bytes for the client; empty: none.
    pub data: Vec<u8>,
    /// Channels that the server subscribes it to.
    pub subscriptions: Vec<(String, SubscribeOptions)>,
    /// The client refreshes the connection, and is told when it expires; otherwise the refresh proxy does.
    pub client_side_refresh: bool,
    /// The user's other connections end if this channel has subscribers.
    pub single_connection: Option<String>,
}

/// What the reply to connect says of the expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// The client must refresh.
    pub expires: bool,
    /// In so many seconds.
    pub ttl: u32,
}

/// Decides on a connect command.
///
/// # Errors
/// There is nobody to say who the client is (3501), or an answer of [`Plan`].
pub fn begin(options: &Options, asked: &Asked<'_>) -> Result<Step<Plan>, Refusal> {
    if !asked.token.is_empty() {
        return Ok(Step::Token);
    }
    if let Some(proxy) = &options.client.connect_proxy {
        return Ok(Step::Proxy(proxy.clone()));
    }
    nobody(options, asked).map(Step::Allowed)
}

/// A client that nothing says who it is.
fn nobody(options: &Options, asked: &Asked<'_>) -> Result<Plan, Refusal> {
    let client = &options.client;
    let is_let_in = client.allow_anonymous_connect_without_token || client.insecure;
    let mut plan = Plan::default();
    match asked.user_header.filter(|user| !user.is_empty()) {
        _ if is_let_in => {}
        // Channels that it asks for are not looked at, as in Centrifugo.
        Some(user) => {
            plan.user = user.to_owned();
            return finish(options, plan);
        }
        None => return Err(Disconnect::BAD_REQUEST.into()),
    }
    asked_channels(options, asked, &mut plan)?;
    finish(options, plan)
}

/// Decides on a connect command whose token is verified; after [`Step::Token`].
///
/// # Errors
/// The token does not count (109, 3500), has no user and must (3507), or names an unknown channel (102); or an
/// answer of [`Plan`].
pub fn with_token(
    options: &Options,
    asked: &Asked<'_>,
    token: Result<ConnectToken, TokenError>,
) -> Result<Plan, Refusal> {
    let token = token.map_err(|error| error.of_connection())?;
    if token.user.is_empty() && options.client.disallow_anonymous_connection_tokens {
        return Err(Disconnect::PERMISSION_DENIED.into());
    }
    let mut plan = Plan {
        user: token.user,
        expire_at: if options.client.insecure { 0 } else { token.expire_at },
        info: token.info,
        meta: token.meta,
        subscriptions: of_token(options, token.subs)?,
        ..Plan::default()
    };
    // The personal channel comes first, so that a client cannot have it by asking.
    personal(options, &mut plan)?;
    asked_channels(options, asked, &mut plan)?;
    finish(options, plan)
}

fn of_token(
    options: &Options,
    subs: Vec<(String, TokenSubscription)>,
) -> Result<Vec<(String, SubscribeOptions)>, Refusal> {
    let one = |(name, sub): (String, TokenSubscription)| {
        let namespace = options.channel.namespace(&name)?;
        let mut granted = SubscribeOptions::of(namespace, Source::ConnectionToken);
        granted.apply(namespace, &sub.differs);
        granted.info = sub.info;
        granted.data = sub.data;
        Ok((name, granted))
    };
    subs.into_iter().filter(|(name, _)| !name.is_empty()).map(one).collect()
}

/// Decides on a connect command that the proxy answered; after [`Step::Proxy`]. `None`: it does not know the client,
/// and other ways are tried.
///
/// # Errors
/// An answer of [`Plan`].
pub fn with_proxy(
    options: &Options,
    asked: &Asked<'_>,
    answer: Option<ConnectAnswer>,
) -> Result<Plan, Refusal> {
    let Some(answer) = answer else { return nobody(options, asked) };
    let plan = Plan {
        user: answer.user,
        expire_at: answer.expire_at,
        info: answer.info,
        meta: answer.meta,
        data: answer.data,
        subscriptions: answer.subscriptions,
        ..Plan::default()
    };
    finish(options, plan)
}

fn add(plan: &mut Plan, name: String, granted: SubscribeOptions, replaces: bool) {
    match plan.subscriptions.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) if replaces => *known = granted,
        Some(_) => {}
        None => plan.subscriptions.push((name, granted)),
    }
}

/// Adds the user's personal channel.
fn personal(options: &Options, plan: &mut Plan) -> Result<(), Refusal> {
    let Some(personal) = options.client.personal_channel.as_ref().filter(|_| !plan.user.is_empty())
    else {
        return Ok(());
    };
    let name = options.channel.personal(&personal.namespace, &plan.user);
    let granted = SubscribeOptions::of(options.channel.namespace(&name)?, Source::UserPersonal);
    plan.single_connection = personal.single_connection.then(|| name.clone());
    add(plan, name, granted, true);
    Ok(())
}

/// Adds channels that a client asks for and may subscribe to itself; others are left out without a word.
fn asked_channels(options: &Options, asked: &Asked<'_>, plan: &mut Plan) -> Result<(), Refusal> {
    for name in asked.channels.iter().filter(|name| !name.is_empty()) {
        let channel = options.channel.find(name).map_err(|error| match error {
            Error { code: 102, .. } => Refusal::from(Disconnect::BAD_REQUEST),
            other => other.into(),
        })?;
        let is_allowed = channel.is_valid()
            && !options.channel.is_private(name)
            && channel.namespace.subscribe_proxy.is_none()
            && may_subscribe(options, channel.namespace, name, &plan.user);
        if is_allowed {
            let granted = SubscribeOptions::of(channel.namespace, Source::UniConnect);
            add(plan, (*name).to_owned(), granted, false);
        }
    }
    Ok(())
}

fn may_subscribe(options: &Options, namespace: &Namespace, name: &str, user: &str) -> bool {
    let is_user_limited =
        namespace.allow_user_limited_channels && options.channel.is_user_limited(name);
    let is_known = !user.is_empty() || namespace.allow_subscribe_for_anonymous;
    (is_user_limited && !user.is_empty() && options.channel.is_for_user(name, user))
        || (namespace.allow_subscribe_for_client && is_known && !is_user_limited)
        || options.client.insecure
}

fn finish(options: &Options, mut plan: Plan) -> Result<Plan, Refusal> {
    personal(options, &mut plan)?;
    plan.subscriptions.retain(|(name, _)| !name.is_empty());
    plan.client_side_refresh = options.client.refresh_proxy.is_none();
    let limit = options.client.channel_limit;
    if limit > 0 && plan.subscriptions.len() > limit {
        return Err(Disconnect::CHANNEL_LIMIT.into());
    }
    Ok(plan)
}

impl Plan {
    /// Most connections that the user may have, this one included (3504); `None`: any number.
    #[must_use]
    pub fn user_limit(&self, options: &Options) -> Option<usize> {
        let limit = options.client.user_connection_limit;
        (limit > 0 && !self.user.is_empty()).then_some(limit)
    }

    /// Checks what can only be known when the connection is made: whether it expired meanwhile. Caps the expiry.
    /// `now_s` is the Unix clock in seconds.
    ///
    /// # Errors
    /// The connection expired (110).
    pub fn admit(&mut self, now_s: i64) -> Result<Expiry, Refusal> {
        self.expire_at = self.expire_at.min(now_s.saturating_add(TTL_MAX_S)).max(0);
        if self.expire_at == 0 {
            return Ok(Expiry::default());
        }
        if self.expire_at < now_s {
            return Err(Error::EXPIRED.into());
        }
        Ok(if self.client_side_refresh { expiry(self.expire_at, now_s) } else { Expiry::default() })
    }
}

/// What a client is told of an expiry.
#[must_use]
pub fn expiry(expire_at: i64, now_s: i64) -> Expiry {
    let ttl = expire_at.saturating_sub(now_s).clamp(0, TTL_MAX_S);
    Expiry {
        expires: expire_at > 0,
        ttl: if expire_at > 0 { u32::try_from(ttl).unwrap_or_default() } else { 0 },
    }
}

/// Decides on a refresh command. `subscribed` says of a channel whether the connection is subscribed, `of_token`
/// are the channels that the connection has of its token.
///
/// # Errors
/// In this order: no token, or the refresh proxy refreshes (3501); the token expired (3005) or does not count
/// (3500); it is of another user (3500); its channels are others than the connection's (3010: the client connects
/// again, with them); it expires in the past (110).
pub fn refresh(
    options: &Options,
    user: &str,
    token: Option<Result<ConnectToken, TokenError>>,
    subscribed: impl Fn(&str) -> bool,
    of_token: &[&str],
    now_s: i64,
) -> Result<Refreshed, Refusal> {
    let token =
        token.filter(|_| options.client.refresh_proxy.is_none()).ok_or(Disconnect::BAD_REQUEST)?;
    let token = token.map_err(|error| match error {
        TokenError::Expired => Disconnect::EXPIRED.into(),
        other => other.of_connection(),
    })?;
    if token.user != user {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    let subs = of_token_names(options, &token)?;
    if subs.iter().any(|name| !subscribed(name)) || of_token.iter().any(|name| !subs.contains(name))
    {
        return Err(Disconnect::INSUFFICIENT_STATE.into());
    }
    let expire_at = token.expire_at.min(now_s.saturating_add(TTL_MAX_S));
    if expire_at > 0 && expire_at <= now_s {
        return Err(Error::EXPIRED.into());
    }
    Ok(Refreshed { expire_at, info: token.info, meta: token.meta })
}

/// The channels of a token; all of them known.
fn of_token_names<'a>(options: &Options, token: &'a ConnectToken) -> Result<Vec<&'a str>, Refusal> {
    let known = |(name, _): &'a (String, TokenSubscription)| {
        options.channel.namespace(name)?;
        Ok(name.as_str())
    };
    token.subs.iter().map(known).collect()
}

/// What an error of connect is to a client that takes no replies: the end of its connection.
#[must_use]
pub fn unidirectional(options: &Options, refusal: Refusal) -> Disconnect {
    match refusal {
        Refusal::Disconnect(disconnect) => disconnect,
        Refusal::Error(error) => match options.client.connect_code_to_disconnect.get(&error.code) {
            Some(disconnect) => disconnect.clone(),
            None => match error.code {
                109 | 110 => Disconnect::EXPIRED,
                103 => Disconnect::PERMISSION_DENIED,
                111 => Disconnect::TOO_MANY_REQUESTS,
                _ => Disconnect::SERVER_ERROR,
            },
        },
    }
}
