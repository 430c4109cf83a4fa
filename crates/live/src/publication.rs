//! What may reach browsers: clients that read JSON are closed (3506) by data that are not, so publishers are told of
//! these before. A PUBLISH of Redis's protocol holds bytes that may be anything.

use crate::json::base64;
use crate::options::FromResp;
use std::borrow::Cow;

/// Whether bytes are a value of JSON, in UTF-8, as clients of JSON can be sent it.
#[must_use]
pub fn is_json(bytes: &[u8]) -> bool {
    // The parser looks for the ends of strings only, and not at what they hold.
    let text = std::str::from_utf8(bytes);
    text.is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}

/// The publication that a message becomes; `None`: it does not go out.
#[must_use]
pub fn from_resp(how: FromResp, message: &[u8]) -> Option<Cow<'_, [u8]>> {
    match how {
        FromResp::Off => None,
        FromResp::Binary => Some(Cow::Borrowed(message)),
        FromResp::Json | FromResp::Wrap if is_json(message) => Some(Cow::Borrowed(message)),
        FromResp::Json => None,
        FromResp::Wrap => {
            let text = match std::str::from_utf8(message) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(base64(message)),
            };
            serde_json::to_vec(&text).ok().map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::from_resp;
    use crate::options::FromResp;

    #[test]
    fn messages_are_json_or_become_it_or_stay_away() {
        for (message, json, wrapped) in [
            (&b"{\"a\":1}"[..], Some(&b"{\"a\":1}"[..]), &b"{\"a\":1}"[..]),
            (b"7", Some(b"7"), b"7"),
            (b"hello", None, b"\"hello\""),
            (b"a\nb\"", None, b"\"a\\nb\\\"\""),
            (b"", None, b"\"\""),
            (b"{", None, b"\"{\""),
            (b"\xff\x00", None, b"\"/wA=\""),
            (b"\"\xff\"", None, b"\"Iv8i\""),
        ] {
            assert_eq!(from_resp(FromResp::Off, message), None);
            assert_eq!(from_resp(FromResp::Json, message).as_deref(), json);
            assert_eq!(from_resp(FromResp::Wrap, message).as_deref(), Some(wrapped));
            assert_eq!(from_resp(FromResp::Binary, message).as_deref(), Some(message));
        }
    }
}
