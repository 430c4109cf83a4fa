//! Cached pages as readers of keys, beside connections.
//!
//! A page has a *slot*, one of [`SLOTS`] by the hash of its address. A page reader's number in the table is
//! its slot with the top bit set. A change of a key that a page of the slot has read makes the slot's
//! version higher, while the key's shard is locked, so before the writer gets its reply. A cached page knows
//! the version that its slot had before it was rendered, and is valid as long as the slot has that version.
//! Two pages in one slot drop each other, which costs a rendering and is never wrong. So nothing needs to be
//! registered or forgotten, and memory is bounded. The key that a site is made of has a slot of its own
//! ([`Pages::SITE`]), since it costs more to read than a page.
//!
//! A *part* of a page, which is kept by itself, is valid as long as its keys have the versions that they had
//! before it was rendered ([`Pages::key_version`]): a change of a key that any page has read makes the key's
//! version higher, likewise. Keys with the same slot share a version, too.
//!
//! Who shows a page and wants to know at once that it has changed (a live page) is a [`Watcher`], one for each
//! thread: it is told the slots of its pages that have got another version, and woken.
//!
//! Changes are noted only while pages are in use: from the first rendering on, until none
//! has come for [`REST_MS`] and no live page is shown. Then all pages become invalid.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

/// Set in the number of a reader that is a page.
const PAGE: u64 = 1 << 63;
/// Slots of pages.
const SLOTS: usize = 1 << 17;
/// Slots of keys.
const KEY_SLOTS: usize = 1 << 16;
/// After so many milliseconds without a rendering nothing is noted any more.
const REST_MS: i64 = 60_000;

/// Slots that a watcher is told of one by one.
const TOLD_MAX: usize = 4096;

/// See the module's text.
#[derive(Default)]
pub struct Pages {
    slots: OnceLock<Box<[AtomicU64]>>,
    /// Versions of keys.
    keys: OnceLock<Box<[AtomicU64]>>,
    /// Counts what makes all pages invalid.
    all: AtomicU64,
    on: AtomicBool,
    last_ms: AtomicI64,
    turning: Mutex<()>,
    /// By slot: the watchers of its pages, a bit each.
    watched: OnceLock<Box<[AtomicU64]>>,
    /// Pairs of a slot and a watcher.
    watches: AtomicUsize,
    watchers: RwLock<Vec<Arc<Watcher>>>,
}

/// What a watcher has been told.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Readers' numbers of pages that have another version, some of them more than once.
    pub ids: Vec<u64>,
    /// Any page may have another version.
    pub all: bool,
}

/// See the module's text.
pub struct Watcher {
    /// Its bit. Several may have the same; they are told of each other's slots.
    bit: u64,
    changed: Mutex<Changed>,
    is_told: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Watcher {
    fn tell(&self, id: Option<u64>) {
        let mut changed = self.changed.lock();
        match id {
            Some(id) if changed.ids.len() < TOLD_MAX => changed.ids.push(id),
            _ => {
                changed.ids.clear();
                changed.all = true;
            }
        }
        drop(changed);
        if !self.is_told.swap(true, SeqCst) {
            (self.wake)();
        }
    }

    /// What has changed since the last call; none: nothing has.
    #[inline]
    pub fn take(&self) -> Option<Changed> {
        // In this order: what is told behind it wakes the watcher again.
        (self.is_told.load(SeqCst) && self.is_told.swap(false, SeqCst))
            .then(|| std::mem::take(&mut *self.changed.lock()))
    }
}

impl Pages {
    /// The reader's number of the site itself, which shares its slot with no page.
    pub const SITE: u64 = PAGE | SLOTS as u64;

    fn slots(&self) -> &[AtomicU64] {
        self.slots.get_or_init(|| (0..=SLOTS).map(|_| AtomicU64::new(0)).collect())
    }

    /// The reader's number of a page whose address has this hash. Never 0.
    #[must_use]
    pub fn reader(hash: u64) -> u64 {
        PAGE | (hash % SLOTS as u64)
    }

    /// Whether a reader is a page.
    pub(super) fn is_page(id: u64) -> bool {
        id & PAGE != 0
    }

