//! A configuration checked against the rows: every option has a value of its type, from the file, the environment or
//! its default.

use super::Note;
use super::duration::parse_duration;
use super::row::{Kind, Row, Status};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::Duration;

/// A group of options, all of them there.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// Where it lies, for errors.
    pub(super) path: String,
    values: HashMap<&'static str, Node>,
    /// Options that were asked for.
    #[cfg(test)]
    read: std::cell::RefCell<std::collections::BTreeSet<&'static str>>,
}

#[derive(Clone, Debug)]
enum Node {
    Bool(bool),
    Int(i64),
    Text(String),
    Texts(Vec<String>),
    /// Nanoseconds.
    Duration(i64),
    Map(Vec<(String, String)>),
    Group(Tree),
    List(Vec<Tree>),
}

/// What is found on the way.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The configuration cannot be used because of these.
    pub(super) problems: Vec<String>,
    /// Options that do nothing.
    pub(super) notes: Vec<Note>,
    /// Variables that texts may name.
    pub(super) variables: HashMap<String, String>,
    /// Options that the environment has set, and the variable of each.
    pub(super) from_environment: HashMap<String, String>,
}

/// The rows of a group, with those of groups without a name among them.
pub(super) fn flat(rows: &'static [Row]) -> Vec<&'static Row> {
    let mut all = Vec::new();
    for row in rows {
        match row.kind {
            Kind::Group(inner) if row.name.is_empty() => all.extend(flat(inner)),
            _ => all.push(row),
        }
    }
    all
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Checks a group. `is_quiet`: a note about the group was written, or is not wanted.
pub(super) fn check(
    rows: &'static [Row],
    object: &Map<String, Value>,
    path: &str,
    is_quiet: bool,
    findings: &mut Findings,
) -> Tree {
    let rows = flat(rows);
    for name in object.keys() {
        let lower = name.to_ascii_lowercase();
        if !rows.iter().any(|row| row.name == lower) {
            findings.problems.push(unknown(&join(path, name), &lower, &rows));
        }
    }
    let mut values = HashMap::new();
    for row in rows {
        let value = object
            .iter()
            .rfind(|(name, value)| name.eq_ignore_ascii_case(row.name) && !value.is_null())
            .map(|(_, value)| value);
        let path = join(path, row.name);
        let says_all = judge(row, value, &path, is_quiet, findings);
        let quiet = is_quiet || !says_all;
        if let Some(node) = node(row, value, &path, quiet, findings) {
            values.insert(row.name, node);
        }
    }
    Tree {
        path: path.to_owned(),
        values,
        #[cfg(test)]
        read: std::cell::RefCell::default(),
    }
}

/// Says what must be said of an option that does nothing. Returns whether there may be something to say of what is
/// within.
fn judge(
    row: &Row,
    value: Option<&Value>,
    path: &str,
    is_quiet: bool,
    findings: &mut Findings,
) -> bool {
    let is_set = value.is_some_and(|value| differs(row, value));
    match row.status {
        Status::AsGroup | Status::Counts => return true,
        Status::Refused(why) if is_set => {
            findings.problems.push(format!("`{path}` is not supported: {why}"))
        }
        Status::Listed(why) if is_set && !is_quiet => {
            findings.notes.push(Note { path: path.to_owned(), why: why.into() });
        }
        Status::Listed(_) | Status::Refused(_) => {}
    }
    // Of a group that does nothing only what is refused within it is worth a word.
    !matches!(row.status, Status::Listed(_) | Status::Refused(_))
}

/// Whether a value is other than the default.
fn differs(row: &Row, value: &Value) -> bool {
    if row.status == Status::Counts {
        return false;
    }
    match (row.kind, value) {
        (Kind::Group(rows), Value::Object(object)) => {
            let rows = flat(rows);
            object.iter().any(|(name, value)| {
                let row = rows.iter().find(|row| name.eq_ignore_ascii_case(row.name));
                row.is_none_or(|row| differs(row, value))
            })
        }
        (_, Value::Null | Value::Bool(false)) => false,
        (_, Value::Array(list)) => !list.is_empty(),
        (_, Value::Object(object)) => !object.is_empty(),
        (_, Value::Number(number)) => {
            number.as_f64() != Some(0.0) && number.to_string() != row.default
        }
        (Kind::Duration, Value::String(text)) => parse_duration(text)
            .is_ok_and(|duration| duration != 0 && parse_duration(row.default) != Ok(duration)),
        (Kind::Bool, Value::String(text)) => go_bool(text) == Some(true),
        (_, Value::String(text)) => !text.is_empty() && text != row.default,
        (_, Value::Bool(true)) => true,
    }
}

/// An error of an unknown name, with the name that it is nearest to.
fn unknown(path: &str, name: &str, rows: &[&Row]) -> String {
    match nearest(name, rows.iter().map(|row| row.name)) {
        Some(near) => format!("`{path}` is no option; did you mean `{near}`?"),
        None => format!("`{path}` is no option"),
    }
}

/// The nearest of some names, if it is near: a third of the letters or fewer are other ones.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, near) = names.map(|known| (distance(name, known), known)).min()?;
    (distance * 3 <= name.len().max(near.len())).then_some(near)
}

/// How many letters must be changed, added or removed (Levenshtein's distance).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, left) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

/// The value of one option.
fn node(
    row: &Row,
    value: Option<&Value>,
    path: &str,
    is_quiet: bool,
    findings: &mut Findings,
) -> Option<Node> {
    let mut wrong = |expected: &str| {
        let found = value.map_or("", shape);
        findings.problems.push(format!("`{path}` must be {expected}, and is {found}"));
    };
    Some(match row.kind {
        Kind::Any => return None,
        Kind::Group(rows) => match value {
            None => Node::Group(check(rows, &Map::new(), path, is_quiet, findings)),
            Some(Value::Object(object)) => {
                Node::Group(check(rows, object, path, is_quiet, findings))
            }
            Some(_) => {
                wrong("an object");
                Node::Group(check(rows, &Map::new(), path, is_quiet, findings))
            }
        },
        Kind::List(rows) => Node::List(groups(rows, value, path, is_quiet, findings)),
        Kind::Bool => Node::Bool(
            value.is_some_and(|value| {
                go_value_bool(value).unwrap_or_else(|| {
                    wrong("true or false");
                    false
                })
            }) || (value.is_none() && row.default == "true"),
        ),
        Kind::Int => {
            let read = value.map_or(Some(0), int).unwrap_or_else(|| {
                wrong("an integer");
                0
            });
            Node::Int(if read == 0 { row.default.parse().unwrap_or_default() } else { read })
        }
        Kind::Duration => {
            let read = value.map_or(Ok(0), duration);
            let read = read.unwrap_or_else(|why| {
                findings.problems.push(format!("`{path}` {why}"));
                0
            });
            Node::Duration(if read == 0 {
                parse_duration(row.default).unwrap_or_default()
            } else {
                read
            })
        }
        Kind::Text => {
            let read = value.map_or(Some(String::new()), text).unwrap_or_else(|| {
                wrong("a string");
                String::new()
            });
            Node::Text(if read.is_empty() { row.default.to_owned() } else { read })
        }
        Kind::Texts => Node::Texts(texts(value).unwrap_or_else(|| {
            wrong("a list of strings");
            Vec::new()
        })),
        Kind::Map => Node::Map(map(value, path, findings)),
    })
}

/// A list of strings, or one alone; `None` if it is neither.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(text).collect(),
        Some(one) => text(one).map(|one| vec![one]),
    }
}

