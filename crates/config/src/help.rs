//! Texts made from the rows: help on the command line, the documentation page,
//! and the name that a misspelt one probably means.

use std::fmt::Write;

use crate::kind::{Area, HIDDEN, IMMUTABLE, MULTI, OptionKind, PROTECTED, State};
use crate::rows::Row;
use crate::size::show_memory;
use crate::{Config, ROWS};

/// Lines of a file that are not options.
pub(crate) const DIRECTIVES: [(&str, &str); 6] = [
    (
        "include",
        "Reads another file at this place; the path may have wildcards, and a relative one starts \
         at `dir`.",
    ),
    ("user", "Declares a user: a name and rules as ACL SETUSER takes them."),
    ("rename-command", "Gives a command another name; an empty name (`\"\"`) removes it."),
    ("loadmodule", "Keeps the server from starting: Apus loads no modules."),
    ("sentinel", "Keeps the server from starting: Apus is not a sentinel."),
    ("save", "May stand several times: the points add up."),
];

/// The option or directive whose name is closest to `name`, if any is close
/// enough to be meant: itself, or up to a third of its letters away.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let name = name.trim_start_matches('-');
    // `--port=7000` is what other programs take.
    let name = name.split('=').next().unwrap_or_default();
    if name.len() > 64 {
        return None; // no name is that long, and comparing takes time
    }
    nearest_of(
        name,
        ROWS.iter().flat_map(Row::names).chain(DIRECTIVES.iter().map(|(name, _)| *name)),
    )
}

/// The one of `names` that is closest to `name`, if any is close enough to be meant.
pub fn nearest_of(
    name: &str,
    names: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let name = name.get(..64).unwrap_or(name);
    let names = names.into_iter();
    let (away, near) = names.map(|known| (distance(name, known), known)).min()?;
    // A name of one letter is near to nothing.
    (away <= (name.len() / 3).max(1) && away < name.len()).then_some(near)
}

/// Insertions, deletions, replacements and swaps of neighbours between two texts.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut next = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replaced = row[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            next[j] = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

/// The values that may follow an option's name.
fn values(row: &Row) -> String {
    let names = |names: crate::Names| {
        let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        names.join("|")
    };
    match row.kind {
        OptionKind::Bool => "yes|no".to_owned(),
        OptionKind::Off(_) => "no".to_owned(),
        OptionKind::Int(min, max) if max >= i32::MAX.into() && min == i32::MIN.into() => {
            "integer".into()
        }
        OptionKind::Int(min, max) if max >= i32::MAX.into() => format!("integer from {min}"),
        OptionKind::Int(min, max) => format!("{min}..{max}"),
        OptionKind::ZeroOr(min, max) if max >= i32::MAX.into() => {
            format!("0, or integer from {min}")
        }
        OptionKind::ZeroOr(min, max) => format!("0, or {min}..{max}"),
        OptionKind::Hz => "1..500".to_owned(),
        OptionKind::Octal(max) => format!("octal, 0..{max:o}"),
        OptionKind::Memory(0 | 1, _) => "bytes".to_owned(),
        OptionKind::Memory(min, _) => format!("bytes from {}", show_memory(min)),
        OptionKind::MemoryOrPercent => "bytes or percent%".to_owned(),
        OptionKind::Choice(list) => names(list),
        OptionKind::Set(list) => format!("any of {}", names(list).replace('|', " ")),
        OptionKind::Text(_) | OptionKind::Optional(_) => "text".to_owned(),
        OptionKind::Dir => "directory".to_owned(),
        OptionKind::Save => "seconds changes …".to_owned(),
        OptionKind::OutputLimits => "class hard soft seconds …".to_owned(),
        OptionKind::OomValues => "three integers".to_owned(),
        OptionKind::Events => "letters".to_owned(),
        OptionKind::Bind => "addresses".to_owned(),
        OptionKind::ReplicaOf => "host port|no one".to_owned(),
        OptionKind::Percentiles => "numbers 0..100".to_owned(),
    }
}

/// The effects of signals on the configuration.
const RELOAD: &str = "\
\n\
## Reading the files again\n\
\n\
SIGHUP has the server read its files again, without a stop:\n\
\n\
- The log file is opened anew (SIGUSR1 does this alone), as after a rotation.\n\
- Options whose lines in the configuration file, or in those that it includes, are others than when it was\n\
\x20 last read are set, as by one CONFIG SET of all of them; a line that is gone stands for the default. An\n\
\x20 option whose line is the same stays as it is, so that a rotation of logs undoes no CONFIG SET. What the\n\
\x20 command line says wins here, too, and `guarded` options are not guarded from the file.\n\
- Of options that are set at the `start`, `user` lines and `rename-command`, the log says that they wait for\n\
\x20 the next start.\n\
- The users of the `aclfile` are loaded, as by ACL LOAD.\n\
\n\
A file that cannot be read, or in which anything is wrong, changes nothing: the log says what is wrong.\n";

