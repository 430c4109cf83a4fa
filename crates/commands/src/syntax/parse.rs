//! Reads a syntax line into nodes: words, tokens and bracketed groups. What
//! they mean is [`super`]'s business.

/// A piece of a syntax line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// `EX`, `*`, `"any text"`: to be written as it is.
    Token(String),
    /// `seconds`, `offset:integer`: an argument.
    Word(String),
    /// `[a | b]`; each alternative is a sequence.
    Optional(Vec<Vec<Node>>),
    /// `<a | b>`.
    Choice(Vec<Vec<Node>>),
    /// `[a b ...]`: what precedes it, again.
    Repeat(Vec<Vec<Node>>),
}

/// Reads the whole of `line`.
///
/// # Errors
/// Brackets that do not match, an empty group or alternative, `...` elsewhere
/// than before `]`.
pub(super) fn parse(line: &str) -> Result<Vec<Node>, String> {
    let pieces = split(line)?;
    let mut rest = pieces.as_slice();
    let group = group(&mut rest, None)?;
    let Group { mut alternatives, repeat: false } = group else {
        return Err("`...` outside of brackets".into());
    };
    match (alternatives.pop(), alternatives.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err("`|` outside of brackets".into()),
    }
}

struct Group {
    alternatives: Vec<Vec<Node>>,
    repeat: bool,
}

/// Reads alternatives up to `close` (none: up to the end).
fn group(rest: &mut &[String], close: Option<&str>) -> Result<Group, String> {
    let mut alternatives = vec![Vec::new()];
    let mut repeat = false;
    loop {
        let Some((piece, others)) = rest.split_first() else {
            return match close {
                Some(close) => Err(format!("`{close}` is missing")),
                None => Ok(Group { alternatives, repeat }),
            };
        };
        *rest = others;
        if repeat && Some(piece.as_str()) != close {
            return Err(format!("`...` is followed by `{piece}`"));
        }
        let node = match piece.as_str() {
            "[" => {
                let inner = group(rest, Some("]"))?;
                let make = if inner.repeat { Node::Repeat } else { Node::Optional };
                make(inner.alternatives)
            }
            "<" => {
                let inner = group(rest, Some(">"))?;
                if inner.repeat {
                    return Err("`...` within `<>`".into());
                }
                Node::Choice(inner.alternatives)
            }
            "]" | ">" if Some(piece.as_str()) == close => {
                return if alternatives.iter().any(Vec::is_empty) {
                    Err("an empty alternative".into())
                } else {
                    Ok(Group { alternatives, repeat })
                };
            }
            "]" | ">" => return Err(format!("`{piece}` closes nothing")),
            "|" => {
                alternatives.push(Vec::new());
                continue;
            }
            "..." => {
                repeat = true;
                continue;
            }
            text => leaf(text),
        };
        if let Some(sequence) = alternatives.last_mut() {
            sequence.push(node);
        }
    }
}

fn leaf(text: &str) -> Node {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        // An empty string is shown with its quotes, as Redis does for MIGRATE.
        Some("") => Node::Token("\"\"".into()),
        Some(literal) => Node::Token(literal.into()),
        None if text.bytes().any(|byte| byte.is_ascii_lowercase()) => Node::Word(text.into()),
        None => Node::Token(text.into()),
    }
}

/// Cuts a line into brackets, bars and words.
fn split(line: &str) -> Result<Vec<String>, String> {
    let mut pieces = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(first) = chars.next() {
        match first {
            ' ' => {}
            '[' | ']' | '<' | '>' | '|' => pieces.push(first.to_string()),
            '"' => {
                let mut literal = String::from(first);
                loop {
                    let next = chars.next().ok_or("a quote is not closed")?;
                    literal.push(next);
                    if next == '"' {
                        break;
                    }
                }
                pieces.push(literal);
            }
            _ => {
                let mut word = String::from(first);
                while let Some(next) = chars.next_if(|next| !" []<>|\"".contains(*next)) {
                    word.push(next);
                }
                pieces.push(word);
            }
        }
    }
    Ok(pieces)
}
