//! Replies into the types of a program.
//!
//! RESP2 and RESP3 say the same in different words (a map is a flat array, a double a string); each conversion
//! takes both, so that a program does not depend on the protocol.

use crate::error::{Error, Result};
use crate::value::Value;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

/// What a reply can become.
pub trait FromValue: Sized {
    /// Whether it is a pair, which a list of pairs takes out of a flat array: `Vec<(member, score)>`.
    #[doc(hidden)]
    const IS_PAIR: bool = false;

    /// Converts the two elements of a pair.
    #[doc(hidden)]
    fn from_pair(first: Value, second: Value) -> Result<Self> {
        Self::from_value(Value::Array(vec![first, second]))
    }

    /// Converts a reply.
    ///
    /// # Errors
    ///
    /// The server's error if the reply is one, and [`ErrorKind::Type`](crate::ErrorKind::Type) if it does not fit.
    fn from_value(value: Value) -> Result<Self>;
}

/// A server's error within a reply is the error of the whole.
fn reject<T>(expected: &str, value: Value) -> Result<T> {
    match value {
        Value::Error(error) => Err(error.into()),
        other => Err(Error::unexpected(expected, &other)),
    }
}

impl FromValue for Value {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Error(error) => Err(error.into()),
            value => Ok(value),
        }
    }
}

/// Any reply that is no error.
impl FromValue for () {
    fn from_value(value: Value) -> Result<Self> {
        Value::from_value(value).map(drop)
    }
}

impl FromValue for Bytes {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Int(n) => Ok(n.to_string().into()),
            Value::Double(n) => Ok(n.to_string().into()),
            Value::Error(error) => Err(error.into()),
            value if value.as_bytes().is_none() => reject("a string", value),
            value => Ok(value.into_bytes().unwrap_or_default()),
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self> {
        let bytes = Bytes::from_value(value)?;
        String::from_utf8(bytes.into())
            .map_err(|_| Error::new(crate::ErrorKind::Type, "the reply is not text in UTF-8"))
    }
}

