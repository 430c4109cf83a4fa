//! Topics and groups.

use std::sync::Arc;

use ::log::{Description, Error};
use engine::acl::Caller;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};

use super::super::exchange::{self, Query, Response, State, empty, json};
use super::super::text::time;
use super::{bad, number, object, only};

/// Names that are listed at once at most.
const LIST_MAX: u64 = 10_000;

fn described(d: &Description) -> Value {
    let e = &d.extent;
    let latest = (e.latest_us != 0).then(|| time(e.latest_us));
    json!({
        "name": d.name,
        "first_offset": e.first,
        "next_offset": e.next,
        "bytes": e.bytes,
        "objects": e.objects,
        "latest_append_at": latest,
        "settings": d.settings.to_json(),
    })
}

/// `GET /v1/topics`: those that the caller may read.
pub(super) async fn list(
    request: &Request<Incoming>,
    caller: &Caller,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let query = Query::new(request);
    only(&query, &["after", "limit"])?;
    let limit = number(&query, "limit")?.unwrap_or(LIST_MAX).min(LIST_MAX) as usize;
    if limit == 0 {
        return Err(bad("limit must be at least 1"));
    }
    let after = query.get("after").unwrap_or("").to_owned();
    let names = caller.readable(&state.engine.table, state.ask(|b| b.topics()).await?);
    let from = names.partition_point(|n| *n <= after);
    let page: Vec<&String> = names.iter().skip(from).take(limit).collect();
    Ok(json(StatusCode::OK, &json!({"topics": page, "more": from + page.len() < names.len()})))
}

/// `GET /v1/topics/{topic}`.
pub(super) async fn describe(topic: &str, state: &Arc<State>) -> Result<Response, Error> {
    let topic = topic.to_owned();
    let d = state.ask(move |b| b.describe(&topic)).await?;
    Ok(json(StatusCode::OK, &described(&d)))
}

/// `PUT /v1/topics/{topic}`.
pub(super) async fn create(
    topic: &str,
    request: Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let text = body(request, state).await?;
    let topic = topic.to_owned();
    let created = state.ask(move |b| {
        let settings = b.options().settings.clone();
        let settings = if text.is_empty() { settings } else { settings.with_json(&text)? };
        b.create(&topic, &settings)?;
        b.describe(&topic)
    });
    Ok(json(StatusCode::CREATED, &described(&created.await?)))
}

/// `PATCH /v1/topics/{topic}`.
pub(super) async fn change(
    topic: &str,
    request: Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let text = body(request, state).await?;
    let topic = topic.to_owned();
    let changed = state.ask(move |b| {
        let settings = b.describe(&topic)?.settings.with_json(&text)?;
        b.set(&topic, settings)?;
        b.describe(&topic)
    });
    Ok(json(StatusCode::OK, &described(&changed.await?)))
}

/// `DELETE /v1/topics/{topic}`.
pub(super) async fn delete(topic: &str, state: &Arc<State>) -> Result<Response, Error> {
    let topic = topic.to_owned();
    state.ask(move |b| b.delete(&topic)).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// `GET …/groups`.
pub(super) async fn groups(topic: &str, state: &Arc<State>) -> Result<Response, Error> {
    let topic = topic.to_owned();
    let groups = state.ask(move |b| b.groups(&topic)).await?;
    let groups: Vec<Value> =
        groups.iter().map(|(name, offset)| json!({"name": name, "offset": offset})).collect();
    Ok(json(StatusCode::OK, &json!({"groups": groups})))
}

/// `GET …/groups/{group}`.
pub(super) async fn committed(
    topic: &str,
    group: &str,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let (topic, name) = (topic.to_owned(), group.to_owned());
    match state.ask(move |b| b.committed(&topic, &name)).await? {
        Some(offset) => Ok(json(StatusCode::OK, &json!({"name": group, "offset": offset}))),
        None => {
            Ok(json(StatusCode::NOT_FOUND, &json!({"error": "the group has committed nothing"})))
        }
    }
}

/// `PUT …/groups/{group}`.
pub(super) async fn commit(
    topic: &str,
    group: &str,
    request: Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let body = object(&body(request, state).await?)?;
    let offset = body.get("offset").and_then(Value::as_u64);
    let offset = match (offset, body.len()) {
        (Some(offset), 1) => offset,
        _ => return Err(bad("the body must be {\"offset\": N}")),
    };
    let (topic, name) = (topic.to_owned(), group.to_owned());
    state.ask(move |b| b.commit(&topic, &name, offset)).await?;
    Ok(json(StatusCode::OK, &json!({"name": group, "offset": offset})))
}

/// `DELETE …/groups/{group}`.
pub(super) async fn forget(
    topic: &str,
    group: &str,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let (topic, name) = (topic.to_owned(), group.to_owned());
    let there = state.ask(move |b| b.forget_group(&topic, &name)).await?;
    Ok(empty(if there { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }))
}

async fn body(request: Request<Incoming>, state: &Arc<State>) -> Result<Vec<u8>, Error> {
    let broker = state.broker().await?;
    let (chunks, _room) = exchange::body(request, &broker).await?;
    Ok(chunks.join().to_vec())
}
