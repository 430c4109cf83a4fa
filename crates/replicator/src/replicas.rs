//! The replicas of this server.

/// All replicas.
#[derive(Default)]
pub struct Registry;
