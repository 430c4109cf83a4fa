//! Filters of numbers, and `range`.

use super::{Arguments, Env, Filter, wrong};
use crate::error::{Error, Result};
use crate::meter::Meter;
use crate::value::{ListKind, Value};

/// Numbers of a range.
const RANGE_MAX: i128 = 100_000;

pub(super) fn filter<'t>(
    filter: Filter,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    match filter {
        Filter::Round => round(args, &env.meter),
        Filter::Int => int(args),
        Filter::Float => float(args),
        Filter::Sum => sum(env, args),
        _ => {
            args.check(1, 1, &[])?;
            match &args.pos[0] {
                Value::Int(n) => Ok(Value::from(i128::from(*n).abs())),
                Value::Big(n) => n
                    .checked_abs()
                    .map(Value::from)
                    .ok_or_else(|| Error::operation("the number is too large")),
                Value::Float(n) => Ok(Value::Float(n.abs())),
                value => Err(Error::operation(format!("{} is no number", value.kind().name()))),
            }
        }
    }
}

/// `range(end)`, `range(start, end)`, `range(start, end, step)`.
pub(super) fn range<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 3, &[])?;
    let number = |value: &Value<'t>| {
        let n = value.as_whole().filter(|n| isize::try_from(*n).is_ok());
        n.ok_or_else(|| wrong("range() takes numbers"))
    };
    let first = number(&args.pos[0])?;
    let second = args.maybe(1, "").map(number).transpose()?;
    let step = args.maybe(2, "").map(number).transpose()?.unwrap_or(1);
    let (start, end) = second.map_or((0, first), |end| (first, end));
    if step == 0 {
        return Err(Error::operation("a range cannot have steps of 0"));
    }
    let distance = if step > 0 { end - start } else { start - end };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    if count > RANGE_MAX {
        return Err(Error::operation(format!("a range has {RANGE_MAX} numbers at most")));
    }
    meter.values(count as usize)?;
    let items = (0..count).map(|i| Value::from(start + i * step)).collect();
    Value::list_of(items, ListKind::Iter)
}

fn int<'t>(args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 3, &["default", "base"])?;
    let default = args.maybe(1, "default");
    let base = match args.maybe(2, "base") {
        Some(base) => base.as_whole().and_then(|n| u32::try_from(n).ok()),
        None => Some(10),
    };
    let base = base.ok_or_else(|| wrong("`base` is a number"))?;
    let found = match &args.pos[0] {
        Value::Undefined | Value::None => {
            return Ok(default.cloned().unwrap_or(Value::Int(0)));
        }
        Value::Bool(b) => Some(Value::Int(i64::from(*b))),
        value @ (Value::Int(_) | Value::Big(_)) => Some(value.clone()),
        Value::Float(n) => Some(Value::from(*n as i128)),
        Value::Str(text) => {
            let int = parse_int(text, base);
            let int = int.or_else(|| text.parse::<f64>().ok().map(|n| n as i128));
            int.map(Value::from)
        }
        _ => None,
    };
    let kind = args.pos[0].kind().name();
    found
        .or_else(|| default.cloned())
        .ok_or_else(|| Error::operation(format!("{kind} is no integer")))
}

fn parse_int(text: &str, base: u32) -> Option<i128> {
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        3..=36 => "",
        _ => return None,
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let has = digits.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let digits = if has { &digits[prefix.len()..] } else { digits };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let n = i128::from_str_radix(digits, base).ok()?;
    Some(if negative { -n } else { n })
}

fn float<'t>(args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 2, &["default"])?;
    let default = args.maybe(1, "default");
    let found = match &args.pos[0] {
        Value::Undefined | Value::None => {
            return Ok(default.cloned().unwrap_or(Value::Float(0.0)));
        }
        Value::Str(text) => text.parse().ok(),
        value => value.as_float(false),
    };
    let kind = args.pos[0].kind().name();
    found
        .map(Value::Float)
        .or_else(|| default.cloned())
        .ok_or_else(|| Error::operation(format!("{kind} is no number")))
}

fn sum<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 3, &["attribute", "start"])?;
    let meter = &env.meter;
    let attribute = args.str(1, "attribute")?;
    let mut sum = args.maybe(2, "start").cloned().unwrap_or(Value::Int(0));
    for item in args.pos[0].items(meter)?.iter() {
        meter.steps(1)?;
        let item = match attribute {
            Some(path) => item.path(path, meter).unwrap_or(Value::Undefined),
            None => item.clone(),
        };
        if item.is_undefined() {
            continue;
        }
        if sum.is_number() && !item.is_number() && !matches!(item, Value::Bool(_)) {
            return Err(Error::operation(format!("{} cannot be added", item.kind().name())));
        }
        sum = crate::ops::add(&sum, &item, meter)?;
    }
    Ok(sum)
}

