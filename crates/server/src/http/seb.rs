//! The API of Seb, the Simple Event Broker <https://github.com/micvbang/simple-event-broker>, so that
//! its clients and its benchmark run against Apus: routes, statuses and texts are its own.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ::log::storage::Want;
use ::log::{Error, Fetched, Input, Permit};
use engine::acl::Caller;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use hyper::{Request, StatusCode};
use serde_json::json;
use tokio::sync::oneshot;

use super::exchange::{
    self, Query, Response, State, empty, json, pieces, retry_after, text, with_permit,
};
use super::multipart::{self, Form, Wrong};
use super::text::{duration, time};

const FORM: &str = "multipart/form-data";
/// Records in an answer if the request does not say how many.
const RECORDS: u64 = 10;
/// How long a reader waits if it does not say.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reader may wait.
const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

fn required(query: &Query, name: &str) -> Result<String, String> {
    let missing = || format!("failed to parse query parameter '{name}': required");
    query.get(name).map(str::to_owned).ok_or_else(missing)
}

fn offset(query: &Query) -> Result<u64, String> {
    let value = required(query, "offset")?;
    value.parse().map_err(|_| {
        format!("failed to parse query parameter 'offset': parsing '{value}' as a uint64")
    })
}

/// Both, or all that is wrong with them.
fn both<A, B>(a: Result<A, String>, b: Result<B, String>) -> Result<(A, B), String> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(a), Err(b)) => Err(format!("{a}\n{b}")),
        (Err(e), _) | (_, Err(e)) => Err(e),
    }
}

fn bad(why: String) -> Response {
    text(StatusCode::BAD_REQUEST, why)
}

/// The answer to a refusal of the log; `missing` is the text for a missing topic or record.
fn refused(e: Error, missing: impl FnOnce(&Error) -> Response) -> Response {
    match e {
        Error::NoTopic(_) | Error::OutOfBounds { .. } => missing(&e),
        Error::Bad(why) => bad(why),
        Error::TooLarge(why) => text(StatusCode::PAYLOAD_TOO_LARGE, why),
        Error::Busy { retry_ms } => {
            retry_after(text(StatusCode::SERVICE_UNAVAILABLE, e.to_string()), retry_ms)
        }
        Error::Closed | Error::NotYet(_) => {
            retry_after(text(StatusCode::SERVICE_UNAVAILABLE, e.to_string()), 1000)
        }
        Error::ReadOnly => json(StatusCode::METHOD_NOT_ALLOWED, &json!({"error": e.to_string()})),
        e => text(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
    }
}

fn not_found(_: &Error) -> Response {
    empty(StatusCode::NOT_FOUND)
}

fn value(headers: &HeaderMap, name: hyper::header::HeaderName) -> &str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("")
}

/// The refusal, if the caller may not run `command` on the topic that the query names. A query that names
/// none is refused for that.
fn refusal(
    request: &Request<Incoming>,
    caller: &Caller,
    command: &str,
    state: &State,
) -> Option<Response> {
    let query = Query::new(request);
    let topic = query.get("topic-name")?;
    state.may(caller, command, topic).err().map(exchange::forbidden)
}

/// `POST /records`.
pub(super) async fn add_records(
    request: Request<Incoming>,
    caller: &Caller,
    state: Arc<State>,
) -> Response {
    if let Some(refusal) = refusal(&request, caller, "topic.append", &state) {
        return refusal;
    }
    match add(request, state).await {
        Ok(r) => r,
        Err(e) => refused(e, |e| text(StatusCode::INTERNAL_SERVER_ERROR, e.to_string())),
    }
}

async fn add(request: Request<Incoming>, state: Arc<State>) -> Result<Response, Error> {
    let broker = state.broker().await?;
    if broker.options().read_only {
        return Err(Error::ReadOnly);
    }
    let topic = match required(&Query::new(&request), "topic-name") {
        Ok(t) => t,
        Err(why) => return Ok(bad(why)),
    };
    let Some(boundary) = multipart::boundary(value(request.headers(), CONTENT_TYPE)) else {
        return Ok(bad(format!("expected Content-Type {FORM}")));
    };
    let (body, permit) = exchange::body(request, &broker).await?;
    let (sizes, records) = match multipart::parse(body, &boundary) {
        Ok(parts) => parts,
        Err(Wrong::Bad(why)) => return Ok(bad(why)),
        Err(Wrong::TooLarge(why)) => return Ok(text(StatusCode::PAYLOAD_TOO_LARGE, why)),
    };
    let soft = broker.options().settings.group_bytes as usize;
    if records.len() > soft && sizes.len() > 1 {
        return Ok(empty(StatusCode::PAYLOAD_TOO_LARGE));
    }
    let input = Input::from_parts(&sizes, records)?;
    let a = exchange::append(&broker, &topic, input, permit).await?;
    let mut answer = String::with_capacity(16 + 12 * sizes.len());
    answer.push_str("{\"offsets\":[");
    for i in 0..u64::from(a.records) {
        let comma = if i == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(answer, "{comma}{}", a.first_offset + i);
    }
    answer.push_str("]}\n");
    Ok(pieces(StatusCode::CREATED, "application/json", [Bytes::from(answer)]))
}

