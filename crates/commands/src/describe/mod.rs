//! The replies of COMMAND, as data, and the reference page.
//!
//! Pure functions over rows; another crate turns a [`Value`] into RESP2 or
//! RESP3. Shapes and element order are those of Redis 7 (`addReplyCommandInfo`,
//! `addReplyCommandDocs`); the order of commands is the table's, where Redis
//! has that of a hash table.
//!
//! `rows` are always the top-level rows; subcommands are found through them.

mod page;

use std::borrow::Cow;

pub use page::reference_page;

use crate::keys::{Argv, KeyPos, keys};
use crate::row::{Acl, BeginSearch, FindKeys, Flags, KeyFlags, KeySpec, Row};
use crate::syntax::{self, Arg};

/// A reply, before it is written as RESP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A simple string.
    Simple(&'static str),
    /// A bulk string; the table's own texts are not copied.
    Bulk(Cow<'static, [u8]>),
    /// An integer.
    Int(i64),
    /// An array.
    Array(Vec<Value>),
    /// A set; an array in RESP2.
    Set(Vec<Value>),
    /// A map; a flat array in RESP2.
    Map(Vec<(Value, Value)>),
    /// A null bulk string in RESP2 (`$-1`), a null in RESP3.
    Nil,
}

impl Value {
    fn text(text: &'static str) -> Self {
        Self::Bulk(Cow::Borrowed(text.as_bytes()))
    }

    fn owned(text: impl Into<Vec<u8>>) -> Self {
        Self::Bulk(Cow::Owned(text.into()))
    }

    fn names(names: impl Iterator<Item = &'static str>) -> Self {
        Self::Set(names.map(Self::Simple).collect())
    }
}

/// The row called `name` (`get`, `config|get`), whatever its case. Linear: for
/// the replies of COMMAND; dispatch uses [`crate::table::Index`].
pub fn find<'r>(rows: impl IntoIterator<Item = &'r Row>, name: &[u8]) -> Option<&'r Row> {
    let mut words = name.splitn(2, |&byte| byte == b'|');
    let parent = words.next()?;
    let row = rows.into_iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(parent))?;
    match words.next() {
        Some(sub) => find_sub(row, sub),
        None => Some(row),
    }
}

fn find_sub<'r>(row: &'r Row, sub: &[u8]) -> Option<&'r Row> {
    let is = |row: &&Row| row.sub_name().as_bytes().eq_ignore_ascii_case(sub);
    row.subcommands.iter().copied().find(is)
}

/// COMMAND, and COMMAND INFO without names.
pub fn command_all<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Value {
    Value::Array(rows.into_iter().map(info).collect())
}

/// COMMAND COUNT.
pub fn command_count<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Value {
    Value::Int(i64::try_from(rows.into_iter().count()).unwrap_or(i64::MAX))
}

/// COMMAND INFO of the named commands; an unknown one is [`Value::Nil`].
pub fn command_info<'r, R>(rows: R, names: &[&[u8]]) -> Value
where
    R: IntoIterator<Item = &'r Row> + Clone,
{
    let one = |name: &&[u8]| find(rows.clone(), name).map_or(Value::Nil, info);
    Value::Array(names.iter().map(one).collect())
}

/// The ten elements of COMMAND INFO.
#[must_use]
pub fn info(row: &Row) -> Value {
    let (first, last, step) = row.first_last_step();
    let categories = row.acl_categories().names();
    Value::Array(vec![
        Value::text(row.name),
        Value::Int(i64::from(row.arity)),
        Value::names(row.all_flags().names()),
        Value::Int(first),
        Value::Int(last),
        Value::Int(step),
        Value::Set(categories.map(|name| Value::Simple(at_name(name))).collect()),
        Value::Set(row.tips.iter().map(|tip| Value::text(tip)).collect()),
        Value::Set(row.keys.iter().map(key_spec).collect()),
        if row.subcommands.is_empty() {
            Value::Set(Vec::new())
        } else {
            Value::Array(row.subcommands.iter().map(|row| info(row)).collect())
        },
    ])
}

