//! The state of this crate, which an engine carries.

use std::sync::Arc;

use engine::Engine;

use crate::failover::Failover;
use crate::leaving::plan::Leaving;
use crate::link::Following;
use crate::pause::Pauses;
use crate::replicas::Registry;

/// See the module's text.
#[derive(Default)]
pub struct Replicator {
    /// The replicas of this server.
    pub replicas: Arc<Registry>,
    /// The primary of this server.
    pub following: Following,
    /// FAILOVER.
    pub failover: Failover,
    /// A shutdown that waits for the replicas.
    pub leaving: Leaving,
    /// DEBUG REPL-PAUSE.
    pub pauses: Pauses,
}

impl Replicator {
    /// The state that belongs to an engine.
    ///
    /// # Panics
    /// Another crate has put something else there.
    pub fn of(engine: &Engine) -> &Self {
        let state = engine.replication.above.get_or_init(|| Box::<Self>::default());
        state.downcast_ref().expect("only this crate uses the place")
    }
}
