//! Filters of lists and maps.

use std::cmp::Ordering;

use super::{Arguments, Env, Filter, size, wrong};
use crate::compare::{order, sort};
use crate::error::{Error, Result};
use crate::meter::Meter;
use crate::value::{ListKind, Map, Value, ValueKind};

pub(super) fn filter<'t>(
    filter: Filter,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    let meter = &env.meter;
    let value = &args.pos[0];
    match filter {
        Filter::Dictsort => return dictsort(args, meter),
        Filter::Min | Filter::Max => {
            let wanted = if filter == Filter::Min { Ordering::Less } else { Ordering::Greater };
            return extreme(args, wanted, meter);
        }
        Filter::Sort => return sorted(args, meter),
        Filter::Batch => return batch(args, meter),
        Filter::Slice => return slice(args, meter),
        Filter::Groupby => return groupby(args, meter),
        Filter::Unique => return unique(args, meter),
        Filter::Chain => return chain(args, meter),
        Filter::Zip => return zip(args, meter),
        _ => args.check(1, 1, &[])?,
    }
    match filter {
        Filter::Length => match value {
            Value::Undefined => Ok(Value::Int(0)),
            _ => value
                .len(meter)?
                .map(Value::from)
                .ok_or_else(|| Error::operation(format!("{} has no length", value.kind().name()))),
        },
        Filter::Items => {
            if value.is_undefined() {
                return Value::list_of(Vec::new(), ListKind::Iter);
            }
            let pairs =
                value.pairs(meter)?.ok_or_else(|| Error::operation("only maps have items"))?;
            pair_list(pairs, ListKind::Iter, meter)
        }
        Filter::Reverse => reverse(value, meter),
        Filter::First => match value {
            Value::Undefined => Ok(Value::Undefined),
            _ => end_of(value, true, meter),
        },
        Filter::Last => match value {
            Value::Undefined => Ok(Value::Undefined),
            _ => end_of(value, false, meter),
        },
        _ => {
            let items = value.items(meter)?;
            meter.values(items.len())?;
            Value::list(items.to_vec())
        }
    }
}

fn pair_list<'t>(
    pairs: Vec<(Value<'t>, Value<'t>)>,
    kind: ListKind,
    meter: &Meter,
) -> Result<Value<'t>> {
    // A tuple is two values and what holds them.
    meter.values(pairs.len().saturating_mul(4))?;
    let tuple = |(key, value)| Value::list_of(vec![key, value], ListKind::Tuple);
    let items: Result<Vec<_>> = pairs.into_iter().map(tuple).collect();
    Value::list_of(items?, kind)
}

fn reverse<'t>(value: &Value<'t>, meter: &Meter) -> Result<Value<'t>> {
    match value {
        Value::Undefined => Ok(Value::Undefined),
        Value::Str(text) => {
            meter.bytes(text.len())?;
            Ok(Value::text(text.chars().rev().collect(), value.is_safe()))
        }
        Value::Bytes(bytes) => {
            meter.bytes(bytes.len())?;
            Ok(Value::Bytes(bytes.iter().rev().copied().collect()))
        }
        Value::List(_) | Value::Map(_) | Value::Object(_) => {
            let items = value.items(meter)?;
            meter.values(items.len())?;
            Value::list_of(items.iter().rev().cloned().collect(), ListKind::Iter)
        }
        _ => Err(Error::operation(format!("{} cannot be reversed", value.kind().name()))),
    }
}

fn end_of<'t>(value: &Value<'t>, first: bool, meter: &Meter) -> Result<Value<'t>> {
    if let Some(text) = value.as_str() {
        let mut chars = text.chars();
        let found = if first { chars.next() } else { chars.next_back() };
        let safe = value.is_safe() && !first;
        return Ok(found.map_or(Value::Undefined, |c| Value::text(c.to_string(), safe)));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        return Err(Error::operation(format!("{} has no items", value.kind().name())));
    }
    let items = value.items(meter)?;
    let found = if first { items.first() } else { items.last() };
    Ok(found.cloned().unwrap_or(Value::Undefined))
}

/// Which comes first; texts are the same in both cases, if so.
fn folded<'t>(a: &Value<'t>, b: &Value<'t>, exact: bool, meter: &Meter) -> Result<Ordering> {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) if !exact => {
            meter.scan(a.len().min(b.len()))?;
            let lower =
                |text: &str| -> Vec<u8> { text.bytes().map(|b| b.to_ascii_lowercase()).collect() };
            if a.len() + b.len() > 256 {
                meter.bytes(a.len() + b.len())?;
                return Ok(lower(a).cmp(&lower(b)));
            }
            let fold = |b: u8| b.to_ascii_lowercase();
            Ok(a.bytes().map(fold).cmp(b.bytes().map(fold)))
        }
        _ => order(a, b, meter),
    }
}

