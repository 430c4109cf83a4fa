//! HTTP/1.1 for a server, without sockets: bytes in, requests out, and the heads of responses.
//!
//! ```text
//!  bytes ─► head.rs: request line, fields, how long the body is ─► target.rs: path and query, decoded
//!       └─► body.rs: the body, by length or in chunks ─► form.rs: fields of forms, cookies
//!  response.rs: status line and fields ◄─ conditional.rs: ETag, dates, ranges ◄─ mime.rs: types
//!                                      ◄─ coding.rs: gzip or brotli, as the client has it
//! ```
//!
//! Strict where servers and proxies have read the same bytes in two ways (request smuggling): a request
//! whose end could be disputed is refused, and its connection is closed. RFC 9110 is the meaning of
//! requests, RFC 9112 their form.
//!
//! Invariants: nothing here reads a clock, a file or a socket; no input makes it panic; memory is bounded
//! by [`Limits`].

pub mod body;
pub mod coding;
pub mod conditional;
pub mod form;
pub mod head;
pub mod mime;
pub mod response;
pub mod target;

pub use body::{Body, Progress};
pub use coding::{Accepts, Coding};
pub use head::{Framing, Head, Method};
pub use target::Target;

/// How much of a request is taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the request line and all fields.
    pub head_max: usize,
    /// Bytes of the target.
    pub target_max: usize,
    /// Bytes of the body.
    pub body_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head_max: 16 * 1024, target_max: 8 * 1024, body_max: 1 << 20 }
    }
}

/// Why a request is refused: a status, and a text for the person who sent it. The connection is to be
/// closed, since it is not known where the next request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The status.
    pub status: u16,
    /// One sentence.
    pub why: &'static str,
}

impl Bad {
    /// 400 with this text.
    #[must_use]
    pub const fn request(why: &'static str) -> Self {
        Self { status: 400, why }
    }
}
