//! The pattern of KEYS and SCAN, sorted into the cases that need no matcher.

use stdx::glob;

/// A glob pattern by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern<'a> {
    /// `*`: everything, even the empty key, which the matcher itself refuses (as Redis's does).
    All,
    /// No special character: one text.
    Exact(&'a [u8]),
    /// `text*`: all keys with this prefix.
    Prefix(&'a [u8]),
    /// Anything else, with the prefix of every match.
    Glob(&'a [u8], &'a [u8]),
}

impl<'a> Pattern<'a> {
    pub(crate) fn new(pattern: &'a [u8]) -> Self {
        let prefix = glob::literal_prefix(pattern);
        match &pattern[prefix.len()..] {
            b"" => Self::Exact(prefix),
            b"*" if prefix.is_empty() => Self::All,
            b"*" => Self::Prefix(prefix),
            _ => Self::Glob(prefix, pattern),
        }
    }

    pub(crate) fn fits(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Exact(text) => key == *text,
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Glob(prefix, pattern) => {
                key.starts_with(prefix) && glob::matches(pattern, key, false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (pattern, shape) in [
            ("*", Pattern::All),
            ("", Pattern::Exact(b"")),
            ("abc", Pattern::Exact(b"abc")),
            ("abc*", Pattern::Prefix(b"abc")),
            ("**", Pattern::Glob(b"", b"**")),
            ("ab?*", Pattern::Glob(b"ab", b"ab?*")),
            (r"ab\*", Pattern::Glob(b"ab", br"ab\*")),
            ("[a]*", Pattern::Glob(b"", b"[a]*")),
        ] {
            assert_eq!(Pattern::new(pattern.as_bytes()), shape, "{pattern}");
        }
    }

    #[test]
    fn every_shape_agrees_with_the_matcher() {
        let texts = ["a", "ab", "abc", "abcd", "xabc", "ab*", "ABC"];
        for pattern in ["*", "", "abc", "ab*", "**", "ab?*", r"ab\*", "[a]*", "?"] {
            for text in texts {
                let (p, t) = (pattern.as_bytes(), text.as_bytes());
                assert_eq!(Pattern::new(p).fits(t), glob::matches(p, t, false), "{pattern} {text}");
            }
        }
        assert!(Pattern::new(b"*").fits(b"") && Pattern::new(b"").fits(b""));
        assert!(!Pattern::new(b"**").fits(b""));
    }
}
