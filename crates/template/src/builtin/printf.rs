//! The filter `format`: `%` as in C and Python.

use std::fmt::Write;

use super::{Arguments, Env, strings, wrong};
use crate::error::{Error, Result};
use crate::show::to_text;
use crate::value::{Map, Value, ValueKind};

/// Digits behind the point that std writes itself.
const PRECISION_MAX: usize = u16::MAX as usize;

/// What stands between `%` and its letter.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

pub(super) fn filter<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    let Some((first, rest)) = args.pos.split_first() else {
        return Err(wrong("nothing to format"));
    };
    let format = strings::string(first)?;
    let mut values = rest.to_vec();
    if !args.values.is_empty() {
        let pairs = args.named().map(|(name, value)| (Value::from(name), value.clone()));
        values.push(Value::Map(Map::sorted(pairs.collect(), &env.meter)?));
    }
    let mut out = String::new();
    let mut next = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        env.meter.steps(1)?;
        env.meter.bytes(at + 1)?;
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let mut key = None;
        if let Some(behind) = rest.strip_prefix('(') {
            let (name, behind) = behind.split_once(')').ok_or_else(|| bad("`)` is missing"))?;
            key = Some(name);
            rest = behind;
        }
        let spec = Spec::read(&mut rest)?;
        let missing = || bad("there are too few values");
        let value = match key {
            Some(key) => {
                let first = values.first().ok_or_else(missing)?;
                if first.kind() != ValueKind::Map {
                    return Err(bad("names need a map"));
                }
                first.attr(key).filter(|value| !value.is_undefined()).ok_or_else(missing)?
            }
            None => {
                let value = values.get(next).cloned().ok_or_else(missing)?;
                next += 1;
                value
            }
        };
        let value = guard(&spec, value, first.is_safe(), env)?;
        env.meter.bytes(spec.width.saturating_add(spec.precision.unwrap_or(0)))?;
        spec.write(&value, &mut out, env)?;
    }
    env.meter.bytes(rest.len())?;
    out.push_str(rest);
    Ok(Value::text(out, first.is_safe()))
}

/// A value as it may come into a text: into one that is safe, escaped.
fn guard<'t>(spec: &Spec, value: Value<'t>, safe: bool, env: &Env<'t>) -> Result<Value<'t>> {
    if !safe {
        return Ok(value);
    }
    if spec.letter == 'c' {
        return Err(bad("a safe text takes no %c"));
    }
    match value.kind() {
        ValueKind::Bool | ValueKind::Number => Ok(value),
        _ if value.is_safe() => Ok(value),
        _ => strings::escape(&value, env).map(Value::from),
    }
}

fn bad(text: &str) -> Error {
    Error::operation(format!("format: {text}"))
}

fn number(rest: &mut &str) -> Result<Option<usize>> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = rest.split_at(len);
    *rest = behind;
    if len == 0 {
        return Ok(None);
    }
    digits.parse().map(Some).map_err(|_| bad("a number is too large"))
}

