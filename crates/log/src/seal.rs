//! Small texts of topics, their settings and the committed offsets of their groups, with a checksum.
//!
//! A sealed text is the text, a line break, and a line `crc32c XXXXXXXX` with the CRC32C of the text in
//! hexadecimal digits. Texts of versions that did not seal them have no line break.

use stdx::crc32c::crc32c;

/// Begins the last line.
const MARK: &[u8] = b"crc32c ";

/// The text with its checksum.
pub(crate) fn seal(text: &[u8]) -> Vec<u8> {
    let sum = format!("crc32c {:08x}\n", crc32c(0, text));
    [text, b"\n", sum.as_bytes()].concat()
}

/// Text and checksum; none if there is no checksum.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let lines = bytes.strip_suffix(b"\n")?;
    let at = lines.iter().rposition(|b| *b == b'\n')?;
    Some((&lines[..at], lines[at + 1..].strip_prefix(MARK)?))
}

/// The text that was sealed; none if it has changed. A text that was never sealed must be one that
/// `old` accepts.
pub(crate) fn unseal(bytes: &[u8], old: impl FnOnce(&[u8]) -> bool) -> Option<&[u8]> {
    match split(bytes) {
        Some((text, sum)) => (format!("{:08x}", crc32c(0, text)).as_bytes() == sum).then_some(text),
        None => old(bytes).then_some(bytes),
    }
}

/// Whether it may be a text of before there were seals.
pub(crate) fn one_line(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_and_any_cut_is_noticed() {
        let sealed = seal(b"{\"offset\":123}");
        assert_eq!(unseal(&sealed, one_line), Some(&b"{\"offset\":123}"[..]));
        let sound = |bytes: &[u8]| {
            // As a text it must be JSON besides.
            unseal(bytes, one_line)
                .is_some_and(|t| serde_json::from_slice::<serde_json::Value>(t).is_ok())
        };
        assert!(sound(&sealed) && sound(b"{\"offset\":123}"));
        for i in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[i / 8] ^= 1 << (i % 8);
            assert!(!sound(&flipped), "bit {i}");
        }
        for len in 0..sealed.len() {
            let whole = len == b"{\"offset\":123}".len();
            assert_eq!(sound(&sealed[..len]), whole, "{len} bytes");
        }
    }
}
