//! What the engine asks of the crate that keeps the data on disk: journal, snapshots, loading.
//!
//! That crate is above this one, and is handed in with [`Options`](crate::Options) as the session commands
//! are. No hook is called per command or per batch: what these look at are plain fields of
//! [`Journal`](crate::journal::Journal) and [`Attention`](crate::Attention), which that crate sets.

use std::any::Any;
use std::sync::Arc;

use commands::Fail;
use config::{Config, Id};
use store::Waiter;

use crate::engine::Engine;
use crate::thread::Thread;

/// See the module's text. The default of every hook is that of an engine whose data is in memory alone.
pub trait Durability: Any + Send + Sync {
    /// Periodic work, some times per second, on the first worker thread, which has nothing locked.
    fn upkeep(&self, _engine: &Engine, _thread: &mut Thread) {}

    /// A command has deleted all data ([`Traits::SAVES_AFTER`](commands::row::Traits::SAVES_AFTER)); a
    /// restart must not bring it back. The thread may have shards locked.
    fn flushed(&self, _engine: &Engine, _thread: &mut Thread) {}

    /// Applies the change of an option, any of them. Called with the right to change options.
    ///
    /// # Errors
    /// The text is CONFIG SET's refusal; all options return to their previous values.
    fn apply(
        &self,
        _engine: &Engine,
        _thread: &mut Thread,
        _id: Id,
        _config: &Config,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Options have changed, or may have: state that is derived from them is derived again.
    fn config_changed(&self, _engine: &Engine) {}

    /// These options have been set, and none of them was refused.
    fn options_set(&self, _engine: &Engine, _changed: &[Id]) {}

    /// Why writes are refused, while [`Attention::UNSAVED`](crate::Attention::UNSAVED) or
    /// [`Attention::DISK`](crate::Attention::DISK) says that they are.
    fn refusal(&self, _engine: &Engine) -> Option<Fail> {
        None
    }

    /// Has [`Thread::durable`] answer `waiter` when everything up to `sequence` is durable. Returns false when
    /// it is.
    fn wait(&self, _engine: &Engine, _sequence: u64, _waiter: &Arc<Waiter>) -> bool {
        false
    }
}

/// All data is in memory, and nowhere else.
impl Durability for () {}
