//! Calls: filters, functions, macros and methods.

use std::rc::Rc;

use super::{Collected, Machine, collected, live, named, operation};
use crate::builtin::{self, Arguments, Filter, Function, Named, Test};
use crate::compile::{Args, Code, Name};
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::macros::Macro;
use crate::value::{Object, Text, Value};

/// What is called.
enum Callee<'t> {
    Filter(Filter),
    Test(Test),
    Function(&'t str),
}

impl<'t> Machine<'t, '_> {
    /// Calls something that is not defined by a template. Its arguments are on the stack, or collected.
    fn call_out(&mut self, callee: &Callee<'t>, code: &'t Code, args: Args) -> Result<()> {
        if args.pos == Args::COLLECTED {
            let of = self.collected.pop().unwrap_or_default();
            let value = self.call_with(callee, &collected(&of))?;
            self.push(value);
            return Ok(());
        }
        let names = named(code, args.named);
        let start = self.stack.len().saturating_sub(usize::from(args.pos) + names.len());
        // They are put back only to be dropped, but nothing is copied.
        let stack = std::mem::take(&mut self.stack);
        let (pos, values) = stack[start..].split_at(usize::from(args.pos));
        let done = self.call_with(callee, &Arguments { pos, values, names });
        self.stack = stack;
        self.stack.truncate(start);
        self.push(done?);
        Ok(())
    }

    fn call_with(&mut self, callee: &Callee<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
        match callee {
            Callee::Filter(filter) => builtin::filter(*filter, &self.env, args),
            Callee::Test(test) => builtin::test(*test, &self.env, args).map(Value::Bool),
            Callee::Function(name) => match Function::of(name) {
                Some(function) => builtin::function(function, &self.env, args),
                None => self.host.call(name, args, &self.env.meter),
            },
        }
    }

    pub(super) fn filter(&mut self, filter: Filter, code: &'t Code, args: Args) -> Result<()> {
        self.call_out(&Callee::Filter(filter), code, args)
    }

    pub(super) fn test(&mut self, test: Test, code: &'t Code, args: Args) -> Result<()> {
        self.call_out(&Callee::Test(test), code, args)
    }

    /// Arguments as a collection of their own. With a `subject`, what is called is the first of them.
    fn collect(&mut self, code: &'t Code, args: Args) -> Collected<'t> {
        if args.pos == Args::COLLECTED {
            return self.collected.pop().unwrap_or_default();
        }
        let names: Vec<Text<'t>> = match named(code, args.named) {
            Named::Static(names) => names.iter().map(|name| Text::Lit(name)).collect(),
            Named::Dynamic(names) => names.to_vec(),
        };
        let values = self.take(names.len());
        let pos = self.take(usize::from(args.pos));
        Collected { pos, names, values }
    }

    /// `name(…)`.
    pub(super) fn call_name(&mut self, name: Name, code: &'t Code, args: Args) -> Result<()> {
        let text = self.engine.names.text(name);
        match text {
            "super" => return Err(operation("super() takes no arguments")),
            "loop" => {
                let target = self.frames.innermost(true).cloned();
                if let Some(target) = target {
                    let of = self.collect(code, args);
                    let ([items], []) = (&of.pos[..], &of.values[..]) else {
                        return Err(operation("loop() takes one argument"));
                    };
                    self.begin_capture(false);
                    self.recurse(&target, items.clone())?;
                    let value = self.end_capture();
                    self.push(value);
                    return Ok(());
                }
            }
            _ => {}
        }
        match self.lookup(name) {
            Value::Object(Object::Function(name)) if *name.text == *live::LIVE => {
                let of = self.collect(code, args);
                let value = self.live(of)?;
                self.push(value);
                Ok(())
            }
            Value::Object(Object::Function(name)) => {
                self.call_out(&Callee::Function(&name.text), code, args)
            }
            Value::Undefined if self.frames.load(name).is_none() => {
                Err(Error::new(Kind::Unknown, format!("there is no function `{text}`")))
            }
            value => {
                let of = self.collect(code, args);
                let value = self.call_value(&value, of)?;
                self.push(value);
                Ok(())
            }
        }
    }

    /// Calls the first of the arguments with the others.
    pub(super) fn call_first(&mut self, code: &'t Code, args: Args) -> Result<()> {
        let mut of = self.collect(code, args);
        if of.pos.is_empty() {
            return Err(operation("nothing is called"));
        }
        let callee = of.pos.remove(0);
        let value = self.call_value(&callee, of)?;
        self.push(value);
        Ok(())
    }

    /// `value.name(…)`.
    pub(super) fn call_method(&mut self, name: Name, code: &'t Code, args: Args) -> Result<()> {
        let name = self.engine.names.text(name);
        let mut of = self.collect(code, args);
        if of.pos.is_empty() {
            return Err(operation("nothing is called"));
        }
        let subject = of.pos.remove(0);
        if let Value::Object(Object::Loop(current)) = &subject
            && of.values.is_empty()
            && let Some(value) = current.call(name, &of.pos, &self.env.meter)?
        {
            self.push(value);
            return Ok(());
        }
        let method = match &subject {
            Value::Map(_) | Value::Object(_) => subject.attr(name),
            _ => None,
        };
        let Some(method) = method else {
            let text = format!("{} has no method `{name}`", subject.kind().name());
            return Err(Error::new(Kind::UnknownMethod, text));
        };
        let value = self.call_value(&method, of)?;
        self.push(value);
        Ok(())
    }

    fn call_value(&mut self, callee: &Value<'t>, of: Collected<'t>) -> Result<Value<'t>> {
        match callee {
            Value::Object(Object::Macro(called)) => {
                let called = Rc::clone(called);
                self.call_macro(&called, &of)
            }
            Value::Object(Object::Function(name)) if *name.text == *live::LIVE => self.live(of),
            Value::Object(Object::Function(name)) => {
                self.call_with(&Callee::Function(&name.text), &collected(&of))
            }
            _ => Err(operation(format!("{} cannot be called", callee.kind().name()))),
        }
    }

    pub(super) fn call_macro(
        &mut self,
        called: &Macro<'t>,
        of: &Collected<'t>,
    ) -> Result<Value<'t>> {
        let wrong = |text: String| Error::new(Kind::Arguments, text);
        if of.pos.len() > called.names.len() {
            return Err(wrong(format!("{} takes {} arguments", called.name, called.names.len())));
        }
        let given = |name: &str| {
            let at = of.names.iter().rposition(|given| **given == *name);
            at.and_then(|at| of.values.get(at))
        };
        for name in &of.names {
            let known =
                called.names.contains(&&**name) || (called.spec.caller && **name == *"caller");
            if !known {
                return Err(wrong(format!("{} has no argument `{}`", called.name, &**name)));
            }
        }
        let bottom = self.stack.len();
        for (i, name) in called.names.iter().enumerate() {
            let value = match (of.pos.get(i), given(name)) {
                (Some(_), Some(_)) => {
                    self.stack.truncate(bottom);
                    return Err(wrong(format!("`{name}` is given twice")));
                }
                (Some(value), None) | (None, Some(value)) => value.clone(),
                (None, None) => Value::Undefined,
            };
            self.push(value);
        }
        let caller = called.spec.caller.then(|| given("caller").cloned());
        let start = self.out.len();
        self.captures.push((start, false));
        let mark = self.frames.enter_macro(called.closure);
        if let (Some(caller), Some(name)) = (caller, self.engine.names.find("caller")) {
            self.frames.store(name, caller.unwrap_or(Value::Undefined));
        }
        let template = std::mem::replace(&mut self.env.template, &called.code.source.name);
        let (escape, block) = (self.env.escape, self.block.take());
        let done = self.deeper(|machine| machine.run(called.code, called.spec.start as usize));
        (self.env.escape, self.block) = (escape, block);
        self.env.template = template;
        self.frames.back_to(&mark);
        self.stack.truncate(bottom);
        done?;
        Ok(self.end_capture())
    }

    /// Defines a macro.
    pub(super) fn define(&mut self, code: &'t Code, number: u32) {
        let spec = &code.macros[number as usize];
        let name = |name: &Name| self.engine.names.text(*name);
        let names = spec.args.iter().map(name).collect();
        let name = name(&spec.name);
        let closure = self.frames.closure();
        let value = Macro { name, names, spec, code, closure };
        self.push(Value::Object(Object::Macro(Rc::new(value))));
    }

    /// Sets an attribute of a namespace.
    pub(super) fn set_attr(&mut self, name: Name) -> Result<()> {
        let (target, value) = (self.pop(), self.pop());
        let Value::Object(Object::Namespace(all)) = &target else {
            let kind = target.kind().name();
            return Err(operation(format!("only namespaces are assigned to, not {kind}")));
        };
        builtin::put(all, self.engine.names.text(name), value, &self.env.meter)
    }

    /// Adds the value on top to the arguments that are collected.
    pub(super) fn collect_many(&mut self, with_names: bool) -> Result<()> {
        let value = self.pop();
        let meter = &self.env.meter;
        let Some(of) = self.collected.last_mut() else { return Ok(()) };
        if with_names {
            let pairs = value.pairs(meter)?.ok_or_else(|| operation("** takes a map"))?;
            for (name, value) in pairs {
                if let Value::Str(name) = name {
                    of.names.push(name);
                    of.values.push(value);
                }
            }
            return Ok(());
        }
        let items = value.items(meter)?;
        meter.values(items.len())?;
        of.pos.extend(items.iter().cloned());
        Ok(())
    }

    /// What a name means: a variable, what the host says, or a function.
    pub(super) fn lookup(&mut self, name: Name) -> Value<'t> {
        if let Some(value) = self.frames.load(name) {
            return value.clone();
        }
        let text = self.engine.names.text(name);
        if text == "loop"
            && let Some(current) = self.frames.innermost(true)
        {
            return Value::Object(Object::Loop(Rc::clone(current)));
        }
        let known = self.frames.root.iter().find(|(n, _)| *n == name);
        let value = match known {
            Some((_, value)) => value.clone(),
            None => {
                let value = self.host.global(text);
                self.frames.root.push((name, value.clone()));
                value
            }
        };
        match value {
            Some(value) => value,
            None => {
                let word = self.engine.names.word(name);
                if word.is_function {
                    Value::Object(Object::Function(word))
                } else {
                    Value::Undefined
                }
            }
        }
    }

    /// How values are escaped, while a macro or a recursive loop runs.
    pub(super) fn with_escape<T>(
        &mut self,
        escape: Escape,
        part: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = std::mem::replace(&mut self.env.escape, escape);
        let done = part(self);
        self.env.escape = outer;
        done
    }
}
