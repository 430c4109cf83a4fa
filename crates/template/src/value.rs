//! Values of a page: cheap to copy, alive for one rendering.
//!
//! `'t` is the life of the templates: texts of them are borrowed. All else is counted by `Rc`, since a page
//! is rendered on one thread. Lists and maps never change once they are made, and know how deep they are:
//! [`DEPTH_MAX`] bounds every walk through them, also the one that drops them. Only a namespace changes, and
//! it takes neither namespaces nor loops, so that nothing ever contains itself.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use crate::compile::Word;
use crate::error::{Error, Kind, Result};
use crate::loops::Loop;
use crate::macros::{Macro, Module};
use crate::meter::Meter;

/// How deep lists and maps nest.
pub const DEPTH_MAX: u16 = 100;

/// A text.
#[derive(Clone)]
pub enum Text<'t> {
    /// Of a template.
    Lit(&'t str),
    /// Its own.
    Own(Rc<str>),
    /// Its own, and not escaped when it is shown.
    Safe(Rc<str>),
    /// A part of a larger one: where it starts and ends.
    Part(Rc<String>, u32, u32),
}

impl Deref for Text<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Lit(text) => text,
            Self::Own(text) | Self::Safe(text) => text,
            Self::Part(all, start, end) => {
                all.get(*start as usize..*end as usize).unwrap_or_default()
            }
        }
    }
}

/// A value.
#[derive(Clone)]
pub enum Value<'t> {
    /// There is none.
    Undefined,
    /// `none`.
    None,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer that needs more than 64 bits.
    Big(Rc<i128>),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Str(Text<'t>),
    /// Bytes that are no text.
    Bytes(Rc<[u8]>),
    /// Several values in a row.
    List(Rc<List<'t>>),
    /// Values by keys.
    Map(Rc<Map<'t>>),
    /// Something that does more.
    Object(Object<'t>),
}

/// Names and values, sorted by name.
pub type Namespace<'t> = RefCell<Vec<(Rc<str>, Value<'t>)>>;

/// Values that are more than data.
#[derive(Clone)]
pub enum Object<'t> {
    /// Of `namespace()`: names and values, sorted by name.
    Namespace(Rc<Namespace<'t>>),
    /// The variable `loop`.
    Loop(Rc<Loop<'t>>),
    /// A macro, or the body of a call block.
    Macro(Rc<Macro<'t>>),
    /// An imported template.
    Module(Rc<Module<'t>>),
    /// A function, by its name.
    Function(&'t Word),
}

/// What kind of value it is, in the order in which values of different kinds are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are named as what they are")]
pub enum ValueKind {
    Undefined,
    None,
    Bool,
    Number,
    String,
    Bytes,
    Seq,
    Map,
    Iterable,
    Plain,
}

impl ValueKind {
    /// Its name, for errors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::None => "none",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Seq => "sequence",
            Self::Map => "map",
            Self::Iterable => "iterator",
            Self::Plain => "plain object",
        }
    }
}

/// How a list came to be, which shows in a few places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// A list.
    Seq,
    /// A tuple.
    Tuple,
    /// What a range, a slice or a sum of lists gives.
    Iter,
    /// The same, of a length that is not known before its end.
    Unsized,
    /// A group of `groupby`: its value, and its items.
    Group,
}

/// How deep a value is, and whether a namespace or a loop is in it.
#[derive(Debug, Clone, Copy, Default)]
struct Nest {
    depth: u16,
    live: bool,
}

impl Nest {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::List(list) => list.nest,
            Value::Map(map) => map.nest,
            Value::Object(Object::Namespace(_) | Object::Loop(_)) => Self { depth: 1, live: true },
            Value::Object(Object::Module(module)) => module.map.nest,
            _ => Self::default(),
        }
    }

    fn around<'v, 't: 'v>(values: impl Iterator<Item = &'v Value<'t>>) -> Result<Self> {
        let mut nest = Self::default();
        for value in values {
            let inner = Self::of(value);
            nest.depth = nest.depth.max(inner.depth);
            nest.live |= inner.live;
        }
        nest.depth += 1;
        if nest.depth > DEPTH_MAX {
            let text = format!("lists and maps are nested deeper than {DEPTH_MAX}");
            return Err(Error::new(Kind::Limit, text));
        }
        Ok(nest)
    }
}