/// `GET /record`.
pub(super) async fn get_record(
    request: &Request<Incoming>,
    caller: &Caller,
    state: Arc<State>,
) -> Response {
    if let Some(refusal) = refusal(request, caller, "topic.read", &state) {
        return refusal;
    }
    let query = Query::new(request);
    let (offset, topic) = match both(offset(&query), required(&query, "topic-name")) {
        Ok(both) => both,
        Err(why) => return bad(why),
    };
    let want = Want::from(offset, 1, 0);
    let (fetched, permit) = match fetch_with_permit(&state, &topic, want).await {
        Ok(f) => f,
        Err(e) => return refused(e, not_found),
    };
    match records(&fetched, offset, 1, 0) {
        Ok((_, records)) => {
            pieces(StatusCode::OK, "application/octet-stream", with_permit(records, permit))
        }
        Err(e) => {
            let why = format!("failed to read record '{offset}': {e}");
            text(StatusCode::INTERNAL_SERVER_ERROR, why)
        }
    }
}

/// `GET /records`.
pub(super) async fn get_records(
    request: &Request<Incoming>,
    caller: &Caller,
    state: Arc<State>,
) -> Response {
    if let Some(refusal) = refusal(request, caller, "topic.read", &state) {
        return refusal;
    }
    let accept = value(request.headers(), ACCEPT).split(';').next().unwrap_or("").trim();
    if accept.is_empty() {
        return text(StatusCode::NOT_ACCEPTABLE, "mime: no media type\n");
    }
    if accept != "*/*" && !accept.eq_ignore_ascii_case(FORM) {
        return text(StatusCode::MULTIPLE_CHOICES, format!("set Accept: {FORM}\n"));
    }
    let query = Query::new(request);
    let (topic, offset) = match both(required(&query, "topic-name"), offset(&query)) {
        Ok(both) => both,
        Err(why) => return bad(format!("parsing url params: {why}")),
    };
    // A value that is not a number counts as not given.
    let number = |name| query.get(name).and_then(|v| v.parse::<u64>().ok());
    let count = number("max-records").filter(|n| *n > 0).unwrap_or(RECORDS);
    let bytes = number("max-bytes").filter(|n| *n > 0);
    let most = ::log::batch::BYTES_MAX;
    let bytes = bytes.and_then(|n| usize::try_from(n).ok()).map_or(most, |n| n.min(most));
    let timeout = query.get("timeout").and_then(duration).unwrap_or(TIMEOUT).min(TIMEOUT_MAX);
    let found = wait(&state, &topic, offset, timeout).await;
    match found {
        Err(e) => return missing(e),
        Ok(false) => {
            let form = Form::new();
            return pieces(StatusCode::PARTIAL_CONTENT, &form.content_type(), [form.nothing()]);
        }
        Ok(true) => {}
    }
    // The user may have lost the permission meanwhile.
    if let Err(why) = state.may(caller, "topic.read", &topic) {
        return exchange::forbidden(why);
    }
    // Bytes are those of records alone: the bytes stored around them do not count.
    let around = 84 * (1 + usize::try_from(count).unwrap_or(usize::MAX).min(1 << 20));
    let want = Want::from(offset, count, bytes.saturating_add(around));
    let (fetched, permit) = match fetch_with_permit(&state, &topic, want).await {
        Ok(f) => f,
        Err(e) => return missing(e),
    };
    match records(&fetched, offset, usize::try_from(count).unwrap_or(usize::MAX), bytes) {
        Ok((sizes, records)) => {
            let form = Form::new();
            let body = with_permit(form.encode(sizes.into_iter(), records), permit);
            pieces(StatusCode::OK, &form.content_type(), body)
        }
        Err(e) => {
            let why = format!("failed to read record '{offset}': {e}");
            text(StatusCode::INTERNAL_SERVER_ERROR, why)
        }
    }
}

