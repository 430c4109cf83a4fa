//! Shared parts of all routes: authentication, queries, bodies that arrive, answers that leave.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::log::{Appended, Broker, Chunks, Error, Input, Permit};
use engine::Engine;
use engine::acl::Caller;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Request, StatusCode};
use stdx::mem::Apart;
use tokio::sync::{mpsc, oneshot, watch};

use super::intake::{BUFFER, Intake, Progress, Serving};
use super::text::unescape;

/// The sources of answers.
pub(super) struct State {
    pub(super) engine: Arc<Engine>,
    pub(super) tls: Arc<crate::tls::Tls>,
    /// Empty: none is asked for.
    pub(super) key: Vec<u8>,
    /// True when it is to end.
    pub(super) stopped: watch::Receiver<bool>,
    /// The parts of requests that connections hold.
    pub(super) intake: Arc<Intake>,
}

/// Bytes of a request's body at most: the largest batch, its sizes as text, and the bytes around them.
pub(super) const BODY_MAX: usize = ::log::batch::RAW_MAX + (1 << 20);
/// Time between two pieces of a body.
const PIECE: Duration = Duration::from_secs(30);
/// How long a client waits for room before it is refused.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Pieces of an answer up to this many bytes are copied out of the bytes read.
const COPIED: usize = 64 << 10;
/// Bytes of the first permit for a body of unknown length; the next is twice as large, and so on, up to the
/// size of one read.
const PERMIT_FIRST: usize = 64 << 10;
/// Smaller pieces of a body are put together: each would keep the whole buffer that it was read into.
const SMALL: usize = 16 << 10;

pub(super) type Response = hyper::Response<Reply>;

/// A response's body.
pub(super) struct Reply {
    pieces: Pieces,
    /// Dropped when it has been sent.
    _serving: Option<Serving>,
}

/// Pieces that are there, or pieces that come.
enum Pieces {
    Whole(VecDeque<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Reply {
    /// Pieces that come.
    pub(super) fn stream(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { pieces: Pieces::Stream(pieces), _serving: None }
    }

    /// The same as the answer of a request.
    pub(super) fn of(self, request: Serving) -> Self {
        Self { _serving: Some(request), ..self }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.pieces {
            Pieces::Whole(pieces) => Poll::Ready(pieces.pop_front()),
            Pieces::Stream(pieces) => pieces.poll_recv(cx),
        };
        next.map(|piece| piece.map(|p| Ok(Frame::data(p))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.pieces, Pieces::Whole(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.pieces {
            Pieces::Whole(pieces) => {
                SizeHint::with_exact(pieces.iter().map(|p| p.len() as u64).sum())
            }
            Pieces::Stream(_) => SizeHint::default(),
        }
    }
}

/// Bytes of an answer, and the room that they take until they have been sent.
struct WithPermit {
    bytes: Bytes,
    _permit: Arc<Permit>,
    /// Of a copy; bytes that are not copied are counted where they were read.
    _apart: Apart,
}

impl AsRef<[u8]> for WithPermit {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Pieces that give their room back when the last of them has been sent. Small ones are copied: they are
/// parts of buffers that may be much larger.
pub(super) fn with_permit(
    pieces: impl IntoIterator<Item = Bytes>,
    permit: Permit,
) -> impl Iterator<Item = Bytes> {
    let permit = Arc::new(permit);
    pieces.into_iter().map(move |piece| {
        let small = piece.len() <= COPIED;
        let bytes = if small { Bytes::copy_from_slice(&piece) } else { piece };
        let apart = Apart::new(if small { bytes.len() } else { 0 });
        Bytes::from_owner(WithPermit { bytes, _permit: Arc::clone(&permit), _apart: apart })
    })
}

/// The same of a text that was made from the records read.
pub(super) fn text_with_permit(text: String, permit: Permit) -> Bytes {
    let apart = Apart::new(text.capacity());
    Bytes::from_owner(WithPermit { bytes: text.into(), _permit: Arc::new(permit), _apart: apart })
}

/// A response of pieces.
pub(super) fn pieces(
    status: StatusCode,
    kind: &str,
    pieces: impl IntoIterator<Item = Bytes>,
) -> Response {
    let pieces = Pieces::Whole(pieces.into_iter().filter(|p| !p.is_empty()).collect());
    respond(status, kind, Reply { pieces, _serving: None })
}

/// A response.
pub(super) fn respond(status: StatusCode, kind: &str, reply: Reply) -> Response {
    let mut r = Response::new(reply);
    *r.status_mut() = status;
    if let Ok(kind) = HeaderValue::from_str(kind)
        && !kind.is_empty()
    {
        r.headers_mut().insert(CONTENT_TYPE, kind);
    }
    r
}

/// A response of text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Response {
    pieces(status, "text/plain; charset=utf-8", [Bytes::from(text.into())])
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    pieces(status, "", [])
}

/// A response of JSON.
pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Response {
    pieces(status, "application/json", [Bytes::from(format!("{value}\n"))])
}

/// With a header more.
pub(super) fn with(mut r: Response, name: HeaderName, value: impl Into<HeaderValue>) -> Response {
    r.headers_mut().insert(name, value.into());
    r
}

/// For producers that are to come again later.
pub(super) fn retry_after(r: Response, ms: u64) -> Response {
    with(r, RETRY_AFTER, ms.div_ceil(1000).max(1))
}

/// A refusal of the method.
pub(super) fn not_allowed(allowed: &'static str) -> Response {
    let r = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    with(r, ALLOW, HeaderValue::from_static(allowed))
}

/// The parameters of a query.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn new(request: &Request<Incoming>) -> Self {
        let pairs = request.uri().query().unwrap_or("").split('&').filter(|p| !p.is_empty());
        Self(
            pairs
                .map(|p| p.split_once('=').unwrap_or((p, "")))
                .map(|(name, value)| (unescape(name, true), unescape(value, true)))
                .collect(),
        )
    }

    /// The first value of this name that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let first = self.0.iter().find(|(n, _)| n == name);
        first.map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
    }

    /// A parameter without a value.
    pub(super) fn empty(&self) -> Option<&str> {
        self.0.iter().find(|(_, value)| value.is_empty()).map(|(name, _)| name.as_str())
    }

    /// A parameter that is none of these, which a client has misspelled.
    pub(super) fn unknown(&self, known: &[&str]) -> Option<&str> {
        self.0.iter().map(|(n, _)| n.as_str()).find(|n| !known.contains(n))
    }
}

/// The answer to a caller without the permission, in Seb's form.
pub(super) fn forbidden(why: String) -> Response {
    text(StatusCode::FORBIDDEN, why)
}

impl State {
    /// Whether the caller may do with a topic what this command does; if not, why.
    pub(super) fn may(&self, caller: &Caller, command: &str, topic: &str) -> Result<(), String> {
        caller.may(&self.engine, &[command.as_bytes(), topic.as_bytes()])
    }

    /// The log, which is opened if it is not.
    pub(super) async fn broker(self: &Arc<Self>) -> Result<Broker, Error> {
        if let Some(b) = self.engine.topics.get() {
            return Ok(b.clone());
        }
        let state = Arc::clone(self);
        aside(move || state.engine.topics.open(&state.engine).cloned()).await
    }

    /// Does something with the log that may wait for the storage.
    pub(super) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Broker) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let state = Arc::clone(self);
        aside(move || work(state.engine.topics.open(&state.engine)?)).await
    }
}