/// Several values in a row.
pub struct List<'t> {
    items: Vec<Value<'t>>,
    kind: ListKind,
    nest: Nest,
}

impl<'t> List<'t> {
    /// A list of a kind.
    ///
    /// # Errors
    /// It is too deep.
    pub fn new(items: Vec<Value<'t>>, kind: ListKind) -> Result<Rc<Self>> {
        let nest = Nest::around(items.iter())?;
        Ok(Rc::new(Self { items, kind, nest }))
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ListKind {
        self.kind
    }

    /// Its length, if it is known before the end.
    #[must_use]
    pub fn known_len(&self) -> Option<usize> {
        (self.kind != ListKind::Unsized).then_some(self.items.len())
    }
}

impl<'t> Deref for List<'t> {
    type Target = [Value<'t>];

    fn deref(&self) -> &[Value<'t>] {
        &self.items
    }
}

/// Values by keys: in the order of the keys, or in the order in which the host has given them.
pub struct Map<'t> {
    entries: Vec<(Value<'t>, Value<'t>)>,
    nest: Nest,
}

impl<'t> Map<'t> {
    /// A map in the order of its entries, whose keys differ.
    ///
    /// # Errors
    /// It is too deep.
    pub fn new(entries: Vec<(Value<'t>, Value<'t>)>) -> Result<Rc<Self>> {
        let nest = Nest::around(entries.iter().flat_map(|(key, value)| [key, value]))?;
        Ok(Rc::new(Self { entries, nest }))
    }

    /// A map in the order of its keys. Of equal keys, the last one counts.
    ///
    /// # Errors
    /// It is too deep, or there are no steps left.
    pub fn sorted(entries: Vec<(Value<'t>, Value<'t>)>, meter: &Meter) -> Result<Rc<Self>> {
        let order = |a: &(Value<'t>, Value<'t>), b: &(Value<'t>, Value<'t>)| {
            crate::compare::order(&a.0, &b.0, meter)
        };
        let sorted = crate::compare::sort(entries, meter, order)?;
        let mut entries: Vec<(Value<'t>, Value<'t>)> = Vec::with_capacity(sorted.len());
        for entry in sorted {
            match entries.last_mut() {
                // The key stays, as the first one was.
                Some(last) if order(last, &entry)?.is_eq() => last.1 = entry.1,
                _ => entries.push(entry),
            }
        }
        Self::new(entries)
    }

