//! MULTI, EXEC and WATCH.

mod discard;
mod exec;
mod multi;
mod stuck;
mod unwatch;
mod watch;

use engine::SessionCommand;
pub(crate) use stuck::WHILE_STUCK;

pub(crate) static COMMANDS: &[&SessionCommand] =
    &[&discard::DISCARD, &exec::EXEC, &multi::MULTI, &unwatch::UNWATCH, &watch::WATCH];
