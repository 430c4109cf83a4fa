//! Forms of text that HTTP needs: escapes in URLs, Go's durations, times, base64.

use std::time::Duration;

use percent_encoding::percent_decode_str;

/// Undoes `%41` and, in queries, `+`. Any other text stays as it is.
pub(super) fn unescape(text: &str, plus: bool) -> String {
    let spaced = if plus { text.replace('+', " ") } else { text.to_owned() };
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// A duration as Go writes it (`1h2m3.5s`, `10ms`), or a number of milliseconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    if let Ok(ms) = text.parse() {
        return Some(Duration::from_millis(ms));
    }
    let mut seconds = 0.0;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let units = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ];
        let (unit, scale) = units.into_iter().find(|(u, _)| rest.starts_with(u))?;
        seconds += number * scale;
        rest = &rest[unit.len()..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Unix microseconds as RFC 3339 in UTC; 0 is Go's zero time.
pub(super) fn time(us: u64) -> String {
    if us == 0 {
        return "0001-01-01T00:00:00Z".to_owned();
    }
    let (days, rest) = ((us / 86_400_000_000) as i64, us % 86_400_000_000);
    // Howard Hinnant's civil_from_days.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    let (h, min, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{min:02}:{s:02}.{micros:06}Z")
}

/// Base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let n = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for i in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * i)) as usize & 63];
            text.push(if i > chunk.len() { '=' } else { digit as char });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(unescape("a%2Db+c%", true), "a-b c%");
        assert_eq!(unescape("a+b%zz%4", false), "a+b%zz%4");
        assert_eq!(unescape("%E2%82%AC%ff", false), "€\u{fffd}");
    }

    #[test]
    fn durations() {
        for (text, ms) in
            [("10s", 10_000), ("1h2m3.5s", 3_723_500), ("250ms", 250), ("0s", 0), ("7", 7)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "1", "1x", "-1s", "1s2", "1.2.3s"] {
            assert_eq!(duration(text).is_some(), text == "1", "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(time(0), "0001-01-01T00:00:00Z");
        assert_eq!(time(1), "1970-01-01T00:00:00.000001Z");
        assert_eq!(time(951_782_400_000_000), "2000-02-29T00:00:00.000000Z");
        assert_eq!(time(1_709_251_199_999_999), "2024-02-29T23:59:59.999999Z");
        assert_eq!(time(1_735_689_600_000_000), "2025-01-01T00:00:00.000000Z");
    }

    #[test]
    fn base_64() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
