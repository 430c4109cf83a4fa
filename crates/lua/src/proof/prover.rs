//! The abstract interpretation: every path through a function, each instruction with what may be in its registers.

use std::cell::{Cell, RefCell};

use super::bytecode::{DEPTH_MAX, Instruction, Proto, op};
use super::value::{Operand, Registers, Uses, Value};

/// The keys of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The keys are not known, or depend on the arguments, or the command needs more than keys.
    Unknown,
    /// The command has no keys, and looks at none.
    None,
    /// Arguments `first`, `first + step` … up to `last`, which counts from the end when negative (-1
    /// is the last argument). The command's name is argument 0.
    Range {
        /// The first key.
        first: usize,
        /// The last key.
        last: i64,
        /// Distance between keys.
        step: usize,
    },
}

/// Comparisons whose outcomes are tried.
const CONDITIONS_MAX: usize = 8;
/// Steps of the interpretation, after which a script counts as not understood.
const STEPS_MAX: usize = 200_000;

/// One interpretation of a script.
pub(super) struct Prover<'r> {
    pub(super) rule: &'r dyn Fn(&[u8]) -> Rule,
    pub(super) steps: usize,
    pub(super) takes_keys: bool,
    /// The table of arguments has got out of sight.
    pub(super) escaped: &'r Cell<bool>,
    /// Arguments that are called as commands.
    pub(super) commands: RefCell<Vec<usize>>,
    /// Keys that commands are called with.
    pub(super) uses: Cell<Uses>,
    /// Values that are compared with constants.
    pub(super) compared: RefCell<Vec<(Operand, Vec<u8>)>>,
    /// The outcome of one of these comparisons that is taken for granted.
    pub(super) assumed: Option<(Operand, &'r [u8], bool)>,
}

