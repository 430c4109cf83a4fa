//! The library `cjson`: JSON with the choices of lua-cjson 2.1, which Redis has. Not `serde_json`, which has no
//! sparse arrays, no depth that scripts set and no numbers written with as many digits as they say.

use std::ffi::c_int;

use stdx::carried::carry;

use crate::number::{LEN_MAX, general};
use crate::raw::{Function, LuaType, Raise, Returned, Stack};
use crate::reply::c_string;

/// The settings of the configuring functions; every copy of the library (`cjson.new`) has its own.
#[derive(Clone, Copy, Debug)]
struct Config {
    sparse_convert: bool,
    sparse_ratio: i32,
    sparse_safe: i32,
    encode_depth: i32,
    decode_depth: i32,
    /// 0: an error, 1: as C writes them, 2: `null`.
    encode_invalid: u8,
    decode_invalid: bool,
    keep_buffer: bool,
    precision: i32,
}

/// However deep a script allows them, values nest no deeper than this: it is the C stack.
const DEPTH_MAX: i32 = 1000;

/// Pushes the library.
pub(crate) fn open(s: Stack) {
    s.new_table(0, 16);
    s.push_userdata(Config {
        sparse_convert: false,
        sparse_ratio: 2,
        sparse_safe: 10,
        encode_depth: 1000,
        decode_depth: 1000,
        encode_invalid: 0,
        decode_invalid: true,
        keep_buffer: true,
        precision: 14,
    });
    method(s, "encode", encode);
    method(s, "decode", decode);
    method(s, "encode_sparse_array", encode_sparse_array);
    method(s, "encode_max_depth", encode_max_depth);
    method(s, "decode_max_depth", decode_max_depth);
    method(s, "encode_number_precision", encode_number_precision);
    method(s, "encode_keep_buffer", encode_keep_buffer);
    method(s, "encode_invalid_numbers", encode_invalid_numbers);
    method(s, "decode_invalid_numbers", decode_invalid_numbers);
    method(s, "new", new);
    s.pop(1);
    s.push_null();
    s.set_field(-2, "null");
    s.push_bytes("cjson");
    s.set_field(-2, "_NAME");
    s.push_bytes("2.1.0");
    s.set_field(-2, "_VERSION");
}

/// Sets a field of the table below the configuration on top to a function that has it.
fn method<F: Function>(s: Stack, name: &str, f: F) {
    s.push_value(-1);
    s.push_closure(f, 1);
    s.set_field(-3, name);
}

fn new(s: Stack) -> Returned {
    open(s);
    Ok(1)
}

// ---- configuration ---------------------------------------------------------------------------------

fn config<'a>(s: Stack, args: usize) -> Result<&'a mut Config, Raise> {
    if s.top() > args {
        return Err(Raise::arg(args + 1, "found too many arguments"));
    }
    s.set_top(args);
    Ok(s.userdata::<Config>())
}

fn int_option(s: Stack, n: usize, to: &mut i32, min: i32, max: i32) -> Returned {
    if s.kind(n as c_int) != LuaType::Nil {
        let value = s.check_integer(n)?;
        let value = i32::try_from(value).ok().filter(|v| (min..=max).contains(v));
        *to = value
            .ok_or_else(|| Raise::arg(1, format!("expected integer between {min} and {max}")))?;
    }
    s.push_number(f64::from(*to));
    Ok(1)
}

fn choice(s: Stack, n: usize, options: &[&str]) -> Result<Option<usize>, Raise> {
    match s.kind(n as c_int) {
        LuaType::Nil => Ok(None),
        LuaType::Boolean => Ok(Some(usize::from(s.boolean(n as c_int)))),
        _ => {
            let text = s.check_bytes(n)?;
            let found = options.iter().position(|o| o.as_bytes() == text);
            let text = carry(c_string(text));
            found.map(Some).ok_or_else(|| Raise::arg(n, format!("invalid option '{text}'")))
        }
    }
}

fn bool_option(s: Stack, n: usize, to: &mut bool) -> Returned {
    if let Some(v) = choice(s, n, &["off", "on"])? {
        *to = v != 0;
    }
    s.push_bool(*to);
    Ok(1)
}

