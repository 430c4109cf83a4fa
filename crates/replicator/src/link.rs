//! The thread that follows a primary.

/// The primary of this server, if it has one.
#[derive(Default)]
pub struct Following;

impl Following {
    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        false
    }

    /// The primary wants an acknowledgement.
    pub fn getack(&self) {}

    /// The database that the primary's stream has selected.
    pub fn stream_db(&self) -> Option<usize> {
        None
    }
}
