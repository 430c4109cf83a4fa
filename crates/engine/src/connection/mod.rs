//! Commands about the connection.

mod ping;
mod select;

use crate::table::SessionCommand;

pub(crate) static COMMANDS: &[&SessionCommand] = &[&ping::PING, &select::SELECT];
