//! Other templates and blocks: include, import, extends, super.

use super::{Block, Machine, operation};
use crate::compile::{Code, Name, Template};
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::macros::Module;
use crate::value::{Map, Object, Text, Value};
use std::rc::Rc;

/// The blocks of a template, before others are extended.
pub(super) fn blocks(template: &Template) -> Vec<Block<'_>> {
    let blocks = template.blocks.iter();
    blocks.map(|(name, code)| Block { name: *name, codes: vec![code], at: 0 }).collect()
}

impl<'t> Machine<'t, '_> {
    /// Writes the first of the templates that there is.
    pub(super) fn include(&mut self, names: &Value<'t>, ignore_missing: bool) -> Result<()> {
        let list = match names {
            Value::List(list) => Rc::clone(list),
            Value::Object(_) | Value::Map(_) => names.items(&self.env.meter)?,
            _ => match Value::list(vec![names.clone()])? {
                Value::List(list) => list,
                _ => return Ok(()),
            },
        };
        for name in list.iter() {
            let name = name.as_str().ok_or_else(|| operation("a template's name is a string"))?;
            match self.engine.template(name) {
                Ok((name, template)) => return self.include_one(name, template),
                Err(e) if e.kind() == Kind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        if list.is_empty() || ignore_missing {
            return Ok(());
        }
        let names: Vec<&str> = list.iter().filter_map(Value::as_str).take(10).collect();
        Err(Error::new(Kind::NotFound, names.join(", ")))
    }

    fn include_one(&mut self, name: &'t str, template: &'t Template) -> Result<()> {
        let closure = self.frames.closure();
        self.frames.set_closure(None);
        let blocks = std::mem::replace(&mut self.blocks, blocks(template));
        let extended = self.extended.clone();
        let escape = std::mem::replace(&mut self.env.escape, self.engine.escape(name));
        let outer = std::mem::replace(&mut self.env.template, name);
        let mark = self.frames.mark();
        let done = self.deeper(|machine| machine.run(&template.main, 0));
        self.frames.back_to(&mark);
        self.env.template = outer;
        self.env.escape = escape;
        self.extended = extended;
        self.blocks = blocks;
        self.frames.set_closure(closure);
        done.map_err(|e| Error::new(Kind::Operation, format!("error in \"{name}\"")).because(e))
    }

    /// The names that an included template has assigned, as a module.
    pub(super) fn export(&mut self) -> Result<()> {
        let text = self.pop();
        let locals = self.frames.locals();
        self.env.meter.values(locals.len() * 2)?;
        let names = locals.iter().map(|(name, value)| (self.engine.names.text(*name), value));
        let names = names.filter(|(name, _)| !name.starts_with('_'));
        let mut all: Vec<(Value<'t>, Value<'t>)> =
            names.map(|(name, value)| (Value::Str(Text::Lit(name)), value.clone())).collect();
        all.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
        let map = Map::new(all)?;
        self.push(Value::Object(Object::Module(Rc::new(Module { map, text }))));
        Ok(())
    }

    /// Adds the blocks of a template to extend. Returns its operations.
    pub(super) fn extend(&mut self, name: &Value<'t>) -> Result<&'t Code> {
        let name = name.as_str().ok_or_else(|| operation("a template's name is a string"))?;
        let (name, template) = self.engine.template(name)?;
        if self.extended.contains(&name) {
            return Err(operation(format!("{name} is extended by what it extends")));
        }
        self.extended.push(name);
        for (name, code) in &template.blocks {
            match self.blocks.iter_mut().find(|block| block.name == *name) {
                Some(block) => block.codes.push(code),
                None => self.blocks.push(Block { name: *name, codes: vec![code], at: 0 }),
            }
        }
        Ok(&template.main)
    }

    fn find_block(&self, name: Name) -> Option<usize> {
        self.blocks.iter().position(|block| block.name == name)
    }

    /// Writes a block.
    pub(super) fn call_block(&mut self, name: Name) -> Result<()> {
        let text = self.engine.names.text(name);
        let Some(at) = self.find_block(name) else {
            return Err(operation(format!("there is no block `{text}`")));
        };
        let block = &self.blocks[at];
        let code = block.codes[block.at];
        if block.codes.len() == 1 && code.required {
            return Err(operation(format!("block `{text}` is required")));
        }
        let outer = self.block.replace(name);
        let done = self.framed(code);
        self.block = outer;
        done
    }

    /// Runs a block's operations in a frame of their own.
    fn framed(&mut self, code: &'t Code) -> Result<()> {
        let mark = self.frames.mark();
        let escape = self.env.escape;
        let template = std::mem::replace(&mut self.env.template, &code.source.name);
        let done = self.deeper(|machine| {
            machine.frames.push();
            machine.run(code, 0)
        });
        self.frames.back_to(&mark);
        self.env.template = template;
        self.env.escape = escape;
        done
    }

    /// Writes the block that this one replaces; with `capture`, as a value.
    pub(super) fn call_super(&mut self, capture: bool) -> Result<()> {
        let at = self.block.and_then(|name| self.find_block(name));
        let at = at.ok_or_else(|| operation("super() is only possible in a block"))?;
        let block = &mut self.blocks[at];
        let code = *block.codes.get(block.at + 1).ok_or_else(|| operation("no parent block"))?;
        block.at += 1;
        if capture {
            self.begin_capture(false);
        }
        let done = self.framed(code);
        self.blocks[at].at -= 1;
        done.map_err(|e| operation("error in super()").because(e))?;
        if capture {
            let value = self.end_capture();
            self.push(value);
        }
        Ok(())
    }

    /// `{% autoescape how %}`. `outer`: how it was where these operations began.
    pub(super) fn escape_of(how: &Value<'t>, outer: Escape) -> Result<Escape> {
        match (how.as_str(), how) {
            (Some("html"), _) => Ok(Escape::Html),
            (Some("json"), _) => Ok(Escape::Json),
            (Some("none"), _) => Ok(Escape::None),
            (None, Value::Bool(true) | Value::Int(1)) => {
                Ok(if outer == Escape::None { Escape::Html } else { outer })
            }
            (None, Value::Float(1.0)) => {
                Ok(if outer == Escape::None { Escape::Html } else { outer })
            }
            (None, _) => Ok(Escape::None),
            _ => Err(operation("autoescape is true, false, \"html\", \"json\" or \"none\"")),
        }
    }
}
