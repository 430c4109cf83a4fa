//! Whether clients of a replica may read data that may be old.

use config::Id;
use engine::{Attention, Engine};

/// The link is up, or down: whether clients may read old data depends on it.
pub(crate) fn note_link(engine: &Engine, up: bool) {
    let stale = !up && engine.is_replica() && !engine.config.flag(Id::ReplicaServeStaleData);
    engine.attention.set(Attention::STALE, stale);
}
