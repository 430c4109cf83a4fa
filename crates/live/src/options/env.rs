//! Variables of the environment: each option has one, and it counts more than the file.
//!
//! `client.ping_interval` is `CENTRIFUGO_CLIENT_PING_INTERVAL`. Items of lists with names have their name in the
//! variable's: `CENTRIFUGO_CHANNEL_NAMESPACES_CHAT_HISTORY_SIZE`, with `_` for `-` and `.`. Lists of texts are parted
//! by spaces; lists of objects, and texts by name, are JSON. A variable that is empty is not set.

use super::Note;
use super::row::{Kind, Row};
use super::tree::{Findings, flat, go_bool, join};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What all names begin with.
pub(super) const PREFIX: &str = "CENTRIFUGO";

/// What is put over the file.
struct Overlay<'a> {
    /// Variables that belong to no option so far.
    left: HashMap<String, String>,
    findings: &'a mut Findings,
}

/// Puts the variables of the environment over what the file says.
pub(super) fn overlay(
    rows: &'static [Row],
    root: &mut Map<String, Value>,
    variables: &[(String, String)],
    findings: &mut Findings,
) {
    let ours = |name: &str| name.starts_with("CENTRIFUGO_");
    let left = variables.iter().filter(|(name, _)| ours(name)).cloned().collect();
    let mut overlay = Overlay { left, findings };
    overlay.group(rows, root, (PREFIX, ""));
    let Overlay { left, findings } = overlay;
    let mut unknown: Vec<String> = left
        .into_iter()
        .filter(|(name, value)| !value.is_empty() && !is_foreign(name))
        .map(|(name, _)| name)
        .collect();
    unknown.sort();
    findings.notes.extend(unknown.into_iter().map(|path| Note {
        path,
        why: "the variable of the environment belongs to no option".into(),
    }));
}

/// Adds the variable's name to the problems of options whose values come from the environment: the file does not have
/// what is wrong.
pub(super) fn name_variables(findings: &mut Findings) {
    for problem in &mut findings.problems {
        let path = problem.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        if let Some((path, _)) = path
            && let Some(name) = findings.from_environment.get(path)
        {
            problem.push_str(&format!(" (from the environment: {name})"));
        }
    }
}

/// Whether a variable is there for others: for `${…}` in texts, or set by Kubernetes for its services.
fn is_foreign(name: &str) -> bool {
    let is_of_service = name.contains("_SERVICE_") || name.split_once("_PORT").is_some();
    name.starts_with("CENTRIFUGO_VAR_") || is_of_service
}

impl Overlay<'_> {
    /// Options of a group: what their variables and their paths begin with is `prefix` and `path`.
    fn group(
        &mut self,
        rows: &'static [Row],
        object: &mut Map<String, Value>,
        (prefix, path): (&str, &str),
    ) {
        for row in flat(rows) {
            let name = format!("{prefix}_{}", row.name.to_ascii_uppercase());
            let path = join(path, row.name);
            let own = match row.kind {
                Kind::Group(_) => None,
                Kind::Any => self.within(&name),
                _ => self.left.remove_entry(&name).filter(|(_, value)| !value.is_empty()),
            };
            // The file may spell the option in other cases; there must not be two of them.
            let key = object.keys().find(|key| key.eq_ignore_ascii_case(row.name)).cloned();
            let key = key.unwrap_or_else(|| row.name.to_owned());
            match row.kind {
                Kind::Group(inner) => {
                    let mut map = match object.remove(&key) {
                        None | Some(Value::Null) => Map::new(),
                        Some(Value::Object(map)) => map,
                        Some(other) => {
                            object.insert(key, other);
                            continue;
                        }
                    };
                    self.group(inner, &mut map, (&name, &path));
                    if !map.is_empty() {
                        object.insert(key, Value::Object(map));
                    }
                }
                Kind::List(inner) => {
                    self.set(row, object, (&key, &path), own);
                    if let Some(Value::Array(items)) = object.get_mut(&key) {
                        for (index, item) in items.iter_mut().enumerate() {
                            self.item(inner, item, (&name, &format!("{path}[{index}]")));
                        }
                    }
                }
                _ => self.set(row, object, (&key, &path), own),
            }
        }
    }

    /// Sets an option to what its variable says.
    fn set(
        &mut self,
        row: &Row,
        object: &mut Map<String, Value>,
        (key, path): (&str, &str),
        own: Option<(String, String)>,
    ) {
        let Some((name, text)) = own else { return };
        let value = match row.kind {
            Kind::List(_) | Kind::Map => json(&name, &text, self.findings),
            Kind::Texts => {
                let words = text.split(' ').map(|word| Value::String(word.to_owned()));
                Some(Value::Array(words.collect()))
            }
            Kind::Group(_) => None,
            _ => Some(Value::String(text)),
        };
        if let Some(value) = value {
            self.findings.from_environment.insert(path.to_owned(), name);
            object.insert(key.to_owned(), value);
        }
    }

    /// The value of an option whose names within are not known, or of one of these: whether it is set is what counts.
    fn within(&mut self, name: &str) -> Option<(String, String)> {
        let is_within = |other: &str| {
            other.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let all: Vec<String> = self.left.keys().filter(|other| is_within(other)).cloned().collect();
        let set = all.iter().filter_map(|name| self.left.remove_entry(name));
        set.filter(|(_, value)| go_bool(value) != Some(false)).min()
    }

    /// An item of a list, if it has a name.
    fn item(&mut self, rows: &'static [Row], item: &mut Value, (prefix, path): (&str, &str)) {
        let Value::Object(object) = item else { return };
        let Some(name) = object.get("name").and_then(Value::as_str) else { return };
        let name = name.replace(['.', '-'], "_").to_ascii_uppercase();
        self.group(rows, object, (&format!("{prefix}_{name}"), path));
    }
}

fn json(name: &str, text: &str, findings: &mut Findings) -> Option<Value> {
    let value = serde_json::from_str(text);
    value
        .map_err(|error| {
            findings.problems.push(format!("the variable {name} is not JSON: {error}"))
        })
        .ok()
}
