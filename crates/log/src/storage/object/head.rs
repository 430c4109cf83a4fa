//! The head of a topic: where it begins, and how it was at some offset, so that opening it need not
//! read all objects before that offset.
//!
//! ```text
//!  | "ApHD" | v | 3 zero | first | trimmed bytes | trimmed objects | condemned |
//!  | at | bytes | objects | latest us | producers … | crc32c |
//! ```
//!
//! All numbers are little-endian, 8 bytes each. It is replaced as a whole, and only in place of the
//! version that its writer has read. Everything in it except `first` can be found out by reading the
//! topic.

use stdx::crc32c::crc32c;

/// How a head begins; the last bytes are the version.
const MAGIC: [u8; 8] = *b"ApHD\x01\0\0\0";

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// Offset of the oldest record.
    pub(super) first: u64,
    /// Bytes and objects of all that was before it.
    pub(super) trimmed: Totals,
    /// Objects before this offset are deleted once it has stood here for a while; 0: none are.
    pub(super) condemned: u64,
    /// The offset at which the following was so.
    pub(super) at: u64,
    /// Bytes and objects of all that had ever been appended.
    pub(super) totals: Totals,
    /// When the newest record had been appended.
    pub(super) latest_us: u64,
    /// The producers.
    pub(super) producers: Vec<u8>,
}

/// Sums over a part of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) bytes: u64,
    pub(super) objects: u64,
}

impl Totals {
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.objects = self.objects.saturating_add(1);
    }
}

impl Head {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for n in [
            self.first,
            self.trimmed.bytes,
            self.trimmed.objects,
            self.condemned,
            self.at,
            self.totals.bytes,
            self.totals.objects,
            self.latest_us,
        ] {
            bytes.extend_from_slice(&n.to_le_bytes());
        }
        bytes.extend_from_slice(&self.producers);
        let crc = crc32c(0, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// None if it is not one, or not any more.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c(0, body) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut rest = body.strip_prefix(&MAGIC)?;
        let mut numbers = [0; 8];
        for n in &mut numbers {
            let (first, more) = rest.split_first_chunk::<8>()?;
            (*n, rest) = (u64::from_le_bytes(*first), more);
        }
        let [first, bytes, objects, condemned, at, all_bytes, all_objects, latest_us] = numbers;
        Some(Self {
            first,
            trimmed: Totals { bytes, objects },
            condemned,
            at,
            totals: Totals { bytes: all_bytes, objects: all_objects },
            latest_us,
            producers: rest.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        let head = Head {
            first: 1,
            trimmed: Totals { bytes: 2, objects: 3 },
            condemned: 4,
            at: 5,
            totals: Totals { bytes: 6, objects: 7 },
            latest_us: 8,
            producers: b"producer-1".to_vec(),
        };
        let bytes = head.encode();
        assert_eq!(bytes.len(), 8 + 8 * 8 + head.producers.len() + 4);
        assert_eq!(Head::decode(&bytes), Some(head));
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(Head::decode(&wrong), None);
            assert_eq!(Head::decode(&bytes[..at]), None);
        }
    }
}
