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
//! Changes are noted only while somebody takes interest in them: from the first rendering on, until none
//! has come for [`REST_MS`]. Then all pages become invalid.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

use parking_lot::Mutex;

/// Set in the number of a reader that is a page.
const PAGE: u64 = 1 << 63;
/// Slots of pages.
const SLOTS: usize = 1 << 16;
/// After so many milliseconds without a rendering nothing is noted any more.
const REST_MS: i64 = 60_000;

/// See the module's text.
#[derive(Default)]
pub struct Pages {
    slots: OnceLock<Box<[AtomicU64]>>,
    /// Counts what makes all pages invalid.
    all: AtomicU64,
    on: AtomicBool,
    last_ms: AtomicI64,
    turning: Mutex<()>,
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

    fn slot(&self, id: u64) -> &AtomicU64 {
        &self.slots()[(id & !PAGE) as usize % (SLOTS + 1)]
    }

    /// The version of a page now. What was rendered at a version is valid as long as it stays the same.
    #[inline]
    pub fn version(&self, id: u64) -> u64 {
        // Both only grow, so the sum stays the same only if both do.
        self.all.load(SeqCst).wrapping_add(self.slot(id).load(SeqCst))
    }

    /// To be called before a rendering, and behind the look at its version: from here on changes are noted.
    /// `take_interest` is called when they were not.
    pub fn begin(&self, now_ms: i64, take_interest: impl FnOnce()) {
        self.last_ms.store(now_ms, SeqCst);
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
        if !self.is_on() || now_ms.saturating_sub(self.last_ms.load(SeqCst)) < REST_MS {
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
    }

    /// Everything has changed.
    pub fn drop_all(&self) {
        self.all.fetch_add(1, SeqCst);
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
        pages.drop_all();
        assert!(pages.version(b) != before.1);
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
