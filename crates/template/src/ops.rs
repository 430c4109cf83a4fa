//! Operators of more than numbers: texts and lists.

use crate::ast::Math;
use crate::builtin::Env;
use crate::error::{Error, Result};
use crate::escape::Escape;
use crate::meter::Meter;
use crate::number::{impossible, math};
use crate::show::{display, to_text};
use crate::value::{List, ListKind, Value, ValueKind};

/// Lists with more items than this are not made by repeating.
const REPEATED_MAX: usize = 100_000_000;

/// An operator of [`Math`].
pub(crate) fn binary<'t>(
    op: Math,
    a: &Value<'t>,
    b: &Value<'t>,
    env: &Env<'t>,
) -> Result<Value<'t>> {
    match (op, a, b) {
        (_, Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => math(op, a, b),
        (Math::Add, Value::Str(_), Value::Str(_)) if needs_escape(a, b, env) => concat(a, b, env),
        (Math::Add, ..) => add(a, b, &env.meter),
        (Math::Mul, ..) => multiply(a, b, &env.meter),
        _ => math(op, a, b),
    }
}

/// Adds numbers, texts or lists.
pub(crate) fn add<'t>(a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<Value<'t>> {
    match (a, b) {
        (Value::List(x), Value::List(y)) if a.is_tuple() == b.is_tuple() => {
            meter.values(x.len() + y.len())?;
            let kind = match (a.is_tuple(), x.known_len().and(y.known_len())) {
                (true, _) => ListKind::Tuple,
                (false, Some(_)) => ListKind::Iter,
                (false, None) => ListKind::Unsized,
            };
            Value::list_of(x.iter().chain(y.iter()).cloned().collect(), kind)
        }
        (Value::Str(x), Value::Str(y)) => {
            meter.bytes(x.len() + y.len())?;
            Ok(Value::text([&**x, &**y].concat(), a.is_safe() && b.is_safe()))
        }
        _ => math(Math::Add, a, b),
    }
}

/// How often something is repeated; none: the value is no integer.
fn times(value: &Value<'_>) -> Option<usize> {
    let n = value.as_whole()?;
    Some(usize::try_from(n.max(0)).unwrap_or(usize::MAX))
}

fn multiply<'t>(a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<Value<'t>> {
    let (many, n) = match (a.as_str(), b.as_str(), a, b) {
        (Some(_), ..) | (None, None, Value::List(_), _) => (a, b),
        (None, Some(_), ..) | (None, None, _, Value::List(_)) => (b, a),
        _ => return math(Math::Mul, a, b),
    };
    let n = times(n).ok_or_else(|| impossible(Math::Mul, a, b))?;
    let too_large = || Error::operation("what is repeated becomes too large");
    if let Some(text) = many.as_str() {
        let len = text.len().checked_mul(n).filter(|len| *len <= REPEATED_MAX);
        meter.bytes(len.ok_or_else(too_large)?)?;
        return Ok(Value::text(text.repeat(n), many.is_safe()));
    }
    let Value::List(list) = many else { return math(Math::Mul, a, b) };
    let len = list.known_len().ok_or_else(|| Error::operation("a list without a length"))?;
    if len == 0 || n == 0 {
        let kind = if many.is_tuple() { ListKind::Tuple } else { ListKind::Seq };
        return Value::list_of(Vec::new(), kind);
    }
    let all = len.checked_mul(n).filter(|len| *len <= REPEATED_MAX).ok_or_else(too_large)?;
    meter.values(all)?;
    let kind = if many.is_tuple() { ListKind::Tuple } else { ListKind::Iter };
    Value::list_of(list.iter().cycle().take(all).cloned().collect(), kind)
}

fn needs_escape(a: &Value<'_>, b: &Value<'_>, env: &Env<'_>) -> bool {
    a.is_safe() != b.is_safe() && env.escape != Escape::None
}

/// The operator `~`. What is not safe is escaped when it comes to something that is.
pub(crate) fn concat<'t>(a: &Value<'t>, b: &Value<'t>, env: &Env<'t>) -> Result<Value<'t>> {
    let meter = &env.meter;
    let mut out = String::new();
    if needs_escape(a, b, env) {
        crate::escape::write(a, env.escape, &mut out, meter)?;
        crate::escape::write(b, env.escape, &mut out, meter)?;
        return Ok(Value::safe(out));
    }
    if let (Value::Str(a), Value::Str(b)) = (a, b) {
        out.reserve_exact(a.len() + b.len());
    }
    display(a, &mut out, meter)?;
    display(b, &mut out, meter)?;
    Ok(Value::text(out, a.is_safe() && b.is_safe()))
}

