//! BITFIELD: integers of 1 to 64 bits at any bit of a string, most significant
//! bit first, signed ones in two's complement.
//!
//! A field spans at most nine bytes, so reading and writing go through one
//! 128-bit window instead of bit by bit. Overflow is decided in 128-bit
//! arithmetic, where nothing overflows.

/// The type of a field: `i1` … `i64`, `u1` … `u63`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldType {
    signed: bool,
    bits: u32,
}

/// How a value is stored that does not fit its field (OVERFLOW).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// Keeps the low bits; the default.
    #[default]
    Wrap,
    /// Stays at the largest or the smallest value.
    Saturate,
    /// Nothing is written, the reply is null.
    Fail,
}

/// The outcome of a write to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldWrite {
    /// The reply: for SET the old value, for INCRBY the new one; `None` when
    /// [`Overflow::Fail`] prevented it.
    pub reply: Option<i64>,
    /// Did the value change?
    pub changed: bool,
}

impl FieldType {
    /// A type of `bits` bits; `None` outside 1 to 64, or 63 for an unsigned one
    /// (whose values must fit the protocol's integers).
    pub fn new(signed: bool, bits: u32) -> Option<Self> {
        let bits_max = if signed { 64 } else { 63 };
        (1..=bits_max).contains(&bits).then_some(FieldType { signed, bits })
    }

