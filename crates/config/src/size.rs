//! Sizes as people write them: `100mb`.

/// Bytes with an optional unit: `k m g` are powers of 1000, `kb mb gb` of 1024.
/// No digits mean 0, and what exceeds 64 bits is held at the greatest value.
pub(crate) fn memory(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1000 * 1000,
        b"mb" => 1 << 20,
        b"g" => 1000 * 1000 * 1000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let count = digits
        .iter()
        .fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add((digit - b'0').into()));
    Some(count.saturating_mul(factor))
}

/// Bytes as a file would have them: with the greatest unit that divides them.
pub(crate) fn show_memory(bytes: u64) -> String {
    for (unit, name) in [(1u64 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")] {
        if bytes != 0 && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    bytes.to_string()
}