fn missing(e: Error) -> Response {
    refused(e, |e| text(StatusCode::NOT_FOUND, e.to_string()))
}

/// `GET /topic`.
pub(super) async fn get_topic(
    request: &Request<Incoming>,
    caller: &Caller,
    state: Arc<State>,
) -> Response {
    if let Some(refusal) = refusal(request, caller, "topic.info", &state) {
        return refusal;
    }
    let topic = match required(&Query::new(request), "topic-name") {
        Ok(t) => t,
        Err(why) => return bad(why),
    };
    match state.ask(move |b| b.describe(&topic)).await {
        Ok(d) => json(
            StatusCode::OK,
            &json!({"next_offset": d.extent.next, "latest_commit_at": time(d.extent.latest_us)}),
        ),
        Err(e) => refused(e, not_found),
    }
}

/// Opens a topic if it is not, so that it can be waited for.
pub(super) async fn open(state: &Arc<State>, topic: &str) -> Result<::log::Broker, Error> {
    let broker = state.broker().await?;
    if !broker.is_open(topic) {
        let topic = topic.to_owned();
        state.ask(move |b| b.open(&topic)).await?;
    }
    Ok(broker)
}

/// Waits until there is a record with this offset; whether there is.
pub(super) async fn wait(
    state: &Arc<State>,
    topic: &str,
    offset: u64,
    timeout: Duration,
) -> Result<bool, Error> {
    let broker = open(state, topic).await?;
    let (tx, rx) = oneshot::channel();
    let waiting = broker.wait(
        topic,
        offset,
        Box::new(move || {
            // The waiting client may have disconnected.
            let _ = tx.send(());
        }),
    )?;
    let mut stopped = state.stopped.clone();
    let ended = async move {
        // A client that waits when it ends gets an empty answer.
        let _ = stopped.wait_for(|s| *s).await;
    };
    let found = tokio::time::timeout(timeout, first(rx, ended)).await;
    drop(waiting);
    Ok(found == Ok(true))
}

/// Waits for one of two things; whether it was the first.
async fn first(a: oneshot::Receiver<()>, b: impl Future<Output = ()>) -> bool {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    std::future::poll_fn(|cx| {
        if let std::task::Poll::Ready(r) = a.as_mut().poll(cx) {
            return std::task::Poll::Ready(r.is_ok());
        }
        b.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// Reads batches, from memory at once, from the storage aside; with room for them.
async fn fetch(state: &Arc<State>, topic: &str, want: Want) -> Result<(Fetched, Permit), Error> {
    let broker = open(state, topic).await?;
    if let Some(fetched) = broker.read_kept(topic, &want) {
        let fetched = fetched?;
        let permit = broker.answer_permit(fetched.batches.iter().map(|b| b.bytes.len()).sum())?;
        return Ok((fetched, permit));
    }
    let topic = topic.to_owned();
    state.ask(move |b| b.read_with_permit(&topic, &want)).await
}

/// The same, waiting a little for room. Nothing is read while there is none, so that readers that do not
/// take their answers cost no more than that room.
pub(super) async fn fetch_with_permit(
    state: &Arc<State>,
    topic: &str,
    want: Want,
) -> Result<(Fetched, Permit), Error> {
    const PAUSE: Duration = Duration::from_millis(5);
    const PAUSE_MAX: Duration = Duration::from_millis(160);
    let begin = tokio::time::Instant::now();
    let mut pause = PAUSE;
    loop {
        match fetch(state, topic, want).await {
            Err(Error::Busy { .. }) if begin.elapsed() < exchange::PATIENCE => {}
            other => return other,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// The records from an offset on, up to so many, and so many bytes unless the first alone has more.
pub(super) fn records(
    fetched: &Fetched,
    offset: u64,
    mut count: usize,
    mut bytes: usize,
) -> Result<(Vec<u32>, Vec<Bytes>), Error> {
    let (mut sizes, mut blocks) = (Vec::new(), Vec::new());
    for b in &fetched.batches {
        let skip = offset.saturating_sub(b.header.first_offset) as usize;
        let all = b.records()?;
        let left = all.count().saturating_sub(skip);
        let some = all.some(skip, count, bytes, sizes.is_empty());
        sizes.extend(some.sizes());
        let taken = some.count();
        bytes = bytes.saturating_sub(some.block().len());
        blocks.push(some.block().clone());
        count -= taken;
        if count == 0 || taken < left {
            break;
        }
    }
    Ok((sizes, blocks))
}
