//! Filters, tests and functions that every template has.

mod lists;
mod names;
mod numbers;
mod printf;
mod select;
mod strings;
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) use names::{Filter, Function, Test};

use crate::Engine;
use crate::error::{Error, Kind, Result};
use crate::escape::Escape;
use crate::meter::Meter;
use crate::show::{display, repr, to_text};
use crate::value::{Map, Namespace, Object, Text, Value};

/// What filters know of the page.
pub(crate) struct Env<'t> {
    pub(crate) engine: &'t Engine,
    pub(crate) meter: Meter,
    pub(crate) escape: Escape,
    /// The name of the template that runs.
    pub(crate) template: &'t str,
}

/// Names of arguments.
#[derive(Clone, Copy)]
pub(crate) enum Named<'a, 't> {
    Static(&'t [Box<str>]),
    Dynamic(&'a [Text<'t>]),
}

impl Named<'_, '_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Static(names) => names.len(),
            Self::Dynamic(names) => names.len(),
        }
    }

    fn get(&self, at: usize) -> Option<&str> {
        match self {
            Self::Static(names) => names.get(at).map(|name| &**name),
            Self::Dynamic(names) => names.get(at).map(|name| &**name),
        }
    }
}

/// The arguments of a call: first those without names.
pub struct Arguments<'a, 't> {
    pub(crate) pos: &'a [Value<'t>],
    pub(crate) values: &'a [Value<'t>],
    pub(crate) names: Named<'a, 't>,
}

impl<'a, 't> Arguments<'a, 't> {
    /// The arguments without names.
    #[must_use]
    pub fn positional(&self) -> &'a [Value<'t>] {
        self.pos
    }

    /// The arguments with names.
    pub fn named(&self) -> impl Iterator<Item = (&str, &'a Value<'t>)> {
        self.values.iter().enumerate().filter_map(|(i, value)| Some((self.names.get(i)?, value)))
    }

    fn with_name(&self, name: &str) -> Option<&'a Value<'t>> {
        let all = self.named().filter(|(given, _)| *given == name);
        all.last().map(|(_, value)| value)
    }

    /// Between so many arguments without names, and no names but these.
    fn check(&self, least: usize, most: usize, names: &[&str]) -> Result<()> {
        if self.pos.len() < least {
            return Err(wrong(format!("{least} arguments are needed")));
        }
        if self.pos.len() > most {
            return Err(wrong(format!("there are {most} arguments at most")));
        }
        match self.named().find(|(name, _)| !names.contains(name)) {
            Some((name, _)) => Err(wrong(format!("there is no argument `{name}`"))),
            None => Ok(()),
        }
    }

    /// An argument that may be left out, or be undefined or none; then the one with a name counts.
    fn maybe(&self, at: usize, name: &str) -> Option<&'a Value<'t>> {
        let given = |value: &&Value<'t>| !matches!(value, Value::Undefined | Value::None);
        let first = self.pos.get(at).filter(given);
        first.or_else(|| self.with_name(name).filter(given))
    }

    fn flag(&self, at: usize, name: &str) -> Result<bool> {
        match self.maybe(at, name) {
            None => Ok(false),
            Some(Value::Bool(b)) => Ok(*b),
            Some(_) => Err(wrong(format!("`{name}` is true or false"))),
        }
    }

    fn size(&self, at: usize, name: &str) -> Result<Option<usize>> {
        self.maybe(at, name).map(|value| size(value, name)).transpose()
    }

    fn str(&self, at: usize, name: &str) -> Result<Option<&'a str>> {
        let text = |value: &'a Value<'t>| {
            value.as_str().ok_or_else(|| wrong(format!("`{name}` is a string")))
        };
        self.maybe(at, name).map(text).transpose()
    }
}

fn size(value: &Value<'_>, name: &str) -> Result<usize> {
    let size = value.as_whole().and_then(|n| usize::try_from(n).ok());
    size.ok_or_else(|| wrong(format!("`{name}` is a number, not below zero")))
}

fn wrong(text: impl Into<String>) -> Error {
    Error::new(Kind::Arguments, text)
}

/// A value as a text.
fn text<'v>(value: &'v Value<'_>, meter: &Meter) -> Result<Cow<'v, str>> {
    match value {
        Value::Str(text) => {
            meter.scan(text.len())?;
            Ok(Cow::Borrowed(text))
        }
        _ => to_text(value, meter).map(Cow::Owned),
    }
}

/// Applies a filter.
pub(crate) fn filter<'t>(
    filter: Filter,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    let meter = &env.meter;
    let Some(value) = args.pos.first() else { return Err(wrong("a filter takes a value")) };
    match filter {
        Filter::Safe
        | Filter::Escape
        | Filter::Lower
        | Filter::Upper
        | Filter::Title
        | Filter::Capitalize
        | Filter::Replace
        | Filter::Trim
        | Filter::Join
        | Filter::Split
        | Filter::Lines
        | Filter::String
        | Filter::Indent
        | Filter::Format
        | Filter::Urlencode => strings::filter(filter, env, args),
        Filter::Round | Filter::Abs | Filter::Int | Filter::Float | Filter::Sum => {
            numbers::filter(filter, env, args)
        }
        Filter::Select | Filter::Reject | Filter::Selectattr | Filter::Rejectattr | Filter::Map => {
            select::filter(filter, env, args)
        }
        Filter::Default => {
            args.check(1, 3, &[])?;
            let lax = args.pos.get(2).is_some_and(Value::is_true);
            if value.is_undefined() || (lax && !value.is_true()) {
                return Ok(args.pos.get(1).cloned().unwrap_or(Value::Str(Text::Lit(""))));
            }
            Ok(value.clone())
        }
        Filter::Attr => {
            args.check(2, 2, &[])?;
            if value.is_undefined() {
                return Err(Error::new(Kind::Undefined, "what it is asked of is undefined"));
            }
            Ok(value.item(&args.pos[1], meter)?.unwrap_or(Value::Undefined))
        }
        Filter::Bool => {
            args.check(1, 1, &[])?;
            Ok(Value::Bool(value.is_true()))
        }
        Filter::Pprint => {
            args.check(1, 1, &[])?;
            let mut out = String::new();
            repr(value, Some(0), &mut out, meter)?;
            Ok(Value::from(out))
        }
        Filter::Tojson => tojson(args, meter),
        Filter::FromJson => {
            args.check(1, 1, &[])?;
            from_json(value, meter)
        }
        _ => lists::filter(filter, env, args),
    }
}

