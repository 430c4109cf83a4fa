//! Who may do what: pure decisions over options, in Centrifugo's order, with its codes.
//!
//! A decision that is taken elsewhere is a step: the caller verifies the token or asks the proxy, and comes back
//! with the result.
//!
//! ```text
//!  subscribe() ─► Step::Token ──► subscribe_with_token() ─┐
//!              ├► Step::Proxy ──► proxy::subscribe ───────┼─► Subscription, or a Refusal
//!              └► Step::Allowed ─────────────────────────-┘
//! ```

use crate::api::check::{self, PublishPlan};
use crate::code::{Disconnect, Error, Refusal};
use crate::options::{Namespace, Options, Proxy};
use crate::subscription::{Source, SubscribeOptions};
use crate::token::{SubscribeToken, TokenError};
use std::sync::Arc;

/// A client that asks.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// Its user; empty: nobody.
    pub user: &'a str,
    /// Its identifier.
    pub client: &'a str,
}

/// What a subscribe command asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The token; empty: none.
    pub token: &'a str,
    /// To have its position followed.
    pub positioned: bool,
    /// To be able to recover.
    pub recoverable: bool,
    /// To be told of others' joining and leaving.
    pub join_leave: bool,
}

/// A subscription that is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// What it is made with.
    pub options: SubscribeOptions,
    /// The client refreshes it, and is told when it expires; otherwise the sub-refresh proxy does.
    pub client_side_refresh: bool,
}

/// What comes next.
#[derive(Clone, Debug)]
pub enum Step<T> {
    /// It is permitted.
    Allowed(T),
    /// The token decides.
    Token,
    /// The proxy decides.
    Proxy(Arc<Proxy>),
}

/// Whether a client may use a permission that is given to users, and to clients without one by another option.
fn counts(who: Who<'_>, for_anonymous: bool) -> bool {
    !who.user.is_empty() || for_anonymous
}

/// Decides on a subscribe command. `channels` is how many channels the connection has, `is_subscribed` whether this
/// is one of them.
///
/// # Errors
/// In this order: an empty name (3501), one too long (107), the channel is subscribed (105), the limit of channels
/// (106), the namespace (102), the name (107), no permission (103).
pub fn subscribe(
    options: &Options,
    who: Who<'_>,
    asked: &Asked<'_>,
    channels: usize,
    is_subscribed: bool,
) -> Result<Step<Subscription>, Refusal> {
    if asked.channel.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    if options.channel.is_too_long(asked.channel) {
        return Err(Error::BAD_REQUEST.into());
    }
    if is_subscribed {
        return Err(Error::ALREADY_SUBSCRIBED.into());
    }
    let limit = options.client.channel_limit;
    if limit > 0 && channels >= limit {
        return Err(Error::LIMIT_EXCEEDED.into());
    }
    let channel = options.channel.find_for_client(asked.channel)?;
    let namespace = channel.namespace;
    if !asked.token.is_empty() {
        return Ok(Step::Token);
    }
    if options.channel.is_private(asked.channel) {
        return Err(Error::PERMISSION_DENIED.into());
    }
    let is_user_limited =
        namespace.allow_user_limited_channels && options.channel.is_user_limited(asked.channel);
    let source = if is_user_limited && options.channel.is_for_user(asked.channel, who.user) {
        Source::UserLimited
    } else if let Some(proxy) = namespace.subscribe_proxy.as_ref().filter(|_| !is_user_limited) {
        return Ok(Step::Proxy(Arc::clone(proxy)));
    } else if may_subscribe(namespace, who) && !is_user_limited {
        Source::ClientAllowed
    } else if options.client.insecure {
        Source::ClientInsecure
    } else {
        return Err(Error::PERMISSION_DENIED.into());
    };
    let granted = SubscribeOptions::of(namespace, source);
    Ok(Step::Allowed(settle(options, namespace, who, asked, granted)))
}

fn may_subscribe(namespace: &Namespace, who: Who<'_>) -> bool {
    namespace.allow_subscribe_for_client && counts(who, namespace.allow_subscribe_for_anonymous)
}