/// `@read` of `read`, without allocating: a reply of COMMAND has a thousand.
fn at_name(name: &'static str) -> &'static str {
    const AT: [&str; 21] = [
        "@keyspace",
        "@read",
        "@write",
        "@set",
        "@sortedset",
        "@list",
        "@hash",
        "@string",
        "@bitmap",
        "@hyperloglog",
        "@geo",
        "@stream",
        "@pubsub",
        "@admin",
        "@fast",
        "@slow",
        "@blocking",
        "@dangerous",
        "@connection",
        "@transaction",
        "@scripting",
    ];
    AT.into_iter().find(|at| &at[1..] == name).unwrap_or(name)
}

fn key_spec(spec: &KeySpec) -> Value {
    let typed = |kind, spec: Vec<(&'static str, Value)>| {
        map([("type", Value::text(kind)), ("spec", map(spec))])
    };
    let int = |n: i64| Value::Int(n);
    let begin = match spec.begin {
        BeginSearch::Index(index) => typed("index", vec![("index", int(index.into()))]),
        BeginSearch::Keyword { word, start } => {
            typed("keyword", vec![("keyword", Value::text(word)), ("startfrom", int(start.into()))])
        }
        BeginSearch::Unknown => typed("unknown", Vec::new()),
    };
    let find = match spec.find {
        FindKeys::Range { last, step, limit } => typed(
            "range",
            vec![
                ("lastkey", int(last.into())),
                ("keystep", int(step.into())),
                ("limit", int(limit.into())),
            ],
        ),
        FindKeys::KeyNum { number, first, step } => typed(
            "keynum",
            vec![
                ("keynumidx", int(number.into())),
                ("firstkey", int(first.into())),
                ("keystep", int(step.into())),
            ],
        ),
        FindKeys::Unknown => typed("unknown", Vec::new()),
    };
    let notes = (!spec.notes.is_empty()).then(|| ("notes", Value::text(spec.notes)));
    let rest =
        [("flags", Value::names(spec.flags.names())), ("begin_search", begin), ("find_keys", find)];
    map(notes.into_iter().chain(rest))
}

fn map(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Map(pairs.into_iter().map(|(key, value)| (Value::text(key), value)).collect())
}

/// COMMAND DOCS without names (`None`) or of the named commands; unknown ones
/// are left out.
pub fn command_docs<'r, R>(rows: R, names: Option<&[&[u8]]>) -> Value
where
    R: IntoIterator<Item = &'r Row> + Clone,
{
    let entry = |row: &'r Row| (Value::text(row.name), docs(row));
    Value::Map(match names {
        None => rows.into_iter().map(entry).collect(),
        Some(names) => {
            names.iter().filter_map(|name| find(rows.clone(), name)).map(entry).collect()
        }
    })
}

/// The documentation of one command.
#[must_use]
pub fn docs(row: &Row) -> Value {
    let mut pairs = Vec::with_capacity(8);
    let mut text = |key, value: &'static str| {
        if !value.is_empty() {
            pairs.push((key, Value::text(value)));
        }
    };
    text("summary", row.summary);
    text("since", row.since);
    text("group", row.group.name());
    text("complexity", row.complexity);
    if row.doc_flags != crate::row::DocFlags::NONE {
        pairs.push(("doc_flags", Value::names(row.doc_flags.names())));
    }
    for (key, value) in
        [("deprecated_since", row.deprecated_since), ("replaced_by", row.replaced_by)]
    {
        if !value.is_empty() {
            pairs.push((key, Value::text(value)));
        }
    }
    if !row.history.is_empty() {
        let entry = |(since, change): &(&'static str, &'static str)| {
            Value::Array(vec![Value::text(since), Value::text(change)])
        };
        pairs.push(("history", Value::Set(row.history.iter().map(entry).collect())));
    }
    // A malformed line fails the laws, so it never gets here.
    let arguments = syntax::arguments(row.name, row.syntax, row.keys.len()).unwrap_or_default();
    if row.subcommands.is_empty() && !arguments.is_empty() {
        pairs.push(("arguments", Value::Array(arguments.into_iter().map(argument).collect())));
    }
    if !row.subcommands.is_empty() {
        let entry = |row: &&'static Row| (Value::text(row.name), docs(row));
        pairs.push(("subcommands", Value::Map(row.subcommands.iter().map(entry).collect())));
    }
    map(pairs)
}

fn argument(arg: Arg) -> Value {
    let mut pairs =
        vec![("name", Value::owned(arg.name.clone())), ("type", Value::text(arg.kind.name()))];
    if !arg.kind.is_group() {
        pairs.push(("display_text", Value::owned(arg.name)));
    }
    if let Some(spec) = arg.key_spec {
        pairs.push(("key_spec_index", Value::Int(i64::try_from(spec).unwrap_or(-1))));
    }
    if let Some(token) = arg.token {
        pairs.push(("token", Value::owned(token)));
    }
    let flags = [
        (arg.optional, "optional"),
        (arg.multiple, "multiple"),
        (arg.multiple_token, "multiple_token"),
    ];
    if flags.iter().any(|(set, _)| *set) {
        let set = flags.into_iter().filter(|(set, _)| *set);
        pairs.push(("flags", Value::names(set.map(|(_, name)| name))));
    }
    if arg.kind.is_group() {
        let members = arg.arguments.into_iter().map(argument).collect();
        pairs.push(("arguments", Value::Array(members)));
    }
    map(pairs)
}

