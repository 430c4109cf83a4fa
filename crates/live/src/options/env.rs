//! Variables of the environment: each option has one, and it counts more than the file.
//!
//! `client.ping_interval` is `CENTRIFUGO_CLIENT_PING_INTERVAL`. Items of lists with names have their name in the
//! variable's: `CENTRIFUGO_CHANNEL_NAMESPACES_CHAT_HISTORY_SIZE`, with `_` for `-` and `.`. Lists of texts are parted
//! by spaces; lists of objects, and texts by name, are JSON. A variable that is empty is not set.

use super::Note;
use super::row::{Kind, Row};
use super::tree::{Findings, flat};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What all names begin with.
pub(super) const PREFIX: &str = "CENTRIFUGO";

/// Puts the variables of the environment over what the file says.
pub(super) fn overlay(
    rows: &'static [Row],
    root: &mut Map<String, Value>,
    variables: &[(String, String)],
    findings: &mut Findings,
) {
    let ours = |name: &str| name.starts_with("CENTRIFUGO_");
    let mut left: HashMap<String, String> =
        variables.iter().filter(|(name, _)| ours(name)).cloned().collect();
    group(rows, root, PREFIX, &mut left, findings);
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

/// Whether a variable is there for others: for `${…}` in texts, or set by Kubernetes for its services.
fn is_foreign(name: &str) -> bool {
    let is_of_service = name.contains("_SERVICE_") || name.split_once("_PORT").is_some();
    name.starts_with("CENTRIFUGO_VAR_") || is_of_service
}

fn group(
    rows: &'static [Row],
    object: &mut Map<String, Value>,
    prefix: &str,
    left: &mut HashMap<String, String>,
    findings: &mut Findings,
) {
    for row in flat(rows) {
        let name = format!("{prefix}_{}", row.name.to_ascii_uppercase());
        let own = left.remove(&name).filter(|value| !value.is_empty());
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
                group(inner, &mut map, &name, left, findings);
                if !map.is_empty() {
                    object.insert(key, Value::Object(map));
                }
            }
            Kind::List(inner) => {
                if let Some(value) = own.and_then(|text| json(&name, &text, findings)) {
                    object.insert(key.clone(), value);
                }
                if let Some(Value::Array(items)) = object.get_mut(&key) {
                    items
                        .iter_mut()
                        .for_each(|item| self::item(inner, item, &name, left, findings));
                }
            }
            Kind::Map => {
                if let Some(value) = own.and_then(|text| json(&name, &text, findings)) {
                    object.insert(key, value);
                }
            }
            Kind::Texts => {
                if let Some(text) = own {
                    let words =
                        text.split(' ').map(|word| Value::String(word.to_owned())).collect();
                    object.insert(key, Value::Array(words));
                }
            }
            Kind::Bool | Kind::Int | Kind::Text | Kind::Duration => {
                if let Some(text) = own {
                    object.insert(key, Value::String(text));
                }
            }
            Kind::Any => {}
        }
    }
}

/// An item of a list, if it has a name.
fn item(
    rows: &'static [Row],
    item: &mut Value,
    prefix: &str,
    left: &mut HashMap<String, String>,
    findings: &mut Findings,
) {
    let Value::Object(object) = item else { return };
    let Some(name) = object.get("name").and_then(Value::as_str) else { return };
    let name = name.replace(['.', '-'], "_").to_ascii_uppercase();
    group(rows, object, &format!("{prefix}_{name}"), left, findings);
}

fn json(name: &str, text: &str, findings: &mut Findings) -> Option<Value> {
    let value = serde_json::from_str(text);
    value
        .map_err(|error| {
            findings.problems.push(format!("the variable {name} is not JSON: {error}"))
        })
        .ok()
}
