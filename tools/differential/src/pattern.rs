//! Patterns of commands, and their expansion.
//!
//! | written | stands for |
//! |---|---|
//! | `WORD` | itself |
//! | `$name` | a value, see `values` |
//! | `[ … ]` | nothing, or what is inside |
//! | `( a \| b )` | one of them |
//! | `< a \| b >` | some of them, in any order |
//! | `{ … }` | what is inside, one to four times |
//! | `#{ … }` | how often, and then what is inside as often |

use crate::{Args, values};
use stdx::rng::Rng;

/// Most repetitions of `{ … }`.
const REPEAT_MAX: u64 = 4;

/// A part of a parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Word(String),
    Value(String),
    Sequence(Vec<Syntax>),
    Optional(Box<Syntax>),
    OneOf(Vec<Syntax>),
    SomeOf(Vec<Syntax>),
    Repeat(Box<Syntax>),
    Counted(Box<Syntax>),
}

/// Reads a pattern; the message says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Syntax, String> {
    let mut spaced = String::new();
    for c in text.chars() {
        // `#{` stays together.
        match c {
            '{' if spaced.ends_with('#') => spaced.push_str("{ "),
            '[' | ']' | '(' | ')' | '<' | '>' | '|' | '{' | '}' => {
                spaced.extend([' ', c, ' ']);
            }
            c => spaced.push(c),
        }
    }
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = words.iter().copied();
    let (parts, end) = alternatives(&mut at)?;
    match (end, <[Syntax; 1]>::try_from(parts)) {
        (None, Ok([part])) => Ok(part),
        _ => Err(format!("{text:?}: brackets do not match")),
    }
}

/// What stands between two brackets, cut at its bars, and the word that ended it.
fn alternatives<'a>(
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<(Vec<Syntax>, Option<&'a str>), String> {
    let mut done = Vec::new();
    let mut current = Vec::new();
    while let Some(word) = words.next() {
        let (close, wrap): (_, fn(Vec<Syntax>) -> Syntax) = match word {
            "|" => {
                done.push(Syntax::Sequence(std::mem::take(&mut current)));
                continue;
            }
            "]" | ")" | ">" | "}" => {
                done.push(Syntax::Sequence(current));
                return Ok((done, Some(word)));
            }
            "[" => ("]", |parts| Syntax::Optional(Box::new(Syntax::OneOf(parts)))),
            "(" => (")", Syntax::OneOf),
            "<" => (">", Syntax::SomeOf),
            "{" => ("}", |parts| Syntax::Repeat(Box::new(Syntax::OneOf(parts)))),
            "#{" => ("}", |parts| Syntax::Counted(Box::new(Syntax::OneOf(parts)))),
            _ => {
                current.push(match word.strip_prefix('$') {
                    Some(name) if values::is_known(name) => Syntax::Value(name.to_owned()),
                    Some(name) => return Err(format!("${name} is no value")),
                    None => Syntax::Word(word.to_owned()),
                });
                continue;
            }
        };
        let (parts, end) = alternatives(words)?;
        if end != Some(close) {
            return Err(format!("{word} is not followed by its {close}"));
        }
        current.push(wrap(parts));
    }
    done.push(Syntax::Sequence(current));
    Ok((done, None))
}

/// Appends one of the commands that `part` stands for.
pub(crate) fn expand(part: &Syntax, rng: &mut Rng, out: &mut Args) {
    match part {
        Syntax::Word(word) => out.push(word.clone().into_bytes()),
        Syntax::Value(name) => out.push(values::draw(name, rng)),
        Syntax::Sequence(parts) => parts.iter().for_each(|part| expand(part, rng, out)),
        Syntax::Optional(part) => {
            if rng.below(2) == 0 {
                expand(part, rng, out);
            }
        }
        Syntax::OneOf(parts) => {
            if let Some(part) = parts.get(rng.index(parts.len())) {
                expand(part, rng, out);
            }
        }
        Syntax::SomeOf(parts) => {
            let mut left: Vec<&Syntax> = parts.iter().collect();
            // Mostly few: many options at once rarely get past the checks.
            while !left.is_empty() && rng.below(5) < 2 {
                let part = left.swap_remove(rng.index(left.len()));
                expand(part, rng, out);
            }
        }
        Syntax::Repeat(part) => {
            for _ in 0..=rng.below(REPEAT_MAX) {
                expand(part, rng, out);
            }
        }
        Syntax::Counted(part) => {
            let count = rng.below(REPEAT_MAX) + 1;
            out.push(count.to_string().into_bytes());
            for _ in 0..count {
                expand(part, rng, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{expand, parse};
    use std::collections::BTreeSet;
    use stdx::rng::Rng;

    fn all(pattern: &str) -> BTreeSet<String> {
        let part = parse(pattern).expect("a pattern");
        let mut rng = Rng::from_seed(1);
        let mut seen = BTreeSet::new();
        for _ in 0..2_000 {
            let mut args = Vec::new();
            expand(&part, &mut rng, &mut args);
            seen.insert(String::from_utf8(args.join(&b' ')).expect("text"));
        }
        seen
    }

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| text.to_string()).collect()
    }

    #[test]
    fn every_form() {
        assert_eq!(all("A [B] (C|D)"), set(&["A C", "A D", "A B C", "A B D"]));
        assert_eq!(all("A <B 1|C>"), set(&["A", "A B 1", "A C", "A B 1 C", "A C B 1"]));
        assert_eq!(all("{A}"), set(&["A", "A A", "A A A", "A A A A"]));
        assert_eq!(all("#{A}"), set(&["1 A", "2 A A", "3 A A A", "4 A A A A"]));
    }

    #[test]
    fn mistakes_are_named() {
        for pattern in ["A [B", "A B]", "(A]", "A|B", "$nothing"] {
            assert!(parse(pattern).is_err(), "{pattern}");
        }
    }
}
