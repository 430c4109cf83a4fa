//! Expressions.

use std::borrow::Cow;

use super::{Parser, bad};
use crate::ast::{Arg, Binary, Compare, Expr, ExprKind, If, Math, Step, StepKind};
use crate::error::Result;
use crate::lexer::Token;

/// Conditions behind one another without an `else`.
const CONDITIONS_MAX: usize = 50;
/// Arguments of one call.
const ARGS_MAX: usize = 2000;

/// Operators from left to right, the ones that bind less first.
const LEVELS: [&[(&str, Binary)]; 4] = [
    &[("+", Binary::Math(Math::Add)), ("-", Binary::Math(Math::Sub))],
    &[("~", Binary::Concat)],
    &[
        ("*", Binary::Math(Math::Mul)),
        ("/", Binary::Math(Math::Div)),
        ("//", Binary::Math(Math::FloorDiv)),
        ("%", Binary::Math(Math::Rem)),
    ],
    &[("**", Binary::Math(Math::Pow))],
];

fn expr(at: usize, kind: ExprKind<'_>) -> Expr<'_> {
    Expr { at, kind }
}

impl<'s> Parser<'s> {
    /// An expression with conditions.
    pub(super) fn expr(&mut self) -> Result<Expr<'s>> {
        self.deeper(Self::condition)
    }

    fn condition(&mut self) -> Result<Expr<'s>> {
        let at = self.place();
        let mut yes = self.plain_expr()?;
        let mut conditions = 0;
        while self.take_word("if") {
            conditions += 1;
            if conditions > CONDITIONS_MAX {
                return Err(bad("too many conditions behind one another"));
            }
            let test = self.plain_expr()?;
            let no = self.take_word("else").then(|| self.deeper(Self::condition)).transpose()?;
            yes = expr(at, ExprKind::If(Box::new(If { test, yes, no })));
        }
        Ok(yes)
    }

    /// An expression without conditions.
    pub(super) fn plain_expr(&mut self) -> Result<Expr<'s>> {
        let first = self.and()?;
        self.words("or", Binary::Or, first, Self::and)
    }

    fn and(&mut self) -> Result<Expr<'s>> {
        let first = self.not()?;
        self.words("and", Binary::And, first, Self::not)
    }

    fn words(
        &mut self,
        word: &str,
        op: Binary,
        first: Expr<'s>,
        next: fn(&mut Self) -> Result<Expr<'s>>,
    ) -> Result<Expr<'s>> {
        let mut rest = Vec::new();
        while self.take_word(word) {
            rest.push((op, next(self)?));
        }
        Ok(chained(first, rest))
    }

    fn not(&mut self) -> Result<Expr<'s>> {
        let at = self.place();
        let mut n = 0;
        while self.take_word("not") {
            n += 1;
        }
        let inner = self.comparison()?;
        Ok(if n == 0 { inner } else { expr(at, ExprKind::Not(n, Box::new(inner))) })
    }

    fn comparison(&mut self) -> Result<Expr<'s>> {
        let first = self.math()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.token() {
                Token::Op("==") => Compare::Eq,
                Token::Op("!=") => Compare::Ne,
                Token::Op("<") => Compare::Lt,
                Token::Op("<=") => Compare::Le,
                Token::Op(">") => Compare::Gt,
                Token::Op(">=") => Compare::Ge,
                Token::Ident("in") => Compare::In,
                Token::Ident("not") => {
                    self.next();
                    if !self.is_word("in") {
                        return Err(self.unexpected("`in`"));
                    }
                    Compare::NotIn
                }
                _ => break,
            };
            self.next();
            rest.push((op, self.math()?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            expr(first.at, ExprKind::Compare(Box::new(first), rest))
        })
    }

    /// Operands and operators: first all of them, then those that bind more become operands of the others.
    fn math(&mut self) -> Result<Expr<'s>> {
        let mut operands = vec![self.operand()?];
        let mut operators = Vec::new();
        while let Token::Op(found) = *self.token() {
            let found = LEVELS.iter().enumerate().find_map(|(level, operators)| {
                let op = operators.iter().find(|(op, _)| *op == found)?;
                Some((level, op.1))
            });
            let Some(operator) = found else { break };
            self.next();
            operators.push(operator);
            operands.push(self.operand()?);
        }
        for level in (0..LEVELS.len()).rev() {
            (operands, operators) = fold(level, operands, operators);
        }
        operands.pop().ok_or_else(|| bad("there is no operand"))
    }

    /// An operand with filters and tests, which apply to what is negated.
    fn operand(&mut self) -> Result<Expr<'s>> {
        let base = self.negated()?;
        let mut steps = Vec::new();
        loop {
            if self.take_op("|") {
                steps.push(self.filter()?);
            } else if self.take_word("is") {
                steps.push(self.test()?);
            } else {
                break;
            }
        }
        Ok(path(base, steps))
    }

    /// A filter's name and arguments, behind the bar.
    pub(super) fn filter(&mut self) -> Result<Step<'s>> {
        let at = self.place();
        let name = self.dotted()?;
        let args = if self.is_op("(") { self.args()? } else { Vec::new() };
        Ok(Step { at, kind: StepKind::Filter(name, args) })
    }

    fn test(&mut self) -> Result<Step<'s>> {
        let at = self.place();
        let negated = self.take_word("not");
        let name = self.dotted()?;
        let one = match self.token() {
            Token::Ident(word) => !matches!(*word, "and" | "or" | "else" | "is"),
            Token::Str(_) | Token::Int(_) | Token::Float(_) => true,
            Token::Op(op) => matches!(*op, "+" | "-" | "[" | "{"),
            _ => false,
        };
        let args = if self.is_op("(") {
            self.args()?
        } else if one {
            vec![Arg::Pos(self.negated()?)]
        } else {
            Vec::new()
        };
        Ok(Step { at, kind: StepKind::Test(name, args, negated) })
    }

    /// A name that may have points.
    fn dotted(&mut self) -> Result<&'s str> {
        let start = self.place();
        let mut end = start + self.identifier()?.len();
        while self.take_op(".") {
            let at = self.place();
            end = at + self.identifier()?.len();
        }
        Ok(&self.source[start..end])
    }

    /// An operand with `-` before it, and with `.name`, `[key]` and `(arguments)` behind it.
    fn negated(&mut self) -> Result<Expr<'s>> {
        let at = self.place();
        let mut n = 0;
        while self.take_op("-") {
            n += 1;
        }
        let base = self.deeper(Self::primary)?;
        let mut steps = Vec::new();
        loop {
            let at = self.place();
            let kind = if self.take_op(".") {
                match self.next() {
                    Token::Ident(name) => StepKind::Attr(name),
                    Token::Int(n) => StepKind::Item(expr(at, ExprKind::Int(n))),
                    _ => return Err(bad("a name or a number follows a point")),
                }
            } else if self.is_op("[") {
                self.subscript()?
            } else if self.is_op("(") {
                StepKind::Call(self.args()?)
            } else {
                break;
            };
            steps.push(Step { at, kind });
        }
        let inner = path(base, steps);
        Ok(match (n, inner.kind) {
            (0, kind) => expr(inner.at, kind),
            (1, ExprKind::Int(n)) => expr(at, ExprKind::Int(-n)),
            (1, ExprKind::Float(n)) => expr(at, ExprKind::Float(-n)),
            (n, kind) => expr(at, ExprKind::Neg(n, Box::new(expr(inner.at, kind)))),
        })
    }

    fn subscript(&mut self) -> Result<StepKind<'s>> {
        self.expect_op("[")?;
        let mut parts = [None, None, None];
        if !self.is_op(":") {
            if self.is_op("]") {
                return Err(bad("empty subscript"));
            }
            parts[0] = Some(self.expr()?);
        }
        let slice = self.take_op(":");
        if slice {
            if !self.is_op("]") && !self.is_op(":") {
                parts[1] = Some(self.expr()?);
            }
            if self.take_op(":") && !self.is_op("]") {
                parts[2] = Some(self.expr()?);
            }
        }
        self.expect_op("]")?;
        match parts {
            [Some(key), None, None] if !slice => Ok(StepKind::Item(key)),
            parts => Ok(StepKind::Slice(Box::new(parts))),
        }
    }

    pub(super) fn args(&mut self) -> Result<Vec<Arg<'s>>> {
        let mut args: Vec<Arg<'s>> = Vec::new();
        let mut named = false;
        self.expect_op("(")?;
        while !self.take_op(")") {
            if !args.is_empty() {
                self.expect_op(",")?;
                if self.take_op(")") {
                    break;
                }
            }
            if self.take_op("**") {
                named = true;
                args.push(Arg::ManyNamed(self.expr()?));
            } else if self.take_op("*") {
                args.push(Arg::Many(self.expr()?));
            } else {
                let value = self.expr()?;
                match value.kind {
                    ExprKind::Var(name) if self.take_op("=") => {
                        named = true;
                        args.push(Arg::Named(name, self.expr()?));
                    }
                    _ if named => return Err(bad("an argument without a name behind named ones")),
                    _ => args.push(Arg::Pos(value)),
                }
            }
            if args.len() > ARGS_MAX {
                return Err(bad("too many arguments"));
            }
        }
        Ok(args)
    }

    fn primary(&mut self) -> Result<Expr<'s>> {
        let at = self.place();
        let before = self.at;
        let kind = match self.next() {
            Token::Ident("true" | "True") => ExprKind::Bool(true),
            Token::Ident("false" | "False") => ExprKind::Bool(false),
            Token::Ident("none" | "None") => ExprKind::None,
            Token::Ident(name) => ExprKind::Var(name),
            Token::Int(n) => ExprKind::Int(n),
            Token::Float(n) => ExprKind::Float(n),
            Token::Str(text) => ExprKind::Str(self.strings(text)),
            Token::Op("(") => return self.brackets(at),
            Token::Op("[") => ExprKind::List(self.until("]")?),
            Token::Op("{") => self.map()?,
            _ => {
                self.at = before;
                return Err(self.unexpected("an expression"));
            }
        };
        Ok(expr(at, kind))
    }

    /// Strings behind one another are one.
    fn strings(&mut self, mut text: Cow<'s, str>) -> Cow<'s, str> {
        while let Token::Str(next) = self.token() {
            text.to_mut().push_str(next);
            self.at += 1;
        }
        text
    }

    /// Expressions with commas between them, up to a bracket.
    fn until(&mut self, end: &str) -> Result<Vec<Expr<'s>>> {
        let mut items = Vec::new();
        while !self.take_op(end) {
            if !items.is_empty() {
                self.expect_op(",")?;
                if self.take_op(end) {
                    break;
                }
            }
            items.push(self.expr()?);
        }
        Ok(items)
    }

    fn map(&mut self) -> Result<ExprKind<'s>> {
        let mut entries = Vec::new();
        while !self.take_op("}") {
            if !entries.is_empty() {
                self.expect_op(",")?;
                if self.take_op("}") {
                    break;
                }
            }
            let key = self.expr()?;
            self.expect_op(":")?;
            entries.push((key, self.expr()?));
        }
        Ok(ExprKind::Map(entries))
    }

    /// A tuple, or an expression in brackets.
    fn brackets(&mut self, at: usize) -> Result<Expr<'s>> {
        if self.take_op(")") {
            return Ok(expr(at, ExprKind::Tuple(Vec::new())));
        }
        let first = self.expr()?;
        if self.take_op(")") {
            // Not a variable, and not `self`, as a name alone would be.
            return Ok(first);
        }
        self.expect_op(",")?;
        let mut items = vec![first];
        items.extend(self.until(")")?);
        Ok(expr(at, ExprKind::Tuple(items)))
    }
}

