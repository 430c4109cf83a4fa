//! The state of a loop: the variable `loop` of its body.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::compile::Code;
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::meter::Meter;
use crate::value::{List, Value};

/// The names that `loop` has.
pub(crate) const NAMES: &[&str] = &[
    "index0",
    "index",
    "length",
    "revindex",
    "revindex0",
    "first",
    "last",
    "depth",
    "depth0",
    "previtem",
    "nextitem",
];

/// Where a recursive loop begins again.
#[derive(Clone, Copy)]
pub(crate) struct Recurse<'t> {
    pub(crate) code: &'t Code,
    pub(crate) pc: usize,
    pub(crate) escape: Escape,
}

/// See the module's text.
pub struct Loop<'t> {
    items: Rc<List<'t>>,
    /// Items taken so far; the present one is the one before.
    taken: Cell<usize>,
    depth: usize,
    last: RefCell<Option<Vec<Value<'t>>>>,
    pub(crate) recurse: Option<Recurse<'t>>,
}

impl<'t> Loop<'t> {
    pub(crate) fn new(items: Rc<List<'t>>, depth: usize, recurse: Option<Recurse<'t>>) -> Rc<Self> {
        let (taken, last) = (Cell::new(0), RefCell::default());
        Rc::new(Self { items, taken, depth, last, recurse })
    }

    /// How deep it is in recursive loops.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The next item.
    #[inline]
    pub(crate) fn next(&self) -> Option<Value<'t>> {
        let at = self.taken.get();
        self.taken.set(at + 1);
        self.items.get(at).cloned()
    }

    /// Whether there was no item at all; asked at its end.
    pub(crate) fn was_empty(&self) -> bool {
        self.taken.get() == 1
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'t>> {
        let Some(at) = self.taken.get().checked_sub(1) else { return Some(Value::Undefined) };
        let len = self.items.known_len();
        let of_len = |f: fn(usize, usize) -> usize| {
            len.map_or(Value::Undefined, |len| Value::from(f(len, at)))
        };
        let item = |at: Option<usize>| {
            at.and_then(|at| self.items.get(at)).cloned().unwrap_or(Value::Undefined)
        };
        Some(match name {
            "index" => Value::from(at + 1),
            "index0" => Value::from(at),
            "length" => of_len(|len, _| len),
            "revindex" => of_len(usize::saturating_sub),
            "revindex0" => of_len(|len, at| len.saturating_sub(at).saturating_sub(1)),
            "first" => Value::Bool(at == 0),
            "last" => Value::Bool(len.is_some_and(|len| len == 0 || at == len - 1)),
            "depth" => Value::from(self.depth + 1),
            "depth0" => Value::from(self.depth),
            "previtem" => item(at.checked_sub(1)),
            "nextitem" => item(at.checked_add(1)),
            _ => return None,
        })
    }

    /// How it is shown.
    pub(crate) fn show(&self) -> String {
        let at = self.taken.get().wrapping_sub(1);
        match self.items.known_len() {
            Some(len) => format!("<loop {at}/{len}>"),
            None => format!("<loop {at}/?>"),
        }
    }

    /// `loop.cycle` and `loop.changed`; none: there is no such method.
    pub(crate) fn call(
        &self,
        name: &str,
        args: &[Value<'t>],
        meter: &Meter,
    ) -> Result<Option<Value<'t>>> {
        match name {
            "cycle" => {
                if args.is_empty() {
                    return Err(Error::new(Kind::Arguments, "loop.cycle() takes values"));
                }
                let at = self.taken.get().wrapping_sub(1);
                Ok(args.get(at % args.len()).cloned())
            }
            "changed" => {
                if args.iter().any(Value::is_live) {
                    return Err(Error::operation(
                        "loop.changed() cannot keep a namespace or a loop",
                    ));
                }
                let mut last = self.last.borrow_mut();
                let mut same = last.as_ref().is_some_and(|last| last.len() == args.len());
                for (a, b) in last.iter().flatten().zip(args) {
                    same = same && crate::compare::equal(a, b, meter)?;
                }
                if !same {
                    meter.values(args.len())?;
                    *last = Some(args.to_vec());
                }
                Ok(Some(Value::Bool(!same)))
            }
            _ => Ok(None),
        }
    }
}
