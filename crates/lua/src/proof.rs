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

use std::cell::{Cell, RefCell};

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
/// Functions within functions.
const DEPTH_MAX: usize = 20;

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
            Uses(uses.0 & c.uses[usize::from(is == Some(&c.text))].0)
        })
    }
}

/// A set of declared keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses(u32);

impl Uses {
    /// From this number on, keys are not told apart.
    const TOLD: u16 = 31;
    const ALL: Self = Self(u32::MAX);

    fn of(v: Value) -> Self {
        match v {
            Value::KeyAt(n) => Self(1 << n),
            _ => Self::ALL,
        }
    }

    /// Whether key number `n` is among them; the first is number 1.
    #[inline]
    pub fn has(self, n: usize) -> bool {
        n >= usize::from(Self::TOLD) || self.0 >> n & 1 != 0
    }
}

/// A value that a script compares with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Key(u16),
    Argument(u16),
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
                    // GETGLOBAL
                    5 => {
                        let name = p.constants.get(i.bx()).and_then(Constant::text);
                        name.is_some_and(|n| !REFUSED.contains(&n))
                    }
                    // SETGLOBAL
                    7 => false,
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
                    // GETGLOBAL
                    5 => p.constants.get(i.bx()).and_then(Constant::text),
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
                    n.op() == 6
                        && n.a() == i.a()
                        && n.b() == i.a()
                        && constant.and_then(Constant::text).is_some()
                })
            })
    }
    let mut r = Reader { bytes: dump };
    r.header().and_then(|()| r.function(0)).is_some_and(|main| reads(&main, names))
}

// ---- the compiled form of Lua 5.1 ------------------------------------------------------------------

struct Proto {
    upvalues: u8,
    params: u8,
    registers: u8,
    code: Vec<u32>,
    constants: Vec<Constant>,
    inner: Vec<Proto>,
}

enum Constant {
    Text(Vec<u8>),
    Number(f64),
    Other,
}

impl Constant {
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Proto {
    /// Whether the function, or one within it, assigns to its closure's variable `n`.
    fn assigns(&self, n: usize) -> bool {
        self.code.iter().enumerate().any(|(pc, word)| {
            let i = Instruction(*word);
            match i.op() {
                // SETUPVAL
                8 => i.b() == n,
                // CLOSURE, and an instruction for each variable behind it: GETUPVAL
                36 => self.inner.get(i.bx()).is_some_and(|inner| {
                    let handed = self.code.iter().skip(pc + 1).take(inner.upvalues.into());
                    handed.enumerate().any(|(k, word)| {
                        let from = Instruction(*word);
                        from.op() == 4 && from.b() == n && inner.assigns(k)
                    })
                }),
                _ => false,
            }
        })
    }

    /// An operand that is a constant whole number, from 1 on.
    fn index(&self, x: usize) -> Option<u16> {
        match self.constants.get(x.checked_sub(256)?)? {
            Constant::Number(n) if n.trunc() == *n && (1.0..1000.0).contains(n) => Some(*n as u16),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn int(&mut self) -> Option<usize> {
        let b = self.take(4)?;
        usize::try_from(i32::from_ne_bytes([b[0], b[1], b[2], b[3]])).ok()
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let n = usize::from_ne_bytes(*self.take(size_of::<usize>())?.first_chunk()?);
        let text = self.take(n)?;
        Some(text.split_last().map_or(&[][..], |(_, text)| text))
    }

    fn header(&mut self) -> Option<()> {
        let h = self.take(12)?;
        // Version 5.1, sizes of int, size_t, instruction and number, and that numbers are floats.
        let sizes = [4, size_of::<usize>() as u8, 4, 8, 0];
        (h[..5] == *b"\x1bLua\x51" && h[7..12] == sizes).then_some(())
    }

    fn function(&mut self, depth: usize) -> Option<Proto> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.string()?;
        self.int()?;
        self.int()?;
        let [upvalues, params, _vararg, registers] = *self.take(4)?.first_chunk()?;
        let n = self.int()?;
        let code = self
            .take(n.checked_mul(4)?)?
            .chunks_exact(4)
            .map(|c| u32::from_ne_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        let mut constants = Vec::new();
        for _ in 0..self.int()? {
            constants.push(match self.byte()? {
                0 => Constant::Other,
                1 => self.byte().map(|_| Constant::Other)?,
                3 => Constant::Number(f64::from_ne_bytes(*self.take(8)?.first_chunk()?)),
                4 => Constant::Text(self.string()?.to_vec()),
                _ => return None,
            });
        }
        let mut inner = Vec::new();
        for _ in 0..self.int()? {
            inner.push(self.function(depth + 1)?);
        }
        let lines = self.int()?;
        self.take(lines.checked_mul(4)?)?;
        for _ in 0..self.int()? {
            self.string()?;
            self.int()?;
            self.int()?;
        }
        for _ in 0..self.int()? {
            self.string()?;
        }
        Some(Proto { upvalues, params, registers, code, constants, inner })
    }
}

// ---- abstract interpretation -----------------------------------------------------------------------

/// The knowledge about a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// Nothing was put there yet.
    Unset,
    /// Neither of those below.
    Other,
    /// A text: this constant.
    Text(u16),
    /// An element of the table of keys.
    Key,
    /// This element of it.
    KeyAt(u16),
    /// The table of keys.
    Keys,
    /// The table of arguments. Unlike those that follow it may get out of sight; then nothing is known
    /// of its elements.
    Argv,
    /// This element of it.
    Argument(u16),
    /// A function that reads its arguments, and no more.
    Reader,
    /// The library.
    Redis,
    /// `redis.call` or `redis.pcall`.
    Call,
    /// `ipairs`.
    Ipairs,
    /// The first value that `ipairs` returns.
    Iterator,
    /// From here on, an unknown number of other values.
    Open,
    /// Maybe something that must not get out of sight, maybe not.
    Unclear,
}

impl Value {
    /// Whether it must stay in sight.
    fn is_guarded(self) -> bool {
        matches!(self, Self::Keys | Self::Redis | Self::Call | Self::Unclear)
    }

    /// What another variable gets with it. Nothing was put there that is seen here, but a closure may
    /// have.
    fn copied(self) -> Self {
        if self == Self::Unset { Self::Other } else { self }
    }

    fn is_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyAt(_))
    }

