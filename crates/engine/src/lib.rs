//! Everything between a parsed request and the keyspace.
//!
//! - [`Engine`] is shared by all threads: keyspace, configuration, command table, clients.
//! - [`Thread`] is one worker's half: its context, its statistics, its scratch buffers. It turns
//!   bytes into replies ([`Thread::run`]).
//! - [`Session`] is one connection's state; [`Client`] is the part of it that other threads may
//!   read.
//!
//! It has no session commands: they are in a crate above, and [`Options::commands`] hands them in. Public is
//! what they need.
//!
//! It knows no sockets: a connection is bytes in, bytes out, and a [`Mailbox`] to its thread.

/// The version of Redis whose behaviour this is; clients that look for features read it.
pub const COMPAT_VERSION: &str = "7.4.0";

pub mod acks;
pub mod acl;
mod aside;
mod attention;
mod blocking;
mod change;
mod client_line;
mod clients;
pub mod commit;
mod connections;
pub mod dispatch;
mod durability;
pub mod ends;
mod engine;
mod exec;
mod feed;
mod feeders;
mod helpers;
pub mod journal;
mod live;
pub mod log;
mod mailbox;
mod memory;
pub mod migrate;
pub mod monitor;
mod observation;
mod own_keys;
mod page;
pub mod process;
pub mod pubsub;
mod queue;
mod queued;
mod reload;
mod rendering;
pub mod replication;
pub mod scripting;
mod session;
pub mod settings;
mod shares;
mod steps;
mod table;
mod take_input;
mod thread;
pub mod tracking;
mod walk;

pub mod topics;

pub use attention::Attention;
pub use blocking::note_progress;
pub use change::change;
pub use client_line::push_client_line;
pub use clients::{Client, Clients, Endpoint, Look, PausedKill, Peer};
pub use commit::{commit, commit_own};
pub use durability::Durability;
pub use engine::{
    ConfigHook, Engine, Fields, Hooks, Options, ServerInfo, Worker, random_id, random_repl_id,
};
pub use exec::replay_data;
pub use feed::{Fed, Feed};
pub use feeders::{FeedRequest, Urgency};
pub use live::Live;
pub use mailbox::{Job, Mailbox, Message};
pub use migrate::{Closer, Dial, Purpose, Unreached, Wire};
pub use page::PageRead;
pub use session::{Deferred, ReplyMode, Session};
pub use settings::cron_ns;
pub use steps::Steps;
pub use store::do_meanwhile;
pub use table::{
    Call, Cmd, CommandSet, LiveAnswer, LiveCall, LiveWait, LiveWrite, Replayed, ReplayedFn, Run,
    SessionCommand, SessionFn, Stuck, StuckFn, Table, container,
};
pub use take_input::TakeInput;
pub use thread::{Batch, Foreseen, Next, OnWait, Thread};