    /// The value of a key that is a text.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&Value<'t>> {
        let found = self.entries.iter().find(|(key, _)| match key {
            Value::Str(key) => **key == *name,
            _ => false,
        });
        found.map(|(_, value)| value)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Value<'t>, meter: &Meter) -> Result<Option<&Value<'t>>> {
        meter.steps(self.entries.len() as u64 / 16)?;
        if let Value::Str(name) = key {
            return Ok(self.get_str(name));
        }
        for (k, value) in &self.entries {
            if crate::compare::order(k, key, meter)?.is_eq() {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

impl<'t> Deref for Map<'t> {
    type Target = [(Value<'t>, Value<'t>)];

    fn deref(&self) -> &[(Value<'t>, Value<'t>)] {
        &self.entries
    }
}

impl<'t> From<&str> for Value<'t> {
    fn from(text: &str) -> Self {
        Self::Str(Text::Own(text.into()))
    }
}

impl<'t> From<String> for Value<'t> {
    fn from(text: String) -> Self {
        Self::Str(Text::Own(text.into()))
    }
}

impl<'t> From<i128> for Value<'t> {
    fn from(n: i128) -> Self {
        i64::try_from(n).map_or_else(|_| Self::Big(Rc::new(n)), Self::Int)
    }
}

impl<'t> From<usize> for Value<'t> {
    fn from(n: usize) -> Self {
        Self::from(n as i128)
    }
}

impl<'t> Value<'t> {
    /// A list.
    ///
    /// # Errors
    /// It is too deep.
    pub fn list(items: Vec<Self>) -> Result<Self> {
        List::new(items, ListKind::Seq).map(Self::List)
    }

    /// A list of a kind.
    pub(crate) fn list_of(items: Vec<Self>, kind: ListKind) -> Result<Self> {
        List::new(items, kind).map(Self::List)
    }

    /// A text that is not escaped when it is shown.
    #[must_use]
    pub fn safe(text: String) -> Self {
        Self::Str(Text::Safe(text.into()))
    }

    /// A text, which is safe or not.
    pub(crate) fn text(text: String, safe: bool) -> Self {
        if safe { Self::safe(text) } else { Self::from(text) }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::Undefined => ValueKind::Undefined,
            Self::None => ValueKind::None,
            Self::Bool(_) => ValueKind::Bool,
            Self::Int(_) | Self::Big(_) | Self::Float(_) => ValueKind::Number,
            Self::Str(_) => ValueKind::String,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::List(list) => match list.kind {
                ListKind::Iter | ListKind::Unsized => ValueKind::Iterable,
                _ => ValueKind::Seq,
            },
            Self::Object(Object::Function(_)) => ValueKind::Plain,
            Self::Map(_) | Self::Object(_) => ValueKind::Map,
        }
    }

    /// Whether it holds a namespace or a loop, so that it could come to contain itself.
    pub(crate) fn is_live(&self) -> bool {
        Nest::of(self).live
    }

    /// Its text, if it is one; also of bytes that are UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Its bytes, if it is a text or bytes.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn is_safe(&self) -> bool {
        matches!(self, Self::Str(Text::Safe(_)))
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    pub(crate) fn is_tuple(&self) -> bool {
        matches!(self, Self::List(list) if list.kind == ListKind::Tuple)
    }

    /// Whether it counts as true.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::None => false,
            Self::Bool(b) => *b,
            Self::Int(n) => *n != 0,
            Self::Big(n) => **n != 0,
            Self::Float(n) => *n != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => list.known_len() != Some(0),
            Self::Map(map) => !map.is_empty(),
            Self::Object(Object::Namespace(all)) => !all.borrow().is_empty(),
            Self::Object(Object::Module(module)) => !module.map.is_empty(),
            Self::Object(_) => true,
        }
    }

    /// How many characters or items it has, if that is known.
    pub(crate) fn len(&self, meter: &Meter) -> Result<Option<usize>> {
        Ok(Some(match self {
            Self::Str(text) => {
                meter.scan(text.len())?;
                text.chars().count()
            }
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => return Ok(list.known_len()),
            Self::Object(Object::Function(_)) => return Ok(None),
            Self::Map(map) => map.len(),
            Self::Object(Object::Namespace(all)) => all.borrow().len(),
            Self::Object(object) => object.keys().len(),
            _ => return Ok(None),
        }))
    }

    /// What a name gives: `value.name`.
    #[inline]
    pub(crate) fn attr(&self, name: &str) -> Option<Self> {
        match self {
            Self::Map(map) => map.get_str(name).cloned(),
            Self::Object(object) => object.get(name),
            Self::List(list) if list.kind == ListKind::Group => match name {
                "grouper" => list.first().cloned(),
                "list" => list.get(1).cloned(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The index that a key means, from the end if it is below zero.
    fn index(key: &Self, len: usize) -> Option<usize> {
        let n = key.as_i64()?;
        if n < 0 { len.checked_sub(n.unsigned_abs() as usize) } else { Some(n as usize) }
    }

    /// What a key gives: `value[key]`.
    pub(crate) fn item(&self, key: &Self, meter: &Meter) -> Result<Option<Self>> {
        Ok(match self {
            Self::Map(map) => map.get(key, meter)?.cloned(),
            Self::List(list) => match (Self::index(key, list.len()), key) {
                // From the end of a list whose length is not known.
                (Some(_), _) if list.known_len().is_none() && key.as_i64() < Some(0) => None,
                (Some(at), _) => list.get(at).cloned(),
                (None, Self::Str(name)) => self.attr(name),
                (None, _) => None,
            },
            Self::Str(text) => {
                meter.scan(text.len())?;
                let at = match key.as_i64() {
                    Some(n) if n < 0 => Self::index(key, text.chars().count()),
                    Some(n) => usize::try_from(n).ok(),
                    None => None,
                };
                at.and_then(|at| text.chars().nth(at)).map(|c| Self::from(c.to_string()))
            }
            Self::Bytes(bytes) => {
                let at = Self::index(key, bytes.len());
                at.and_then(|at| bytes.get(at)).map(|b| Self::Int(i64::from(*b)))
            }
            Self::Object(object) => match key.as_str() {
                Some(name) => object.get(name),
                None => None,
            },
            _ => None,
        })
    }

    /// Its values in a row: items, keys, or characters.
    ///
    /// # Errors
    /// It has none, or there is too much.
    pub fn items(&self, meter: &Meter) -> Result<Rc<List<'t>>> {
        let items = match self {
            Self::List(list) => return Ok(Rc::clone(list)),
            Self::Undefined | Self::None => Vec::new(),
            Self::Str(text) => {
                meter.values(text.len().saturating_mul(2))?;
                let chars: Vec<Self> = text.chars().map(|c| Self::from(c.to_string())).collect();
                let kind = if chars.is_empty() { ListKind::Iter } else { ListKind::Unsized };
                return List::new(chars, kind);
            }
            Self::Map(map) => {
                meter.values(map.len())?;
                map.iter().map(|(key, _)| key.clone()).collect()
            }
            Self::Object(object) if self.kind() == ValueKind::Map => {
                let keys = object.keys();
                meter.values(keys.len())?;
                keys
            }
            _ => return Err(Error::operation(format!("{} is not iterable", self.kind().name()))),
        };
        List::new(items, ListKind::Iter)
    }

    /// Keys and values, if it is a map.
    pub(crate) fn pairs(&self, meter: &Meter) -> Result<Option<Vec<(Self, Self)>>> {
        Ok(match self {
            Self::Map(map) => {
                meter.values(map.len() * 2)?;
                Some(map.to_vec())
            }
            Self::Object(object) if self.kind() == ValueKind::Map => {
                let keys = object.keys();
                meter.values(keys.len() * 2)?;
                let value = |key: &Self| key.as_str().and_then(|name| object.get(name));
                let pair = |key: Self| {
                    let value = value(&key).unwrap_or(Self::Undefined);
                    (key, value)
                };
                Some(keys.into_iter().map(pair).collect())
            }
            _ => None,
        })
    }

    /// What a path with points gives: `a.b.0`.
    pub(crate) fn path(&self, path: &str, meter: &Meter) -> Result<Self> {
        let mut value = self.clone();
        for part in path.split('.') {
            if value.is_undefined() {
                return Err(Error::new(Kind::Undefined, String::new()));
            }
            let found = match part.parse::<usize>() {
                Ok(at) => value.item(&Self::from(at), meter)?,
                Err(_) => value.attr(part),
            };
            value = found.unwrap_or(Self::Undefined);
        }
        Ok(value)
    }
}

impl<'t> Object<'t> {
    fn get(&self, name: &str) -> Option<Value<'t>> {
        match self {
            Self::Namespace(all) => {
                let all = all.borrow();
                all.iter().find(|(key, _)| **key == *name).map(|(_, value)| value.clone())
            }
            Self::Loop(of) => of.get(name),
            Self::Macro(of) => of.get(name),
            Self::Module(of) => of.map.get_str(name).cloned(),
            Self::Function(_) => None,
        }
    }

    fn keys(&self) -> Vec<Value<'t>> {
        let names =
            |names: &[&'static str]| names.iter().map(|name| Value::Str(Text::Lit(name))).collect();
        match self {
            Self::Namespace(all) => {
                let all = all.borrow();
                all.iter().map(|(key, _)| Value::Str(Text::Own(Rc::clone(key)))).collect()
            }
            Self::Module(of) => of.map.iter().map(|(key, _)| key.clone()).collect(),
            Self::Loop(_) => names(crate::loops::NAMES),
            Self::Macro(_) => names(&["name", "arguments", "caller"]),
            Self::Function(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_small_and_lists_are_not_too_deep() {
        assert_eq!(size_of::<Value<'_>>(), 24);
        let mut value = Value::Int(1);
        for _ in 0..DEPTH_MAX {
            let Ok(list) = Value::list(vec![value]) else { panic!("too deep") };
            value = list;
        }
        assert_eq!(Value::list(vec![value]).err().map(|e| e.kind()), Some(Kind::Limit));
    }
}
