//! The names that a macro takes from where it is defined: those that it uses before it assigns them.

use std::collections::HashSet;

use crate::ast::{Arg, Body, Expr, ExprKind, Macro, Step, StepKind, Stmt, StmtKind, Target};

/// The names, and whether `caller` is among them; it is left out.
pub(crate) fn names<'s>(of: &Macro<'s>) -> (Vec<&'s str>, bool) {
    let mut finder = Finder { found: Vec::new(), assigned: vec![HashSet::new()] };
    finder.macro_body(of);
    let caller = finder.found.contains(&"caller");
    finder.found.retain(|name| *name != "caller");
    (finder.found, caller)
}

struct Finder<'s> {
    found: Vec<&'s str>,
    /// What is assigned, by block.
    assigned: Vec<HashSet<&'s str>>,
}

impl<'s> Finder<'s> {
    fn assign(&mut self, name: &'s str) {
        if let Some(top) = self.assigned.last_mut() {
            top.insert(name);
        }
    }

    fn target(&mut self, target: &Target<'s>) {
        match target {
            Target::Name(_, name) => self.assign(name),
            // The namespace itself is used.
            Target::Attr(_, name, _) => self.name(name),
            Target::Many(_, targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    fn name(&mut self, name: &'s str) {
        if !self.assigned.iter().any(|names| names.contains(name)) {
            self.found.push(name);
            self.assign(name);
        }
    }

    /// A block, with some names assigned at its beginning.
    fn block(&mut self, assigned: &[&'s str], body: &Body<'s>) {
        self.assigned.push(assigned.iter().copied().collect());
        self.body(body);
        self.assigned.pop();
    }

    fn body(&mut self, body: &Body<'s>) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn macro_body(&mut self, of: &Macro<'s>) {
        of.args.iter().for_each(|arg| self.assign(arg));
        of.defaults.iter().for_each(|default| self.expr(default));
        self.body(&of.body);
    }

    fn inner_macro(&mut self, of: &Macro<'s>) {
        self.assigned.push(HashSet::from(["caller"]));
        self.macro_body(of);
        self.assigned.pop();
    }

    fn stmt(&mut self, stmt: &Stmt<'s>) {
        match &stmt.kind {
            StmtKind::Raw(_) | StmtKind::Continue | StmtKind::Break => {}
            StmtKind::Emit(e)
            | StmtKind::Do(e)
            | StmtKind::Extends(e)
            | StmtKind::Include(e, _) => {
                self.expr(e);
            }
            StmtKind::For(of) => {
                self.expr(&of.iter);
                self.assigned.push(HashSet::from(["loop"]));
                self.target(&of.target);
                of.filter.iter().for_each(|filter| self.expr(filter));
                self.body(&of.body);
                self.assigned.pop();
                self.block(&[], &of.otherwise);
            }
            StmtKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    self.expr(test);
                    self.block(&[], body);
                }
                self.block(&[], otherwise);
            }
            StmtKind::With(assignments, body) => {
                self.assigned.push(HashSet::new());
                for (target, value) in assignments {
                    self.expr(value);
                    self.target(target);
                }
                self.body(body);
                self.assigned.pop();
            }
            StmtKind::Set(target, value) => {
                self.expr(value);
                self.target(target);
            }
            StmtKind::SetBlock(target, filters, body) => {
                self.steps(filters);
                self.block(&[], body);
                self.target(target);
            }
            StmtKind::AutoEscape(how, body) => {
                self.expr(how);
                self.block(&[], body);
            }
            StmtKind::Filter(filters, body) => {
                self.steps(filters);
                self.block(&[], body);
            }
            StmtKind::Block { body, .. } => self.block(&["super"], body),
            StmtKind::Import(from, name) => {
                self.expr(from);
                self.assign(name);
            }
            StmtKind::From(from, names) => {
                self.expr(from);
                names.iter().for_each(|(_, alias)| self.assign(alias));
            }
            StmtKind::Macro(of) => {
                self.assign(of.name);
                self.inner_macro(of);
            }
            StmtKind::Call(call, body) => {
                self.expr(call);
                self.inner_macro(body);
            }
        }
    }

    fn steps(&mut self, steps: &[Step<'s>]) {
        for step in steps {
            match &step.kind {
                StepKind::Attr(_) => {}
                StepKind::Item(key) => self.expr(key),
                StepKind::Slice(parts) => parts.iter().flatten().for_each(|part| self.expr(part)),
                StepKind::Call(args) | StepKind::Filter(_, args) | StepKind::Test(_, args, _) => {
                    args.iter().map(Arg::expr).for_each(|arg| self.expr(arg));
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'s>) {
        match &expr.kind {
            ExprKind::None
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_) => {}
            ExprKind::Var(name) => self.name(name),
            ExprKind::Chain(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(_, next)| self.expr(next));
            }
            ExprKind::Compare(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(_, next)| self.expr(next));
            }
            ExprKind::Not(_, inner) | ExprKind::Neg(_, inner) => self.expr(inner),
            ExprKind::If(parts) => {
                self.expr(&parts.test);
                self.expr(&parts.yes);
                parts.no.iter().for_each(|no| self.expr(no));
            }
            ExprKind::Path(base, steps) => {
                self.expr(base);
                self.steps(steps);
            }
            ExprKind::List(items) | ExprKind::Tuple(items) => {
                items.iter().for_each(|item| self.expr(item));
            }
            ExprKind::Map(entries) => entries.iter().for_each(|(key, value)| {
                self.expr(key);
                self.expr(value);
            }),
        }
    }
}