    /// Parses `i16`, `u8` and the like; the letter in lower case only.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (letter, digits) = text.split_first()?;
        let bits = u32::try_from(stdx::num::parse_i64(digits)?).ok()?;
        match letter {
            b'i' => Self::new(true, bits),
            b'u' => Self::new(false, bits),
            _ => None,
        }
    }

    /// The width, which is also the unit of `#` offsets.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The field at bit `offset`; bits beyond the end are zeros.
    pub fn get(self, bytes: &[u8], offset: u64) -> i64 {
        let (window, shift) = self.window(bytes, offset);
        self.interpret((window >> shift) as u64)
    }

    /// SET: writes `value`, given as the command takes it (for an unsigned field
    /// a negative one is taken as its 64 bits, as in Redis).
    ///
    /// # Panics
    /// When `bytes` is shorter than [`bytes_for`](super::bytes_for)`(offset,
    /// self.bits())`.
    pub fn set(self, bytes: &mut [u8], offset: u64, value: i64, overflow: Overflow) -> FieldWrite {
        let old = self.get(bytes, offset);
        let wide = if !self.signed {
            i128::from(value as u64)
        } else if self.bits < 64 && value <= i64::MIN + self.max() {
            // Redis's check wraps for values this far below and takes them for
            // too large, which shows when they saturate.
            i128::from(value) + (1 << 64)
        } else {
            i128::from(value)
        };
        match self.fit(wide, overflow) {
            Some(new) => {
                self.put(bytes, offset, new);
                FieldWrite { reply: Some(old), changed: old != new }
            }
            None => FieldWrite { reply: None, changed: false },
        }
    }

    /// INCRBY: adds `increment`.
    ///
    /// # Panics
    /// As [`FieldType::set`].
    pub fn incr_by(
        self,
        bytes: &mut [u8],
        offset: u64,
        increment: i64,
        overflow: Overflow,
    ) -> FieldWrite {
        let old = self.get(bytes, offset);
        match self.fit(i128::from(old) + i128::from(increment), overflow) {
            Some(new) => {
                self.put(bytes, offset, new);
                FieldWrite { reply: Some(new), changed: old != new }
            }
            None => FieldWrite { reply: None, changed: false },
        }
    }

    /// The value to store for `wide`; `None` when it does not fit and must fail.
    fn fit(self, wide: i128, overflow: Overflow) -> Option<i64> {
        let max = i128::from(self.max());
        let min = if self.signed { -max - 1 } else { 0 };
        if (min..=max).contains(&wide) {
            return Some(wide as i64);
        }
        match overflow {
            Overflow::Wrap => Some(self.interpret(wide as u64)),
            Overflow::Saturate => Some(if wide > max { max } else { min } as i64),
            Overflow::Fail => None,
        }
    }

    /// The largest value.
    fn max(self) -> i64 {
        i64::MAX >> (63 + u32::from(self.signed) - self.bits)
    }

    /// The low bits of `raw` as a value of this type.
    fn interpret(self, raw: u64) -> i64 {
        let unused = 64 - self.bits;
        if self.signed {
            ((raw << unused) as i64) >> unused
        } else {
            (raw << unused >> unused) as i64
        }
    }

    /// The 16 bytes from the field's first on, zero-padded, and how far right
    /// the field's last bit lies in them.
    fn window(self, bytes: &[u8], offset: u64) -> (u128, u32) {
        let mut window = [0; 16];
        let start = usize::try_from(offset / 8).unwrap_or(usize::MAX);
        if let Some(tail) = bytes.get(start..) {
            let len = tail.len().min(window.len());
            window[..len].copy_from_slice(&tail[..len]);
        }
        (u128::from_be_bytes(window), 128 - (offset % 8) as u32 - self.bits)
    }

    fn put(self, bytes: &mut [u8], offset: u64, value: i64) {
        let (window, shift) = self.window(bytes, offset);
        let mask = u128::from(u64::MAX >> (64 - self.bits)) << shift;
        let window = (window & !mask) | ((value as u128) << shift & mask);
        let start = (offset / 8) as usize;
        let len = ((offset % 8) as usize + self.bits as usize).div_ceil(8);
        bytes[start..start + len].copy_from_slice(&window.to_be_bytes()[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{bytes_for, get_bit, set_bit};
    use stdx::rng::Rng;

    fn ty(text: &str) -> FieldType {
        FieldType::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn types() {
        for text in ["i1", "i64", "u1", "u63", "u8"] {
            assert_eq!(ty(text).bits(), text[1..].parse().unwrap());
        }
        for text in ["", "i", "u0", "i0", "u64", "i65", "I8", "x8", "i08", "i+8", "i-1", "i8 "] {
            assert_eq!(FieldType::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn placed_as_documented() {
        // The drawing in Redis's source: 23 as u5 at bit 7.
        let mut bytes = [0; 2];
        ty("u5").set(&mut bytes, 7, 23, Overflow::Wrap);
        assert_eq!(bytes, [0b0000_0001, 0b0111_0000]);
        assert_eq!(ty("i5").get(&bytes, 7), -9);
        assert_eq!(ty("u8").get(&bytes, 12), 0);
        assert_eq!(ty("i64").get(&bytes, u64::MAX), 0);
        assert_eq!(ty("u63").get(b"", 5), 0);
    }

    #[test]
    fn overflow_as_in_the_suite() {
        // unit/bitfield of the Redis suite, and the corners of 64 bits.
        use Overflow::*;
        for (field, old, increment, overflow, reply) in [
            ("u8", 100, 257, Wrap, Some(101)),
            ("u8", 100, 255, Wrap, Some(99)),
            ("u8", 100, 257, Saturate, Some(255)),
            ("u8", 100, -255, Saturate, Some(0)),
            ("u8", 100, 257, Fail, None),
            ("i8", 100, 257, Wrap, Some(101)),
            ("i8", 100, 50, Wrap, Some(-106)),
            ("i8", 100, 257, Saturate, Some(127)),
            ("i8", -100, -255, Saturate, Some(-128)),
            ("i8", 100, 28, Fail, None),
            ("u63", i64::MAX, 1, Wrap, Some(0)),
            ("u63", 0, -1, Wrap, Some(i64::MAX)),
            ("i64", i64::MAX, 1, Wrap, Some(i64::MIN)),
            ("i64", i64::MIN, -1, Wrap, Some(i64::MAX)),
            ("i64", i64::MIN, -1, Saturate, Some(i64::MIN)),
            ("i64", i64::MAX, i64::MAX, Saturate, Some(i64::MAX)),
            ("i64", 0, i64::MIN, Fail, Some(i64::MIN)),
            ("i1", 0, 1, Wrap, Some(-1)),
            ("i1", 0, 1, Saturate, Some(0)),
        ] {
            let mut bytes = [0; 8];
            ty(field).set(&mut bytes, 0, old, Wrap);
            let write = ty(field).incr_by(&mut bytes, 0, increment, overflow);
            assert_eq!(write.reply, reply, "{field} {old} + {increment} {overflow:?}");
            let now = reply.unwrap_or(old);
            assert_eq!((ty(field).get(&bytes, 0), write.changed), (now, now != old));
        }
    }

    #[test]
    fn set_beyond_the_type() {
        use Overflow::*;
        for (field, value, overflow, stored) in [
            ("u8", 257, Wrap, Some(1)),
            ("u8", -1, Wrap, Some(255)),
            ("u8", -1, Saturate, Some(255)), // 64 bits of ones, not below zero
            ("u8", 256, Fail, None),
            ("i8", 128, Wrap, Some(-128)),
            ("i8", 200, Saturate, Some(127)),
            ("i8", -200, Saturate, Some(-128)),
            ("i8", -129, Fail, None),
            ("i8", i64::MIN + 128, Saturate, Some(-128)),
            ("i8", i64::MIN + 127, Saturate, Some(127)), // as redis-server 7.0
            ("i8", i64::MIN + 127, Wrap, Some(127)),
            ("i8", i64::MIN + 127, Fail, None),
        ] {
            let mut bytes = [7];
            let write = ty(field).set(&mut bytes, 0, value, overflow);
            assert_eq!(write.reply, stored.map(|_| 7), "{field} {value} {overflow:?}");
            assert_eq!(ty(field).get(&bytes, 0), stored.unwrap_or(7));
        }
    }

    #[test]
    fn agrees_with_bit_by_bit() {
        let mut rng = Rng::from_seed(13);
        for _ in 0..if cfg!(miri) { 50 } else { 50_000 } {
            let signed = rng.below(2) == 0;
            let field =
                FieldType::new(signed, 1 + rng.below(63 + u64::from(signed)) as u32).unwrap();
            let offset = rng.below(70);
            let mut bytes = vec![0; bytes_for(offset, field.bits) as usize + rng.index(10)];
            rng.fill(&mut bytes);

            let mut expected = 0u64;
            for bit in 0..u64::from(field.bits) {
                expected = expected << 1 | u64::from(get_bit(&bytes, offset + bit));
            }
            if signed && field.bits < 64 && expected >> (field.bits - 1) == 1 {
                expected |= u64::MAX << field.bits;
            }
            assert_eq!(field.get(&bytes, offset), expected as i64, "{field:?} at {offset}");

            let value = rng.next_u64() as i64;
            let mut model = bytes.clone();
            for bit in 0..field.bits {
                let on = value >> (field.bits - 1 - bit) & 1 == 1;
                set_bit(&mut model, offset + u64::from(bit), on);
            }
            field.set(&mut bytes, offset, value, Overflow::Wrap);
            assert_eq!(bytes, model, "{field:?} at {offset}");
        }
    }
}
