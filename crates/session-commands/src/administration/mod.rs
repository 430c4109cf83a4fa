//! Commands about the server.

pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod debug;
pub(crate) mod hotkeys;
pub(crate) mod info;
pub(crate) mod latency;
pub(crate) mod lolwut;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod monitor;
pub(crate) mod replication;
pub(crate) mod role;
pub(crate) mod shutdown;
pub(crate) mod slowlog;
pub(crate) mod time;
pub(crate) mod topkeys;
pub(crate) mod wait;

use commands::row::{Flags, Row};
use engine::{ReplayedFn, SessionCommand, SessionFn, StuckFn};

/// The commands that are answered while the thread of their connection is stuck.
pub(crate) const WHILE_STUCK: &[(&str, StuckFn)] =
    &[("replconf", replication::while_stuck), ("shutdown", shutdown::while_stuck)];

/// The commands that scripts in an append-only file of Redis may call.
pub(crate) const IN_REPLAYED_SCRIPTS: &[(&str, ReplayedFn)] = &[("time", time::replayed)];

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &cluster::ASKING,
    &cluster::CLUSTER,
    &cluster::READONLY,
    &cluster::READWRITE,
    &command::COMMAND,
    &config::CONFIG,
    &debug::DEBUG,
    &hotkeys::HOTKEYS,
    &info::INFO,
    &latency::LATENCY,
    &lolwut::LOLWUT,
    &memory::MEMORY,
    &module::MODULE,
    &monitor::MONITOR,
    &replication::FAILOVER,
    &replication::PSYNC,
    &replication::REPLCONF,
    &replication::REPLICAOF,
    &replication::SLAVEOF,
    &replication::SYNC,
    &role::ROLE,
    &shutdown::SHUTDOWN,
    &slowlog::SLOWLOG,
    &time::TIME,
    &topkeys::TOPKEYS,
    &wait::WAIT,
    &wait::WAITAOF,
];

/// Flags of most commands here: administrative, not in scripts, at any time.
const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT).or(ANYTIME);
/// Allowed while loading and on a stale replica.
const ANYTIME: Flags = Flags::LOADING.or(Flags::STALE);

/// A command without subcommands.
const fn command(row: Row, run: SessionFn) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}