/// Makes chains of the operators of a level. What is left are operands and operators of the levels above.
fn fold<'s>(
    level: usize,
    operands: Vec<Expr<'s>>,
    operators: Vec<(usize, Binary)>,
) -> (Vec<Expr<'s>>, Vec<(usize, Binary)>) {
    let (mut folded, mut kept) = (Vec::new(), Vec::new());
    let mut operands = operands.into_iter();
    let Some(mut first) = operands.next() else { return (folded, kept) };
    let mut rest = Vec::new();
    for ((found, op), operand) in operators.into_iter().zip(operands) {
        if found == level {
            rest.push((op, operand));
            continue;
        }
        let before = std::mem::replace(&mut first, operand);
        folded.push(chained(before, std::mem::take(&mut rest)));
        kept.push((found, op));
    }
    folded.push(chained(first, rest));
    (folded, kept)
}

fn chained<'s>(first: Expr<'s>, rest: Vec<(Binary, Expr<'s>)>) -> Expr<'s> {
    if rest.is_empty() {
        return first;
    }
    expr(first.at, ExprKind::Chain(Box::new(first), rest))
}

fn path<'s>(base: Expr<'s>, steps: Vec<Step<'s>>) -> Expr<'s> {
    if steps.is_empty() {
        return base;
    }
    expr(base.at, ExprKind::Path(Box::new(base), steps))
}
