//! The server API: requests of applications and replies to them, as JSON.
//!
//! ```text
//!  POST /api/publish  {…}                     ─┐
//!  POST /api/batch    {"commands": [{…}, …]}  ─┼─► Body ─► the server ─► Reply ─► JSON
//!  POST /api          {"method", "params"} …  ─┤
//!  LIVE.PUBLISH …                             ─┘
//! ```
//!
//! What is wrong with the request itself is said here, so that HTTP and RESP say the same; whether a channel's
//! namespace exists and offers what is asked for, [`check`] says.

pub mod check;
mod decode;
mod reply;
mod request;
mod words;

pub use decode::{DecodeError, Legacy, decode, legacy};
pub use reply::{
    ChannelInfo, ClientInfo, HistoryPage, Node, Process, PublicationOut, Reply, ReplyResult,
    encode, encode_batch, encode_error, encode_legacy,
};
pub use request::*;
pub use words::from_words;

/// Whether a request shows the key: in `X-API-Key`, in `Authorization: apikey KEY`, or as `api_key` in the query.
/// An empty key lets nothing in.
#[must_use]
pub fn is_authorized(
    key: &str,
    x_api_key: Option<&str>,
    authorization: Option<&str>,
    query: Option<&str>,
) -> bool {
    if key.is_empty() {
        return false;
    }
    let same = |shown: &str| is_same(key.as_bytes(), shown.as_bytes());
    let of_header = match x_api_key.filter(|shown| !shown.is_empty()) {
        Some(shown) => same(shown),
        None => authorization.is_some_and(|header| {
            let mut words = header.split_ascii_whitespace();
            let is_apikey =
                words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("apikey"));
            let shown = words.next();
            is_apikey && shown.is_some_and(same) && words.next().is_none()
        }),
    };
    of_header || query.is_some_and(same)
}

/// Compares in a time that does not depend on where the texts differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let digest = |text| ring::digest::digest(&ring::digest::SHA256, text);
    digest(one).as_ref() == digest(other).as_ref()
}

#[cfg(test)]
mod tests;
