//! Filters of texts.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::{Arguments, Env, Filter, escaped, printf, text, wrong};
use crate::error::{Error, Result};
use crate::escape::{self, Escape};
use crate::show::{display, to_text};
use crate::value::{Value, ValueKind};

pub(super) fn filter<'t>(
    filter: Filter,
    env: &Env<'t>,
    args: &Arguments<'_, 't>,
) -> Result<Value<'t>> {
    let meter = &env.meter;
    let value = &args.pos[0];
    match filter {
        Filter::Replace => return replace(env, args),
        Filter::Join => return join(env, args),
        Filter::Split => return split(env, args),
        Filter::Indent => return indent(env, args),
        Filter::Format => return printf::filter(env, args),
        Filter::Trim => {
            args.check(1, 2, &[])?;
            let all = text(value, meter)?;
            let trimmed = match args.maybe(1, "chars") {
                Some(chars) => {
                    let chars: Vec<char> = text(chars, meter)?.chars().collect();
                    meter.steps((all.len() as u64 / 64 + 1) * chars.len() as u64)?;
                    all.trim_matches(&chars[..])
                }
                None => all.trim(),
            };
            meter.bytes(trimmed.len())?;
            return Ok(Value::text(trimmed.to_owned(), value.is_safe()));
        }
        _ => args.check(1, 1, &[])?,
    }
    // Of what follows, a character can become three times as long.
    let cased = |value: &Value<'t>| -> Result<String> {
        let all = text(value, meter)?;
        meter.bytes(all.len().saturating_mul(2))?;
        Ok(all.into_owned())
    };
    Ok(match filter {
        Filter::Safe => Value::safe(to_text(value, meter)?),
        Filter::Escape if value.is_safe() => value.clone(),
        Filter::Escape => Value::safe(escape(value, env)?),
        Filter::Lower => Value::text(cased(value)?.to_lowercase(), value.is_safe()),
        Filter::Upper => Value::text(cased(value)?.to_uppercase(), value.is_safe()),
        Filter::Title => Value::from(title(&cased(value)?)),
        Filter::Capitalize => Value::text(capitalize(&cased(value)?), value.is_safe()),
        Filter::String if value.kind() == ValueKind::String => value.clone(),
        Filter::String => Value::from(to_text(value, meter)?),
        Filter::Lines => {
            let all = of_string(value)?;
            meter.values(all.len())?;
            let line = |line: &str| Value::text(line.to_owned(), value.is_safe());
            Value::list(all.lines().map(line).collect())?
        }
        _ => Value::from(urlencode(value, env)?),
    })
}

/// A string as it is, and bytes as they are shown; nothing else.
fn of_string<'v>(value: &'v Value<'_>) -> Result<Cow<'v, str>> {
    match value {
        Value::Str(text) => Ok(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes)),
        _ => Err(wrong("value is not a string")),
    }
}

/// A value as the page shows it; where nothing is escaped, as its template would at its beginning, or in HTML.
pub(super) fn escape(value: &Value<'_>, env: &Env<'_>) -> Result<String> {
    let how = match env.escape {
        Escape::None => match env.engine.escape(env.template) {
            Escape::None => Escape::Html,
            how => how,
        },
        how => how,
    };
    let mut out = String::new();
    escape::write(value, how, &mut out, &env.meter)?;
    Ok(out)
}

/// The rest of a word in lower case. The sigma at the end of a word is another one, so that the word's
/// beginning counts.
fn lower_tail(word: &str, start: usize, out: &mut String) {
    let tail = &word[start..];
    if tail.contains('\u{3a3}') {
        let head = word[..start].chars().flat_map(char::to_lowercase).map(char::len_utf8).sum();
        out.push_str(word.to_lowercase().get(head..).unwrap_or_default());
    } else {
        out.extend(tail.chars().flat_map(char::to_lowercase));
    }
}

