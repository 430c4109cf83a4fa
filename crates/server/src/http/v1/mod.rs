//! Apus's own API. docs/topics.md is its description for people, `openapi.json` the one for machines.

mod consume;
mod manage;
mod produce;
mod tail;

use std::sync::Arc;

use ::log::Error;
use engine::acl::Caller;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::exchange::{Query, Response, State, json, not_allowed, pieces, retry_after, with};
use super::text::unescape;

/// The description of all this.
const OPENAPI: &str = include_str!("openapi.json");
/// The type of batches as they are stored.
const BATCH: &str = "application/vnd.apus.batch";
/// The type of JSON lines.
const LINES: &str = "application/x-ndjson";

/// Answers with an error as JSON.
fn error(e: &Error) -> Response {
    let status = match e {
        Error::NoTopic(_) | Error::NoGroup(_) | Error::OutOfBounds { .. } => StatusCode::NOT_FOUND,
        Error::TopicExists(_) | Error::Sequence { .. } => StatusCode::CONFLICT,
        Error::Bad(_) => StatusCode::BAD_REQUEST,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::Busy { .. } | Error::Larger { .. } | Error::NotYet(_) | Error::Closed => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::ReadOnly => StatusCode::METHOD_NOT_ALLOWED,
        Error::Damaged(_) | Error::Storage(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut body = json!({"error": e.to_string()});
    match e {
        Error::OutOfBounds { first, next, .. } => {
            body["first_offset"] = json!(first);
            body["next_offset"] = json!(next);
        }
        Error::Sequence { expected, .. } => body["expected_sequence"] = json!(expected),
        Error::Damaged(d) => {
            body["topic"] = json!(d.topic);
            body["object"] = json!(d.object);
            body["offset"] = json!(d.offset);
            body["resumes"] = json!(d.resumes);
        }
        _ => {}
    }
    let r = json(status, &body);
    match e {
        Error::Busy { retry_ms } => retry_after(r, *retry_ms),
        Error::Closed | Error::NotYet(_) => retry_after(r, 1000),
        _ => r,
    }
}

fn bad(why: impl Into<String>) -> Error {
    Error::Bad(why.into())
}

/// Refuses parameters that are none, or say nothing.
fn only(query: &Query, known: &[&str]) -> Result<(), Error> {
    if let Some(name) = query.empty() {
        return Err(bad(format!("{name} has no value")));
    }
    match query.unknown(known) {
        Some(name) => {
            Err(bad(format!("there is no parameter '{name}'; there is {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

/// A number of the query, from 0 to 2⁶³ - 1: the range that RESP's integers and most languages hold, too.
fn number(query: &Query, name: &str) -> Result<Option<u64>, Error> {
    let read = |v: &str| v.parse().ok().filter(|n| *n <= i64::MAX as u64);
    let wrong = || bad(format!("{name} must be a whole number below 2^63"));
    query.get(name).map(|v| read(v).ok_or_else(wrong)).transpose()
}

/// What the caller of a route must be allowed.
struct Needed<'a> {
    /// The RESP command that corresponds to the route.
    command: &'static str,
    topic: &'a str,
    /// The route may wait for records, and the caller may lose the permission meanwhile.
    waits: bool,
}

/// The permission that a route needs. None for the description, for the list, which has only topics that the
/// caller may read, and for paths that do not exist.
fn needed<'a>(method: &Method, parts: &[&'a str]) -> Option<Needed<'a>> {
    let is = |m: Method| *method == m;
    let mut waits = false;
    let (command, topic) = match parts {
        ["topics", t] if is(Method::GET) => ("topic.info", t),
        ["topics", t] if is(Method::PUT) => ("topic.create", t),
        ["topics", t] if is(Method::PATCH) => ("topic.set", t),
        ["topics", t] if is(Method::DELETE) => ("topic.delete", t),
        ["topics", t, "batches" | "records"] if is(Method::POST) => ("topic.append", t),
        ["topics", t, "batches" | "records" | "tail"] | ["topics", t, "records", _]
            if is(Method::GET) =>
        {
            waits = true;
            ("topic.read", t)
        }
        ["topics", t, "groups"] if is(Method::GET) => ("topic.groups", t),
        ["topics", t, "groups", _] if is(Method::GET) => ("topic.committed", t),
        ["topics", t, "groups", _] if is(Method::PUT) || is(Method::DELETE) => ("topic.commit", t),
        _ => return None,
    };
    Some(Needed { command, topic, waits })
}

/// The answer to a caller without the permission.
fn forbidden(why: &str) -> Response {
    json(StatusCode::FORBIDDEN, &json!({"error": why}))
}

/// Routes a request under `/v1/`.
pub(super) async fn answer(
    request: Request<Incoming>,
    caller: Caller,
    state: Arc<State>,
) -> Response {
    let path = request.uri().path().to_owned();
    let parts: Vec<String> =
        path.trim_start_matches("/v1/").split('/').map(|p| unescape(p, false)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let needed = needed(request.method(), &parts);
    let check = |needed: &Needed<'_>| state.may(&caller, needed.command, needed.topic);
    let r = match needed.as_ref().map_or(Ok(()), check) {
        Ok(()) => route(request, &parts, &caller, &state).await,
        Err(why) => forbidden(&why),
    };
    let again = needed.filter(|needed| needed.waits && r.status().is_success());
    let r = match again.as_ref().map_or(Ok(()), check) {
        Ok(()) => r,
        Err(why) => forbidden(&why),
    };
    with(r, CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

async fn route(
    request: Request<Incoming>,
    parts: &[&str],
    caller: &Caller,
    state: &Arc<State>,
) -> Response {
    let (get, post) = (Method::GET, Method::POST);
    let (put, delete) = (Method::PUT, Method::DELETE);
    let m = request.method().clone();
    let result = match *parts {
        ["openapi.json"] if m == get => {
            Ok(pieces(StatusCode::OK, "application/json", [Bytes::from_static(OPENAPI.as_bytes())]))
        }
        ["topics"] if m == get => manage::list(&request, caller, state).await,
        ["topics", topic] if m == get => manage::describe(topic, state).await,
        ["topics", topic] if m == put => manage::create(topic, request, state).await,
        ["topics", topic] if m == Method::PATCH => manage::change(topic, request, state).await,
        ["topics", topic] if m == delete => manage::delete(topic, state).await,
        ["topics", topic, "batches"] if m == post => produce::batch(topic, request, state).await,
        ["topics", topic, "batches"] if m == get => consume::batches(topic, &request, state).await,
        ["topics", topic, "records"] if m == post => produce::records(topic, request, state).await,
        ["topics", topic, "records"] if m == get => consume::records(topic, &request, state).await,
        ["topics", topic, "records", offset] if m == get => {
            consume::record(topic, offset, state).await
        }
        ["topics", topic, "tail"] if m == get => tail::tail(topic, &request, caller, state).await,
        ["topics", topic, "groups"] if m == get => manage::groups(topic, state).await,
        ["topics", topic, "groups", group] if m == get => {
            manage::committed(topic, group, state).await
        }
        ["topics", topic, "groups", group] if m == put => {
            manage::commit(topic, group, request, state).await
        }
        ["topics", topic, "groups", group] if m == delete => {
            manage::forget(topic, group, state).await
        }
        ["openapi.json" | "topics"]
        | ["topics", _, "records", _]
        | ["topics", _, "tail" | "groups"] => Ok(not_allowed("GET, HEAD")),
        ["topics", _] => Ok(not_allowed("GET, HEAD, PUT, PATCH, DELETE")),
        ["topics", _, "batches" | "records"] => Ok(not_allowed("GET, HEAD, POST")),
        ["topics", _, "groups", _] => Ok(not_allowed("GET, HEAD, PUT, DELETE")),
        _ => Ok(json(StatusCode::NOT_FOUND, &json!({"error": "there is no such path"}))),
    };
    result.unwrap_or_else(|e| error(&e))
}

/// An object of a JSON body.
fn object(bytes: &[u8]) -> Result<serde_json::Map<String, Value>, Error> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(o)) => Ok(o),
        Ok(_) => Err(bad("the body must be a JSON object")),
        Err(e) => Err(bad(format!("the body is not JSON: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_json_and_names_every_path() {
        let doc: Value = serde_json::from_str(OPENAPI).expect("JSON");
        let paths: Vec<&str> =
            doc["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        for path in [
            "/records",
            "/record",
            "/topic",
            "/v1/openapi.json",
            "/v1/topics",
            "/v1/topics/{topic}",
            "/v1/topics/{topic}/batches",
            "/v1/topics/{topic}/records",
            "/v1/topics/{topic}/records/{offset}",
            "/v1/topics/{topic}/tail",
            "/v1/topics/{topic}/groups",
            "/v1/topics/{topic}/groups/{group}",
        ] {
            assert!(paths.contains(&path), "{path} is not described");
        }
        assert_eq!(paths.len(), 12);
    }
}
