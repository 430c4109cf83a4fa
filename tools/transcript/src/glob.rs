//! Glob matching for expected lines whose value varies.

/// Whether `text` matches `pattern`, in which `*` stands for any run of characters and
/// `?` for exactly one. Everything else stands for itself: replies are full of brackets
/// and backslashes, so neither has a meaning here.
pub fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to resume when a guess about the last `*` turns out too short.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                retry = Some((p, t));
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    p = after_star;
                    t = from + 1;
                    retry = Some((after_star, t));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn star_and_question_mark() {
        assert!(glob("", ""));
        assert!(glob("*", ""));
        assert!(glob("(integer) *", "(integer) 12"));
        assert!(glob("a?c", "abc"));
        assert!(glob("*b*d", "abcbd"));
        assert!(glob("[\\*]", "[\\x]"), "brackets and backslashes are literal");
        assert!(!glob("", "a"));
        assert!(!glob("a?c", "ac"));
        assert!(!glob("*b", "abc"));
        assert!(!glob("(integer) 1?", "(integer) 1"));
    }

    #[test]
    fn many_stars_stay_linear_enough() {
        let text = "a".repeat(2_000);
        let pattern = "a*".repeat(50) + "b";
        assert!(!glob(&pattern, &text));
    }
}
