//! Answers whose head waits for the outcome of connect: with `connect_code_to_http_response` a refused connect is a
//! response of HTTP with a status of its own, and no stream.

use http1::response::{begin, end, field, length};

use super::wire::{Transport, Unsent};
use super::{Cx, Hub};

impl Hub {
    /// The head of a client's answer is sent when its connect is decided on.
    pub(crate) fn hold_head(&mut self, id: u64, unsent: Unsent) {
        self.unsent.insert(id, unsent);
    }

    /// A client is connected: its answer is a stream.
    pub(super) fn send_head(&mut self, cx: &mut Cx<'_>, id: u64) {
        if let Some(unsent) = self.unsent.remove(&id) {
            cx.outlets.append(id, &unsent.stream);
        }
    }

    /// Answers a client whose connect is refused, and forgets it. False: it is told in its stream.
    pub(super) fn refuse_by_status(
        &mut self,
        cx: &mut Cx<'_>,
        id: u64,
        (code, text): (u32, &str),
    ) -> bool {
        let Some(unsent) = self.unsent.remove(&id) else { return false };
        let options = self.options();
        let own = match self.clients.get(&id).map(|client| client.wire.kind) {
            Some(Transport::UniSse) => options.uni_sse.response(code, text),
            _ => options.uni_http_stream.response(code, text),
        };
        // The options may have changed since the head was held back.
        let (status, body) = own.unwrap_or((500, "Internal Server Error"));
        let mut answer = Vec::new();
        begin(&mut answer, status, &unsent.date);
        answer.extend_from_slice(&unsent.fields);
        let has_body = !matches!(status, 204 | 304);
        if has_body {
            field(&mut answer, "Content-Type", "text/plain; charset=utf-8");
            length(&mut answer, body.len());
        }
        end(&mut answer, false, 1);
        if has_body {
            answer.extend_from_slice(body.as_bytes());
        }
        cx.outlets.end(id, &answer);
        self.remove(cx, id);
        true
    }
}
