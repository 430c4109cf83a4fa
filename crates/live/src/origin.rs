//! Origins that browsers may come from: patterns as in Centrifugo's `allowed_origins`.
//!
//! `*` is any text, `?` a character, `[a-z]` and `[!a-z]` characters of a set, `{a,b}` one of several, and `\` takes
//! the meaning from what follows. A request without an origin is no browser's, and is let in.

use std::fmt;

/// The patterns, compiled.
#[derive(Clone, Default)]
pub struct Origins {
    sources: Vec<String>,
    regex: Option<regex::Regex>,
}

impl Origins {
    /// Compiles patterns.
    ///
    /// # Errors
    /// A text: which is no pattern, and why.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        for pattern in patterns {
            let text =
                translate(pattern).map_err(|why| format!("{pattern:?} is no pattern: {why}"))?;
            regex::Regex::new(&text).map_err(|_| format!("{pattern:?} is no pattern"))?;
            alternatives.push(text);
        }
        let regex = (!alternatives.is_empty())
            .then(|| regex::RegexBuilder::new(&format!("^(?:{})$", alternatives.join("|"))))
            .map(|mut builder| builder.dot_matches_new_line(true).size_limit(1 << 20).build())
            .transpose()
            .map_err(|_| "the patterns are too large".to_owned())?;
        Ok(Self { sources: patterns.to_vec(), regex })
    }

    /// Whether a request with this header `Origin` may connect.
    #[must_use]
    pub fn allows(&self, origin: Option<&str>) -> bool {
        match (origin, &self.regex) {
            (None | Some(""), _) => true,
            (Some(_), None) => false,
            (Some(origin), Some(regex)) => regex.is_match(&origin.to_lowercase()),
        }
    }

    /// Whether every origin is let in.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.sources.iter().any(|pattern| pattern == "*")
    }

    /// A pattern that no browser's origin matches, if there is one: an origin begins with a scheme (`https://example.com`) or is
    /// `null`.
    #[must_use]
    pub fn without_scheme(&self) -> Option<&str> {
        let is_futile = |p: &&String| !p.contains("://") && !p.contains('*') && *p != "null";
        self.sources.iter().find(is_futile).map(String::as_str)
    }
}

impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Origins").field(&self.sources).finish()
    }
}

/// A pattern in the syntax of `regex`.
fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut text = String::new();
    let mut depth = 0_usize;
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' => text.push_str(".*"),
            '?' => text.push('.'),
            '{' => {
                depth += 1;
                text.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                text.push(')');
            }
            ',' if depth > 0 => text.push('|'),
            '[' => {
                let (set, rest) =
                    chars.as_str().split_once(']').ok_or("a bracket is not closed")?;
                let (negated, set) = set.strip_prefix('!').map_or(("", set), |set| ("^", set));
                text.push_str(&format!("[{negated}{}]", escape_set(set)));
                chars = rest.chars();
            }
            '\\' => text.push_str(&regex::escape(
                chars.next().ok_or("nothing follows the backslash")?.encode_utf8(&mut [0; 4]),
            )),
            other => text.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    if depth > 0 { Err("a brace is not closed") } else { Ok(text) }
}

/// The members of a set: ranges keep their hyphen.
fn escape_set(set: &str) -> String {
    let escape = |char: char| match char {
        '-' => "-".to_owned(),
        other if other.is_ascii_alphanumeric() => other.to_string(),
        other => format!(r"\x{{{:x}}}", u32::from(other)),
    };
    set.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::Origins;

    fn allows(pattern: &str, origin: &str) -> bool {
        Origins::new(&[pattern.to_owned()]).expect("a pattern").allows(Some(origin))
    }

    #[test]
    fn origins_match_whole_and_without_case() {
        for (pattern, origin, is_allowed) in [
            ("https://example.com", "https://example.com", true),
            ("https://example.com", "HTTPS://EXAMPLE.COM", true),
            ("https://example.com", "https://example.com.evil.org", false),
            ("https://example.com", "https://examplexcom", false),
            ("https://*.example.com", "https://a.b.example.com", true),
            ("https://*.example.com", "https://example.com", false),
            ("http{,s}://example.com", "https://example.com", true),
            ("http{,s}://example.com", "http://example.com", true),
            ("http{,s}://example.com", "httpx://example.com", false),
            ("http://localhost:300?", "http://localhost:3001", true),
            ("http://localhost:300[12]", "http://localhost:3002", true),
            ("http://localhost:300[!12]", "http://localhost:3002", false),
            ("*", "null", true),
        ] {
            assert_eq!(allows(pattern, origin), is_allowed, "{pattern} {origin}");
        }
    }

    #[test]
    fn without_patterns_only_what_has_no_origin_is_let_in() {
        let none = Origins::new(&[]).expect("no patterns");
        assert!(none.allows(None) && none.allows(Some("")));
        assert!(!none.allows(Some("https://example.com")));
        assert!(Origins::new(&["*".into()]).expect("a pattern").allows_all());
    }

    #[test]
    fn a_pattern_without_a_scheme_is_found() {
        let futile = |pattern: &str| {
            let patterns = ["https://example.com".to_owned(), pattern.to_owned()];
            Origins::new(&patterns).expect("patterns").without_scheme().is_some()
        };
        for pattern in ["example.com", "localhost:3000", "{a,b}.example.com", ""] {
            assert!(futile(pattern), "{pattern}");
        }
        for pattern in ["*", "*.example.com", "http{,s}://a", "null", "capacitor://localhost"] {
            assert!(!futile(pattern), "{pattern}");
        }
    }

    #[test]
    fn broken_patterns_are_refused() {
        for pattern in ["{a", "[a", "a\\", "[z-a]"] {
            assert!(Origins::new(&[pattern.into()]).is_err(), "{pattern}");
        }
    }
}
