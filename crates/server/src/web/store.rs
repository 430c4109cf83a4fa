//! The keyspace as pages see it, through the engine's ordinary path.

use engine::tracking::Pages;
use engine::{Engine, Session, Thread};
use pages::{Dependency, Store};

use super::answer::is_current;
use super::guard::Guard;

/// What was there before a part or a fragment began.
pub(super) struct Begun {
    keys: usize,
    slots: usize,
    version: u64,
    lasts: bool,
    deadline_ms: i64,
    /// For whom reads were noted.
    reader: u64,
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
    /// The parts and fragments that have begun, one in the other.
    parts: Vec<Begun>,
    /// The first deadline of what finished parts and fragments have read, in Unix milliseconds.
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

impl EngineStore<'_, '_> {
    /// From here on reads are noted for this reader.
    fn begin(&mut self, reader: u64) {
        let reader = std::mem::replace(&mut self.session.page, reader);
        let (keys, slots) = (self.keys.len(), self.slots.len());
        let (version, lasts, deadline_ms) = (self.version, self.lasts, self.deadline_ms);
        self.parts.push(Begun { keys, slots, version, lasts, deadline_ms, reader });
        (self.version, self.lasts, self.deadline_ms) = (0, true, i64::MAX);
    }

    /// Ends what has begun last. Returns until when it is valid; none: it depends on more than keys.
    fn end(&mut self) -> Option<i64> {
        let before = self.parts.pop()?;
        let lasts = self.lasts;
        let own = self.thread.first_deadline(self.engine, 0, &self.keys[before.keys..]);
        let deadline_ms = self.deadline_ms.min(own.unwrap_or(i64::MAX));
        self.keys.truncate(before.keys);
        self.slots.truncate(before.slots);
        self.session.page = before.reader;
        self.version = before.version;
        self.lasts &= before.lasts;
        self.deadline_ms = before.deadline_ms.min(deadline_ms);
        lasts.then_some(deadline_ms)
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
            self.begin(self.session.page);
        }
        self.notes
    }

    fn end_part(&mut self, slots: &mut Vec<u32>) -> Option<(u64, i64)> {
        let before = self.parts.last()?.slots;
        let read = self.slots.get(before..).unwrap_or_default();
        let fits = read.len() <= PART_KEYS_MAX;
        if fits {
            slots.extend_from_slice(read);
        }
        let version = self.version;
        let deadline_ms = self.end()?;
        fits.then_some((version, deadline_ms))
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

    fn begin_fragment(&mut self, hash: u64) -> Option<Dependency> {
        if !self.notes {
            return None;
        }
        let (table, reader) = (&self.engine.tracking.pages, Pages::reader(hash));
        let version = table.version(reader);
        table.begin(self.thread.cx.now, || self.engine.keyspace.take_interest());
        self.begin(reader);
        Some(Dependency { reader, version })
    }

    fn end_fragment(&mut self) -> Option<i64> {
        self.end()
    }

    fn has_fragment(&mut self, depends: &[Dependency], deadline_ms: i64) -> bool {
        let pages = &self.engine.tracking.pages;
        let is_valid = self.notes && self.thread.cx.now < deadline_ms;
        let has = is_valid && depends.iter().all(|of| is_current(pages, of));
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