fn title(all: &str) -> String {
    let separates = |c: char| matches!(c, '-' | '(' | '{' | '[' | '<') || c.is_whitespace();
    let mut out = String::with_capacity(all.len());
    let mut rest = all;
    while let Some(first) = rest.chars().next() {
        if separates(first) {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(separates).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        out.extend(first.to_uppercase());
        lower_tail(word, first.len_utf8(), &mut out);
        rest = behind;
    }
    out
}

fn capitalize(all: &str) -> String {
    let mut out = String::with_capacity(all.len());
    if let Some(first) = all.chars().next() {
        push_title(first, &mut out);
        lower_tail(all, first.len_utf8(), &mut out);
    }
    out
}

/// A character at the beginning of a title. Of letters that are two in one, only the first is a capital: these
/// are the ones of Unicode that std does not tell.
fn push_title(c: char, out: &mut String) {
    let code = c as u32;
    let single = match code {
        0x1c4..=0x1cc => Some(code - (code - 0x1c4) % 3 + 1),
        0x1f1..=0x1f3 => Some(0x1f2),
        0x10d0..=0x10fa | 0x10fd..=0x10ff => Some(code),
        0x1f80..=0x1faf => Some(code | 8),
        0x1fb3 | 0x1fbc => Some(0x1fbc),
        0x1fc3 | 0x1fcc => Some(0x1fcc),
        0x1ff3 | 0x1ffc => Some(0x1ffc),
        _ => None,
    };
    if let Some(single) = single.and_then(char::from_u32) {
        return out.push(single);
    }
    // What has no single capital: the first of its capitals, and the others small.
    let mut upper = c.to_uppercase();
    out.extend(upper.next());
    let ligature = matches!(code, 0xdf | 0x587 | 0xfb00..=0xfb17);
    let keeps = matches!(code, 0x1fb2..=0x1fb7 | 0x1fc2..=0x1fc7 | 0x1ff2..=0x1ff7);
    for next in upper {
        match next {
            // The iota beneath becomes a mark.
            '\u{399}' if keeps => out.push('\u{345}'),
            next if ligature => out.extend(next.to_lowercase()),
            next => out.push(next),
        }
    }
}

fn replace<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(3, 4, &["count"])?;
    let meter = &env.meter;
    let [value, from, to] = [&args.pos[0], &args.pos[1], &args.pos[2]];
    let count = match args.maybe(3, "count") {
        Some(count) => {
            let count = count.as_i64().ok_or_else(|| wrong("`count` is a number"))?;
            usize::try_from(count).unwrap_or(usize::MAX)
        }
        None => usize::MAX,
    };
    let safe = env.escape != Escape::None && (value.is_safe() || from.is_safe() || to.is_safe());
    let (all, to) = if safe {
        (escaped(value, env)?, escaped(to, env)?)
    } else {
        (text(value, meter)?, text(to, meter)?)
    };
    let from = text(from, meter)?;
    let found = all.matches(&*from).take(count).count();
    meter.bytes(found.saturating_mul(to.len()).saturating_add(all.len()))?;
    Ok(Value::text(all.replacen(&*from, &to, count), safe))
}

fn join<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 3, &["d", "attribute"])?;
    let meter = &env.meter;
    let joiner = args.maybe(1, "d");
    let attribute = args.str(2, "attribute")?;
    let all = args.pos[0].items(meter)?;
    let mut items: Cow<'_, [Value<'t>]> = Cow::Borrowed(&all);
    if let Some(path) = attribute {
        meter.values(all.len())?;
        let found = all.iter().map(|item| item.path(path, meter).unwrap_or(Value::Undefined));
        items = Cow::Owned(found.collect());
    }
    let joins_safe = joiner.is_some_and(Value::is_safe);
    let safe = env.escape != Escape::None && (joins_safe || items.iter().any(Value::is_safe));
    let joiner = match joiner {
        Some(joiner) if safe => escaped(joiner, env)?,
        Some(joiner) => text(joiner, meter)?,
        None => Cow::Borrowed(""),
    };
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        meter.steps(1)?;
        if i > 0 {
            meter.bytes(joiner.len())?;
            out.push_str(&joiner);
        }
        if safe {
            escape::write(item, env.escape, &mut out, meter)?;
        } else {
            display(item, &mut out, meter)?;
        }
    }
    Ok(Value::text(out, safe))
}

