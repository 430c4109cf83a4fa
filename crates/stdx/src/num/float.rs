//! Floats: `string2d`, `d2string` and the `%.17Lf` form of a double.
//!
//! Parsing takes what C's `strtod` takes in the "C" locale (decimal, hex with
//! or without a binary exponent, `inf`, `infinity`; letters of any case),
//! minus what Redis refuses afterwards: `nan`, blanks, anything left over,
//! overflow to infinity, and underflow to zero.

use std::io::Write;

use rustc_apfloat::{Float, Round, ieee};

/// Bytes that hold any text [`fmt_f64`] or [`fmt_f64_g17`] writes.
pub const F64_LEN_MAX: usize = 32;

/// What kind of float a text is, before its value is computed. The grammar is
/// `strtod`'s, shared with the 80-bit floats of [`crate::longdouble`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatText {
    /// `inf` or `infinity`; true when negative.
    Infinity(bool),
    /// Decimal digits; true when all digits of the mantissa are zero.
    Decimal { zero: bool },
    /// `0x` and hex digits; `exponent` tells whether a `p…` follows.
    Hex { zero: bool, exponent: bool },
}

/// Checks `text` against `strtod`'s grammar; `None` for all else, NaN too.
pub(crate) fn classify_float(text: &[u8]) -> Option<FloatText> {
    let (negative, body) = match text {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        body => (false, body),
    };
    match body.first()? {
        b'0'..=b'9' | b'.' => {}
        _ => {
            let infinite =
                body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity");
            return infinite.then_some(FloatText::Infinity(negative));
        }
    }
    if let [b'0', b'x' | b'X', hex @ ..] = body {
        let (zero, tail) = mantissa(hex, u8::is_ascii_hexdigit)?;
        let exponent = exponent(tail, b'p')?;
        return Some(FloatText::Hex { zero, exponent });
    }
    let (zero, tail) = mantissa(body, u8::is_ascii_digit)?;
    exponent(tail, b'e')?;
    Some(FloatText::Decimal { zero })
}

/// Digits with at most one point; whether all are zero, and what follows.
fn mantissa(body: &[u8], is_digit: fn(&u8) -> bool) -> Option<(bool, &[u8])> {
    let (mut digits, mut point, mut zero) = (0usize, false, true);
    let mut len = 0;
    for byte in body {
        if is_digit(byte) {
            digits += 1;
            zero &= *byte == b'0';
        } else if *byte == b'.' && !point {
            point = true;
        } else {
            break;
        }
        len += 1;
    }
    (digits > 0).then_some((zero, &body[len..]))
}

/// An optional exponent that ends the text; whether there is one.
fn exponent(tail: &[u8], mark: u8) -> Option<bool> {
    match tail {
        [] => Some(false),
        [first, b'+' | b'-', digits @ ..] | [first, digits @ ..]
            if first.eq_ignore_ascii_case(&mark)
                && !digits.is_empty()
                && digits.iter().all(u8::is_ascii_digit) =>
        {
            Some(true)
        }
        _ => None,
    }
}

/// Parses a double as Redis does for scores, timeouts and increments; `inf`
/// and hex are numbers, NaN is not.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    if let Some(value) = small_integer(text) {
        return Some(value);
    }
    let (value, zero) = match classify_float(text)? {
        FloatText::Infinity(true) => return Some(f64::NEG_INFINITY),
        FloatText::Infinity(false) => return Some(f64::INFINITY),
        FloatText::Decimal { zero } => (std::str::from_utf8(text).ok()?.parse().ok()?, zero),
        FloatText::Hex { zero, exponent } => {
            let text = std::str::from_utf8(text).ok()?;
            (hex_value(text, exponent)?, zero)
        }
    };
    let out_of_range = f64::is_infinite(value) || (value == 0.0 && !zero);
    (!out_of_range).then_some(value)
}

/// Most scores are short integers, exact in a double.
#[inline]
fn small_integer(text: &[u8]) -> Option<f64> {
    if text.len() > 15 {
        return None;
    }
    super::parse_i64(text).map(|value| value as f64)
}

fn hex_value(text: &str, exponent: bool) -> Option<f64> {
    let parsed = if exponent {
        ieee::Double::from_str_r(text, Round::NearestTiesToEven)
    } else {
        ieee::Double::from_str_r(&format!("{text}p0"), Round::NearestTiesToEven)
    };
    Some(f64::from_bits(parsed.ok()?.value.to_bits() as u64))
}

