//! The transcript format, and its parser.
//!
//! | line | meaning |
//! |---|---|
//! | `> SET k "v\x00"` | a command, quoted as in `redis-cli` |
//! | any other | a line of the reply, as `redis-cli` shows it in a terminal |
//! | `~ 1) "*"` | a line of the reply as a glob of `*` and `?` |
//! | `...` | the rest of the reply, whatever it is (last line of a reply) |
//! | `# text` | a comment |
//! | `# only: apus` | replayed on Apus alone |
//! | `# only: redis` | replayed on real Redis alone: a difference we chose |
//! | `# only: redis>=7.4` (or `<`) | replayed on real Redis of that version; on Apus, `>=` always and `<` never |
//! | `# resp: 3` | over RESP3 (the default is 2) |
//! | `# reset` | from here on a new connection to an empty server |
//!
//! `only` and `resp` hold from their line to the next `# reset`, and so usually stand
//! at the top. Every command needs at least one line of reply, since an example
//! without one would check nothing. Blank lines between steps, and an indentation
//! common to all lines, do not count.

use std::fmt;
use std::str::FromStr;

/// A command and the reply it must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the command in its transcript, from 1.
    pub line: usize,
    /// The command as written, without `> `.
    pub source: String,
    /// The command's arguments, its name first; never empty.
    pub args: Vec<Vec<u8>>,
    /// The lines of the expected reply; never empty. See [`check`](crate::check).
    pub expected: Vec<String>,
    /// Where the step is replayed.
    pub only: Only,
    /// 2 or 3.
    pub resp: u8,
    /// The step starts on a new connection to an empty server.
    pub reset: bool,
}

/// Where a step is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Everywhere.
    Any,
    /// On Apus.
    Apus,
    /// On real Redis.
    Redis,
    /// On Apus, and on real Redis from this version on.
    AtLeast(Version),
    /// On real Redis older than this version.
    Below(Version),
}

impl Only {
    /// Whether a step is replayed on `target`.
    pub fn includes(self, target: Target) -> bool {
        match (self, target) {
            (Only::Any, _) => true,
            (Only::Apus | Only::AtLeast(_), Target::Apus) => true,
            (Only::Redis | Only::Below(_), Target::Apus) => false,
            (Only::Apus, Target::Redis(_)) => false,
            (Only::Redis, Target::Redis(_)) => true,
            (Only::AtLeast(v), Target::Redis(is)) => is >= v,
            (Only::Below(v), Target::Redis(is)) => is < v,
        }
    }
}

/// The server that transcripts are replayed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Apus. It has commands and options of later versions than the one that its INFO states, so
    /// that version does not leave any of them out.
    Apus,
    /// Redis itself, and its version.
    Redis(Version),
}

