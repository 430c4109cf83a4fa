//! A template's text as tokens.

use std::borrow::Cow;

use crate::error::{Error, Kind, Place, Result};

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'s> {
    /// Text between tags.
    Data(&'s str),
    /// `{{`
    VarStart,
    /// `}}`
    VarEnd,
    /// `{%`
    BlockStart,
    /// `%}`
    BlockEnd,
    /// A name or a keyword.
    Ident(&'s str),
    /// A text in quotes.
    Str(Cow<'s, str>),
    /// An integer.
    Int(i128),
    /// A number with a fraction.
    Float(f64),
    /// Operators and brackets.
    Op(&'static str),
    /// Nothing follows.
    End,
}

impl Token<'_> {
    /// How it is named in errors.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Data(_) => "text".to_owned(),
            Self::VarStart => "`{{`".to_owned(),
            Self::VarEnd => "`}}`".to_owned(),
            Self::BlockStart => "`{%`".to_owned(),
            Self::BlockEnd => "`%}`".to_owned(),
            Self::Ident(name) => format!("`{name}`"),
            Self::Str(_) => "a string".to_owned(),
            Self::Int(_) | Self::Float(_) => "a number".to_owned(),
            Self::Op(op) => format!("`{op}`"),
            Self::End => "the end of the template".to_owned(),
        }
    }
}

/// Operators, the longer ones first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", ".", ",", ":", "~", "|", "=", ">",
    "<", "(", ")", "[", "]", "{", "}", "",
];

struct Lexer<'s> {
    name: &'s str,
    /// The text without its last line end.
    source: &'s str,
    at: usize,
    tokens: Vec<(Token<'s>, usize)>,
    /// White space up to the next text is left out.
    trim: bool,
}

/// Tokens with the bytes at which they begin; the last one is the end.
pub(crate) fn tokens<'s>(name: &'s str, source: &'s str) -> Result<Vec<(Token<'s>, usize)>> {
    let cut = source.strip_suffix('\n').unwrap_or(source);
    let cut = cut.strip_suffix('\r').unwrap_or(cut);
    let mut lexer = Lexer { name, source: cut, at: 0, tokens: Vec::new(), trim: false };
    while lexer.at < lexer.source.len() {
        lexer.root()?;
    }
    lexer.tokens.push((Token::End, lexer.at));
    Ok(lexer.tokens)
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn push(&mut self, token: Token<'s>, len: usize) {
        self.tokens.push((token, self.at));
        self.at += len;
    }

    fn error(&self, at: usize, text: &str) -> Error {
        Error::new(Kind::Syntax, text).at(|| Place::of(self.name, self.source, at))
    }

    /// Text up to the next tag, and the tag.
    fn root(&mut self) -> Result<()> {
        if std::mem::take(&mut self.trim) {
            self.at += self.rest().len() - self.rest().trim_start().len();
        }
        let rest = self.rest();
        let mut from = 0;
        let found = loop {
            let Some(at) = rest[from..].find('{').map(|at| from + at) else { break None };
            match rest.as_bytes().get(at + 1) {
                Some(kind @ (b'{' | b'%' | b'#')) => break Some((at, *kind)),
                _ => from = at + 1,
            }
        };
        let Some((at, kind)) = found else {
            if !rest.is_empty() {
                self.push(Token::Data(rest), rest.len());
            }
            return Ok(());
        };
        let sign = rest.as_bytes().get(at + 2).copied();
        let text = if sign == Some(b'-') { rest[..at].trim_end() } else { &rest[..at] };
        if !text.is_empty() {
            self.tokens.push((Token::Data(text), self.at));
        }
        self.at += at;
        let skip = if matches!(sign, Some(b'-' | b'+')) { 3 } else { 2 };
        match kind {
            b'#' => self.comment(skip),
            b'{' => {
                self.push(Token::VarStart, skip);
                self.inside("}}")
            }
            _ => match basic_tag(&self.rest()[skip..], "raw", false) {
                Some((len, sign)) => {
                    self.at += skip + len;
                    self.raw(sign == Some('-'))
                }
                None => {
                    self.push(Token::BlockStart, skip);
                    self.inside("%}")
                }
            },
        }
    }

    fn comment(&mut self, skip: usize) -> Result<()> {
        let rest = self.rest();
        let Some(end) = rest[skip..].find("#}") else {
            return Err(self.error(self.at, "the comment has no end"));
        };
        self.trim = rest.as_bytes().get((end + skip).saturating_sub(1)) == Some(&b'-') && end > 0;
        self.at += skip + end + 2;
        Ok(())
    }

    /// Text up to `{% endraw %}`.
    fn raw(&mut self, trim_start: bool) -> Result<()> {
        let rest = self.rest();
        let mut from = 0;
        while let Some(at) = rest[from..].find("{%").map(|at| from + at) {
            let inner = &rest[at + 2..];
            if let Some((len, sign)) = basic_tag(inner, "endraw", true) {
                let mut text = &rest[..at];
                if trim_start {
                    text = text.trim_start();
                }
                if inner.starts_with('-') {
                    text = text.trim_end();
                }
                self.tokens.push((Token::Data(text), self.at));
                self.trim = sign == Some('-');
                self.at += at + 2 + len;
                return Ok(());
            }
            from = at + 2;
        }
        Err(self.error(self.at, "the raw block has no end"))
    }

    /// Tokens up to the end of a tag.
    fn inside(&mut self, end: &str) -> Result<()> {
        let mut depth = 0i64;
        loop {
            let rest = self.rest();
            let blank = rest.bytes().take_while(u8::is_ascii_whitespace).count();
            self.at += blank;
            let rest = self.rest();
            let Some(first) = rest.bytes().next() else { return Ok(()) };
            if depth == 0 {
                let sign = matches!(first, b'-' | b'+') && rest[1..].starts_with(end);
                if sign || rest.starts_with(end) {
                    let token = if end == "}}" { Token::VarEnd } else { Token::BlockEnd };
                    self.trim = sign && first == b'-';
                    self.push(token, end.len() + usize::from(sign));
                    return Ok(());
                }
            }
            match first {
                b'\'' | b'"' => self.string(first)?,
                b'0'..=b'9' => self.number()?,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let len = identifier(rest);
                    self.push(Token::Ident(&rest[..len]), len);
                }
                _ => {
                    let op = OPERATORS.iter().find(|op| rest.starts_with(**op)).copied();
                    match op.unwrap_or_default() {
                        "" => return Err(self.error(self.at, "unexpected character")),
                        op => {
                            depth += i64::from(matches!(op, "(" | "[" | "{"));
                            depth -= i64::from(matches!(op, ")" | "]" | "}"));
                            self.push(Token::Op(op), op.len());
                        }
                    }
                }
            }
        }
    }

    fn string(&mut self, quote: u8) -> Result<()> {
        let rest = self.rest();
        let mut escaped = false;
        let mut escapes = false;
        let len = rest.bytes().skip(1).position(|byte| {
            let end = byte == quote && !escaped;
            escaped = byte == b'\\' && !escaped;
            escapes |= escaped;
            end
        });
        let Some(len) = len else { return Err(self.error(self.at, "the string has no end")) };
        let text = &rest[1..=len];
        let text = if escapes {
            let plain = crate::unescape::unescape(text);
            Cow::Owned(plain.ok_or_else(|| self.error(self.at, "bad escape in a string"))?)
        } else {
            Cow::Borrowed(text)
        };
        self.push(Token::Str(text), len + 2);
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        let rest = self.rest();
        let radix = match rest.as_bytes().get(1) {
            Some(b'b' | b'B') if rest.starts_with('0') => 2,
            Some(b'o' | b'O') if rest.starts_with('0') => 8,
            Some(b'x' | b'X') if rest.starts_with('0') => 16,
            _ => 10,
        };
        // Behind a point, it is the number of an item.
        let after_point = self.source[..self.at].ends_with('.');
        let skip = if radix == 10 { 0 } else { 2 };
        let (len, is_float) = number_len(&rest[skip..], radix, after_point);
        let digits = &rest[skip..skip + len];
        if digits.ends_with('_') {
            return Err(self.error(start, "'_' may not end a number"));
        }
        let digits = digits.replace('_', "");
        let token = if is_float {
            digits.parse().map(Token::Float).map_err(|_| self.error(start, "invalid float"))?
        } else {
            let int = i128::from_str_radix(&digits, radix);
            int.map(Token::Int).map_err(|_| self.error(start, "invalid integer"))?
        };
        self.push(token, skip + len);
        Ok(())
    }
}

