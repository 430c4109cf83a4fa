//! Entity tags.

/// A strong entity tag of some content, with quotes: the same for the same bytes on all servers.
#[must_use]
pub fn tag(bytes: &[u8]) -> String {
    let mut tag = String::with_capacity(36);
    tag.push('"');
    push_hex(&mut tag, twox_hash::XxHash3_64::oneshot(bytes), 16);
    tag.push('-');
    push_hex(&mut tag, bytes.len() as u64, 1);
    tag.push('"');
    tag
}

/// Adds a number in hexadecimal digits, at least so many. Every rendered page has such a tag: the formatter of the standard
/// library takes as long as the hash of 2 KiB.
fn push_hex(text: &mut String, number: u64, least: u32) {
    let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(least);
    for place in (0..digits).rev() {
        let digit = (number >> (4 * place)) as u32 & 15;
        text.push(char::from_digit(digit, 16).unwrap_or('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_hexadecimal_digits() {
        for number in [0, 1, 15, 16, 0xabc, 0x10_0000, u64::MAX / 3, u64::MAX] {
            let (mut short, mut long) = (String::new(), String::new());
            push_hex(&mut short, number, 1);
            push_hex(&mut long, number, 16);
            assert_eq!((short, long), (format!("{number:x}"), format!("{number:016x}")));
        }
    }
}
