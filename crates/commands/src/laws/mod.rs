//! Laws over the command table, which every row must fulfil.
//!
//! A test calls [`check_rows`] on the whole table and prints the result.
//! Each law is a fact that something relies on: dispatch on arity, locking on
//! key specifications, COMMAND DOCS on the syntax line, readers on the texts.

use std::collections::BTreeSet;

use crate::row::{BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Row, Scope};
use crate::syntax::{self, Arg, ArgType};

/// All violations, one line each, beginning with the command's name; `rows`
/// are the top-level rows.
pub fn check_rows<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<String> {
    let mut laws = Laws::default();
    for row in rows {
        if row.name.contains('|') {
            laws.broken(row, "a subcommand belongs in the subcommands of its container");
        }
        laws.check(row);
        for sub in row.subcommands {
            if sub.name.split_once('|').is_none_or(|(parent, _)| parent != row.name) {
                laws.broken(sub, &format!("is not named {}|…", row.name));
            }
            if !sub.subcommands.is_empty() {
                laws.broken(sub, "has subcommands, and only one level of them exists");
            }
            laws.check(sub);
        }
    }
    laws.found
}

#[derive(Default)]
struct Laws {
    names: BTreeSet<String>,
    found: Vec<String>,
}

impl Laws {
    fn broken(&mut self, row: &Row, what: &str) {
        self.found.push(format!("{}: {what}", row.name));
    }

    fn check(&mut self, row: &Row) {
        if !self.names.insert(row.name.to_ascii_lowercase()) {
            self.broken(row, "the name is taken");
        }
        for law in [name, texts, versions, flags, key_flags, complexity] {
            law(row, &mut |what| self.broken(row, &what));
        }
        if row.subcommands.is_empty() {
            match syntax::arguments(row.name, row.syntax, row.keys.len()) {
                Ok(args) => {
                    arity(row, &args, &mut |what| self.broken(row, &what));
                    key_arguments(row, &args, &mut |what| self.broken(row, &what));
                    fast(row, &args, &mut |what| self.broken(row, &what));
                }
                Err(error) => self.broken(row, &format!("syntax line: {error}")),
            }
        }
    }
}

/// Takes one violation.
type Sink<'a> = &'a mut dyn FnMut(String);

fn name(row: &Row, broken: Sink) {
    let fine =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_|.".contains(&byte);
    if row.name.is_empty() || !row.name.bytes().all(fine) {
        broken("the name is not lower-case ASCII".into());
    }
    let words = row.name.split('|').count();
    if row.arity == 0 || usize::from(row.arity.unsigned_abs()) < words {
        broken(format!("arity {} is less than its name", row.arity));
    }
}

fn texts(row: &Row, broken: Sink) {
    let summary = row.summary;
    if summary.is_empty() || !summary.ends_with('.') || summary.contains('\n') {
        broken("the summary is not one line that ends with a full stop".into());
    }
    if !row.subcommands.is_empty() {
        return;
    }
    match (row.transcript.trim().is_empty(), row.untranscribed.is_empty()) {
        (true, true) => broken("has no transcript, and no `untranscribed` says why".into()),
        (false, false) => broken("has a transcript and a reason for having none".into()),
        _ => {}
    }
}

fn versions(row: &Row, broken: Sink) {
    let Some(since) = version(row.since) else {
        return broken(format!("since {:?} is not a version", row.since));
    };
    let later = row.history.iter().map(|(version, _)| *version);
    let deprecated = Some(row.deprecated_since).filter(|version| !version.is_empty());
    for text in later.chain(deprecated) {
        match version(text) {
            Some(version) if released(version) >= since => {}
            _ => broken(format!("{text:?} is not a version at or after {}", row.since)),
        }
    }
    if row.history.iter().any(|(_, change)| change.trim().is_empty()) {
        broken("an entry of its history says nothing".into());
    }
    if row.doc_flags.has(crate::row::DocFlags::DEPRECATED) == row.deprecated_since.is_empty() {
        broken("DEPRECATED and deprecated_since go together".into());
    }
}

/// The release in which a version came out: odd numbers before 3 were those of its development
/// (ZREVRANGEBYSCORE's history begins with 2.1.6, and the command with 2.2.0).
fn released(version: [u16; 3]) -> [u16; 3] {
    let [major, minor, _] = version;
    if major < 3 && minor % 2 == 1 { [major, minor + 1, 0] } else { version }
}

