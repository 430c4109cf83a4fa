//! Replication of an engine's data, in both roles. The protocol is the crate `replication`'s, which has no
//! I/O; here it meets the engine, the snapshots and the sockets.
//!
//! ```text
//!  a primary:   commit ─► records ─► rendered into the backlog ─► fed connections ─► replicas
//!               snapshot ─► payload ─────────────────────────────►┘
//!
//!  a replica:   socket ─► Link ─┬─► file ─► loaded in place of all data
//!               (a thread)      └─► whole commands, executed as a batch ─► the backlog, byte for byte
//! ```
//!
//! - [`replicas`]: the connections of replicas, what they have acknowledged, the clients in WAIT.
//! - [`full`]: full copies, one snapshot for all replicas that wait for one.
//! - [`failover`]: the command FAILOVER.
//! - [`leaving`]: the end of the server, which waits for the replicas.
//! - [`link`]: the thread that follows a primary.

pub mod failover;
pub mod full;
pub mod guard;
pub mod leaving;
pub mod link;
pub mod pause;
mod payload;
pub mod replicas;
pub mod role;
mod stale;
mod state;
mod synced;
pub mod upkeep;
mod whole;

pub use state::Replicator;
