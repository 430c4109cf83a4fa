//! What one instruction does to the knowledge about the registers, and which instructions follow it.

use super::bytecode::{Instruction, Proto, op};
use super::prover::Prover;
use super::value::{Registers, Uses, Value};

/// Globals with which a script could get at the others, or run code that is not seen here.
pub(super) const REFUSED: [&[u8]; 7] =
    [b"_G", b"getfenv", b"setfenv", b"load", b"loadstring", b"debug", b"newproxy"];

impl Prover<'_> {
    /// Interprets the instruction at `pc`; `work` gets the instructions that may follow, with what the registers
    /// hold then. None when the script does not pass.
    pub(super) fn step(
        &self,
        p: &Proto,
        upvalues: &[Value],
        pc: usize,
        mut r: Registers,
        work: &mut Vec<(usize, Registers)>,
    ) -> Option<()> {
        let i = Instruction(*p.code.get(pc)?);
        let (a, b, c) = (i.a(), i.b(), i.c());
        let mut next = pc + 1;
        match i.op() {
            op::LOADBOOL => {
                set(&mut r, a, Value::Other)?;
                next += usize::from(c != 0);
            }
            op::JMP | op::FORPREP => next = i.jump(pc)?,
            op::EQ => match self.outcome(p, &r, b, c) {
                // The next instruction is skipped unless the outcome is the one that this asks for.
                Some(is) if is != (a != 0) => next = pc + 2,
                Some(_) => {}
                None => work.push((pc + 2, r.clone())),
            },
            // Functions for these comparisons belong to both operands, or are not called.
            op::LT | op::LE | op::TEST => work.push((pc + 2, r.clone())),
            op::TESTSET => {
                work.push((pc + 2, r.clone()));
                let v = r.get(b)?.copied();
                set(&mut r, a, v)?;
            }
            op::RETURN => {
                let until = if b == 0 { r.len() } else { a + b - 1 };
                return self.are_plain(&r, a, until);
            }
            op::FORLOOP => {
                set(&mut r, a, Value::Other)?;
                work.push((pc + 1, r.clone()));
                set(&mut r, a + 3, Value::Other)?;
                next = i.jump(pc)?;
            }
            op::TFORLOOP => {
                let keys = self.iterates_over_keys(&r, a)?;
                work.push((pc + 2, r.clone()));
                for x in 0..c {
                    set(&mut r, a + 3 + x, Value::Other)?;
                }
                set(&mut r, a + 2, Value::Other)?;
                if keys && c >= 2 {
                    set(&mut r, a + 4, Value::Key)?;
                }
            }
            op::SETLIST => {
                self.is_plain(*r.get(a)?)?;
                let until = if b == 0 { r.len() } else { a + b + 1 };
                self.are_plain(&r, a + 1, until)?;
                // The next word is a number, not an instruction.
                next += usize::from(c == 0);
            }
            op::CLOSURE => {
                let inner = p.inner.get(i.bx())?;
                set(&mut r, a, Value::Other)?;
                next += usize::from(inner.upvalues);
            }
            _ => self.compute(p, upvalues, i, &mut r)?,
        }
        work.push((next, r));
        Some(())
    }

    /// Interprets an instruction that is always followed by the next one.
    fn compute(
        &self,
        p: &Proto,
        upvalues: &[Value],
        i: Instruction,
        r: &mut Registers,
    ) -> Option<()> {
        let (a, b, c) = (i.a(), i.b(), i.c());
        let v = match i.op() {
            op::MOVE => r.get(b)?.copied(),
            op::LOADK => {
                let text = p.constants.get(i.bx())?.text().is_some();
                u16::try_from(i.bx()).ok().filter(|_| text).map_or(Value::Other, Value::Text)
            }
            op::LOADNIL => return set_all(r, a, b + 1),
            op::GETUPVAL => upvalues.get(b)?.copied(),
            op::GETGLOBAL => self.global(p.constants.get(i.bx())?.text()?)?,
            op::GETTABLE => self.element(p, r, b, c)?,
            op::SETUPVAL => {
                self.is_plain(*r.get(a)?)?;
                let old = *upvalues.get(b)?;
                self.is_plain(old)?;
                return matches!(old, Value::Other | Value::Unset | Value::Reader).then_some(());
            }
            op::SETTABLE => {
                self.is_plain(*r.get(a)?)?;
                self.is_plain(operand(r, b)?)?;
                return self.is_plain(operand(r, c)?);
            }
            op::SELF => {
                let v = *r.get(b)?;
                self.is_plain(v)?;
                set(r, a + 1, v)?;
                Value::Other
            }
            // The other operand's metatable may have a function for it.
            op::ADD..=op::POW => {
                self.is_plain(operand(r, b)?)?;
                self.is_plain(operand(r, c)?)?;
                Value::Other
            }
            // Guarded values have no metatable that defines the last three.
            op::NEWTABLE | op::UNM | op::NOT | op::LEN => Value::Other,
            // Like arithmetic.
            op::CONCAT => {
                for x in b..=c {
                    self.is_plain(*r.get(x)?)?;
                }
                Value::Other
            }
            op::CALL | op::TAILCALL => return self.call_with_results(p, i, r),
            op::CLOSE => return Some(()),
            op::VARARG if b == 0 => Value::Open,
            op::VARARG => return set_all(r, a, a + b - 1),
            // SETGLOBAL, and what no compiler of Lua 5.1 makes.
            _ => return None,
        };
        set(r, a, v)
    }

    /// The value of the global with this name.
    fn global(&self, name: &[u8]) -> Option<Value> {
        if REFUSED.contains(&name) {
            return None;
        }
        Some(match name {
            b"KEYS" if !self.takes_keys => Value::Keys,
            b"ARGV" if !self.takes_keys => Value::Argv,
            b"redis" => Value::Redis,
            b"unpack" | b"tonumber" | b"tostring" | b"type" => Value::Reader,
            b"ipairs" => Value::Ipairs,
            _ => Value::Other,
        })
    }

    /// The element `c` of the table in register `b`.
    fn element(&self, p: &Proto, r: &Registers, b: usize, c: usize) -> Option<Value> {
        Some(match *r.get(b)? {
            Value::Keys => {
                self.is_plain(operand(r, c)?)?;
                match p.index(c) {
                    Some(n) if n < Uses::TOLD => Value::KeyAt(n),
                    _ => Value::Key,
                }
            }
            Value::Argv => {
                self.is_plain(operand(r, c)?)?;
                p.index(c).map_or(Value::Other, Value::Argument)
            }
            Value::Redis => {
                let name = self.text(p, r, c)?;
                if matches!(name, b"call" | b"pcall") { Value::Call } else { Value::Other }
            }
            Value::Call | Value::Unclear => return None,
            _ => {
                self.is_plain(operand(r, c)?)?;
                Value::Other
            }
        })
    }

    /// CALL and TAILCALL, with the registers that get results.
    fn call_with_results(&self, p: &Proto, i: Instruction, r: &mut Registers) -> Option<()> {
        let (a, c) = (i.a(), i.c());
        let results = self.call(p, r, a, i.b())?;
        r.iter_mut().skip(a + 1).for_each(|v| *v = Value::Unset);
        if i.op() == op::TAILCALL || c == 0 {
            // The table of keys would be one of many.
            return if results == Value::Keys { None } else { set(r, a, Value::Open) };
        }
        set_all(r, a, a + c - 1)?;
        // ipairs(KEYS) returns its iterator, the table and 0.
        if results == Value::Keys && c >= 3 {
            set(r, a, Value::Iterator)?;
            set(r, a + 1, Value::Keys)?;
        }
        Some(())
    }

    /// Whether the loop whose iterator is in register `a` goes over the table of keys.
    fn iterates_over_keys(&self, r: &Registers, a: usize) -> Option<bool> {
        let keys = match (*r.get(a)?, *r.get(a + 1)?) {
            (Value::Iterator, Value::Keys) => true,
            (f, state) => {
                self.is_plain(f)?;
                self.is_plain(state)?;
                false
            }
        };
        self.is_plain(*r.get(a + 2)?)?;
        Some(keys)
    }

    /// Checks that a value may get out of sight, and notes it of the table of arguments.
    fn is_plain(&self, v: Value) -> Option<()> {
        if v == Value::Argv {
            self.escaped.set(true);
        }
        (!v.is_guarded()).then_some(())
    }

    /// The same of the registers from `from` up to `until`, which is not included, or to an open end.
    fn are_plain(&self, r: &Registers, from: usize, until: usize) -> Option<()> {
        for x in from..until {
            match *r.get(x)? {
                Value::Open => break,
                v => self.is_plain(v)?,
            }
        }
        Some(())
    }
}

/// The value of an operand that is a register or a constant. A constant is never guarded.
fn operand(r: &Registers, x: usize) -> Option<Value> {
    if x < 256 { r.get(x).copied() } else { Some(Value::Other) }
}

fn set(r: &mut Registers, x: usize, v: Value) -> Option<()> {
    r.get_mut(x).map(|to| *to = v)
}

/// Puts other values into the registers from `from` up to `until`, which is not included.
fn set_all(r: &mut Registers, from: usize, until: usize) -> Option<()> {
    (from..until).try_for_each(|x| set(r, x, Value::Other))
}
