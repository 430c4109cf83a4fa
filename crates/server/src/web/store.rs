//! The keyspace as pages see it, through the engine's ordinary path.

use engine::{Engine, Session, Thread};
use pages::Store;

/// See the module's text.
pub(super) struct EngineStore<'a> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    /// The keys that were read.
    pub(super) keys: Vec<Vec<u8>>,
    /// All that was read changes with these keys only.
    pub(super) lasts: bool,
    /// A command could not be run now.
    pub(super) waits: bool,
}

impl Store for EngineStore<'_> {
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
}
