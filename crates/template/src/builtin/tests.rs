//! Tests: `value is …`.

use super::{Arguments, Env, Filter, Test, strings::string, text};
use crate::ast::Math;
use crate::compare::{equal, order, same};
use crate::error::Result;
use crate::meter::Meter;
use crate::number::{Both, both, math};
use crate::value::{Value, ValueKind};

pub(super) fn test<'t>(test: Test, env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<bool> {
    let meter = &env.meter;
    let two = matches!(
        test,
        Test::Divisibleby
            | Test::Startingwith
            | Test::Endingwith
            | Test::Sameas
            | Test::Eq
            | Test::Ne
            | Test::Lt
            | Test::Le
            | Test::Gt
            | Test::Ge
            | Test::In
    );
    let n = if two { 2 } else { 1 };
    args.check(n, n, &[])?;
    let value = &args.pos[0];
    if two {
        return of_two(test, value, &args.pos[1], meter);
    }
    Ok(match test {
        Test::Undefined => value.is_undefined(),
        Test::Defined => !value.is_undefined(),
        Test::None => matches!(value, Value::None),
        Test::Safe => value.is_safe(),
        Test::Boolean => matches!(value, Value::Bool(_)),
        Test::Odd => odd(value) == Some(true),
        Test::Even => odd(value) == Some(false),
        Test::Number => value.is_number() || matches!(value, Value::Bool(_)),
        Test::Integer => value.is_integer(),
        Test::Float => matches!(value, Value::Float(_)),
        Test::String => matches!(value, Value::Str(_)),
        Test::Sequence => value.is_undefined() || value.kind() == ValueKind::Seq,
        Test::Iterable => !matches!(
            value.kind(),
            ValueKind::Bool | ValueKind::Number | ValueKind::Bytes | ValueKind::Plain
        ),
        Test::Mapping => value.kind() == ValueKind::Map,
        Test::Lower => is_case(value, char::is_lowercase, char::is_uppercase, meter)?,
        Test::Upper => is_case(value, char::is_uppercase, char::is_lowercase, meter)?,
        Test::True => matches!(value, Value::Bool(true)),
        Test::False => matches!(value, Value::Bool(false)),
        Test::OfFilters => Filter::of(string(value)?).is_some(),
        Test::OfTests => Test::of(string(value)?).is_some(),
        _ => false,
    })
}

fn of_two<'t>(test: Test, a: &Value<'t>, b: &Value<'t>, meter: &Meter) -> Result<bool> {
    Ok(match test {
        Test::Divisibleby => divisible(a, b)?,
        Test::Startingwith => text(a, meter)?.starts_with(&*text(b, meter)?),
        Test::Endingwith => text(a, meter)?.ends_with(&*text(b, meter)?),
        Test::Sameas => match same(a, b) {
            Some(same) => same,
            None => a.kind() == b.kind() && a.is_integer() == b.is_integer() && equal(a, b, meter)?,
        },
        Test::Eq => equal(a, b, meter)?,
        Test::Ne => !equal(a, b, meter)?,
        Test::Lt => order(a, b, meter)?.is_lt(),
        Test::Le => order(a, b, meter)?.is_le(),
        Test::Gt => order(a, b, meter)?.is_gt(),
        Test::Ge => order(a, b, meter)?.is_ge(),
        _ => match crate::ops::contains(b, a, meter) {
            // What contains nothing does not contain it.
            Err(e) if e.kind() == crate::error::Kind::Operation => false,
            found => found?,
        },
    })
}

fn odd(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Float(n) => (n.fract() == 0.0).then(|| n % 2.0 != 0.0),
        _ => value.as_int().map(|n| n % 2 != 0),
    }
}

fn divisible<'t>(a: &Value<'t>, b: &Value<'t>) -> Result<bool> {
    let number = |value: &Value<'t>| value.is_number() || matches!(value, Value::Bool(_));
    if number(a) && number(b) && !b.is_true() {
        return math(Math::Rem, a, b).map(|_| false);
    }
    Ok(match both(a, b, true) {
        Some(Both::Int(a, b)) => b != 0 && a.wrapping_rem(b) == 0,
        Some(Both::Float(a, b)) => a % b == 0.0,
        _ => false,
    })
}

/// Whether a text has letters of a case, and none of another; those of titles are of neither.
fn is_case(
    value: &Value<'_>,
    wanted: fn(char) -> bool,
    other: fn(char) -> bool,
    meter: &Meter,
) -> Result<bool> {
    let Some(text) = value.as_str() else { return Ok(false) };
    meter.scan(text.len())?;
    let mut found = false;
    for c in text.chars() {
        let changes = || c.to_lowercase().ne([c]) || c.to_uppercase().ne([c]);
        if other(c) || (!wanted(c) && changes()) {
            return Ok(false);
        }
        found |= wanted(c);
    }
    Ok(found)
}
