//! Every command as a method, by group: written by `cargo xtask gen` from the command table.

pub(crate) mod table;
mod generic;
mod string;
mod list;
mod set;
mod sorted_set;
mod hash;
mod pubsub;
mod transactions;
mod connection;
mod server;
mod scripting;
mod hyperloglog;
mod cluster;
mod geo;
mod stream;
mod bitmap;
mod topic;
mod live;

pub use generic::GenericCommands;
pub use string::StringCommands;
pub use list::ListCommands;
pub use set::SetCommands;
pub use sorted_set::SortedSetCommands;
pub use hash::HashCommands;
pub use pubsub::PubsubCommands;
pub use transactions::TransactionsCommands;
pub use connection::ConnectionCommands;
pub use server::ServerCommands;
pub use scripting::ScriptingCommands;
pub use hyperloglog::HyperloglogCommands;
pub use cluster::ClusterCommands;
pub use geo::GeoCommands;
pub use stream::StreamCommands;
pub use bitmap::BitmapCommands;
pub use topic::TopicCommands;
pub use live::LiveCommands;

/// What options the requests of which command take: the types are names for that alone.
pub mod options {
    pub use super::generic::options::*;
    pub use super::string::options::*;
    pub use super::list::options::*;
    pub use super::set::options::*;
    pub use super::sorted_set::options::*;
    pub use super::hash::options::*;
    pub use super::pubsub::options::*;
    pub use super::transactions::options::*;
    pub use super::connection::options::*;
    pub use super::server::options::*;
    pub use super::scripting::options::*;
    pub use super::hyperloglog::options::*;
    pub use super::cluster::options::*;
    pub use super::geo::options::*;
    pub use super::stream::options::*;
    pub use super::bitmap::options::*;
    pub use super::topic::options::*;
    pub use super::live::options::*;
}
