//! Several servers behind one client: Sentinel, Cluster, and shards that clients choose themselves.

pub(crate) mod cluster;
mod home;
mod map;
pub(crate) mod sentinel;
mod shards;
mod slots;

pub use shards::{Shards, shard_of};
pub use slots::slot;
