//! Filters that apply a test or a filter to every item.

use std::borrow::Cow;

use super::{Arguments, Env, Filter, Named, Test, text, wrong};
use crate::error::{Error, Kind, Result};
use crate::value::Value;

pub(super) fn filter<'t>(
    filter: Filter,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    match filter {
        Filter::Map => map(env, args),
        Filter::Select => select(env, args, true, false),
        Filter::Reject => select(env, args, false, false),
        Filter::Selectattr => select(env, args, true, true),
        _ => select(env, args, false, true),
    }
}

fn unknown(what: &str, name: &str) -> Error {
    Error::new(Kind::Unknown, format!("there is no {what} `{name}`"))
}

/// The items for which a test, of their own or of an attribute, says what is `wanted`.
fn select<'t>(
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
    wanted: bool,
    of_attribute: bool,
) -> Result<Value<'t>> {
    let meter = &env.meter;
    let at = if of_attribute { 2 } else { 1 };
    args.check(at, usize::MAX, &[])?;
    let path = if of_attribute { text(&args.pos[1], meter)? } else { Cow::Borrowed("") };
    let test = match args.maybe(at, "") {
        Some(name) => {
            let name = text(name, meter)?;
            Some(Test::of(&name).ok_or_else(|| unknown("test", &name))?)
        }
        None => None,
    };
    let rest = args.pos.get(at + 1..).unwrap_or_default();
    let items = args.pos[0].items(meter)?;
    let mut found = Vec::new();
    for item in items.iter() {
        meter.steps(1 + rest.len() as u64)?;
        let value = if of_attribute { item.path(&path, meter)? } else { item.clone() };
        let passed = match test {
            Some(test) => apply(value, rest, |args| super::test(test, env, args))?,
            None => value.is_true(),
        };
        if passed == wanted {
            meter.values(1)?;
            found.push(item.clone());
        }
    }
    Value::list(found)
}

/// Calls something with a value and further arguments.
fn apply<'t, T>(
    value: Value<'t>,
    rest: &[Value<'t>],
    call: impl FnOnce(&Arguments<'_, 't>) -> Result<T>,
) -> Result<T> {
    let mut pos = Vec::with_capacity(1 + rest.len());
    pos.push(value);
    pos.extend_from_slice(rest);
    call(&Arguments { pos: &pos, values: &[], names: Named::Static(&[]) })
}

fn map<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    let meter = &env.meter;
    let items = args.pos[0].items(meter)?;
    meter.values(items.len())?;
    let mut made = Vec::with_capacity(items.len());
    if let Some(attribute) = args.maybe(usize::MAX, "attribute") {
        args.check(1, 1, &["attribute", "default"])?;
        let default = args.with_name("default").cloned().unwrap_or(Value::Undefined);
        for item in items.iter() {
            meter.steps(1)?;
            let found = match attribute.as_str() {
                Some(path) => item.path(path, meter),
                None if item.is_undefined() => {
                    Err(Error::new(Kind::Undefined, "an item is undefined"))
                }
                None => Ok(item.item(attribute, meter)?.unwrap_or(Value::Undefined)),
            };
            made.push(match found {
                Ok(value) if !value.is_undefined() => value,
                Err(e) if default.is_undefined() => return Err(e),
                _ => default.clone(),
            });
        }
        return Value::list(made);
    }
    args.check(2, usize::MAX, &[])?;
    let name = args.pos[1].as_str().ok_or_else(|| wrong("a filter's name is a string"))?;
    let filter = Filter::of(name).ok_or_else(|| unknown("filter", name))?;
    let rest = &args.pos[2..];
    for item in items.iter() {
        meter.steps(1 + rest.len() as u64)?;
        made.push(apply(item.clone(), rest, |args| nested(filter, env, args))?);
    }
    Value::list(made)
}

/// Applies a filter that a filter names. `map` of `map` could go on for ever, so that it is no deeper.
fn nested<'t>(filter: Filter, env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    // Every level takes a name away from the arguments, so that their number bounds the depth.
    const MOST: usize = 50;
    if args.pos.len() > MOST {
        return Err(wrong(format!("a filter of map takes {MOST} arguments at most")));
    }
    super::filter(filter, env, args)
}
