//! The library `bit`: operations on 32 bits (BitOp's, as Redis has it).

use crate::raw::{Raise, Returned, Stack};

/// Pushes the library.
pub(crate) fn open(s: Stack) {
    s.new_table(0, 12);
    s.set_function("tobit", tobit);
    s.set_function("bnot", bnot);
    s.set_function("band", band);
    s.set_function("bor", bor);
    s.set_function("bxor", bxor);
    s.set_function("lshift", lshift);
    s.set_function("rshift", rshift);
    s.set_function("arshift", arshift);
    s.set_function("rol", rol);
    s.set_function("ror", ror);
    s.set_function("bswap", bswap);
    s.set_function("tohex", tohex);
}

/// An argument's lowest 32 bits, of the number rounded to the nearest whole one.
fn bits(s: Stack, n: usize) -> Result<u32, Raise> {
    let number = s.check_number(n)?;
    // 2^52 + 2^51 moves the units to the end of the mantissa.
    Ok((number + 6_755_399_441_055_744.0).to_bits() as u32)
}

fn give(s: Stack, b: u32) -> Returned {
    s.push_number(f64::from(b as i32));
    Ok(1)
}

fn tobit(s: Stack) -> Returned {
    give(s, bits(s, 1)?)
}

fn bnot(s: Stack) -> Returned {
    give(s, !bits(s, 1)?)
}

fn fold(s: Stack, f: impl Fn(u32, u32) -> u32) -> Returned {
    let mut b = bits(s, 1)?;
    for i in (2..=s.top()).rev() {
        b = f(b, bits(s, i)?);
    }
    give(s, b)
}

fn band(s: Stack) -> Returned {
    fold(s, |a, b| a & b)
}

fn bor(s: Stack) -> Returned {
    fold(s, |a, b| a | b)
}

fn bxor(s: Stack) -> Returned {
    fold(s, |a, b| a ^ b)
}

fn shift(s: Stack, f: impl Fn(u32, u32) -> u32) -> Returned {
    let (b, n) = (bits(s, 1)?, bits(s, 2)? & 31);
    give(s, f(b, n))
}

fn lshift(s: Stack) -> Returned {
    shift(s, |b, n| b << n)
}

fn rshift(s: Stack) -> Returned {
    shift(s, |b, n| b >> n)
}

fn arshift(s: Stack) -> Returned {
    shift(s, |b, n| ((b as i32) >> n) as u32)
}

fn rol(s: Stack) -> Returned {
    shift(s, u32::rotate_left)
}

fn ror(s: Stack) -> Returned {
    shift(s, u32::rotate_right)
}

fn bswap(s: Stack) -> Returned {
    give(s, bits(s, 1)?.swap_bytes())
}

fn tohex(s: Stack) -> Returned {
    let b = bits(s, 1)?;
    let digits = if s.top() < 2 { 8 } else { bits(s, 2)? as i32 };
    let count = digits.unsigned_abs().min(8) as usize;
    let text = if digits < 0 { format!("{b:08X}") } else { format!("{b:08x}") };
    s.push_bytes(&text[8 - count..]);
    Ok(1)
}
