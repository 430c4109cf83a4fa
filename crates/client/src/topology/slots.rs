//! The slot of a key in a cluster.
//!
//! CRC-16 is written here, and again in the server's `stdx::crc`: this crate is published alone and cannot depend on
//! the server's crates, and one table and one line are no reason for another dependency. Both have the specification's
//! examples as tests.

/// Slots of a cluster.
pub(crate) const SLOTS: usize = 16_384;

/// The slot of a key: CRC-16 (XMODEM) of what is between the first `{` and the next `}`, if that is anything, and
/// of the whole key if not. See the Redis cluster specification.
///
/// ```
/// assert_eq!(apus_client::slot(b"{user:1}:name"), apus_client::slot(b"{user:1}:age"));
/// ```
#[must_use]
pub fn slot(key: &[u8]) -> u16 {
    let tag = memchr::memchr(b'{', key).and_then(|open| {
        let rest = &key[open + 1..];
        let close = memchr::memchr(b'}', rest).filter(|&close| close > 0)?;
        Some(&rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS as u16
}

fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = table();
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{crc16, slot};

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        // CLUSTER KEYSLOT
        for (key, expected) in
            [("", 0), ("foo", 12182), ("bar", 5061), ("somekey", 11058), ("foo{hash_tag}", 2515)]
        {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
        assert_eq!(slot(b"{foo}x"), slot(b"foo"));
        assert_eq!(slot(b"x{foo}{bar}"), slot(b"foo"));
        // An empty tag is none.
        assert_ne!(slot(b"{}foo"), slot(b"foo"));
        assert_eq!(slot(b"a{b"), crc16(b"a{b") % 16384);
    }
}
