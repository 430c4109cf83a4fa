//! The compiled form of Lua 5.1.

/// Functions within functions.
pub(super) const DEPTH_MAX: usize = 20;

/// Numbers of instructions, under their names in Lua's `lopcodes.h`.
pub(super) mod op {
    pub(crate) const MOVE: u32 = 0;
    pub(crate) const LOADK: u32 = 1;
    pub(crate) const LOADBOOL: u32 = 2;
    pub(crate) const LOADNIL: u32 = 3;
    pub(crate) const GETUPVAL: u32 = 4;
    pub(crate) const GETGLOBAL: u32 = 5;
    pub(crate) const GETTABLE: u32 = 6;
    pub(crate) const SETGLOBAL: u32 = 7;
    pub(crate) const SETUPVAL: u32 = 8;
    pub(crate) const SETTABLE: u32 = 9;
    pub(crate) const NEWTABLE: u32 = 10;
    pub(crate) const SELF: u32 = 11;
    pub(crate) const ADD: u32 = 12;
    pub(crate) const POW: u32 = 17;
    pub(crate) const UNM: u32 = 18;
    pub(crate) const NOT: u32 = 19;
    pub(crate) const LEN: u32 = 20;
    pub(crate) const CONCAT: u32 = 21;
    pub(crate) const JMP: u32 = 22;
    pub(crate) const EQ: u32 = 23;
    pub(crate) const LT: u32 = 24;
    pub(crate) const LE: u32 = 25;
    pub(crate) const TEST: u32 = 26;
    pub(crate) const TESTSET: u32 = 27;
    pub(crate) const CALL: u32 = 28;
    pub(crate) const TAILCALL: u32 = 29;
    pub(crate) const RETURN: u32 = 30;
    pub(crate) const FORLOOP: u32 = 31;
    pub(crate) const FORPREP: u32 = 32;
    pub(crate) const TFORLOOP: u32 = 33;
    pub(crate) const SETLIST: u32 = 34;
    pub(crate) const CLOSE: u32 = 35;
    pub(crate) const CLOSURE: u32 = 36;
    pub(crate) const VARARG: u32 = 37;
}

/// A function.
pub(super) struct Proto {
    pub(super) upvalues: u8,
    pub(super) params: u8,
    pub(super) registers: u8,
    pub(super) code: Vec<u32>,
    pub(super) constants: Vec<Constant>,
    pub(super) inner: Vec<Proto>,
}

/// A constant of a function.
pub(super) enum Constant {
    Text(Vec<u8>),
    Number(f64),
    Other,
}

impl Constant {
    pub(super) fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Proto {
    /// Whether the function, or one within it, assigns to its closure's variable `n`.
    pub(super) fn assigns(&self, n: usize) -> bool {
        self.code.iter().enumerate().any(|(pc, word)| {
            let i = Instruction(*word);
            match i.op() {
                op::SETUPVAL => i.b() == n,
                // Behind it, there is an instruction for each variable.
                op::CLOSURE => self.inner.get(i.bx()).is_some_and(|inner| {
                    let handed = self.code.iter().skip(pc + 1).take(inner.upvalues.into());
                    handed.enumerate().any(|(k, word)| {
                        let from = Instruction(*word);
                        from.op() == op::GETUPVAL && from.b() == n && inner.assigns(k)
                    })
                }),
                _ => false,
            }
        })
    }

    /// An operand that is a constant whole number, from 1 on.
    pub(super) fn index(&self, x: usize) -> Option<u16> {
        match self.constants.get(x.checked_sub(256)?)? {
            Constant::Number(n) if n.trunc() == *n && (1.0..1000.0).contains(n) => Some(*n as u16),
            _ => None,
        }
    }
}

/// Reads what `string.dump` writes; none where it is not understood.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
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

    pub(super) fn header(&mut self) -> Option<()> {
        let h = self.take(12)?;
        // Version 5.1, sizes of int, size_t, instruction and number, and that numbers are floats.
        let sizes = [4, size_of::<usize>() as u8, 4, 8, 0];
        (h[..5] == *b"\x1bLua\x51" && h[7..12] == sizes).then_some(())
    }

    pub(super) fn function(&mut self, depth: usize) -> Option<Proto> {
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

/// An instruction of Lua 5.1.
#[derive(Clone, Copy)]
pub(super) struct Instruction(pub(super) u32);

impl Instruction {
    pub(super) fn op(self) -> u32 {
        self.0 & 63
    }

    pub(super) fn a(self) -> usize {
        (self.0 >> 6 & 255) as usize
    }

    pub(super) fn b(self) -> usize {
        (self.0 >> 23) as usize
    }

    pub(super) fn c(self) -> usize {
        (self.0 >> 14 & 511) as usize
    }

    pub(super) fn bx(self) -> usize {
        (self.0 >> 14) as usize
    }

    /// Where a jump at `pc` goes.
    pub(super) fn jump(self, pc: usize) -> Option<usize> {
        (pc + 1 + self.bx()).checked_sub(131_071)
    }
}
