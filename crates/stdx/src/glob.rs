//! Redis's glob dialect, as KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET and ACL
//! key patterns use it.
//!
//! | pattern      | matches                                                      |
//! |--------------|--------------------------------------------------------------|
//! | `*`          | any bytes, also none (but see below)                         |
//! | `?`          | one byte                                                     |
//! | `[ab0-9]`    | one byte of the class; `[^…]` one byte outside it            |
//! | `\x`         | `x` itself; a last lone `\` is a backslash                   |
//!
//! The behaviour is that of `stringmatchlen` in Redis's util.c, its corners
//! included, because patterns live in configurations and ACL files:
//!
//! * An empty text is matched by the empty pattern only: `*` does **not** match
//!   it (commands that promise "all" test for the lone `*` themselves).
//! * A class that is never closed ends with the pattern.
//! * Range ends are compared as signed bytes, may be swapped, and are folded
//!   to lower case only after that swap; an escaped byte in a class is never
//!   folded.
//! * A pattern whose match would go through more than [`STARS_MAX`] stars
//!   fails.
//!
//! Redis recurses per star and stops trying longer matches for outer stars as
//! soon as an inner one has failed everywhere. That is the same as returning
//! to the *last* star only, which is what the loop below does: no recursion,
//! at most `pattern.len() * text.len()` steps.

/// Stars (runs of stars count once, a final one not) a match may pass through;
/// Redis's nesting limit.
pub const STARS_MAX: usize = 1000;

/// Does `text` match `pattern`? With `nocase`, ASCII letters of both cases are
/// equal.
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on after a mismatch: the element after the last star, and
    // the text position that star has stretched to.
    let mut retry: Option<(usize, usize)> = None;
    let mut stars = 0;

    loop {
        if t == text.len() {
            // Every element but a star takes a byte, and stretching a star
            // leaves even fewer, so there is nothing to go back for. A star
            // at the end may be empty, though not for an empty text.
            if !text.is_empty() {
                p += run_of_stars(&pattern[p..]);
            }
            return p == pattern.len();
        }
        if p < pattern.len() && pattern[p] == b'*' {
            p += run_of_stars(&pattern[p..]);
            if p == pattern.len() {
                return true;
            }
            stars += 1;
            if stars > STARS_MAX {
                return false;
            }
            retry = Some((p, t));
            continue;
        }
        let step = if p < pattern.len() { element(&pattern[p..], text[t], nocase) } else { None };
        match (step, &mut retry) {
            (Some(len), _) => {
                p += len;
                t += 1;
            }
            (None, Some((after_star, stretched))) => {
                *stretched += 1;
                (p, t) = (*after_star, *stretched);
            }
            (None, None) => return false,
        }
    }
}

/// The bytes every match of `pattern` starts with, as far as they are written
/// plainly (up to the first `*`, `?`, `[` or `\`). When it is as long as the
/// pattern, the pattern matches that one text only.
pub fn literal_prefix(pattern: &[u8]) -> &[u8] {
    let len = pattern.iter().position(|b| matches!(b, b'*' | b'?' | b'[' | b'\\'));
    &pattern[..len.unwrap_or(pattern.len())]
}

fn run_of_stars(pattern: &[u8]) -> usize {
    pattern.iter().take_while(|&&b| b == b'*').count()
}

/// Matches the one element (not a star) `pattern` starts with against `byte`;
/// its length in the pattern when it fits.
fn element(pattern: &[u8], byte: u8, nocase: bool) -> Option<usize> {
    match pattern[0] {
        b'?' => Some(1),
        b'[' => class(pattern, byte, nocase),
        b'\\' if pattern.len() >= 2 => same(pattern[1], byte, nocase).then_some(2),
        literal => same(literal, byte, nocase).then_some(1),
    }
}

fn class(pattern: &[u8], byte: u8, nocase: bool) -> Option<usize> {
    let mut at = 1;
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);

    let mut found = false;
    loop {
        match &pattern[at..] {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            [from, b'-', to, ..] => {
                found |= in_range(*from, *to, byte, nocase);
                at += 3;
            }
            [literal, ..] => {
                found |= same(*literal, byte, nocase);
                at += 1;
            }
        }
    }
    (found != negated).then_some(at)
}

fn in_range(from: u8, to: u8, byte: u8, nocase: bool) -> bool {
    let (mut low, mut high) = if (from as i8) <= (to as i8) { (from, to) } else { (to, from) };
    let mut byte = byte;
    if nocase {
        low = low.to_ascii_lowercase();
        high = high.to_ascii_lowercase();
        byte = byte.to_ascii_lowercase();
    }
    (low as i8..=high as i8).contains(&(byte as i8))
}

