//! MULTI, EXEC and WATCH.

mod discard;
mod exec;
mod multi;
mod unwatch;
mod watch;

use engine::SessionCommand;
pub(crate) use multi::while_stuck;

pub(crate) static COMMANDS: &[&SessionCommand] =
    &[&discard::DISCARD, &exec::EXEC, &multi::MULTI, &unwatch::UNWATCH, &watch::WATCH];
