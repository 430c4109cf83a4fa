//! Records out.

use std::sync::Arc;
use std::time::Duration;

use ::log::storage::Want;
use ::log::{Error, Fetched, Permit, Start};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use serde_json::json;

use super::super::exchange::{
    Query, Response, State, empty, pieces, text_with_permit, with, with_permit,
};
use super::super::seb::{fetch_with_permit, wait};
use super::super::text::{base64, duration};
use super::{BATCH, LINES, bad, number, only};

/// Bytes in an answer if the request does not say how many.
const BYTES: u64 = 1 << 20;
/// Bytes that are answered at most, besides the first batch.
const BYTES_MAX: u64 = 16 << 20;
/// How long a reader may wait.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// Records that are answered one by one if the request does not say how many.
const RECORDS: u64 = 1000;

/// How a read's parameters are called.
const PARAMETERS: [&str; 7] =
    ["offset", "timestamp", "group", "reset", "max-records", "max-bytes", "wait"];

/// Where a group begins that has committed nothing: `reset`, as Kafka's `auto.offset.reset`. Without a
/// group it has no effect, as there.
fn reset(query: &Query) -> Result<Option<Start>, Error> {
    match query.get("reset") {
        None | Some("earliest") => Ok(Some(Start::Earliest)),
        Some("latest") => Ok(Some(Start::Latest)),
        Some("none") => Ok(None),
        Some(_) => Err(bad("reset is earliest, latest or none")),
    }
}

/// The first offset that a query asks for, and whether it asks for a group that has committed nothing.
pub(super) async fn start(
    topic: &str,
    query: &Query,
    default: Start,
    state: &Arc<State>,
) -> Result<(u64, bool), Error> {
    let reset = reset(query)?;
    let given = ["offset", "timestamp", "group"].into_iter().filter(|n| query.get(n).is_some());
    if given.count() > 1 {
        return Err(bad("offset, timestamp and group exclude each other"));
    }
    let start = match (query.get("offset"), number(query, "timestamp")?, query.get("group")) {
        (Some("earliest"), ..) => Start::Earliest,
        (Some("latest"), ..) => Start::Latest,
        (Some(n), ..) => Start::Offset(
            n.parse().map_err(|_| bad("offset must be a whole number, earliest or latest"))?,
        ),
        (None, Some(ms), _) => Start::Time(ms.saturating_mul(1000)),
        (None, None, Some(group)) => {
            let (topic, group) = (topic.to_owned(), group.to_owned());
            return state
                .ask(move |b| {
                    b.open(&topic)?;
                    b.start_group(&topic, &group, reset)
                })
                .await;
        }
        (None, None, None) => default,
    };
    if let Start::Offset(offset) = start {
        return Ok((offset, false));
    }
    let topic = topic.to_owned();
    state.ask(move |b| Ok((b.start(&topic, start)?, false))).await
}

/// Says that the group is new, if it is.
pub(super) fn group(r: Response, new: bool) -> Response {
    if !new {
        return r;
    }
    with(r, HeaderName::from_static("apus-group"), HeaderValue::from_static("new"))
}

/// How long the client wants to wait for records, if it says so.
pub(super) fn patience(query: &Query) -> Result<Option<Duration>, Error> {
    let wrong = || bad("wait is a duration such as 5s or 200ms");
    query.get("wait").map(|text| Ok(duration(text).ok_or_else(wrong)?.min(WAIT_MAX))).transpose()
}

/// Reads the records that a query asks for; none if there is nothing in time.
async fn read(
    topic: &str,
    query: &Query,
    records: Option<u64>,
    state: &Arc<State>,
    new: &mut bool,
) -> Result<(u64, Option<(Fetched, Permit)>), Error> {
    only(query, &PARAMETERS)?;
    let offset;
    (offset, *new) = start(topic, query, Start::Earliest, state).await?;
    let records = number(query, "max-records")?.or(records).unwrap_or(u64::MAX).max(1);
    let bytes = number(query, "max-bytes")?.unwrap_or(BYTES).min(BYTES_MAX) as usize;
    let patience = patience(query)?.unwrap_or(Duration::ZERO);
    let want = Want::from(offset, records, bytes);
    match fetch_with_permit(state, topic, want).await {
        Err(Error::OutOfBounds { next, .. }) if offset == next => {}
        other => return other.map(|f| (offset, Some(f))),
    }
    if patience.is_zero() || !wait(state, topic, offset, patience).await? {
        return Ok((offset, None));
    }
    fetch_with_permit(state, topic, want).await.map(|f| (offset, Some(f)))
}

