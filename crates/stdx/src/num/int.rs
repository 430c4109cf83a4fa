//! Integers: `string2ll` and its inverse.

/// Bytes that hold any `i64` or `u64` in decimal.
pub const I64_LEN_MAX: usize = 20;

/// Parses the canonical decimal form of an `i64`, and nothing else: no empty
/// text, no `+`, no leading zero, no `-0`, no blanks, no overflow. Hence
/// `fmt_i64(parse_i64(s)) == s` for all it accepts.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => match magnitude(digits)? {
            0 => None,
            value if value <= i64::MIN.unsigned_abs() => Some((value as i64).wrapping_neg()),
            _ => None,
        },
        digits => i64::try_from(magnitude(digits)?).ok(),
    }
}

/// Parses the canonical decimal form of a `u64`, as strictly as [`parse_i64`].
#[inline]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    magnitude(text)
}

/// Writes `value` in decimal to the end of `buf` and returns that part.
#[inline]
pub fn fmt_u64(buf: &mut [u8; I64_LEN_MAX], value: u64) -> &[u8] {
    let start = fill_back(buf, value);
    &buf[start..]
}

/// Writes `value` in decimal to the end of `buf` and returns that part.
#[inline]
pub fn fmt_i64(buf: &mut [u8; I64_LEN_MAX], value: i64) -> &[u8] {
    let mut start = fill_back(buf, value.unsigned_abs());
    if value < 0 {
        start -= 1; // 19 digits at most for an i64, so there is room
        buf[start] = b'-';
    }
    &buf[start..]
}

/// Decimal digits without sign; a leading zero only as the whole text.
#[inline]
fn magnitude(digits: &[u8]) -> Option<u64> {
    match digits {
        [b'0'] => return Some(0),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    if digits.len() > I64_LEN_MAX {
        return None;
    }
    let mut rest = digits;
    let mut value = 0u64;
    // At most two rounds, so this part cannot overflow: 16 digits.
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        value = value * 100_000_000 + u64::from(eight_digits(*chunk)?);
        rest = tail;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Eight ASCII digits at once, in a register: pairs, then fours, then all.
#[inline]
fn eight_digits(chunk: [u8; 8]) -> Option<u32> {
    let word = u64::from_le_bytes(chunk);
    // A byte is a digit when its high half is 3, and still is after adding 6.
    let high_halves = word & 0xF0F0_F0F0_F0F0_F0F0;
    let carried = word.wrapping_add(0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0;
    if high_halves != 0x3030_3030_3030_3030 || carried != high_halves {
        return None;
    }
    let ones = word & 0x0F0F_0F0F_0F0F_0F0F;
    let pairs = (ones.wrapping_mul(10) + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) as u32)
}

const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Digits right-aligned in `buf`; where they start.
#[inline]
fn fill_back(buf: &mut [u8; I64_LEN_MAX], mut value: u64) -> usize {
    let mut at = buf.len();
    while value >= 100 {
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value >= 10 {
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[value as usize]);
    } else {
        at -= 1;
        buf[at] = b'0' + value as u8;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted() {
        for value in [0, 1, -1, 9, 10, 99, 100, 12345678, 123456789, -12345678, i64::MAX, i64::MIN]
        {
            let text = value.to_string();
            assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
            assert_eq!(fmt_i64(&mut [0; 20], value), text.as_bytes());
        }
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(fmt_u64(&mut [0; 20], u64::MAX), b"18446744073709551615");
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "-",
            "+",
            "+1",
            "-0",
            "00",
            "01",
            "-01",
            " 1",
            "1 ",
            "1a",
            "a1",
            "0x1",
            "1.0",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "99999999999999999999",
            "100000000000000000000",
            "1234567:",
            "12345678:",
            "1234/678",
            "--1",
            "1-",
            "\u{661}",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
        }
        for text in ["", "-1", "18446744073709551616", "99999999999999999999", "01", "+1"] {
            assert_eq!(parse_u64(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_i64(b"1\0"), None);
        assert_eq!(parse_i64(b"\xb1"), None);
    }

    #[test]
    fn every_byte_at_every_place_of_eight() {
        for place in 0..8 {
            for byte in 0..=255u8 {
                let mut chunk = *b"12345678";
                chunk[place] = byte;
                let expected = std::str::from_utf8(&chunk)
                    .ok()
                    .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|text| text.parse().ok());
                assert_eq!(eight_digits(chunk), expected, "{}", chunk.escape_ascii());
            }
        }
    }

    #[test]
    fn random_values_round_trip() {
        let mut seed = 7u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = (seed as i64) >> (seed >> 58);
            let text = value.to_string();
            assert_eq!(parse_i64(text.as_bytes()), Some(value));
            assert_eq!(fmt_i64(&mut [0; 20], value), text.as_bytes());
            assert_eq!(fmt_u64(&mut [0; 20], value as u64), (value as u64).to_string().as_bytes());
        }
    }
}
