//! Session commands: over the connection, the server, its users, subscriptions, transactions, scripts and
//! topics.
//!
//! They are above `engine`, which knows none of them: it is handed [`ALL`] with its options. A command here
//! reads its arguments, calls what `engine` can do, and writes the reply.

mod acl;
mod administration;
mod connection;
mod pubsub;
mod scripting;
mod transaction;

pub use administration::info::info;
use engine::CommandSet;

/// All of them.
pub const ALL: CommandSet = CommandSet {
    lists: &[
        acl::COMMANDS,
        connection::COMMANDS,
        engine::REMAINING[0],
        engine::REMAINING[1],
        pubsub::COMMANDS,
        engine::REMAINING[2],
        administration::COMMANDS,
        engine::REMAINING[3],
        engine::REMAINING[4],
        engine::REMAINING[5],
    ],
    while_stuck: &[
        connection::WHILE_STUCK[0],
        connection::WHILE_STUCK[1],
        connection::WHILE_STUCK[2],
        connection::WHILE_STUCK[3],
        transaction::WHILE_STUCK[0],
        transaction::WHILE_STUCK[1],
        transaction::WHILE_STUCK[2],
        transaction::WHILE_STUCK[3],
        ("replconf", administration::replication::while_stuck),
        scripting::WHILE_STUCK[0],
        scripting::WHILE_STUCK[1],
        scripting::WHILE_STUCK[2],
        ("shutdown", administration::shutdown::while_stuck),
    ],
};
