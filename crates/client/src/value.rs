//! A reply as the server sent it: every type of RESP2 and RESP3.
//!
//! Strings are [`Bytes`]: one allocation each, and cheap to pass on. A reply without a string (`OK`, numbers,
//! nil) allocates nothing.

use bytes::Bytes;
use std::fmt;

/// A reply, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// RESP3's null and both nulls of RESP2.
    Nil,
    /// The simple string `OK`, which most writes answer.
    Okay,
    /// An integer.
    Int(i64),
    /// A floating point number of RESP3.
    Double(f64),
    /// A boolean of RESP3.
    Bool(bool),
    /// A simple string other than `OK`.
    Simple(Bytes),
    /// A string of bytes.
    Bulk(Bytes),
    /// Text of RESP3 with its format, `txt` or `mkd`.
    Verbatim([u8; 3], Bytes),
    /// An integer of any size, in decimal digits.
    BigNumber(Bytes),
    /// An array.
    Array(Vec<Value>),
    /// A map of RESP3, in the server's order.
    Map(Vec<(Value, Value)>),
    /// A set of RESP3, in the server's order.
    Set(Vec<Value>),
    /// What the server sent without being asked; never the reply of a command.
    Push(Vec<Value>),
    /// An error; within an array that of one command of a transaction.
    Error(ServerError),
}

impl Value {
    /// The bytes of a string of any kind.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Okay => Some(b"OK"),
            Self::Simple(b) | Self::Bulk(b) | Self::Verbatim(_, b) | Self::BigNumber(b) => Some(b),
            _ => None,
        }
    }

    /// The bytes of a string of any kind, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Option<Bytes> {
        match self {
            Self::Okay => Some(Bytes::from_static(b"OK")),
            Self::Simple(b) | Self::Bulk(b) | Self::Verbatim(_, b) | Self::BigNumber(b) => Some(b),
            _ => None,
        }
    }

    /// A string of any kind as text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Whether it is nil.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// The elements of an array, set or push; those of a map as a flat sequence of keys and values.
    ///
    /// # Errors
    ///
    /// The value itself, if it has no elements.
    pub fn into_elements(self) -> Result<Vec<Value>, Value> {
        match self {
            Self::Array(items) | Self::Set(items) | Self::Push(items) => Ok(items),
            Self::Map(pairs) => Ok(pairs.into_iter().flat_map(|(k, v)| [k, v]).collect()),
            other => Err(other),
        }
    }

    /// The pairs of a map, or of an array that stands for one in RESP2.
    ///
    /// # Errors
    ///
    /// The value itself, if it has no pairs.
    pub fn into_pairs(self) -> Result<Vec<(Value, Value)>, Value> {
        match self {
            Self::Map(pairs) => Ok(pairs),
            // RESP3 answers pairs of ZRANGE … WITHSCORES as arrays of two.
            Self::Array(items) | Self::Set(items)
                if !items.is_empty()
                    && items
                        .iter()
                        .all(|item| matches!(item, Self::Array(two) if two.len() == 2)) =>
            {
                let pair = |item| match item {
                    Self::Array(two) => two.into_iter(),
                    _ => Vec::new().into_iter(),
                };
                Ok(items
                    .into_iter()
                    .map(pair)
                    .filter_map(|mut two| Some((two.next()?, two.next()?)))
                    .collect())
            }
            Self::Array(items) | Self::Set(items) if items.len() % 2 == 0 => {
                let mut pairs = Vec::with_capacity(items.len() / 2);
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    pairs.push((key, value));
                }
                Ok(pairs)
            }
            Self::Nil => Ok(Vec::new()),
            other => Err(other),
        }
    }

    /// What kind it is, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Okay | Self::Simple(_) => "a simple string",
            Self::Int(_) => "an integer",
            Self::Double(_) => "a double",
            Self::Bool(_) => "a boolean",
            Self::Bulk(_) => "a string",
            Self::Verbatim(..) => "a verbatim string",
            Self::BigNumber(_) => "a big number",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
            Self::Set(_) => "a set",
            Self::Push(_) => "a push",
            Self::Error(_) => "an error",
        }
    }
}

/// An error that the server answered: `WRONGTYPE Operation against a key …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError(Box<str>);

impl ServerError {
    pub(crate) fn new(text: &[u8]) -> Self {
        Self(String::from_utf8_lossy(text).into())
    }

    /// Its first word, which programs may compare: `ERR`, `WRONGTYPE`, `MOVED`.
    #[must_use]
    pub fn code(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// The whole text, the code included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerError, Value};

    #[test]
    fn pairs_come_from_maps_flat_arrays_and_arrays_of_two() {
        let (a, one) = (Value::Simple("a".into()), Value::Int(1));
        let pairs = vec![(a.clone(), one.clone())];
        assert_eq!(Value::Map(pairs.clone()).into_pairs(), Ok(pairs.clone()));
        assert_eq!(Value::Array(vec![a.clone(), one.clone()]).into_pairs(), Ok(pairs.clone()));
        let two = Value::Array(vec![a.clone(), one]);
        assert_eq!(Value::Array(vec![two]).into_pairs(), Ok(pairs));
        assert_eq!(Value::Array(vec![a.clone()]).into_pairs(), Err(Value::Array(vec![a])));
    }

    #[test]
    fn an_error_has_a_code() {
        let error = ServerError::new(b"WRONGTYPE Operation");
        assert_eq!((error.code(), error.text()), ("WRONGTYPE", "WRONGTYPE Operation"));
        assert_eq!(ServerError::new(b"").code(), "");
    }
}
