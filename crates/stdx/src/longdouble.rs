//! The arithmetic of INCRBYFLOAT and HINCRBYFLOAT: x87 80-bit floats, on every
//! platform the same.
//!
//! Redis computes in C's `long double`, whose 64-bit mantissa makes
//! `3.0 + 1.1` read `4.1`, and clients rely on that. Rust has no such type, so
//! it is done in software (`rustc_apfloat`); a few hundred nanoseconds against
//! a round trip. Parsing is `string2ld`, the text is `ld2string` in its "human"
//! mode (both util.c).

use rustc_apfloat::{Float, Round, ieee::X87DoubleExtended};

use crate::num::{FloatText, classify_float, fmt_u64};

/// A text this long or longer is no number, Redis's `MAX_LONG_DOUBLE_CHARS`.
const TEXT_LEN_LIMIT: usize = 5 * 1024;

/// Decimals of the text form before trailing zeros go.
const DECIMALS: usize = 17;

/// An 80-bit extended float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongDouble(X87DoubleExtended);

impl LongDouble {
    /// The largest number: `LDBL_MAX`.
    pub fn largest() -> Self {
        LongDouble(X87DoubleExtended::largest())
    }

    /// Parses as C's `strtold`, hex and `inf` included, minus what Redis
    /// refuses: NaN, blanks, leftovers, overflow, underflow to zero, and texts
    /// of 5 KiB and more.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= TEXT_LEN_LIMIT {
            return None;
        }
        let kind = classify_float(text)?;
        let text = std::str::from_utf8(text).ok()?;
        let (text, zero) = match kind {
            FloatText::Infinity(negative) => {
                let infinity = X87DoubleExtended::INFINITY;
                return Some(LongDouble(if negative { -infinity } else { infinity }));
            }
            FloatText::Decimal { zero } | FloatText::Hex { zero, exponent: true } => {
                (std::borrow::Cow::Borrowed(text), zero)
            }
            FloatText::Hex { zero, exponent: false } => (format!("{text}p0").into(), zero),
        };
        if zero {
            let negative = text.starts_with('-');
            let zero = X87DoubleExtended::ZERO;
            return Some(LongDouble(if negative { -zero } else { zero }));
        }
        let value = X87DoubleExtended::from_str_r(&text, Round::NearestTiesToEven).ok()?.value;
        (value.is_finite() && !value.is_zero()).then_some(LongDouble(value))
    }

    /// The value of an integer-encoded string, exactly.
    pub fn from_i64(value: i64) -> Self {
        LongDouble(X87DoubleExtended::from_i128(i128::from(value)).value)
    }

    /// True for NaN and the infinities: results that INCRBYFLOAT refuses.
    pub fn is_nan_or_inf(self) -> bool {
        !self.0.is_finite()
    }

    /// True for NaN.
    pub fn is_nan(self) -> bool {
        self.0.is_nan()
    }

    /// Appends the text INCRBYFLOAT stores and replies: 17 decimals, rounded
    /// half to even, without trailing zeros; all digits of a large integer part
    /// (up to 4,933); never an exponent, never `-0`.
    pub fn push_text(self, out: &mut Vec<u8>) {
        if self.0.is_nan() {
            return out.extend_from_slice(b"nan");
        }
        if self.0.is_infinite() {
            return out.extend_from_slice(if self.0.is_negative() { b"-inf" } else { b"inf" });
        }
        let (mantissa, exponent) = self.parts();
        let (whole, fraction) = if exponent >= 0 {
            (None, 0)
        } else {
            let (whole, fraction) = split_fraction(mantissa, exponent.unsigned_abs());
            (Some(whole), fraction)
        };
        if self.0.is_negative() && (whole, fraction) != (Some(0), 0) {
            out.push(b'-');
        }
        match whole {
            Some(whole) => out.extend_from_slice(fmt_u64(&mut [0; 20], whole)),
            None => push_shifted(out, mantissa, exponent.unsigned_abs()),
        }
        if fraction > 0 {
            push_fraction(out, fraction);
        }
    }

    /// [`LongDouble::push_text`] into a new buffer.
    pub fn to_text(self) -> Vec<u8> {
        let mut text = Vec::with_capacity(32);
        self.push_text(&mut text);
        text
    }

    /// The finite value as `mantissa * 2^exponent`.
    fn parts(self) -> (u64, i32) {
        let bits = self.0.to_bits();
        let mantissa = bits as u64; // the x87 form shows its leading one
        let biased = (bits >> 64) as i32 & 0x7fff;
        // Subnormals share the smallest exponent.
        (mantissa, biased.max(1) - 16_383 - 63)
    }
}

impl std::ops::Neg for LongDouble {
    type Output = Self;

