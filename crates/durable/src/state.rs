//! The state of this crate, which an engine carries.

use std::any::Any;

use engine::Engine;

use crate::journal::Files;
use crate::loading::Loading;
use crate::request::Shutdown;
use crate::snapshots::Snapshots;

/// See the module's text. It is handed to an engine with its [`Options`](engine::Options).
#[derive(Default)]
pub struct Durable {
    /// The files of the journal.
    pub journal: Files,
    /// Snapshots.
    pub snapshots: Snapshots,
    /// The load that is under way, or was the last.
    pub loading: Loading,
    /// The end of the server.
    pub shutdown: Shutdown,
}

impl Durable {
    /// The state that belongs to an engine.
    ///
    /// # Panics
    /// The engine was made with something else: no code of this crate and no command that calls it can work.
    pub fn of(engine: &Engine) -> &Self {
        let durability: &dyn Any = &*engine.durability;
        durability.downcast_ref().expect("engines with session commands are made with `Durable`")
    }
}
