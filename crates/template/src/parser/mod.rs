//! Tokens as a tree: statements in [`stmt`], expressions in [`expr`].
//!
//! The parser calls itself for what is nested, [`DEPTH_MAX`] deep at most; all else are loops.

mod expr;
mod stmt;

use std::collections::HashSet;

use crate::ast::Body;
use crate::error::{Error, Kind, Place, Result};
use crate::lexer::{self, Token};

/// How often the parser calls itself: two for a bracket, one for a block.
const DEPTH_MAX: usize = 150;

/// Reads a template.
///
/// # Errors
/// It is none, with the place.
pub(crate) fn parse<'s>(name: &'s str, source: &'s str) -> Result<Body<'s>> {
    let tokens = lexer::tokens(name, source)?;
    let mut parser = Parser {
        name,
        source,
        tokens,
        at: 0,
        depth: 0,
        in_macro: false,
        in_loop: false,
        blocks: HashSet::new(),
    };
    let at = |parser: &Parser<'s>| parser.tokens[parser.at.min(parser.tokens.len() - 1)].1;
    let body = parser.body(&[]);
    body.map_err(|e| e.at(|| Place::of(name, source, at(&parser))))
}

struct Parser<'s> {
    name: &'s str,
    source: &'s str,
    tokens: Vec<(Token<'s>, usize)>,
    at: usize,
    depth: usize,
    in_macro: bool,
    in_loop: bool,
    blocks: HashSet<&'s str>,
}

fn bad(text: impl Into<String>) -> Error {
    Error::new(Kind::Syntax, text)
}

impl<'s> Parser<'s> {
    /// The present token.
    fn token(&self) -> &Token<'s> {
        &self.tokens[self.at].0
    }

    /// Where the present token is.
    fn place(&self) -> usize {
        self.tokens[self.at].1
    }

    /// Takes the present token; the end stays.
    fn next(&mut self) -> Token<'s> {
        let token = self.tokens[self.at].0.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn is_op(&self, op: &str) -> bool {
        matches!(self.token(), Token::Op(found) if *found == op)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Ident(found) if *found == word)
    }

    fn take_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        if found {
            self.next();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let text = format!("unexpected {}, expected {wanted}", self.token().name());
        bad(text).at(|| Place::of(self.name, self.source, self.place()))
    }

    fn expect_op(&mut self, op: &str) -> Result<()> {
        if self.take_op(op) { Ok(()) } else { Err(self.unexpected(&format!("`{op}`"))) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn identifier(&mut self) -> Result<&'s str> {
        match *self.token() {
            Token::Ident(name) => {
                self.next();
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Runs a part of the parser one level deeper.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            let text = format!("the template is nested deeper than {DEPTH_MAX}");
            let (name, source, at) = (self.name, self.source, self.place());
            return Err(bad(text).at(|| Place::of(name, source, at)));
        }
        self.depth += 1;
        let done = part(self);
        self.depth -= 1;
        done
    }
}
