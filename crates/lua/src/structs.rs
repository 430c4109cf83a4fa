//! The library `struct`: numbers and strings as bytes, after a format.

use stdx::carried::carry;

use crate::raw::{Raise, Returned, Stack, stdx_cast};
use crate::reply::c_string;

/// Largest integer, in bytes.
const INTEGER_MAX: usize = 32;
/// The alignment of `!` without a number.
const ALIGN_MAX: usize = 8;

/// Pushes the library.
pub(crate) fn open(s: Stack) {
    s.new_table(0, 3);
    s.set_function("pack", pack);
    s.set_function("unpack", unpack);
    s.set_function("size", size);
}

/// A format that is being read.
struct Format<'a> {
    rest: &'a [u8],
    big: bool,
    align: usize,
}

impl<'a> Format<'a> {
    fn new(text: &'a [u8]) -> Self {
        // C's strings end at a zero.
        let end = text.iter().position(|c| *c == 0).unwrap_or(text.len());
        Self { rest: &text[..end], big: cfg!(target_endian = "big"), align: 1 }
    }

    /// The next option, its size, and the padding in front of it when `at` bytes come before.
    fn next(&mut self, at: usize) -> Result<Option<(u8, usize, usize)>, Raise> {
        let Some((option, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(1)?,
            b'i' | b'I' => {
                let n = self.number(4)?;
                if n > INTEGER_MAX {
                    return Err(Raise::text(format!(
                        "integral size {n} is larger than limit of {INTEGER_MAX}"
                    )));
                }
                n
            }
            _ => 0,
        };
        let padding = if size == 0 || *option == b'c' {
            0
        } else {
            let unit = size.min(self.align);
            unit.wrapping_sub(at & unit.wrapping_sub(1)) & unit.wrapping_sub(1)
        };
        Ok(Some((*option, size, padding)))
    }

    fn number(&mut self, default: usize) -> Result<usize, Raise> {
        let digits = self.rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if number.is_empty() {
            return Ok(default);
        }
        number
            .iter()
            .try_fold(0i32, |n, c| n.checked_mul(10)?.checked_add(i32::from(c - b'0')))
            .map(|n| n as usize)
            .ok_or_else(|| Raise::text("integral size overflow"))
    }

    fn control(&mut self, option: u8) -> Result<(), Raise> {
        match option {
            b' ' => {}
            b'>' => self.big = true,
            b'<' => self.big = false,
            b'!' => {
                let n = self.number(ALIGN_MAX)?;
                if !n.is_power_of_two() {
                    return Err(Raise::text(format!("alignment {n} is not a power of 2")));
                }
                self.align = n;
            }
            _ => {
                let c = [option];
                let c = carry(c_string(&c));
                return Err(Raise::arg(1, format!("invalid format option '{c}'")));
            }
        }
        Ok(())
    }
}

fn ordered<const N: usize>(mut bytes: [u8; N], big: bool) -> [u8; N] {
    if big {
        bytes.reverse();
    }
    bytes
}

/// A number as C's conversion to an unsigned 64-bit integer gives it on x86-64, whatever it is.
fn unsigned(n: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if n >= HALF { stdx_cast(n - HALF) as u64 ^ 1 << 63 } else { stdx_cast(n) as u64 }
}

fn pack(s: Stack) -> Returned {
    let mut f = Format::new(s.check_bytes(1)?);
    // A missing argument is nil in the errors of Redis's function.
    s.push_nil();
    let mut out = Vec::new();
    let mut arg = 2;
    while let Some((option, mut size, padding)) = f.next(out.len())? {
        out.resize(out.len() + padding, 0);
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let n = s.check_number(arg)?;
                arg += 1;
                let value = if n < 0.0 { stdx_cast(n) as u64 } else { unsigned(n) };
                let mut bytes = [0; INTEGER_MAX];
                bytes[..8].copy_from_slice(&value.to_le_bytes());
                let bytes = &mut bytes[..size];
                if f.big {
                    bytes.reverse();
                }
                out.extend_from_slice(bytes);
            }
            b'x' => out.push(0),
            b'f' => {
                let n = s.check_number(arg)? as f32;
                arg += 1;
                out.extend_from_slice(&ordered(n.to_le_bytes(), f.big));
            }
            b'd' => {
                let n = s.check_number(arg)?;
                arg += 1;
                out.extend_from_slice(&ordered(n.to_le_bytes(), f.big));
            }
            b'c' | b's' => {
                let text = s.check_bytes(arg)?;
                arg += 1;
                if size == 0 {
                    size = text.len();
                }
                let text = text.get(..size).ok_or_else(|| Raise::arg(arg, "string too short"))?;
                out.extend_from_slice(text);
                if option == b's' {
                    out.push(0);
                }
            }
            _ => f.control(option)?,
        }
        if out.len() > s.state().memory_limit() {
            return Err(Raise::text("not enough memory"));
        }
    }
    s.push_bytes(&out);
    Ok(1)
}