fn split<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 3, &[])?;
    let all = of_string(&args.pos[0])?;
    let at = args.maybe(1, "").map(of_string).transpose()?;
    let most = match args.maybe(2, "") {
        Some(most) => {
            let most = most.as_i64().ok_or_else(|| wrong("the number of splits is a number"))?;
            usize::try_from(most).ok().map(|most| most.saturating_add(1))
        }
        None => None,
    };
    // There are no more parts than characters and one, and each is a value of its own.
    let part = at.as_ref().map_or(2, |at| at.len().max(1));
    let parts = (all.len() / part + 2).min(most.unwrap_or(usize::MAX));
    env.meter.values(parts.saturating_mul(2))?;
    env.meter.bytes(all.len())?;
    let safe = args.pos[0].is_safe();
    let wrap = |part: &str| Value::text(part.to_owned(), safe);
    let items = match (at, most) {
        (None, None) => all.split_whitespace().map(wrap).collect(),
        (Some(at), None) => all.split(&*at).map(wrap).collect(),
        (Some(at), Some(most)) => all.splitn(most, &*at).map(wrap).collect(),
        (None, Some(most)) => {
            let mut items = Vec::new();
            let mut rest = all.trim_start();
            while !rest.is_empty() {
                let end = rest.find(char::is_whitespace);
                match end.filter(|_| items.len() + 1 < most) {
                    Some(end) => {
                        items.push(wrap(&rest[..end]));
                        rest = rest[end..].trim_start();
                    }
                    None => {
                        items.push(wrap(rest));
                        break;
                    }
                }
            }
            items
        }
    };
    Value::list(items)
}

fn indent<'t>(env: &Env<'t>, args: &Arguments<'_, 't>) -> Result<Value<'t>> {
    args.check(1, 4, &["width", "first", "blank"])?;
    let meter = &env.meter;
    let all = text(&args.pos[0], meter)?;
    let width = args.size(1, "width")?.unwrap_or(4);
    let (first, blank) = (args.flag(2, "first")?, args.flag(3, "blank")?);
    fn strip(text: &str) -> &str {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text)
    }
    let input = strip(&all);
    let lines = input.bytes().filter(|b| *b == b'\n').count() + 1;
    meter.bytes(width.saturating_mul(lines).saturating_add(input.len()))?;
    let mut out = String::new();
    for (i, line) in input.split('\n').enumerate() {
        let is_blank = line.is_empty() || line == "\r";
        if (i > 0 || first) && (!is_blank || blank) {
            out.extend(std::iter::repeat_n(' ', width));
        }
        out.push_str(line);
        out.push('\n');
    }
    let len = strip(&out).len();
    out.truncate(len);
    Ok(Value::text(out, args.pos[0].is_safe()))
}

/// What stands for itself in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

fn urlencode(value: &Value<'_>, env: &Env<'_>) -> Result<String> {
    let meter = &env.meter;
    let encode = |bytes: &[u8], out: &mut String| -> Result<()> {
        meter.bytes(bytes.len().saturating_mul(3))?;
        out.extend(percent_encode(bytes, PLAIN));
        Ok(())
    };
    let mut out = String::new();
    if let Some(pairs) = value.pairs(meter)? {
        for (key, value) in pairs {
            if matches!(value, Value::Undefined | Value::None) {
                continue;
            }
            if !out.is_empty() {
                out.push('&');
            }
            encode(to_text(&key, meter)?.as_bytes(), &mut out)?;
            out.push('=');
            encode(to_text(&value, meter)?.as_bytes(), &mut out)?;
        }
        return Ok(out);
    }
    match value {
        Value::None | Value::Undefined => {}
        Value::Bytes(bytes) => encode(bytes, &mut out)?,
        _ => encode(text(value, meter)?.as_bytes(), &mut out)?,
    }
    Ok(out)
}

/// A value that is a string.
pub(super) fn string<'v>(value: &'v Value<'_>) -> Result<&'v str> {
    value.as_str().ok_or_else(|| Error::operation("value is not a string"))
}
