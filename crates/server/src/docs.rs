//! Documents that are made from the tables: the command reference, the configuration reference,
//! and all transcripts, for `cargo xtask gen` and `cargo xtask compat`.

use std::fmt::Write as _;

use commands::row::Row;

/// The command reference in Markdown.
pub fn commands() -> String {
    let table = engine::Table::new(session_commands::ALL, &[]);
    commands::describe::reference_page(table.rows())
}

/// The configuration reference in Markdown.
pub fn configuration() -> String {
    config::help::reference()
}

/// Every transcript, each behind a line `=== name since`.
pub fn transcripts() -> String {
    let table = engine::Table::new(session_commands::ALL, &[]);
    let mut text = String::new();
    let mut add = |row: &Row| {
        if !row.transcript.is_empty() {
            let _ = writeln!(text, "=== {} {}", row.name, row.since);
            let _ = writeln!(text, "{}", row.transcript.trim());
        }
    };
    for row in table.rows() {
        add(row);
        row.subcommands.iter().for_each(|r| add(r));
    }
    text
}
