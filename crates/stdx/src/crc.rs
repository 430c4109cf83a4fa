//! The two checksums of Redis's formats.
//!
//! * [`crc64`]: the Jones polynomial, reflected, zero in and out: the tail of
//!   RDB files and DUMP payloads.
//! * [`crc16`]: XMODEM (CCITT polynomial, zero start), which cuts the keys of
//!   a cluster into 16,384 slots ([`key_slot`]).
//!
//! `crc-fast` computes the first. CRC-16 is written here: it is one table and one line, it runs over short keys, and
//! no other code of the server needs a width of 16. The crate `apus-client` has a copy (`topology/slots.rs`), because
//! it is published alone and depends on no crate of the server.

use crc_fast::{CrcAlgorithm, Digest};

/// Slots of a Redis Cluster.
pub const SLOTS: u16 = 16_384;

static CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc << 1) ^ (0x1021 * (crc >> 15));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Carries `crc` (0 to begin with) over `bytes`.
pub fn crc64(crc: u64, bytes: &[u8]) -> u64 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc64Redis, crc);
    digest.update(bytes);
    digest.finalize()
}

/// The CRC-16/XMODEM of `bytes`.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)])
}

/// The cluster slot of `key`, `0..`[`SLOTS`]; only its hash tag counts when it
/// has one.
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

/// What of `key` decides its slot: the bytes between the first `{` and the
/// next `}` if there are any, else all of it (Redis Cluster specification).
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&b| b == b'{') else {
        return key;
    };
    let inner = &key[open + 1..];
    match inner.iter().position(|&b| b == b'}') {
        None | Some(0) => key,
        Some(close) => &inner[..close],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values() {
        assert_eq!(crc64(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!((crc64(0, b""), crc16(b"")), (0, 0));
    }

    #[test]
    fn crc64_at_once_is_crc64_by_ones() {
        let bytes: Vec<u8> = (0..600u32).map(|n| (n * 151 + 7) as u8).collect();
        for start in 0..9 {
            for end in (start..bytes.len()).step_by(7) {
                let by_ones = bytes[start..end].iter().fold(5, |crc, b| crc64(crc, &[*b]));
                assert_eq!(crc64(5, &bytes[start..end]), by_ones);
            }
        }
    }

    #[test]
    fn slots() {
        assert_eq!(key_slot(b""), 0);
        assert_eq!(key_slot(b"foo"), 12182);
        assert_eq!(key_slot(b"{user1000}.following"), key_slot(b"user1000"));
        for (key, tag) in [
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{bar}{zap}", "bar"),
            ("foo{bar", "foo{bar"),
            ("}foo{b}", "b"),
        ] {
            assert_eq!(hash_tag(key.as_bytes()), tag.as_bytes());
        }
    }
}
