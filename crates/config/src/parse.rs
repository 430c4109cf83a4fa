//! From text to value and back, for every kind of option.
//!
//! The error texts are Redis 7's, since clients and its test suite look at
//! them. Nothing here stores anything: `parse` is pure except for `dir`, which
//! asks the file system whether the directory is there.

use std::path::{Path, PathBuf};

use crate::choices::{SHUTDOWN_NOSAVE, SHUTDOWN_SAVE};
use crate::events;
use crate::kind::{Names, OptionKind};
use crate::limits::{self, Limits};
use crate::rows::Row;
use crate::size::memory;

/// A parsed value, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(i64),
    Text(Vec<u8>),
    Limits([Limits; 3]),
}

const COUNT_ERROR: &str = "wrong number of arguments";

/// The present values that new ones are relative to.
pub(crate) trait Present {
    /// The present directory.
    fn dir(&self) -> PathBuf;
    /// The present output limits.
    fn output_limits(&self) -> [Limits; 3];
}

/// Parses the words `args` as a value of `row`.
pub(crate) fn parse(row: &Row, args: &[&[u8]], present: &dyn Present) -> Result<Value, String> {
    use OptionKind::*;
    let one = || match args {
        [one] => Ok(*one),
        _ => Err(COUNT_ERROR.to_owned()),
    };
    let number = match row.kind {
        Bool => yes_or_no(one()?)?,
        Off(why) => match yes_or_no(one()?)? {
            0 => 0,
            _ => return Err(why.to_owned()),
        },
        Int(min, max) => between(integer(one()?)?, min, max)?,
        ZeroOr(min, max) => match integer(one()?)? {
            0 => 0,
            n if n < min || n > max => {
                return Err(format!("argument must be 0 or between {min} and {max} inclusive"));
            }
            n => n,
        },
        Hz => between(integer(one()?)?, 0, i32::MAX.into())?.clamp(1, 500),
        Octal(max) => octal(one()?, max)?,
        Memory(min, max) => {
            let bytes = memory(one()?).ok_or("argument must be a memory value")?;
            if bytes < min || bytes > max {
                return Err(format!("argument must be between {min} and {max} inclusive"));
            }
            bytes as i64
        }
        MemoryOrPercent => memory_or_percent(one()?)?,
        Choice(names) => match args {
            [one] => named(names, one).ok_or_else(|| not_among(names))?,
            _ => return Err(not_among(names)),
        },
        Set(names) => set_of(names, args)?,
        Events => events::parse(one()?)
            .ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")?
            .into(),
        Text(check) | Optional(check) => {
            let text = one()?;
            check(text)?;
            return Ok(Value::Text(text.to_vec()));
        }
        OutputLimits => return limits::parse(args, present.output_limits()).map(Value::Limits),
        Dir => return directory(one()?, present).map(Value::Text),
        Save => return save(args).map(Value::Text),
        OomValues => return oom_values(args).map(Value::Text),
        Bind => return addresses(args).map(Value::Text),
        ReplicaOf => return primary(args).map(Value::Text),
        Percentiles => return percentiles(args).map(Value::Text),
    };
    Ok(Value::Number(number))
}

/// The text CONFIG GET shows for a value.
pub(crate) fn show(row: &Row, value: &Value) -> Vec<u8> {
    let number = match value {
        Value::Text(text) => return text.clone(),
        Value::Limits(limits) => return limits::show(limits).into_bytes(),
        Value::Number(number) => *number,
    };
    let text = match row.kind {
        OptionKind::Bool | OptionKind::Off(_) => if number != 0 { "yes" } else { "no" }.to_owned(),
        OptionKind::Octal(_) => format!("{number:o}"),
        OptionKind::MemoryOrPercent if number < 0 => format!("{}%", number.unsigned_abs()),
        OptionKind::Memory(..) | OptionKind::MemoryOrPercent => (number as u64).to_string(),
        OptionKind::Choice(names) => name_of(names, number).unwrap_or("unknown").to_owned(),
        OptionKind::Set(names) => names_of_set(names, number),
        OptionKind::Events => events::show(number as u32),
        _ => number.to_string(),
    };
    text.into_bytes()
}

fn yes_or_no(text: &[u8]) -> Result<i64, String> {
    if text.eq_ignore_ascii_case(b"yes") {
        Ok(1)
    } else if text.eq_ignore_ascii_case(b"no") {
        Ok(0)
    } else {
        Err("argument must be 'yes' or 'no'".to_owned())
    }
}

/// An integer in its one canonical form: no plus, no blanks, no leading zeros.
fn integer(text: &[u8]) -> Result<i64, String> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = text == b"0" || matches!(digits.first(), Some(b'1'..=b'9'));
    let parsed = std::str::from_utf8(text).ok().filter(|_| canonical).and_then(|t| t.parse().ok());
    parsed.ok_or_else(|| "argument couldn't be parsed into an integer".to_owned())
}

fn between(value: i64, min: i64, max: i64) -> Result<i64, String> {
    if value < min || value > max {
        return Err(format!("argument must be between {min} and {max} inclusive"));
    }
    Ok(value)
}

fn octal(text: &[u8], max: i64) -> Result<i64, String> {
    let value = std::str::from_utf8(text).ok().and_then(|t| i64::from_str_radix(t, 8).ok());
    let value = value.ok_or("argument couldn't be parsed as an octal number")?;
    if !(0..=max).contains(&value) {
        return Err(format!("argument must be between 0 and {max:o} inclusive"));
    }
    Ok(value)
}