/// A version of Redis: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl FromStr for Version {
    type Err = String;

    /// Reads `7`, `7.4` and `7.4.1`; what is missing is 0.
    fn from_str(text: &str) -> Result<Version, String> {
        let mut parts = [0; 3];
        let mut words = text.trim().split('.');
        for (i, part) in parts.iter_mut().enumerate() {
            match words.next() {
                Some(word) => {
                    *part = word.parse().map_err(|_| format!("{text:?} is not a version"))?;
                }
                None if i == 0 => return Err("a version is missing".into()),
                None => break,
            }
        }
        match words.next() {
            None => Ok(Version(parts[0], parts[1], parts[2])),
            Some(_) => Err(format!("{text:?} is not a version")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A transcript that cannot be read, and the line that is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads a transcript. An empty one is an error too: it would check nothing.
pub fn parse(text: &str) -> Result<Vec<Step>, ParseError> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let indent = &first[..first.len() - first.trim_start().len()];

    let mut steps: Vec<Step> = Vec::new();
    let (mut only, mut resp, mut reset) = (Only::Any, 2, false);
    let mut last = 0;
    for (i, line) in text.lines().enumerate() {
        last = i + 1;
        let at = |message: String| ParseError { line: i + 1, message };
        let line = line.strip_prefix(indent).unwrap_or(line.trim_start());
        if let Some(source) = line.strip_prefix("> ") {
            finish(steps.last_mut())?;
            let args = split_args(source).ok_or_else(|| at("unbalanced quotes".into()))?;
            if args.is_empty() {
                return Err(at("a command is missing after `>`".into()));
            }
            steps.push(Step {
                line: i + 1,
                source: source.to_owned(),
                args,
                expected: Vec::new(),
                only,
                resp,
                reset: std::mem::take(&mut reset),
            });
        } else if let Some(comment) = line.strip_prefix('#') {
            let comment = comment.trim();
            if comment == "reset" {
                (only, resp, reset) = (Only::Any, 2, true);
            } else if let Some(value) = comment.strip_prefix("only:") {
                only = parse_only(value.trim()).map_err(at)?;
            } else if let Some(value) = comment.strip_prefix("resp:") {
                resp = match value.trim() {
                    "2" => 2,
                    "3" => 3,
                    other => return Err(at(format!("`resp:` is 2 or 3, not {other:?}"))),
                };
            }
        } else if let Some(step) = steps.last_mut() {
            if step.expected.last().is_some_and(|line| line == "...") && !line.trim().is_empty() {
                return Err(at("`...` stands for the rest of a reply; nothing may follow".into()));
            }
            step.expected.push(line.to_owned());
        } else if !line.trim().is_empty() {
            return Err(at("a reply before the first command".into()));
        }
    }
    finish(steps.last_mut())?;
    if steps.is_empty() {
        return Err(ParseError { line: last, message: "a transcript without commands".into() });
    }
    Ok(steps)
}

/// Drops the blank lines after a reply, and insists on there being one.
fn finish(step: Option<&mut Step>) -> Result<(), ParseError> {
    let Some(step) = step else { return Ok(()) };
    while step.expected.last().is_some_and(|line| line.trim().is_empty()) {
        step.expected.pop();
    }
    if step.expected.is_empty() {
        let message = "no reply is given; write `...` if any will do".into();
        return Err(ParseError { line: step.line, message });
    }
    Ok(())
}

fn parse_only(value: &str) -> Result<Only, String> {
    if value == "apus" {
        return Ok(Only::Apus);
    }
    match value.strip_prefix("redis").map(str::trim_start) {
        Some("") => Ok(Only::Redis),
        Some(rest) if rest.starts_with(">=") => rest[2..].parse().map(Only::AtLeast),
        Some(rest) if rest.starts_with('<') => rest[1..].parse().map(Only::Below),
        _ => Err(format!("`only:` is apus, redis, redis>=VERSION or redis<VERSION, not {value:?}")),
    }
}

/// Splits a line into arguments as `redis-cli` and inline commands do: blanks separate,
/// `"…"` knows `\n \r \t \b \a \xHH`, `'…'` knows `\'` alone. `None` for unbalanced
/// quotes, and for a closing quote that is not followed by a blank.
pub fn split_args(line: &str) -> Option<Vec<Vec<u8>>> {
    // A C string ends at its NUL, and so do the lines this imitates.
    let line = line.split('\0').next().unwrap_or("").as_bytes();
    let is_blank = |b: u8| b.is_ascii_whitespace() || b == 0x0b;
    let mut args = Vec::new();
    let mut i = 0;
    loop {
        while i < line.len() && is_blank(line[i]) {
            i += 1;
        }
        if i == line.len() {
            return Some(args);
        }
        let mut arg = Vec::new();
        while i < line.len() && !is_blank(line[i]) {
            let quote = line[i];
            i += 1;
            if quote != b'"' && quote != b'\'' {
                arg.push(quote);
                continue;
            }
            i = quoted(line, i, quote, &mut arg)?;
            if line.get(i).is_some_and(|&b| !is_blank(b)) {
                return None;
            }
        }
        args.push(arg);
    }
}

/// Reads from after an opening `quote` to after the closing one.
fn quoted(line: &[u8], mut i: usize, quote: u8, arg: &mut Vec<u8>) -> Option<usize> {
    loop {
        let byte = *line.get(i)?;
        i += 1;
        if byte == quote {
            return Some(i);
        }
        let next = line.get(i).copied();
        match (byte, next) {
            (b'\\', Some(b'x')) if quote == b'"' && hex(line, i + 1).is_some() => {
                arg.push(hex(line, i + 1)?);
                i += 3;
            }
            (b'\\', Some(next)) if quote == b'"' => {
                arg.push(match next {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => other,
                });
                i += 1;
            }
            (b'\\', Some(b'\'')) if quote == b'\'' => {
                arg.push(b'\'');
                i += 1;
            }
            _ => arg.push(byte),
        }
    }
}

fn hex(line: &[u8], at: usize) -> Option<u8> {
    let digit = |i: usize| char::from(*line.get(i)?).to_digit(16);
    u8::try_from(digit(at)? * 16 + digit(at + 1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Only, Target, Version, parse, split_args};

    fn words(line: &str) -> Option<Vec<String>> {
        let args = split_args(line)?;
        Some(args.iter().map(|arg| arg.escape_ascii().to_string()).collect())
    }

    #[test]
    fn quoting() {
        let cases = [
            ("", Some(vec![])),
            ("  a  b ", Some(vec!["a", "b"])),
            (r#"SET k "v \x00\xFF\n\"\q""#, Some(vec!["SET", "k", r#"v \x00\xff\n\"q"#])),
            (r#"'it\'s' "" ''"#, Some(vec![r"it\'s", "", ""])),
            (r#"'\n'"#, Some(vec![r"\\n"])),
            (r#""\xg1""#, Some(vec!["xg1"])),
            (r#"pre"fix""#, Some(vec!["prefix"])),
            (r#""a"b"#, None),
            (r#""a"#, None),
            (r#"'a"#, None),
            (r#""a\"#, None),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|words| words.into_iter().map(String::from).collect());
            assert_eq!(words(line), expected, "{line}");
        }
    }

    #[test]
    fn steps_directives_and_indentation() {
        let text = "
            # a comment
            > SET a 1
            OK

            # only: redis>=7.4
            # resp: 3
            > HELLO
            1# a =>
               1) x
            # reset
            > PING
            ~ PO*
        ";
        let steps = parse(text).expect("parses");
        assert_eq!(steps.len(), 3);
        assert_eq!((steps[0].line, &steps[0].source[..]), (3, "SET a 1"));
        assert_eq!(steps[0].expected, ["OK"]);
        assert_eq!((steps[0].only, steps[0].resp, steps[0].reset), (Only::Any, 2, false));
        assert_eq!(steps[1].only, Only::AtLeast(Version(7, 4, 0)));
        assert_eq!(steps[1].resp, 3);
        assert_eq!(steps[1].expected, ["1# a =>", "   1) x"]);
        assert_eq!((steps[2].only, steps[2].resp, steps[2].reset), (Only::Any, 2, true));
    }

    #[test]
    fn what_would_check_nothing_is_refused() {
        for (text, line, word) in [
            ("", 0, "without commands"),
            ("# only a comment", 1, "without commands"),
            ("OK\n> PING\nPONG", 1, "before the first"),
            ("> PING\n\n> PING\nPONG", 1, "no reply"),
            ("> SET \"a\nOK", 1, "unbalanced"),
            (">  \nOK", 1, "missing"),
            ("> PING\n...\nPONG", 3, "nothing may follow"),
            ("# only: valkey\n> PING\nPONG", 1, "only:"),
            ("# only: redis>=x\n> PING\nPONG", 1, "version"),
            ("# resp: 4\n> PING\nPONG", 1, "resp:"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.message.contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn where_a_step_is_replayed() {
        let apus = Target::Apus;
        let debian = Target::Redis(Version(7, 0, 15));
        for (only, on_apus, on_debian) in [
            (Only::Any, true, true),
            (Only::Apus, true, false),
            (Only::Redis, false, true),
            (Only::AtLeast(Version(7, 4, 0)), true, false),
            (Only::AtLeast(Version(7, 0, 0)), true, true),
            (Only::AtLeast(Version(8, 10, 0)), true, false),
            (Only::Below(Version(7, 4, 0)), false, true),
        ] {
            assert_eq!(only.includes(apus), on_apus, "{only:?}");
            assert_eq!(only.includes(debian), on_debian, "{only:?}");
        }
    }
}
