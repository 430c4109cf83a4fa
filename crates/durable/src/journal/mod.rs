//! The journal's files: how they are loaded, begun, rewritten and closed while the server runs.
//!
//! Commits append to it by themselves ([`engine::journal`]); the bytes and files are the crate `persist`'s.

mod aof;
mod base;
mod replay;
mod rewrite;
mod scripts;
mod start;
mod state;
mod writing;

pub(crate) use rewrite::{switch, upkeep};
pub(crate) use start::load;
pub(crate) use writing::{follow_config, misconf, wait};

pub use rewrite::{anew, begin as begin_rewrite};
pub use start::{open_at, reload};
pub use state::{Files, Rewrite};
pub use writing::{OFF, close, close_at_the_end, is_beginning};
