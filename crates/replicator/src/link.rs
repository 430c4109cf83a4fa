//! The thread that follows a primary.

/// The primary of this server, if it has one.
#[derive(Default)]
pub struct Following;