/// Writes `value` as replies carry it since Redis 7.2: the shortest decimal
/// that reads back as `value`; integers without a point, and exponents only
/// when the plain form is long (`1e+20`, `1e-7`; the rule is that of
/// deps/fpconv). `inf`, `-inf`, `nan`, `-0`.
///
/// Redis's digits come from Grisu2, which misses the shortest form for about
/// one value in a thousand; both read back as the same double.
pub fn fmt_f64(buf: &mut [u8; F64_LEN_MAX], value: f64) -> &[u8] {
    // Up to 2^62, as there: a larger integer may be written with an exponent.
    const INTEGER_MAX: f64 = (1u64 << 62) as f64;
    if let Some(text) = special(value) {
        return text;
    }
    let mut out = Cursor::new(buf);
    if value.abs() <= INTEGER_MAX && value == value.trunc() {
        out.put(super::fmt_i64(&mut [0; 20], value as i64));
        return out.done();
    }
    let mut scratch = [0; F64_LEN_MAX];
    let (digits, exponent) = scientific(&mut scratch, |out| write!(out, "{:e}", value.abs()));
    if value < 0.0 {
        out.put(b"-");
    }
    let digits_len = digits.len() as i32;
    // The power of ten of the last digit.
    let last = exponent - (digits_len - 1);
    if last >= 0 && exponent.abs() < digits_len + 7 {
        out.put(digits);
        out.zeros(last as usize);
    } else if last < 0 && (last > -7 || exponent.abs() < 4) {
        out.plain(digits, exponent);
    } else {
        out.exponential(digits, exponent, 1);
    }
    out.done()
}

/// Writes `value` as Redis up to 7.0 does: integers plainly, all else as
/// `%.17g`.
pub fn fmt_f64_g17(buf: &mut [u8; F64_LEN_MAX], value: f64) -> &[u8] {
    // The range in which Redis 7.0 takes a double for an integer.
    const INTEGER_MAX: f64 = (1u64 << 52) as f64;
    if let Some(text) = special(value) {
        return text;
    }
    let mut out = Cursor::new(buf);
    if value.abs() < INTEGER_MAX && value == value.trunc() {
        out.put(super::fmt_i64(&mut [0; 20], value as i64));
        return out.done();
    }
    let mut scratch = [0; F64_LEN_MAX];
    let (digits, exponent) = scientific(&mut scratch, |out| write!(out, "{:.16e}", value.abs()));
    let significant = digits.len() - digits.iter().rev().take_while(|&&b| b == b'0').count();
    let digits = &digits[..significant];
    if value < 0.0 {
        out.put(b"-");
    }
    if !(-4..17).contains(&exponent) {
        out.exponential(digits, exponent, 2);
    } else if exponent >= digits.len() as i32 - 1 {
        out.put(digits);
        out.zeros(exponent as usize + 1 - digits.len());
    } else {
        out.plain(digits, exponent);
    }
    out.done()
}

/// Appends `value` in the "human" form of `ld2string` (coordinates of GEOPOS):
/// 17 decimals, then without the zeros at the end; never an exponent, so up to
/// 330 bytes.
pub fn push_f64_human(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() || value.is_infinite() {
        out.extend_from_slice(special(value).unwrap_or_default());
        return;
    }
    let start = out.len();
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{value:.17}");
    while out.ends_with(b"0") {
        out.pop();
    }
    if out.ends_with(b".") {
        out.pop();
    }
    if &out[start..] == b"-0" {
        out.remove(start);
    }
}

fn special(value: f64) -> Option<&'static [u8]> {
    if value == 0.0 {
        return Some(if value.is_sign_negative() { b"-0" } else { b"0" });
    }
    if value.is_nan() {
        return Some(b"nan");
    }
    match value {
        f64::INFINITY => Some(b"inf"),
        f64::NEG_INFINITY => Some(b"-inf"),
        _ => None,
    }
}

/// Splits std's `d.ddde±x` into its digits, moved together, and the exponent.
fn scientific(
    scratch: &mut [u8; F64_LEN_MAX],
    write: impl FnOnce(&mut &mut [u8]) -> std::io::Result<()>,
) -> (&[u8], i32) {
    let mut free = &mut scratch[..];
    // 17 digits, a point, `e-324`: 24 bytes of 32, so this cannot fail.
    let _ = write(&mut free);
    let len = F64_LEN_MAX - free.len();
    let mark = scratch[..len].iter().position(|&b| b == b'e').unwrap_or(len);
    let exponent = match scratch.get(mark + 1..len) {
        Some([b'-', digits @ ..]) => -small(digits),
        Some(digits) => small(digits),
        None => 0,
    };
    if mark > 2 {
        scratch.copy_within(2..mark, 1); // over the point
        (&scratch[..mark - 1], exponent)
    } else {
        (&scratch[..1], exponent)
    }
}

fn small(digits: &[u8]) -> i32 {
    digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'))
}

/// Appends to a fixed buffer that is known to be large enough.
struct Cursor<'a> {
    buf: &'a mut [u8; F64_LEN_MAX],
    len: usize,
}