    fn neg(self) -> Self {
        LongDouble(-self.0)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

impl std::ops::Add for LongDouble {
    type Output = Self;

    /// The sum, rounded to the nearest, ties to even.
    fn add(self, other: Self) -> Self {
        LongDouble((self.0 + other.0).value)
    }
}

/// `mantissa / 2^shift` as whole part and 10^-17ths, rounded half to even.
fn split_fraction(mantissa: u64, shift: u32) -> (u64, u64) {
    const ONE: u128 = 10u128.pow(DECIMALS as u32);
    let wide = u128::from(mantissa);
    let (whole, below_one) = match shift {
        0..64 => (mantissa >> shift, wide & ((1 << shift) - 1)),
        _ => (0, wide),
    };
    let scaled = below_one * ONE; // 64 + 57 bits
    if shift >= 127 {
        return (0, 0); // less than half of the last decimal
    }
    let half = (1u128 << shift) >> 1;
    let (mut units, left) = (scaled >> shift, scaled & ((1 << shift) - 1));
    if left > half || (left == half && units & 1 == 1) {
        units += 1;
    }
    if units == ONE { (whole + 1, 0) } else { (whole, units as u64) }
}

/// `.` and the 17 digits of `fraction`, without the zeros at the end.
fn push_fraction(out: &mut Vec<u8>, fraction: u64) {
    let mut buf = [0; 20];
    let digits = fmt_u64(&mut buf, fraction);
    out.push(b'.');
    out.extend(std::iter::repeat_n(b'0', DECIMALS - digits.len()));
    let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    out.extend_from_slice(&digits[..digits.len() - zeros]);
}

/// All decimal digits of `mantissa * 2^shift`, `shift` up to 16,320.
fn push_shifted(out: &mut Vec<u8>, mantissa: u64, shift: u32) {
    /// A limb of the big number holds nine digits.
    const LIMB: u64 = 1_000_000_000;
    // Least significant first.
    let mut limbs = vec![(mantissa % LIMB) as u32];
    let mut rest = mantissa / LIMB;
    while rest > 0 {
        limbs.push((rest % LIMB) as u32);
        rest /= LIMB;
    }
    let mut left = shift;
    while left > 0 {
        let step = left.min(32);
        let mut carry = 0;
        for limb in &mut limbs {
            let value = (u64::from(*limb) << step) + carry;
            *limb = (value % LIMB) as u32;
            carry = value / LIMB;
        }
        while carry > 0 {
            limbs.push((carry % LIMB) as u32);
            carry /= LIMB;
        }
        left -= step;
    }
    for (place, limb) in limbs.iter().rev().enumerate() {
        let mut buf = [0; 20];
        let digits = fmt_u64(&mut buf, u64::from(*limb));
        if place > 0 {
            out.extend(std::iter::repeat_n(b'0', 9 - digits.len()));
        }
        out.extend_from_slice(digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` for a refused operand, "not finite" as INCRBYFLOAT refuses it.
    fn sum(a: &str, b: &str) -> Option<String> {
        let sum = LongDouble::parse(a.as_bytes())? + LongDouble::parse(b.as_bytes())?;
        if sum.is_nan_or_inf() {
            return Some("not finite".to_owned());
        }
        String::from_utf8(sum.to_text()).ok()
    }

    /// What redis-server 7.0.15 answers on x86-64.
    #[test]
    fn sums_as_in_redis() {
        for (a, b, expected) in [
            ("3.0", "1.1", "4.1"),
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("1", "0.25", "1.25"),
            ("0", "-0", "0"),
            ("-1.5", "1.5", "0"),
            ("0", "-1e-20", "0"),
            ("17179869184", "1", "17179869185"),
            ("0", "0.00000000000000000500001", "0.00000000000000001"),
            ("0", "0.000000000000000005", "0"),
            ("0", "0.000000000000000015", "0.00000000000000002"),
            // Exactly between two decimals: to the even one.
            ("0x1p-18", "0", "0.00000381469726562"),
            ("0", "-0.999999999999999999", "-1"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551615", "0.5", "18446744073709551616"),
            ("1e20", "1", "100000000000000000000"),
            ("1e25", "-1e25", "0"),
            ("0x10", "0x1.8p1", "19"),
            ("0x.8", "1", "1.5"),
            ("1e60", "0", "999999999999999999999373423426722168652130621984886772203520"),
            ("1e4932", "1e4932", "not finite"),
            ("-1.1e4932", "-1.1e4932", "not finite"),
            ("inf", "1", "not finite"),
            ("inf", "-inf", "not finite"),
            ("3.6e-4951", "0", "0"),
            ("1.", ".5", "1.5"),
            ("00012", "+3", "15"),
            ("0e99999", "1", "1"),
        ] {
            assert_eq!(sum(a, b).as_deref(), Some(expected), "{a} + {b}");
        }
    }

    #[test]
    fn refused_as_in_redis() {
        for text in [
            "",
            " 1",
            "1 ",
            "1e",
            "0x",
            "1\0",
            "nan",
            "1e-4951",
            "1e-4960",
            "1e4933",
            "1e99999999999999999999",
            "0x1p99999",
            "1e-99999999999999999999",
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn length_limit() {
        let padded = |len: usize| format!("{}1", "0".repeat(len - 1));
        assert_eq!(sum(&padded(5119), "1").as_deref(), Some("2"));
        assert_eq!(sum(&padded(5120), "1"), None);
        let ones = format!("{}e-3990", "1".repeat(4000));
        assert_eq!(sum(&ones, "0").as_deref(), Some("1111111111.11111111112404615"));
    }

    #[test]
    fn largest_and_integers() {
        let max = LongDouble::parse(b"1.18973149535723176502e4932").unwrap();
        let text = String::from_utf8(max.to_text()).unwrap();
        assert_eq!(text.len(), 4933);
        assert!(text.starts_with("11897314953572317650212638530309702051690633222946"));
        // 2^16384 - 2^16320 ends in the same digits as its residue mod 10^4.
        let residue = (0..16320).fold(u128::from(u64::MAX) % 10_000, |r, _| r * 2 % 10_000);
        assert!(text.ends_with(&format!("{residue:04}")));
        for value in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(LongDouble::from_i64(value).to_text(), value.to_string().as_bytes());
        }
    }

    #[test]
    fn text_reads_back_to_the_same_text() {
        let mut rng = crate::rng::Rng::from_seed(9);
        for _ in 0..20_000 {
            let digits = rng.next_u64() >> rng.below(60);
            let text = format!("{}e{}", digits, rng.below(40) as i64 - 30);
            let once = LongDouble::parse(text.as_bytes()).unwrap().to_text();
            assert_eq!(LongDouble::parse(&once).unwrap().to_text(), once, "{text}");
        }
    }
}
