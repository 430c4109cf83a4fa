//! Records as they lie in a segment: those of the stream, sealed, and marks between them.
//!
//! ```text
//!  0        4              11  12          20
//!  ├────────┼──────────────┼───┼───────────┼──────────────┐
//!  │ CRC32C │ payload bytes│ k │ sequence  │ payload      │   integers are little-endian
//!  └────────┴──────────────┴───┴───────────┴──────────────┘
//! ```
//!
//! The checksum covers the segment's salt and everything behind itself: a record that an older file
//! has left in the same blocks, or that a client has put into a value, is not valid.
//!
//! The crate `stream` says what the payload of a [`UNIT`] is. That of a [`MARK`] is the sequence number up to
//! which everything was durable when it was written, and the salt, by which it is found behind damage: see
//! [`super::segment`].

use stdx::crc32c::crc32c;
use stream::record::{HEADER, UNIT, head, peek};

/// Kind of a record that tells how far everything is durable.
pub const MARK: u8 = 2;
/// Bytes of a mark's payload.
pub(crate) const MARK_BYTES: usize = 8 + SALT;
/// Bytes of a salt.
pub(crate) const SALT: usize = 16;

/// Random bytes that distinguish the records of one segment from all others.
pub(crate) type Salt = [u8; SALT];

/// Sets the checksum of a whole record.
pub(crate) fn seal(frame: &mut [u8], seed: u32) {
    let crc = crc32c(seed, &frame[4..]);
    frame[..4].copy_from_slice(&crc.to_le_bytes());
}

/// A record as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) kind: u8,
    pub(crate) sequence: u64,
    pub(crate) payload: &'a [u8],
}

/// The record that `bytes` begin with, if it is whole and its checksum is right.
pub(crate) fn read(bytes: &[u8], seed: u32) -> Option<Record<'_>> {
    let (len, sequence) = peek(bytes)?;
    let frame = bytes.get(..len)?;
    let kind = frame[11];
    let sum = u32::from_le_bytes(*frame.first_chunk()?);
    let known = kind == UNIT || kind == MARK;
    (known && crc32c(seed, &frame[4..]) == sum).then(|| Record {
        kind,
        sequence,
        payload: &frame[HEADER..],
    })
}

/// Appends a sealed mark.
pub(crate) fn mark(out: &mut Vec<u8>, sequence: u64, durable: u64, salt: &Salt, seed: u32) {
    let from = out.len();
    out.resize(from + HEADER, 0);
    out.extend_from_slice(&durable.to_le_bytes());
    out.extend_from_slice(salt);
    head(&mut out[from..], MARK, sequence);
    seal(&mut out[from..], seed);
}

/// Appends a unit without commands, at the time 0; its checksum is left out.
pub(crate) fn nothing(out: &mut Vec<u8>, sequence: u64) {
    let from = out.len();
    out.resize(from + HEADER + 1, 0);
    head(&mut out[from..], UNIT, sequence);
}

/// The sequence number up to which a mark says that all is durable.
pub(crate) fn marked(payload: &[u8]) -> Option<u64> {
    (payload.len() == MARK_BYTES).then_some(())?;
    payload.first_chunk().map(|b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use stream::Unit;

    use super::*;

    #[test]
    fn any_changed_bit_is_noticed() {
        let mut frame = vec![0; HEADER];
        Unit::new(&mut frame).command(0, b"SET", 2, [b"k".as_slice(), b"v"].into_iter());
        head(&mut frame, UNIT, 7);
        seal(&mut frame, 99);
        assert_eq!(read(&frame, 99).expect("valid").sequence, 7);
        assert_eq!(read(&frame, 98), None);
        for bit in 0..frame.len() * 8 {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bad, 99), None, "bit {bit}");
        }
    }
}