fn shown_default(row: &Row) -> &'static str {
    if row.default.is_empty() { "\"\"" } else { row.default }
}

/// Rows of an area that the documentation shows.
fn rows_of(area: Area) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.area == area && !row.has(HIDDEN))
}

/// Text of `apus help serve`: how the server is called, and every option that
/// has an effect.
pub fn serve() -> String {
    let mut out = String::from(
        "Usage: apus serve [FILE] [-] [--NAME VALUE ...]...\n\
         \n\
         Starts the server. FILE is a configuration file in the form of redis.conf, `-` reads one\n\
         from the standard input, and any option of a file can be given as --NAME VALUE or\n\
         --NAME=VALUE; what comes later wins. Sizes take the units k, m, g (powers of 1000) and kb, mb, gb (of 1024).\n\
         Options of Redis that have no effect here are accepted; docs/configuration.md lists them.\n",
    );
    for (area, heading) in Area::ALL {
        let mut rows = rows_of(area).filter(|row| row.state == State::Effective).peekable();
        if rows.peek().is_some() {
            let _ = writeln!(out, "\n{heading}:");
        }
        for row in rows {
            let _ = writeln!(
                out,
                "  --{} <{}>  [{}]\n{}",
                row.name,
                values(row),
                shown_default(row),
                wrap(row.doc, 92, "        ")
            );
        }
    }
    out
}

/// `text` in lines of at most `width` bytes (a longer word stands alone), indented.
fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

/// The documentation page of the configuration, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Configuration\n\
         \n\
         <!-- Made from the rows in crates/config/src/rows; change it there. -->\n\
         \n\
         Options come from a file in the form of redis.conf, from the standard input (`-`) and from\n\
         the command line (`--name value` or `--name=value`), in this order; CONFIG SET changes them while the server\n\
         runs and CONFIG REWRITE writes them back to the file. Sizes take the units `k`, `m`, `g`\n\
         (powers of 1000) and `kb`, `mb`, `gb` (powers of 1024).\n\
         \n\
         The column *set* says how an option changes: at any time (`runtime`), only at the start\n\
         (`start`), or at any time if `enable-protected-configs` allows it (`guarded`). Options\n\
         marked *no effect* are read, kept and answered by CONFIG GET, so that existing files and\n\
         tools work, and change nothing. With those marked *refused* the server does not start, unless\n\
         they have their default: without what they ask for it would do harm.\n",
    );
    for (area, heading) in Area::ALL {
        let _ = write!(
            out,
            "\n## {heading}\n\n| option | values | default | set | meaning |\n|---|---|---|---|---|\n"
        );
        for row in rows_of(area) {
            let aliases: String =
                row.aliases.iter().map(|alias| format!("<br>`{alias}`")).collect();
            let set = if row.has(IMMUTABLE) {
                "start"
            } else if row.has(PROTECTED) {
                "guarded"
            } else {
                "runtime"
            };
            let effect = match row.state {
                State::Effective => String::new(),
                State::Accepted(why) => format!(" *No effect: {why}.*"),
                State::Refused(why) => format!(" *Refused at the start: {why}.*"),
            };
            let _ = writeln!(
                out,
                "| `{}`{aliases} | {} | `{}` | {set} | {}{effect} |",
                row.name,
                cell(&values(row)),
                shown_default(row),
                cell(row.doc),
            );
        }
    }
    out.push_str("\n## Other lines of a file\n\n| line | meaning |\n|---|---|\n");
    for (name, doc) in DIRECTIVES {
        let _ = writeln!(out, "| `{name}` | {doc} |");
    }
    out.push_str(RELOAD);
    out
}

/// A text that can stand in a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

impl Config {
    /// The options that belong into a crash report, one `name value` a line.
    pub fn debug_info(&self) -> String {
        let mut out = String::new();
        for row in ROWS.iter().filter(|row| row.has(crate::kind::DEBUG)) {
            let value = self.show(row.id);
            let text = String::from_utf8_lossy(&value);
            let _ = match row.has(MULTI) || !value.is_empty() {
                true => writeln!(out, "{} {text}", row.name),
                false => writeln!(out, "{} \"\"", row.name),
            };
        }
        out
    }
}
