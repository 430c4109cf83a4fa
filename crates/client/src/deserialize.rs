//! Replies into any type that implements `serde::Deserialize`.

use crate::convert::FromValue;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A reply as a type that serde makes: `client.hgetall("user:1").to::<Serde<User>>().await?.0`. Maps are maps in both
/// protocols, and text is parsed where the type has a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serde<T>(pub T);

impl<T: DeserializeOwned> FromValue for Serde<T> {
    fn from_value(value: Value) -> Result<Self> {
        T::deserialize(Reply(Value::from_value(value)?)).map(Self)
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Type, message.to_string())
    }
}

struct Reply(Value);

impl<'de> IntoDeserializer<'de, Error> for Reply {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn text<'de, V: Visitor<'de>>(bytes: &[u8], visitor: V) -> Result<V::Value> {
    match std::str::from_utf8(bytes) {
        Ok(text) => visitor.visit_str(text),
        Err(_) => visitor.visit_bytes(bytes),
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            visitor.$visit(<$type>::from_value(self.0)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reply {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Nil => visitor.visit_none(),
            Value::Int(n) => visitor.visit_i64(n),
            Value::Double(n) => visitor.visit_f64(n),
            Value::Bool(b) => visitor.visit_bool(b),
            Value::Okay => visitor.visit_str("OK"),
            Value::Simple(bytes)
            | Value::Bulk(bytes)
            | Value::Verbatim(_, bytes)
            | Value::BigNumber(bytes) => text(&bytes, visitor),
            Value::Array(items) | Value::Set(items) | Value::Push(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Reply)))
            }
            Value::Map(pairs) => visitor.visit_map(MapDeserializer::new(
                pairs.into_iter().map(|(k, v)| (Reply(k), Reply(v))),
            )),
            Value::Error(error) => Err(error.into()),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let pairs = self.0.into_pairs().map_err(|value| Error::unexpected("a map", &value))?;
        visitor
            .visit_map(MapDeserializer::new(pairs.into_iter().map(|(k, v)| (Reply(k), Reply(v)))))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Nil => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.as_str() {
            Some("true") => visitor.visit_bool(true),
            Some("false") => visitor.visit_bool(false),
            _ => visitor.visit_bool(bool::from_value(self.0)?),
        }
    }

    numbers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_i128 visit_i128 i128;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_u128 visit_u128 u128;
        deserialize_f64 visit_f64 f64;
        deserialize_f32 visit_f64 f64;
        deserialize_u8 visit_u16 u16;
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_bytes(&bytes::Bytes::from_value(self.0)?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_string(String::from_value(self.0)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! { char seq tuple unit_struct tuple_struct identifier ignored_any }
}

/// A variant is its name.
impl<'de> EnumAccess<'de> for Reply {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: serde::de::DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        Ok((seed.deserialize(self)?, Reply(Value::Nil)))
    }
}

impl<'de> VariantAccess<'de> for Reply {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        _seed: S,
    ) -> Result<S::Value> {
        Err(serde::de::Error::custom("a reply has only variants without content"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value> {
        Err(serde::de::Error::custom("a reply has only variants without content"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value> {
        Err(serde::de::Error::custom("a reply has only variants without content"))
    }
}

#[cfg(test)]
mod tests {
    use super::Serde;
    use crate::convert::FromValue;
    use crate::value::{ServerError, Value};
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Blue,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct User {
        name: String,
        age: u8,
        height: Option<f64>,
        color: Color,
        admin: bool,
    }

    #[test]
    fn a_hash_becomes_a_struct_in_both_protocols() {
        let bulk = |text: &str| Value::Bulk(text.to_owned().into());
        let words = ["name", "Ada", "age", "36", "height", "1.7", "color", "blue", "admin", "true"];
        let flat = Value::Array(words.map(bulk).to_vec());
        let map = Value::Map(flat.clone().into_pairs().expect("pairs"));
        let ada = User {
            name: "Ada".into(),
            age: 36,
            height: Some(1.7),
            color: Color::Blue,
            admin: true,
        };
        assert_eq!(Serde::<User>::from_value(flat).expect("a user").0, ada);
        assert_eq!(Serde::<User>::from_value(map).expect("a user").0, ada);
        assert!(Serde::<User>::from_value(Value::Array(vec![bulk("name"), bulk("Ada")])).is_err());
        assert_eq!(Serde::<Option<Color>>::from_value(Value::Nil).expect("nothing").0, None);
        assert_eq!(Serde::<Color>::from_value(bulk("red")).expect("a color").0, Color::Red);
        let list = Value::Array(vec![Value::Int(1), bulk("2")]);
        assert_eq!(Serde::<Vec<i64>>::from_value(list).expect("numbers").0, [1, 2]);
        let error = Value::Error(ServerError::new(b"ERR x"));
        assert_eq!(Serde::<Vec<i64>>::from_value(error).expect_err("an error").code(), "ERR");
    }
}
