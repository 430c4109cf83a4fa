//! Whether a script can only ever use the keys that its call declares.
//!
//! A script that is known to stay within its declared keys needs the locks of those alone. That has to
//! be certain before it runs: once it has written, it can neither be undone nor wait for further
//! locks without a risk of deadlock. So its compiled code is interpreted abstractly. A script passes
//! when in every call of `redis.call` and `redis.pcall`
//!
//! - the command's name is a constant, and the rule says where its keys are, and
//! - each of those arguments is an element of `KEYS`;
//!
//! or the name is an element of `ARGV`, which then must name a command without keys (Centrifugo's
//! scripts get PUBLISH or SPUBLISH as an argument): that is a *condition*, to be checked before
//! each run;
//!
//! and when neither `redis`, nor `redis.call`, nor `KEYS` can get out of sight: into tables,
//! arguments of other functions, results, or variables of closures that are assigned again. Code that
//! is not understood does not pass. Most scripts in the field (rate limiters, locks, queues,
//! Centrifugo's engine) pass; scripts that compose names of keys rightly do not.

mod bytecode;
mod prover;
mod step;
mod value;

use std::cell::{Cell, RefCell};

pub use prover::Rule;
pub use value::Uses;

use bytecode::{Constant, Instruction, Proto, Reader, op};
use prover::Prover;
use step::REFUSED;
use value::{Operand, Value};

/// A script stays within its declared keys, provided that each of the elements of `ARGV` in `commands`,
/// where there is one, names a command without keys, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The elements, each once; the first is number 1.
    pub commands: Vec<usize>,
    /// Keys that commands may be called with.
    uses: Uses,
    /// The comparisons that narrow these keys down.
    conditions: Vec<Condition>,
}

impl Proof {
    /// The declared keys that commands may be called with, in a call with these keys and arguments:
    /// none other is used, whatever else is in the keyspace.
    pub fn uses<'a>(
        &self,
        key: impl Fn(usize) -> Option<&'a [u8]>,
        argument: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Uses {
        self.conditions.iter().fold(self.uses, |uses, c| {
            let is = match c.what {
                Operand::Key(n) => key(usize::from(n)),
                Operand::Argument(n) => argument(usize::from(n)),
            };
            uses.and(c.uses[usize::from(is == Some(&c.text))])
        })
    }
}

/// A comparison, and the keys that are used when its outcome is false, and when it is true.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    what: Operand,
    text: Vec<u8>,
    uses: [Uses; 2],
}

/// Whether the function with this compiled form passes. `takes_keys`: its parameters are the tables of
/// keys and arguments (a function of a library); otherwise the globals `KEYS` and `ARGV` are.
pub(crate) fn declared_only(
    dump: &[u8],
    takes_keys: bool,
    rule: &dyn Fn(&[u8]) -> Rule,
) -> Option<Proof> {
    let mut r = Reader { bytes: dump };
    let main = r.header().and_then(|()| r.function(0))?;
    if takes_keys && (main.upvalues > 0 || main.params == 0) {
        return None;
    }
    let escaped = Cell::new(false);
    let params = if takes_keys { [Value::Keys, Value::Argv] } else { [Value::Other; 2] };
    let interpret = |assumed: Option<(Operand, &[u8], bool)>| {
        interpret(&main, params, rule, takes_keys, &escaped, assumed)
    };
    let (mut commands, uses, compared) = interpret(None)?;
    // Arguments that may have been changed prove nothing.
    if escaped.get() && !commands.is_empty() {
        return None;
    }
    commands.sort_unstable();
    commands.dedup();
    let mut conditions = Vec::new();
    for (what, text) in compared {
        if escaped.get() && matches!(what, Operand::Argument(_)) {
            continue;
        }
        let under = |is| interpret(Some((what, &text, is))).map_or(uses, |(_, uses, _)| uses);
        let both = [under(false), under(true)];
        if both != [uses; 2] {
            conditions.push(Condition { what, text: text.clone(), uses: both });
        }
    }
    Some(Proof { commands, uses, conditions })
}

/// The results of one interpretation: arguments that are called as commands, keys that are used, and values
/// that are compared with constants.
type Told = (Vec<usize>, Uses, Vec<(Operand, Vec<u8>)>);

fn interpret(
    main: &Proto,
    params: [Value; 2],
    rule: &dyn Fn(&[u8]) -> Rule,
    takes_keys: bool,
    escaped: &Cell<bool>,
    assumed: Option<(Operand, &[u8], bool)>,
) -> Option<Told> {
    let mut p = Prover {
        rule,
        steps: 0,
        takes_keys,
        escaped,
        commands: RefCell::default(),
        uses: Cell::default(),
        compared: RefCell::default(),
        assumed,
    };
    p.function(main, &[], params, 0)?;
    Some((p.commands.into_inner(), p.uses.get(), p.compared.into_inner()))
}

/// Whether the function with this compiled form, and all within it, can neither change a global nor
/// get at the table of the globals.
pub(crate) fn keeps_globals(dump: &[u8]) -> bool {
    fn keeps(p: &Proto) -> bool {
        p.inner.iter().all(keeps)
            && p.code.iter().all(|word| {
                let i = Instruction(*word);
                match i.op() {
                    op::GETGLOBAL => {
                        let name = p.constants.get(i.bx()).and_then(Constant::text);
                        name.is_some_and(|n| !REFUSED.contains(&n))
                    }
                    op::SETGLOBAL => false,
                    _ => true,
                }
            })
    }
    let mut r = Reader { bytes: dump };
    r.header().and_then(|()| r.function(0)).is_some_and(|main| keeps(&main))
}

/// Whether the function with this compiled form, and all within it, only ever takes single elements
/// with constant names out of the global tables `names`, and does nothing else with them.
pub(crate) fn only_reads_from(dump: &[u8], names: &[&str]) -> bool {
    fn reads(p: &Proto, names: &[&str]) -> bool {
        p.inner.iter().all(|inner| reads(inner, names))
            && p.code.iter().enumerate().all(|(pc, word)| {
                let i = Instruction(*word);
                let name = match i.op() {
                    op::GETGLOBAL => p.constants.get(i.bx()).and_then(Constant::text),
                    _ => return true,
                };
                let Some(name) = name else { return false };
                if !names.iter().any(|n| n.as_bytes() == name) {
                    return true;
                }
                // The next instruction is GETTABLE, by a constant, and replaces the table in its
                // register: no other instruction sees it. A jump to that place finds another value.
                let next = p.code.get(pc + 1).map(|word| Instruction(*word));
                next.is_some_and(|n| {
                    let constant = n.c().checked_sub(256).and_then(|k| p.constants.get(k));
                    n.op() == op::GETTABLE
                        && n.a() == i.a()
                        && n.b() == i.a()
                        && constant.and_then(Constant::text).is_some()
                })
            })
    }
    let mut r = Reader { bytes: dump };
    r.header().and_then(|()| r.function(0)).is_some_and(|main| reads(&main, names))
}
