//! The stream of changes on its way to replicas.

use std::sync::Arc;

use crate::engine::{Engine, Worker};

impl Engine {
    /// Renders the changes so far for the replicas. Called by a thread with fed connections, which then
    /// sends them; the other threads with such connections are woken.
    pub fn render_changes(&self) {}

    /// Has the changes of this thread, which feeds no connection, rendered by a thread that does.
    pub fn pass_on_changes(&self, _worker: &Arc<Worker>) {}
}