/// How long a number is, and whether it has a fraction or an exponent.
fn number_len(rest: &str, radix: u32, after_point: bool) -> (usize, bool) {
    #[derive(PartialEq)]
    enum State {
        Int,
        Fraction,
        Exponent,
        Sign,
    }
    let bytes = rest.as_bytes();
    let mut state = State::Int;
    let mut len = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    while let Some(byte) = bytes.get(len) {
        state = match (byte, state) {
            (b'0'..=b'9', State::Exponent) => State::Sign,
            (b'0'..=b'9' | b'_', state) => state,
            (b'a'..=b'f' | b'A'..=b'F', State::Int) if radix == 16 => State::Int,
            (b'.', State::Int) if radix == 10 && !after_point => {
                let exponent = matches!(bytes.get(len + 1), Some(b'e' | b'E'))
                    && matches!(bytes.get(len + 2), Some(b'+' | b'-' | b'0'..=b'9'));
                if !exponent && identifier(&rest[len + 1..]) > 0 {
                    return (len, false);
                }
                State::Fraction
            }
            (b'e' | b'E', State::Int | State::Fraction) if radix == 10 => State::Exponent,
            (b'+' | b'-', State::Exponent) => State::Sign,
            (_, state) => return (len, state != State::Int),
        };
        len += 1;
    }
    (len, state != State::Int)
}

fn identifier(text: &str) -> usize {
    let part = |(i, b): &(usize, u8)| {
        *b == b'_' || b.is_ascii_alphabetic() || (*i > 0 && b.is_ascii_digit())
    };
    text.bytes().enumerate().take_while(part).count()
}

/// The length of what is left of a tag of one word, and the sign at its end.
fn basic_tag(text: &str, word: &str, sign_first: bool) -> Option<(usize, Option<char>)> {
    let blank = |c: char| c.is_ascii_whitespace();
    let mut rest = text;
    if sign_first {
        rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    }
    rest = rest.trim_start_matches(blank).strip_prefix(word)?.trim_start_matches(blank);
    let sign = rest.chars().next().filter(|c| matches!(c, '-' | '+'));
    if sign.is_some() {
        rest = &rest[1..];
    }
    rest = rest.strip_prefix("%}")?;
    Some((text.len() - rest.len(), sign))
}