/// The digits of a number, in twos: the first ones, and the exponent.
fn scientific(n: f64, precision: usize) -> (String, i32) {
    let native = precision.min(PRECISION_MAX);
    let text = format!("{n:.native$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits = digits.to_owned();
    digits.extend(std::iter::repeat_n('0', precision - native));
    (digits, exponent.parse().unwrap_or_default())
}

fn fixed(n: f64, precision: usize) -> String {
    let native = precision.min(PRECISION_MAX);
    let mut text = format!("{n:.native$}");
    text.extend(std::iter::repeat_n('0', precision - native));
    text
}

impl Spec {
    fn read(rest: &mut &str) -> Result<Self> {
        let mut spec = Self::default();
        loop {
            match rest.as_bytes().first() {
                Some(b'#') => spec.alternate = true,
                Some(b'0') => spec.zero = true,
                Some(b'-') => spec.left = true,
                Some(b' ') => spec.blank = true,
                Some(b'+') => spec.plus = true,
                _ => break,
            }
            *rest = &rest[1..];
        }
        let width = number(rest)?;
        spec.width = width.unwrap_or(0);
        spec.zero = spec.zero && !spec.left && width.is_some();
        if let Some(behind) = rest.strip_prefix('.') {
            *rest = behind;
            spec.precision = number(rest)?;
        }
        *rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
        let letter = rest.chars().next().filter(|c| "dieEfFgGoxXcs".contains(*c));
        spec.letter = letter.ok_or_else(|| bad("the kind of a value is missing or unknown"))?;
        *rest = &rest[1..];
        Ok(spec)
    }

    fn write(&self, value: &Value<'_>, out: &mut String, env: &Env<'_>) -> Result<()> {
        match value {
            Value::Bool(b) if self.letter == 's' => {
                self.pad(if *b { "True" } else { "False" }, out);
                Ok(())
            }
            Value::Float(n) => self.float(*n, out),
            _ => match value.as_int() {
                Some(n) => self.int(n, out),
                None => self.text(&to_text(value, &env.meter)?, out),
            },
        }
    }

    fn text(&self, text: &str, out: &mut String) -> Result<()> {
        match self.letter {
            's' => {
                let end = self.precision.and_then(|n| text.char_indices().nth(n));
                self.pad(&text[..end.map_or(text.len(), |(at, _)| at)], out);
                Ok(())
            }
            'c' if text.chars().count() == 1 => {
                self.pad_to(text, 1, out);
                Ok(())
            }
            _ => Err(bad("a text is no number")),
        }
    }

    fn int(&self, n: i128, out: &mut String) -> Result<()> {
        let size = n.unsigned_abs();
        let float = size as f64;
        let digits = match self.letter {
            'd' | 'i' => size.to_string(),
            'o' => format!("{size:o}"),
            'x' => format!("{size:x}"),
            'X' => format!("{size:X}"),
            'c' => {
                let c = u32::try_from(n).ok().and_then(char::from_u32);
                let c = c.ok_or_else(|| bad("there is no such character"))?;
                self.pad_to(&c.to_string(), 1, out);
                return Ok(());
            }
            's' => {
                let sign = if n < 0 { "-" } else { "" };
                self.number(sign, &size.to_string(), out);
                return Ok(());
            }
            'f' | 'F' => match self.precision.unwrap_or(6) {
                0 => self.pointed(size.to_string()),
                zeros => format!("{size}.{}", "0".repeat(zeros)),
            },
            _ => return self.exponent(n < 0, float, Some(size), out),
        };
        self.number(self.sign(n < 0), &digits, out);
        Ok(())
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    /// A point behind a number without a fraction, if it is wanted.
    fn pointed(&self, mut digits: String) -> String {
        if self.precision == Some(0) && self.alternate {
            digits.push('.');
        }
        digits
    }

    fn float(&self, n: f64, out: &mut String) -> Result<()> {
        let capital = self.letter.is_ascii_uppercase();
        if self.letter == 's' {
            return self.text(&python(n), out);
        }
        if !"eEfFgG".contains(self.letter) {
            return Err(bad("a number with a fraction needs %f, %e, %g or %s"));
        }
        let sign = self.sign(n.is_sign_negative());
        if !n.is_finite() {
            let (text, sign) = if n.is_nan() { ("nan", "") } else { ("inf", sign) };
            let text = if capital { text.to_uppercase() } else { text.to_owned() };
            self.number(sign, &text, out);
            return Ok(());
        }
        match self.letter {
            'f' | 'F' => {
                let digits = self.pointed(fixed(n.abs(), self.precision.unwrap_or(6)));
                self.number(sign, &digits, out);
                Ok(())
            }
            'g' | 'G' if n == 0.0 => {
                self.number(sign, "0", out);
                Ok(())
            }
            _ => self.exponent(n.is_sign_negative(), n.abs(), None, out),
        }
    }

    /// `%e` and `%g`; an integer is given exactly, too.
    fn exponent(
        &self,
        negative: bool,
        n: f64,
        exact: Option<u128>,
        out: &mut String,
    ) -> Result<()> {
        let capital = self.letter.is_ascii_uppercase();
        let mark = if capital { 'E' } else { 'e' };
        let parts = |precision: usize| match exact {
            Some(n) => {
                let native = precision.min(PRECISION_MAX);
                let text = format!("{n:.native$e}");
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let mut digits = digits.to_owned();
                digits.extend(std::iter::repeat_n('0', precision - native));
                (digits, exponent.parse().unwrap_or_default())
            }
            None => scientific(n, precision),
        };
        let mut text = String::new();
        if matches!(self.letter, 'e' | 'E') {
            let (digits, exponent) = parts(self.precision.unwrap_or(6));
            write!(text, "{}{mark}{exponent:+03}", self.pointed(digits)).expect("a string");
        } else {
            let precision = self.precision.unwrap_or(6).max(1);
            let (digits, exponent) = parts(precision - 1);
            if exponent >= -4 && i64::from(exponent) < precision as i64 {
                let places = (precision as i64 - 1 - i64::from(exponent)) as usize;
                let plain = match exact {
                    Some(n) => n.to_string(),
                    None => fixed(n, places),
                };
                text.push_str(self.trimmed(&plain));
            } else {
                let digits = self.trimmed(&digits);
                write!(text, "{digits}{mark}{exponent:+03}").expect("a string");
            }
        }
        self.number(self.sign(negative), &text, out);
        Ok(())
    }

    /// Without zeros at the end, unless they are wanted.
    fn trimmed<'d>(&self, digits: &'d str) -> &'d str {
        if self.alternate || !digits.contains('.') {
            return digits;
        }
        digits.trim_end_matches('0').trim_end_matches('.')
    }

    fn number(&self, sign: &str, digits: &str, out: &mut String) {
        let prefix = match self.letter {
            'o' if self.alternate => "0o",
            'x' if self.alternate => "0x",
            'X' if self.alternate => "0X",
            _ => "",
        };
        if !self.zero {
            return self.pad(&format!("{sign}{prefix}{digits}"), out);
        }
        out.push_str(sign);
        out.push_str(prefix);
        let len = sign.len() + prefix.len() + digits.len();
        out.extend(std::iter::repeat_n('0', self.width.saturating_sub(len)));
        out.push_str(digits);
    }

    fn pad(&self, text: &str, out: &mut String) {
        self.pad_to(text, text.len(), out);
    }

    fn pad_to(&self, text: &str, len: usize, out: &mut String) {
        let blanks = std::iter::repeat_n(' ', self.width.saturating_sub(len));
        if self.left {
            out.push_str(text);
            out.extend(blanks);
        } else {
            out.extend(blanks);
            out.push_str(text);
        }
    }
}

/// A number with a fraction as Python's `str` writes it.
fn python(n: f64) -> String {
    if n.is_nan() {
        return "nan".to_owned();
    }
    if n.is_infinite() {
        return if n > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{n:?}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            format!("{digits}e{exponent:+03}")
        }
        None => text,
    }
}
