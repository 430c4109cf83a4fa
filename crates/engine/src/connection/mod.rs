//! Commands about the connection.

mod auth;
mod client;
pub(crate) mod early;
mod echo;
mod hello;
mod ping;
mod quit;
mod reset;
mod select;

pub(crate) use client::{client_line, usage};

use crate::table::SessionCommand;

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
