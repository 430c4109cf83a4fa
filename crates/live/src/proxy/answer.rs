//! What a proxy answers, and what it comes to.
//!
//! `{"error": {…}}` and `{"disconnect": {…}}` refuse, `{"result": {…}}` permits. A response of another status is what
//! the options make of it; otherwise the server failed, and says so (100), except for refreshes: a connection is not
//! ended because an application is away, but asked about again in a minute.

use super::Outcome;
use crate::api::check::{self, PublishPlan};
use crate::code::{Disconnect, Error, Refusal};
use crate::json::Object;
use crate::options::{Namespace, Options, Proxy};
use crate::subscription::{Source, SubscribeOptions};
use crate::token::differs;
use std::sync::Arc;

/// How long a connection or subscription lives on whose refresh could not be asked for, in seconds.
const AGAIN_S: i64 = 60;

/// What a proxy says of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectAnswer {
    /// The user; empty: nobody.
    pub user: String,
    /// When it expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the connection; empty: none.
    pub info: Vec<u8>,
    /// Bytes for the client; empty: none.
    pub data: Vec<u8>,
    /// JSON for proxies.
    pub meta: Option<Vec<u8>>,
    /// Channels to subscribe it to.
    pub subscriptions: Vec<(String, SubscribeOptions)>,
}

/// What a proxy says of a publication.
#[derive(Clone, Debug)]
pub struct PublishAnswer {
    /// How it is published.
    pub plan: PublishPlan,
    /// Other bytes in place of the client's.
    pub data: Option<Vec<u8>>,
    /// Names and values.
    pub tags: Vec<(String, String)>,
    /// Publications with the same key are one; empty: no key.
    pub idempotency_key: String,
    /// Its version; 0: none.
    pub version: u64,
    /// What versions are compared within.
    pub version_epoch: String,
}

/// What a refresh changes, by a proxy or a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// When it expires, in seconds of the Unix clock; 0: never.
    pub expire_at: i64,
    /// Bytes about the connection or subscription; empty: as they are.
    pub info: Vec<u8>,
    /// JSON for proxies; `None`: as it is.
    pub meta: Option<Vec<u8>>,
}

/// What a proxy says of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It lives on.
    Refreshed(Refreshed),
    /// It expired: it ends.
    Expired,
}

/// The response's `result`, as bytes to be read once more; `None`: there is none.
fn result(proxy: &Proxy, outcome: &Outcome) -> Result<Option<Vec<u8>>, Refusal> {
    let internal = || Refusal::from(Error::INTERNAL);
    let body = match outcome {
        Outcome::Answer(body) => body,
        Outcome::TimedOut(_) | Outcome::Failed(_) => return Err(internal()),
        Outcome::Status(status) => {
            let transform =
                proxy.status_transforms.iter().find(|transform| transform.status == *status);
            return Err(transform.map_or_else(internal, |transform| transform.to.clone()));
        }
    };
    let read = || {
        let response = Object::parse(body)?;
        if let Some(object) = response.object("disconnect")? {
            let disconnect =
                Disconnect { code: object.u32("code")?, reason: object.string("reason")?.into() };
            return Ok(Err(Refusal::Disconnect(disconnect)));
        }
        if let Some(object) = response.object("error")? {
            let (message, temporary) =
                (object.string("message")?.into(), object.bool("temporary")?);
            return Ok(Err(Refusal::Error(Error {
                code: object.u32("code")?,
                message,
                temporary,
            })));
        }
        Ok(Ok(response
            .raw("result")
            .filter(|text| *text != "null")
            .map(|text| text.as_bytes().to_vec())))
    };
    read().map_err(|_: String| internal())?
}