fn turned(order: Ordering, reverse: bool) -> Ordering {
    if reverse { order.reverse() } else { order }
}

fn dictsort<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 1, &["by", "case_sensitive", "reverse"])?;
    let pairs = args.pos[0].pairs(meter)?;
    let pairs = pairs.ok_or_else(|| Error::operation("only maps are sorted by key"))?;
    let by_value = match args.with_name("by") {
        None => false,
        Some(by) => by.as_str().ok_or_else(|| wrong("`by` is a string"))? == "value",
    };
    let exact = args.flag(9, "case_sensitive")?;
    let reverse = args.flag(9, "reverse")?;
    let sorted = sort(pairs, meter, |a, b| {
        let (a, b) = if by_value { (&a.1, &b.1) } else { (&a.0, &b.0) };
        Ok(turned(folded(a, b, exact, meter)?, reverse))
    })?;
    pair_list(sorted, ListKind::Seq, meter)
}

fn path_or<'t>(item: &Value<'t>, path: &str, default: &Value<'t>, meter: &Meter) -> Value<'t> {
    match item.path(path, meter) {
        Ok(value) if !value.is_undefined() => value,
        _ => default.clone(),
    }
}

fn extreme<'t>(args: &Arguments<'_, 't>, wanted: Ordering, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 1, &["case_sensitive", "attribute"])?;
    let exact = args.flag(9, "case_sensitive")?;
    let attribute = args.str(9, "attribute")?;
    let mut best: Option<(Value<'t>, Value<'t>)> = None;
    for item in args.pos[0].items(meter)?.iter() {
        meter.steps(1)?;
        let key = match attribute {
            Some(path) => path_or(item, path, &Value::Undefined, meter),
            None => item.clone(),
        };
        let better = match &best {
            Some((old, _)) => folded(&key, old, exact, meter)? == wanted,
            None => true,
        };
        if better {
            best = Some((key, item.clone()));
        }
    }
    Ok(best.map_or(Value::Undefined, |(_, item)| item))
}

fn sorted<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 1, &["case_sensitive", "reverse", "attribute"])?;
    let items = args.pos[0].items(meter)?;
    meter.values(items.len().saturating_mul(3))?;
    let exact = args.flag(9, "case_sensitive")?;
    let reverse = args.flag(9, "reverse")?;
    let Some(attribute) = args.str(9, "attribute")? else {
        let by = |a: &Value<'t>, b: &Value<'t>| Ok(turned(folded(a, b, exact, meter)?, reverse));
        return Value::list(sort(items.to_vec(), meter, by)?);
    };
    let paths: Vec<&str> =
        attribute.split(',').map(str::trim).filter(|path| !path.is_empty()).collect();
    let key = |item: &Value<'t>| -> Result<Option<Value<'t>>> {
        if paths.len() < 2 {
            return Ok(item.path(paths.first().unwrap_or(&attribute), meter).ok());
        }
        meter.values(paths.len())?;
        let part = |path: &&str| {
            let part = path_or(item, path, &Value::Undefined, meter);
            match part.as_str() {
                Some(text) if !exact => Value::from(text.to_ascii_lowercase()),
                _ => part,
            }
        };
        Value::list(paths.iter().map(part).collect()).map(Some)
    };
    let keyed = items.iter().map(|item| Ok((key(item)?, item.clone())));
    let keyed: Result<Vec<_>> = keyed.collect();
    let sorted = sort(keyed?, meter, |(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => Ok(turned(folded(a, b, exact, meter)?, reverse)),
        _ => Ok(Ordering::Equal),
    })?;
    Value::list(sorted.into_iter().map(|(_, item)| item).collect())
}

/// How many items a part has: at least one.
fn count(args: &Arguments<'_, '_>) -> Result<usize> {
    args.check(2, 3, &[])?;
    match size(&args.pos[1], "count")? {
        0 => Err(wrong("the number of items cannot be 0")),
        n => Ok(n),
    }
}

fn batch<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    let count = count(args)?;
    let fill = args.maybe(2, "");
    let items = args.pos[0].items(meter)?;
    meter.values(items.len().saturating_mul(3))?;
    let mut rows = Vec::new();
    for row in items.chunks(count) {
        let mut row = row.to_vec();
        if let Some(fill) = fill {
            meter.values(count - row.len())?;
            row.resize(count, fill.clone());
        }
        rows.push(Value::list(row)?);
    }
    Value::list(rows)
}

