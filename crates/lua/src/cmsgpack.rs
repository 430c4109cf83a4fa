//! The library `cmsgpack`: <https://msgpack.org>, with the choices of Redis's.

use crate::raw::{LuaType, Raise, Returned, Stack, stdx_cast};

/// Tables nested deeper are encoded as nil; deeper input is refused.
const ENCODE_DEPTH: usize = 16;
const DECODE_DEPTH: usize = 1000;

/// Pushes the library.
pub(crate) fn open(s: Stack) {
    s.new_table(0, 8);
    s.set_function("pack", pack);
    s.set_function("unpack", unpack);
    s.set_function("unpack_one", unpack_one);
    s.set_function("unpack_limit", unpack_limit);
    for (name, text) in [
        ("_NAME", "cmsgpack"),
        ("_VERSION", "lua-cmsgpack 0.4.0"),
        ("_COPYRIGHT", "Copyright (C) 2012, Redis Ltd."),
        ("_DESCRIPTION", "MessagePack C implementation for Lua"),
    ] {
        s.push_bytes(text);
        s.set_field(-2, name);
    }
}

// ---- encoding --------------------------------------------------------------------------------------

fn pack(s: Stack) -> Returned {
    let n = s.top();
    if n == 0 {
        return Err(Raise::arg(0, "MessagePack pack needs input."));
    }
    if !s.room(n) {
        return Err(Raise::arg(0, "Too many arguments for MessagePack pack."));
    }
    let mut out = Vec::new();
    for i in 1..=n {
        s.push_value(i as i32);
        encode(s, &mut out, 0)?;
        s.pop(1);
    }
    s.push_bytes(&out);
    Ok(1)
}

/// Appends a length in the smallest of the forms: `fix` with up to `fix_max`, then 8 (if any), 16 and
/// 32 bits.
fn length(out: &mut Vec<u8>, n: usize, fix: u8, fix_max: usize, codes: [Option<u8>; 3]) {
    let [c8, c16, c32] = codes;
    match (n, c8, c16) {
        (0..=31, ..) if n <= fix_max => out.push(fix | n as u8),
        (0..=0xff, Some(c), _) => out.extend_from_slice(&[c, n as u8]),
        (0..=0xffff, _, Some(c)) => {
            out.push(c);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        _ => {
            out.push(c32.unwrap_or(0));
            out.extend_from_slice(&(n as u32).to_be_bytes());
        }
    }
}

fn number(out: &mut Vec<u8>, n: f64) {
    // Whole numbers that survive the way through an integer.
    let whole = stdx_cast(n);
    if whole as f64 == n && n < 9_223_372_036_854_775_808.0 {
        return integer(out, whole);
    }
    let single = n as f32;
    if f64::from(single) == n {
        out.push(0xca);
        out.extend_from_slice(&single.to_be_bytes());
    } else {
        out.push(0xcb);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

fn integer(out: &mut Vec<u8>, n: i64) {
    match n {
        -32..=0x7f => out.push(n as u8),
        0x80..=0xff => out.extend_from_slice(&[0xcc, n as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&(n as u32).to_be_bytes());
        }
        0x1_0000_0000.. => {
            out.push(0xcf);
            out.extend_from_slice(&n.to_be_bytes());
        }
        -128..=-33 => out.extend_from_slice(&[0xd0, n as u8]),
        -0x8000..=-129 => {
            out.push(0xd1);
            out.extend_from_slice(&(n as i16).to_be_bytes());
        }
        -0x8000_0000..=-0x8001 => {
            out.push(0xd2);
            out.extend_from_slice(&(n as i32).to_be_bytes());
        }
        _ => {
            out.push(0xd3);
            out.extend_from_slice(&n.to_be_bytes());
        }
    }
}

/// Appends the value on top, which stays.
fn encode(s: Stack, out: &mut Vec<u8>, depth: usize) -> Result<(), Raise> {
    if !s.room(4) || s.check_c_stack().is_err() {
        return Err(Raise::text("stack overflow (in cmsgpack)"));
    }
    if out.len() > s.state().memory_limit() {
        return Err(Raise::text("not enough memory"));
    }
    s.look(8)?;
    match s.kind(-1) {
        LuaType::String => {
            let text = s.bytes(-1).unwrap_or(&[]);
            length(out, text.len(), 0xa0, 31, [Some(0xd9), Some(0xda), Some(0xdb)]);
            out.extend_from_slice(text);
        }
        LuaType::Boolean => out.push(if s.boolean(-1) { 0xc3 } else { 0xc2 }),
        LuaType::Number => number(out, s.number(-1)),
        LuaType::Table if depth < ENCODE_DEPTH => {
            if is_array(s) {
                let n = s.length(-1);
                length(out, n, 0x90, 15, [None, Some(0xdc), Some(0xdd)]);
                for i in 1..=n {
                    s.raw_get_at(-1, i);
                    encode(s, out, depth + 1)?;
                    s.pop(1);
                }
            } else {
                let mut n = 0;
                s.push_nil();
                while s.next(-2) {
                    s.pop(1);
                    n += 1;
                }
                length(out, n, 0x80, 15, [None, Some(0xde), Some(0xdf)]);
                s.push_nil();
                while s.next(-2) {
                    s.push_value(-2);
                    encode(s, out, depth + 1)?;
                    s.pop(1);
                    encode(s, out, depth + 1)?;
                    s.pop(1);
                }
            }
        }
        _ => out.push(0xc0),
    }
    Ok(())
}

/// Whether the keys of the table on top are 1 to n, without a hole.
fn is_array(s: Stack) -> bool {
    let (mut count, mut max) = (0u64, 0.0f64);
    s.push_nil();
    while s.next(-2) {
        s.pop(1);
        let n = if s.kind(-1) == LuaType::Number { s.number(-1) } else { 0.0 };
        if n <= 0.0 || f64::from(n as i32) != n {
            s.pop(1);
            return false;
        }
        max = max.max(n);
        count += 1;
    }
    max == count as f64
}

// ---- decoding --------------------------------------------------------------------------------------

struct Input<'a> {
    rest: &'a [u8],
}

const MISSING: &str = "Missing bytes in input.";

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Raise> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(|| Raise::text(MISSING))?;
        self.rest = rest;
        Ok(head)
    }

    /// An unsigned number of `n` bytes.
    fn uint(&mut self, n: usize) -> Result<u64, Raise> {
        Ok(self.take(n)?.iter().fold(0, |v, b| v << 8 | u64::from(*b)))
    }
}

