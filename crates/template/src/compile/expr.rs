//! Expressions as operations.

use super::{Args, Compiler, Op};
use crate::ast::{Arg, Binary, Compare, Expr, ExprKind, If, Macro, Step, StepKind};
use crate::builtin::{Filter, Test};
use crate::error::{Error, Kind as ErrorKind, Place};

impl Compiler<'_> {
    pub(super) fn expr(&mut self, expr: &Expr<'_>) {
        self.at = expr.at;
        match &expr.kind {
            ExprKind::None => self.op(Op::None),
            ExprKind::Bool(b) => self.op(Op::Bool(*b)),
            ExprKind::Int(n) => match i64::try_from(*n) {
                Ok(n) => self.op(Op::Int(n)),
                Err(_) => {
                    self.code.bigs.push(*n);
                    let at = self.code.bigs.len() as u32 - 1;
                    self.add(Op::Big(at));
                }
            },
            ExprKind::Float(n) => self.op(Op::Float(*n)),
            ExprKind::Str(text) => {
                let text = self.text(text);
                self.add(Op::Str(text));
            }
            ExprKind::Var(name) => {
                let name = self.names.number(name);
                self.add(Op::Load(name));
            }
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Compare(first, rest) => self.compare(expr.at, first, rest),
            ExprKind::Not(n, inner) => {
                self.expr(inner);
                self.at = expr.at;
                for _ in 0..*n {
                    self.add(Op::Not);
                }
            }
            ExprKind::Neg(n, inner) => {
                self.expr(inner);
                self.at = expr.at;
                for _ in 0..*n {
                    self.add(Op::Neg);
                }
            }
            ExprKind::If(parts) => self.conditional(parts),
            ExprKind::Path(base, steps) => self.path(base, steps),
            ExprKind::List(items) => {
                items.iter().for_each(|item| self.expr(item));
                self.at = expr.at;
                self.add(Op::List(items.len() as u32));
            }
            ExprKind::Tuple(items) => {
                items.iter().for_each(|item| self.expr(item));
                self.at = expr.at;
                self.add(Op::Tuple(items.len() as u32));
            }
            ExprKind::Map(entries) => {
                entries.iter().for_each(|(key, value)| {
                    self.expr(key);
                    self.expr(value);
                });
                self.at = expr.at;
                self.add(Op::Map(entries.len() as u32));
            }
        }
    }

    fn conditional(&mut self, parts: &If<'_>) {
        self.expr(&parts.test);
        let to_no = self.add(Op::JumpIfFalse(0));
        self.expr(&parts.yes);
        let to_end = self.add(Op::Jump(0));
        self.land(to_no);
        match &parts.no {
            Some(no) => self.expr(no),
            None => self.op(Op::Undefined),
        }
        self.land(to_end);
    }

    fn chain(&mut self, first: &Expr<'_>, rest: &[(Binary, Expr<'_>)]) {
        self.expr(first);
        let mut jumps = Vec::new();
        for (op, next) in rest {
            match op {
                Binary::And => jumps.push(self.add(Op::JumpIfFalseKeep(0))),
                Binary::Or => jumps.push(self.add(Op::JumpIfTrueKeep(0))),
                Binary::Math(_) | Binary::Concat => {}
            }
            self.expr(next);
            self.at = first.at;
            match op {
                Binary::Math(math) => self.op(Op::Math(*math)),
                Binary::Concat => self.op(Op::Concat),
                Binary::And | Binary::Or => {}
            }
        }
        // A chain has one kind of these, so that the first jump decides.
        jumps.into_iter().for_each(|jump| self.land(jump));
    }

    fn compare(&mut self, at: usize, first: &Expr<'_>, rest: &[(Compare, Expr<'_>)]) {
        self.expr(first);
        let mut jumps = Vec::new();
        for (i, (op, next)) in rest.iter().enumerate() {
            self.expr(next);
            self.at = at;
            if i + 1 == rest.len() {
                self.add(Op::Compare(*op));
            } else {
                self.add(Op::CompareKeep(*op));
                jumps.push(self.add(Op::JumpIfFalseKeep(0)));
            }
        }
        if jumps.is_empty() {
            return;
        }
        let end = self.add(Op::Jump(0));
        jumps.into_iter().for_each(|jump| self.land(jump));
        self.add(Op::Swap);
        self.add(Op::Pop);
        self.land(end);
    }

    fn path(&mut self, base: &Expr<'_>, steps: &[Step<'_>]) {
        let mut rest = steps;
        match (&base.kind, steps) {
            (ExprKind::Var("super"), [Step { kind: StepKind::Call(args), .. }, ..])
                if args.is_empty() =>
            {
                self.at = base.at;
                self.add(Op::Super(true));
                rest = &steps[1..];
            }
            (ExprKind::Var(name), [Step { kind: StepKind::Call(args), .. }, ..]) => {
                let args = self.args(args, false, None);
                let name = self.names.number(name);
                self.at = base.at;
                self.add(Op::Call(name, args));
                rest = &steps[1..];
            }
            (
                ExprKind::Var("self"),
                [Step { kind: StepKind::Attr(name), .. }, Step { kind: StepKind::Call(_), .. }, ..],
            ) => {
                self.add(Op::Capture);
                let name = self.names.number(name);
                self.at = base.at;
                self.add(Op::CallBlock(name));
                self.add(Op::EndCapture);
                rest = &steps[2..];
            }
            _ => self.expr(base),
        }
        self.steps(base.at, rest);
    }

    /// What follows a value on the stack.
    pub(super) fn steps(&mut self, at: usize, mut steps: &[Step<'_>]) {
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            let called = match rest.split_first() {
                Some((Step { kind: StepKind::Call(args), .. }, rest)) => Some((args, rest)),
                _ => None,
            };
            match (&step.kind, called) {
                (StepKind::Attr(name), Some((args, rest))) => {
                    let args = self.args(args, true, None);
                    let name = self.names.number(name);
                    self.at = at;
                    self.add(Op::Method(name, args));
                    steps = rest;
                }
                _ => self.step(at, step),
            }
        }
    }

    fn step(&mut self, at: usize, step: &Step<'_>) {
        match &step.kind {
            StepKind::Attr(name) => {
                let name = self.names.number(name);
                self.at = at;
                self.add(Op::Attr(name));
            }
            StepKind::Item(key) => {
                self.expr(key);
                self.at = at;
                self.add(Op::Item);
            }
            StepKind::Slice(parts) => {
                for part in parts.iter() {
                    match part {
                        Some(part) => self.expr(part),
                        None => self.op(Op::None),
                    }
                }
                self.at = at;
                self.add(Op::Slice);
            }
            StepKind::Call(args) => {
                let args = self.args(args, true, None);
                self.at = at;
                self.add(Op::CallValue(args));
            }
            StepKind::Filter(name, args) => {
                let args = self.args(args, true, None);
                self.at = step.at;
                match Filter::of(name) {
                    Some(filter) => self.op(Op::Filter(filter, args)),
                    None => self.unknown("filter", name),
                }
            }
            StepKind::Test(name, args, negated) => {
                let args = self.args(args, true, None);
                self.at = step.at;
                match Test::of(name) {
                    Some(test) => self.op(Op::Test(test, args)),
                    None => self.unknown("test", name),
                }
                if *negated {
                    self.add(Op::Not);
                }
            }
        }
    }

    fn unknown(&mut self, what: &str, name: &str) {
        let text = self.text(&format!("there is no {what} `{name}`"));
        self.add(Op::Unknown(text));
    }

    /// The arguments of a call. With a `subject`, the value on top is the first of them. A call block's body is
    /// the argument `caller`.
    pub(super) fn args(
        &mut self,
        args: &[Arg<'_>],
        subject: bool,
        caller: Option<&Macro<'_>>,
    ) -> Args {
        let many = |arg: &Arg<'_>| matches!(arg, Arg::Many(_) | Arg::ManyNamed(_));
        let collected = args.iter().any(many);
        if collected {
            self.add(Op::ArgsNew(subject));
        }
        let mut pos = usize::from(subject);
        for arg in args {
            let op = match arg {
                Arg::Pos(_) => Op::ArgPos,
                Arg::Many(_) => Op::ArgMany,
                Arg::Named(..) | Arg::ManyNamed(_) => continue,
            };
            self.expr(arg.expr());
            pos += 1;
            if collected {
                self.add(op);
            }
        }
        let mut named: Vec<Box<str>> = Vec::new();
        for arg in args {
            let (Arg::Named(_, value) | Arg::ManyNamed(value)) = arg else { continue };
            self.expr(value);
            if let Arg::Named(name, _) = arg {
                named.push((*name).into());
            }
            if collected {
                self.collect(arg);
            }
        }
        if let Some(caller) = caller {
            self.macro_value(caller);
            named.push("caller".into());
            if collected {
                let name = self.names.number("caller");
                self.add(Op::ArgNamed(name));
            }
        }
        if collected {
            return Args { pos: Args::COLLECTED, named: 0 };
        }
        let number = if named.is_empty() {
            0
        } else {
            self.code.named.push(named.into());
            self.code.named.len()
        };
        let Ok(number) = u16::try_from(number) else {
            let text = "a template has 65535 calls with named arguments at most";
            let place = || Place::of(&self.code.source.name, &self.code.source.text, self.at);
            self.error = Some(Error::new(ErrorKind::Syntax, text).at(place));
            return Args { pos: 0, named: 0 };
        };
        Args { pos: pos as u16, named: number }
    }

    fn collect(&mut self, arg: &Arg<'_>) {
        let op = match arg {
            Arg::Named(name, _) => Op::ArgNamed(self.names.number(name)),
            _ => Op::ArgManyNamed,
        };
        self.add(op);
    }
}
