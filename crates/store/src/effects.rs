//! What a command changed, noted while it runs and read once by the engine's commit.

/// The journal among the reasons to note changes.
pub(crate) const JOURNAL: usize = 1 << (usize::BITS - 2);
/// Events of missed keys among them: few want these, and reading is frequent.
pub(crate) const MISSES: usize = 1 << (usize::BITS - 3);

/// Classes of keyspace events, as the letters of `notify-keyspace-events`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Class {
    /// None: a change that concerns WATCH, tracking and blocked commands, and is no event.
    Silent = 0,
    /// `g`: DEL, EXPIRE, RENAME …
    Generic = 1 << 2,
    /// `$`
    String = 1 << 3,
    /// `l`
    List = 1 << 4,
    /// `s`
    Set = 1 << 5,
    /// `h`
    Hash = 1 << 6,
    /// `z`
    ZSet = 1 << 7,
    /// `x`
    Expired = 1 << 8,
    /// `e`
    Evicted = 1 << 9,
    /// `t`
    Stream = 1 << 10,
    /// `m`
    KeyMiss = 1 << 11,
    /// `n`
    New = 1 << 14,
}

/// One keyspace event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its class.
    pub class: Class,
    /// Its name, such as `set` or `expired`.
    pub name: &'static str,
    /// The database of the key.
    pub db: usize,
    /// The key.
    pub key: Vec<u8>,
}

impl Event {
    /// Whether the key's value has changed, which WATCH and client-side caches depend on. A change
    /// of a stream's groups or counters does not change its entries.
    pub fn is_change(&self) -> bool {
        let aside = matches!(self.class, Class::KeyMiss | Class::New)
            || self.class == Class::Stream
                && (self.name.starts_with("xgroup-") || self.name == "xsetid");
        !aside
    }
}

/// See the module's text. Kept per thread and reused.
#[derive(Default, Debug)]
pub struct Effects {
    /// Changes since the command began (Redis's `server.dirty`); 0 means that nothing was written.
    pub dirty: u64,
    /// Whether anything observes changes: only then are events and journal forms noted at all.
    pub observed: bool,
    /// Only the journal observes changes: no event needs noting.
    quiet: bool,
    /// Events of missed keys are wanted, too.
    misses: bool,
    /// The last answer of the keyspace.
    interest: usize,
    /// Keyspace events in order.
    pub events: Vec<Event>,
    /// Keys deleted because they expired or were evicted: they come before the command itself in
    /// the journal, as DEL (database, key).
    pub dropped: Vec<(usize, Vec<u8>)>,
    /// Fields of hashes deleted because they expired: they come after `dropped` and before the
    /// command itself in the journal, as HDEL (database, key, field).
    pub dropped_fields: Vec<(usize, Vec<u8>, Vec<u8>)>,
    /// Whether a whole database was emptied.
    pub flushed: bool,
    /// The journal form, when it is not the command's own arguments: absolute deadlines, results in
    /// place of increments. Empty means: the arguments as they are. A form stated here goes into
    /// the journal even when `dirty` is 0: some changes do not count as such.
    pub rewritten: Vec<Vec<u8>>,
    /// Further journal records of this command, behind the first.
    pub also: Vec<Vec<Vec<u8>>>,
    /// Buffers of keys of earlier events, so that noting one allocates nothing.
    spare: Vec<Vec<u8>>,
}

/// A longer key's buffer is not kept.
const SPARE_MAX: usize = 1024;

impl Effects {
    /// Notes which features observe changes, as the keyspace says.
    #[inline]
    pub(crate) fn observe(&mut self, interest: usize) {
        if interest != self.interest {
            self.interest = interest;
            self.observed = interest != 0;
            self.quiet = interest == JOURNAL;
            self.misses = interest & MISSES != 0;
        }
    }

    /// Clears everything except the observers.
    #[inline]
    pub fn clear(&mut self) {
        self.dirty = 0;
        if self.observed {
            while let Some(e) = self.events.pop() {
                if self.spare.len() < 16 && e.key.capacity() <= SPARE_MAX {
                    self.spare.push(e.key);
                }
            }
            self.dropped.clear();
            self.dropped_fields.clear();
            self.rewritten.clear();
            self.also.clear();
            self.flushed = false;
        }
    }

    /// Notes a keyspace event, if anything observes changes.
    #[inline]
    pub fn event(&mut self, class: Class, name: &'static str, db: usize, key: &[u8]) {
        if self.observed && !self.quiet {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(key);
            self.events.push(Event { class, name, db, key: buffer });
        }
    }

    /// Notes that a key was looked for in vain, if that is wanted.
    #[inline]
    pub(crate) fn missed(&mut self, db: usize, key: &[u8]) {
        if self.misses {
            self.event(Class::KeyMiss, "keymiss", db, key);
        }
    }

    /// Notes a field that was removed without a command: it expired. Its event is noted separately,
    /// once for all fields of a key.
    pub fn dropped_field(&mut self, db: usize, key: &[u8], field: &[u8]) {
        if self.observed {
            self.dropped_fields.push((db, key.to_vec(), field.to_vec()));
        }
    }

    /// Notes a key that was removed without a command and without an event.
    pub(crate) fn gone(&mut self, db: usize, key: &[u8]) {
        if self.observed {
            self.dropped.push((db, key.to_vec()));
        }
    }

    /// Notes a key that was removed without a command: it expired or was evicted.
    #[inline]
    pub fn dropped(&mut self, class: Class, name: &'static str, db: usize, key: &[u8]) {
        if self.observed {
            self.dropped.push((db, key.to_vec()));
            self.event(class, name, db, key);
        }
    }
}
