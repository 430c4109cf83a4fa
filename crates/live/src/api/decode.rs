//! JSON becomes requests.

use super::request::{
    ApiError, BATCH_MAX, Body, Broadcast, DisconnectUser, History, METHODS, Method, Position,
    Publication, Publish, Refresh, Request, Subscribe, Target, Unsubscribe,
};
use crate::code::Disconnect;
use crate::json::Object;
use crate::token::differs;

/// Why a body is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It is no JSON, or a field is of the wrong type, and which: the status 400 with this text.
    Malformed(String),
    /// The request makes no sense: a reply with this error.
    Refused(ApiError),
}

impl From<ApiError> for DecodeError {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<DecodeError> for ApiError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Malformed(why) => Self::BAD_REQUEST.because(why),
            DecodeError::Refused(error) => error,
        }
    }
}

type Result<T> = std::result::Result<T, DecodeError>;

impl Method {
    /// The method of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        METHODS.iter().find(|(_, known)| *known == name).map(|(method, _)| *method)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }
}

fn bad(why: String) -> DecodeError {
    DecodeError::Malformed(why)
}

fn missing(name: &str) -> DecodeError {
    ApiError::BAD_REQUEST.because(format!("`{name}` is missing")).into()
}

/// Reads the body of a method. An empty body is an empty object, for methods without arguments.
///
/// # Errors
/// What is wrong with it.
pub fn decode(method: Method, body: &[u8]) -> Result<Body> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    let object = Object::parse(body).map_err(bad)?;
    match method {
        Method::Batch => batch(&object),
        method => request(method, &object).map(Body::One),
    }
}

fn batch(object: &Object<'_>) -> Result<Body> {
    let commands = object.list("commands").map_err(bad)?;
    if commands.len() > BATCH_MAX {
        return Err(bad(format!("a batch has at most {BATCH_MAX} commands")));
    }
    let requests = commands.iter().map(|command| Ok(self::command(command.as_ref())?)).collect();
    Ok(Body::Batch { requests, parallel: object.bool("parallel").map_err(bad)? })
}

/// A command of a batch: an object whose field is the method.
fn command(command: Option<&Object<'_>>) -> Result<Request> {
    // In Centrifugo's order, which counts if there are several.
    const ORDER: [Method; 13] = [
        Method::Publish,
        Method::Broadcast,
        Method::Subscribe,
        Method::Unsubscribe,
        Method::Disconnect,
        Method::History,
        Method::HistoryRemove,
        Method::Presence,
        Method::PresenceStats,
        Method::Info,
        Method::Rpc,
        Method::Refresh,
        Method::Channels,
    ];
    let command = command.ok_or(ApiError::BAD_REQUEST)?;
    let method =
        ORDER.into_iter().find(|method| command.has(method.name())).ok_or(ApiError::NOT_FOUND)?;
    let params = command.object(method.name()).map_err(bad)?.ok_or(ApiError::NOT_FOUND)?;
    request(method, &params)
}

/// One command of the old route, `POST /api`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legacy {
    /// The number that the reply carries; 0: none.
    pub id: u32,
    /// The request, or what is wrong with it.
    pub request: std::result::Result<Request, ApiError>,
}

/// Reads the body of the old route: objects `{"method", "params"}`, one after the other. The reply has as many lines.
///
/// # Errors
/// It is no sequence of such objects.
pub fn legacy(body: &[u8]) -> Result<Vec<Legacy>> {
    let text = std::str::from_utf8(body).map_err(|_| bad("it is not UTF-8".into()))?;
    let values =
        serde_json::Deserializer::from_str(text).into_iter::<&serde_json::value::RawValue>();
    let mut commands = Vec::new();
    for value in values {
        let value = value.map_err(|error| bad(format!("it is not JSON: {error}")))?;
        let object = Object::parse(value.get().as_bytes()).map_err(bad)?;
        let id = object.u32("id").map_err(bad)?;
        commands.push(Legacy { id, request: legacy_command(&object).map_err(ApiError::from) });
        if commands.len() > BATCH_MAX {
            return Err(bad(format!("a request has at most {BATCH_MAX} commands")));
        }
    }
    if commands.is_empty() { Err(bad("there is no command".into())) } else { Ok(commands) }
}

fn legacy_command(object: &Object<'_>) -> Result<Request> {
    /// Numbers of methods in place of names, from before version 4.
    const NUMBERS: [Method; 13] = [
        Method::Publish,
        Method::Broadcast,
        Method::Unsubscribe,
        Method::Disconnect,
        Method::Presence,
        Method::PresenceStats,
        Method::History,
        Method::HistoryRemove,
        Method::Channels,
        Method::Info,
        Method::Rpc,
        Method::Subscribe,
        Method::Refresh,
    ];
    let number = object.u64("method").ok().and_then(|number| usize::try_from(number).ok());
    let method = match number {
        Some(number) => NUMBERS.get(number).copied(),
        None => Method::of(&object.string("method").map_err(bad)?.to_lowercase()),
    };
    let method = method.filter(|method| *method != Method::Batch).ok_or(ApiError::NOT_FOUND)?;
    let params = match object.object("params").map_err(bad)? {
        Some(params) => params,
        None => Object::parse(b"{}").map_err(bad)?,
    };
    request(method, &params)
}

