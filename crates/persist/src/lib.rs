//! What Apus keeps on disk.
//!
//! [`journal`] is the append-only file: every change, in the order of its sequence number. It knows
//! bytes and files, and nothing of commands or keys; the engine turns effects into records and
//! records into commands.

pub mod disk;
pub mod journal;