/// The groups of a list.
fn groups(
    rows: &'static [Row],
    value: Option<&Value>,
    path: &str,
    is_quiet: bool,
    findings: &mut Findings,
) -> Vec<Tree> {
    let list = match value {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            findings
                .problems
                .push(format!("`{path}` must be a list of objects, and is {}", shape(other)));
            return Vec::new();
        }
    };
    let mut trees = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match value {
            Value::Object(object) => trees.push(check(rows, object, &path, is_quiet, findings)),
            other => findings
                .problems
                .push(format!("`{path}` must be an object, and is {}", shape(other))),
        }
    }
    trees
}

/// Texts by name: an object, or a list of objects with `key` and `value`.
fn map(value: Option<&Value>, path: &str, findings: &mut Findings) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut add =
        |key: Option<String>, text: Option<String>, findings: &mut Findings| match (key, text) {
            (Some(key), Some(text)) if !pairs.iter().any(|(known, _)| *known == key) => {
                pairs.push((key, text))
            }
            (Some(key), Some(_)) => findings.problems.push(format!("`{path}` has {key:?} twice")),
            _ => findings.problems.push(format!(
                "`{path}` must have strings, as in [{{\"key\": \"a\", \"value\": \"b\"}}]"
            )),
        };
    let string = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        None => {}
        Some(Value::Object(object)) => {
            object
                .iter()
                .for_each(|(name, value)| add(Some(name.clone()), string(value), findings));
        }
        Some(Value::Array(list)) => {
            for item in list {
                add(item.get("key").and_then(string), item.get("value").and_then(string), findings);
            }
        }
        Some(_) => add(None, None, findings),
    }
    for (_, text) in &mut pairs {
        match expand(text, &findings.variables) {
            Ok(expanded) => *text = expanded,
            Err(name) => findings
                .problems
                .push(format!("`{path}` needs the variable {name}, which is not set")),
        }
    }
    pairs
}