fn encode_sparse_array(s: Stack) -> Returned {
    let c = config(s, 3)?;
    bool_option(s, 1, &mut c.sparse_convert)?;
    int_option(s, 2, &mut c.sparse_ratio, 0, i32::MAX)?;
    int_option(s, 3, &mut c.sparse_safe, 0, i32::MAX)?;
    Ok(3)
}

fn encode_max_depth(s: Stack) -> Returned {
    let c = config(s, 1)?;
    int_option(s, 1, &mut c.encode_depth, 1, i32::MAX)
}

fn decode_max_depth(s: Stack) -> Returned {
    let c = config(s, 1)?;
    int_option(s, 1, &mut c.decode_depth, 1, i32::MAX)
}

fn encode_number_precision(s: Stack) -> Returned {
    let c = config(s, 1)?;
    int_option(s, 1, &mut c.precision, 1, 14)
}

/// Has no effect here: the buffer is not kept in any case.
fn encode_keep_buffer(s: Stack) -> Returned {
    let c = config(s, 1)?;
    bool_option(s, 1, &mut c.keep_buffer)
}

fn encode_invalid_numbers(s: Stack) -> Returned {
    let c = config(s, 1)?;
    if let Some(v) = choice(s, 1, &["off", "on", "null"])? {
        c.encode_invalid = v as u8;
    }
    match c.encode_invalid {
        2 => s.push_bytes("null"),
        v => s.push_bool(v != 0),
    }
    Ok(1)
}

fn decode_invalid_numbers(s: Stack) -> Returned {
    let c = config(s, 1)?;
    bool_option(s, 1, &mut c.decode_invalid)
}

// ---- encoding --------------------------------------------------------------------------------------

fn encode(s: Stack) -> Returned {
    if s.top() != 1 {
        return Err(Raise::arg(1, "expected 1 argument"));
    }
    let c = *s.userdata::<Config>();
    let mut out = Vec::new();
    append(s, &c, &mut out, 0)?;
    s.push_bytes(&out);
    Ok(1)
}

fn unsupported(s: Stack, i: c_int, why: &str) -> Raise {
    Raise::text(format!("Cannot serialise {}: {why}", s.type_name(i)))
}

/// Appends the value on top, which stays.
fn append(s: Stack, c: &Config, out: &mut Vec<u8>, depth: i32) -> Result<(), Raise> {
    // A table or a string may be in many places, and a sparse array is longer than its table.
    if out.len() > s.state().memory_limit() {
        return Err(Raise::text("not enough memory"));
    }
    s.look(8)?;
    match s.kind(-1) {
        LuaType::String => append_string(out, s.bytes(-1).unwrap_or(&[])),
        LuaType::Number => append_number(s, c, out, -1)?,
        LuaType::Boolean => out.extend_from_slice(if s.boolean(-1) { b"true" } else { b"false" }),
        LuaType::Table => {
            let depth = depth + 1;
            if depth > c.encode_depth.min(DEPTH_MAX) || !s.room(4) || s.check_c_stack().is_err() {
                return Err(Raise::text(format!("Cannot serialise, excessive nesting ({depth})")));
            }
            match array_length(s, c)? {
                Some(n) if n > 0 => {
                    for i in 1..=n {
                        out.push(if i == 1 { b'[' } else { b',' });
                        s.raw_get_at(-1, i);
                        append(s, c, out, depth)?;
                        s.pop(1);
                    }
                    out.push(b']');
                }
                _ => append_object(s, c, out, depth)?,
            }
        }
        LuaType::Nil => out.extend_from_slice(b"null"),
        LuaType::Light if s.is_null(-1) => out.extend_from_slice(b"null"),
        _ => return Err(unsupported(s, -1, "type not supported")),
    }
    Ok(())
}

fn append_object(s: Stack, c: &Config, out: &mut Vec<u8>, depth: i32) -> Result<(), Raise> {
    out.push(b'{');
    let mut first = true;
    s.push_nil();
    while s.next(-2) {
        if !first {
            out.push(b',');
        }
        first = false;
        match s.kind(-2) {
            LuaType::Number => {
                out.push(b'"');
                append_number(s, c, out, -2)?;
                out.extend_from_slice(b"\":");
            }
            LuaType::String => {
                append_string(out, s.bytes(-2).unwrap_or(&[]));
                out.push(b':');
            }
            _ => return Err(unsupported(s, -2, "table key must be a number or string")),
        }
        append(s, c, out, depth)?;
        s.pop(1);
    }
    out.push(b'}');
    Ok(())
}