    fn index(id: u64) -> usize {
        (id & !PAGE) as usize % (SLOTS + 1)
    }

    fn slot(&self, id: u64) -> &AtomicU64 {
        &self.slots()[Self::index(id)]
    }

    /// The version of a page now. What was rendered at a version is valid as long as it stays the same.
    #[inline]
    pub fn version(&self, id: u64) -> u64 {
        // Both only grow, so the sum stays the same only if both do.
        self.all.load(SeqCst).wrapping_add(self.slot(id).load(SeqCst))
    }

    /// The slot of a key for [`Self::key_version`].
    #[must_use]
    pub fn key_slot(key: &[u8]) -> u32 {
        (stdx::hash::hash64(key) % KEY_SLOTS as u64) as u32
    }

    /// The version of a key that a page is about to read, or has read.
    #[inline]
    pub fn key_version(&self, slot: u32) -> u64 {
        let slot = &self.keys()[slot as usize % KEY_SLOTS];
        self.all.load(SeqCst).wrapping_add(slot.load(SeqCst))
    }

    fn keys(&self) -> &[AtomicU64] {
        self.keys.get_or_init(|| (0..KEY_SLOTS).map(|_| AtomicU64::new(0)).collect())
    }

    /// A key that a page has read has changed. To be called before [`Self::changed`], which the page looks at last.
    pub(super) fn key_changed(&self, key: &[u8]) {
        self.keys()[Self::key_slot(key) as usize].fetch_add(1, SeqCst);
    }

    /// To be called before a rendering, and behind the look at its version: from here on changes are noted.
    /// `take_interest` is called when they were not.
    pub fn begin(&self, now_ms: i64, take_interest: impl FnOnce()) {
        // Many renderings have the same time, and a look is cheaper than a note.
        if self.last_ms.load(SeqCst) != now_ms {
            self.last_ms.store(now_ms, SeqCst);
        }
        if self.on.load(SeqCst) {
            return;
        }
        let _turning = self.turning.lock();
        if !self.on.load(SeqCst) {
            take_interest();
            self.on.store(true, SeqCst);
        }
    }

    /// Whether changes are noted for pages.
    pub fn is_on(&self) -> bool {
        self.on.load(SeqCst)
    }

    /// Periodic work: ends the interest when nothing has been rendered for long.
    pub fn rest(&self, now_ms: i64, lose_interest: impl FnOnce()) {
        if !self.is_on()
            || self.watches.load(SeqCst) > 0
            || now_ms.saturating_sub(self.last_ms.load(SeqCst)) < REST_MS
        {
            return;
        }
        let _turning = self.turning.lock();
        if self.on.swap(false, SeqCst) {
            // In this order: a rendering that has looked at its version behind this finds the interest gone.
            self.drop_all();
            lose_interest();
        }
    }

    /// A key that a page has read has changed.
    pub(super) fn changed(&self, id: u64) {
        self.slot(id).fetch_add(1, SeqCst);
        // Behind that: a watcher is one before it looks at the version.
        let mask = self.watched.get().map_or(0, |watched| watched[Self::index(id)].load(SeqCst));
        if mask != 0 {
            let watchers = self.watchers.read();
            watchers.iter().filter(|w| mask & w.bit != 0).for_each(|w| w.tell(Some(id)));
        }
    }

    /// Everything has changed.
    pub fn drop_all(&self) {
        self.all.fetch_add(1, SeqCst);
        self.tell_all();
    }

    /// Has all watchers look at all their pages: what has changed is no key.
    pub fn tell_all(&self) {
        if self.watches.load(SeqCst) > 0 {
            self.watchers.read().iter().for_each(|watcher| watcher.tell(None));
        }
    }

    /// Adds a watcher, which `wake` wakes. That may be called under locks, and must not take any itself.
    pub fn add_watcher(&self, wake: impl Fn() + Send + Sync + 'static) -> Arc<Watcher> {
        let mut watchers = self.watchers.write();
        let watcher = Arc::new(Watcher {
            bit: 1 << (watchers.len() % 64),
            changed: Mutex::default(),
            is_told: AtomicBool::new(false),
            wake: Box::new(wake),
        });
        watchers.push(Arc::clone(&watcher));
        watcher
    }