/// Replaces `${CENTRIFUGO_VAR_…}`.
///
/// # Errors
/// The name of a variable that is not set.
fn expand(text: &str, variables: &HashMap<String, String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${CENTRIFUGO_VAR_") {
        let Some((name, after)) = after.split_once('}') else { break };
        let name = format!("CENTRIFUGO_VAR_{name}");
        expanded.push_str(before);
        expanded.push_str(variables.get(&name).ok_or(name)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// What kind of value it is. Never the value itself: it may be a secret.
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A truth value as Go spells it.
pub(super) fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn go_value_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => go_bool(text),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        _ => None,
    }
}

fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) if text.is_empty() => Some(0),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Nanoseconds of a duration.
fn duration(value: &Value) -> Result<i64, String> {
    match value {
        Value::String(text) => parse_duration(text),
        // Centrifugo takes a number as nanoseconds, which nobody means.
        Value::Number(number) if number.as_i64() == Some(0) => Ok(0),
        _ => Err("must be a duration as \"25s\" or \"1m30s\"".into()),
    }
}

impl Tree {
    fn node(&self, name: &str) -> &Node {
        let found = self.values.get_key_value(name);
        let (name, node) = found.unwrap_or_else(|| panic!("`{}` has no row `{name}`", self.path));
        self.note_read(name);
        node
    }

    #[cfg(test)]
    fn note_read(&self, name: &'static str) {
        self.read.borrow_mut().insert(name);
    }

    #[cfg(not(test))]
    fn note_read(&self, _: &'static str) {}

    /// Paths of options that nothing has asked for, although their rows say that they do something.
    #[cfg(test)]
    pub(super) fn unread(&self, rows: &'static [Row], unread: &mut Vec<String>) {
        for row in flat(rows).into_iter().filter(|row| row.status == Status::AsGroup) {
            match (row.kind, self.values.get(row.name)) {
                (Kind::Group(inner), Some(Node::Group(tree))) => tree.unread(inner, unread),
                (Kind::List(inner), Some(Node::List(trees))) => {
                    assert!(!trees.is_empty(), "`{}` has an item", self.at(row.name));
                    // One item may have what another has not.
                    let of = |tree: &Tree| {
                        let mut all = Vec::new();
                        tree.unread(inner, &mut all);
                        let relative = all.iter().map(|path| path[tree.path.len()..].to_owned());
                        relative.collect::<Vec<_>>()
                    };
                    let mut all = trees.iter().map(of);
                    let first = all.next().unwrap_or_default();
                    let rest: Vec<_> = all.collect();
                    let left =
                        first.into_iter().filter(|path| rest.iter().all(|r| r.contains(path)));
                    unread.extend(left.map(|path| format!("{}[]{path}", self.at(row.name))));
                }
                _ if self.read.borrow().contains(row.name) => {}
                _ => unread.push(self.at(row.name)),
            }
        }
    }

    pub(super) fn bool(&self, name: &str) -> bool {
        matches!(self.node(name), Node::Bool(true))
    }

    /// An integer; 0 if it is below.
    pub(super) fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or_default()
    }

    pub(super) fn int(&self, name: &str) -> i64 {
        match self.node(name) {
            Node::Int(value) => *value,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn text(&self, name: &str) -> String {
        match self.node(name) {
            Node::Text(value) => value.clone(),
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        match self.node(name) {
            Node::Texts(values) => values.clone(),
            other => panic!("`{name}` is {other:?}"),
        }
    }

    /// A duration; `None` if it is zero or below.
    pub(super) fn duration(&self, name: &str) -> Option<Duration> {
        match self.node(name) {
            Node::Duration(ns) => {
                u64::try_from(*ns).ok().filter(|ns| *ns > 0).map(Duration::from_nanos)
            }
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn map(&self, name: &str) -> Vec<(String, String)> {
        match self.node(name) {
            Node::Map(values) => values.clone(),
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn group(&self, name: &str) -> &Self {
        match self.node(name) {
            Node::Group(tree) => tree,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn list(&self, name: &str) -> &[Self] {
        match self.node(name) {
            Node::List(trees) => trees,
            other => panic!("`{name}` is {other:?}"),
        }
    }

    pub(super) fn at(&self, name: &str) -> String {
        join(&self.path, name)
    }
}
