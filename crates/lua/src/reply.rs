//! Replies of commands as Lua values, and results of scripts as replies.
//!
//! A command's reply is converted from the bytes that it wrote, in one pass. Within a script they
//! are RESP2, whatever the client speaks, unless it calls `redis.setresp(3)`.

use resp::{Proto, Reply};

use crate::host::Host;
use crate::layout::Item;
use crate::raw::{LuaType, Raise, Stack, stdx_cast};
use crate::refusal::push_error;

/// Replies and results may nest this deep. Redis's limit is Lua's stack.
const DEPTH_MAX: usize = 1000;

/// Reads one line up to CR LF.
fn line<'a>(b: &mut &'a [u8]) -> &'a [u8] {
    let end = b.iter().position(|c| *c == b'\r').unwrap_or(b.len());
    let (line, rest) = b.split_at(end);
    *b = rest.get(2..).unwrap_or(&[]);
    line
}

#[inline]
fn int(b: &mut &[u8]) -> i64 {
    // The server wrote it: digits, maybe a sign.
    let mut n: i64 = 0;
    let mut negative = false;
    for (i, c) in b.iter().enumerate() {
        match c {
            b'-' => negative = true,
            b'0'..=b'9' => n = n.wrapping_mul(10).wrapping_add(i64::from(c - b'0')),
            _ => {
                *b = b.get(i + 2..).unwrap_or(&[]);
                return if negative { n.wrapping_neg() } else { n };
            }
        }
    }
    *b = &[];
    if negative { n.wrapping_neg() } else { n }
}

fn bulk<'a>(b: &mut &'a [u8], n: usize) -> &'a [u8] {
    let n = n.min(b.len());
    let (text, rest) = b.split_at(n);
    *b = rest.get(2..).unwrap_or(&[]);
    text
}

/// Pushes the reply at the start of `b` as a value, and moves past it.
#[inline]
pub(crate) fn push(s: Stack, b: &mut &[u8], depth: usize) -> Result<(), Raise> {
    // Most are texts and integers, and take no more than one place on the stack.
    match b.first() {
        Some(b'$') => {
            *b = &b[1..];
            push_bulk(s, b);
            Ok(())
        }
        Some(b':') => {
            *b = &b[1..];
            s.push_number(int(b) as f64);
            Ok(())
        }
        _ => push_any(s, b, depth),
    }
}

#[inline]
fn push_bulk(s: Stack, b: &mut &[u8]) {
    match int(b) {
        n @ 0.. => s.push_bytes(bulk(b, n as usize)),
        _ => s.push_bool(false),
    }
}

fn push_any(s: Stack, b: &mut &[u8], depth: usize) -> Result<(), Raise> {
    if depth > DEPTH_MAX || !s.room(6) || s.check_c_stack().is_err() {
        return Err(Raise::text("reply nests too deep"));
    }
    let Some((sigil, rest)) = b.split_first() else {
        s.push_nil();
        return Ok(());
    };
    *b = rest;
    match sigil {
        b'$' => push_bulk(s, b),
        b':' => s.push_number(int(b) as f64),
        b'+' => push_named(s, "ok", |s| s.push_bytes(line(b))),
        b'-' => push_error(s, line(b), true),
        b'*' | b'>' => push_array(s, b, depth)?,
        b'_' => {
            line(b);
            s.push_nil();
        }
        b'#' => s.push_bool(line(b) == b"t"),
        b',' => push_named(s, "double", |s| s.push_number(double(line(b)))),
        b'(' => push_named(s, "big_number", |s| s.push_bytes(line(b))),
        b'=' => push_verbatim(s, b),
        b'%' => push_map(s, b, depth)?,
        b'~' => push_set(s, b, depth)?,
        b'|' => {
            // An attribute is not shown to scripts; the reply follows it.
            let n = int(b).max(0) as usize;
            for _ in 0..2 * n {
                push(s, b, depth + 1)?;
                s.pop(1);
            }
            return push(s, b, depth + 1);
        }
        _ => s.push_nil(),
    }
    Ok(())
}

/// An array as a table with numbers; false for one that is absent.
fn push_array(s: Stack, b: &mut &[u8], depth: usize) -> Result<(), Raise> {
    let n = int(b);
    if n < 0 {
        s.push_bool(false);
        return Ok(());
    }
    let n = n as usize;
    s.new_table(n, 0);
    for i in 1..=n {
        push(s, b, depth + 1)?;
        s.raw_set_at(-2, i);
        s.look(8)?;
    }
    Ok(())
}

fn push_verbatim(s: Stack, b: &mut &[u8]) {
    let n = int(b).max(0) as usize;
    let text = bulk(b, n);
    push_named(s, "verbatim_string", |s| {
        s.new_table(0, 2);
        s.push_bytes("string");
        s.push_bytes(text.get(4..).unwrap_or(&[]));
        s.raw_set(-3);
        s.push_bytes("format");
        s.push_bytes(text.get(..3).unwrap_or(&[]));
        s.raw_set(-3);
    });
}