/// Tells where to go on.
fn offsets(r: Response, first: u64, next: u64, end: u64) -> Response {
    [("apus-first-offset", first), ("apus-next-offset", next), ("apus-end-offset", end)]
        .into_iter()
        .fold(r, |r, (name, n)| with(r, HeaderName::from_static(name), HeaderValue::from(n)))
}

/// `GET …/batches`: batches as they are stored.
pub(super) async fn batches(
    topic: &str,
    request: &Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let mut new = false;
    let (offset, fetched) = read(topic, &Query::new(request), None, state, &mut new).await?;
    let Some((f, permit)) = fetched else {
        let r = offsets(empty(StatusCode::NO_CONTENT), offset, offset, offset);
        return Ok(group(r, new));
    };
    let first = f.batches.first().map_or(offset, |b| b.header.first_offset);
    let next = f.batches.last().map_or(offset, |b| b.header.next_offset());
    let bytes = f.batches.into_iter().map(|b| b.bytes);
    let r = pieces(StatusCode::OK, BATCH, with_permit(bytes, permit));
    Ok(group(offsets(r, first, next, f.extent.next), new))
}

/// `GET …/records`: records as JSON lines.
pub(super) async fn records(
    topic: &str,
    request: &Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let query = Query::new(request);
    let mut new = false;
    let (offset, fetched) = read(topic, &query, Some(RECORDS), state, &mut new).await?;
    let Some((f, mut permit)) = fetched else {
        let r = offsets(empty(StatusCode::NO_CONTENT), offset, offset, offset);
        return Ok(group(r, new));
    };
    let count = number(&query, "max-records")?.unwrap_or(RECORDS).max(1);
    let mut text = String::new();
    let next = lines(&f, offset, count, |line| {
        text.push_str(&line);
        text.push('\n');
    })?;
    // Written as JSON, bytes can become six times as many.
    if !permit.fit(text.len()) {
        return Err(Error::Busy { retry_ms: 1000 });
    }
    let r = pieces(StatusCode::OK, LINES, [text_with_permit(text, permit)]);
    Ok(group(offsets(r, offset, next, f.extent.next), new))
}

/// Makes a line of JSON of each record from an offset on. Returns the offset to go on with.
pub(super) fn lines(
    fetched: &Fetched,
    offset: u64,
    count: u64,
    mut line: impl FnMut(String),
) -> Result<u64, Error> {
    let mut next = offset;
    for b in &fetched.batches {
        let h = &b.header;
        for (at, record) in (h.first_offset..).zip(b.records()?.iter()) {
            if at < next {
                continue;
            }
            if next - offset == count {
                return Ok(next);
            }
            line(json_line(at, h.appended_us, &record));
            next = at + 1;
        }
    }
    Ok(next)
}

/// One record as a line of JSON: its bytes as text, or as base64 where they are none.
fn json_line(offset: u64, appended_us: u64, record: &Bytes) -> String {
    let mut line = json!({"offset": offset, "timestamp": appended_us / 1000});
    match std::str::from_utf8(record) {
        Ok(text) => line["value"] = json!(text),
        Err(_) => line["base64"] = json!(base64(record)),
    }
    line.to_string()
}

/// `GET …/records/{offset}`: the bytes of one record.
pub(super) async fn record(
    topic: &str,
    offset: &str,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let offset = offset.parse().map_err(|_| bad("the offset must be a whole number"))?;
    let want = Want::from(offset, 1, 0);
    if !state.broker().await?.is_open(topic) {
        // A topic that is not there has no records, and is not created by asking for one.
        let topic = topic.to_owned();
        state.ask(move |b| b.open(&topic)).await?;
    }
    let (fetched, permit) = fetch_with_permit(state, topic, want).await?;
    let (_, records) = super::super::seb::records(&fetched, offset, 1, 0)?;
    Ok(pieces(StatusCode::OK, "application/octet-stream", with_permit(records, permit)))
}