/// COMMAND LIST; `args` are the arguments behind LIST. `glob(pattern, text)` is the
/// matcher of KEYS, ignoring case.
///
/// # Errors
/// Redis's syntax error for anything but nothing or `FILTERBY` with a known
/// kind and one argument.
pub fn command_list<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    args: &[&[u8]],
    glob: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<Value, &'static str> {
    const SYNTAX: &str = "ERR syntax error";
    let is = |arg: &[u8], word: &str| arg.eq_ignore_ascii_case(word.as_bytes());
    let pass: Box<dyn Fn(&Row) -> bool> = match *args {
        [] => Box::new(|_| true),
        [filter, kind, value] if is(filter, "filterby") => {
            if is(kind, "module") {
                Box::new(|_| false)
            } else if is(kind, "aclcat") {
                let named = Acl::NAMED.iter().find(|(_, name)| is(value, name));
                Box::new(move |row| named.is_some_and(|(bit, _)| row.acl_categories().has(*bit)))
            } else if is(kind, "pattern") {
                Box::new(move |row| glob(value, row.name.as_bytes()))
            } else {
                return Err(SYNTAX);
            }
        }
        _ => return Err(SYNTAX),
    };
    let mut names = Vec::new();
    for row in rows {
        let family = std::iter::once(row).chain(row.subcommands.iter().copied());
        names.extend(family.filter(|row| pass(row)).map(|row| Value::text(row.name)));
    }
    Ok(Value::Array(names))
}

/// COMMAND GETKEYS; `argv` is the whole command that follows it.
///
/// # Errors
/// Redis's texts for an unknown command, one without keys, a wrong number of
/// arguments, and arguments that do not say where the keys are.
pub fn command_getkeys<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    argv: &[&[u8]],
) -> Result<Value, &'static str> {
    let found = found_keys(rows, argv)?;
    Ok(Value::Array(found.into_iter().map(|key| Value::owned(argv[key.index])).collect()))
}

/// COMMAND GETKEYSANDFLAGS.
///
/// # Errors
/// As [`command_getkeys`].
pub fn command_getkeysandflags<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    argv: &[&[u8]],
) -> Result<Value, &'static str> {
    let one = |key: KeyPos| {
        Value::Array(vec![Value::owned(argv[key.index]), Value::names(key.flags.names())])
    };
    Ok(Value::Array(found_keys(rows, argv)?.into_iter().map(one).collect()))
}

fn found_keys<'r>(
    rows: impl IntoIterator<Item = &'r Row>,
    argv: &[&[u8]],
) -> Result<Vec<KeyPos>, &'static str> {
    let unknown = "ERR Invalid command specified";
    let name = argv.first().ok_or(unknown)?;
    let row = rows.into_iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(name));
    let mut row = row.ok_or(unknown)?;
    if !row.subcommands.is_empty()
        && let Some(sub) = argv.get(1)
    {
        row = find_sub(row, sub).ok_or(unknown)?;
    }
    if !row.has_keys() {
        return Err("ERR The command has no key arguments");
    }
    if !row.arity_fits(Argv::len(argv)) {
        return Err("ERR Invalid number of arguments specified for command");
    }
    let mut found = Vec::new();
    // Redis treats an error and the absence of keys alike; EVAL without keys is valid.
    let _ = keys(row, argv, &mut |key| found.push(key));
    if found.is_empty() && !row.flags.has(Flags::NO_MANDATORY_KEYS) {
        return Err("ERR Invalid arguments specified for command");
    }
    Ok(found)
}

/// A key specification as the reference page shows it: `RW access update: argument 1`.
fn key_spec_text(spec: &KeySpec) -> String {
    let mut text = spec.flags.names().collect::<Vec<_>>().join(" ");
    if spec.flags.has(KeyFlags::NOT_KEY) {
        text += " (routed as a key)";
    }
    let begin = match spec.begin {
        BeginSearch::Index(index) => index.to_string(),
        BeginSearch::Keyword { word, .. } => format!("after {word}"),
        BeginSearch::Unknown => return text + ": depends on the arguments",
    };
    let find = match spec.find {
        FindKeys::Range { last: 0, .. } => String::new(),
        FindKeys::Range { last, step, limit } => {
            let last = match (last, limit) {
                (-1, 0 | 1) => " to the last".to_owned(),
                (-1, limit) => format!(", the first 1/{limit} of the rest"),
                (last, _) if last < 0 => format!(" to the last but {}", last.unsigned_abs() - 1),
                (last, _) => format!(" and {last} more"),
            };
            if step > 1 { format!("{last}, every {step}") } else { last }
        }
        FindKeys::KeyNum { .. } => " (their number), and those after it".to_owned(),
        FindKeys::Unknown => " on, depending on the arguments".to_owned(),
    };
    format!("{text}: argument {begin}{find}")
}

#[cfg(test)]
mod tests;