/// Decides on a subscribe command whose token is verified; after [`Step::Token`].
///
/// # Errors
/// The token does not count (103, 109), or is of another channel, user or client (3500).
pub fn subscribe_with_token(
    options: &Options,
    who: Who<'_>,
    asked: &Asked<'_>,
    token: Result<SubscribeToken, TokenError>,
) -> Result<Subscription, Refusal> {
    let token = token.map_err(|error| error.of_subscription())?;
    let of_token = options.channel.find(&token.channel)?;
    if token.channel != asked.channel || !is_of(&token, who) {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    let mut granted = SubscribeOptions::of(of_token.namespace, Source::SubscriptionToken);
    granted.expire_at = token.expire_at;
    granted.info = token.subscription.info;
    granted.data = token.subscription.data;
    granted.apply(of_token.namespace, &token.subscription.differs);
    Ok(settle(options, of_token.namespace, who, asked, granted))
}

/// Whether a token is of this client's user, and of this client if it names one.
fn is_of(token: &SubscribeToken, who: Who<'_>) -> bool {
    token.user == who.user && (token.client.is_empty() || token.client == who.client)
}

/// Adds what the client asks for and may have.
fn settle(
    options: &Options,
    namespace: &Arc<Namespace>,
    who: Who<'_>,
    asked: &Asked<'_>,
    mut granted: SubscribeOptions,
) -> Subscription {
    let reads_history = reads_history(options, namespace, who, true);
    granted.positioning |= asked.positioned && (namespace.allow_positioning || reads_history);
    granted.recovery |= asked.recoverable && (namespace.allow_recovery || reads_history);
    granted.push_join_leave |=
        asked.join_leave && namespace.join_leave && reads_presence(options, namespace, who, true);
    granted.settle(namespace);
    Subscription { options: granted, client_side_refresh: namespace.sub_refresh_proxy.is_none() }
}

/// What a subscription with a proxy's answer is made of: the client's refresh is not asked for if there is a
/// sub-refresh proxy.
#[must_use]
pub fn subscribe_with_proxy(namespace: &Namespace, granted: SubscribeOptions) -> Subscription {
    Subscription { options: granted, client_side_refresh: namespace.sub_refresh_proxy.is_none() }
}

/// Decides on a publish command.
///
/// # Errors
/// In this order: an empty name (3501), the namespace (102), the channel is a topic (108), the name or the data's format
/// (107), no permission (103).
pub fn publish(
    options: &Options,
    who: Who<'_>,
    channel: &str,
    data: &[u8],
    is_subscribed: bool,
) -> Result<Step<PublishPlan>, Refusal> {
    let found = named(options, channel)?;
    if found.topic.is_some() {
        return Err(Error::NOT_AVAILABLE.into());
    }
    check::data(data, found.publication_data_format).map_err(|_| Error::BAD_REQUEST)?;
    if let Some(proxy) = &found.publish_proxy {
        return Ok(Step::Proxy(Arc::clone(proxy)));
    }
    let is_known = counts(who, found.allow_publish_for_anonymous);
    let is_allowed = (found.allow_publish_for_client && is_known)
        || (found.allow_publish_for_subscriber && is_subscribed && is_known)
        || options.client.insecure;
    if !is_allowed {
        return Err(Error::PERMISSION_DENIED.into());
    }
    Ok(Step::Allowed(check::plan(Arc::clone(found), false, false)))
}

/// The namespace of a channel that a command names.
fn named<'a>(options: &'a Options, channel: &'a str) -> Result<&'a Arc<Namespace>, Refusal> {
    if channel.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    Ok(options.channel.find_for_client(channel)?.namespace)
}

/// Decides on presence and presence_stats.
///
/// # Errors
/// In this order: an empty name (3501), the namespace (102), the name (107), no presence there (108), no permission
/// (103).
pub fn presence<'a>(
    options: &'a Options,
    who: Who<'_>,
    channel: &'a str,
    is_subscribed: bool,
) -> Result<&'a Arc<Namespace>, Refusal> {
    let found = named(options, channel)?;
    if !found.presence {
        return Err(Error::NOT_AVAILABLE.into());
    }
    if !reads_presence(options, found, who, is_subscribed) {
        return Err(Error::PERMISSION_DENIED.into());
    }
    Ok(found)
}