/// Reads the parameters of a method.
fn request(method: Method, params: &Object<'_>) -> Result<Request> {
    let channel = || required(params, "channel");
    Ok(match method {
        Method::Publish => {
            Request::Publish(Publish { channel: channel()?, publication: publication(params)? })
        }
        Method::Broadcast => {
            let channels = params.strings("channels").map_err(bad)?;
            if channels.is_empty() {
                return Err(missing("channels"));
            }
            Request::Broadcast(Broadcast { channels, publication: publication(params)? })
        }
        Method::Subscribe => Request::Subscribe(Subscribe {
            channel: channel()?,
            target: target(params)?,
            expire_at: params.i64("expire_at").map_err(bad)?,
            info: params.bytes("info", "b64info").map_err(bad)?,
            data: params.bytes("data", "b64data").map_err(bad)?,
            recover_since: position(params, "recover_since")?,
            differs: differs(params).map_err(bad)?,
        }),
        Method::Unsubscribe => {
            let channel = params.string("channel").map_err(bad)?;
            Request::Unsubscribe(Unsubscribe { channel, target: target(params)? })
        }
        Method::Disconnect => Request::Disconnect(disconnect(params)?),
        Method::Refresh => Request::Refresh(Refresh {
            target: target(params)?,
            expired: params.bool("expired").map_err(bad)?,
            expire_at: params.i64("expire_at").map_err(bad)?,
            info: params.raw("info").unwrap_or_default().as_bytes().to_vec(),
        }),
        Method::Presence => Request::Presence { channel: channel()? },
        Method::PresenceStats => Request::PresenceStats { channel: channel()? },
        Method::History => Request::History(History {
            channel: channel()?,
            limit: params.i32("limit").map_err(bad)?,
            since: position(params, "since")?,
            reverse: params.bool("reverse").map_err(bad)?,
        }),
        Method::HistoryRemove => Request::HistoryRemove { channel: channel()? },
        Method::Channels => Request::Channels { pattern: params.string("pattern").map_err(bad)? },
        Method::Info => Request::Info,
        Method::Rpc => Request::Rpc {
            method: required(params, "method")?,
            params: params.raw("params").unwrap_or_default().as_bytes().to_vec(),
        },
        Method::Batch => return Err(ApiError::NOT_FOUND.into()),
    })
}

fn required(params: &Object<'_>, name: &str) -> Result<String> {
    let text = params.string(name).map_err(bad)?;
    if text.is_empty() { Err(missing(name)) } else { Ok(text) }
}

/// Connections by labels are a feature of Centrifugo PRO. To leave the field out would reach more connections than
/// the application means.
fn target(params: &Object<'_>) -> Result<Target> {
    for field in ["label_filter", "all_users"] {
        if params.has(field) && params.raw(field) != Some("false") {
            return Err(ApiError::NOT_AVAILABLE
                .because(format!("`{field}` is not supported"))
                .into());
        }
    }
    Ok(Target {
        user: params.string("user").map_err(bad)?,
        client: params.string("client").map_err(bad)?,
        session: params.string("session").map_err(bad)?,
    })
}

fn publication(params: &Object<'_>) -> Result<Publication> {
    let read = || {
        Ok(Publication {
            data: params.bytes("data", "b64data")?,
            tags: params.texts("tags")?,
            idempotency_key: params.string("idempotency_key")?,
            delta: params.bool("delta")?,
            skip_history: params.bool("skip_history")?,
            version: params.u64("version")?,
            version_epoch: params.string("version_epoch")?,
        })
    };
    read().map_err(bad)
}

fn position(params: &Object<'_>, name: &str) -> Result<Option<Position>> {
    let read = |object: Object<'_>| {
        Ok(Position { offset: object.u64("offset")?, epoch: object.string("epoch")? })
    };
    params.object(name).and_then(|object| object.map(read).transpose()).map_err(bad)
}

fn disconnect(params: &Object<'_>) -> Result<DisconnectUser> {
    let told = match params.object("disconnect").map_err(bad)? {
        None => Disconnect::FORCE_NO_RECONNECT,
        Some(object) => {
            let code = object.u32("code").map_err(bad)?;
            let reason = object.string("reason").map_err(bad)?;
            Disconnect { code, reason: reason.into() }
        }
    };
    let whitelist = params.strings("whitelist").map_err(bad)?;
    let made = DisconnectUser { target: target(params)?, disconnect: told, whitelist };
    made.check()?;
    Ok(made)
}
