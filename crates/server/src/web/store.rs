//! The keyspace as pages see it, through the engine's ordinary path.

use engine::tracking::Pages;
use engine::{Engine, Session, Thread};
use pages::Store;

use super::guard::Guard;

/// What was there before a part began.
pub(super) struct Begun {
    keys: usize,
    lasts: bool,
}

/// See the module's text.
pub(super) struct EngineStore<'a, 'g> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    /// The keys that were read.
    pub(super) keys: Vec<Vec<u8>>,
    /// All that was read changes with these keys only.
    pub(super) lasts: bool,
    /// The hash of the page's address, if its parts are noted.
    pub(super) address: Option<u64>,
    /// The part that has begun.
    pub(super) part: Option<Begun>,
    /// The first deadline of what finished parts have read, in Unix milliseconds.
    pub(super) deadline_ms: i64,
    /// A command could not be run now.
    pub(super) waits: bool,
    /// Tokens and signed cookies, which few pages ask for.
    pub(super) guard: Option<Guard<'g>>,
    pub(super) make_guard: &'a dyn Fn() -> Guard<'g>,
}

impl<'a, 'g> EngineStore<'a, 'g> {
    /// A store that nothing was read from.
    pub(super) fn new(
        engine: &'a Engine,
        thread: &'a mut Thread,
        session: &'a mut Session,
        make_guard: &'a dyn Fn() -> Guard<'g>,
    ) -> Self {
        session.part = 0;
        Self {
            engine,
            thread,
            session,
            keys: Vec::new(),
            lasts: true,
            address: None,
            part: None,
            deadline_ms: i64::MAX,
            waits: false,
            guard: None,
            make_guard,
        }
    }

    /// The reader's number of a part.
    fn part_id(&self, hash: u64) -> Option<u64> {
        // An odd factor: parts of one page, and pages with like parts, get slots of their own.
        let address = self.address?.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Some(Pages::reader(address ^ hash))
    }
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

    fn begin_part(&mut self, hash: u64) -> Option<u64> {
        let id = self.part_id(hash)?;
        self.session.part = id;
        self.part = Some(Begun { keys: self.keys.len(), lasts: self.lasts });
        self.lasts = true;
        Some(self.engine.tracking.pages.version(id))
    }

    fn end_part(&mut self) -> Option<i64> {
        let before = self.part.take()?;
        self.session.part = 0;
        let lasts = self.lasts;
        self.lasts &= before.lasts;
        if !lasts {
            return None;
        }
        let deadline = self.thread.first_deadline(self.engine, 0, &self.keys[before.keys..]);
        self.keys.truncate(before.keys);
        let deadline_ms = deadline.unwrap_or(i64::MAX);
        self.deadline_ms = self.deadline_ms.min(deadline_ms);
        Some(deadline_ms)
    }

    fn has_part(&mut self, hash: u64, version: u64, deadline_ms: i64) -> bool {
        let Some(id) = self.part_id(hash) else { return false };
        let has =
            self.engine.tracking.pages.version(id) == version && self.thread.cx.now < deadline_ms;
        if has {
            self.deadline_ms = self.deadline_ms.min(deadline_ms);
        }
        has
    }

    fn token(&mut self) -> Result<String, String> {
        self.guard.get_or_insert_with(self.make_guard).token()
    }

    fn verified(&mut self, name: &str, text: &str) -> Option<String> {
        self.guard.get_or_insert_with(self.make_guard).verified(name, text)
    }
}