/// The length of the table on top if it is an array: its keys are whole numbers from 1 on, with
/// not too many holes.
fn array_length(s: Stack, c: &Config) -> Result<Option<usize>, Raise> {
    let (mut max, mut items) = (0i64, 0i64);
    s.push_nil();
    while s.next(-2) {
        let key = if s.kind(-2) == LuaType::Number { s.number(-2) } else { 0.0 };
        if key < 1.0 || key.floor() != key {
            s.pop(2);
            return Ok(None);
        }
        // As in C, where the maximum is an int.
        max = max.max((key as i64).min(i64::from(i32::MAX)));
        items += 1;
        s.pop(1);
    }
    if c.sparse_ratio > 0
        && max > items.saturating_mul(i64::from(c.sparse_ratio))
        && max > i64::from(c.sparse_safe)
    {
        if !c.sparse_convert {
            return Err(unsupported(s, -1, "excessively sparse array"));
        }
        return Ok(None);
    }
    Ok(Some(max as usize))
}

fn append_number(s: Stack, c: &Config, out: &mut Vec<u8>, i: c_int) -> Result<(), Raise> {
    let n = s.number(i);
    if !n.is_finite() {
        match c.encode_invalid {
            0 => return Err(unsupported(s, i, "must not be NaN or Inf")),
            1 if n.is_nan() => out.extend_from_slice(b"nan"),
            1 => out.extend_from_slice(if n > 0.0 { b"inf" } else { b"-inf" }),
            _ => out.extend_from_slice(b"null"),
        }
        return Ok(());
    }
    if n.trunc() == n && n.abs() < 1e14 && c.precision == 14 && !(n == 0.0 && n.is_sign_negative())
    {
        out.extend_from_slice(stdx::num::fmt_i64(&mut [0; stdx::num::I64_LEN_MAX], n as i64));
    } else {
        out.extend_from_slice(general(&mut [0; LEN_MAX], n, c.precision as usize));
    }
    Ok(())
}

