//! Session commands: over the connection, the server, its users, subscriptions, transactions, scripts and
//! topics.
//!
//! They are above `engine`, which knows none of them: it is handed [`ALL`] with its options.

pub use engine::COMMANDS as ALL;
