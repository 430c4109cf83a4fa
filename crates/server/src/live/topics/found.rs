//! What is read of topics, on its way to threads.

use std::sync::Arc;

use ::log::{Error, Permit};

use super::Record;

/// What was found in a topic.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) topic: Arc<str>,
    pub(crate) epoch: Arc<str>,
    /// Behind the last record: the channel's top offset.
    pub(crate) top: u64,
    /// Records with their offsets in the topic.
    pub(crate) records: Vec<(u64, Record)>,
    /// Held for as long as the records are.
    pub(super) _rooms: Vec<Permit>,
}

/// The answer.
#[derive(Debug)]
pub(crate) struct Read {
    /// Topics that subscriptions were to begin in.
    pub(crate) topics: Vec<Arc<str>>,
    /// In the order in which they were asked for, or the error of a topic.
    pub(crate) found: std::result::Result<Vec<Found>, (Arc<str>, Error)>,
}

/// Records on their way to threads. The last thread that lets go of it has the follower go on.
pub(crate) struct Piece {
    pub(crate) topic: Arc<str>,
    pub(crate) epoch: Arc<str>,
    /// The topic's offset of the first.
    pub(crate) first: u64,
    pub(crate) records: Vec<Record>,
    /// Held for as long as the records are.
    pub(super) _room: Option<Arc<Permit>>,
    /// Called at the end.
    pub(super) done: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Piece").field("topic", &self.topic).field("first", &self.first).finish()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        (self.done)();
    }
}
