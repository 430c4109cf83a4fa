//! Keeps an engine's data: the journal, snapshots, loading, and the end of the server.
//!
//! It is above `engine`, which knows no file: an engine is handed [`Durable`] with its options, calls it by the
//! hooks of [`engine::Durability`], and goes without where it is handed `()`. What commands and replies look at
//! all the time (whether commits append, what replies wait for) is in the engine; this crate sets it.
//!
//! - [`journal`]: begins the journal, rewrites it, replays it.
//! - [`snapshots`]: takes snapshots, and writes them into a file or any other [`Sink`](snapshots::Sink).
//! - [`load`]: reads a snapshot from a file or any other [`Source`](load::Source) into the keyspace.
//! - [`replace_all`]: has a snapshot take the place of all data.

mod delay;
mod hooks;
pub mod journal;
pub mod load;
mod loading;
mod position;
mod request;
mod shutdown;
pub mod snapshots;
mod start;
mod state;

pub use loading::Loading;
pub use request::{Ending, Shutdown, ShutdownHook, ShutdownRequest, WaitsHook};
pub use shutdown::{abort as abort_shutdown, ask_shutdown, begin_shutdown, end, shut_down};
pub use start::{load as load_at_start, replace_all};
pub use state::Durable;
