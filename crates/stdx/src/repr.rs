//! Bytes as quoted text, in the form `sdscatrepr` (sds.c) gives MONITOR,
//! CLIENT and log lines; [`crate::split`] reads it back.

/// `bytes` between double quotes: `\\ \" \n \r \t \a \b` and `\xHH` (lower case)
/// for all that is not printable ASCII.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    push_quoted(&mut text, bytes);
    text
}

/// Appends [`quoted`] text to `out`.
pub fn push_quoted(out: &mut String, bytes: &[u8]) {
    const HEX: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    out.push('"');
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend(['\\', char::from(byte)]),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend(['\\', 'x', HEX[high], HEX[low]]);
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn escapes() {
        assert_eq!(quoted(b""), r#""""#);
        assert_eq!(quoted(b"a \"b\"\\'"), r#""a \"b\"\\'""#);
        assert_eq!(quoted(b"\n\r\t\x07\x08\0\x1b\x7f\xff"), r#""\n\r\t\a\b\x00\x1b\x7f\xff""#);
    }
}
