//! Jinja2 templates, as `minijinja` speaks them, with bounds for everything that a template can use up.
//!
//! ```text
//!  text ─► lexer ─► parser (ast) ─► compile: operations ─► vm: a stack machine ─► page
//!                                                           │  frames: variables, loops
//!                                                           │  builtin: filters, tests, functions
//!                                                           ├─ host: names and functions of who renders
//!                                                           └─ meter: steps, bytes, depth, time
//! ```
//!
//! Invariants: no text and no data make it panic, recurse deeper than a bound, or use more memory or time than
//! the [`Limits`] say. Values are never deeper than [`value::DEPTH_MAX`], so that what walks through them may
//! call itself. An error names the template, line and column.

mod ast;
mod builtin;
mod closure;
mod compare;
mod compile;
mod error;
mod escape;
mod host;
mod lexer;
mod loops;
mod macros;
mod meter;
mod number;
mod ops;
mod parser;
mod part;
mod show;
mod unescape;
pub mod value;
mod vm;

use std::collections::HashMap;

pub use builtin::{Arguments, of_json};
pub use error::{Error, Kind, Place, Result};
pub use escape::Escape;
pub use host::Host;
pub use meter::{Limits, Meter};
pub use part::{Part, PartKind};
pub use value::{List, ListKind, Map, Text, Value, ValueKind};

use compile::{Names, Template};

/// Templates by their names, and what they share.
pub struct Engine {
    names: Names,
    templates: HashMap<String, Template>,
    escape: fn(&str) -> Escape,
}

impl Engine {
    /// An engine without templates. `functions` are the names of the host's functions; `escape` tells from a
    /// template's name how its values are escaped.
    #[must_use]
    pub fn new(functions: &[&str], escape: fn(&str) -> Escape) -> Self {
        let mut names = Names::new(functions);
        names.number("caller");
        Self { names, templates: HashMap::new(), escape }
    }

    /// Adds a template, or replaces it.
    ///
    /// # Errors
    /// It has an error; the template of this name, if there is one, stays as it is.
    pub fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let template = compile::compile(name, text, &mut self.names)?;
        self.templates.insert(name.to_owned(), template);
        Ok(())
    }

    /// Whether there is a template with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.templates.contains_key(name)
    }

    /// Renders a template.
    ///
    /// # Errors
    /// There is no such template, or it has failed, with the place.
    pub fn render<'t>(
        &'t self,
        name: &str,
        host: &mut dyn Host<'t>,
        limits: Limits,
    ) -> Result<String> {
        vm::render(self, name, host, Meter::new(limits))
    }

    fn template(&self, name: &str) -> Result<(&str, &Template)> {
        match self.templates.get_key_value(name) {
            Some((name, template)) => Ok((name, template)),
            None => Err(Error::new(Kind::NotFound, name)),
        }
    }

    fn escape(&self, name: &str) -> Escape {
        (self.escape)(name)
    }
}
