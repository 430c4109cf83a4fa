//! Splitting a line into words and quoting a word, by the rules of redis.conf.
//!
//! Double quotes know the escapes `\n \r \t \b \a \xHH` and take any other
//! escaped byte for itself; single quotes know only `\'`. A closing quote must
//! be followed by a blank or the end. `split(quote(x)) == [x]` for any bytes.

/// The words of `line`, or `None` if a quote is unbalanced.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        while at < line.len() && is_space(line[at]) {
            at += 1;
        }
        if at == line.len() {
            return Some(words);
        }
        let mut word = Vec::new();
        while at < line.len() && !matches!(line[at], b' ' | b'\n' | b'\r' | b'\t' | 0) {
            match line[at] {
                quote @ (b'"' | b'\'') => {
                    at = quoted(line, at + 1, quote, &mut word)?;
                    break;
                }
                byte => {
                    word.push(byte);
                    at += 1;
                }
            }
        }
        if line.get(at) == Some(&0) {
            at = line.len(); // a NUL ends the line, as it does for C
        }
        words.push(word);
    }
}

/// Reads up to the closing `quote`; returns the place after it.
fn quoted(line: &[u8], mut at: usize, quote: u8, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        let byte = *line.get(at)?;
        if byte == quote {
            let after = line.get(at + 1);
            return after.is_none_or(|&b| is_space(b)).then_some(at + 1);
        }
        match (byte, line.get(at + 1)) {
            (b'\\', Some(b'\'')) if quote == b'\'' => {
                word.push(b'\'');
                at += 2;
            }
            (b'\\', Some(&escaped)) if quote == b'"' => {
                if let (b'x', Some(value)) = (escaped, hex(line.get(at + 2..at + 4))) {
                    word.push(value);
                    at += 4;
                } else {
                    word.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 8,
                        b'a' => 7,
                        other => other,
                    });
                    at += 2;
                }
            }
            _ => {
                word.push(byte);
                at += 1;
            }
        }
    }
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let digits = digits?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// `word` in double quotes, with everything escaped that is not printable ASCII.
pub fn quote(word: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(word.len() + 2);
    out.push('"');
    for &byte in word {
        match byte {
            b'\\' | b'"' => {
                out.push('\\');
                out.push(byte as char);
            }
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            7 => out.push_str("\\a"),
            8 => out.push_str("\\b"),
            b' '..=b'~' => out.push(byte as char),
            _ => write!(out, "\\x{byte:02x}").expect("a String takes every write"),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let words = split(line.as_bytes())?;
        Some(
            words
                .into_iter()
                .map(|w| String::from_utf8(w).unwrap())
                .collect(),
        )
    }

    #[test]
    fn blanks_separate_and_quotes_hold_together() {
        assert_eq!(words("  save  900\t1 ").unwrap(), ["save", "900", "1"]);
        assert_eq!(words(r#"a "b c" 'd e'"#).unwrap(), ["a", "b c", "d e"]);
        assert_eq!(words(r#"save """#).unwrap(), ["save", ""]);
        assert_eq!(words("logfile ''").unwrap(), ["logfile", ""]);
        assert_eq!(words(r#"pre"fix""#).unwrap(), ["prefix"]);
        assert_eq!(words("").unwrap(), [""; 0]);
    }

    #[test]
    fn escapes() {
        assert_eq!(words(r#""\n\r\t\x41\q\"\\""#).unwrap(), ["\n\r\tAq\"\\"]);
        assert_eq!(words(r#""\x4""#).unwrap(), ["x4"]);
        assert_eq!(words(r"'\n\''").unwrap(), [r"\n'"]);
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in [r#"a "b"#, "a 'b", r#"a "b"c"#, "'a'b", r#""\"#] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn a_quoted_word_splits_to_itself() {
        let all: Vec<u8> = (0..=255).collect();
        for word in [&all[..], b"", b" ", b"a'b\"c\\", b"\\x41"] {
            assert_eq!(split(quote(word).as_bytes()).unwrap(), [word.to_vec()]);
        }
    }
}
