//! The machine: runs operations with a stack of values.
//!
//! It calls itself only for templates, macros, blocks and recursive loops, at most [`Limits::depth`] deep. What
//! is written goes to one buffer; what is captured is cut off its end.
//!
//! [`Limits::depth`]: crate::Limits::depth

mod call;
mod frames;
mod include;
mod live;
mod part;
mod run;

use crate::Engine;
use crate::builtin::{Arguments, Env, Named};
use crate::compile::{Code, Name};
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::host::Host;
use crate::meter::Meter;
use crate::value::{Text, Value};
use frames::Frames;

/// Steps between two looks at the clock.
const CHECK_EVERY: u64 = 4096;

/// A block: its versions, the one of the template that was asked for first.
struct Block<'t> {
    name: Name,
    codes: Vec<&'t Code>,
    /// The version that runs.
    at: usize,
}

/// Arguments that are collected aside.
#[derive(Default)]
struct Collected<'t> {
    pos: Vec<Value<'t>>,
    names: Vec<Text<'t>>,
    values: Vec<Value<'t>>,
}

/// See the module's text.
pub(crate) struct Machine<'t, 'h> {
    engine: &'t Engine,
    host: &'h mut dyn Host<'t>,
    env: Env<'t>,
    out: String,
    /// Where what is captured begins, and whether it is thrown away.
    captures: Vec<(usize, bool)>,
    stack: Vec<Value<'t>>,
    frames: Frames<'t>,
    collected: Vec<Collected<'t>>,
    blocks: Vec<Block<'t>>,
    /// The block that runs.
    block: Option<Name>,
    /// A live block runs.
    in_live: bool,
    /// Templates that were extended.
    extended: Vec<&'t str>,
    depth: u32,
    checked: u64,
    /// The turn that has begun as a part: its number, and how many frames there are.
    turn: Option<(u32, usize)>,
    /// The loop, likewise.
    whole_loop: Option<(u32, usize)>,
    part_key: Vec<u8>,
}

/// Renders a template. Returns the page.
///
/// # Errors
/// The template has failed, with the place.
pub(crate) fn render<'t>(
    engine: &'t Engine,
    name: &str,
    host: &mut dyn Host<'t>,
    meter: Meter,
) -> Result<String> {
    let (name, template) = engine.template(name)?;
    let escape = engine.escape(name);
    let mut machine = Machine {
        engine,
        host,
        env: Env { engine, meter, escape, template: name },
        out: String::with_capacity(4096),
        captures: Vec::new(),
        stack: Vec::with_capacity(16),
        frames: Frames::new(),
        collected: Vec::new(),
        blocks: include::blocks(template),
        block: None,
        in_live: false,
        extended: Vec::new(),
        depth: 0,
        checked: 0,
        turn: None,
        whole_loop: None,
        part_key: Vec::with_capacity(128),
    };
    machine.run(&template.main, 0)?;
    Ok(machine.out)
}

fn operation(text: impl Into<String>) -> Error {
    Error::operation(text)
}

impl<'t> Machine<'t, '_> {
    fn pop(&mut self) -> Value<'t> {
        self.stack.pop().unwrap_or(Value::Undefined)
    }

    fn push(&mut self, value: Value<'t>) {
        self.stack.push(value);
    }

    /// Takes so many values from the top, in the order in which they came.
    fn take(&mut self, n: usize) -> Vec<Value<'t>> {
        let at = self.stack.len().saturating_sub(n);
        self.stack.split_off(at)
    }

    fn is_discarding(&self) -> bool {
        matches!(self.captures.last(), Some((_, true)))
    }

    /// The page must not be larger than it may be.
    fn check_output(&self) -> Result<()> {
        let most = self.env.meter.limits().output;
        if self.out.len() > most {
            return Err(Error::new(Kind::Limit, format!("the page has more than {most} bytes")));
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<()> {
        if self.is_discarding() {
            return Ok(());
        }
        self.env.meter.bytes(text.len())?;
        self.out.push_str(text);
        self.check_output()
    }

    fn emit(&mut self, value: &Value<'t>) -> Result<()> {
        if self.is_discarding() {
            return Ok(());
        }
        crate::escape::write(value, self.env.escape, &mut self.out, &self.env.meter)?;
        self.check_output()
    }

    fn begin_capture(&mut self, discard: bool) {
        self.captures.push((self.out.len(), discard));
    }

    /// What was written since the capture began.
    fn end_capture(&mut self) -> Value<'t> {
        let Some((start, discard)) = self.captures.pop() else { return Value::Undefined };
        if discard {
            self.out.truncate(start);
            return Value::Undefined;
        }
        let text = self.out.get(start..).unwrap_or_default();
        let value = match self.env.escape {
            Escape::None => Text::Own(text.into()),
            _ => Text::Safe(text.into()),
        };
        self.out.truncate(start);
        Value::Str(value)
    }

    /// Runs a part one level deeper.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let most = self.env.meter.limits().depth;
        if self.depth >= most {
            let text = format!("templates, macros and blocks are nested deeper than {most}");
            return Err(Error::new(Kind::Limit, text));
        }
        self.depth += 1;
        let done = part(self);
        self.depth -= 1;
        done
    }

    /// The time is looked at now and then.
    fn check_time(&mut self) -> Result<()> {
        let taken = self.env.meter.taken();
        if taken - self.checked >= CHECK_EVERY {
            self.checked = taken;
            if self.host.overdue() {
                return Err(Error::new(Kind::Limit, "the page takes too long"));
            }
        }
        Ok(())
    }
}

/// Names of arguments on the stack.
fn named<'a, 't>(code: &'t Code, number: u16) -> Named<'a, 't> {
    match code.named.get(usize::from(number).wrapping_sub(1)) {
        Some(names) if number > 0 => Named::Static(names),
        _ => Named::Static(&[]),
    }
}

/// Arguments that were collected.
fn collected<'a, 't>(of: &'a Collected<'t>) -> Arguments<'a, 't> {
    Arguments { pos: &of.pos, values: &of.values, names: Named::Dynamic(&of.names) }
}
