//! Records as they come: server-sent events, or JSON lines without an end.

use std::sync::Arc;
use std::time::Duration;

use ::log::storage::Want;
use ::log::{Error, Permit, Start};
use engine::acl::Caller;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::exchange::{Query, Reply, Response, State, respond, text_with_permit};
use super::super::seb::{fetch_with_permit, open, wait};
use super::{LINES, consume, only};

/// Bytes of batches that are read at once.
const BYTES: usize = 256 << 10;
/// How long a reader waits for other readers to take their answers.
const CROWDED: Duration = Duration::from_millis(20);
/// A sign of life is sent after so long without records.
const QUIET: Duration = Duration::from_secs(15);

/// `GET …/tail`.
pub(super) async fn tail(
    topic: &str,
    request: &Request<Incoming>,
    caller: &Caller,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let query = Query::new(request);
    only(&query, &["offset", "timestamp", "group", "reset", "wait"])?;
    let wait = consume::patience(&query)?;
    let header = |name| request.headers().get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    let events = header(ACCEPT.as_str()).is_some_and(|a| a.contains("text/event-stream"));
    open(state, topic).await?;
    // A browser that connects again names the last record that it has seen.
    let seen = header("last-event-id").and_then(|id| id.parse::<u64>().ok());
    let (offset, new) = match seen.and_then(|s| s.checked_add(1)) {
        Some(offset) => (offset, false),
        None => consume::start(topic, &query, Start::Latest, state).await?,
    };
    let name = topic.to_owned();
    let extent = state.ask(move |b| b.describe(&name)).await?.extent;
    if offset > extent.next {
        // No client waits for a record that may never exist.
        return Err(Error::OutOfBounds { offset, first: extent.first, next: extent.next });
    }
    // A client that does not keep up holds one piece here, one that is being sent, and nothing else.
    let (tx, rx) = mpsc::channel(1);
    let place = (topic.to_owned(), offset);
    tokio::spawn(follow(place, caller.clone(), events, wait, tx, Arc::clone(state)));
    let kind = if events { "text/event-stream" } else { LINES };
    Ok(consume::group(respond(StatusCode::OK, kind, Reply::stream(rx)), new))
}

/// What a look at the topic has come to.
enum Look {
    /// Something was there, or will be in a moment: to be looked at again.
    Again,
    /// Nothing has come for as long as the client waits.
    Over,
    /// Text to be sent, with the memory that its records take, and the offset behind it.
    Text(String, Option<Permit>, Result<u64, Error>),
}

/// Reads records from an offset on. If there are none, waits for them for `left`, or for so long that a sign of life
/// is due.
async fn look(
    state: &Arc<State>,
    (topic, mut offset): (&str, u64),
    events: bool,
    left: Option<Duration>,
) -> Look {
    let mut text = String::new();
    match fetch_with_permit(state, topic, Want::from(offset, u64::MAX, BYTES)).await {
        Ok((fetched, room)) => {
            let next = consume::lines(&fetched, offset, u64::MAX, |line| {
                if events {
                    text.push_str(&format!("id: {offset}\ndata: {line}\n\n"));
                    offset += 1;
                } else {
                    text.push_str(&line);
                    text.push('\n');
                }
            });
            Look::Text(text, Some(room), next)
        }
        // Other readers take their time.
        Err(Error::Busy { .. }) => Look::Again,
        Err(Error::OutOfBounds { next, .. }) if offset >= next => {
            match wait(state, topic, offset, left.unwrap_or(QUIET).min(QUIET)).await {
                Ok(true) => Look::Again,
                Ok(false) if left.is_some_and(|left| left <= QUIET) => Look::Over,
                Ok(false) => {
                    text.push_str(if events { ":\n\n" } else { "\n" });
                    Look::Text(text, None, Ok(offset))
                }
                Err(e) => Look::Text(text, None, Err(e)),
            }
        }
        // Retention was faster than this reader.
        Err(Error::OutOfBounds { first, .. }) => Look::Text(text, None, Ok(first)),
        Err(e) => Look::Text(text, None, Err(e)),
    }
}

/// Sends records from an offset on, until the client goes or none have come for as long as `until`
/// says.
async fn follow(
    (topic, mut offset): (String, u64),
    caller: Caller,
    events: bool,
    until: Option<Duration>,
    tx: mpsc::Sender<Bytes>,
    state: Arc<State>,
) {
    let mut since = Instant::now();
    while !*state.stopped.borrow() {
        // Nothing is read for a client that has not taken the last read.
        let Ok(permit) = tx.reserve().await else { return };
        let left = until.map(|u| u.saturating_sub(since.elapsed()));
        let (text, mut room, next) = match look(&state, (&topic, offset), events, left).await {
            Look::Again => continue,
            Look::Over => return,
            Look::Text(text, room, next) => (text, room, next),
        };
        // Checked again each time: the user may have lost the permission meanwhile.
        let next = match state.may(&caller, "topic.read", &topic).map_err(Error::Bad).and(next) {
            Ok(next) => next,
            Err(e) => {
                let why = serde_json::json!({"error": e.to_string()});
                let text = if events {
                    format!("event: error\ndata: {why}\n\n")
                } else {
                    format!("{why}\n")
                };
                permit.send(Bytes::from(text));
                return;
            }
        };
        if next != offset {
            since = Instant::now();
        }
        if room.as_mut().is_some_and(|r| !r.fit(text.len())) {
            // Written as JSON it has become too much for now.
            tokio::time::sleep(CROWDED).await;
            continue;
        }
        offset = next;
        let text = match room {
            Some(room) => text_with_permit(text, room),
            None => Bytes::from(text),
        };
        if !text.is_empty() {
            permit.send(text);
        }
    }
}