impl<'a> Cursor<'a> {
    fn new(buf: &'a mut [u8; F64_LEN_MAX]) -> Self {
        Cursor { buf, len: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buf[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn zeros(&mut self, count: usize) {
        self.buf[self.len..self.len + count].fill(b'0');
        self.len += count;
    }

    /// `0.00ddd` or `dd.ddd`; the point falls within or before the digits.
    fn plain(&mut self, digits: &[u8], exponent: i32) {
        if exponent < 0 {
            self.put(b"0.");
            self.zeros((-exponent - 1) as usize);
            self.put(digits);
        } else {
            let (whole, fraction) = digits.split_at(exponent as usize + 1);
            self.put(whole);
            self.put(b".");
            self.put(fraction);
        }
    }

    fn exponential(&mut self, digits: &[u8], exponent: i32, exponent_digits_min: usize) {
        self.put(&digits[..1]);
        if digits.len() > 1 {
            self.put(b".");
            self.put(&digits[1..]);
        }
        self.put(if exponent < 0 { b"e-" } else { b"e+" });
        let mut buf = [0; 20];
        let text = super::fmt_u64(&mut buf, u64::from(exponent.unsigned_abs()));
        self.zeros(exponent_digits_min.saturating_sub(text.len()));
        self.put(text);
    }

    fn done(self) -> &'a [u8] {
        &self.buf[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest(value: f64) -> String {
        String::from_utf8(fmt_f64(&mut [0; F64_LEN_MAX], value).to_vec()).unwrap()
    }

    fn g17(value: f64) -> String {
        String::from_utf8(fmt_f64_g17(&mut [0; F64_LEN_MAX], value).to_vec()).unwrap()
    }

    fn human(value: f64) -> String {
        let mut out = b"x".to_vec();
        push_f64_human(&mut out, value);
        String::from_utf8(out[1..].to_vec()).unwrap()
    }

    #[test]
    fn parsed() {
        for (text, value) in [
            ("0", 0.0),
            ("1.5", 1.5),
            ("+1.5", 1.5),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("01", 1.0),
            ("1e3", 1000.0),
            ("1E+3", 1000.0),
            ("1e-3", 0.001),
            ("0e-999999999", 0.0),
            ("inf", f64::INFINITY),
            ("+Inf", f64::INFINITY),
            ("-INFINITY", f64::NEG_INFINITY),
            ("0x10", 16.0),
            ("-0X1.8p1", -3.0),
            ("0x.8", 0.5),
            ("0x1P-2", 0.25),
            ("4.9e-324", 5e-324),
            ("1.7976931348623157e308", f64::MAX),
            ("123456789012345", 123456789012345.0),
            ("12345678901234567890", 12345678901234567890.0),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text}");
        }
        assert!(parse_f64(b"-0").unwrap().is_sign_negative());
    }

    #[test]
    fn refused() {
        for text in [
            "",
            " ",
            " 1",
            "1 ",
            "\n1",
            "1\0",
            "+",
            "-",
            ".",
            "-.",
            "e5",
            "1e",
            "1e+",
            "1.2.3",
            "1,5",
            "abc",
            "1a",
            "nan",
            "NaN",
            "-nan",
            "nan(1)",
            "infin",
            "infinityy",
            "0x",
            "0x.",
            "0xp1",
            "0x1p",
            "0x1pf",
            "1p3",
            "--1",
            "+-1",
            "1e400",
            "-1e400",
            "1e-400",
            "0x1p5000",
            "0x1p-5000",
            "1e99999999999999999999",
            "1_000",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse_f64(b"\xff"), None);
    }

    #[test]
    fn shortest_form() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-3.0, "-3"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e7, "10000000"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-5, "0.00001"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (1.25e-100, "1.25e-100"),
            (4611686018427387904.0, "4611686018427387904"),
            (9223372036854775808.0, "9223372036854776000"),
            (9007199254740993.0, "9007199254740992"),
            (0.0012345678901234567, "0.0012345678901234567"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(shortest(value), text);
        }
    }

    #[test]
    fn seventeen_digits() {
        for (value, text) in [
            (0.1, "0.10000000000000001"),
            (3.0, "3"),
            (-1.5, "-1.5"),
            (1e20, "1e+20"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1e-4, "0.0001"),
            (1e-5, "1.0000000000000001e-05"),
            (5e-324, "4.9406564584124654e-324"),
            (123456.789, "123456.789"),
            (-0.0, "-0"),
        ] {
            assert_eq!(g17(value), text);
        }
    }

    #[test]
    fn human_form() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-1e-30, "0"),
            (0.1, "0.10000000000000001"),
            (13.361389338970184, "13.36138933897018433"),
            (100.0, "100"),
            (1e22, "10000000000000000000000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(human(value), text);
        }
    }

    #[test]
    fn random_doubles_read_back() {
        let mut seed = 3u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = f64::from_bits(seed ^ (seed >> 29));
            if value.is_nan() {
                continue;
            }
            assert_eq!(parse_f64(shortest(value).as_bytes()), Some(value));
            assert_eq!(parse_f64(g17(value).as_bytes()), Some(value));
            let near_one = f64::from_bits((value.to_bits() & !(0x7f8 << 52)) | (0x3f8 << 52));
            assert_eq!(parse_f64(shortest(near_one).as_bytes()), Some(near_one));
        }
    }
}
