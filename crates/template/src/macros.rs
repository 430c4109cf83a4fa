//! Macros and imported templates, as values.

use std::rc::Rc;

use crate::compile::{Code, MacroSpec};
use crate::value::{Map, Text, Value};

/// A macro: its operations, and where it has names from.
pub struct Macro<'t> {
    pub(crate) name: &'t str,
    /// The names of its arguments.
    pub(crate) names: Vec<&'t str>,
    pub(crate) spec: &'t MacroSpec,
    pub(crate) code: &'t Code,
    pub(crate) closure: Option<usize>,
}

impl<'t> Macro<'t> {
    pub(crate) fn get(&self, name: &str) -> Option<Value<'t>> {
        Some(match name {
            "name" => Value::Str(Text::Lit(self.name)),
            "arguments" => {
                let names = self.names.iter().map(|name| Value::Str(Text::Lit(name)));
                return Value::list(names.collect()).ok();
            }
            "caller" => Value::Bool(self.spec.caller),
            _ => return None,
        })
    }
}

/// An imported template: what it has assigned, and what it has written.
pub struct Module<'t> {
    pub(crate) map: Rc<Map<'t>>,
    pub(crate) text: Value<'t>,
}