/// A double as an integer: RESP3's form of what RESP2 says in digits. A double with a fraction is refused: its
/// integer would not be the server's number, and in RESP2 it is an error, too.
fn whole(n: f64) -> Option<i128> {
    /// 2^96: the doubles below it that are whole are exact as `i128`.
    const LIMIT: f64 = 79_228_162_514_264_337_593_543_950_336.0;
    (n.fract() == 0.0 && n.abs() < LIMIT).then_some(n as i128)
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl FromValue for $int {
            fn from_value(value: Value) -> Result<Self> {
                let number = match &value {
                    Value::Int(n) => (*n).try_into().ok(),
                    Value::Bool(b) => Some(Self::from(*b)),
                    Value::Double(n) => whole(*n).and_then(|n| n.try_into().ok()),
                    other => other.as_str().and_then(|text| text.parse().ok()),
                };
                number.map_or_else(|| reject(concat!("an integer (", stringify!($int), ")"), value), Ok)
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u16 u32 u64 u128 usize);

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self> {
        let number = match &value {
            Value::Double(n) => Some(*n),
            // As precise as a double can be.
            Value::Int(n) => n.to_string().parse().ok(),
            other => other.as_str().and_then(|text| text.parse().ok()),
        };
        number.map_or_else(|| reject("a number", value), Ok)
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Bool(b) => Ok(b),
            Value::Int(n) => Ok(n != 0),
            Value::Okay => Ok(true),
            // SET … NX that did nothing.
            Value::Nil => Ok(false),
            other => match other.as_bytes() {
                Some(b"1") => Ok(true),
                Some(b"0") => Ok(false),
                _ => reject("a boolean", other),
            },
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Nil => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

/// For replies that have an error in the place of a value, as those of transactions.
impl<T: FromValue> FromValue for Result<T> {
    fn from_value(value: Value) -> Result<Self> {
        Ok(T::from_value(value))
    }
}

fn elements(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Nil => Ok(Vec::new()),
        value => value.into_elements().or_else(|value| reject("an array", value)),
    }
}

fn pairs(value: Value) -> Result<Vec<(Value, Value)>> {
    value.into_pairs().or_else(|value| reject("a map", value))
}

/// An array or a set; of a map its keys and values in turn; nothing for nil. Bytes are [`Bytes`], not this.
impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Result<Self> {
        // Pairs stay pairs for those who ask for pairs: see the conversion of tuples.
        match value {
            Value::Map(pairs) if T::IS_PAIR => {
                pairs.into_iter().map(|(k, v)| T::from_pair(k, v)).collect()
            }
            Value::Array(items)
                if T::IS_PAIR && !items.iter().all(|i| matches!(i, Value::Array(_))) =>
            {
                pairs(Value::Array(items))?.into_iter().map(|(k, v)| T::from_pair(k, v)).collect()
            }
            value => elements(value)?.into_iter().map(T::from_value).collect(),
        }
    }
}

impl<T: FromValue + Eq + Hash, S: BuildHasher + Default> FromValue for HashSet<T, S> {
    fn from_value(value: Value) -> Result<Self> {
        elements(value)?.into_iter().map(T::from_value).collect()
    }
}

impl<T: FromValue + Ord> FromValue for BTreeSet<T> {
    fn from_value(value: Value) -> Result<Self> {
        elements(value)?.into_iter().map(T::from_value).collect()
    }
}

impl<K: FromValue + Eq + Hash, V: FromValue, S: BuildHasher + Default> FromValue
    for HashMap<K, V, S>
{
    fn from_value(value: Value) -> Result<Self> {
        pairs(value)?.into_iter().map(|(k, v)| Ok((K::from_value(k)?, V::from_value(v)?))).collect()
    }
}

impl<K: FromValue + Ord, V: FromValue> FromValue for BTreeMap<K, V> {
    fn from_value(value: Value) -> Result<Self> {
        pairs(value)?.into_iter().map(|(k, v)| Ok((K::from_value(k)?, V::from_value(v)?))).collect()
    }
}

macro_rules! tuples {
    ($($n:literal: $($name:ident)*;)*) => {$(
        /// An array of exactly so many elements.
        impl<$($name: FromValue),*> FromValue for ($($name,)*) {
            fn from_value(value: Value) -> Result<Self> {
                let items = elements(value)?;
                if items.len() != $n {
                    return Err(wrong_number(items.len(), $n));
                }
                let mut items = items.into_iter();
                Ok(($($name::from_value(items.next().unwrap_or(Value::Nil))?,)*))
            }
        }
    )*};
}

/// An array of exactly two elements, or a pair of a map.
impl<A: FromValue, B: FromValue> FromValue for (A, B) {
    const IS_PAIR: bool = true;

    fn from_value(value: Value) -> Result<Self> {
        match <[Value; 2]>::try_from(elements(value)?) {
            Ok([first, second]) => Self::from_pair(first, second),
            Err(items) => Err(wrong_number(items.len(), 2)),
        }
    }

    fn from_pair(first: Value, second: Value) -> Result<Self> {
        Ok((A::from_value(first)?, B::from_value(second)?))
    }
}

fn wrong_number(count: usize, expected: usize) -> Error {
    let text = format!("the reply has {count} elements and not {expected}");
    Error::new(crate::ErrorKind::Type, text)
}

tuples! {
    1: A;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
}

#[cfg(test)]
mod tests {
    use super::FromValue;
    use crate::value::{ServerError, Value};
    use std::collections::{BTreeMap, HashSet};

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.to_owned().into())
    }

    #[test]
    fn numbers_come_in_every_form() {
        for value in
            [Value::Int(7), bulk("7"), Value::Simple("7".into()), Value::BigNumber("7".into())]
        {
            assert_eq!(u16::from_value(value.clone()).expect("a number"), 7);
            assert_eq!(f64::from_value(value).expect("a number"), 7.0);
        }
        assert_eq!(f64::from_value(bulk("inf")).expect("a number"), f64::INFINITY);
        assert!(u16::from_value(Value::Int(-1)).is_err());
        assert_eq!(u16::from_value(Value::Double(7.0)).expect("a number"), 7);
        assert_eq!(i64::from_value(Value::Double(-7.0)).expect("a number"), -7);
        for none in [7.5, -1.0, 65_536.0, f64::INFINITY, f64::NAN] {
            assert!(u16::from_value(Value::Double(none)).is_err(), "{none}");
        }
        assert!(i128::from_value(Value::Double(1e300)).is_err());
        assert!(i64::from_value(bulk("seven")).is_err());
        assert_eq!(String::from_value(Value::Int(7)).expect("text"), "7");
    }

    #[test]
    fn nil_is_an_option_and_an_error_an_error() {
        assert_eq!(Option::<i64>::from_value(Value::Nil).expect("nothing"), None);
        assert!(i64::from_value(Value::Nil).is_err());
        let wrong = Value::Error(ServerError::new(b"WRONGTYPE x"));
        assert_eq!(<()>::from_value(wrong.clone()).expect_err("an error").code(), "WRONGTYPE");
        assert_eq!(
            Vec::<i64>::from_value(wrong.clone()).expect_err("an error").code(),
            "WRONGTYPE"
        );
        assert_eq!(
            Option::<i64>::from_value(wrong.clone()).expect_err("an error").code(),
            "WRONGTYPE"
        );
        let within = Value::Array(vec![Value::Int(1), wrong]);
        let (one, two): (i64, crate::Result<i64>) = FromValue::from_value(within).expect("a pair");
        assert_eq!((one, two.expect_err("an error").code()), (1, "WRONGTYPE"));
    }

    #[test]
    fn maps_are_the_same_in_both_protocols() {
        let flat = Value::Array(vec![bulk("a"), bulk("1"), bulk("b"), bulk("2")]);
        let map = Value::Map(vec![(bulk("a"), Value::Int(1)), (bulk("b"), Value::Double(2.0))]);
        let nested = Value::Array(vec![
            Value::Array(vec![bulk("a"), Value::Double(1.0)]),
            Value::Array(vec![bulk("b"), Value::Double(2.0)]),
        ]);
        for value in [flat, map, nested] {
            let map = BTreeMap::<String, f64>::from_value(value.clone()).expect("a map");
            assert_eq!(map, BTreeMap::from([("a".into(), 1.0), ("b".into(), 2.0)]));
            let list = Vec::<(String, f64)>::from_value(value).expect("pairs");
            assert_eq!(list, [("a".into(), 1.0), ("b".into(), 2.0)]);
        }
        let set = HashSet::<String>::from_value(Value::Set(vec![bulk("x")])).expect("a set");
        assert!(set.contains("x"));
        assert!(<(i64, i64)>::from_value(Value::Array(vec![Value::Int(1)])).is_err());
    }
}
