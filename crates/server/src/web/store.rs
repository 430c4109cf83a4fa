//! The keyspace as pages see it, through the engine's ordinary path.

use engine::{Engine, Session, Thread};
use pages::Store;

use super::guard::Guard;

/// See the module's text.
pub(super) struct EngineStore<'a, 'g> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    /// The keys that were read.
    pub(super) keys: Vec<Vec<u8>>,
    /// All that was read changes with these keys only.
    pub(super) lasts: bool,
    /// A command could not be run now.
    pub(super) waits: bool,
    /// Tokens and signed cookies, which few pages ask for.
    pub(super) guard: Option<Guard<'g>>,
    pub(super) make_guard: &'a dyn Fn() -> Guard<'g>,
}

impl Store for EngineStore<'_, '_> {
    fn read(&mut self, mut words: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        let Self { engine, thread, session, keys, .. } = self;
        let read = thread.read_for_page(engine, session, &mut words, keys)?;
        self.lasts &= read.lasts;
        if read.reply.is_empty() {
            self.waits = true;
            return Err("commands have to wait at present".into());
        }
        Ok(read.reply)
    }

    fn token(&mut self) -> Result<String, String> {
        self.guard.get_or_insert_with(self.make_guard).token()
    }

    fn verified(&mut self, name: &str, text: &str) -> Option<String> {
        self.guard.get_or_insert_with(self.make_guard).verified(name, text)
    }
}
