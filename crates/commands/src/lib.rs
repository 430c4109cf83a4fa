//! The commands over data, and the command table.
//!
//! A command is declared once, as a [`row::Row`] beside its function, in a file of its own:
//! one folder a group. Dispatch ([`table`]), key locking ([`keys::positions`]),
//! the replies of COMMAND ([`describe`]), the reference page and the laws ([`laws`]) all iterate
//! the same rows; nothing about a command is written down twice.
//!
//! A command here sees locked keys ([`store::Db`]), arguments and a reply. It never sees a socket,
//! a session, a file or a clock.

mod argv;
mod bitmap;
pub mod command;
pub mod describe;
pub mod fail;
mod generic;
mod geo;
mod hash;
pub mod help;
mod hyperloglog;
pub mod keys;
pub mod laws;
mod list;
pub mod parse;
pub mod row;
pub mod runs;
mod scan;
mod set;
mod stream;
mod string;
pub mod syntax;
pub mod table;
mod zset;

#[cfg(test)]
mod sample;

pub use command::{Command, DataCommand, DataFn, Outcome};
pub use fail::Fail;
pub use generic::keys::{keys_of_shard, needs_walk};
pub use generic::restore::rdb_limits;
pub use scan::scan_count;

/// The groups, in the order of the table.
const GROUPS: &[&[&DataCommand]] = &[
    string::COMMANDS,
    generic::COMMANDS,
    bitmap::COMMANDS,
    hash::COMMANDS,
    list::COMMANDS,
    set::COMMANDS,
    hyperloglog::COMMANDS,
    zset::COMMANDS,
    geo::COMMANDS,
    stream::COMMANDS,
];

/// All data commands.
pub fn all() -> impl Iterator<Item = &'static DataCommand> {
    GROUPS.iter().flat_map(|group| group.iter().copied())
}

/// The function for runs of a command, if it has one.
pub fn run_function(name: &str) -> Option<runs::RunFunction> {
    string::RUNS.iter().find(|(of, _)| *of == name).map(|(_, run)| *run)
}
