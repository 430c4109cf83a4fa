//! The commands of the crate `apus-client`, made from the command table: a table of what a client must know of
//! each, and a typed method for each.
//!
//! ```text
//! SET key value [NX | XX] [EX seconds | …]     client.set(key, value).nx().ex(60)
//! ZADD key [CH] score member [score member …]  client.zadd(key, [(1, "a")]).ch()     the pairs are sent last
//! EVAL script numkeys [key …] [arg …]          client.eval(script, keys).arg(…)      the keys are counted
//! XADD … [MAXLEN [= | ~] n [LIMIT count]] …    .maxlen("~", n, Some(10))             `()`, None: left out
//! ```
//!
//! What a call always has is an argument of the method. What it may have is a method of the request, one for each
//! alternative.

mod methods;
mod table;

use commands::row::{Group, Row};

/// The files, each behind a line `=== name`: `table.rs`, `mod.rs` and one for each group.
pub fn sources() -> String {
    let table = engine::Table::new(session_commands::ALL, &[]);
    let mut all: Vec<&Row> = Vec::new();
    for row in table.rows() {
        all.push(row);
        all.extend(row.subcommands.iter().copied());
    }
    all.sort_by_key(|row| table::key(row.name));
    let mut text = format!("=== table.rs\n{}", table::source(&all));
    let mut groups: Vec<Group> = all.iter().map(|row| row.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut modules = Vec::new();
    for group in groups {
        // A container without a subcommand does nothing.
        let of_group = |row: &&&Row| row.group == group && row.subcommands.is_empty();
        let rows: Vec<&Row> = all.iter().filter(of_group).copied().collect();
        if rows.is_empty() {
            continue;
        }
        let name = group.name().replace('-', "_");
        text += &format!("=== {name}.rs\n{}", methods::source(group.name(), &rows));
        modules.push(name);
    }
    text += &format!("=== mod.rs\n{}", module(&modules));
    text
}

const HEADER: &str =
    "//! Written by `cargo xtask gen` from the command table; changes here are lost.\n";

/// `sorted_set` as a type's name: `SortedSet`.
fn camel(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first
            .into_iter()
            .chain(letters.map(|letter| letter.to_ascii_lowercase()))
            .collect::<String>()
    };
    name.split(['_', '-', ' ', '|', '.']).map(capital).collect()
}

fn module(names: &[String]) -> String {
    let mut text = String::from(
        "//! Every command as a method, by group: written by `cargo xtask gen` from the command table.\n\n\
         pub(crate) mod table;\n",
    );
    for name in names {
        text += &format!("mod {name};\n");
    }
    text += "\n";
    for name in names {
        text += &format!("pub use {name}::{}Commands;\n", camel(name));
    }
    text += "\n/// What options the requests of which command take: the types are names for that alone.\n\
             pub mod options {\n";
    for name in names {
        text += &format!("    pub use super::{name}::options::*;\n");
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::{camel, sources};

    #[test]
    fn every_command_has_a_row_and_most_have_a_method() {
        let text = sources();
        assert!(text.contains("Spec::new(\"CONFIG GET\""));
        assert!(text.contains("fn config_get("));
        assert!(text.contains("fn set(&self, key: impl Arg, value: impl Arg)"));
        assert!(text.contains("fn eval(&self, script: impl Arg, keys: impl Arg)"));
        assert_eq!(camel("sorted-set"), "SortedSet");
    }
}
