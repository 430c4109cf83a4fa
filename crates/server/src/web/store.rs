//! The keyspace as pages see it, through the engine's ordinary path.

use engine::tracking::Pages;
use engine::{Engine, Session, Thread};
use pages::Store;

use super::guard::Guard;

/// What was there before a part began.
pub(super) struct Begun {
    keys: usize,
    slots: usize,
    version: u64,
    lasts: bool,
}

/// Keys of a part; one with more is not kept.
const PART_KEYS_MAX: usize = 256;

/// See the module's text.
pub(super) struct EngineStore<'a, 'g> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    /// The keys that were read.
    pub(super) keys: Vec<Vec<u8>>,
    /// All that was read changes with these keys only.
    pub(super) lasts: bool,
    /// Its parts are noted.
    pub(super) notes: bool,
    /// Slots of the keys that the parts have read, and for the last one their versions before that, added up.
    slots: Vec<u32>,
    version: u64,
    /// The parts that have begun, one in the other.
    parts: Vec<Begun>,
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
        Self {
            engine,
            thread,
            session,
            keys: Vec::new(),
            lasts: true,
            notes: false,
            slots: Vec::new(),
            version: 0,
            parts: Vec::new(),
            deadline_ms: i64::MAX,
            waits: false,
            guard: None,
            make_guard,
        }
    }
}

impl Store for EngineStore<'_, '_> {
    fn read(&mut self, mut words: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        let Self { engine, thread, session, keys, parts, slots, version, .. } = self;
        let note = |key: &[u8]| {
            keys.push(key.to_vec());
            if !parts.is_empty() {
                let slot = Pages::key_slot(key);
                *version = version.wrapping_add(engine.tracking.pages.key_version(slot));
                slots.push(slot);
            }
        };
        let read = thread.read_for_page(engine, session, &mut words, note)?;
        self.lasts &= read.lasts;
        if read.reply.is_empty() {
            self.waits = true;
            return Err("commands have to wait at present".into());
        }
        Ok(read.reply)
    }

    fn begin_part(&mut self) -> bool {
        if self.notes {
            let (keys, slots) = (self.keys.len(), self.slots.len());
            let (version, lasts) = (self.version, self.lasts);
            self.parts.push(Begun { keys, slots, version, lasts });
            self.lasts = true;
            self.version = 0;
        }
        self.notes
    }

    fn end_part(&mut self, slots: &mut Vec<u32>) -> Option<(u64, i64)> {
        let before = self.parts.pop()?;
        let lasts = self.lasts;
        self.lasts &= before.lasts;
        let version = std::mem::replace(&mut self.version, before.version);
        let read = self.slots.get(before.slots..).unwrap_or_default();
        let is_kept = lasts && read.len() <= PART_KEYS_MAX;
        if is_kept {
            slots.extend_from_slice(read);
        }
        self.slots.truncate(before.slots);
        if !is_kept {
            return None;
        }
        let deadline = self.thread.first_deadline(self.engine, 0, &self.keys[before.keys..]);
        self.keys.truncate(before.keys);
        let deadline_ms = deadline.unwrap_or(i64::MAX);
        self.deadline_ms = self.deadline_ms.min(deadline_ms);
        Some((version, deadline_ms))
    }

    fn has_part(&mut self, slots: &[u32], version: u64, deadline_ms: i64) -> bool {
        let pages = &self.engine.tracking.pages;
        let now = || slots.iter().fold(0, |sum: u64, s| sum.wrapping_add(pages.key_version(*s)));
        // Versions only grow: their sum is the same only if each is.
        let has = self.notes && self.thread.cx.now < deadline_ms && now() == version;
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
