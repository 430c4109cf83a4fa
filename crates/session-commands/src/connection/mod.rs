//! Commands about the connection.

mod auth;
mod client;
mod early;
mod echo;
mod hello;
pub(crate) mod ping;
mod quit;
mod reset;
mod select;

pub(crate) use client::usage;

use engine::{ReplayedFn, SessionCommand, StuckFn};

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &auth::AUTH,
    &client::CLIENT,
    &echo::ECHO,
    &hello::HELLO,
    &ping::PING,
    &quit::QUIT,
    &reset::RESET,
    &select::SELECT,
];

/// The commands that are answered while the thread of their connection is stuck.
pub(crate) const WHILE_STUCK: &[(&str, StuckFn)] = &[
    ("auth", auth::while_stuck),
    ("hello", hello::while_stuck),
    ("quit", quit::while_stuck),
    ("reset", reset::while_stuck),
];

/// The commands that scripts in an append-only file of Redis may call.
pub(crate) const IN_REPLAYED_SCRIPTS: &[(&str, ReplayedFn)] =
    &[("echo", echo::replayed), ("ping", ping::replayed), ("select", select::replayed)];
