//! Commands about the server, and the state that they show.

pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod debug;
pub(crate) mod hotkeys;
pub(crate) mod info;
pub mod latency;
pub(crate) mod lolwut;
pub(crate) mod memory;
pub(crate) mod module;
pub mod monitor;
pub mod process;
pub(crate) mod replication;
pub(crate) mod role;
pub(crate) mod shutdown;
pub mod slowlog;
pub(crate) mod time;
pub(crate) mod topkeys;
pub(crate) mod wait;

use commands::row::{Flags, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use crate::table::{Call, SessionCommand, SessionFn};

/// The version of Redis that Apus stands in for, as INFO, HELLO and LOLWUT report it.
pub const COMPAT_VERSION: &str = "7.4.0";

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

/// The function of a container. Dispatch finds subcommands before it comes here.
pub(crate) fn container(_: &mut Call<'_>, args: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
    let name = String::from_utf8_lossy(&args[0]).to_ascii_lowercase();
    Err(Fail::arity(&name))
}
