//! The parts of requests that connections hold: bounded in bytes over all of them, and in time.
//!
//! A request costs memory before its sender is known. Of its head, every connection may have [`HEAD_FREE`]
//! bytes; a longer head takes its part of [`HEADS`], which all connections share, and none is longer than
//! [`HEAD_MAX`]. A head that has begun must be whole within [`HEAD_TIME`]. The buffers that bodies are
//! read into grow only while those of all connections are below [`BUFFERS`].
//!
//! A [`Counted`] stands between the socket and hyper. It sees the bytes that hyper is given and how large
//! the buffer is that hyper reads into, and how much it gives at once decides how far hyper lets that
//! buffer grow.

use std::future::Future as _;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use ::log::{Meter, Permit};
use stdx::mem::Apart;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};
use tokio::time::Sleep;

use crate::net::Wire;

/// Bytes of a request's head at most.
pub(super) const HEAD_MAX: usize = 64 << 10;
/// Bytes of a head that every connection may have.
const HEAD_FREE: usize = 8 << 10;
/// Bytes of all heads together beyond those.
const HEADS: usize = 8 << 20;
/// Time from the first byte of a head to its last.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of a body that are read from a connection at once at most: more means fewer pieces.
pub(super) const BUFFER: usize = 1 << 20;
/// Bytes that are read at once otherwise.
const STEP: usize = 16 << 10;
/// Bytes of all connections' buffers from which on they grow no more.
const BUFFERS: usize = 32 << 20;

/// State that all connections share.
pub(super) struct Intake {
    heads: Arc<Meter>,
    buffers: AtomicUsize,
}

impl Intake {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { heads: Meter::new(HEADS), buffers: AtomicUsize::new(0) })
    }
}

/// The state shared by a connection and the requests that come over it.
#[derive(Default)]
pub(super) struct Progress {
    /// Heads that came whole.
    heads: AtomicUsize,
    /// Requests that are being answered.
    serving: AtomicUsize,
    /// A body is being read, for which there is room.
    body: AtomicBool,
}

impl Progress {
    /// A head has come. The request is being answered until the returned value is dropped.
    pub(super) fn head(self: &Arc<Self>) -> Serving {
        self.heads.fetch_add(1, Relaxed);
        self.serving.fetch_add(1, Relaxed);
        Serving(Arc::clone(self))
    }

    /// A body is read, until the returned value is dropped.
    pub(super) fn body(self: &Arc<Self>) -> Reading {
        self.body.store(true, Relaxed);
        Reading(Arc::clone(self))
    }
}

/// See [`Progress::head`].
pub(super) struct Serving(Arc<Progress>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.serving.fetch_sub(1, Relaxed);
    }
}

/// See [`Progress::body`].
pub(super) struct Reading(Arc<Progress>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.body.store(false, Relaxed);
    }
}

/// A connection whose input is counted.
pub(super) struct Counted {
    stream: Take<Wire>,
    intake: Arc<Intake>,
    progress: Arc<Progress>,
    /// Heads that had come when the present one began.
    heads: usize,
    /// Bytes that have come of a head that is not whole.
    head: usize,
    permit: Option<Permit>,
    late: Option<Pin<Box<Sleep>>>,
    /// The client has not taken all that was written.
    full: bool,
    /// The buffers with hyper's input.
    held: Apart,
}

impl Counted {
    pub(super) fn new(stream: Wire, intake: Arc<Intake>, progress: Arc<Progress>) -> Self {
        let stream = stream.take(0);
        let (permit, late, held) = (None, None, Apart::default());
        Self { stream, intake, progress, heads: 0, head: 0, permit, late, full: false, held }
    }

    fn hold(&mut self, bytes: usize) {
        let before = self.held.bytes();
        self.intake.buffers.fetch_add(bytes, Relaxed);
        self.intake.buffers.fetch_sub(before, Relaxed);
        self.held.set(bytes);
    }

    /// Ends the connection with an answer, which the client sees if it looks for one.
    fn refuse(&mut self, status: &str) -> Poll<io::Result<()>> {
        let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        if !self.full {
            // No other answer is being written while a head is read. The part that does not fit is left
            // out.
            self.stream.get_mut().try_send(answer.as_bytes());
        }
        Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, "the head of a request")))
    }

    /// A permit for one more piece of a head; none if there may be no more of it.
    fn grow(&mut self) -> Result<usize, &'static str> {
        let left = HEAD_MAX.saturating_sub(self.head);
        if left == 0 {
            return Err("431 Request Header Fields Too Large");
        }
        if self.head < HEAD_FREE {
            return Ok(HEAD_FREE - self.head);
        }
        let step = left.min(STEP);
        let whole = self.head - HEAD_FREE + step;
        let there = match &mut self.permit {
            Some(permit) => permit.fit(whole),
            none => {
                *none = self.intake.heads.take(whole);
                none.is_some()
            }
        };
        if there { Ok(step) } else { Err("503 Service Unavailable") }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let heads = this.progress.heads.load(Relaxed);
        if heads != this.heads {
            // The next bytes belong to its body, or to the next request.
            (this.heads, this.head, this.permit, this.late) = (heads, 0, None, None);
        }
        let body = this.progress.body.load(Relaxed);
        let serving = !body && this.progress.serving.load(Relaxed) > 0;
        let limit = if serving {
            // Hyper looks whether the client is still there. Its input is read later.
            match HEAD_FREE.checked_sub(this.head) {
                None | Some(0) => return Poll::Pending,
                Some(left) => left,
            }
        } else if body {
            if this.intake.buffers.load(Relaxed) > BUFFERS { STEP } else { BUFFER }
        } else {
            match this.grow() {
                Ok(limit) => limit,
                Err(status) => return this.refuse(status),
            }
        };
        this.hold(buf.remaining() + this.head);
        this.stream.set_limit(limit as u64);
        let before = buf.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buf);
        if !body {
            this.head += buf.filled().len() - before;
            if this.head > 0 && !serving && read.is_pending() {
                let late = this.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(HEAD_TIME)));
                if late.as_mut().poll(cx).is_ready() {
                    return this.refuse("408 Request Timeout");
                }
            }
        }
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.stream.get_mut()).poll_write(cx, buf);
        self.full = written.is_pending();
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.stream.get_mut()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.stream.get_mut()).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.stream.get_mut()).poll_write_vectored(cx, bufs);
        self.full = written.is_pending();
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.hold(0);
    }
}
