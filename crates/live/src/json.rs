//! JSON objects from outside, field by field.
//!
//! Values that belong to an application (`data`, `info`, `meta`) are passed on as they were written: numbers keep
//! their digits, objects their order. Everything else is read by its type, and an error names the field. Nothing
//! here recurses: how deeply a value is nested does not matter.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// An object and where it lies in the text, for errors.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    path: String,
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Object<'a> {
    /// Reads a text that is one object.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
        let Fields(fields) = serde_json::from_str(text)
            .map_err(|error| format!("it is not a JSON object: {error}"))?;
        Ok(Self { path: String::new(), fields })
    }

    /// The names of the fields, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_ref())
    }

    /// Whether the field is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The last field of this name, as it was written.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rfind(|(field, _)| field == name).map(|(_, value)| value.get())
    }

    /// … unless it is null.
    fn value(&self, name: &str) -> Option<&'a str> {
        self.raw(name).filter(|text| *text != "null")
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn read<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<Option<T>> {
        let read = |text| {
            serde_json::from_str(text).map_err(|_| {
                format!("`{}` must be {expected}, and is {}", self.at(name), shape(text))
            })
        };
        self.value(name).map(read).transpose()
    }

    /// A text; empty if it is not there.
    pub(crate) fn string(&self, name: &str) -> Result<String> {
        Ok(self.read(name, "a string")?.unwrap_or_default())
    }

    /// A truth value; false if it is not there.
    pub(crate) fn bool(&self, name: &str) -> Result<bool> {
        Ok(self.read(name, "true or false")?.unwrap_or_default())
    }

    /// A number; 0 if it is not there.
    pub(crate) fn u64(&self, name: &str) -> Result<u64> {
        Ok(self.read(name, "an integer that is not negative")?.unwrap_or_default())
    }

    /// A number; 0 if it is not there.
    pub(crate) fn u32(&self, name: &str) -> Result<u32> {
        Ok(self.read(name, "an integer from 0 to 4294967295")?.unwrap_or_default())
    }

    /// A number; 0 if it is not there.
    pub(crate) fn i32(&self, name: &str) -> Result<i32> {
        Ok(self.read(name, "an integer of 32 bits")?.unwrap_or_default())
    }

    /// A number; 0 if it is not there.
    pub(crate) fn i64(&self, name: &str) -> Result<i64> {
        Ok(self.maybe_i64(name)?.unwrap_or_default())
    }

    /// A number, if it is there.
    pub(crate) fn maybe_i64(&self, name: &str) -> Result<Option<i64>> {
        self.read(name, "an integer")
    }

    /// Whether the field is a list.
    pub(crate) fn is_list(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|text| text.starts_with('['))
    }

    /// A number with a fraction, if it is there.
    pub(crate) fn maybe_f64(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, "a number")
    }

    /// Texts; none if it is not there.
    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>> {
        Ok(self.read(name, "a list of strings")?.unwrap_or_default())
    }

    /// An object, if it is there.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Self>> {
        let fields: Option<Fields<'a>> = self.read(name, "an object")?;
        Ok(fields.map(|Fields(fields)| Self { path: self.at(name), fields }))
    }

    /// The objects that are the values of an object, by name.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<(String, Self)>> {
        let Some(map) = self.object(name)? else { return Ok(Vec::new()) };
        let names: Vec<String> = map.names().map(str::to_owned).collect();
        let entry = |name: String| {
            let value = map
                .object(&name)?
                .unwrap_or_else(|| Self { path: map.at(&name), fields: Vec::new() });
            Ok((name, value))
        };
        names.into_iter().map(entry).collect()
    }

    /// The texts that are the values of an object, by name.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<(String, String)>> {
        let Some(map) = self.object(name)? else { return Ok(Vec::new()) };
        map.names().map(|name| Ok((name.to_owned(), map.string(name)?))).collect()
    }

    /// The objects of a list; `None` for a null among them.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Option<Self>>> {
        let Some(values): Option<Vec<&'a RawValue>> = self.read(name, "a list of objects")? else {
            return Ok(Vec::new());
        };
        let entry = |(index, value): (usize, &'a RawValue)| {
            let path = format!("{}[{index}]", self.at(name));
            if value.get() == "null" {
                return Ok(None);
            }
            let Fields(fields) = serde_json::from_str(value.get()).map_err(|_| {
                format!("`{path}` must be an object, and is {}", shape(value.get()))
            })?;
            Ok(Some(Self { path, fields }))
        };
        values.into_iter().enumerate().map(entry).collect()
    }

    /// Bytes: standard base64 in the field `b64`, or else what the field `plain` has as it was written. Empty if
    /// neither is there.
    pub(crate) fn bytes(&self, plain: &str, b64: &str) -> Result<Vec<u8>> {
        match self.string(b64)? {
            encoded if encoded.is_empty() => {
                Ok(self.raw(plain).unwrap_or_default().as_bytes().to_vec())
            }
            encoded => {
                unbase64(&encoded).ok_or_else(|| format!("`{}` must be base64", self.at(b64)))
            }
        }
    }
}

