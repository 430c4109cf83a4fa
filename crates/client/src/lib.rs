#![doc = include_str!("../README.md")]

mod arg;
pub mod blocking;
#[cfg(feature = "broker")]
pub mod broker;
mod cache;
mod client;
mod command;
#[rustfmt::skip]
pub mod commands;
mod config;
mod connection;
mod convert;
mod dedicated;
#[cfg(feature = "serde")]
mod deserialize;
mod entries;
mod error;
mod function;
mod lookup;
mod metrics;
pub mod parse;
mod pipeline;
mod random;
mod request;
mod scan;
mod script;
mod server;
mod spec;
mod subscriber;
mod tls;
mod topology;
#[cfg(feature = "tracing")]
mod trace;
mod value;

pub use arg::{Arg, Args};
pub use cache::{Cache, CacheConfig, CacheMetrics, Tracking};
pub use client::{Client, Commands, cmd};
pub use command::Command;
pub use config::{Address, Backoff, Config, Protocol, SentinelConfig};
pub use convert::FromValue;
pub use dedicated::Dedicated;
#[cfg(feature = "serde")]
pub use deserialize::Serde;
pub use entries::{Entries, Entry};
pub use error::{Error, ErrorKind, Result};
pub use function::Function;
pub use metrics::{Latencies, Metrics};
pub use pipeline::{Pipeline, Transaction};
pub use request::{Request, Response, Target, Typed};
#[doc(hidden)]
pub use request::{Sender, To};
pub use scan::Scan;
pub use script::Script;
pub use subscriber::{Event, Message, Subscriber};
pub use tls::Tls;
pub use topology::{Shards, shard_of, slot};
pub use value::{ServerError, Value};

/// What most programs want: the client, and the commands as its methods.
pub mod prelude {
    pub use crate::client::Client;
    pub use crate::commands::{
        BitmapCommands, ClusterCommands, ConnectionCommands, GenericCommands, GeoCommands,
        HashCommands, HyperloglogCommands, ListCommands, PubsubCommands, ScriptingCommands,
        ServerCommands, SetCommands, SortedSetCommands, StreamCommands, StringCommands,
        TopicCommands, TransactionsCommands,
    };
}
