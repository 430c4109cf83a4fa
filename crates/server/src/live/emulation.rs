//! Commands of a client that gets its messages by a stream: they come by requests of their own.

use live_protocol::{self as wire, control};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a request that carries commands holds.
pub(super) struct Emulation {
    pub(super) node: String,
    pub(super) session: String,
    /// The commands, and as they were in the request.
    pub(super) data: Vec<u8>,
    raw: Vec<u8>,
}

impl Emulation {
    pub(super) fn of_json(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Text<'a> {
            #[serde(default)]
            node: String,
            session: String,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let text: Text<'_> = serde_json::from_slice(body).ok()?;
        // SDKs send the commands as one text.
        let data = match serde_json::from_str::<String>(text.data.get()) {
            Ok(inner) => inner.into_bytes(),
            Err(_) => text.data.get().as_bytes().to_vec(),
        };
        let raw = text.data.get().as_bytes().to_vec();
        Some(Self { node: text.node, session: text.session, data, raw })
    }

    /// For another server.
    pub(super) fn encode(&self) -> Vec<u8> {
        control::emulation(&self.node, &self.session, &self.raw)
    }

    pub(super) fn of_protobuf(body: &[u8]) -> Option<Self> {
        let (node, session, data) = wire::emulation_of_protobuf(body)?;
        Some(Self { node, session, raw: data.clone(), data })
    }
}
