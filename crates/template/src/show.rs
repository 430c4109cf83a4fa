//! Values as texts: as they are shown, as Python would write them, over several lines, and as JSON.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::meter::Meter;
use crate::value::{ListKind, Object, Value};

fn push(text: &str, out: &mut String, meter: &Meter) -> Result<()> {
    meter.bytes(text.len())?;
    out.push_str(text);
    Ok(())
}

/// A number with a fraction as it is shown.
fn float(n: f64, out: &mut String) {
    let start = out.len();
    if n.is_nan() {
        out.push_str("NaN");
    } else {
        write!(out, "{n}").expect("a string takes all");
        if n.is_finite() && !out[start..].contains('.') {
            out.push_str(".0");
        }
    }
}

/// Writes a value as it is shown where nothing is escaped.
pub(crate) fn display(value: &Value<'_>, out: &mut String, meter: &Meter) -> Result<()> {
    match value {
        Value::Undefined => Ok(()),
        Value::Str(text) => push(text, out, meter),
        Value::Int(n) => {
            meter.bytes(8)?;
            write!(out, "{n}").expect("a string takes all");
            Ok(())
        }
        Value::Float(n) => {
            // The longest has 300 digits and more.
            meter.bytes(24)?;
            float(*n, out);
            Ok(())
        }
        Value::Bytes(bytes) => {
            meter.bytes(bytes.len().saturating_mul(3))?;
            out.push_str(&String::from_utf8_lossy(bytes));
            Ok(())
        }
        Value::Object(Object::Module(module)) => display(&module.text, out, meter),
        _ => repr(value, None, out, meter),
    }
}

/// A value as a text of its own.
pub(crate) fn to_text(value: &Value<'_>, meter: &Meter) -> Result<String> {
    let mut out = String::new();
    display(value, &mut out, meter)?;
    Ok(out)
}

impl Value<'_> {
    /// How it is shown where nothing is escaped.
    ///
    /// # Errors
    /// There is too much.
    pub fn show(&self, meter: &Meter) -> Result<String> {
        to_text(self, meter)
    }
}

/// A text in quotes.
fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            // The control characters are all below 0x100.
            c if c.is_control() => {
                write!(out, "\\x{:02x}", c as u32).expect("a string takes all");
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// Writes a value as Python would. With an `indent`, every item has a line of its own.
pub(crate) fn repr(
    value: &Value<'_>,
    indent: Option<usize>,
    out: &mut String,
    meter: &Meter,
) -> Result<()> {
    meter.bytes(8)?;
    match value {
        Value::Undefined => out.push_str("undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(n) => write!(out, "{n}").expect("a string takes all"),
        Value::Big(n) => write!(out, "{n}").expect("a string takes all"),
        Value::Float(n) => write!(out, "{n:?}").expect("a string takes all"),
        Value::Str(text) => {
            meter.bytes(text.len())?;
            quoted(text, out);
        }
        Value::Bytes(bytes) => {
            meter.bytes(bytes.len().saturating_mul(4))?;
            out.push_str("b'");
            for byte in bytes.iter() {
                match byte {
                    b'"' => out.push('"'),
                    _ => write!(out, "{}", byte.escape_ascii()).expect("a string takes all"),
                }
            }
            out.push('\'');
        }
        Value::List(list) => match list.kind() {
            ListKind::Unsized => out.push_str("<iterator>"),
            ListKind::Tuple => {
                let end = if list.len() == 1 { ",)" } else { ")" };
                items(list.iter(), None, ["(", end], out, meter)?;
            }
            ListKind::Group => items(list.iter(), indent, ["(", ")"], out, meter)?,
            ListKind::Seq | ListKind::Iter => items(list.iter(), indent, ["[", "]"], out, meter)?,
        },
        Value::Map(_) | Value::Object(Object::Namespace(_)) => {
            pairs(&value.pairs(meter)?.unwrap_or_default(), indent, out, meter)?;
        }
        Value::Object(Object::Loop(of)) => out.push_str(&of.show()),
        Value::Object(Object::Macro(of)) => {
            write!(out, "<macro {}>", of.name).expect("a string takes all");
        }
        Value::Object(Object::Module(of)) => display(&of.text, out, meter)?,
        Value::Object(Object::Function(name)) => {
            write!(out, "<function {}>", name.text).expect("a string takes all");
        }
    }
    Ok(())
}

/// Begins a line of its own.
fn line(indent: usize, out: &mut String, meter: &Meter) -> Result<()> {
    meter.bytes(indent + 1)?;
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    Ok(())
}

fn items<'v, 't: 'v>(
    items: impl Iterator<Item = &'v Value<'t>>,
    indent: Option<usize>,
    [start, end]: [&str; 2],
    out: &mut String,
    meter: &Meter,
) -> Result<()> {
    out.push_str(start);
    let mut first = true;
    let inner = indent.map(|n| n + 4);
    for item in items {
        match inner {
            Some(inner) => line(inner, out, meter)?,
            None if first => {}
            None => push(", ", out, meter)?,
        }
        repr(item, inner, out, meter)?;
        if inner.is_some() {
            push(",", out, meter)?;
        }
        first = false;
    }
    if let (Some(indent), false) = (indent, first) {
        line(indent, out, meter)?;
    }
    push(end, out, meter)
}

fn pairs(
    pairs: &[(Value<'_>, Value<'_>)],
    indent: Option<usize>,
    out: &mut String,
    meter: &Meter,
) -> Result<()> {
    out.push('{');
    let inner = indent.map(|n| n + 4);
    for (i, (key, value)) in pairs.iter().enumerate() {
        match inner {
            Some(inner) => line(inner, out, meter)?,
            None if i == 0 => {}
            None => push(", ", out, meter)?,
        }
        repr(key, inner, out, meter)?;
        push(": ", out, meter)?;
        repr(value, inner, out, meter)?;
        if inner.is_some() {
            push(",", out, meter)?;
        }
    }
    if let (Some(indent), false) = (indent, pairs.is_empty()) {
        line(indent, out, meter)?;
    }
    push("}", out, meter)
}

/// How JSON is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Json {
    /// Without spaces.
    Compact,
    /// With a space behind commas and colons.
    Spaced,
    /// With lines, indented by so many spaces a level.
    Lines(usize),
}

