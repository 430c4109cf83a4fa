//! Replication as Redis speaks it (PSYNC2), without sockets, threads, clocks or commands: every part
//! is a state machine that is handed bytes, the time in milliseconds and random bytes.
//!
//! ```text
//!  committed units ─► render ─► backlog ─► one reader per replica ─► serve      a primary
//!                                  ▲
//!               bytes as they came │
//!  a primary's bytes ─────────► link ─► the stream, to be executed              a replica
//! ```
//!
//! * [`history`]: which history this server's data belongs to, and who may go on from where.
//! * [`backlog`]: the bytes of the stream, kept once for all replicas.
//! * [`render`]: committed commands as bytes of the stream.
//! * [`serve`]: what a primary knows of one replica.
//! * [`acks`]: what the replicas' acknowledgements allow: WAIT, WAITAOF, `min-replicas-*`.
//! * [`in_sync`]: the replicas that must have a write before it is acknowledged: `min-replicas-ack`.
//! * [`sentinels`]: the lease that a primary holds while Sentinels see it: `sentinel-lease-ms`.
//! * [`link`]: a replica's connection to its primary.
//!
//! An offset counts the bytes of the stream since its history began; the byte behind offset `n` is
//! byte `n + 1`. Offsets are signed as on the wire and stay below [`OFFSET_MAX`], so that sums of two
//! cannot overflow.
//!
//! Sources: <https://redis.io/docs/latest/operate/oss_and_stack/management/replication/>, and the
//! behaviour of Redis 7.0, Redis 8.0 and Valkey 9 on the wire.

pub mod acks;
pub mod backlog;
mod eof;
pub mod history;
pub mod in_sync;
pub mod link;
pub mod render;
pub mod sentinels;
pub mod serve;
mod text;

pub use history::{History, ReplId};

/// No offset that another server names may be greater: 4 EiB of stream.
pub const OFFSET_MAX: i64 = 1 << 62;
