//! The payloads of DUMP and RESTORE.
//!
//! ```text
//!  | type 1 | value | version 2, LE | crc64 of all before, 8, LE |
//! ```

use data::entry::Entry;
use stdx::crc::crc64;

use crate::error::Error;
use crate::format::{Dialect, VERSION_FIELD_DEADLINES, kind, op};
use crate::read::{Decoder, Head, Input, Limits, Slice, skip_key_meta};
use crate::write::Encoder;

/// Bytes of version and checksum.
const FOOTER: usize = 10;

/// Why a payload is refused.
#[derive(Debug)]
pub enum BadPayload {
    /// Its version is newer than what is known, or its checksum is wrong.
    VersionOrChecksum,
    /// It says nothing that can be made a value.
    Format(Error),
}

/// The payload of a value, without key, deadline and use.
pub fn dump(e: &Entry) -> Vec<u8> {
    let mut encoder = Encoder::new(false);
    let mut out = Vec::new();
    encoder.kind_and_value(&mut out, e);
    let version = match out.first() {
        Some(&(kind::HASH_METADATA | kind::HASH_LISTPACK_EX)) => VERSION_FIELD_DEADLINES,
        _ => encoder.version(),
    };
    out.extend_from_slice(&version.to_le_bytes());
    let crc = crc64(0, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// An entry of a key and deadline with the value of a payload. Without `checksum` it is not
/// looked at.
pub fn restore(
    payload: &[u8],
    key: &[u8],
    deadline: Option<i64>,
    limits: Limits,
    checksum: bool,
) -> Result<Entry, BadPayload> {
    let wrong = BadPayload::VersionOrChecksum;
    let Some((body, footer)) = payload.split_last_chunk::<FOOTER>() else { return Err(wrong) };
    let [low, high, crc @ ..] = *footer;
    let Some(dialect) = Dialect::of(u16::from_le_bytes([low, high])) else { return Err(wrong) };
    if checksum && crc64(0, &payload[..payload.len() - crc.len()]) != u64::from_le_bytes(crc) {
        return Err(wrong);
    }
    // As in Redis, what lies between the value and the footer does not matter.
    let mut input = Slice::new(body, 0);
    let mut decoder = Decoder::new(limits);
    let mut code = input.byte().map_err(BadPayload::Format)?;
    if code == op::KEY_META && dialect == Dialect::Redis {
        skip_key_meta(&mut input, &mut Vec::new()).map_err(BadPayload::Format)?;
        code = input.byte().map_err(BadPayload::Format)?;
    }
    let kind = dialect.kind(code);
    match decoder.value(kind, Head { key, deadline }, &mut input) {
        Ok(Some(entry)) => Ok(entry),
        Ok(None) => Err(BadPayload::Format(input.bad("empty key"))),
        Err(e) => Err(BadPayload::Format(e)),
    }
}
