//! Answers of the admin port, and the parameters of its queries.

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use tokio::time::Instant;

pub(super) type Response = hyper::Response<Full<Bytes>>;

/// When a connection must be over; a profile moves it.
pub(super) struct Deadline(pub(super) parking_lot::Mutex<Instant>);

impl Deadline {
    /// Gives the connection so much more time.
    #[cfg(all(feature = "profiling", target_os = "linux"))]
    pub(super) fn extend(&self, by: std::time::Duration) {
        *self.0.lock() += by;
    }
}

/// A response of text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Response {
    body(status, "text/plain; charset=utf-8", text.into().into_bytes())
}

/// A refusal of a query.
pub(super) fn bad(why: impl Into<String>) -> Response {
    text(StatusCode::BAD_REQUEST, why)
}

/// A response of JSON.
pub(super) fn json(value: &serde_json::Value) -> Response {
    body(StatusCode::OK, "application/json", format!("{value:#}\n").into_bytes())
}

/// A response of this content type.
pub(super) fn body(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Response {
    let mut r = Response::new(Full::new(Bytes::from(bytes)));
    *r.status_mut() = status;
    let headers = r.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    r
}

/// The value of a parameter of the query.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// A number of the query, or an error.
pub(super) fn number(query: &str, name: &str, default: u64, max: u64) -> Result<u64, String> {
    match parameter(query, name).map(str::parse) {
        None => Ok(default),
        Some(Ok(n)) if (1..=max).contains(&n) => Ok(n),
        Some(_) => Err(format!("{name} must be between 1 and {max}\n")),
    }
}

/// The answer when no worker has time.
pub(super) fn busy() -> Response {
    text(StatusCode::SERVICE_UNAVAILABLE, "No worker thread has had time to answer.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        assert_eq!(parameter("a=1&seconds=5", "seconds"), Some("5"));
        assert_eq!(parameter("seconds5&xseconds=1", "seconds"), None);
        assert_eq!(number("n=7", "n", 1, 9).expect("a number"), 7);
        assert_eq!(number("", "n", 3, 9).expect("a number"), 3);
        for bad in ["n=", "n=0", "n=10", "n=-1", "n=x", "n=99999999999999999999"] {
            assert_eq!(number(bad, "n", 1, 9).expect_err(bad), "n must be between 1 and 9\n");
        }
    }
}