    /// Has a watcher told of a page from here on; to be called before the look at its version.
    pub fn watch(&self, watcher: &Watcher, id: u64) {
        let new = || (0..=SLOTS).map(|_| AtomicU64::new(0)).collect();
        self.watches.fetch_add(1, SeqCst);
        self.watched.get_or_init(new)[Self::index(id)].fetch_or(watcher.bit, SeqCst);
    }

    /// Ends what [`Self::watch`] has begun.
    pub fn unwatch(&self, watcher: &Watcher, id: u64) {
        self.watches.fetch_sub(1, SeqCst);
        // With more watchers than bits, another one may have the same; to be told too much does no harm.
        if let Some(watched) = self.watched.get()
            && self.watchers.read().len() <= 64
        {
            watched[Self::index(id)].fetch_and(!watcher.bit, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_the_pages_of_its_slot() {
        let pages = Pages::default();
        let (a, b) = (Pages::reader(7), Pages::reader(8));
        assert!(Pages::is_page(a) && a != 0 && Pages::reader(7 + SLOTS as u64) == a);
        let before = (pages.version(a), pages.version(b));
        pages.changed(a);
        assert!(pages.version(a) != before.0 && pages.version(b) == before.1);
        let site = pages.version(Pages::SITE);
        pages.changed(Pages::reader(0));
        assert_eq!(pages.version(Pages::SITE), site);
        pages.changed(Pages::SITE);
        assert!(pages.version(Pages::SITE) != site && pages.version(b) == before.1);
        let slot = Pages::key_slot(b"k");
        let key = pages.key_version(slot);
        pages.changed(a);
        assert_eq!(pages.key_version(slot), key);
        pages.key_changed(b"k");
        let next = pages.key_version(slot);
        assert!(next != key);
        pages.drop_all();
        assert!(pages.version(b) != before.1 && pages.key_version(slot) != next);
    }

    #[test]
    fn watchers_are_told_of_their_pages_and_woken_once() {
        let pages = Pages::default();
        let woken: Arc<[AtomicUsize; 2]> = Arc::default();
        let [a, b] = [0, 1].map(|i| {
            let woken = Arc::clone(&woken);
            pages.add_watcher(move || {
                woken[i].fetch_add(1, SeqCst);
            })
        });
        let (x, y) = (Pages::reader(1), Pages::reader(2));
        pages.watch(&a, x);
        pages.watch(&b, x);
        pages.watch(&b, y);
        pages.changed(x);
        pages.changed(y);
        let counts = || [0, 1].map(|i| woken[i].load(SeqCst));
        assert_eq!(counts(), [1, 1]);
        assert_eq!(a.take(), Some(Changed { ids: vec![x], all: false }));
        assert_eq!(a.take(), None);
        assert_eq!(b.take(), Some(Changed { ids: vec![x, y], all: false }));
        pages.unwatch(&a, x);
        pages.changed(x);
        assert_eq!((a.take(), counts()), (None, [1, 2]));
        pages.drop_all();
        assert_eq!(b.take(), Some(Changed { ids: Vec::new(), all: true }));
        // A live page is shown: the interest stays.
        pages.begin(0, || ());
        pages.rest(10 * REST_MS, || unreachable!("pages are watched"));
        pages.unwatch(&b, x);
        pages.unwatch(&b, y);
        let mut lost = 0;
        pages.rest(10 * REST_MS, || lost += 1);
        assert_eq!(lost, 1);
    }

    #[test]
    fn interest_ends_after_a_rest_and_pages_with_it() {
        let pages = Pages::default();
        let mut taken = 0;
        pages.begin(0, || taken += 1);
        pages.begin(1, || taken += 1);
        assert_eq!(taken, 1);
        let version = pages.version(Pages::reader(1));
        pages.rest(REST_MS, || unreachable!("too early"));
        let mut lost = 0;
        pages.rest(1 + REST_MS, || lost += 1);
        pages.rest(2 + REST_MS, || lost += 1);
        assert_eq!(lost, 1);
        assert!(pages.version(Pages::reader(1)) != version);
    }
}
