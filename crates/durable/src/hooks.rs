//! What the engine asks of this crate.

use std::sync::Arc;

use commands::Fail;
use config::{Config, Id};
use engine::{Attention, Durability, Engine, Thread};
use store::Waiter;

use crate::state::Durable;
use crate::{journal, shutdown, snapshots};

impl Durability for Durable {
    fn upkeep(&self, engine: &Engine, thread: &mut Thread) {
        shutdown::begin_asked(engine, thread);
        snapshots::upkeep(engine, thread);
        journal::upkeep(engine, thread);
    }

    fn flushed(&self, engine: &Engine, thread: &mut Thread) {
        snapshots::save_after_flush(engine, thread);
    }

    fn apply(
        &self,
        engine: &Engine,
        thread: &mut Thread,
        id: Id,
        config: &Config,
    ) -> Result<(), String> {
        if id != Id::Appendonly {
            return Ok(());
        }
        // Redis's text.
        journal::switch(engine, thread, config.flag(id))
            .map_err(|_| "Unable to turn on AOF. Check server logs.".to_owned())
    }

    fn config_changed(&self, engine: &Engine) {
        journal::follow_config(engine);
        snapshots::follow_config(&self.snapshots, &engine.config, &engine.attention);
    }

    fn options_set(&self, engine: &Engine, changed: &[Id]) {
        if changed.contains(&Id::Dir) || changed.contains(&Id::Save) {
            snapshots::warn_unless_writable(engine);
        }
    }

    fn refusal(&self, engine: &Engine) -> Option<Fail> {
        let attention = engine.attention.get();
        if attention & Attention::UNSAVED != 0 {
            return Some(snapshots::MISCONF);
        }
        (attention & Attention::DISK != 0).then(|| journal::misconf(engine))
    }

    fn wait(&self, engine: &Engine, sequence: u64, waiter: &Arc<Waiter>) -> bool {
        journal::wait(engine, sequence, waiter)
    }
}