fn memory_or_percent(text: &[u8]) -> Result<i64, String> {
    if let Some(bytes) = memory(text) {
        return i64::try_from(bytes)
            .map_err(|_| format!("argument must be between -100 and {} inclusive", i64::MAX));
    }
    let percent = text.strip_suffix(b"%").and_then(|digits| integer(digits).ok());
    match percent {
        Some(percent @ 0..=100) => Ok(-percent),
        Some(101..) => Err("percentage argument must be less or equal to 100".to_owned()),
        _ => Err("argument must be a memory or percent value".to_owned()),
    }
}

fn named(names: Names, text: &[u8]) -> Option<i64> {
    let mut entries = names.iter();
    entries.find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| *value)
}

fn not_among(names: Names) -> String {
    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    format!("argument(s) must be one of the following: {}", names.join(", "))
}

pub(crate) fn name_of(names: Names, value: i64) -> Option<&'static str> {
    names.iter().find(|(_, v)| *v == value).map(|(name, _)| *name)
}

fn set_of(names: Names, args: &[&[u8]]) -> Result<i64, String> {
    let mut bits = 0;
    if args.is_empty() {
        return Err(not_among(names));
    }
    for arg in args {
        bits |= named(names, arg).ok_or_else(|| not_among(names))?;
    }
    let both = SHUTDOWN_SAVE | SHUTDOWN_NOSAVE;
    if bits & both == both {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_owned());
    }
    Ok(bits)
}

fn names_of_set(names: Names, bits: i64) -> String {
    if let Some(name) = name_of(names, bits) {
        return name.to_owned();
    }
    let set: Vec<_> =
        names.iter().filter(|(_, v)| *v != 0 && bits & v == *v).map(|(n, _)| *n).collect();
    set.join(" ")
}

fn directory(text: &[u8], present: &dyn Present) -> Result<Vec<u8>, String> {
    let path = crate::path_of(text);
    let path = present.dir().join(path).canonicalize().map_err(|error| crate::os_text(&error))?;
    if !path.is_dir() {
        return Err("Not a directory".to_owned());
    }
    Ok(path.as_os_str().as_encoded_bytes().to_vec())
}

fn plain_integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn save(args: &[&[u8]]) -> Result<Vec<u8>, String> {
    let args = if args == [b""] { &[] } else { args };
    let valid = |(place, arg): (usize, &&[u8])| {
        let value = plain_integer(arg)?;
        // Seconds stand at even positions and are at least 1; changes are at least 0.
        (value >= if place % 2 == 0 { 1 } else { 0 }).then(|| value.to_string())
    };
    let numbers: Option<Vec<String>> = args.iter().enumerate().map(valid).collect();
    match numbers {
        Some(numbers) if numbers.len() % 2 == 0 => Ok(numbers.join(" ").into_bytes()),
        _ => Err("Invalid save parameters".to_owned()),
    }
}

fn oom_values(args: &[&[u8]]) -> Result<Vec<u8>, String> {
    if args.len() != 3 {
        return Err(COUNT_ERROR.to_owned());
    }
    let number = |arg: &&[u8]| plain_integer(arg).filter(|v| (-2000..=2000).contains(v));
    let numbers: Option<Vec<i64>> = args.iter().map(number).collect();
    let numbers =
        numbers.ok_or("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")?;
    let texts: Vec<_> = numbers.iter().map(i64::to_string).collect();
    Ok(texts.join(" ").into_bytes())
}

fn addresses(args: &[&[u8]]) -> Result<Vec<u8>, String> {
    if args.len() > 16 {
        return Err("Too many bind addresses specified.".to_owned());
    }
    let args: Vec<_> = args.iter().copied().filter(|arg| !arg.is_empty()).collect();
    Ok(args.join(&b' '))
}

fn primary(args: &[&[u8]]) -> Result<Vec<u8>, String> {
    // A single empty argument is how the table and a rewritten file say "none".
    if args.is_empty() || args == [b""] {
        return Ok(Vec::new());
    }
    let [host, port] = args else {
        return Err(COUNT_ERROR.to_owned());
    };
    if host.eq_ignore_ascii_case(b"no") && port.eq_ignore_ascii_case(b"one") {
        return Ok(Vec::new());
    }
    let port = plain_integer(port).filter(|port| (0..=65535).contains(port));
    let port = port.ok_or("Invalid master port")?;
    Ok([host, port.to_string().as_bytes()].join(&b' '))
}

fn percentiles(args: &[&[u8]]) -> Result<Vec<u8>, String> {
    let args = if args == [b""] { &[] } else { args };
    let mut texts = Vec::with_capacity(args.len());
    for arg in args {
        let value = std::str::from_utf8(arg).ok().and_then(|text| text.parse::<f64>().ok());
        let value = value
            .filter(|value| !value.is_nan())
            .ok_or("Invalid latency-tracking-info-percentiles parameters")?;
        if !(0.0..=100.0).contains(&value) {
            return Err(
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
                    .to_owned(),
            );
        }
        let text = format!("{value:.6}");
        texts.push(text.trim_end_matches('0').trim_end_matches('.').to_owned());
    }
    Ok(texts.join(" ").into_bytes())
}

/// The text of an operating system error without the number that std adds.
pub fn os_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Bytes as a path.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
