//! Byte counts for people, as INFO's `used_memory_human` shows them.

/// `1023B`, `1.50M`: two decimals of the largest fitting binary unit up to P;
/// 2^60 and more are plain bytes again (`bytesToHuman` in Redis's server.c).
pub fn bytes_to_human(bytes: u64) -> String {
    let exponent = bytes.checked_ilog2().unwrap_or(0) / 10;
    let unit = match exponent {
        1 => 'K',
        2 => 'M',
        3 => 'G',
        4 => 'T',
        5 => 'P',
        _ => return format!("{bytes}B"),
    };
    let scaled = bytes as f64 / (1u64 << (10 * exponent)) as f64;
    format!("{scaled:.2}{unit}")
}

#[cfg(test)]
mod tests {
    use super::bytes_to_human;

    #[test]
    fn units() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.00K"),
            (1536 * 1024, "1.50M"),
            (1024 * 1024 - 1, "1024.00K"),
            (1 << 30, "1.00G"),
            (5 << 40, "5.00T"),
            (1 << 50, "1.00P"),
            (1 << 60, "1152921504606846976B"),
        ] {
            assert_eq!(bytes_to_human(bytes), text);
        }
    }
}
