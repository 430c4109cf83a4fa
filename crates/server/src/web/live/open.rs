//! Requests for the script of live pages, and for streams: `GET /_apus/live?since=VERSION&path=PATH`.
//!
//! A stream is opened for a path, which is routed like a request for the page itself: nothing can be asked for
//! that is not a page of the site. It shows as much as the page does, to whom the page would.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::Thread;
use http1::response::{begin, end, field, length};
use http1::{Head, Limits, Method, form, head};
use pages::live::{SCRIPT, SCRIPT_PATH, SCRIPT_TAG, STREAM_PATH, parse_version, script_query};
use resp::Out;

use super::{LiveStream, New, Opening};
use crate::Shared;
use crate::web::counts::NONE;
use crate::web::{After, Responder, call};

/// What all addresses of the port's own begin with.
const OWN: &str = "/_apus/";
/// Milliseconds until a browser opens a stream again: this, and up to as much again.
const RETRY_MS: u64 = 1000;

impl Responder {
    /// Answers a request for something of the port's own; none: it is for the site.
    pub(in crate::web) fn own(
        &mut self,
        shared: &Arc<Shared>,
        thread: &mut Thread,
        head: &Head<'_>,
        out: &mut Out,
    ) -> Option<After> {
        if !head.target.path.starts_with(OWN) {
            return None;
        }
        self.sent.row = NONE;
        let reads = matches!(head.method, Method::Get | Method::Head);
        match &*head.target.path {
            SCRIPT_PATH if reads => self.script(head, &mut out.buf),
            STREAM_PATH if head.method == Method::Get => match self.open(shared, thread, head) {
                Ok(opening) => {
                    self.begin_events(head, &mut out.buf);
                    let cap = shared.engine.config.bytes(Id::WebLiveBuffer) as usize;
                    return Some(After::Streams(LiveStream::new(opening), cap));
                }
                Err(status) => self.refuse_stream(head, status, &mut out.buf),
            },
            SCRIPT_PATH | STREAM_PATH => self.refuse_stream(head, 405, &mut out.buf),
            _ => return None,
        }
        let keeps = head.keep_alive && !shared.stopping();
        Some(if keeps { After::Keeps } else { After::Ends })
    }

    fn script(&mut self, head: &Head<'_>, out: &mut Vec<u8>) {
        let unchanged = http1::conditional::is_unchanged(head, &SCRIPT_TAG, 0);
        self.sent.status = if unchanged { 304 } else { 200 };
        begin(out, self.sent.status, &self.date);
        field(out, "ETag", &SCRIPT_TAG);
        let is_exact = head.target.query == script_query();
        let keep = if is_exact { "public, max-age=31536000, immutable" } else { "no-cache" };
        field(out, "Cache-Control", keep);
        field(out, "X-Content-Type-Options", "nosniff");
        if !unchanged {
            field(out, "Content-Type", "text/javascript; charset=utf-8");
            length(out, SCRIPT.len());
        }
        end(out, head.keep_alive, head.minor);
        if !unchanged && head.method == Method::Get {
            out.extend_from_slice(SCRIPT.as_bytes());
        }
    }

    /// The head of a stream, and how soon it is to be opened again when it ends: not by all at once.
    fn begin_events(&mut self, head: &Head<'_>, out: &mut Vec<u8>) {
        self.sent.status = 200;
        begin(out, 200, &self.date);
        field(out, "Content-Type", "text/event-stream; charset=utf-8");
        field(out, "Cache-Control", "no-store");
        field(out, "X-Accel-Buffering", "no");
        field(out, "X-Content-Type-Options", "nosniff");
        end(out, false, head.minor);
        let retry = RETRY_MS + self.live.last.wrapping_mul(389) % RETRY_MS;
        out.extend_from_slice(format!("retry: {retry}\n\n").as_bytes());
    }

    fn refuse_stream(&mut self, head: &Head<'_>, status: u16, out: &mut Vec<u8>) {
        self.sent.status = status;
        begin(out, status, &self.date);
        match status {
            405 => field(out, "Allow", "GET"),
            503 => field(out, "Retry-After", "10"),
            _ => {}
        }
        field(out, "Cache-Control", "no-store");
        if status != 204 {
            length(out, 0);
        }
        end(out, head.keep_alive, head.minor);
    }

    /// What a stream begins with; or the status of the answer when there is none.
    fn open(
        &mut self,
        shared: &Arc<Shared>,
        thread: &mut Thread,
        head: &Head<'_>,
    ) -> Result<Opening, u16> {
        // A page of another site may not have us render for its visitors.
        let origin = shared.web.origin(&shared.engine.config, self.peer, head);
        if call::is_from_elsewhere(head, &origin.host) {
            return Err(403);
        }
        let most = shared.engine.config.int(Id::WebLiveMax) as u64;
        if shared.web.live.streams.load(Relaxed) >= most {
            return Err(503);
        }
        let query = form::urlencoded(head.target.query.as_bytes());
        let asked = |name: &str| query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let address = asked("path").ok_or(400_u16)?;
        // What the browser has got last; for its first stream, what the page has.
        let last = head.text("last-event-id").filter(|id| !id.is_empty());
        let has = last.or_else(|| asked("since")).and_then(parse_version);
        if self.live.is_shared(address) {
            return Ok(Opening { address: address.into(), new: None, has });
        }
        let text = request(address, head)?;
        let whole = head::parse(&text, &Limits::default()).ok().flatten().ok_or(400_u16)?;
        let (page, varies) = self.live_page(shared, thread, &whole)?;
        if page.blocks.is_empty() {
            // This tells a browser not to try again.
            return Err(204);
        }
        let asked = if varies { text } else { bare(address, whole.host) };
        let new = New { asked: asked.into(), peer: self.peer, page, is_shared: !varies };
        Ok(Opening { address: address.into(), new: Some(new), has })
    }
}

/// The request for the page of a stream, as its client would send it.
fn request(address: &str, head: &Head<'_>) -> Result<Vec<u8>, u16> {
    if !address.starts_with('/') || address.bytes().any(|b| !b.is_ascii_graphic()) {
        return Err(400);
    }
    let mut text = bare(address, head.host);
    text.truncate(text.len() - 2);
    for (name, value) in head.fields() {
        let is_own = ["host", "last-event-id", "content-length", "transfer-encoding", "expect"];
        if is_own.iter().all(|own| !name.eq_ignore_ascii_case(own)) {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        }
    }
    text.extend_from_slice(b"\r\n");
    Ok(text)
}

/// A request that says nothing of who sends it.
fn bare(address: &str, host: &str) -> Vec<u8> {
    format!("GET {address} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}
