//! Durations in Go's form, as `1h30m`, `1.5s` or `300ms`.

/// Nanoseconds of a duration. An empty text is zero.
pub(super) fn parse_duration(text: &str) -> Result<i64, String> {
    let wrong = || "must be a duration as \"25s\" or \"1m30s\"".to_owned();
    let (is_negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if text.is_empty() || rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total: f64 = 0.0;
    while !rest.is_empty() {
        let digits =
            rest.find(|char: char| !char.is_ascii_digit() && char != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let after = &rest[digits..];
        let unit =
            after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
        let ns = match &after[..unit] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return Err(wrong()),
        };
        total += number * ns;
        rest = &after[unit..];
    }
    // Far more than any option needs, and less than Go's largest duration.
    const LONGEST_NS: f64 = 9e18;
    if total > LONGEST_NS {
        return Err("is too long a time".into());
    }
    #[expect(clippy::cast_possible_truncation, reason = "it was just compared with the largest")]
    let ns = total.round() as i64;
    Ok(if is_negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn durations_are_as_in_go() {
        for (text, ns) in [
            ("", 0),
            ("0", 0),
            ("25s", 25_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("300ms", 300_000_000),
            ("1µs", 1000),
            ("-1s", -1_000_000_000),
            ("720h", 2_592_000_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
        for text in ["1", "s", "1x", "-", "1.2.3s", "1 s", "99999999h", "1d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