/// Reads a result; a wrong one is an error of the server (100).
fn read<T>(text: &[u8], read: impl FnOnce(&Object<'_>) -> Result<T, String>) -> Result<T, Refusal> {
    Object::parse(text).and_then(|object| read(&object)).map_err(|_| Error::INTERNAL.into())
}

/// What the answer to a question about connect comes to; `None`: the proxy does not know the client.
///
/// # Errors
/// What the client is told; an unknown channel is 102.
pub fn connect(
    options: &Options,
    proxy: &Proxy,
    outcome: &Outcome,
) -> Result<Option<ConnectAnswer>, Refusal> {
    let Some(text) = result(proxy, outcome)? else { return Ok(None) };
    let (mut answer, channels) = read(&text, |object| {
        let answer = ConnectAnswer {
            user: object.string("user")?,
            expire_at: object.i64("expire_at")?,
            info: object.bytes("info", "b64info")?,
            data: object.bytes("data", "b64data")?,
            meta: object
                .raw("meta")
                .filter(|text| *text != "null")
                .map(|text| text.as_bytes().to_vec()),
            subscriptions: Vec::new(),
        };
        Ok((answer, object.strings("channels")?))
    })?;
    for name in channels.into_iter().filter(|name| !name.is_empty()) {
        let namespace = options.channel.namespace(&name)?;
        answer.subscriptions.push((name, SubscribeOptions::of(namespace, Source::ConnectProxy)));
    }
    let object = Object::parse(&text).map_err(|_| Error::INTERNAL)?;
    for (name, sub) in object.objects("subs").map_err(|_| Error::INTERNAL)? {
        let namespace = options.channel.namespace(&name)?;
        let granted = grant(namespace, &sub, Source::ConnectProxy).map_err(|_| Error::INTERNAL)?;
        answer.subscriptions.retain(|(known, _)| *known != name);
        answer.subscriptions.push((name, granted));
    }
    Ok(Some(answer))
}

/// A subscription as a proxy describes it.
fn grant(
    namespace: &Namespace,
    object: &Object<'_>,
    source: Source,
) -> Result<SubscribeOptions, String> {
    if object.has("server_tags_filter") {
        // Without it the client would be sent what it must not see.
        return Err("`server_tags_filter` is not supported".into());
    }
    let mut granted = SubscribeOptions::of(namespace, source);
    granted.apply(namespace, &differs(object)?);
    granted.expire_at = object.i64("expire_at")?.max(0);
    granted.info = object.bytes("info", "b64info")?;
    granted.data = object.bytes("data", "b64data")?;
    granted.auto_cache_recover |= object.bool("cache_recover")? && granted.recovery;
    Ok(granted)
}

/// What the answer to a question about subscribe comes to. An answer without a result permits.
///
/// # Errors
/// What the client is told.
pub fn subscribe(
    namespace: &Namespace,
    proxy: &Proxy,
    outcome: &Outcome,
) -> Result<SubscribeOptions, Refusal> {
    match result(proxy, outcome)? {
        None => Ok(SubscribeOptions::of(namespace, Source::SubscribeProxy)),
        Some(text) => read(&text, |object| grant(namespace, object, Source::SubscribeProxy)),
    }
}

/// What the answer to a question about publish comes to. An answer without a result permits.
///
/// # Errors
/// What the client is told.
pub fn publish(
    namespace: &Arc<Namespace>,
    proxy: &Proxy,
    outcome: &Outcome,
) -> Result<PublishAnswer, Refusal> {
    let text = result(proxy, outcome)?.unwrap_or_else(|| b"{}".to_vec());
    read(&text, |object| {
        let has_data = object.raw("data").is_some();
        let encoded = if has_data { String::new() } else { object.string("b64data")? };
        let data = if has_data || !encoded.is_empty() {
            Some(object.bytes("data", "b64data")?)
        } else {
            None
        };
        // As in Centrifugo the namespace's `delta_publish` does not count here: the proxy decides.
        let mut plan = check::plan(Arc::clone(namespace), object.bool("skip_history")?, false);
        plan.delta = object.bool("delta")?;
        Ok(PublishAnswer {
            plan,
            data,
            tags: object.texts("tags")?,
            idempotency_key: object.string("idempotency_key")?,
            version: object.u64("version")?,
            version_epoch: object.string("version_epoch")?,
        })
    })
}

/// What the answer to a question about rpc comes to: bytes for the client.
///
/// # Errors
/// What the client is told.
pub fn rpc(proxy: &Proxy, outcome: &Outcome) -> Result<Vec<u8>, Refusal> {
    match result(proxy, outcome)? {
        None => Ok(Vec::new()),
        Some(text) => read(&text, |object| object.bytes("data", "b64data")),
    }
}

/// What the answer to a question about refresh comes to. `now_s` is the Unix clock in seconds.
///
/// # Errors
/// What the client is told.
pub fn refresh(proxy: &Proxy, outcome: &Outcome, now_s: i64) -> Result<Retry, Refusal> {
    lives_on(proxy, outcome, now_s)
}

/// What the answer to a question about sub_refresh comes to. `now_s` is the Unix clock in seconds.
///
/// # Errors
/// What the client is told.
pub fn sub_refresh(proxy: &Proxy, outcome: &Outcome, now_s: i64) -> Result<Retry, Refusal> {
    lives_on(proxy, outcome, now_s)
}

fn lives_on(proxy: &Proxy, outcome: &Outcome, now_s: i64) -> Result<Retry, Refusal> {
    if outcome.is_failure(proxy) {
        return Ok(Retry::Refreshed(Refreshed {
            expire_at: now_s.saturating_add(AGAIN_S),
            ..Refreshed::default()
        }));
    }
    // Centrifugo does not look at errors and disconnects here, and ends the connection as expired. So does this.
    let Ok(Some(text)) = result(proxy, outcome) else { return Ok(Retry::Expired) };
    read(&text, |object| {
        if object.bool("expired")? {
            return Ok(Retry::Expired);
        }
        Ok(Retry::Refreshed(Refreshed {
            expire_at: object.i64("expire_at")?,
            info: object.bytes("info", "b64info")?,
            meta: object
                .raw("meta")
                .filter(|text| *text != "null")
                .map(|text| text.as_bytes().to_vec()),
        }))
    })
}