    fn join(self, other: Self, escaped: &Cell<bool>) -> Self {
        if self != other && [self, other].contains(&Self::Argv) {
            escaped.set(true);
        }
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Unset, b) => b,
            (a, Self::Unset) => a,
            (a, b) if a.is_guarded() || b.is_guarded() => Self::Unclear,
            (a, b) if a.is_key() && b.is_key() => Self::Key,
            _ => Self::Other,
        }
    }
}

struct Prover<'r> {
    rule: &'r dyn Fn(&[u8]) -> Rule,
    steps: usize,
    takes_keys: bool,
    /// The table of arguments has got out of sight.
    escaped: &'r Cell<bool>,
    /// Arguments that are called as commands.
    commands: RefCell<Vec<usize>>,
    /// Keys that commands are called with.
    uses: Cell<Uses>,
    /// Values that are compared with constants.
    compared: RefCell<Vec<(Operand, Vec<u8>)>>,
    /// The outcome of one of these comparisons that is taken for granted.
    assumed: Option<(Operand, &'r [u8], bool)>,
}

type Registers = Vec<Value>;

/// Globals with which a script could get at the others, or run code that is not seen here.
const REFUSED: [&[u8]; 7] =
    [b"_G", b"getfenv", b"setfenv", b"load", b"loadstring", b"debug", b"newproxy"];