fn integer(bytes: &[u8], big: bool, signed: bool) -> f64 {
    let push = |n: u64, b: &u8| n << 8 | u64::from(*b);
    let n = if big { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) };
    if !signed {
        return n as f64;
    }
    let unused = 64u32.saturating_sub(8 * bytes.len() as u32).min(63);
    ((n << unused) as i64 >> unused) as f64
}

fn unpack(s: Stack) -> Returned {
    let mut f = Format::new(s.check_bytes(1)?);
    let data = s.check_bytes(2)?;
    let short = || Raise::arg(2, "data string too short");
    let at = s.opt_integer(3, 1)?;
    if at == 0 {
        return Err(Raise::arg(3, "offset must be 1 or greater"));
    }
    // A negative position lies beyond all data.
    let beyond = at < 0;
    let mut at = usize::try_from(at).map_or(0, |at| at - 1);
    let mut results = 0;
    while let Some((option, mut size, padding)) = f.next(at)? {
        if beyond {
            return Err(short());
        }
        at = at.checked_add(padding).ok_or_else(short)?;
        let piece = |at: usize, n: usize| data.get(at..at.checked_add(n)?);
        let bytes = piece(at, size).ok_or_else(short)?;
        if !s.room(2) {
            return Err(Raise::text("stack overflow (too many results)"));
        }
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                s.push_number(integer(bytes, f.big, option.is_ascii_lowercase()));
                results += 1;
            }
            b'x' => {}
            b'f' => {
                let n = bytes.first_chunk().map_or(0.0, |b| f32::from_le_bytes(ordered(*b, f.big)));
                s.push_number(f64::from(n));
                results += 1;
            }
            b'd' => {
                let n = bytes.first_chunk().map_or(0.0, |b| f64::from_le_bytes(ordered(*b, f.big)));
                s.push_number(n);
                results += 1;
            }
            b'c' => {
                let mut bytes = bytes;
                if size == 0 {
                    if results == 0 || !s.is_number(-1) {
                        return Err(Raise::text("format 'c0' needs a previous size"));
                    }
                    let n = s.number(-1);
                    s.pop(1);
                    results -= 1;
                    // Cut off first: a number between -1 and 0 is 0.
                    size = if n > -1.0 { n as usize } else { usize::MAX };
                    bytes = piece(at, size).ok_or_else(short)?;
                }
                s.push_bytes(bytes);
                results += 1;
            }
            b's' => {
                let rest = data.get(at..).unwrap_or(&[]);
                let Some(end) = rest.iter().position(|c| *c == 0) else {
                    return Err(Raise::text("unfinished string in data"));
                };
                s.push_bytes(&rest[..end]);
                results += 1;
                size = end + 1;
            }
            _ => f.control(option)?,
        }
        at += size;
    }
    s.push_number((at + 1) as f64);
    Ok(results + 1)
}

fn size(s: Stack) -> Returned {
    let mut f = Format::new(s.check_bytes(1)?);
    let mut at = 0usize;
    while let Some((option, size, padding)) = f.next(at)? {
        match option {
            b's' => return Err(Raise::arg(1, "option 's' has no fixed size")),
            b'c' if size == 0 => return Err(Raise::arg(1, "option 'c0' has no fixed size")),
            _ => {}
        }
        if !option.is_ascii_alphanumeric() {
            f.control(option)?;
        }
        at = at.saturating_add(padding).saturating_add(size);
    }
    s.push_number(at as f64);
    Ok(1)
}