/// The operator `in`.
pub(crate) fn contains<'t>(all: &Value<'t>, value: &Value<'t>, meter: &Meter) -> Result<bool> {
    if let Some(text) = all.as_str() {
        meter.scan(text.len())?;
        return match value.as_str() {
            Some(part) => Ok(text.contains(part)),
            None => Ok(text.contains(&*to_text(value, meter)?)),
        };
    }
    match all {
        Value::Undefined => Ok(false),
        Value::List(list) => {
            for item in list.iter() {
                meter.steps(1)?;
                if crate::compare::equal(item, value, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => match all.kind() {
            ValueKind::Map => Ok(all.item(value, meter)?.is_some()),
            ValueKind::Plain => Ok(false),
            kind => Err(Error::operation(format!("{} contains nothing", kind.name()))),
        },
    }
}

/// The part of a row: where it starts and ends, and its step.
struct Slice {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Slice {
    /// Indices from left to right: the first one, and one behind the last.
    fn forward(&self, len: impl FnOnce() -> usize) -> (usize, usize) {
        let start = self.start.unwrap_or(0);
        let len = match (start, self.stop) {
            (0.., Some(0..)) => 0,
            _ => i64::try_from(len()).unwrap_or(i64::MAX),
        };
        let index = |n: i64| if n < 0 { len.saturating_add(n).max(0) } else { n } as usize;
        let start = index(start);
        (start, self.stop.map_or(len as usize, index).max(start))
    }

    /// Indices from right to left.
    fn backward(&self, len: usize) -> impl Iterator<Item = usize> + use<> {
        let end = i64::try_from(len).unwrap_or(i64::MAX);
        let index = |n: i64| if n < 0 { end.saturating_add(n).max(-1) } else { n.min(end - 1) };
        let start = self.start.map_or(end - 1, index);
        let stop = self.stop.map_or(-1, index);
        let step = self.step.unsigned_abs();
        let count = if start > stop { ((start - stop - 1) as u64) / step + 1 } else { 0 };
        (0..count).map(move |i| (start as u64).wrapping_sub(i.wrapping_mul(step)) as usize)
    }

    fn of<T: Clone>(&self, all: &[T], known: usize) -> Vec<T> {
        if self.step < 0 {
            return self.backward(all.len()).filter_map(|i| all.get(i).cloned()).collect();
        }
        let (start, stop) = self.forward(|| known);
        let part = all.get(start.min(all.len())..stop.min(all.len())).unwrap_or_default();
        let step = usize::try_from(self.step).unwrap_or(usize::MAX);
        part.iter().step_by(step).cloned().collect()
    }
}

/// `value[start:stop:step]`.
pub(crate) fn slice<'t>(
    value: &Value<'t>,
    [start, stop, step]: [&Value<'t>; 3],
    meter: &Meter,
) -> Result<Value<'t>> {
    let number = |value: &Value<'t>| match value {
        Value::None => Ok(None),
        _ => value.as_i64().map(Some).ok_or_else(|| {
            Error::operation(format!("{} cannot limit a slice", value.kind().name()))
        }),
    };
    let (start, stop) = (number(start)?, number(stop)?);
    let step = number(step)?.unwrap_or(1);
    if step == 0 {
        return Err(Error::operation("a slice cannot have steps of 0"));
    }
    let part = Slice { start, stop, step };
    match value {
        Value::Undefined | Value::None => Value::list(Vec::new()),
        Value::Str(text) if step == 1 && text.is_ascii() => {
            meter.scan(text.len())?;
            let (start, stop) = part.forward(|| text.len());
            let found = text.get(start.min(text.len())..stop.min(text.len())).unwrap_or_default();
            meter.bytes(found.len())?;
            Ok(Value::from(found))
        }
        Value::Str(text) => {
            meter.bytes(text.len().saturating_mul(5))?;
            let chars: Vec<char> = text.chars().collect();
            Ok(Value::from(part.of(&chars, chars.len()).into_iter().collect::<String>()))
        }
        Value::Bytes(bytes) => {
            meter.bytes(bytes.len())?;
            Ok(Value::Bytes(part.of(bytes, bytes.len()).into()))
        }
        Value::List(list) => {
            meter.values(list.len())?;
            // A list without a length has none here, either.
            let items = part.of(list, list.known_len().unwrap_or(0));
            let kind = match list.kind() {
                ListKind::Tuple => ListKind::Tuple,
                ListKind::Unsized if step > 0 && !items.is_empty() => ListKind::Unsized,
                _ => ListKind::Iter,
            };
            List::new(items, kind).map(Value::List)
        }
        _ => Err(Error::operation(format!("{} has no slices", value.kind().name()))),
    }
}