impl Prover<'_> {
    /// Interprets a function; none when it does not pass.
    pub(super) fn function(
        &mut self,
        p: &Proto,
        upvalues: &[Value],
        params: [Value; 2],
        depth: usize,
    ) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut entry = vec![Value::Unset; usize::from(p.registers) + 2];
        for (i, v) in entry.iter_mut().take(usize::from(p.params)).enumerate() {
            *v = params.get(i).copied().unwrap_or(Value::Other);
        }
        let mut at: Vec<Option<Registers>> = vec![None; p.code.len()];
        let mut work = vec![(0usize, entry)];
        while let Some((pc, regs)) = work.pop() {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            let slot = at.get_mut(pc)?;
            let merged = match slot {
                None => regs,
                Some(old) => {
                    let new: Registers =
                        old.iter().zip(&regs).map(|(a, b)| a.join(*b, self.escaped)).collect();
                    if new == *old {
                        continue;
                    }
                    new
                }
            };
            *slot = Some(merged.clone());
            self.step(p, upvalues, pc, merged, &mut work)?;
        }
        // With everything known, the functions inside.
        for (pc, regs) in at.iter().enumerate() {
            let Some(regs) = regs else { continue };
            let i = Instruction(*p.code.get(pc)?);
            if i.op() == op::CLOSURE {
                let inner = p.inner.get(i.bx())?;
                let variables = self.variables(p, upvalues, (pc, regs), &at, inner)?;
                self.function(inner, &variables, [Value::Other; 2], depth + 1)?;
            }
        }
        Some(())
    }

    /// The variables of a closure of `inner` that is made at `pc`, where the registers hold `regs`. `at` has the
    /// registers at each instruction of `p`.
    fn variables(
        &mut self,
        p: &Proto,
        upvalues: &[Value],
        (pc, regs): (usize, &Registers),
        at: &[Option<Registers>],
        inner: &Proto,
    ) -> Option<Vec<Value>> {
        let mut variables = Vec::new();
        for k in 1..=usize::from(inner.upvalues) {
            let c = Instruction(*p.code.get(pc + k)?);
            let v = match c.op() {
                op::MOVE => {
                    let v = *regs.get(c.b())?;
                    // Each looks at all of the code.
                    self.steps += p.code.len() / 64;
                    self.stays(p, at, c.b(), v, pc, inner.assigns(k - 1))?;
                    v
                }
                op::GETUPVAL => *upvalues.get(c.b())?,
                _ => return None,
            };
            variables.push(match v {
                // A constant's number means nothing in another function, and an unset variable may be
                // set by the time that the function runs.
                Value::Text(_) | Value::Unset => Value::Other,
                Value::Unclear => return None,
                v => v,
            });
        }
        Some(variables)
    }

    /// A variable of a closure holds `v` when the closure is made at `pc`: whatever may run after
    /// that must not make it anything guarded, nor anything else if more is known of it than that it
    /// is some value. When the closure assigns to it (`assigned`), it may be changed by any call from
    /// there on, so nothing at all may be known of it.
    fn stays(
        &self,
        p: &Proto,
        at: &[Option<Registers>],
        register: usize,
        v: Value,
        pc: usize,
        assigned: bool,
    ) -> Option<()> {
        let unknown = |v| matches!(v, Value::Other | Value::Unset | Value::Argv);
        if assigned && !unknown(v) {
            return None;
        }
        // The later instructions, and all of the loops around this one.
        let mut from = pc + 1;
        let back = |(at, word): (usize, &u32)| {
            let i = Instruction(*word);
            let target = if matches!(i.op(), op::JMP | op::FORLOOP | op::FORPREP) {
                i.jump(at)?
            } else {
                return None;
            };
            (target <= at).then_some((at, target))
        };
        let jumps: Vec<_> = p.code.iter().enumerate().filter_map(back).collect();
        while let Some((_, target)) =
            jumps.iter().find(|(at, target)| *at >= from.min(pc) && *target < from)
        {
            from = *target;
        }
        for regs in at.iter().skip(from).flatten() {
            let now = *regs.get(register)?;
            if now == v || now == Value::Unset {
                continue;
            }
            if v == Value::Argv || now == Value::Argv {
                self.escaped.set(true);
            }
            if now.is_guarded() || assigned && !unknown(now) {
                return None;
            }
            if !matches!(v, Value::Other | Value::Unset | Value::Text(_) | Value::Argv) {
                return None;
            }
        }
        Some(())
    }

    /// The outcome of a comparison, if it is taken for granted; otherwise the comparison is noted, if
    /// its outcome can be known before the script runs.
    pub(super) fn outcome(&self, p: &Proto, r: &Registers, b: usize, c: usize) -> Option<bool> {
        let operand = |x: usize| match r.get(x).filter(|_| x < 256) {
            Some(Value::KeyAt(n)) => Some(Operand::Key(*n)),
            Some(Value::Argument(n)) => Some(Operand::Argument(*n)),
            _ => None,
        };
        let (what, text) = match (operand(b), operand(c)) {
            (Some(what), None) => (what, self.text(p, r, c)?),
            (None, Some(what)) => (what, self.text(p, r, b)?),
            _ => return None,
        };
        if let Some((assumed, its, is)) = self.assumed {
            return (assumed == what && its == text).then_some(is);
        }
        let mut compared = self.compared.borrow_mut();
        let known = compared.iter().any(|(its, with)| *its == what && with == text);
        if !known && compared.len() < CONDITIONS_MAX {
            compared.push((what, text.to_vec()));
        }
        None
    }

    /// A text that is known: a constant, or a register that holds one.
    pub(super) fn text<'p>(&self, p: &'p Proto, r: &Registers, x: usize) -> Option<&'p [u8]> {
        let k = if x < 256 {
            match *r.get(x)? {
                Value::Text(k) => usize::from(k),
                _ => return None,
            }
        } else {
            x - 256
        };
        p.constants.get(k)?.text()
    }

    /// Checks a call of the function in register `a`. Returns `Keys` for `ipairs(KEYS)`.
    pub(super) fn call(&self, p: &Proto, r: &Registers, a: usize, b: usize) -> Option<Value> {
        let until = if b == 0 { r.len() } else { a + b };
        let args = r.get(a + 1..until)?;
        let open = args.iter().position(|v| *v == Value::Open);
        let known = &args[..open.unwrap_or(args.len())];
        if b == 0 && open.is_none() {
            return None;
        }
        match *r.get(a)? {
            Value::Call => {
                if known.iter().any(|v| v.is_guarded()) {
                    return None;
                }
                if let Some(Value::Argument(n)) = known.first() {
                    self.commands.borrow_mut().push(usize::from(*n));
                    return Some(Value::Other);
                }
                let name = self.text(p, r, a + 1).filter(|_| !known.is_empty())?;
                self.command(name, known, open.is_some())
            }
            Value::Reader if known.iter().all(|v| !v.is_guarded()) => Some(Value::Other),
            Value::Ipairs if known == [Value::Keys] && open.is_none() => Some(Value::Keys),
            v if v.is_guarded() => None,
            _ => {
                if known.contains(&Value::Argv) {
                    self.escaped.set(true);
                }
                known.iter().all(|v| !v.is_guarded()).then_some(Value::Other)
            }
        }
    }

    /// Checks a call of command `name` with these arguments, the name included, behind which there are more if
    /// they are `open`.
    fn command(&self, name: &[u8], known: &[Value], open: bool) -> Option<Value> {
        let (first, last, step) = match (self.rule)(name) {
            Rule::Unknown => return None,
            Rule::None => return Some(Value::Other),
            Rule::Range { first, last, step } => (first, last, step),
        };
        let last = match usize::try_from(last) {
            Ok(last) => last,
            // Where the arguments end is not known.
            Err(_) if open => return None,
            Err(_) => known.len().checked_sub(last.unsigned_abs() as usize)?,
        };
        for i in (first..=last).step_by(step.max(1)) {
            // One that is missing is the command's error, unless more may follow.
            match known.get(i) {
                Some(v) if v.is_key() => self.uses.set(self.uses.get().or(Uses::of(*v))),
                None if !open => {}
                _ => return None,
            }
        }
        Some(Value::Other)
    }
}
