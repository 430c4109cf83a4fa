//! Session commands: over the connection, the server, its users, subscriptions, transactions, scripts and
//! topics.
//!
//! They are above `engine`, which knows none of them: it is handed [`ALL`] with its options. A command here
//! reads its arguments, calls what `engine` can do, and writes the reply.

mod acl;
mod administration;
mod connection;
mod journal;
mod live;
mod migrate;
mod pending_reply;
mod persistence;
mod pubsub;
mod scripting;
mod topics;
mod transaction;

pub use administration::info::info;
use engine::CommandSet;

/// All of them.
pub const ALL: CommandSet = CommandSet {
    lists: &[
        acl::COMMANDS,
        connection::COMMANDS,
        journal::COMMANDS,
        live::COMMANDS,
        migrate::COMMANDS,
        pubsub::COMMANDS,
        scripting::COMMANDS,
        administration::COMMANDS,
        persistence::COMMANDS,
        topics::COMMANDS,
        transaction::COMMANDS,
    ],
    while_stuck: &[
        administration::WHILE_STUCK,
        connection::WHILE_STUCK,
        scripting::WHILE_STUCK,
        transaction::WHILE_STUCK,
    ],
    in_replayed_scripts: &[
        administration::IN_REPLAYED_SCRIPTS,
        connection::IN_REPLAYED_SCRIPTS,
        pubsub::IN_REPLAYED_SCRIPTS,
    ],
};
