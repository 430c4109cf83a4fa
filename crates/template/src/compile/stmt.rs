//! Statements as operations.

use super::{Code, Compiler, MacroSpec, Op, Scope};
use crate::ast::{Body, Expr, ExprKind, For, Macro, Step, StepKind, Stmt, StmtKind, Target};
use crate::part::PartKind;

impl Compiler<'_> {
    pub(super) fn body(&mut self, body: &Body<'_>) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt<'_>) {
        self.at = stmt.at;
        match &stmt.kind {
            StmtKind::Raw("") => {}
            StmtKind::Raw(text) => {
                let text = self.text(text);
                self.add(Op::Raw(text));
            }
            StmtKind::Emit(value) => self.emit(value),
            StmtKind::For(of) => self.for_loop(of),
            StmtKind::If(branches, otherwise) => self.branches(branches, otherwise),
            StmtKind::With(assignments, body) => self.with(assignments, body),
            StmtKind::Set(target, value) => {
                self.expr(value);
                self.assign(target);
            }
            StmtKind::SetBlock(target, filters, body) => {
                self.captured(filters, body);
                self.assign(target);
            }
            StmtKind::Filter(filters, body) => {
                self.captured(filters, body);
                self.add(Op::Emit);
            }
            StmtKind::AutoEscape(how, body) => {
                self.expr(how);
                self.add(Op::PushEscape);
                self.scoped(Scope::Escape, body);
                self.add(Op::PopEscape);
            }
            StmtKind::Block { name, required, body } => self.block(name, *required, body),
            StmtKind::Extends(name) => {
                self.expr(name);
                self.add(Op::Extends);
            }
            StmtKind::Include(name, ignore) => {
                self.expr(name);
                self.add(Op::Include(*ignore));
            }
            StmtKind::Import(from, name) => {
                self.import(from);
                self.assign(&Target::Name(stmt.at, name));
            }
            StmtKind::From(from, names) => self.import_names(from, names),
            StmtKind::Macro(of) => {
                self.macro_value(of);
                let name = self.names.number(of.name);
                self.add(Op::Store(name));
            }
            StmtKind::Call(call, body) => {
                self.call(call, Some(body));
                self.add(Op::Emit);
            }
            StmtKind::Do(call) => {
                self.call(call, None);
                self.add(Op::Pop);
            }
            StmtKind::Continue => self.leave(false),
            StmtKind::Break => self.leave(true),
        }
    }

    fn with(&mut self, assignments: &[(Target<'_>, Expr<'_>)], body: &Body<'_>) {
        self.add(Op::PushFrame);
        for (target, value) in assignments {
            self.expr(value);
            self.assign(target);
        }
        self.scoped(Scope::Frame, body);
        self.add(Op::PopFrame);
    }

    /// Leaves what a template exports.
    fn import(&mut self, from: &Expr<'_>) {
        self.add(Op::Capture);
        self.add(Op::PushFrame);
        self.expr(from);
        self.add(Op::Include(false));
        self.add(Op::EndCapture);
        self.add(Op::Export);
        self.add(Op::PopFrame);
    }

    fn scoped(&mut self, scope: Scope, body: &Body<'_>) {
        self.scopes.push(scope);
        self.body(body);
        self.scopes.pop();
    }

    fn captured(&mut self, filters: &[Step<'_>], body: &Body<'_>) {
        let at = self.at;
        self.add(Op::Capture);
        self.scoped(Scope::Capture, body);
        self.add(Op::EndCapture);
        self.steps(at, filters);
    }

    fn emit(&mut self, value: &Expr<'_>) {
        self.at = value.at;
        if let ExprKind::Path(base, steps) = &value.kind
            && let ExprKind::Var(base_name) = base.kind
        {
            match (base_name, &steps[..]) {
                ("super", [Step { kind: StepKind::Call(args), .. }]) if args.is_empty() => {
                    self.add(Op::Super(false));
                    return;
                }
                ("loop", [Step { kind: StepKind::Call(args), .. }]) if args.len() == 1 => {
                    self.expr(args[0].expr());
                    self.at = value.at;
                    self.add(Op::Recurse);
                    return;
                }
                (
                    "self",
                    [Step { kind: StepKind::Attr(name), .. }, Step { kind: StepKind::Call(_), .. }],
                ) => {
                    let name = self.names.number(name);
                    self.add(Op::CallBlock(name));
                    return;
                }
                (_, [Step { kind: StepKind::Attr(name), .. }]) => {
                    let base = self.names.number(base_name);
                    let name = self.names.number(name);
                    self.add(Op::EmitAttr(base, name));
                    return;
                }
                _ => {}
            }
        }
        self.expr(value);
        self.at = value.at;
        self.add(Op::Emit);
    }

    /// A call, perhaps with a body; its value is on the stack.
    fn call(&mut self, call: &Expr<'_>, body: Option<&Macro<'_>>) {
        let ExprKind::Path(base, steps) = &call.kind else { return };
        let Some((Step { kind: StepKind::Call(args), .. }, before)) = steps.split_last() else {
            return;
        };
        if body.is_none() {
            return self.expr(call);
        }
        match (&base.kind, before.split_last()) {
            (ExprKind::Var(name), None) => {
                let args = self.args(args, false, body);
                let name = self.names.number(name);
                self.at = call.at;
                self.add(Op::Call(name, args));
            }
            (_, Some((Step { kind: StepKind::Attr(name), .. }, before))) => {
                self.expr(base);
                self.steps(base.at, before);
                let args = self.args(args, true, body);
                let name = self.names.number(name);
                self.at = call.at;
                self.add(Op::Method(name, args));
            }
            _ => {
                self.expr(base);
                self.steps(base.at, before);
                let args = self.args(args, true, body);
                self.at = call.at;
                self.add(Op::CallValue(args));
            }
        }
    }

    fn branches(&mut self, branches: &[(Expr<'_>, Body<'_>)], otherwise: &Body<'_>) {
        let mut ends = Vec::new();
        for (i, (test, body)) in branches.iter().enumerate() {
            self.expr(test);
            let to_next = self.add(Op::JumpIfFalse(0));
            self.body(body);
            if i + 1 < branches.len() || !otherwise.is_empty() {
                ends.push(self.add(Op::Jump(0)));
            }
            self.land(to_next);
        }
        self.body(otherwise);
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn for_loop(&mut self, of: &For<'_>) {
        let is_within = self.scopes.iter().any(|scope| matches!(scope, Scope::Loop { .. }));
        let part = (!is_within && !of.recursive).then(|| self.begin_part());
        self.looped(of);
        if let Some(part) = part {
            self.end_part(PartKind::Loop, part, false);
        }
    }

    fn looped(&mut self, of: &For<'_>) {
        let at = self.at;
        if let Some(filter) = &of.filter {
            self.add(Op::Int(0));
            self.expr(&of.iter);
            self.at = of.iter.at;
            self.add(Op::PushLoop { with_loop: false, recursive: false });
            let iterate = self.add(Op::Iterate(0));
            self.add(Op::Dup);
            self.assign(&of.target);
            self.expr(filter);
            let to_no = self.add(Op::JumpIfFalse(0));
            self.add(Op::Count);
            self.add(Op::Jump(iterate));
            self.land(to_no);
            self.add(Op::Pop);
            self.add(Op::Jump(iterate));
            self.land(iterate);
            self.add(Op::PopLoop);
            self.add(Op::Counted);
        } else {
            self.expr(&of.iter);
        }
        self.at = of.iter.at;
        self.add(Op::PushLoop { with_loop: true, recursive: of.recursive });
        self.at = at;
        let iterate = self.add(Op::Iterate(0));
        self.scopes.push(Scope::Loop { iterate, breaks: Vec::new() });
        self.assign(&of.target);
        let part = self.begin_part();
        self.body(&of.body);
        self.end_part(PartKind::Turn, part, of.recursive);
        self.add(Op::Jump(iterate));
        self.land(iterate);
        if let Some(Scope::Loop { breaks, .. }) = self.scopes.pop() {
            breaks.into_iter().for_each(|jump| self.land(jump));
        }
        if of.otherwise.is_empty() {
            self.add(Op::PopLoop);
            return;
        }
        self.add(Op::WasEmpty);
        self.add(Op::PopLoop);
        let end = self.add(Op::JumpIfFalse(0));
        self.body(&of.otherwise);
        self.land(end);
    }

    /// `continue` and `break`.
    fn leave(&mut self, all: bool) {
        let mut ops = Vec::new();
        let mut target = None;
        for (i, scope) in self.scopes.iter().enumerate().rev() {
            match scope {
                Scope::Frame => ops.push(Op::PopFrame),
                Scope::Escape => ops.push(Op::PopEscape),
                Scope::Capture => ops.extend([Op::EndCapture, Op::Pop]),
                Scope::Loop { iterate, .. } => {
                    target = Some((i, *iterate));
                    break;
                }
            }
        }
        let Some((i, iterate)) = target else { return };
        for op in ops {
            self.add(op);
        }
        let jump = self.add(Op::Jump(iterate));
        if let (true, Scope::Loop { breaks, .. }) = (all, &mut self.scopes[i]) {
            breaks.push(jump);
        }
    }

    fn block(&mut self, name: &str, required: bool, body: &Body<'_>) {
        let number = self.names.number(name);
        let code = Code::new(&self.code.source);
        let outer = std::mem::replace(&mut self.code, code);
        let scopes = std::mem::take(&mut self.scopes);
        let at = self.at;
        self.body(body);
        self.code.required = required;
        self.scopes = scopes;
        let code = std::mem::replace(&mut self.code, outer);
        self.blocks.push((number, code));
        self.at = at;
        self.add(Op::CallBlock(number));
    }

    fn import_names(&mut self, from: &Expr<'_>, names: &[(&str, &str)]) {
        self.add(Op::Discard);
        self.add(Op::PushFrame);
        self.expr(from);
        self.add(Op::Include(false));
        for (name, _) in names {
            let name = self.names.number(name);
            self.add(Op::Load(name));
        }
        self.add(Op::PopFrame);
        for (_, alias) in names.iter().rev() {
            let alias = self.names.number(alias);
            self.add(Op::Store(alias));
        }
        self.add(Op::EndCapture);
        self.add(Op::Pop);
    }

    fn assign(&mut self, target: &Target<'_>) {
        match target {
            Target::Name(at, name) => {
                let name = self.names.number(name);
                self.at = *at;
                self.add(Op::Store(name));
            }
            Target::Attr(at, name, attrs) => {
                let Some((last, path)) = attrs.split_last() else { return };
                let name = self.names.number(name);
                self.at = *at;
                self.add(Op::Load(name));
                for attr in path {
                    let attr = self.names.number(attr);
                    self.add(Op::Attr(attr));
                }
                let last = self.names.number(last);
                self.add(Op::SetAttr(last));
            }
            Target::Many(at, targets) => {
                self.at = *at;
                self.add(Op::Unpack(targets.len() as u32));
                targets.iter().for_each(|target| self.assign(target));
            }
        }
    }

    /// A macro as a value. Its operations are skipped where it is defined.
    pub(super) fn macro_value(&mut self, of: &Macro<'_>) {
        let skip = self.add(Op::Jump(0));
        let start = self.here();
        let scopes = std::mem::take(&mut self.scopes);
        let mut defaults = of.defaults.iter().rev();
        for arg in of.args.iter().rev() {
            if let Some(default) = defaults.next() {
                self.add(Op::Dup);
                self.add(Op::IsUndefined);
                let given = self.add(Op::JumpIfFalse(0));
                self.add(Op::Pop);
                self.expr(default);
                self.land(given);
            }
            let arg = self.names.number(arg);
            self.add(Op::Store(arg));
        }
        self.body(&of.body);
        self.add(Op::Return);
        self.scopes = scopes;
        self.land(skip);
        let (enclosed, caller) = crate::closure::names(of);
        for name in enclosed {
            let name = self.names.number(name);
            self.add(Op::Enclose(name));
        }
        let args = of.args.iter().map(|arg| self.names.number(arg)).collect();
        let name = self.names.number(of.name);
        self.code.macros.push(MacroSpec { name, args, start, caller });
        let at = self.code.macros.len() as u32 - 1;
        self.add(Op::Macro(at));
    }
}
