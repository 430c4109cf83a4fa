//! What names say: the usual type of an argument, and the names of groups,
//! which the syntax line does not write.

use super::{Arg, ArgType};

/// Names whose arguments are whole numbers.
const INTEGERS: &[&str] = &[
    "bit",
    "bits",
    "client-id",
    "count",
    "cursor",
    "db",
    "decrement",
    "destination-db",
    "end",
    "end-slot",
    "entries-added",
    "entries-read",
    "frequency",
    "increment",
    "index",
    "index1",
    "index2",
    "len",
    "limit",
    "maxage",
    "milliseconds",
    "min-match-len",
    "ms",
    "num-matches",
    "numfields",
    "numkeys",
    "numlocal",
    "numreplicas",
    "offset",
    "port",
    "protover",
    "rank",
    "seconds",
    "slot",
    "start",
    "start-slot",
    "stop",
    "ttl",
    "version",
    "weight",
];

/// Names whose arguments may have a fraction.
const DOUBLES: &[&str] =
    &["height", "latitude", "longitude", "radius", "score", "timeout", "width"];

/// Names of keys that do not begin with `key`.
const KEYS: &[&str] = &[
    "destination",
    "destkey",
    "dst",
    "newkey",
    "source",
    "sourcekey",
    "src",
    "storedistkey",
    "storekey",
];

/// Names of choices, by their first alternative.
const CHOICES: &[(&str, &str)] = &[
    ("nx", "condition"),
    ("gt", "comparison"),
    ("asc", "order"),
    ("left", "where"),
    ("before", "where"),
    ("m", "unit"),
    ("byte", "unit"),
    ("and", "operation"),
    ("async", "flush-type"),
    ("sync", "flush-type"),
    ("maxlen", "strategy"),
    ("equal", "operator"),
    ("on", "status"),
    ("yes", "yes-no"),
    ("auto-id", "id-selector"),
];

/// Names of tokens that are not words.
const TOKENS: &[(&str, &str)] = &[
    ("*", "auto-id"),
    ("=", "equal"),
    ("~", "approximately"),
    ("$", "new-id"),
    ("\"\"", "empty-string"),
];

/// The type of an argument called `name`, unless its line says otherwise.
/// Names that Redis uses for several types (`timeout`, `increment`, `min`)
/// get the commonest; a line overrides it (`increment:double`).
#[must_use]
pub fn usual_type(name: &str) -> ArgType {
    let numbered_key = name
        .strip_prefix("key")
        .is_some_and(|rest| rest == "s" || rest.bytes().all(|byte| byte.is_ascii_digit()));
    if numbered_key || KEYS.contains(&name) {
        ArgType::Key
    } else if INTEGERS.contains(&name) {
        ArgType::Integer
    } else if DOUBLES.contains(&name) {
        ArgType::Double
    } else if name.starts_with("unix-time") {
        ArgType::UnixTime
    } else if matches!(name, "pattern" | "by-pattern" | "get-pattern") {
        ArgType::Pattern
    } else {
        ArgType::String
    }
}

/// Splits `name:type#spec`. A colon before anything but a type is part of the
/// name (`ip:port`).
pub(super) fn split(word: &str) -> (&str, Option<ArgType>, Option<usize>) {
    let (word, spec) = match word.rsplit_once('#') {
        Some((rest, digits)) if digits.parse::<usize>().is_ok() => (rest, digits.parse().ok()),
        _ => (word, None),
    };
    if let Some((name, kind)) = word.rsplit_once(':')
        && let Some(kind) = ArgType::of_name(kind)
    {
        return (name, Some(kind), spec);
    }
    (word, None, spec)
}

/// The name of a pure token, and of a block or choice behind one.
pub(super) fn of_token(token: &str) -> String {
    let known = TOKENS.iter().find(|(symbol, _)| *symbol == token);
    known.map_or_else(|| token.to_ascii_lowercase(), |(_, name)| (*name).to_owned())
}

/// The name of a block without a token.
pub(super) fn of_block(args: &[Arg]) -> String {
    match args {
        // `COUNT count [ANY]`, `start [end]`: named after what must be there.
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|arg| arg.optional) => {
            format!("{}-block", first.name)
        }
        _ => join(args, "_"),
    }
}

/// The name of a choice without a token.
pub(super) fn of_choice(alternatives: &[Arg]) -> String {
    let tokens = || alternatives.iter().filter_map(|arg| arg.token.as_deref());
    if tokens().any(|token| token == "PX") {
        return "expiration".into();
    }
    let first = alternatives.first().map_or("", |arg| arg.name.as_str());
    let known = CHOICES.iter().find(|(name, _)| *name == first);
    known.map_or_else(|| join(alternatives, "-or-"), |(_, name)| (*name).to_owned())
}

fn join(args: &[Arg], by: &str) -> String {
    args.iter().map(|arg| arg.name.as_str()).collect::<Vec<_>>().join(by)
}
