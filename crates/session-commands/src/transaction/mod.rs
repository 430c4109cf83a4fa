//! MULTI, EXEC and WATCH.

mod discard;
mod exec;
mod multi;
mod unwatch;
mod watch;

use engine::{SessionCommand, StuckFn};

pub(crate) static COMMANDS: &[&SessionCommand] =
    &[&discard::DISCARD, &exec::EXEC, &multi::MULTI, &unwatch::UNWATCH, &watch::WATCH];

/// Those that are answered while the thread of their connection is stuck.
pub(crate) const WHILE_STUCK: &[(&str, StuckFn)] = &[
    ("discard", discard::while_stuck),
    ("multi", multi::while_stuck),
    ("unwatch", unwatch::while_stuck),
    ("watch", watch::while_stuck),
];