/// A map as a table `map` in a table.
fn push_map(s: Stack, b: &mut &[u8], depth: usize) -> Result<(), Raise> {
    let n = int(b).max(0) as usize;
    s.new_table(0, 1);
    s.push_bytes("map");
    s.new_table(0, n);
    for _ in 0..n {
        push(s, b, depth + 1)?;
        push(s, b, depth + 1)?;
        set_pair(s);
        s.look(16)?;
    }
    s.raw_set(-3);
    Ok(())
}

/// A set as a table `set` in a table; its members are the keys.
fn push_set(s: Stack, b: &mut &[u8], depth: usize) -> Result<(), Raise> {
    let n = int(b).max(0) as usize;
    s.new_table(0, 1);
    s.push_bytes("set");
    s.new_table(0, n);
    for _ in 0..n {
        push(s, b, depth + 1)?;
        s.push_bool(true);
        set_pair(s);
    }
    s.raw_set(-3);
    Ok(())
}

/// Pushes a table with one field, whose value `push` pushes.
fn push_named(s: Stack, name: &str, push: impl FnOnce(Stack)) {
    s.new_table(0, 1);
    s.push_bytes(name);
    push(s);
    s.raw_set(-3);
}

fn set_pair(s: Stack) {
    if s.is_key(-2) {
        s.raw_set(-3);
    } else {
        s.pop(2);
    }
}

fn double(text: &[u8]) -> f64 {
    match text {
        b"inf" => f64::INFINITY,
        b"-inf" => f64::NEG_INFINITY,
        b"nan" => f64::NAN,
        _ => std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0),
    }
}

/// Writes a command's RESP2 reply as it would be if a script had returned it: converted to values and
/// back. Returns false, and has written nothing, when it is not as expected.
pub(crate) fn pass(bytes: &[u8], r: &mut Reply<'_>) -> bool {
    /// Beyond this Lua's numbers are not exact.
    const EXACT: u64 = 1 << 53;
    let before = r.out().mark();
    let mut rest = bytes;
    // All behind this goes out as it is.
    let mut from = bytes;
    while let Some(sigil) = rest.first() {
        let at = rest;
        rest = &rest[1..];
        match sigil {
            b'$' | b'*' => {
                let n = int(&mut rest);
                if n < 0 {
                    r.out().buf.extend_from_slice(&from[..from.len() - at.len()]);
                    r.null();
                    from = rest;
                } else if *sigil == b'$' {
                    bulk(&mut rest, n as usize);
                }
            }
            b':' => {
                let n = int(&mut rest);
                if n.unsigned_abs() > EXACT {
                    r.out().buf.extend_from_slice(&from[..from.len() - at.len()]);
                    from = rest;
                    r.int(stdx_cast(n as f64));
                }
            }
            b'+' => {
                line(&mut rest);
            }
            _ => {
                r.out().truncate(before);
                return false;
            }
        }
    }
    r.out().buf.extend_from_slice(from);
    true
}

/// Writes the value on top of the stack as a reply, and pops it. `inner` is the protocol that the
/// script has chosen.
pub(crate) fn write(s: Stack, r: &mut Reply<'_>, inner: Proto, host: &mut dyn Host) {
    let before = r.out().mark();
    // Numbers take more than they do in Lua, but nothing takes twice as much. What does is in many
    // places of the result, whose length may double with every level.
    let max = r.out().buf.len().saturating_add(s.state().memory_limit().saturating_mul(2));
    s.state().reply_max = max;
    write_value(s, r, inner, host, 0);
    if r.out().buf.len() > max {
        r.out().truncate(before);
        r.error("ERR the script's result is too large");
    }
}

fn write_value(s: Stack, r: &mut Reply<'_>, inner: Proto, host: &mut dyn Host, depth: usize) {
    if r.out().buf.len() > s.state().reply_max {
        r.null();
        s.pop(1);
        return;
    }
    if depth > DEPTH_MAX || !s.room(6) || s.check_c_stack().is_err() {
        r.error("ERR reached lua stack limit");
        s.pop(1);
        return;
    }
    match s.kind(-1) {
        LuaType::String => r.bulk(s.bytes(-1).unwrap_or(&[])),
        LuaType::Number => r.int(stdx_cast(s.number(-1))),
        LuaType::Boolean => match (inner, s.boolean(-1)) {
            (Proto::V3, b) => r.bool(b),
            (Proto::V2, true) => r.int(1),
            (Proto::V2, false) => r.null(),
        },
        LuaType::Table => table(s, r, inner, host, depth),
        _ => r.null(),
    }
    s.pop(1);
}

