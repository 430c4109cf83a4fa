//! Statements.

use super::{Parser, bad};
use crate::ast::{Body, Expr, ExprKind, For, Macro, Step, StepKind, Stmt, StmtKind, Target};
use crate::error::Result;
use crate::lexer::Token;

/// Names that nothing can be assigned to.
const RESERVED: [&str; 8] = ["true", "True", "false", "False", "none", "None", "loop", "self"];

impl<'s> Parser<'s> {
    /// Statements up to a tag that begins with one of these words, or to the end. The word is next.
    pub(super) fn body(&mut self, ends: &[&str]) -> Result<Body<'s>> {
        let mut body = Vec::new();
        loop {
            let at = self.place();
            let kind = match *self.token() {
                Token::End if ends.is_empty() => return Ok(body),
                Token::End => return Err(self.unexpected(&format!("`{}`", ends[0]))),
                Token::Data(text) => {
                    self.next();
                    StmtKind::Raw(text)
                }
                Token::VarStart => {
                    self.next();
                    let value = self.expr()?;
                    if self.token() != &Token::VarEnd {
                        return Err(self.unexpected("`}}`"));
                    }
                    self.next();
                    StmtKind::Emit(value)
                }
                _ => {
                    self.next();
                    if matches!(*self.token(), Token::Ident(word) if ends.contains(&word)) {
                        return Ok(body);
                    }
                    let kind = self.deeper(Self::statement)?;
                    self.block_end()?;
                    kind
                }
            };
            body.push(Stmt { at, kind });
        }
    }

    fn block_end(&mut self) -> Result<()> {
        if self.token() != &Token::BlockEnd {
            return Err(self.unexpected("`%}`"));
        }
        self.next();
        Ok(())
    }

    /// The rest of the opening tag, a body, and the word that ends it.
    fn rest(&mut self, end: &str) -> Result<Body<'s>> {
        self.block_end()?;
        let body = self.body(&[end])?;
        self.next();
        Ok(body)
    }

    fn statement(&mut self) -> Result<StmtKind<'s>> {
        let word = self.identifier()?;
        Ok(match word {
            "for" => self.for_loop()?,
            "if" => self.if_else()?,
            "with" => self.with()?,
            "set" => self.set()?,
            "autoescape" => StmtKind::AutoEscape(self.expr()?, self.rest("endautoescape")?),
            "filter" => StmtKind::Filter(self.filters()?, self.rest("endfilter")?),
            "block" => self.block()?,
            "extends" => StmtKind::Extends(self.expr()?),
            "include" => self.include()?,
            "import" => {
                let from = self.expr()?;
                self.expect_word("as")?;
                let name = self.assigned_name()?;
                self.context()?;
                StmtKind::Import(from, name)
            }
            "from" => self.import_names()?,
            "macro" => {
                let name = self.identifier()?;
                self.expect_op("(")?;
                let (args, defaults) = self.parameters()?;
                StmtKind::Macro(self.macro_body(name, args, defaults, "endmacro")?)
            }
            "call" => self.call()?,
            "do" => {
                let at = self.place();
                let call = self.expr()?;
                is_call(&call).then_some(()).ok_or_else(|| bad("`do` takes a call"))?;
                debug_assert!(call.at >= at);
                StmtKind::Do(call)
            }
            "continue" | "break" if !self.in_loop => {
                return Err(bad(format!("`{word}` is only possible in a loop")));
            }
            "continue" => StmtKind::Continue,
            "break" => StmtKind::Break,
            _ => {
                self.at -= 1;
                return Err(bad(format!("unknown statement `{word}`")));
            }
        })
    }

    fn assigned_name(&mut self) -> Result<&'s str> {
        let name = self.identifier()?;
        if RESERVED.contains(&name) {
            return Err(bad(format!("nothing can be assigned to `{name}`")));
        }
        Ok(name)
    }

    /// A name, with attributes if it may be `dotted`.
    fn target_name(&mut self, dotted: bool) -> Result<Target<'s>> {
        let at = self.place();
        let name = self.assigned_name()?;
        let mut attrs = Vec::new();
        while dotted && self.take_op(".") {
            attrs.push(self.identifier()?);
        }
        Ok(if attrs.is_empty() { Target::Name(at, name) } else { Target::Attr(at, name, attrs) })
    }

    fn target(&mut self, dotted: bool) -> Result<Target<'s>> {
        let at = self.place();
        let mut items = Vec::new();
        let mut many = false;
        loop {
            if !items.is_empty() {
                self.expect_op(",")?;
            }
            let end = matches!(
                self.token(),
                Token::Op(")") | Token::VarEnd | Token::BlockEnd | Token::Ident("in")
            );
            if end {
                break;
            }
            if self.take_op("(") {
                items.push(self.deeper(|parser| parser.target(dotted))?);
                self.expect_op(")")?;
            } else {
                items.push(self.target_name(dotted)?);
            }
            if !self.is_op(",") {
                break;
            }
            many = true;
        }
        match (many, items.pop()) {
            (false, Some(only)) if items.is_empty() => Ok(only),
            (_, last) => {
                items.extend(last);
                Ok(Target::Many(at, items))
            }
        }
    }

    fn for_loop(&mut self) -> Result<StmtKind<'s>> {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let target = self.target(false)?;
        self.expect_word("in")?;
        let iter = self.plain_expr()?;
        let filter = self.take_word("if").then(|| self.expr()).transpose()?;
        let recursive = self.take_word("recursive");
        self.block_end()?;
        let body = self.body(&["endfor", "else"])?;
        let mut otherwise = Vec::new();
        if self.take_word("else") {
            self.block_end()?;
            otherwise = self.body(&["endfor"])?;
        }
        self.next();
        self.in_loop = outer;
        Ok(StmtKind::For(Box::new(For { target, iter, filter, recursive, body, otherwise })))
    }

    fn if_else(&mut self) -> Result<StmtKind<'s>> {
        let mut branches = Vec::new();
        loop {
            let test = self.plain_expr()?;
            self.block_end()?;
            let body = self.body(&["endif", "else", "elif"])?;
            branches.push((test, body));
            match self.next() {
                Token::Ident("elif") => {}
                Token::Ident("else") => {
                    let otherwise = self.rest("endif")?;
                    return Ok(StmtKind::If(branches, otherwise));
                }
                _ => return Ok(StmtKind::If(branches, Vec::new())),
            }
        }
    }

    fn with(&mut self) -> Result<StmtKind<'s>> {
        let mut assignments = Vec::new();
        while self.token() != &Token::BlockEnd {
            if !assignments.is_empty() {
                self.expect_op(",")?;
            }
            let target = if self.take_op("(") {
                let target = self.target(false)?;
                self.expect_op(")")?;
                target
            } else {
                self.target_name(false)?
            };
            self.expect_op("=")?;
            assignments.push((target, self.expr()?));
        }
        Ok(StmtKind::With(assignments, self.rest("endwith")?))
    }

    fn set(&mut self) -> Result<StmtKind<'s>> {
        let target = self.target(true)?;
        if self.token() == &Token::BlockEnd || self.is_op("|") {
            let filters = if self.take_op("|") { self.filters()? } else { Vec::new() };
            return Ok(StmtKind::SetBlock(target, filters, self.rest("endset")?));
        }
        self.expect_op("=")?;
        let at = self.place();
        let first = self.expr()?;
        if !self.take_op(",") {
            return Ok(StmtKind::Set(target, first));
        }
        let mut items = vec![first];
        while self.token() != &Token::BlockEnd {
            items.push(self.expr()?);
            if !self.take_op(",") {
                break;
            }
        }
        Ok(StmtKind::Set(target, Expr { at, kind: ExprKind::Tuple(items) }))
    }

    /// Filters with bars between them, up to the end of the tag.
    fn filters(&mut self) -> Result<Vec<Step<'s>>> {
        let mut filters = Vec::new();
        while self.token() != &Token::BlockEnd {
            if !filters.is_empty() {
                self.expect_op("|")?;
            }
            filters.push(self.filter()?);
        }
        if filters.is_empty() { Err(bad("expected a filter")) } else { Ok(filters) }
    }

    fn block(&mut self) -> Result<StmtKind<'s>> {
        if self.in_macro {
            return Err(bad("there are no blocks in macros"));
        }
        let outer = std::mem::replace(&mut self.in_loop, false);
        let name = self.identifier()?;
        self.take_word("scoped");
        let required = self.take_word("required");
        if !self.blocks.insert(name) {
            return Err(bad(format!("there are two blocks `{name}`")));
        }
        let body = self.rest("endblock")?;
        let blank = |stmt: &Stmt<'s>| matches!(stmt.kind, StmtKind::Raw(t) if t.trim().is_empty());
        if required && !body.iter().all(blank) {
            return Err(bad("a required block has nothing but comments and blanks"));
        }
        if let Token::Ident(end) = *self.token() {
            if end != name {
                return Err(bad(format!("`endblock {end}` ends block `{name}`")));
            }
            self.next();
        }
        self.in_loop = outer;
        Ok(StmtKind::Block { name, required, body })
    }

    /// `with context` and `without context`, which mean nothing.
    fn context(&mut self) -> Result<bool> {
        let found = self.take_word("with") || self.take_word("without");
        if found {
            self.expect_word("context")?;
        }
        Ok(found)
    }

    fn include(&mut self) -> Result<StmtKind<'s>> {
        let name = self.expr()?;
        let context = self.context()?;
        let ignore = self.take_word("ignore");
        if ignore {
            self.expect_word("missing")?;
            if !context {
                self.context()?;
            }
        }
        Ok(StmtKind::Include(name, ignore))
    }

    fn import_names(&mut self) -> Result<StmtKind<'s>> {
        let from = self.expr()?;
        self.expect_word("import")?;
        let mut names = Vec::new();
        loop {
            if self.context()? || self.token() == &Token::BlockEnd {
                break;
            }
            if !names.is_empty() {
                self.expect_op(",")?;
            }
            if self.context()? || self.token() == &Token::BlockEnd {
                break;
            }
            let name = self.assigned_name()?;
            if name.starts_with('_') {
                return Err(bad("names that begin with an underline are not imported"));
            }
            let alias = if self.take_word("as") { self.assigned_name()? } else { name };
            names.push((name, alias));
        }
        Ok(StmtKind::From(from, names))
    }

    fn parameters(&mut self) -> Result<(Vec<&'s str>, Vec<Expr<'s>>)> {
        let (mut args, mut defaults) = (Vec::new(), Vec::new());
        while !self.take_op(")") {
            if !args.is_empty() {
                self.expect_op(",")?;
                if self.take_op(")") {
                    break;
                }
            }
            args.push(self.assigned_name()?);
            if self.take_op("=") {
                defaults.push(self.expr()?);
            } else if !defaults.is_empty() {
                return Err(self.unexpected("`=`"));
            }
        }
        Ok((args, defaults))
    }

    fn macro_body(
        &mut self,
        name: &'s str,
        args: Vec<&'s str>,
        defaults: Vec<Expr<'s>>,
        end: &str,
    ) -> Result<Macro<'s>> {
        let in_loop = std::mem::replace(&mut self.in_loop, false);
        let in_macro = std::mem::replace(&mut self.in_macro, true);
        let body = self.rest(end)?;
        self.in_loop = in_loop;
        self.in_macro = in_macro;
        Ok(Macro { name, args, defaults, body })
    }

    fn call(&mut self) -> Result<StmtKind<'s>> {
        let (args, defaults) =
            if self.take_op("(") { self.parameters()? } else { Default::default() };
        let call = self.expr()?;
        if !is_call(&call) {
            return Err(bad("a call block takes a call"));
        }
        let body = self.macro_body("caller", args, defaults, "endcall")?;
        Ok(StmtKind::Call(call, body))
    }
}

fn is_call(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Path(_, steps) => {
            matches!(steps.last(), Some(Step { kind: StepKind::Call(_), .. }))
        }
        _ => false,
    }
}