/// Pushes the next value.
fn decode(s: Stack, c: &mut Input<'_>, depth: usize) -> Result<(), Raise> {
    if !s.room(4) {
        return Err(Raise::text(
            "too many return values at once; use unpack_one or unpack_limit instead.",
        ));
    }
    if depth > DECODE_DEPTH || s.check_c_stack().is_err() {
        return Err(Raise::text("Found too many nested data structures."));
    }
    s.check_memory()?;
    let code = c.take(1)?[0];
    match code {
        0x00..=0x7f => s.push_number(f64::from(code)),
        0xe0..=0xff => s.push_number(f64::from(code as i8)),
        0xcc => s.push_number(c.uint(1)? as f64),
        0xcd => s.push_number(c.uint(2)? as f64),
        0xce => s.push_number(c.uint(4)? as f64),
        // A signed number to Redis, whatever the format says.
        0xcf => s.push_number(c.uint(8)? as i64 as f64),
        0xd0 => s.push_number(f64::from(c.uint(1)? as i8)),
        0xd1 => s.push_number(f64::from(c.uint(2)? as i16)),
        0xd2 => s.push_number(f64::from(c.uint(4)? as i32)),
        0xd3 => s.push_number(c.uint(8)? as i64 as f64),
        0xc0 => s.push_nil(),
        0xc2 => s.push_bool(false),
        0xc3 => s.push_bool(true),
        0xca => s.push_number(f64::from(f32::from_bits(c.uint(4)? as u32))),
        0xcb => s.push_number(f64::from_bits(c.uint(8)?)),
        0xa0..=0xbf => s.push_bytes(c.take(usize::from(code & 31))?),
        0xd9..=0xdb => {
            let n = c.uint(1 << (code - 0xd9))?;
            s.push_bytes(c.take(n as usize)?);
        }
        0x90..=0x9f => array(s, c, u64::from(code & 15), depth)?,
        0xdc | 0xdd => {
            let n = c.uint(2 << (code - 0xdc))?;
            array(s, c, n, depth)?;
        }
        0x80..=0x8f => map(s, c, u64::from(code & 15), depth)?,
        0xde | 0xdf => {
            let n = c.uint(2 << (code - 0xde))?;
            map(s, c, n, depth)?;
        }
        _ => return Err(Raise::text("Bad data format in input.")),
    }
    Ok(())
}

fn array(s: Stack, c: &mut Input<'_>, n: u64, depth: usize) -> Result<(), Raise> {
    // Every element takes a byte, so a length alone allocates nothing.
    s.new_table((n as usize).min(c.rest.len()).min(1024), 0);
    for i in 1..=n {
        decode(s, c, depth + 1)?;
        s.raw_set_at(-2, i as usize);
    }
    Ok(())
}

fn map(s: Stack, c: &mut Input<'_>, n: u64, depth: usize) -> Result<(), Raise> {
    s.new_table(0, (n as usize).min(c.rest.len()).min(1024));
    for _ in 0..n {
        decode(s, c, depth + 1)?;
        decode(s, c, depth + 1)?;
        if !s.is_key(-2) {
            let what = if s.kind(-2) == LuaType::Nil { "nil" } else { "NaN" };
            return Err(Raise::text(format!("table index is {what}")));
        }
        s.raw_set(-3);
    }
    Ok(())
}

fn unpack(s: Stack) -> Returned {
    full(s, 0, 0)
}

fn unpack_one(s: Stack) -> Returned {
    let offset = s.opt_integer(2, 0)?;
    full(s, 1, offset)
}

fn unpack_limit(s: Stack) -> Returned {
    let limit = s.check_integer(2)?;
    let offset = s.opt_integer(3, 0)?;
    full(s, limit, offset)
}

/// Pushes up to `limit` values from `offset` on, behind the next offset (-1 at the end); with neither,
/// all values.
fn full(s: Stack, limit: i64, offset: i64) -> Returned {
    let all = limit == 0 && offset == 0;
    let bytes = s.check_bytes(1)?;
    if offset < 0 || limit < 0 {
        return Err(Raise::text(format!(
            "Invalid request to unpack with offset of {} and limit of {}.",
            offset as i32,
            bytes.len()
        )));
    }
    let Some(rest) = usize::try_from(offset).ok().and_then(|o| bytes.get(o..)) else {
        return Err(Raise::text(format!(
            "Start offset {} greater than input length {}.",
            offset as i32,
            bytes.len()
        )));
    };
    s.set_top(1);
    let mut c = Input { rest };
    let mut count = 0;
    while !c.rest.is_empty() && (all || (count as i64) < limit) {
        decode(s, &mut c, 0)?;
        count += 1;
    }
    if all {
        return Ok(count);
    }
    if !s.room(1) {
        return Err(Raise::text("stack overflow (in cmsgpack)"));
    }
    let next = if c.rest.is_empty() { -1.0 } else { (bytes.len() - c.rest.len()) as f64 };
    s.push_number(next);
    s.insert(2);
    Ok(count + 1)
}
