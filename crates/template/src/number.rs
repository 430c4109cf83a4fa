//! Arithmetic as Python does it: floored division, and integers that do not wrap. Integers have 128 bits with
//! their sign; more is an error.

use crate::ast::Math;
use crate::error::{Error, Result};
use crate::value::Value;

/// Two values that an operator can take together.
pub(crate) enum Both<'v> {
    Int(i128, i128),
    Float(f64, f64),
    Str(&'v str, &'v str),
}

impl Value<'_> {
    /// An integer, or a truth value as one.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Bool(b) => Some(i128::from(*b)),
            Self::Int(n) => Some(i128::from(*n)),
            Self::Big(n) => Some(**n),
            _ => None,
        }
    }

    /// A number without a fraction, as functions take it.
    pub(crate) fn as_whole(&self) -> Option<i128> {
        match self {
            Self::Float(n) if *n as i64 as f64 == *n => Some(i128::from(*n as i64)),
            _ => self.as_int(),
        }
    }

    /// The same, in 64 bits.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        self.as_whole().and_then(|n| n.try_into().ok())
    }

    /// A number as one with a fraction; if it must be `exact`, only when no digit is lost.
    pub(crate) fn as_float(&self, exact: bool) -> Option<f64> {
        match self {
            Self::Float(n) => Some(*n),
            _ => {
                let n = self.as_int()?;
                let float = n as f64;
                (!exact || float as i128 == n).then_some(float)
            }
        }
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Big(_))
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Big(_) | Self::Float(_))
    }
}

/// What two values have in common; none: nothing.
pub(crate) fn both<'v>(a: &'v Value<'_>, b: &'v Value<'_>, exact: bool) -> Option<Both<'v>> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(Both::Int(i128::from(*a), i128::from(*b))),
        (Value::Str(a), Value::Str(b)) => Some(Both::Str(a, b)),
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            Some(Both::Float(a.as_float(exact)?, b.as_float(exact)?))
        }
        _ => Some(Both::Int(a.as_int()?, b.as_int()?)),
    }
}

/// Calculates with two numbers.
pub(crate) fn math<'t>(op: Math, a: &Value<'t>, b: &Value<'t>) -> Result<Value<'t>> {
    if op == Math::Div {
        return match (a.as_float(false), b.as_float(false)) {
            (Some(_), Some(0.0)) => Err(failed(op)),
            (Some(a), Some(b)) => Ok(Value::Float(a / b)),
            _ => Err(impossible(op, a, b)),
        };
    }
    match both(a, b, false) {
        Some(Both::Int(a, b)) => int(op, a, b).ok_or_else(|| failed(op)),
        Some(Both::Float(a, b)) => float(op, a, b).map(Value::Float).ok_or_else(|| failed(op)),
        _ => Err(impossible(op, a, b)),
    }
}

fn int<'t>(op: Math, a: i128, b: i128) -> Option<Value<'t>> {
    let n = match op {
        Math::Add => a.checked_add(b)?,
        Math::Sub => a.checked_sub(b)?,
        Math::Mul => a.checked_mul(b)?,
        Math::FloorDiv | Math::Rem => {
            let (mut quotient, mut rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            if rest != 0 && (rest < 0) != (b < 0) {
                quotient = quotient.checked_sub(1)?;
                rest = rest.checked_add(b)?;
            }
            if op == Math::Rem { rest } else { quotient }
        }
        Math::Pow if b < 0 => {
            return (a != 0).then(|| Value::Float((a as f64).powf(b as f64)));
        }
        Math::Pow => a.checked_pow(u32::try_from(b).ok()?)?,
        Math::Div => return None,
    };
    Some(Value::from(n))
}

fn float(op: Math, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        Math::Add => a + b,
        Math::Sub => a - b,
        Math::Mul => a * b,
        Math::Pow if a == 0.0 && b < 0.0 => return None,
        Math::Pow => a.powf(b),
        Math::FloorDiv if b != 0.0 => floored(a, b).0,
        Math::Rem if b != 0.0 => floored(a, b).1,
        _ => return None,
    })
}

/// Quotient and rest as Python has them: the rest has the sign of the divisor, also where it is zero.
fn floored(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0f64.copysign(b);
    } else if (rest < 0.0) != (b < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0f64.copysign(a / b), rest);
    }
    // Rounding may have put it just below.
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// The number with the other sign.
pub(crate) fn negate<'t>(value: &Value<'t>) -> Result<Value<'t>> {
    match value {
        Value::Float(n) => Ok(Value::Float(-n)),
        Value::Int(n) => Ok(Value::from(-i128::from(*n))),
        Value::Big(n) => n.checked_neg().map(Value::from).ok_or_else(|| failed(Math::Sub)),
        _ => Err(Error::operation(format!("{} has no negative", value.kind().name()))),
    }
}

/// The result has too many digits, or there is none.
fn failed(op: Math) -> Error {
    Error::operation(format!("{} has no result that can be shown", op.sign()))
}

pub(crate) fn impossible(op: Math, a: &Value<'_>, b: &Value<'_>) -> Error {
    let (a, b) = (a.kind().name(), b.kind().name());
    Error::operation(format!("{} cannot take {a} and {b}", op.sign()))
}