fn same(a: u8, b: u8, nocase: bool) -> bool {
    if nocase { a.eq_ignore_ascii_case(&b) } else { a == b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(pattern: &str, text: &str) -> bool {
        matches(pattern.as_bytes(), text.as_bytes(), false)
    }

    #[test]
    fn plain_and_wild() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", false),
            ("**", "", false),
            ("*", "a", true),
            ("a*", "a", true),
            ("a**", "a", true),
            ("a*?", "a", false),
            ("*a", "a", true),
            ("*a*", "xxaxx", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("foo*bar", "foobarbar", true),
            ("foo*bar", "foobarba", false),
            ("*\\*", "a*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("a\\", "a", false),
            ("\\", "\\", true),
        ] {
            assert_eq!(m(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn classes() {
        for (pattern, text, expected) in [
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hallo", true),
            ("h[a-b]llo", "hcllo", false),
            ("[a-", "a", true),
            ("[a-", "-", true),
            ("[a", "a", true),
            ("[a", "b", false),
            ("[", "[", false),
            ("[^", "x", true),
            ("[]", "]", false),
            ("[]", "a", false),
            ("[^]", "a", true),
            ("[\\]]", "]", true),
            ("[\\", "\\", true),
            ("[a-]x", "b", false), // the range runs up to ']', and swallows it
            ("[a-]x]", "`", true),
            ("[\\a-z]", "-", true),
            ("[\\a-z]", "m", false),
            ("[a-]", "]", true),
        ] {
            assert_eq!(m(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn case() {
        assert!(matches(b"MaxMem*", b"maxmemory", true));
        assert!(!matches(b"MaxMem*", b"maxmemory", false));
        assert!(matches(b"[A-C]", b"b", true));
        // Swapped ends are put in order before they are folded, not after.
        assert!(!matches(b"[Z-a]", b"m", true));
        assert!(!matches(b"[\\A]", b"a", true));
        assert!(matches(b"[A]", b"a", true));
    }

    #[test]
    fn range_ends_are_signed_bytes() {
        assert!(matches(b"[a-\xff]", b"\x01", false));
        assert!(!matches(b"[a-\xff]", b"z", false));
        assert!(matches(b"[\x80-\xff]", b"\x90", false));
    }

    #[test]
    fn hostile_patterns_are_cheap() {
        // unit/keyspace of the Redis suite: these took minutes once.
        let text = vec![b'a'; 50_000];
        assert!(!matches(b"a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", &text, false));
        let mut pattern = b"*?".repeat(50_000);
        pattern.push(b'b');
        assert!(!matches(&pattern, &text, false));
        let within = b"*a".repeat(STARS_MAX);
        assert!(matches(&within, &text, false));
        let beyond = b"*a".repeat(STARS_MAX + 1);
        assert!(!matches(&beyond, &text, false));
    }

    #[test]
    fn prefixes() {
        assert_eq!(literal_prefix(b"user:*"), b"user:");
        assert_eq!(literal_prefix(b"user"), b"user");
        assert_eq!(literal_prefix(b"[a]"), b"");
        assert_eq!(literal_prefix(b"a\\*b"), b"a");
    }

    /// Redis's recursive rule, spelled out: a star tries every rest of the
    /// text that is not empty.
    fn naive(p: &[u8], t: &[u8], nocase: bool) -> bool {
        if t.is_empty() {
            return p.is_empty();
        }
        if p.first() == Some(&b'*') {
            let rest = &p[run_of_stars(p)..];
            return rest.is_empty() || (0..t.len()).any(|skip| naive(rest, &t[skip..], nocase));
        }
        if p.is_empty() {
            return false;
        }
        match element(p, t[0], nocase) {
            Some(len) if t.len() == 1 => p[len..].iter().all(|&b| b == b'*'),
            Some(len) => naive(&p[len..], &t[1..], nocase),
            None => false,
        }
    }

    #[test]
    fn agrees_with_the_recursive_rule() {
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut hits = 0;
        for _ in 0..200_000 {
            let letters = b"aAb*?[]^-\\";
            let pattern: Vec<u8> =
                (0..below(9)).map(|_| letters[below(letters.len() as u64) as usize]).collect();
            let text: Vec<u8> = (0..below(8)).map(|_| b"aAb-]"[below(5) as usize]).collect();
            let nocase = below(2) == 0;
            let expected = naive(&pattern, &text, nocase);
            hits += u32::from(expected);
            assert_eq!(
                matches(&pattern, &text, nocase),
                expected,
                "{} on {}",
                pattern.escape_ascii(),
                text.escape_ascii()
            );
        }
        assert!(hits > 5_000, "the texts must match often enough to test anything: {hits}");
    }
}