fn append_string(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut from = 0;
    for (i, b) in text.iter().enumerate() {
        let short = match b {
            b'"' => b'"',
            b'\\' => b'\\',
            b'/' => b'/',
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            12 => b'f',
            b'\r' => b'r',
            0..=31 | 127 => 0,
            _ => continue,
        };
        out.extend_from_slice(&text[from..i]);
        from = i + 1;
        if short == 0 {
            let hex = |n: u8| b"0123456789abcdef"[usize::from(n)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(b >> 4), hex(b & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

// ---- decoding --------------------------------------------------------------------------------------

fn decode(s: Stack) -> Returned {
    if s.top() != 1 {
        return Err(Raise::arg(1, "expected 1 argument"));
    }
    let c = *s.userdata::<Config>();
    let text = s.check_bytes(1)?;
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(Raise::text("JSON parser does not support UTF-16 or UTF-32"));
    }
    let mut d = Decoder { s, text, at: 0, depth: 0, config: c, buffer: Vec::new() };
    let token = d.token();
    d.value(token)?;
    match d.token() {
        (_, Token::End) => Ok(1),
        token => Err(d.unexpected("the end", token)),
    }
}

#[derive(Debug)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// Its text is in the buffer.
    String,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token {
    fn name(&self) -> &'static str {
        match self {
            Self::ObjectBegin => "T_OBJ_BEGIN",
            Self::ObjectEnd => "T_OBJ_END",
            Self::ArrayBegin => "T_ARR_BEGIN",
            Self::ArrayEnd => "T_ARR_END",
            Self::String => "T_STRING",
            Self::Number(_) => "T_NUMBER",
            Self::Boolean(_) => "T_BOOLEAN",
            Self::Null => "T_NULL",
            Self::Colon => "T_COLON",
            Self::Comma => "T_COMMA",
            Self::End => "T_END",
            Self::Error(what) => what,
        }
    }
}

struct Decoder<'a> {
    s: Stack,
    text: &'a [u8],
    at: usize,
    depth: i32,
    config: Config,
    buffer: Vec<u8>,
}

type Found = (usize, Token);

impl Decoder<'_> {
    fn unexpected(&self, expected: &str, (at, token): Found) -> Raise {
        Raise::text(format!(
            "Expected {expected} but found {} at character {}",
            token.name(),
            at + 1
        ))
    }

    /// The byte at `i`; a zero behind the end, which ends the text as a zero within it does.
    fn byte(&self, i: usize) -> u8 {
        self.text.get(i).copied().unwrap_or(0)
    }

    fn token(&mut self) -> Found {
        while matches!(self.byte(self.at), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let at = self.at;
        let single = match self.byte(at) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            0 => return (at, Token::End),
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => {
                if !self.config.decode_invalid && self.is_invalid_number() {
                    return (at, Token::Error("invalid number"));
                }
                return self.number();
            }
            b'f' | b'i' | b'I' | b'n' | b'N' | b't' | b'+' => return self.word(),
            _ => return (at, Token::Error("invalid token")),
        };
        self.at += 1;
        (at, single)
    }

    fn word(&mut self) -> Found {
        let at = self.at;
        let rest = &self.text[at..];
        for (word, token) in [
            (&b"true"[..], Token::Boolean(true)),
            (b"false", Token::Boolean(false)),
            (b"null", Token::Null),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return (at, token);
            }
        }
        if self.config.decode_invalid && self.is_invalid_number() {
            return self.number();
        }
        (at, Token::Error("invalid token"))
    }

    /// A text that C reads as a number and JSON does not know.
    fn is_invalid_number(&self) -> bool {
        let mut p = self.at;
        if self.byte(p) == b'+' {
            return true;
        }
        if self.byte(p) == b'-' {
            p += 1;
        }
        let word =
            |w: &[u8]| self.text.get(p..p + w.len()).is_some_and(|t| t.eq_ignore_ascii_case(w));
        match self.byte(p) {
            b'0' => matches!(self.byte(p + 1), b'x' | b'X' | b'0'..=b'9'),
            0..=b'9' => false,
            _ => word(b"inf") || word(b"nan"),
        }
    }

    /// As C's `strtod`.
    fn number(&mut self) -> Found {
        let at = self.at;
        match float(&self.text[at..]) {
            Some((n, used)) => {
                self.at += used;
                (at, Token::Number(n))
            }
            None => (at, Token::Error("invalid number")),
        }
    }

    fn string(&mut self) -> Found {
        let at = self.at;
        self.at += 1;
        self.buffer.clear();
        loop {
            let rest = &self.text[self.at.min(self.text.len())..];
            let plain =
                rest.iter().position(|c| matches!(c, b'"' | b'\\' | 0)).unwrap_or(rest.len());
            self.buffer.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.byte(self.at) {
                b'"' => {
                    self.at += 1;
                    return (at, Token::String);
                }
                b'\\' => {
                    let c = match self.byte(self.at + 1) {
                        c @ (b'"' | b'\\' | b'/') => c,
                        b'b' => 8,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'f' => 12,
                        b'r' => b'\r',
                        b'u' => match self.unicode() {
                            Some(()) => continue,
                            None => return (self.at, Token::Error("invalid unicode escape code")),
                        },
                        _ => return (self.at, Token::Error("invalid escape code")),
                    };
                    self.buffer.push(c);
                    self.at += 2;
                }
                _ => return (self.at, Token::Error("unexpected end of string")),
            }
        }
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |n, c| Some(n << 4 | char::from(*c).to_digit(16)?))
    }

    /// `\uXXXX`, or two of them for a character beyond 16 bits.
    fn unicode(&mut self) -> Option<()> {
        let mut code = self.hex(self.at + 2)?;
        let mut used = 6;
        if code & 0xf800 == 0xd800 {
            if code & 0x400 != 0 || self.text.get(self.at + 6..self.at + 8) != Some(&b"\\u"[..]) {
                return None;
            }
            let low = self.hex(self.at + 8)?;
            if low & 0xfc00 != 0xdc00 {
                return None;
            }
            code = ((code & 0x3ff) << 10 | low & 0x3ff) + 0x1_0000;
            used = 12;
        }
        let c = char::from_u32(code)?;
        self.buffer.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.at += used;
        Some(())
    }

    /// Pushes the value that begins with a token.
    fn value(&mut self, token: Found) -> Result<(), Raise> {
        let s = self.s;
        match token.1 {
            Token::String => s.push_bytes(&self.buffer),
            Token::Number(n) => s.push_number(n),
            Token::Boolean(b) => s.push_bool(b),
            Token::Null => s.push_null(),
            Token::ObjectBegin => return self.object(),
            Token::ArrayBegin => return self.array(),
            _ => return Err(self.unexpected("value", token)),
        }
        Ok(())
    }

    fn descend(&mut self) -> Result<(), Raise> {
        self.depth += 1;
        let deep = self.depth > self.config.decode_depth.min(DEPTH_MAX);
        if deep || !self.s.room(4) || self.s.check_c_stack().is_err() {
            return Err(Raise::text(format!(
                "Found too many nested data structures ({}) at character {}",
                self.depth, self.at
            )));
        }
        self.s.check_memory()
    }

    fn object(&mut self) -> Result<(), Raise> {
        self.descend()?;
        let s = self.s;
        s.new_table(0, 0);
        let mut token = self.token();
        if !matches!(token.1, Token::ObjectEnd) {
            loop {
                if !matches!(token.1, Token::String) {
                    return Err(self.unexpected("object key string", token));
                }
                s.push_bytes(&self.buffer);
                token = self.token();
                if !matches!(token.1, Token::Colon) {
                    return Err(self.unexpected("colon", token));
                }
                token = self.token();
                self.value(token)?;
                s.raw_set(-3);
                token = self.token();
                match token.1 {
                    Token::ObjectEnd => break,
                    Token::Comma => token = self.token(),
                    _ => return Err(self.unexpected("comma or object end", token)),
                }
                s.check_memory()?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self) -> Result<(), Raise> {
        self.descend()?;
        let s = self.s;
        s.new_table(0, 0);
        let mut token = self.token();
        if !matches!(token.1, Token::ArrayEnd) {
            for i in 1.. {
                self.value(token)?;
                s.raw_set_at(-2, i);
                token = self.token();
                match token.1 {
                    Token::ArrayEnd => break,
                    Token::Comma => token = self.token(),
                    _ => return Err(self.unexpected("comma or array end", token)),
                }
                s.check_memory()?;
            }
        }
        self.depth -= 1;
        Ok(())
    }
}

/// A number at the start of a text as C's `strtod` reads it, and its length.
fn float(text: &[u8]) -> Option<(f64, usize)> {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let negative = text.first() == Some(&b'-');
    let signed = |n: f64| if negative { -n } else { n };
    let body = &text[sign..];
    let starts = |w: &[u8]| body.get(..w.len()).is_some_and(|t| t.eq_ignore_ascii_case(w));
    if starts(b"infinity") {
        return Some((signed(f64::INFINITY), sign + 8));
    }
    if starts(b"inf") {
        return Some((signed(f64::INFINITY), sign + 3));
    }
    if starts(b"nan") {
        return Some((signed(f64::NAN), sign + 3));
    }
    if starts(b"0x") && body.get(2).is_some_and(u8::is_ascii_hexdigit) {
        let digits = body[2..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
        let digit = |c: &u8| char::from(*c).to_digit(16).map_or(0.0, f64::from);
        let n = body[2..2 + digits].iter().fold(0.0, |n, c| n * 16.0 + digit(c));
        return Some((signed(n), sign + 2 + digits));
    }
    let digits = |from: usize| {
        body.get(from..).unwrap_or(&[]).iter().take_while(|c| c.is_ascii_digit()).count()
    };
    let whole = digits(0);
    let mut end = whole;
    let mut fraction = 0;
    if body.get(whole) == Some(&b'.') {
        fraction = digits(whole + 1);
        end = whole + 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(body.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(body.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let n: f64 = std::str::from_utf8(&body[..end]).ok()?.parse().ok()?;
    Some((signed(n), sign + end))
}
