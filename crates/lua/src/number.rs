//! Numbers as text, as C's `%.<precision>g` writes them.

use std::io::Write as _;

use stdx::num::{F64_LEN_MAX, I64_LEN_MAX, fmt_f64_g17, fmt_i64};

/// Enough for any number with 17 digits.
pub(crate) const LEN_MAX: usize = 32;

/// Writes `n` with up to `digits` significant digits (1 to 17). Returns the text.
pub(crate) fn general(buf: &mut [u8; LEN_MAX], n: f64, digits: usize) -> &[u8] {
    if n.is_nan() {
        return if n.is_sign_negative() { b"-nan" } else { b"nan" };
    }
    if n.is_infinite() {
        return if n < 0.0 { b"-inf" } else { b"inf" };
    }
    let digits = digits.clamp(1, 17);
    // Rounded to the digits wanted: d.ddde±x
    let mut text = [0u8; LEN_MAX];
    let mut cursor = std::io::Cursor::new(&mut text[..]);
    let _ = write!(cursor, "{:.*e}", digits - 1, n);
    let used = cursor.position() as usize;
    let text = &text[..used];
    let Some(e) = text.iter().position(|c| *c == b'e') else { return b"0" };
    let exponent: i32 =
        std::str::from_utf8(&text[e + 1..]).ok().and_then(|t| t.parse().ok()).unwrap_or(0);
    let (sign, mantissa) = match text[0] {
        b'-' => (&text[..1], &text[1..e]),
        _ => (&text[..0], &text[..e]),
    };
    let mut all = [0u8; 17];
    let mut count = 0;
    for c in mantissa.iter().filter(|c| **c != b'.') {
        all[count] = *c;
        count += 1;
    }
    while count > 1 && all[count - 1] == b'0' {
        count -= 1;
    }
    let d = &all[..count];
    let mut out = std::io::Cursor::new(&mut buf[..]);
    let _ = out.write_all(sign);
    let _ = if exponent < -4 || exponent >= digits as i32 {
        let _ = out.write_all(&d[..1]);
        if count > 1 {
            let _ = out.write_all(b".");
            let _ = out.write_all(&d[1..]);
        }
        write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
    } else if exponent < 0 {
        let _ = out.write_all(b"0.");
        let _ = out.write_all(&b"0000"[..exponent.unsigned_abs() as usize - 1]);
        out.write_all(d)
    } else {
        let whole = exponent as usize + 1;
        let _ = out.write_all(&d[..whole.min(count)]);
        let _ = out.write_all(&b"00000000000000000"[..whole.saturating_sub(count)]);
        if count > whole {
            let _ = out.write_all(b".");
            out.write_all(&d[whole..])
        } else {
            Ok(())
        }
    };
    let n = out.position() as usize;
    &buf[..n]
}

/// Writes a number as an argument of a command: whole numbers as such, others with 17 digits.
#[inline]
pub(crate) fn argument(to: &mut Vec<u8>, n: f64) {
    // The range in which Redis takes a number for an integer.
    if n.trunc() == n && n.abs() <= 4.6e18 {
        to.extend_from_slice(fmt_i64(&mut [0; I64_LEN_MAX], n as i64));
    } else if n.is_nan() {
        // With its sign, as C writes it; 0/0 is negative on most processors.
        to.extend_from_slice(general(&mut [0; LEN_MAX], n, 17));
    } else {
        to.extend_from_slice(fmt_f64_g17(&mut [0; F64_LEN_MAX], n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_c_writes_them() {
        let t =
            |n: f64, d| String::from_utf8(general(&mut [0; LEN_MAX], n, d).to_vec()).expect("text");
        assert_eq!(t(0.1, 17), "0.10000000000000001");
        assert_eq!(t(3.0, 14), "3");
        assert_eq!(t(1e100, 14), "1e+100");
        assert_eq!(t(1e15, 14), "1e+15");
        assert_eq!(t(123_456.0, 14), "123456");
        assert_eq!(t(0.0001, 14), "0.0001");
        assert_eq!(t(0.00001, 14), "1e-05");
        assert_eq!(t(-1.5, 14), "-1.5");
        assert_eq!(t(1_699_999_999.123, 17), "1699999999.1229999");
        assert_eq!(t(0.0, 14), "0");
        assert_eq!(t(99_999_999_999_999.9, 14), "1e+14");
        assert_eq!(t(1e14, 14), "1e+14");
        assert_eq!(t(f64::INFINITY, 14), "inf");
    }
}
