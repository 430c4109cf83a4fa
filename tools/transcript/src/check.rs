//! The comparison of a reply with what a step expects.

use crate::{Reply, Step, format, glob, quote};
use std::fmt;

/// A reply that is not the expected one. Displays as the command with both texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Line of the command in its transcript, from 1.
    pub line: usize,
    /// The command as it stands in the transcript.
    pub command: String,
    /// What the transcript expects, `~` and `...` lines included.
    pub expected: String,
    /// What came, as `redis-cli` shows it.
    pub actual: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "line {}: > {}", self.line, self.command)?;
        for line in self.expected.lines() {
            writeln!(f, "  expected: {line}")?;
        }
        for line in self.actual.lines() {
            writeln!(f, "  actual:   {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}

/// Whether `reply` is what `step` expects.
pub fn check(step: &Step, reply: &Reply) -> Result<(), Mismatch> {
    let actual = format(reply);
    if lines_match(&step.expected, &actual) {
        return Ok(());
    }
    let actual = match reply {
        // An empty status or text would print as no line at all.
        Reply::Status(text) | Reply::Verbatim(text) if text.is_empty() => quote(text),
        _ => actual,
    };
    Err(Mismatch {
        line: step.line,
        command: step.source.clone(),
        expected: step.expected.join("\n"),
        actual,
    })
}

fn lines_match(expected: &[String], actual: &str) -> bool {
    // Texts like CLIENT LIST end in a line break, INFO's lines in CR LF, a map's key before
    // a long value in a blank: none of it is visible in a transcript.
    let mut actual = actual.split('\n').map(str::trim_end);
    for pattern in expected {
        if pattern == "..." {
            return true;
        }
        let Some(line) = actual.next() else {
            return false;
        };
        let same = match pattern.strip_prefix("~ ") {
            Some(pattern) => glob(pattern, line),
            // A map's `=>` ends its line in a blank, which editors remove.
            None => pattern.trim_end() == line.trim_end(),
        };
        if !same {
            return false;
        }
    }
    actual.all(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::{Reply, parse};

    fn matches(expected: &str, reply: Reply) -> bool {
        let steps = parse(&format!("> CMD\n{expected}\n")).expect("parses");
        check(&steps[0], &reply).is_ok()
    }

    #[test]
    fn literal_glob_and_rest() {
        let two = || Reply::Array(vec![Reply::Integer(1), Reply::Integer(2)]);
        assert!(matches("1) (integer) 1\n2) (integer) 2", two()));
        assert!(matches("1) (integer) 1\n~ 2) (integer) ?", two()));
        assert!(matches("1) (integer) 1\n...", two()));
        assert!(!matches("1) (integer) 1", two()));
        assert!(!matches("1) (integer) 1\n2) (integer) 2\n3) (integer) 3", two()));
        assert!(!matches("~ 1) (integer) 2\n...", two()));
        assert!(!matches("(integer) *", Reply::Integer(1)), "only `~` lines are globs");
        let rows = || Reply::Array(vec![Reply::Integer(1), Reply::Integer(2)]);
        let map = Reply::Map(vec![(Reply::Integer(0), rows())]);
        assert!(matches("1# (integer) 0 =>\n   1) (integer) 1\n   2) (integer) 2", map));
        let text = Reply::Verbatim(b"a:1\r\n\r\nb:2\r\n".to_vec());
        assert!(matches("a:1\n\nb:2", text.clone()));
        assert!(!matches("a:1", text));
        let map = Reply::Map(vec![(Reply::Integer(1), two())]);
        let shown = "1# (integer) 1 =>\n   1) (integer) 1\n   2) (integer) 2";
        assert!(matches(shown, map), "no line of a transcript needs to end in a blank");
    }

    #[test]
    fn a_mismatch_says_where_and_what() {
        let step = &parse("# x\n> GET k\n\"a\"\n").expect("parses")[0];
        let error = check(step, &Reply::Nil).expect_err("differs");
        assert_eq!(error.to_string(), "line 2: > GET k\n  expected: \"a\"\n  actual:   (nil)\n");
    }
}
