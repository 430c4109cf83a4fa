//! The keyspace: shards behind small locks, and the view a command has of them.
//!
//! - [`Keyspace`] owns the shards of all databases.
//! - [`Db`] is the view that a data command gets: the selected database with the shards of its keys
//!   locked. It is the only way to touch an entry, so that expiry, access times, statistics and
//!   effects happen in one place.
//! - [`Effects`] collects the changes of a command; the engine's commit reads it.
//!
//! Nothing here knows commands, sockets or files.

mod background;
mod context;
mod db;
mod effects;
mod evict;
mod expiry;
mod interest;
mod lazy;
mod lock_set;
#[cfg(all(test, loom))]
mod model;
mod room;
mod saving;
mod shards;
mod snapshot;
mod waits;

pub use background::Background;
pub use context::{
    Access, Block, Budget, Context, Counters, Empty, LFU_INIT, LfuClock, OVERDUE_MAX, Small,
};
pub use data::big::{Named, Value};
pub use data::entry::{Content, Entry, INLINE_MAX, Kind, Str};
pub use data::epoch;
pub use data::hash;
pub use data::packed;
pub use data::table::{Hint, NodeSpot, Spot};
pub use data::walk::{Part, walk};
pub use data::{geo, zset};
pub use db::{Db, Flush, Key, Ttl, WrongType};
pub use effects::{Class, Effects, Event};
pub use evict::{Evicted, Policy};
pub use interest::{Waiter, Watch};
pub use lazy::Garbage;
pub use shards::{Keyspace, SHARDS, ShardSet, SoloToken};
pub use snapshot::{Keep, Snapshot, Walk};
pub use waits::{do_meanwhile, meanwhile, take_waits};