/// `major.minor.patch`.
fn version(text: &str) -> Option<[u16; 3]> {
    let parts: Vec<u16> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn flags(row: &Row, broken: Sink) {
    let write = row.flags.has(Flags::WRITE);
    let read = row.flags.has(Flags::READONLY);
    if write && read {
        broken("is WRITE and READONLY".into());
    }
    // Scripts and WATCH name keys without reading or writing them themselves; topics are named like keys
    // and are beside the keyspace.
    let apart = matches!(row.group, Group::Scripting | Group::Transactions | Group::Topic);
    let data = row.has_keys() && !apart;
    if data && !write && !read {
        broken("names keys and is neither WRITE nor READONLY".into());
    }
    if row.flags.has(Flags::DENYOOM) && !write && row.group != Group::Scripting {
        broken("is DENYOOM and not WRITE".into());
    }
    if row.flags.has(Flags::MOVABLEKEYS) {
        broken("MOVABLEKEYS is derived, not written".into());
    }
}

fn key_flags(row: &Row, broken: Sink) {
    for spec in row.keys {
        let kinds = [KeyFlags::RO, KeyFlags::RW, KeyFlags::OW, KeyFlags::RM];
        let count = kinds.into_iter().filter(|kind| spec.flags.has(*kind)).count();
        if count != 1 && !spec.flags.has(KeyFlags::NOT_KEY) {
            broken("a key specification is not exactly one of RO, RW, OW, RM".into());
        }
        if row.flags.has(Flags::READONLY) && spec.flags.has_any(KeyFlags::OW.or(KeyFlags::RM)) {
            broken("is READONLY and overwrites or removes a key".into());
        }
        let unknown = spec.begin == BeginSearch::Unknown || spec.find == FindKeys::Unknown;
        let open = KeyFlags::VARIABLE_FLAGS.or(KeyFlags::INCOMPLETE);
        if (unknown || spec.flags.has_any(open)) && row.get_keys.is_none() {
            broken("a key specification leaves something open and there is no get_keys".into());
        }
        if matches!(spec.find, FindKeys::Range { step: 0, .. } | FindKeys::KeyNum { step: 0, .. }) {
            broken("a key specification has step 0".into());
        }
    }
}

fn complexity(row: &Row, broken: Sink) {
    if row.subcommands.is_empty() && row.complexity.is_empty() {
        broken("has no complexity".into());
    }
}

/// FAST promises that no data of unknown size is walked: constant or
/// logarithmic, or linear in the number that the call itself gives.
fn fast(row: &Row, args: &[Arg], broken: Sink) {
    let small = ["O(1)", "O(log"].iter().any(|small| row.complexity.contains(small));
    let asked = flatten(args).iter().any(|arg| arg.multiple || arg.name == "count");
    // AUTH walks the passwords of a user, which is no data.
    let walks = row.scope != Scope::None;
    if row.flags.has(Flags::FAST) && walks && !small && !asked {
        broken(format!("is FAST with complexity {:?}", row.complexity));
    }
}

fn arity(row: &Row, args: &[Arg], broken: Sink) {
    let (least, fixed) = syntax::required(args);
    let least = i16::try_from(least + row.name.split('|').count()).unwrap_or(i16::MAX);
    let expected = if fixed { least } else { -least };
    if row.arity == expected && !row.loose_arity.is_empty() {
        broken("has a loose_arity, and its arity agrees with the syntax line".into());
    }
    if row.arity != expected && row.loose_arity.is_empty() {
        broken(format!("arity is {}, the syntax line says {expected}", row.arity));
    }
}

/// Key specifications and the arguments that the syntax line calls keys meet.
fn key_arguments(row: &Row, args: &[Arg], broken: Sink) {
    let all = flatten(args);
    for (index, spec) in row.keys.iter().enumerate() {
        if !spec.flags.has(KeyFlags::NOT_KEY) && !all.iter().any(|arg| arg.key_spec == Some(index))
        {
            broken(format!("no argument belongs to key specification {index}"));
        }
        if let Some(what) = misses(row, spec, args, &all) {
            broken(format!("key specification {index} {what}"));
        }
    }
    if !row.has_keys() && all.iter().any(|arg| arg.kind == ArgType::Key) {
        broken("the syntax line has a key and no key specification names it".into());
    }
}

fn misses(row: &Row, spec: &KeySpec, args: &[Arg], all: &[&Arg]) -> Option<String> {
    match spec.begin {
        BeginSearch::Unknown => None,
        BeginSearch::Keyword { word, .. } => {
            let known = all.iter().any(|arg| arg.token.as_deref() == Some(word));
            (!known).then(|| format!("searches {word}, which the syntax line does not have"))
        }
        BeginSearch::Index(index) => {
            let words = row.name.split('|').count();
            let offset = match spec.find {
                FindKeys::KeyNum { number, .. } => number,
                _ => 0,
            };
            let Some(at) = usize::from(index + offset).checked_sub(words) else {
                return Some("points at the command's name".into());
            };
            let wanted = match spec.find {
                FindKeys::KeyNum { .. } => ArgType::Integer,
                _ if spec.flags.has(KeyFlags::NOT_KEY) => return None,
                _ => ArgType::Key,
            };
            let found = argument_at(args, at)?;
            let fits = flatten(std::slice::from_ref(found)).iter().any(|arg| arg.kind == wanted);
            (!fits).then(|| format!("points at {}, which is no {}", found.name, wanted.name()))
        }
    }
}

/// The argument at position `at`, as far as everything before it is always
/// there and of one length.
fn argument_at(args: &[Arg], at: usize) -> Option<&Arg> {
    let mut position = 0;
    for arg in args {
        let (count, fixed) = syntax::required(std::slice::from_ref(arg));
        if at < position + count.max(1) {
            return Some(arg);
        }
        if !fixed {
            return None;
        }
        position += count;
    }
    None
}

fn flatten(args: &[Arg]) -> Vec<&Arg> {
    args.iter().flat_map(|arg| std::iter::once(arg).chain(flatten(&arg.arguments))).collect()
}

#[cfg(test)]
mod tests;
