//! What is in a message: publications and clients in protocol buffers, as centrifuge's protocol numbers the fields.
//!
//! Two small messages; a library for them would be larger than they are. Fields that are not known are passed over,
//! as the format wants it. Lengths are checked against what is there, so wrong bytes cost nothing.

use crate::error::{Error, Result};
use bytes::Bytes;
use std::collections::BTreeMap;

/// A client that is in a channel, or that has published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The ID of its connection.
    pub client: String,
    /// The ID of its user.
    pub user: String,
    /// What the application says about the connection.
    pub connection_info: Bytes,
    /// What the application says about the connection within the channel.
    pub channel_info: Bytes,
}

/// What was published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Publication {
    /// Its place in the channel's history; 0 if it is in none.
    pub offset: u64,
    /// The payload.
    pub data: Bytes,
    /// Who published it, if that was a client.
    pub info: Option<ClientInfo>,
    /// What the application says beside the payload.
    pub tags: BTreeMap<String, String>,
    /// When it was published, in milliseconds since 1970.
    pub time: i64,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// A number field; zero is left out, as the format's third version does.
fn put_field(out: &mut Vec<u8>, field: u64, number: u64) {
    if number != 0 {
        put_number(out, field << 3 | VARINT);
        put_number(out, number);
    }
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_number(out, field << 3 | BYTES);
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_text(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        put_bytes(out, field, bytes);
    }
}

/// A field: its number, and a number or bytes.
struct Field<'b> {
    field: u64,
    number: u64,
    bytes: &'b [u8],
}

/// Reads fields one after the other.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<Field<'b>> {
        let tag = self.number()?;
        let mut field = Field { field: tag >> 3, number: 0, bytes: &[] };
        match tag & 7 {
            VARINT => field.number = self.number()?,
            FIXED64 => drop(self.take(8)?),
            FIXED32 => drop(self.take(4)?),
            BYTES => {
                let length = self.number()?;
                field.bytes = self.take(length)?;
            }
            _ => return None,
        }
        Some(field)
    }

    /// The next field; nothing at the end.
    fn next(&mut self) -> Result<Option<Field<'b>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        self.field().map(Some).ok_or_else(|| wrong("a field that is cut off or of no known kind"))
    }
}

pub(super) fn wrong(what: &str) -> Error {
    Error::protocol(format!("a message of a channel has {what}"))
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| wrong("text that is not UTF-8"))
}

impl ClientInfo {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_text(&mut out, 1, self.user.as_bytes());
        put_text(&mut out, 2, self.client.as_bytes());
        put_text(&mut out, 3, &self.connection_info);
        put_text(&mut out, 4, &self.channel_info);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut info = Self::default();
        let mut reader = Reader(bytes);
        while let Some(field) = reader.next()? {
            match field.field {
                1 => info.user = text(field.bytes)?,
                2 => info.client = text(field.bytes)?,
                3 => info.connection_info = Bytes::copy_from_slice(field.bytes),
                4 => info.channel_info = Bytes::copy_from_slice(field.bytes),
                _ => {}
            }
        }
        Ok(info)
    }
}

impl Publication {
    /// `is_delta` asks those who get it to send their clients differences; with a history the envelope asks it.
    pub(super) fn encode(&self, is_delta: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.data.len() + 32);
        put_text(&mut out, 4, &self.data);
        if let Some(info) = &self.info {
            put_bytes(&mut out, 5, &info.encode());
        }
        put_field(&mut out, 6, self.offset);
        for (name, value) in &self.tags {
            let mut pair = Vec::new();
            put_bytes(&mut pair, 1, name.as_bytes());
            put_bytes(&mut pair, 2, value.as_bytes());
            put_bytes(&mut out, 7, &pair);
        }
        put_field(&mut out, 8, u64::from(is_delta));
        put_field(&mut out, 9, self.time.cast_unsigned());
        out
    }

    /// The publication, and whether it asks for differences.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Self, bool)> {
        let (mut publication, mut is_delta) = (Self::default(), false);
        let mut reader = Reader(bytes);
        while let Some(field) = reader.next()? {
            match field.field {
                4 => publication.data = Bytes::copy_from_slice(field.bytes),
                5 => publication.info = Some(ClientInfo::decode(field.bytes)?),
                6 => publication.offset = field.number,
                7 => {
                    let (name, value) = decode_pair(field.bytes)?;
                    publication.tags.insert(name, value);
                }
                8 => is_delta = field.number != 0,
                9 => publication.time = field.number.cast_signed(),
                _ => {}
            }
        }
        Ok((publication, is_delta))
    }
}

fn decode_pair(bytes: &[u8]) -> Result<(String, String)> {
    let mut pair = (String::new(), String::new());
    let mut reader = Reader(bytes);
    while let Some(field) = reader.next()? {
        match field.field {
            1 => pair.0 = text(field.bytes)?,
            2 => pair.1 = text(field.bytes)?,
            _ => {}
        }
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::{ClientInfo, Publication};

    fn publication() -> Publication {
        Publication {
            offset: 300,
            data: "payload".into(),
            info: Some(ClientInfo {
                client: "c".into(),
                user: "u".into(),
                connection_info: "{}".into(),
                channel_info: "".into(),
            }),
            tags: [("a".into(), "1".into()), ("b".into(), String::new())].into(),
            time: 1_700_000_000_000,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for is_delta in [false, true] {
            let bytes = publication().encode(is_delta);
            assert_eq!(Publication::decode(&bytes).expect("whole"), (publication(), is_delta));
        }
        // By the format's page: field 4 of bytes, and field 9 as a number.
        let small = Publication { data: "x".into(), time: 300, ..Publication::default() };
        assert_eq!(small.encode(false), [0x22, 1, b'x', 0x48, 0xac, 0x02]);
    }

    #[test]
    fn what_is_cut_off_is_an_error_or_less_and_never_a_panic() {
        let bytes = publication().encode(true);
        for end in 0..bytes.len() {
            let _ = Publication::decode(&bytes[..end]);
        }
        assert!(Publication::decode(&[0x22, 5, b'x']).is_err());
        assert!(
            Publication::decode(&[0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
                .is_err()
        );
        assert!(Publication::decode(&[0x23]).is_err(), "a group");
        // Fields of later versions.
        assert!(Publication::decode(&[0x7a, 1, b'x', 0x78, 1, 0x7d, 1, 2, 3, 4]).is_ok());
    }
}
