//! Patterns in Go's syntax: what configurations of Centrifugo are written in.
//!
//! The crate `regex` matches in linear time as Go's package does, and reads nearly the same syntax. Where the same
//! text means another thing there, it is rewritten here, so that no name is let in which Go would keep out:
//!
//! | text | Go | `regex` |
//! |---|---|---|
//! | `\d` `\w` `\s` `\b` | ASCII | Unicode |
//! | `\Q…\E` | the text itself | unknown |
//! | `[a&&b]`, `[a[b]`, `[a--b]` | characters | sets of sets |

use std::fmt;

/// A pattern, compiled.
#[derive(Clone)]
pub struct Pattern {
    source: String,
    regex: regex::Regex,
}

/// Most bytes that a compiled pattern takes: a configuration's typing error must not take the memory.
const SIZE_MAX: usize = 1 << 20;

impl Pattern {
    /// Compiles a pattern in Go's syntax.
    ///
    /// # Errors
    /// A text: why it is no pattern.
    pub fn new(source: &str) -> Result<Self, String> {
        let regex = regex::RegexBuilder::new(&translate(source))
            .size_limit(SIZE_MAX)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
                error => last_line(&error.to_string()),
            })?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// Whether the pattern is found anywhere in `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The values of the groups with names, if the pattern is found in `text`.
    #[must_use]
    pub fn groups(&self, text: &str) -> Option<Vec<(String, String)>> {
        let found = self.regex.captures(text)?;
        let named = self.regex.capture_names().flatten();
        let value = |name: &str| found.name(name).map_or("", |group| group.as_str()).to_owned();
        Some(named.map(|name| (name.to_owned(), value(name))).collect())
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}

/// The last line of an error of the parser is what is wrong; the others draw it.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The pattern in the syntax of `regex`.
pub(crate) fn translate(source: &str) -> String {
    let mut text = String::with_capacity(source.len() + 8);
    let mut rest = source;
    let mut in_class = false;
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        match first {
            '\\' if rest.starts_with("\\Q") => {
                let quoted = &rest[2..];
                let end = quoted.find("\\E");
                text.push_str(&regex::escape(&quoted[..end.unwrap_or(quoted.len())]));
                taken = end.map_or(rest.len(), |end| end + 4);
            }
            '\\' => {
                let escape = rest[1..].chars().next();
                taken += escape.map_or(0, char::len_utf8);
                text.push_str(ascii_class(escape, in_class).unwrap_or(&rest[..taken]));
            }
            '[' if !in_class => {
                in_class = true;
                let opening = opening(rest);
                text.push('[');
                text.push_str(if opening.starts_with("[^") { "^" } else { "" });
                // A bracket first in a class is a member of it.
                text.push_str(if opening.ends_with(']') { r"\]" } else { "" });
                taken = opening.len();
            }
            '[' => match rest.starts_with("[:").then(|| rest.find(":]")).flatten() {
                Some(end) => {
                    taken = end + 2;
                    text.push_str(&rest[..taken]);
                }
                None => text.push_str(r"\["),
            },
            ']' if in_class => {
                in_class = false;
                text.push(']');
            }
            '&' | '~' if in_class => {
                text.push('\\');
                text.push(first);
            }
            '-' if in_class && rest.starts_with("--") => text.push_str(r"\-"),
            other => text.push(other),
        }
        rest = &rest[taken..];
    }
    text
}

/// How a class begins: `[`, `[^`, `[]` or `[^]`.
fn opening(rest: &str) -> &str {
    let end = 1 + usize::from(rest[1..].starts_with('^'));
    &rest[..end + usize::from(rest[end..].starts_with(']'))]
}

/// What Go means by an escape that stands for ASCII alone.
fn ascii_class(escape: Option<char>, in_class: bool) -> Option<&'static str> {
    Some(match (escape?, in_class) {
        ('d', false) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', false) => r"[\t\n\f\r ]",
        ('S', _) => r"[^\t\n\f\r ]",
        ('d', true) => "0-9",
        ('w', true) => "0-9A-Za-z_",
        ('s', true) => r"\t\n\f\r ",
        ('b', false) => r"(?-u:\b)",
        ('B', false) => r"(?-u:\B)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).expect("a pattern").matches(text)
    }

    #[test]
    fn classes_are_ascii_as_in_go() {
        assert!(matches(r"^\w+$", "room_1"));
        assert!(!matches(r"^\w+$", "raum_ä"));
        assert!(!matches(r"^\d$", "٣"));
        assert!(matches(r"^[\w-]+$", "a-b"));
        assert!(!matches(r"^[\w-]+$", "a-ä"));
        assert!(matches(r"^\W$", "ä"));
        assert!(matches(r"^[\Wa]+$", "äa"));
        assert!(!matches(r"^\s$", "\u{a0}"));
        assert!(matches(r"a\b", "aä"), "a letter outside ASCII is no part of a word");
    }

    #[test]
    fn brackets_within_a_class_are_characters() {
        assert!(matches(r"^[a&&b]+$", "a&b"));
        assert!(matches(r"^[a[]+$", "a["));
        assert!(matches(r"^[]a]+$", "]a"));
        assert!(matches(r"^[^]a]+$", "b"));
        assert!(!matches(r"^[^]a]+$", "]"));
        assert!(matches(r"^[[:alpha:]]+$", "ab"));
        assert!(matches(r"^[a~~b]+$", "~"));
    }

    #[test]
    fn quoted_text_is_itself() {
        assert!(matches(r"^\Qa.b\E$", "a.b"));
        assert!(!matches(r"^\Qa.b\E$", "axb"));
        assert!(matches(r"\Qa.b", "xa.b"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert!(Pattern::new("(").is_err());
        assert!(Pattern::new("[a").is_err());
        assert!(Pattern::new(r"(?=a)").unwrap_err().contains("look-around"));
        assert_eq!(Pattern::new("(a{1000}){1000}").unwrap_err(), "the pattern is too large");
        assert!(Pattern::new("\\").is_err());
        assert!(Pattern::new("[").is_err());
    }

    #[test]
    fn groups_have_their_values() {
        let pattern = Pattern::new("^https://(?P<tenant>acme|globex)(x)?$").expect("a pattern");
        assert_eq!(pattern.groups("https://acme"), Some(vec![("tenant".into(), "acme".into())]));
        assert_eq!(pattern.groups("https://other"), None);
    }
}