fn tojson<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    use crate::show::{Json, json};
    args.check(1, 2, &["indent"])?;
    let style = match args.maybe(1, "indent") {
        None | Some(Value::Bool(false)) => Json::Spaced,
        Some(Value::Bool(true)) => Json::Lines(2),
        Some(indent) => Json::Lines(size(indent, "indent")?),
    };
    let mut out = String::new();
    json(&args.pos[0], style, true, &mut out, meter)?;
    Ok(Value::safe(out))
}

/// JSON as a value. Parsing pays for what the text could become.
fn from_json<'t>(value: &Value<'t>, meter: &Meter) -> Result<Value<'t>> {
    let text = value.as_str().ok_or_else(|| wrong("from_json takes a string"))?;
    meter.steps(text.len() as u64 / 8)?;
    // The shortest value has two bytes, with its comma, and takes 40 or so here and on the way.
    meter.bytes(text.len().saturating_mul(20))?;
    let json = serde_json::from_str(text);
    of_json(json.map_err(|e| Error::operation(format!("no JSON: {e}")))?)
}

/// JSON as a value.
///
/// # Errors
/// It is too deep.
pub fn of_json<'t>(json: serde_json::Value) -> Result<Value<'t>> {
    use serde_json::Value as Json;
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(b) => Value::Bool(b),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Value::Int(n),
            None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(all) => {
            let items: Result<Vec<_>> = all.into_iter().map(of_json).collect();
            Value::list(items?)?
        }
        Json::Object(all) => {
            let pair = |(name, value)| Ok((Value::from(name), of_json(value)?));
            let pairs: Result<Vec<_>> = all.into_iter().map(pair).collect();
            Value::Map(Map::new(pairs?)?)
        }
    })
}

/// Applies a test.
pub(crate) fn test<'t>(test: Test, env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<bool> {
    tests::test(test, env, args)
}

/// Calls a function.
pub(crate) fn function<'t>(
    function: Function,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    let meter = &env.meter;
    match function {
        Function::Range => numbers::range(args, meter),
        Function::Debug => {
            let mut out = String::new();
            args.check(1, 1, &[])?;
            repr(&args.pos[0], Some(0), &mut out, meter)?;
            Ok(Value::from(out))
        }
        Function::Dict => {
            if args.pos.len() > 1 {
                return Err(wrong("dict() takes one map"));
            }
            let mut pairs = match args.pos.first() {
                None | Some(Value::Undefined | Value::None) => Vec::new(),
                Some(value) => value.pairs(meter)?.ok_or_else(|| wrong("dict() takes a map"))?,
            };
            pairs.extend(args.named().map(|(name, value)| (Value::from(name), value.clone())));
            Map::sorted(pairs, meter).map(Value::Map)
        }
        Function::Namespace => {
            let all = Rc::new(RefCell::new(Vec::new()));
            if args.pos.len() > 1 || (args.pos.len() == 1 && !args.values.is_empty()) {
                return Err(wrong("namespace() takes names, or one map"));
            }
            if let Some(value) = args.pos.first()
                && !matches!(value, Value::Undefined | Value::None)
            {
                let pairs = value.pairs(meter)?.ok_or_else(|| wrong("namespace() takes names"))?;
                for (name, value) in pairs {
                    if let Some(name) = name.as_str() {
                        put(&all, name, value, meter)?;
                    }
                }
            }
            for (name, value) in args.named() {
                put(&all, name, value.clone(), meter)?;
            }
            Ok(Value::Object(Object::Namespace(all)))
        }
    }
}

/// Sets a name of a namespace, which must not come to contain itself.
pub(crate) fn put<'t>(
    all: &Namespace<'t>,
    name: &str,
    value: Value<'t>,
    meter: &Meter,
) -> Result<()> {
    if value.is_live() {
        return Err(Error::operation("a namespace cannot hold a namespace or a loop"));
    }
    let mut all = all.borrow_mut();
    match all.binary_search_by(|(key, _)| (**key).cmp(name)) {
        Ok(at) => all[at].1 = value,
        Err(at) => {
            meter.values(2)?;
            all.insert(at, (name.into(), value));
        }
    }
    Ok(())
}

/// A text that is escaped unless it is safe.
fn escaped<'v>(value: &'v Value<'_>, env: &Env<'_>) -> Result<Cow<'v, str>> {
    if value.is_safe()
        && let Some(text) = value.as_str()
    {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::new();
    display(value, &mut plain, &env.meter)?;
    strings::escape(&Value::from(plain), env).map(Cow::Owned)
}