fn reads_presence(
    options: &Options,
    namespace: &Namespace,
    who: Who<'_>,
    is_subscribed: bool,
) -> bool {
    let is_known = counts(who, namespace.allow_presence_for_anonymous);
    (namespace.allow_presence_for_client && is_known)
        || (namespace.allow_presence_for_subscriber && is_subscribed && is_known)
        || options.client.insecure
}

/// Decides on history.
///
/// # Errors
/// In this order: an empty name (3501), the namespace (102), the name (107), no history there (108), no permission
/// (103).
pub fn history<'a>(
    options: &'a Options,
    who: Who<'_>,
    channel: &'a str,
    is_subscribed: bool,
) -> Result<&'a Arc<Namespace>, Refusal> {
    let found = named(options, channel)?;
    if !found.has_history() {
        return Err(Error::NOT_AVAILABLE.into());
    }
    if !reads_history(options, found, who, is_subscribed) {
        return Err(Error::PERMISSION_DENIED.into());
    }
    Ok(found)
}

fn reads_history(
    options: &Options,
    namespace: &Namespace,
    who: Who<'_>,
    is_subscribed: bool,
) -> bool {
    let is_known = counts(who, namespace.allow_history_for_anonymous);
    (namespace.allow_history_for_client && is_known)
        || (namespace.allow_history_for_subscriber && is_subscribed && is_known)
        || options.client.insecure
}

/// How many publications a client's history may have: what it asks for within the limit. Below 0 asks for all;
/// `None`: all, without a limit.
#[must_use]
pub fn history_limit(options: &Options, asked: i32) -> Option<usize> {
    let limit = options.client.history_max_publication_limit;
    match usize::try_from(asked) {
        Ok(asked) if limit == 0 || asked <= limit => Some(asked),
        Err(_) if limit == 0 => None,
        _ => Some(limit),
    }
}

/// Decides on a sub_refresh command with a verified token.
///
/// # Errors
/// The token expired (109; Centrifugo takes it, and the subscription never expires again), or is not valid or of
/// another channel, user or client (3500).
pub fn sub_refresh(
    who: Who<'_>,
    channel: &str,
    token: Result<SubscribeToken, TokenError>,
) -> Result<SubscribeToken, Refusal> {
    let token = token.map_err(|error| error.of_connection())?;
    if token.channel != channel || !is_of(&token, who) {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    Ok(token)
}

/// Whether a recovery counts: the client's position is in this stream, and everything after it is there.
///
/// `missed` are the offsets of the first and last publication behind the position that the history has; the newest
/// offset is `top`. In the mode `cache` see [`is_cache_recovered`].
#[must_use]
pub fn is_recovered(
    epoch: &str,
    top: u64,
    asked_epoch: &str,
    asked_offset: u64,
    missed: Option<(u64, u64)>,
) -> bool {
    if !asked_epoch.is_empty() && asked_epoch != epoch {
        return false;
    }
    match missed {
        None => top == asked_offset,
        Some((first, last)) => asked_offset.checked_add(1) == Some(first) && last == top,
    }
}

/// Whether a client that keeps the latest publication alone has it, or can be given it: whether it recovered, and
/// whether the latest publication must be sent. `latest` is the offset of the latest publication in the history.
#[must_use]
pub fn is_cache_recovered(
    epoch: &str,
    top: u64,
    asked_epoch: &str,
    asked_offset: u64,
    latest: Option<u64>,
) -> (bool, bool) {
    let is_same = asked_offset > 0 && asked_offset == top && asked_epoch == epoch;
    match latest {
        None => (is_same, false),
        Some(latest) => (latest == top, latest == top && !is_same),
    }
}