fn slice<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    let count = count(args)?;
    let fill = args.maybe(2, "");
    let items = args.pos[0].items(meter)?;
    meter.values(items.len().saturating_add(count.saturating_mul(4)))?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = &items[..];
    let mut columns = Vec::with_capacity(count);
    for i in 0..count {
        let (column, behind) = rest.split_at(each + usize::from(i < longer));
        rest = behind;
        let mut column = column.to_vec();
        if let (Some(fill), true) = (fill, i >= longer) {
            column.push(fill.clone());
        }
        columns.push(Value::list(column)?);
    }
    Value::list(columns)
}

fn groupby<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 2, &["attribute", "default", "case_sensitive"])?;
    let path = args.str(1, "attribute")?.ok_or_else(|| wrong("`attribute` is missing"))?;
    let default = args.maybe(9, "default").cloned().unwrap_or(Value::Undefined);
    let exact = args.flag(9, "case_sensitive")?;
    let items = args.pos[0].items(meter)?;
    meter.values(items.len().saturating_mul(4))?;
    let keyed = items.iter().map(|item| (path_or(item, path, &default, meter), item.clone()));
    let by = |(a, _): &(Value<'t>, Value<'t>), (b, _): &(Value<'t>, Value<'t>)| {
        folded(a, b, exact, meter)
    };
    let mut groups: Vec<(Value<'t>, Vec<Value<'t>>)> = Vec::new();
    for (key, item) in sort(keyed.collect(), meter, by)? {
        match groups.last_mut() {
            Some((last, items)) if folded(last, &key, exact, meter)?.is_eq() => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let group = |(key, items)| {
        let items = Value::list_of(items, ListKind::Iter)?;
        Value::list_of(vec![key, items], ListKind::Group)
    };
    let groups: Result<Vec<_>> = groups.into_iter().map(group).collect();
    Value::list(groups?)
}

fn unique<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, 1, &["attribute", "case_sensitive"])?;
    let attribute = args.str(9, "attribute")?;
    let exact = args.flag(9, "case_sensitive")?;
    let items = args.pos[0].items(meter)?;
    meter.values(items.len().saturating_mul(4))?;
    let mut keyed = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let key = match attribute {
            Some(path) => path_or(item, path, &Value::Undefined, meter),
            None => item.clone(),
        };
        let key = match key.as_str() {
            Some(text) if !exact => {
                meter.bytes(text.len().saturating_mul(2))?;
                Value::from(text.to_lowercase())
            }
            _ => key,
        };
        keyed.push((key, i));
    }
    // Equal keys stand beside one another, the first item first.
    let sorted = sort(keyed, meter, |(a, _), (b, _)| order(a, b, meter))?;
    let mut kept: Vec<usize> = Vec::new();
    let mut last: Option<&Value<'t>> = None;
    for (key, i) in &sorted {
        let again = match last {
            Some(last) => order(last, key, meter)?.is_eq(),
            None => false,
        };
        if !again {
            kept.push(*i);
        }
        last = Some(key);
    }
    kept.sort_unstable();
    Value::list(kept.into_iter().map(|i| items[i].clone()).collect())
}

fn chain<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, usize::MAX, &[])?;
    if args.pos.iter().all(|value| value.kind() == ValueKind::Map) {
        let mut all = Vec::new();
        for value in args.pos {
            all.extend(value.pairs(meter)?.unwrap_or_default());
        }
        // What is undefined does not hide what comes before.
        all.sort_by_key(|(_, value)| !value.is_undefined());
        return Map::sorted(all, meter).map(Value::Map);
    }
    let lists = args.pos.iter().all(|value| value.kind() == ValueKind::Seq);
    let mut all = Vec::new();
    for value in args.pos {
        let items = value.items(meter)?;
        meter.values(items.len())?;
        all.extend(items.iter().cloned());
    }
    Value::list_of(all, if lists { ListKind::Seq } else { ListKind::Unsized })
}

fn zip<'t>(args: &Arguments<'_, 't>, meter: &Meter) -> Result<Value<'t>> {
    args.check(1, usize::MAX, &[])?;
    let mut known = true;
    let mut lists = Vec::with_capacity(args.pos.len());
    for value in args.pos {
        lists.push(value.items(meter)?);
        known = known && value.len(meter)?.is_some();
    }
    let len = lists.iter().map(|list| list.len()).min().unwrap_or_default();
    meter.values(len.saturating_mul(lists.len() + 2))?;
    let mut rows = Vec::with_capacity(len);
    for i in 0..len {
        let row = lists.iter().map(|list| list[i].clone()).collect();
        rows.push(Value::list_of(row, ListKind::Tuple)?);
    }
    Value::list_of(rows, if known { ListKind::Iter } else { ListKind::Unsized })
}