fn too_large() -> Error {
    Error::operation("the rounded number is too large")
}

fn round<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 3, &["precision", "method"])?;
    let precision = match args.maybe(1, "precision") {
        Some(n) => n.as_whole().and_then(|n| i32::try_from(n).ok()),
        None => Some(0),
    };
    let precision = precision.ok_or_else(|| wrong("`precision` is a number"))?;
    let method = args.str(2, "method")?.unwrap_or("common");
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(wrong("`method` is common, ceil or floor"));
    }
    match &args.pos[0] {
        value @ (Value::Int(_) | Value::Big(_)) => match value.as_int() {
            Some(n) if precision < 0 => round_int(n, precision, method).map(Value::from),
            _ => Ok(value.clone()),
        },
        Value::Float(n) if !n.is_finite() => Ok(Value::Float(*n)),
        Value::Float(n) if method == "common" && precision < 0 => {
            round_tens(*n, precision).map(Value::Float)
        }
        Value::Float(n) if method == "common" => {
            // More digits than there can be change nothing.
            let Ok(digits @ 0..=1074) = usize::try_from(precision) else {
                return Ok(Value::Float(*n));
            };
            meter.bytes(digits)?;
            Ok(Value::Float(format!("{n:.digits$}").parse().unwrap_or(*n)))
        }
        Value::Float(n) => {
            let factor: f64 = format!("1e{precision}").parse().unwrap_or(1.0);
            let scaled = n * factor;
            if scaled.is_infinite() {
                return Ok(Value::Float(*n));
            }
            let whole = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
            // There is no zero below zero.
            let rounded = (whole + 0.0) / factor;
            if rounded.is_finite() { Ok(Value::Float(rounded)) } else { Err(too_large()) }
        }
        value => Err(Error::operation(format!("{} is no number", value.kind().name()))),
    }
}

fn round_int(n: i128, precision: i32, method: &str) -> Result<i128> {
    let Some(factor) = 10i128.checked_pow(precision.unsigned_abs()) else {
        return match method {
            "ceil" if n > 0 => Err(too_large()),
            "floor" if n < 0 => Err(too_large()),
            _ => Ok(0),
        };
    };
    let (quotient, rest) = (n.div_euclid(factor), n.rem_euclid(factor));
    let up = match method {
        "ceil" => rest > 0,
        "floor" => false,
        // A half goes to the even one.
        _ => match rest.cmp(&(factor - rest)) {
            std::cmp::Ordering::Equal => quotient % 2 != 0,
            order => order.is_gt(),
        },
    };
    (quotient + i128::from(up)).checked_mul(factor).ok_or_else(too_large)
}

/// Rounds to tens, hundreds and so on, by the digits of the number: a half goes to the even one.
fn round_tens(n: f64, precision: i32) -> Result<f64> {
    let zero = 0.0f64.copysign(n);
    let cut = precision.unsigned_abs() as usize;
    let digits = format!("{:.0}", n.abs().trunc());
    let Some(kept) = digits.len().checked_sub(cut) else { return Ok(zero) };
    let (kept, rest) = digits.split_at(kept);
    let half = format!("5{}", "0".repeat(rest.len().saturating_sub(1)));
    let odd = kept.bytes().last().is_some_and(|digit| digit % 2 == 1);
    let up = rest > &*half || (rest == half && (n.fract() != 0.0 || odd));
    // The number of digits that are kept may grow by one: 99 becomes 100.
    let mut kept = kept.as_bytes().to_vec();
    let mut carry = up;
    for digit in kept.iter_mut().rev() {
        if carry {
            carry = *digit == b'9';
            *digit = if carry { b'0' } else { *digit + 1 };
        }
    }
    if carry {
        kept.insert(0, b'1');
    }
    if kept.is_empty() {
        return Ok(zero);
    }
    let sign = if n.is_sign_negative() { "-" } else { "" };
    let rounded = format!("{sign}{}e{cut}", String::from_utf8_lossy(&kept));
    match rounded.parse::<f64>() {
        Ok(rounded) if rounded.is_finite() => Ok(rounded),
        _ => Err(too_large()),
    }
}