/// The bytes of standard base64 with padding.
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// What kind of value a text is, for errors. Never the value itself: it may be a secret.
fn shape(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number, or one out of range",
    }
}

/// The fields of an object in order, with their values as they were written.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor).map(Fields)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut fields = Vec::with_capacity(8);
        while let Some(Name(name)) = map.next_key()? {
            fields.push((name, map.next_value()?));
        }
        Ok(fields)
    }
}

/// A field's name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> std::result::Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> std::result::Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Writes objects: fields whose values are zero are left out, as in Centrifugo's JSON.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: Vec<u8>,
    /// Whether the next field needs a comma, for every open object.
    commas: Vec<bool>,
}

impl Writer {
    pub(crate) fn open(mut self) -> Self {
        self.begin();
        self
    }

    pub(crate) fn begin(&mut self) {
        self.out.push(b'{');
        self.commas.push(false);
    }

    pub(crate) fn end(&mut self) {
        self.out.push(b'}');
        self.commas.pop();
    }

    pub(crate) fn name(&mut self, name: &str) {
        let is_next = self.commas.last_mut().is_some_and(|comma| std::mem::replace(comma, true));
        if is_next {
            self.out.push(b',');
        }
        self.text(name);
        self.out.push(b':');
    }

    pub(crate) fn text(&mut self, text: &str) {
        serde_json::to_writer(&mut self.out, text)
            .expect("a string is JSON, and memory does not fail");
    }

    pub(crate) fn raw(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.name(name);
            self.text(value);
        }
    }

    pub(crate) fn number(&mut self, name: &str, value: impl Into<i128>) {
        let value = value.into();
        if value != 0 {
            self.name(name);
            self.raw(value.to_string());
        }
    }

    pub(crate) fn json(&mut self, name: &str, value: &[u8]) {
        if !value.is_empty() {
            self.name(name);
            self.raw(value);
        }
    }

    pub(crate) fn strings<T: AsRef<str>>(&mut self, name: &str, values: &[T]) {
        if values.is_empty() {
            return;
        }
        self.name(name);
        self.list(values, |writer, value| writer.text(value.as_ref()));
    }

    pub(crate) fn texts(&mut self, name: &str, values: &[(String, String)]) {
        if values.is_empty() {
            return;
        }
        self.name(name);
        self.begin();
        for (name, value) in values {
            self.name(name);
            self.text(value);
        }
        self.end();
    }

    pub(crate) fn list<T>(&mut self, values: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(b'[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self, value);
        }
        self.out.push(b']');
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        debug_assert!(self.commas.is_empty(), "an object is not closed");
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::{Object, Writer};

    #[test]
    fn values_pass_as_they_were_written() {
        let object = Object::parse(
            br#" {"data": {"n": 1.10, "big": 123456789012345678901234567890} , "x":null}"#,
        )
        .unwrap();
        assert_eq!(
            object.raw("data"),
            Some(r#"{"n": 1.10, "big": 123456789012345678901234567890}"#)
        );
        assert_eq!(object.raw("x"), Some("null"));
        assert!(!object.has("x") && !object.has("y"));
        assert_eq!(object.string("x").unwrap(), "");
    }

    #[test]
    fn the_last_of_two_fields_counts() {
        let object = Object::parse(br#"{"a":"1","a":"2"}"#).unwrap();
        assert_eq!(object.string("a").unwrap(), "2");
    }

    #[test]
    fn errors_name_the_field_and_not_its_value() {
        let object = Object::parse(br#"{"a":{"b":"secret"},"l":[{},1]}"#).unwrap();
        let inner = object.object("a").unwrap().unwrap();
        assert_eq!(
            inner.u64("b").unwrap_err(),
            "`a.b` must be an integer that is not negative, and is a string"
        );
        assert_eq!(
            object.list("l").unwrap_err(),
            "`l[1]` must be an object, and is a number, or one out of range"
        );
        assert!(Object::parse(b"[]").is_err());
        assert!(Object::parse(b"{\"a\":\"\xff\"}").unwrap_err().contains("UTF-8"));
        assert!(Object::parse(b"{} {}").is_err());
    }

    #[test]
    fn deep_values_do_not_recurse() {
        let deep = format!(r#"{{"data":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Object::parse(deep.as_bytes()).unwrap().raw("data").unwrap().len(), 200_000);
    }

    #[test]
    fn zero_values_are_left_out() {
        let mut writer = Writer::default().open();
        writer.string("a", "");
        writer.number("b", 0);
        writer.string("d", "\"\n");
        writer.texts("e", &[("k".into(), "v".into())]);
        writer.strings("f", &["x", "y"]);
        writer.json("g", b"{}");
        writer.end();
        assert_eq!(writer.finish(), br#"{"d":"\"\n","e":{"k":"v"},"f":["x","y"],"g":{}}"#);
    }
}
