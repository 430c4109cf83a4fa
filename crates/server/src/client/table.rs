//! What a client must know of each command before it sends it.

use super::HEADER;
use commands::row::{BeginSearch, FindKeys, Flags, KeyFlags, Row};

/// Commands after which a connection is not what it was, or has more coming than replies.
const OF_CONNECTION: &[&str] = &[
    "asking",
    "auth",
    "client|caching",
    "client|reply",
    "client|setname",
    "client|tracking",
    "discard",
    "exec",
    "hello",
    "monitor",
    "multi",
    "psubscribe",
    "psync",
    "punsubscribe",
    "quit",
    "readonly",
    "readwrite",
    "replconf",
    "reset",
    "select",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "sync",
    "unsubscribe",
    "unwatch",
    "watch",
    "client|no-touch",
    "client|no-evict",
];

/// As the client's search compares: the container first, then the subcommand.
pub(super) fn key(name: &str) -> (String, String) {
    let upper = name.to_ascii_uppercase();
    let (name, sub) = upper.split_once('|').unwrap_or((&upper, ""));
    (name.to_owned(), sub.to_owned())
}

/// The name of the constant: `CONFIG_GET`.
pub(super) fn constant(name: &str) -> String {
    let name = name.to_ascii_uppercase().replace(['|', '-', '.'], "_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

pub(super) fn source(rows: &[&Row]) -> String {
    let mut text = format!(
        "{HEADER}\nuse crate::spec::{{FirstKey, Flags, RequestPolicy, ResponsePolicy, Spec}};\n\n\
         /// Every command, sorted by its name.\n\
         pub(crate) static TABLE: &[&Spec] = &[\n"
    );
    for row in rows {
        text += &format!("    &{},\n", constant(row.name));
    }
    text += "];\n\n";
    for row in rows {
        text += &entry(row);
    }
    text
}

fn entry(row: &Row) -> String {
    let name = row.name.to_ascii_uppercase().replace('|', " ");
    let encoded: String =
        name.split(' ').map(|word| format!("${}\\r\\n{word}\\r\\n", word.len())).collect();
    format!(
        "pub(crate) static {}: Spec = Spec::new(\"{name}\", b\"{encoded}\", {}, Flags({}), {}, \
         RequestPolicy::{}, ResponsePolicy::{});\n",
        constant(row.name),
        name.split(' ').count(),
        flags(row),
        first_key(row),
        request(row),
        response(row),
    )
}

/// The bits of the client's `Flags`.
fn flags(row: &Row) -> String {
    let mut names = Vec::new();
    if row.flags.has(Flags::READONLY) {
        names.push("Flags::READONLY.0");
    }
    if row.flags.has(Flags::BLOCKING) {
        names.push("Flags::BLOCKING.0");
    }
    if OF_CONNECTION.contains(&row.name) {
        names.push("Flags::CONNECTION.0");
    }
    if names.is_empty() { "0".into() } else { names.join(" | ") }
}

fn first_key(row: &Row) -> String {
    let spec = row.keys.iter().find(|spec| !spec.flags.has(KeyFlags::NOT_KEY));
    match spec.map(|spec| (spec.begin, spec.find)) {
        Some((BeginSearch::Index(at), FindKeys::KeyNum { number, first, .. })) => {
            format!("FirstKey::Counted({}, {})", at + number, at + first)
        }
        Some((BeginSearch::Index(at), _)) => format!("FirstKey::At({at})"),
        Some((BeginSearch::Keyword { word, .. }, _)) => format!("FirstKey::After({word:?})"),
        // Sharded channels are found like keys.
        _ if row.channels == commands::row::Channels::PublishShard => "FirstKey::At(1)".into(),
        _ => "FirstKey::None".into(),
    }
}

fn tip(row: &Row, name: &str) -> Option<&'static str> {
    row.tips.iter().find_map(|tip| tip.strip_prefix(name))
}

fn request(row: &Row) -> &'static str {
    match tip(row, "request_policy:") {
        Some("all_nodes") => "AllNodes",
        Some("all_shards") => "AllShards",
        Some("multi_shard") => "MultiShard",
        _ => "Default",
    }
}

fn response(row: &Row) -> &'static str {
    match tip(row, "response_policy:") {
        Some("one_succeeded") => "OneSucceeded",
        Some("all_succeeded") => "AllSucceeded",
        Some("agg_sum") => "Sum",
        Some("agg_min") => "Min",
        Some("agg_max") => "Max",
        Some("agg_logical_and") => "And",
        _ => "Default",
    }
}