/// Writes a value as JSON. `html`: also safe within HTML.
pub(crate) fn json(
    value: &Value<'_>,
    style: Json,
    html: bool,
    out: &mut String,
    meter: &Meter,
) -> Result<()> {
    Writer { style, html, depth: 0, out, meter }.value(value)
}

struct Writer<'a> {
    style: Json,
    html: bool,
    depth: usize,
    out: &'a mut String,
    meter: &'a Meter,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value<'_>) -> Result<()> {
        self.meter.bytes(4)?;
        match value {
            Value::Undefined | Value::None => self.out.push_str("null"),
            Value::Bool(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Value::Int(_) | Value::Big(_) => repr(value, None, self.out, self.meter)?,
            Value::Float(n) if n.is_finite() => self.float(*n),
            Value::Float(_) => self.out.push_str("null"),
            Value::Str(text) => self.text(text)?,
            Value::Bytes(bytes) => {
                self.open('[');
                for (i, byte) in bytes.iter().enumerate() {
                    self.item(i == 0)?;
                    self.value(&Value::Int(i64::from(*byte)))?;
                }
                self.close(']', bytes.is_empty())?;
            }
            Value::List(list) => {
                self.open('[');
                for (i, item) in list.iter().enumerate() {
                    self.item(i == 0)?;
                    self.value(item)?;
                }
                self.close(']', list.is_empty())?;
            }
            Value::Object(Object::Function(name)) => self.text(&name.text)?,
            Value::Map(_) | Value::Object(_) => {
                let pairs = value.pairs(self.meter)?.unwrap_or_default();
                self.open('{');
                for (i, (key, value)) in pairs.iter().enumerate() {
                    self.item(i == 0)?;
                    self.key(key)?;
                    let compact = matches!(self.style, Json::Compact);
                    self.out.push_str(if compact { ":" } else { ": " });
                    self.value(value)?;
                }
                self.close('}', pairs.is_empty())?;
            }
        }
        Ok(())
    }

    fn key(&mut self, key: &Value<'_>) -> Result<()> {
        match key {
            Value::Str(text) => self.text(text),
            Value::Bool(_) | Value::Int(_) | Value::Big(_) => self.quoted(key),
            Value::Float(n) if n.is_finite() => self.quoted(key),
            _ => Err(Error::operation(format!("{} is no key in JSON", key.kind().name()))),
        }
    }

    fn quoted(&mut self, value: &Value<'_>) -> Result<()> {
        self.out.push('"');
        self.value(value)?;
        self.out.push('"');
        Ok(())
    }

    fn float(&mut self, n: f64) {
        match serde_json::to_string(&n) {
            Ok(text) => self.out.push_str(&text),
            Err(_) => self.out.push_str("null"),
        }
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.meter.bytes(text.len() + 2)?;
        self.out.push('"');
        let mut start = 0;
        for (i, &byte) in text.as_bytes().iter().enumerate() {
            let html = self.html && matches!(byte, b'<' | b'>' | b'&' | b'\'');
            if byte >= 0x20 && byte != b'"' && byte != b'\\' && !html {
                continue;
            }
            self.meter.bytes(5)?;
            self.out.push_str(&text[start..i]);
            start = i + 1;
            match byte {
                b'"' => self.out.push_str("\\\""),
                b'\\' => self.out.push_str("\\\\"),
                0x08 => self.out.push_str("\\b"),
                0x0c => self.out.push_str("\\f"),
                b'\n' => self.out.push_str("\\n"),
                b'\r' => self.out.push_str("\\r"),
                b'\t' => self.out.push_str("\\t"),
                _ => write!(self.out, "\\u{byte:04x}").expect("a string takes all"),
            }
        }
        self.out.push_str(&text[start..]);
        self.out.push('"');
        Ok(())
    }

    fn open(&mut self, bracket: char) {
        self.depth += 1;
        self.out.push(bracket);
    }

    fn item(&mut self, first: bool) -> Result<()> {
        match self.style {
            Json::Compact if !first => self.out.push(','),
            Json::Spaced if !first => self.out.push_str(", "),
            Json::Compact | Json::Spaced => {}
            Json::Lines(indent) => {
                if !first {
                    self.out.push(',');
                }
                line(indent.saturating_mul(self.depth), self.out, self.meter)?;
            }
        }
        self.meter.bytes(2)
    }

    fn close(&mut self, bracket: char, empty: bool) -> Result<()> {
        self.depth -= 1;
        if let (Json::Lines(indent), false) = (self.style, empty) {
            line(indent.saturating_mul(self.depth), self.out, self.meter)?;
        }
        self.out.push(bracket);
        Ok(())
    }
}
