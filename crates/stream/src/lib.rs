//! The stream of committed changes: records in one order, for several readers.
//!
//! ```text
//!  worker threads            merger                          readers
//!  ──────────────            ──────                          ───────
//!  take a number and         brings the lanes' records       journal:     seals and writes them
//!  append to their own       into the order of their         replication: renders them as commands
//!  lane, under the locks     numbers, while a reader reads
//!  of the shards
//! ```
//!
//! - A record is a unit: a command with the deletions that came before it, a transaction, a script.
//! - Numbers have no gaps, and a reader stops at a number that is missing (its thread is just about to
//!   append it): each reader has seen a beginning of all records.
//! - For any key, the order of the numbers is the order of its changes.
//! - The reader that comes first does the merging, on its own thread; the others find the records in their
//!   queues. With one reader no record is copied on the way.

pub mod lane;
pub mod record;
mod stream;

pub use lane::Lane;
pub use record::{Command, Commands, Malformed, Unit};
pub use stream::{Reader, Stream};