/// The text as C sees it: up to the first zero. Errors and states are handed on so in Redis.
pub(crate) fn c_string(text: &[u8]) -> &[u8] {
    text.split(|c| *c == 0).next().unwrap_or(text)
}

fn table(s: Stack, r: &mut Reply<'_>, inner: Proto, host: &mut dyn Host, depth: usize) {
    if let Some(items) = s.plain_array() {
        // It ends at the first nil.
        let n = items.iter().take_while(|v| v.read() != Item::Nil).count();
        r.array(n);
        for (i, item) in items[..n].iter().enumerate() {
            match item.read() {
                Item::Text(text) if r.out().buf.len() <= s.state().reply_max => r.bulk(text),
                Item::Number(number) => r.int(stdx_cast(number)),
                _ => {
                    s.raw_get_at(-1, i + 1);
                    write_value(s, r, inner, host, depth + 1);
                }
            }
        }
        return;
    }
    // A field with one of these names decides the table's type; all other tables are arrays.
    if status(s, r, host) || collection(s, r, inner, host, depth) || scalar(s, r) {
        return;
    }
    // It ends at the first nil.
    let mark = r.begin();
    let mut i = 0;
    loop {
        s.raw_get_at(-1, i + 1);
        if s.kind(-1) == LuaType::Nil {
            s.pop(1);
            break;
        }
        write_value(s, r, inner, host, depth + 1);
        i += 1;
    }
    r.end_array(mark, i);
}

/// The table on top as an error or a state, if it is one: `{err=…}`, `{ok=…}`.
fn status(s: Stack, r: &mut Reply<'_>, host: &mut dyn Host) -> bool {
    s.field(-1, "err");
    if let Some(text) = s.string(-1).map(c_string) {
        s.field(-2, "ignore_error_stats_update");
        if !s.boolean(-1) {
            host.count_error(text);
        }
        r.error(text);
        s.pop(2);
        return true;
    }
    s.pop(1);
    s.field(-1, "ok");
    let text = s.string(-1).map(c_string);
    if let Some(text) = text {
        line_of(r, b'+', text);
    }
    s.pop(1);
    text.is_some()
}

/// The table on top as a map or a set, if it is one: `{map={…}}`, `{set={…}}`.
fn collection(
    s: Stack,
    r: &mut Reply<'_>,
    inner: Proto,
    host: &mut dyn Host,
    depth: usize,
) -> bool {
    for name in ["map", "set"] {
        s.field(-1, name);
        if s.kind(-1) != LuaType::Table {
            s.pop(1);
            continue;
        }
        let mark = r.begin();
        let mut n = 0;
        s.push_nil();
        while s.next(-2) {
            if name == "map" {
                s.push_value(-2);
                write_value(s, r, inner, host, depth + 1);
                write_value(s, r, inner, host, depth + 1);
            } else {
                s.pop(1);
                s.push_value(-1);
                write_value(s, r, inner, host, depth + 1);
            }
            n += 1;
        }
        if name == "map" {
            r.end_map(mark, n)
        } else {
            r.end_set(mark, n)
        }
        s.pop(1);
        return true;
    }
    false
}

/// The table on top as a value that only RESP3 has, if it is one: `{double=…}`, `{big_number=…}`,
/// `{verbatim_string={…}}`.
fn scalar(s: Stack, r: &mut Reply<'_>) -> bool {
    s.field(-1, "double");
    if s.kind(-1) == LuaType::Number {
        r.double(s.number(-1));
        s.pop(1);
        return true;
    }
    s.pop(1);
    s.field(-1, "big_number");
    if let Some(text) = s.string(-1) {
        match r.proto() {
            Proto::V2 => r.bulk(one_line(text).collect::<Vec<u8>>()),
            Proto::V3 => line_of(r, b'(', text),
        }
        s.pop(1);
        return true;
    }
    s.pop(1);
    s.field(-1, "verbatim_string");
    if s.kind(-1) == LuaType::Table {
        s.field(-1, "format");
        s.field(-2, "string");
        if let (Some(format), Some(text)) = (s.string(-2), s.string(-1)) {
            let mut name = *b"   ";
            name.iter_mut().zip(c_string(format)).for_each(|(to, from)| *to = *from);
            r.verbatim(name, text);
            s.pop(3);
            return true;
        }
        s.pop(2);
    }
    s.pop(1);
    false
}

/// A text whose line breaks are spaces.
fn one_line(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    text.iter().map(|c| if matches!(c, b'\r' | b'\n') { b' ' } else { *c })
}

/// A reply that is one line.
fn line_of(r: &mut Reply<'_>, sigil: u8, text: &[u8]) {
    let out = &mut r.out().buf;
    out.push(sigil);
    out.extend(one_line(text));
    out.extend_from_slice(b"\r\n");
}
