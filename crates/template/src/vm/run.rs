//! One operation after the other.

use std::rc::Rc;

use super::{Collected, Machine, operation};
use crate::compile::{Code, Op};
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::loops::{Loop, Recurse};
use crate::number::negate;
use crate::value::{ListKind, Map, Text, Value};

/// Where a run of operations is.
struct Run<'t> {
    code: &'t Code,
    pc: usize,
    /// The template that this one extends, which is next.
    parent: Option<&'t Code>,
    /// How values were escaped before blocks of `autoescape`.
    escapes: Vec<Escape>,
    /// How they were at the beginning.
    escape: Escape,
    /// The recursive loop that ends the run: how many frames there were before it.
    until: Option<usize>,
}

impl<'t> Machine<'t, '_> {
    /// Runs operations to their end.
    pub(super) fn run(&mut self, code: &'t Code, pc: usize) -> Result<()> {
        self.run_until(code, pc, None)
    }

    fn run_until(&mut self, code: &'t Code, pc: usize, until: Option<usize>) -> Result<()> {
        let escape = self.env.escape;
        let mut run = Run { code, pc, parent: None, escapes: Vec::new(), escape, until };
        loop {
            let Some(op) = run.code.ops.get(run.pc) else {
                let Some(parent) = run.parent.take() else { return Ok(()) };
                self.end_capture();
                (run.code, run.pc) = (parent, 0);
                self.env.template = &parent.source.name;
                continue;
            };
            let at = run.pc;
            run.pc += 1;
            match self.step(&mut run, op) {
                Ok(false) => {}
                Ok(true) => return Ok(()),
                Err(e) => return Err(e.at(|| run.code.place(at))),
            }
        }
    }

    /// Does one operation. Returns true at the end.
    #[inline]
    fn step(&mut self, run: &mut Run<'t>, op: &Op) -> Result<bool> {
        self.env.meter.steps(1)?;
        self.check_time()?;
        match *op {
            Op::Raw(text) => self.write(&run.code.texts[text as usize])?,
            Op::Emit => {
                let value = self.pop();
                self.emit(&value)?;
            }
            Op::EmitAttr(base, name) => {
                let name = self.engine.names.text(name);
                let value = match self.frames.load(base) {
                    Some(value) => attr(value, name)?,
                    None => attr(&self.lookup(base), name)?,
                };
                self.emit(&value)?;
            }
            Op::Str(text) => self.push(Value::Str(Text::Lit(&run.code.texts[text as usize]))),
            Op::Int(n) => self.push(Value::Int(n)),
            Op::Load(name) => {
                let value = self.lookup(name);
                self.push(value);
            }
            Op::Store(name) => {
                let value = self.pop();
                self.frames.store(name, value);
            }
            Op::Attr(name) => {
                let value = attr(&self.pop(), self.engine.names.text(name))?;
                self.push(value);
            }
            Op::Jump(to) => run.pc = to as usize,
            Op::JumpIfFalse(to) => {
                if !self.pop().is_true() {
                    run.pc = to as usize;
                }
            }
            Op::Iterate(to) => match self.frames.next_item() {
                Some(item) => self.push(item),
                None => run.pc = to as usize,
            },
            Op::Filter(filter, args) => self.filter(filter, run.code, args)?,
            Op::Test(test, args) => self.test(test, run.code, args)?,
            Op::Call(name, args) => self.call_name(name, run.code, args)?,
            Op::Concat => {
                let (b, a) = (self.pop(), self.pop());
                self.push(crate::ops::concat(&a, &b, &self.env)?);
            }
            Op::PopLoop => {
                self.frames.pop();
                return Ok(run.until == Some(self.frames.len()));
            }
            Op::Return => return Ok(true),
            _ => self.other(run, op)?,
        }
        Ok(false)
    }

    /// Operations on values, which are not as common.
    fn other(&mut self, run: &mut Run<'t>, op: &Op) -> Result<()> {
        let value = match *op {
            Op::Big(n) => Value::from(run.code.bigs[n as usize]),
            Op::Float(n) => Value::Float(n),
            Op::Bool(b) => Value::Bool(b),
            Op::None => Value::None,
            Op::Undefined => Value::Undefined,
            Op::Item => {
                let (key, of) = (self.pop(), self.pop());
                match of.item(&key, &self.env.meter)? {
                    Some(value) => value,
                    None => nothing(&of)?,
                }
            }
            Op::Slice => {
                let (step, stop, start, of) = (self.pop(), self.pop(), self.pop(), self.pop());
                crate::ops::slice(&of, [&start, &stop, &step], &self.env.meter)?
            }
            Op::List(n) => self.list(n as usize, ListKind::Seq)?,
            Op::Tuple(n) => self.list(n as usize, ListKind::Tuple)?,
            Op::Counted => match self.pop() {
                Value::Int(n) => self.list(n as usize, ListKind::Seq)?,
                _ => Value::Undefined,
            },
            Op::Map(n) => {
                let n = n as usize;
                self.env.meter.values(n * 2)?;
                let mut values = self.take(n * 2).into_iter();
                let pair = || Some((values.next()?, values.next()?));
                let pairs = std::iter::from_fn(pair).collect();
                Map::sorted(pairs, &self.env.meter).map(Value::Map)?
            }
            Op::Math(math) => {
                let (b, a) = (self.pop(), self.pop());
                crate::ops::binary(math, &a, &b, &self.env)?
            }
            Op::Not => Value::Bool(!self.pop().is_true()),
            Op::Neg => negate(&self.pop())?,
            Op::Compare(how) => {
                let (b, a) = (self.pop(), self.pop());
                Value::Bool(self.compare(how, &a, &b)?)
            }
            Op::CompareKeep(how) => {
                let (b, a) = (self.pop(), self.pop());
                let answer = self.compare(how, &a, &b)?;
                self.push(b);
                Value::Bool(answer)
            }
            Op::IsUndefined => Value::Bool(self.pop().is_undefined()),
            Op::WasEmpty => {
                let top = self.frames.top().and_then(|frame| frame.current.as_ref());
                Value::Bool(top.is_some_and(|(current, _)| current.was_empty()))
            }
            Op::EndCapture => self.end_capture(),
            Op::Dup => self.stack.last().cloned().unwrap_or(Value::Undefined),
            _ => return self.control(run, op),
        };
        self.push(value);
        Ok(())
    }

    /// Operations that leave no value, or none here.
    fn control(&mut self, run: &mut Run<'t>, op: &Op) -> Result<()> {
        match *op {
            Op::JumpIfFalseKeep(to) => self.jump_keep(run, to, false),
            Op::JumpIfTrueKeep(to) => self.jump_keep(run, to, true),
            Op::Pop => drop(self.pop()),
            Op::Swap => {
                let (a, b) = (self.pop(), self.pop());
                self.stack.extend([a, b]);
            }
            Op::Count => {
                let (item, n) = (self.pop(), self.pop());
                let n = if let Value::Int(n) = n { n + 1 } else { 1 };
                self.env.meter.values(1)?;
                self.stack.extend([item, Value::Int(n)]);
            }
            Op::Unpack(n) => self.unpack(n as usize)?,
            Op::SetAttr(name) => self.set_attr(name)?,
            Op::PushLoop { with_loop, recursive } => {
                let items = self.pop();
                self.push_loop(run, items, with_loop, recursive)?;
            }
            Op::PushFrame => self.frames.push(),
            Op::PopFrame => self.frames.pop(),
            Op::Capture => self.begin_capture(false),
            Op::Discard => self.begin_capture(true),
            Op::PushEscape => {
                let how = Self::escape_of(&self.pop(), run.escape)?;
                run.escapes.push(std::mem::replace(&mut self.env.escape, how));
            }
            Op::PopEscape => {
                if let Some(outer) = run.escapes.pop() {
                    self.env.escape = outer;
                }
            }
            Op::Unknown(text) => {
                return Err(Error::new(Kind::Unknown, &*run.code.texts[text as usize]));
            }
            Op::Method(name, args) => self.call_method(name, run.code, args)?,
            Op::CallValue(args) => self.call_first(run.code, args)?,
            Op::Super(capture) => self.call_super(capture)?,
            Op::Recurse => self.recurse_innermost()?,
            Op::CallBlock(name) => {
                // A template that extends writes nothing itself.
                if run.parent.is_none() && !self.is_discarding() {
                    self.call_block(name)?;
                }
            }
            Op::Extends => self.begin_extending(run)?,
            Op::Include(ignore) => {
                let names = self.pop();
                self.include(&names, ignore)?;
            }
            Op::Export => self.export()?,
            Op::Macro(number) => self.define(run.code, number),
            Op::Enclose(name) => {
                if let Some(closure) = self.frames.lacks(name) {
                    let value = self.lookup(name);
                    self.frames.enclose(closure, name, value);
                }
            }
            _ => self.arguments(run, op)?,
        }
        Ok(())
    }

    /// `{% extends %}`: the template has a parent from here on, and writes nothing itself.
    fn begin_extending(&mut self, run: &mut Run<'t>) -> Result<()> {
        let name = self.pop();
        if run.parent.is_some() {
            return Err(operation("a template extends one other"));
        }
        run.parent = Some(self.extend(&name)?);
        self.begin_capture(true);
        Ok(())
    }

    /// `loop(…)`: the innermost loop, again over the items on the stack.
    fn recurse_innermost(&mut self) -> Result<()> {
        let items = self.pop();
        let target = self.frames.innermost(false).cloned();
        let target = target.ok_or_else(|| operation("there is no loop here"))?;
        self.recurse(&target, items)
    }

    fn arguments(&mut self, run: &mut Run<'t>, op: &Op) -> Result<()> {
        match *op {
            Op::Part(part) => {
                let spec = &run.code.parts[part as usize];
                if self.begin_part(spec)? {
                    run.pc = spec.end as usize;
                }
            }
            Op::ArgsNew(subject) => {
                let mut of = Collected::default();
                if subject {
                    of.pos.push(self.pop());
                }
                self.collected.push(of);
            }
            Op::ArgPos => {
                let value = self.pop();
                self.collected.last_mut().map(|of| of.pos.push(value)).unwrap_or_default();
            }
            Op::ArgNamed(name) => {
                let value = self.pop();
                let name = Text::Lit(self.engine.names.text(name));
                if let Some(of) = self.collected.last_mut() {
                    of.names.push(name);
                    of.values.push(value);
                }
            }
            Op::ArgMany => self.collect_many(false)?,
            Op::ArgManyNamed => self.collect_many(true)?,
            Op::PartEnd(part) => self.end_part(&run.code.parts[part as usize]),
            _ => {}
        }
        Ok(())
    }

    fn jump_keep(&mut self, run: &mut Run<'t>, to: u32, when: bool) {
        if self.stack.last().is_some_and(Value::is_true) == when {
            run.pc = to as usize;
        } else {
            self.pop();
        }
    }

    fn list(&mut self, n: usize, kind: ListKind) -> Result<Value<'t>> {
        self.env.meter.values(n)?;
        let items = self.take(n);
        Value::list_of(items, kind)
    }

    fn compare(&self, how: crate::ast::Compare, a: &Value<'t>, b: &Value<'t>) -> Result<bool> {
        use crate::ast::Compare;
        let meter = &self.env.meter;
        Ok(match how {
            Compare::Eq => crate::compare::equal(a, b, meter)?,
            Compare::Ne => !crate::compare::equal(a, b, meter)?,
            Compare::Lt => crate::compare::order(a, b, meter)?.is_lt(),
            Compare::Le => crate::compare::order(a, b, meter)?.is_le(),
            Compare::Gt => crate::compare::order(a, b, meter)?.is_gt(),
            Compare::Ge => crate::compare::order(a, b, meter)?.is_ge(),
            Compare::In => crate::ops::contains(b, a, meter)?,
            Compare::NotIn => !crate::ops::contains(b, a, meter)?,
        })
    }

    fn unpack(&mut self, n: usize) -> Result<()> {
        let value = self.pop();
        let items = match &value {
            Value::List(_) | Value::Map(_) | Value::Object(_) => value.items(&self.env.meter)?,
            _ => return Err(operation(format!("{} is no list", value.kind().name()))),
        };
        if items.len() != n {
            return Err(operation(format!("a list has {} items, not {n}", items.len())));
        }
        self.env.meter.values(n)?;
        self.stack.extend(items.iter().rev().cloned());
        Ok(())
    }

    fn push_loop(
        &mut self,
        run: &Run<'t>,
        items: Value<'t>,
        with_loop: bool,
        recursive: bool,
    ) -> Result<()> {
        let items = items.items(&self.env.meter)?;
        let outer = self.frames.innermost(false).filter(|outer| outer.recurse.is_some());
        let depth = outer.map_or(0, |outer| outer.depth() + 1);
        let target = Recurse { code: run.code, pc: run.pc, escape: self.env.escape };
        let recurse = recursive.then_some(target);
        self.frames.push_loop(Loop::new(items, depth, recurse), with_loop);
        Ok(())
    }

    /// Runs a recursive loop once more, for other items.
    pub(super) fn recurse(&mut self, target: &Rc<Loop<'t>>, items: Value<'t>) -> Result<()> {
        let Some(Recurse { code, pc, escape }) = target.recurse else {
            return Err(operation("the loop is not recursive"));
        };
        let mark = self.frames.mark();
        let bottom = self.stack.len();
        let until = Some(self.frames.len());
        let done = self.with_escape(escape, |machine| {
            let items = items.items(&machine.env.meter)?;
            let outer = machine.frames.innermost(false).filter(|outer| outer.recurse.is_some());
            let depth = outer.map_or(0, |outer| outer.depth() + 1);
            let recurse = target.recurse;
            machine.frames.push_loop(Loop::new(items, depth, recurse), true);
            machine.deeper(|machine| machine.run_until(code, pc, until))
        });
        self.frames.back_to(&mark);
        self.stack.truncate(bottom);
        done
    }
}

/// What an attribute is: undefined where there is none, an error of what is undefined itself.
fn attr<'t>(value: &Value<'t>, name: &str) -> Result<Value<'t>> {
    match value.attr(name) {
        Some(value) => Ok(value),
        None => nothing(value),
    }
}

fn nothing<'t>(of: &Value<'t>) -> Result<Value<'t>> {
    if of.is_undefined() {
        return Err(Error::new(Kind::Undefined, "what it is asked of is undefined"));
    }
    Ok(Value::Undefined)
}

// The kinds of arguments are told apart by number, so a change of either must be seen here.
const _: () = assert!(size_of::<Op>() <= 16);
