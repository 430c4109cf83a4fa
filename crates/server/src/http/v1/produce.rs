//! Records in.

use std::sync::Arc;

use ::log::{Appended, Error, Input};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Request, StatusCode};
use serde_json::json;

use super::super::exchange::{self, Query, Response, State, json};
use super::{BATCH, LINES, bad, number, only};

fn kind(request: &Request<Incoming>) -> String {
    let value = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

fn created(a: Appended) -> Response {
    let body = json!({
        "first_offset": a.first_offset,
        "records": a.records,
        "duplicate": a.duplicate,
    });
    json(if a.duplicate { StatusCode::OK } else { StatusCode::CREATED }, &body)
}

/// `POST …/batches`: a batch as it is stored.
pub(super) async fn batch(
    topic: &str,
    request: Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    only(&Query::new(&request), &[])?;
    let kind = kind(&request);
    if !["", BATCH, "application/octet-stream"].contains(&kind.as_str()) {
        return Err(bad(format!("the body must be {BATCH}")));
    }
    let broker = state.broker().await?;
    let (body, room) = exchange::body(request, &broker).await?;
    let input = Input::from_batch(body)?;
    exchange::append(&broker, topic, input, room).await.map(created)
}

/// `POST …/records`: one record, or one to a line.
pub(super) async fn records(
    topic: &str,
    request: Request<Incoming>,
    state: &Arc<State>,
) -> Result<Response, Error> {
    let query = Query::new(&request);
    only(&query, &["producer", "sequence"])?;
    let numbered = match (number(&query, "producer")?, number(&query, "sequence")?) {
        (None, None) => None,
        (Some(producer @ 1..), Some(sequence)) => Some((producer, sequence)),
        _ => return Err(bad("producer (not 0) and sequence go together")),
    };
    let kind = kind(&request);
    let broker = state.broker().await?;
    let (body, room) = exchange::body(request, &broker).await?;
    let input = if [LINES, "application/jsonl", "application/json-lines"].contains(&kind.as_str()) {
        lines(&body.join())?
    } else {
        Input::from_record(body)?
    };
    let input = match numbered {
        Some((producer, sequence)) => input.by(producer, sequence),
        None => input,
    };
    exchange::append(&broker, topic, input, room).await.map(created)
}

/// Every line that is not empty is a record, as it is.
fn lines(body: &Bytes) -> Result<Input, Error> {
    let lines = body
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty());
    Input::from_records(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_records() {
        let records = |text: &'static str| lines(&Bytes::from_static(text.as_bytes()));
        assert_eq!(records("{\"a\":1}\n\n2\r\n3").expect("records").records(), 3);
        assert!(matches!(records("\n\n"), Err(Error::Bad(_))));
    }
}
