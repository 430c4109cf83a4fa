//! Commands about the server, and what they show.

pub mod latency;
pub mod monitor;
pub mod slowlog;

use crate::table::SessionCommand;

pub(crate) static COMMANDS: &[&SessionCommand] = &[];
