//! A line into arguments, for inline commands, `redis.conf` and `CONFIG SET
//! save`: the quoting rules of Redis's `sdssplitargs` (sds.c).
//!
//! * Arguments are parted by blanks (space, `\n \r \t \v \f`).
//! * `"…"` takes `\n \r \t \b \a`, `\xHH`, and `\` before any other byte as that
//!   byte. `'…'` takes only `\'`.
//! * A quote may open within an argument (`a"b c"` is one) but must end it: a
//!   closing quote is followed by a blank or the end.
//! * As there, lines are C strings: a NUL byte ends the line, and inside an
//!   argument without quotes `\v` and `\f` do not part.

/// A quote was not closed, or its closing quote was followed by more text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbalanced;

impl std::fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("unbalanced quotes")
    }
}

impl std::error::Error for Unbalanced {}

/// The arguments of `line`; none for a blank line.
pub fn split_args(line: &[u8]) -> Result<Vec<Vec<u8>>, Unbalanced> {
    let end = line.iter().position(|&b| b == 0).unwrap_or(line.len());
    let mut rest = &line[..end];
    let mut args = Vec::new();
    loop {
        let blanks = rest.iter().take_while(|b| is_blank(**b)).count();
        rest = &rest[blanks..];
        if rest.is_empty() {
            return Ok(args);
        }
        let mut arg = Vec::new();
        rest = take_arg(rest, &mut arg)?;
        args.push(arg);
    }
}

/// Moves one argument from the start of `rest` to `arg`; what follows it.
fn take_arg<'a>(mut rest: &'a [u8], arg: &mut Vec<u8>) -> Result<&'a [u8], Unbalanced> {
    loop {
        match rest {
            [] => return Ok(rest),
            [b' ' | b'\n' | b'\r' | b'\t', tail @ ..] => return Ok(tail),
            [b'"', tail @ ..] => return closed(take_double_quoted(tail, arg)?),
            [b'\'', tail @ ..] => return closed(take_single_quoted(tail, arg)?),
            [byte, tail @ ..] => {
                arg.push(*byte);
                rest = tail;
            }
        }
    }
}

fn take_double_quoted<'a>(mut rest: &'a [u8], arg: &mut Vec<u8>) -> Result<&'a [u8], Unbalanced> {
    loop {
        rest = match rest {
            [] => return Err(Unbalanced),
            [b'"', tail @ ..] => return Ok(tail),
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                arg.push(hex_digit(*high) << 4 | hex_digit(*low));
                tail
            }
            [b'\\', escaped, tail @ ..] => {
                arg.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                tail
            }
            [byte, tail @ ..] => {
                arg.push(*byte);
                tail
            }
        }
    }
}

fn take_single_quoted<'a>(mut rest: &'a [u8], arg: &mut Vec<u8>) -> Result<&'a [u8], Unbalanced> {
    loop {
        rest = match rest {
            [] => return Err(Unbalanced),
            [b'\\', b'\'', tail @ ..] => {
                arg.push(b'\'');
                tail
            }
            [b'\'', tail @ ..] => return Ok(tail),
            [byte, tail @ ..] => {
                arg.push(*byte);
                tail
            }
        }
    }
}

/// After a closing quote the argument must be over.
fn closed(rest: &[u8]) -> Result<&[u8], Unbalanced> {
    match rest.first() {
        Some(byte) if !is_blank(*byte) => Err(Unbalanced),
        _ => Ok(rest),
    }
}

/// C's `isspace` in the "C" locale.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        letter => (letter | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<String>> {
        let args = split_args(line.as_bytes()).ok()?;
        Some(args.iter().map(|arg| arg.escape_ascii().to_string()).collect())
    }

    #[test]
    fn balanced() {
        for (line, args) in [
            ("", &[][..]),
            (" \t\r\n\x0b\x0c", &[]),
            ("set foo bar", &["set", "foo", "bar"]),
            ("  set  foo\tbar\r\n", &["set", "foo", "bar"]),
            (r#""hello world" x"#, &["hello world", "x"]),
            (r#""a\"b\\c" """#, &[r#"a\"b\\c"#, ""]),
            (r#""\n\r\t\b\a\q""#, &[r"\n\r\t\x08\x07q"]),
            (r#""\x41\xfF\x4""#, &[r"A\xffx4"]),
            (r#"a"b c" 'd e'"#, &["ab c", "d e"]),
            (r"'it\'s' '\n'", &[r"it\'s", r"\\n"]),
            ("a\x0bb", &["a\\x0bb"]),
            ("\"a\"\x0bb", &["a", "b"]),
            ("a b\0c d", &["a", "b"]),
            (r"a\ b", &[r"a\\", "b"]),
        ] {
            assert_eq!(split(line).unwrap(), args, "{line}");
        }
    }

    #[test]
    fn unbalanced() {
        for line in
            [r#"""#, r#""foo"bar"#, r#""foo'"#, "'foo", "'foo'bar", r#""a\""#, "\"a\0\"", r"'a\'"]
        {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn reads_back_what_repr_writes() {
        let all: Vec<u8> = (0..=255).collect();
        let line = format!("x {} y", crate::repr::quoted(&all));
        assert_eq!(split_args(line.as_bytes()).unwrap()[1], all);
    }
}
