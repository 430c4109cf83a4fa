//! Whether values are equal, and which comes first. Large values that share parts can take very long to
//! compare, so every pair is a step.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::error::Result;
use crate::meter::Meter;
use crate::number::{Both, both};
use crate::value::{Object, Value, ValueKind};

/// Whether two values are one and the same list, map or object.
pub(crate) fn same<'t>(a: &Value<'t>, b: &Value<'t>) -> Option<bool> {
    match (a, b) {
        (Value::List(a), Value::List(b)) => Some(Rc::ptr_eq(a, b)),
        (Value::Map(a), Value::Map(b)) => Some(Rc::ptr_eq(a, b)),
        (Value::Object(a), Value::Object(b)) => Some(match (a, b) {
            (Object::Namespace(a), Object::Namespace(b)) => Rc::ptr_eq(a, b),
            (Object::Loop(a), Object::Loop(b)) => Rc::ptr_eq(a, b),
            (Object::Macro(a), Object::Macro(b)) => Rc::ptr_eq(a, b),
            (Object::Module(a), Object::Module(b)) => Rc::ptr_eq(a, b),
            (Object::Function(a), Object::Function(b)) => a.text == b.text,
            _ => false,
        }),
        (Value::List(_) | Value::Map(_) | Value::Object(_), _)
        | (_, Value::List(_) | Value::Map(_) | Value::Object(_)) => Some(false),
        _ => None,
    }
}

/// Whether two values are equal.
pub(crate) fn equal<'t>(a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<bool> {
    match (a, b) {
        (Value::None, Value::None) | (Value::Undefined, Value::Undefined) => return Ok(true),
        (Value::Bytes(a), Value::Bytes(b)) => return Ok(a == b),
        _ => {}
    }
    match both(a, b, true) {
        Some(Both::Int(a, b)) => return Ok(a == b),
        Some(Both::Float(a, b)) => return Ok(a == b),
        Some(Both::Str(a, b)) => {
            meter.scan(a.len().min(b.len()))?;
            return Ok(a == b);
        }
        None => {}
    }
    if a.is_tuple() != b.is_tuple() {
        return Ok(false);
    }
    if same(a, b) == Some(true) {
        return Ok(true);
    }
    if let (Value::List(a), Value::List(b)) = (a, b) {
        if a.len() != b.len() {
            return Ok(false);
        }
        meter.steps(1)?;
        for (a, b) in a.iter().zip(b.iter()) {
            meter.steps(1)?;
            if !equal(a, b, meter)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let (Some(a), Some(_)) = (a.pairs(meter)?, b.pairs(meter)?) else { return Ok(false) };
    if Some(a.len()) != b.len(meter)? {
        return Ok(false);
    }
    for (key, value) in &a {
        meter.steps(1)?;
        match b.item(key, meter)? {
            Some(other) if equal(value, &other, meter)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Floats in an order that has a place for each: equal zeros, and NaN at the ends.
fn order_floats(a: f64, b: f64) -> Ordering {
    if a == b { Ordering::Equal } else { a.total_cmp(&b) }
}

/// A float and an integer that it cannot hold exactly.
fn order_mixed(float: f64, int: i128) -> Ordering {
    match order_floats(float, int as f64) {
        Ordering::Equal if float.is_finite() => {
            if float >= i128::MAX as f64 {
                return Ordering::Greater;
            }
            let whole = float.trunc();
            let parts = (whole as i128).cmp(&int);
            parts.then_with(|| float.partial_cmp(&whole).unwrap_or(Ordering::Equal))
        }
        order => order,
    }
}

/// Which of two values comes first.
pub(crate) fn order<'t>(a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<Ordering> {
    match (a, b) {
        (Value::Bool(x), _) if b.is_number() => {
            return order(&Value::Int(i64::from(*x)), b, meter);
        }
        (_, Value::Bool(y)) if a.is_number() => {
            return order(a, &Value::Int(i64::from(*y)), meter);
        }
        _ => {}
    }
    let kinds = a.kind().cmp(&b.kind());
    if kinds.is_ne() || matches!(a.kind(), ValueKind::None | ValueKind::Undefined) {
        return Ok(kinds);
    }
    if let (Value::Bytes(a), Value::Bytes(b)) = (a, b) {
        return Ok(a.cmp(b));
    }
    match both(a, b, true) {
        Some(Both::Int(a, b)) => return Ok(a.cmp(&b)),
        Some(Both::Float(a, b)) => return Ok(order_floats(a, b)),
        Some(Both::Str(a, b)) => {
            meter.scan(a.len().min(b.len()))?;
            return Ok(a.cmp(b));
        }
        None => {}
    }
    match (a, b) {
        (Value::Float(a), _) if let Some(b) = b.as_int() => return Ok(order_mixed(*a, b)),
        (_, Value::Float(b)) if let Some(a) = a.as_int() => {
            return Ok(order_mixed(*b, a).reverse());
        }
        _ => {}
    }
    order_many(a, b, meter)
}

fn order_many<'t>(a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<Ordering> {
    let tuples = a.is_tuple().cmp(&b.is_tuple());
    if tuples.is_ne() || same(a, b) == Some(true) {
        return Ok(tuples);
    }
    if let (Value::List(a), Value::List(b)) = (a, b) {
        for (a, b) in a.iter().zip(b.iter()) {
            meter.steps(1)?;
            let order = order(a, b, meter)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        meter.steps(1)?;
        return Ok(a.len().cmp(&b.len()));
    }
    let (a, b) = (a.pairs(meter)?.unwrap_or_default(), b.pairs(meter)?.unwrap_or_default());
    for ((ka, va), (kb, vb)) in a.iter().zip(&b) {
        meter.steps(1)?;
        let keys = order(ka, kb, meter)?;
        let order = if keys.is_eq() { order(va, vb, meter)? } else { keys };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// Sorts stably. The order may fail, and need not be one: std's sort panics when it is none.
pub(crate) fn sort<T>(
    items: Vec<T>,
    meter: &Meter,
    order: impl Fn(&T, &T) -> Result<Ordering>,
) -> Result<Vec<T>> {
    let mut runs: Vec<std::collections::VecDeque<T>> = Vec::new();
    for item in items {
        runs.push(std::collections::VecDeque::from([item]));
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut rest = runs.into_iter();
        while let Some(mut a) = rest.next() {
            let Some(mut b) = rest.next() else {
                merged.push(a);
                break;
            };
            let mut both = std::collections::VecDeque::with_capacity(a.len() + b.len());
            while let (Some(x), Some(y)) = (a.front(), b.front()) {
                meter.steps(1)?;
                let from = if order(x, y)?.is_le() { &mut a } else { &mut b };
                both.extend(from.pop_front());
            }
            both.extend(a);
            both.extend(b);
            merged.push(both);
        }
        runs = merged;
    }
    Ok(runs.pop().map(Vec::from).unwrap_or_default())
}