impl Prover<'_> {
    /// Interprets a function; none when it does not pass.
    fn function(
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
            if i.op() != 36 {
                continue;
            }
            let inner = p.inner.get(i.bx())?;
            let mut up = Vec::new();
            for k in 1..=usize::from(inner.upvalues) {
                let c = Instruction(*p.code.get(pc + k)?);
                up.push(match c.op() {
                    0 => {
                        let v = *regs.get(c.b())?;
                        // Each looks at all of the code.
                        self.steps += p.code.len() / 64;
                        self.stays(p, &at, c.b(), v, pc, inner.assigns(k - 1))?;
                        v
                    }
                    4 => *upvalues.get(c.b())?,
                    _ => return None,
                });
            }
            // A constant's number means nothing in another function, and an unset variable may be
            // set by the time that the function runs.
            for v in &mut up {
                if matches!(v, Value::Text(_) | Value::Unset) {
                    *v = Value::Other;
                }
            }
            if up.contains(&Value::Unclear) {
                return None;
            }
            self.function(inner, &up, [Value::Other; 2], depth + 1)?;
        }
        Some(())
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
            let target = if matches!(i.op(), 22 | 31 | 32) { i.jump(at)? } else { return None };
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

    #[expect(clippy::too_many_lines, reason = "one arm per instruction")]
    fn step(
        &mut self,
        p: &Proto,
        upvalues: &[Value],
        pc: usize,
        mut r: Registers,
        work: &mut Vec<(usize, Registers)>,
    ) -> Option<()> {
        let i = Instruction(*p.code.get(pc)?);
        let (a, b, c) = (i.a(), i.b(), i.c());
        // A constant is never guarded.
        let rk =
            |r: &Registers, x: usize| if x < 256 { r.get(x).copied() } else { Some(Value::Other) };
        let set = |r: &mut Registers, x: usize, v: Value| r.get_mut(x).map(|to| *to = v);
        let escaped = self.escaped;
        let plain = |v: Value| {
            if v == Value::Argv {
                escaped.set(true);
            }
            (!v.is_guarded()).then_some(())
        };
        let mut next = pc + 1;
        match i.op() {
            // MOVE
            0 => {
                let v = r.get(b)?.copied();
                set(&mut r, a, v)?;
            }
            // LOADK
            1 => {
                let text = p.constants.get(i.bx())?.text().is_some();
                let v =
                    u16::try_from(i.bx()).ok().filter(|_| text).map_or(Value::Other, Value::Text);
                set(&mut r, a, v)?;
            }
            // LOADBOOL
            2 => {
                set(&mut r, a, Value::Other)?;
                next += usize::from(c != 0);
            }
            // LOADNIL
            3 => {
                for x in a..=b {
                    set(&mut r, x, Value::Other)?;
                }
            }
            // GETUPVAL
            4 => {
                let v = upvalues.get(b)?.copied();
                set(&mut r, a, v)?;
            }
            // GETGLOBAL
            5 => {
                let name = p.constants.get(i.bx())?.text()?;
                if REFUSED.contains(&name) {
                    return None;
                }
                let v = match name {
                    b"KEYS" if !self.takes_keys => Value::Keys,
                    b"ARGV" if !self.takes_keys => Value::Argv,
                    b"redis" => Value::Redis,
                    b"unpack" | b"tonumber" | b"tostring" | b"type" => Value::Reader,
                    b"ipairs" => Value::Ipairs,
                    _ => Value::Other,
                };
                set(&mut r, a, v)?;
            }
            // GETTABLE
            6 => {
                let v = match *r.get(b)? {
                    Value::Keys => {
                        plain(rk(&r, c)?)?;
                        match p.index(c) {
                            Some(n) if n < Uses::TOLD => Value::KeyAt(n),
                            _ => Value::Key,
                        }
                    }
                    Value::Argv => {
                        plain(rk(&r, c)?)?;
                        p.index(c).map_or(Value::Other, Value::Argument)
                    }
                    Value::Redis => {
                        let name = self.text(p, &r, c)?;
                        if matches!(name, b"call" | b"pcall") { Value::Call } else { Value::Other }
                    }
                    Value::Call | Value::Unclear => return None,
                    _ => {
                        plain(rk(&r, c)?)?;
                        Value::Other
                    }
                };
                set(&mut r, a, v)?;
            }
            // SETGLOBAL
            7 => return None,
            // SETUPVAL
            8 => {
                plain(*r.get(a)?)?;
                let old = *upvalues.get(b)?;
                plain(old)?;
                if !matches!(old, Value::Other | Value::Unset | Value::Reader) {
                    return None;
                }
            }
            // SETTABLE
            9 => {
                plain(*r.get(a)?)?;
                plain(rk(&r, b)?)?;
                plain(rk(&r, c)?)?;
            }
            // NEWTABLE
            10 => set(&mut r, a, Value::Other)?,
            // SELF
            11 => {
                let v = *r.get(b)?;
                plain(v)?;
                set(&mut r, a + 1, v)?;
                set(&mut r, a, Value::Other)?;
            }
            // Arithmetic; the other operand's metatable may have a function for it.
            12..=17 => {
                plain(rk(&r, b)?)?;
                plain(rk(&r, c)?)?;
                set(&mut r, a, Value::Other)?;
            }
            // UNM, NOT, LEN: guarded values have no metatable that defines these.
            18..=20 => set(&mut r, a, Value::Other)?,
            // CONCAT, which is like arithmetic.
            21 => {
                for x in b..=c {
                    plain(*r.get(x)?)?;
                }
                set(&mut r, a, Value::Other)?;
            }
            // JMP
            22 => next = i.jump(pc)?,
            // EQ
            23 => match self.outcome(p, &r, b, c) {
                // The next instruction is skipped unless the outcome is the one that this asks for.
                Some(is) if is != (a != 0) => next = pc + 2,
                Some(_) => {}
                None => work.push((pc + 2, r.clone())),
            },
            // LT, LE (functions for these belong to both operands, or are not called), TEST
            24..=26 => work.push((pc + 2, r.clone())),
            // TESTSET
            27 => {
                work.push((pc + 2, r.clone()));
                let v = r.get(b)?.copied();
                set(&mut r, a, v)?;
            }
            // CALL, TAILCALL
            28 | 29 => {
                let results = self.call(p, &r, a, b)?;
                r.iter_mut().skip(a + 1).for_each(|v| *v = Value::Unset);
                if i.op() == 29 || c == 0 {
                    // The table of keys would be one of many.
                    if results == Value::Keys {
                        return None;
                    }
                    set(&mut r, a, Value::Open)?;
                } else {
                    for x in a..a + c - 1 {
                        set(&mut r, x, Value::Other)?;
                    }
                    // ipairs(KEYS) returns its iterator, the table and 0.
                    if results == Value::Keys && c >= 3 {
                        set(&mut r, a, Value::Iterator)?;
                        set(&mut r, a + 1, Value::Keys)?;
                    }
                }
            }
            // RETURN
            30 => {
                let until = if b == 0 { r.len() } else { a + b - 1 };
                for x in a..until {
                    match *r.get(x)? {
                        Value::Open => break,
                        v => plain(v)?,
                    }
                }
                return Some(());
            }
            // FORLOOP
            31 => {
                set(&mut r, a, Value::Other)?;
                work.push((pc + 1, r.clone()));
                set(&mut r, a + 3, Value::Other)?;
                next = i.jump(pc)?;
            }
            // FORPREP
            32 => next = i.jump(pc)?,
            // TFORLOOP
            33 => {
                let keys = match (*r.get(a)?, *r.get(a + 1)?) {
                    (Value::Iterator, Value::Keys) => true,
                    (f, state) => {
                        plain(f)?;
                        plain(state)?;
                        false
                    }
                };
                plain(*r.get(a + 2)?)?;
                work.push((pc + 2, r.clone()));
                for x in 0..c {
                    set(&mut r, a + 3 + x, Value::Other)?;
                }
                set(&mut r, a + 2, Value::Other)?;
                if keys && c >= 2 {
                    set(&mut r, a + 4, Value::Key)?;
                }
            }
            // SETLIST
            34 => {
                plain(*r.get(a)?)?;
                let until = if b == 0 { r.len() } else { a + b + 1 };
                for x in a + 1..until {
                    match *r.get(x)? {
                        Value::Open => break,
                        v => plain(v)?,
                    }
                }
                // The next word is a number, not an instruction.
                next += usize::from(c == 0);
            }
            // CLOSE
            35 => {}
            // CLOSURE
            36 => {
                let inner = p.inner.get(i.bx())?;
                set(&mut r, a, Value::Other)?;
                next += usize::from(inner.upvalues);
            }
            // VARARG
            37 => {
                if b == 0 {
                    set(&mut r, a, Value::Open)?;
                } else {
                    for x in a..a + b - 1 {
                        set(&mut r, x, Value::Other)?;
                    }
                }
            }
            _ => return None,
        }
        work.push((next, r));
        Some(())
    }

    /// The outcome of a comparison, if it is taken for granted; otherwise the comparison is noted, if
    /// its outcome can be known before the script runs.
    fn outcome(&self, p: &Proto, r: &Registers, b: usize, c: usize) -> Option<bool> {
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
    fn text<'p>(&self, p: &'p Proto, r: &Registers, x: usize) -> Option<&'p [u8]> {
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
    fn call(&self, p: &Proto, r: &Registers, a: usize, b: usize) -> Option<Value> {
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
                match (self.rule)(name) {
                    Rule::Unknown => None,
                    Rule::None => Some(Value::Other),
                    Rule::Range { first, last, step } => {
                        let last = match usize::try_from(last) {
                            Ok(last) => last,
                            // Where the arguments end is not known.
                            Err(_) if open.is_some() => return None,
                            Err(_) => known.len().checked_sub(last.unsigned_abs() as usize)?,
                        };
                        for i in (first..=last).step_by(step.max(1)) {
                            // One that is missing is the command's error, unless more may follow.
                            match known.get(i) {
                                Some(v) if v.is_key() => {
                                    let uses = self.uses.get().0 | Uses::of(*v).0;
                                    self.uses.set(Uses(uses));
                                }
                                None if open.is_none() => {}
                                _ => return None,
                            }
                        }
                        Some(Value::Other)
                    }
                }
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
}

/// An instruction of Lua 5.1.
#[derive(Clone, Copy)]
struct Instruction(u32);

impl Instruction {
    fn op(self) -> u32 {
        self.0 & 63
    }

    fn a(self) -> usize {
        (self.0 >> 6 & 255) as usize
    }

    fn b(self) -> usize {
        (self.0 >> 23) as usize
    }

    fn c(self) -> usize {
        (self.0 >> 14 & 511) as usize
    }

    fn bx(self) -> usize {
        (self.0 >> 14) as usize
    }

    /// Where a jump at `pc` goes.
    fn jump(self, pc: usize) -> Option<usize> {
        (pc + 1 + self.bx()).checked_sub(131_071)
    }
}