async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Closed))
}

/// Takes room, waiting a little for it.
async fn take_permit(broker: &Broker, bytes: usize) -> Result<Permit, Error> {
    let begin = tokio::time::Instant::now();
    loop {
        match broker.permit(bytes) {
            Err(Error::Busy { .. }) if begin.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            other => return other,
        }
    }
}

/// A request's body, with the room that it takes, which is taken before anything is read.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Busy`], or [`Error::Bad`] if the client stops sending.
pub(super) async fn body(
    request: Request<Incoming>,
    broker: &Broker,
) -> Result<(Chunks, Permit), Error> {
    let too_large = || Error::TooLarge(format!("the body has more than {BODY_MAX} bytes"));
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|l| l.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|l| l > BODY_MAX) {
        return Err(too_large());
    }
    let mut permit = take_permit(broker, length.unwrap_or(PERMIT_FIRST)).await?;
    let (parts, mut body) = request.into_parts();
    let mut chunks = Chunks::default();
    let mut small = Vec::new();
    loop {
        let reading = parts.extensions.get::<Arc<Progress>>().map(Progress::body);
        let frame = tokio::time::timeout(PIECE, body.frame()).await;
        drop(reading);
        let stopped = || Error::Bad("the body did not come to its end".to_owned());
        match frame.map_err(|_| stopped())? {
            None => {
                chunks.push(small.into());
                // The room that was taken for more bytes than came.
                permit.fit(chunks.len());
                return Ok((chunks, permit));
            }
            Some(Err(_)) => return Err(stopped()),
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    if piece.len() < SMALL {
                        small.extend_from_slice(&piece);
                    } else {
                        chunks.push(std::mem::take(&mut small).into());
                        chunks.push(piece);
                    }
                }
            }
        }
        let come = chunks.len() + small.len();
        if come > BODY_MAX {
            return Err(too_large());
        }
        if length.is_none() && permit.bytes() - come.min(permit.bytes()) < PERMIT_FIRST {
            let more = come.clamp(PERMIT_FIRST, BUFFER) + come.saturating_sub(permit.bytes());
            permit.absorb(take_permit(broker, more).await?);
        }
    }
}

/// Appends records and waits until they are stored.
pub(super) async fn append(
    broker: &Broker,
    topic: &str,
    input: Input,
    permit: Permit,
) -> Result<Appended, Error> {
    let (tx, rx) = oneshot::channel();
    let done = Box::new(move |result| {
        // The client may have disconnected; its records are stored nevertheless.
        let _ = tx.send(result);
    });
    // All of the room goes with them: it is taken for as long as they are here, and not as the client is.
    broker.append(topic, input, Some(permit), done);
    rx.await.unwrap_or(Err(Error::Closed))
}
