//! The reference page, `docs/commands.md`: every command with its syntax,
//! facts and example session, by group.

use std::fmt::Write;

use super::key_spec_text;
use crate::row::{Group, Row};
use crate::syntax::display;

/// The page in markdown; groups in Redis's order, commands in that of `rows`.
pub fn reference_page<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let mut all: Vec<&Row> = Vec::new();
    for row in rows {
        all.push(row);
        all.extend(row.subcommands.iter().copied());
    }
    all.sort_by_key(|row| row.group);
    let mut page =
        String::from("# Commands\n\nWritten by `cargo xtask gen` from the command table.\n");
    let mut group: Option<Group> = None;
    for row in all {
        if group != Some(row.group) {
            group = Some(row.group);
            page += &format!("\n## {}\n", row.group.name());
        }
        // Writing to a String cannot fail.
        let _ = entry(&mut page, row);
    }
    page
}

fn entry(page: &mut String, row: &Row) -> std::fmt::Result {
    let title = row.name.to_ascii_uppercase().replace('|', " ");
    writeln!(page, "\n### {title}\n\n{}\n", row.summary)?;
    if !row.subcommands.is_empty() {
        let names: Vec<_> =
            row.subcommands.iter().map(|row| row.sub_name().to_ascii_uppercase()).collect();
        return writeln!(page, "Subcommands: {}.", names.join(", "));
    }
    writeln!(page, "```text\n{}\n```\n", display(row.syntax))?;
    writeln!(page, "- Complexity: {}", row.complexity)?;
    match row.group {
        Group::Live | Group::Topic => {
            writeln!(page, "- A command of Apus: Redis has none like it")?
        }
        _ => writeln!(page, "- Since Redis {}", row.since)?,
    }
    for (version, change) in row.history {
        writeln!(page, "- Since {version}: {change}")?;
    }
    if !row.deprecated_since.is_empty() {
        write!(page, "- Deprecated since {}", row.deprecated_since)?;
        match row.replaced_by {
            "" => writeln!(page)?,
            other => writeln!(page, ": use {other}")?,
        }
    }
    let categories: Vec<_> = row.acl_categories().names().map(|name| format!("@{name}")).collect();
    writeln!(page, "- ACL categories: {}", categories.join(" "))?;
    for spec in row.keys {
        writeln!(page, "- Keys: {}", key_spec_text(spec))?;
    }
    match row.transcript.trim() {
        "" => Ok(()),
        transcript => writeln!(page, "\n```text\n{transcript}\n```"),
    }
}
