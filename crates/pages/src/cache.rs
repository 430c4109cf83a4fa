//! Finished pages by their addresses.
//!
//! A page is valid at one version of its slot in the table of reads, of its site, and of the user as whom it
//! was rendered; the one who looks it up compares. Nothing is removed when a key changes: an invalid page is
//! replaced by the next rendering. Memory is bounded: the page that was put in first goes first, unless it has
//! been used since. Addresses are spread over parts with a lock each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
use stdx::hash::Seeded;

use crate::content::{Content, Memory};
use crate::fragments::{Dependency, Fragments};
use crate::live::Blocks;
use crate::parts::{Earlier, Parts};

const PARTS: usize = 16;
/// Bytes that a page takes besides its own.
const OVERHEAD: usize = 256;

/// Of so many bytes for all, how many fragments may take.
#[must_use]
pub fn fragments_max(max: usize) -> usize {
    max / 4
}

/// A finished page.
#[derive(Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// Its body and fields; compressed ones are counted apart.
    pub content: Arc<Content>,
    /// Its live blocks.
    pub blocks: Arc<Blocks>,
    /// Its parts, from which the next one is made.
    pub parts: Parts,
    /// Its fragments, with their versions.
    pub depends: Box<[Dependency]>,
    /// The version that its slot had before it was rendered.
    pub version: u64,
    /// The number of its site, and of the user's rules.
    pub made_by: (u64, u64),
    /// The number of its route in that site.
    pub route: usize,
    /// Until when it is valid, in Unix milliseconds: the first deadline of a key.
    pub deadline_ms: i64,
}

impl Page {
    /// What the next page at this address can be made from.
    #[must_use]
    pub fn as_earlier(&self) -> Earlier<'_> {
        Earlier { parts: &self.parts, body: &self.content.plain().body }
    }

    fn bytes(&self, address: &str) -> usize {
        let form = self.content.plain();
        let own = form.fields.capacity() + form.body.len() + form.etag.len() + self.blocks.bytes();
        let depends = size_of_val::<[Dependency]>(&self.depends);
        own + self.parts.bytes() + depends + 2 * address.len() + OVERHEAD
    }
}

#[derive(Debug)]
struct Kept {
    page: Arc<Page>,
    used: AtomicBool,
}

#[derive(Default, Debug)]
struct Part {
    pages: RwLock<HashMap<Box<str>, Kept, Seeded>>,
    /// Addresses in the order in which they came; each once.
    order: Mutex<VecDeque<Box<str>>>,
}

/// What happened so far.
#[derive(Default, Debug)]
pub struct Counts {
    /// Requests that were answered from here.
    pub hits: AtomicU64,
    /// Requests for which a page was rendered.
    pub renderings: AtomicU64,
    /// Parts of rendered pages that were taken from the page before, or from fragments.
    pub parts_kept: AtomicU64,
    /// Pages that went to make room.
    pub evictions: AtomicU64,
    /// Renderings that failed.
    pub failures: AtomicU64,
}

/// See the module's text.
#[derive(Default, Debug)]
pub struct Cache {
    parts: [Part; PARTS],
    bytes: AtomicUsize,
    /// Bytes of compressed forms, of files, too.
    pub compressed: Memory,
    /// What pages have in common.
    pub fragments: Fragments,
    /// See [`Counts`].
    pub counts: Counts,
}

impl Cache {
    fn part(&self, address: &str) -> &Part {
        &self.parts[stdx::hash::hash64(address.as_bytes()) as usize % PARTS]
    }

    /// The page with this address, valid or not.
    #[must_use]
    pub fn get(&self, address: &str) -> Option<Arc<Page>> {
        let pages = self.part(address).pages.read();
        let kept = pages.get(address)?;
        if !kept.used.load(Relaxed) {
            kept.used.store(true, Relaxed);
        }
        Some(Arc::clone(&kept.page))
    }

    /// Keeps a page, within `max` bytes of all pages.
    pub fn put(&self, address: &str, page: Arc<Page>, max: usize) {
        let bytes = page.bytes(address);
        if bytes > max / 4 {
            return;
        }
        let part = self.part(address);
        let kept = Kept { page, used: AtomicBool::new(false) };
        let mut pages = part.pages.write();
        let old = match pages.get_mut(address) {
            Some(place) => Some(std::mem::replace(place, kept)),
            None => {
                part.order.lock().push_back(address.into());
                pages.insert(address.into(), kept)
            }
        };
        drop(pages);
        let gone = old.map_or(0, |old| old.page.bytes(address));
        if bytes != gone {
            self.bytes.fetch_add(bytes, Relaxed);
            self.bytes.fetch_sub(gone, Relaxed);
        }
        self.shrink_from(max, stdx::hash::hash64(address.as_bytes()) as usize);
    }

    /// Makes room, so that all pages, forms and fragments have `max` bytes.
    pub fn shrink(&self, max: usize) {
        self.shrink_from(max, 0);
    }

    /// Begins with one part and goes on with the others.
    fn shrink_from(&self, max: usize, from: usize) {
        if self.fragments.bytes() > fragments_max(max) {
            self.fragments.shrink(fragments_max(max));
        }
        for i in 0..PARTS {
            let part = &self.parts[(from + i) % PARTS];
            while self.bytes() > max {
                let mut pages = part.pages.write();
                let mut order = part.order.lock();
                let Some(address) = order.pop_front() else { break };
                if pages.get(&address).is_some_and(|kept| kept.used.swap(false, Relaxed)) {
                    order.push_back(address);
                    continue;
                }
                if let Some(old) = pages.remove(&address) {
                    self.bytes.fetch_sub(old.page.bytes(&address), Relaxed);
                    self.counts.evictions.fetch_add(1, Relaxed);
                }
            }
        }
    }

    /// Bytes of all pages, of compressed forms and of fragments.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed) + self.compressed.load(Relaxed) + self.fragments.bytes()
    }

    /// Bytes of the pages of one site, by the numbers of their routes, without compressed forms.
    #[must_use]
    pub fn bytes_by_route(&self, site: u64) -> HashMap<usize, usize> {
        let mut bytes = HashMap::new();
        for part in &self.parts {
            for (address, kept) in part.pages.read().iter() {
                if kept.page.made_by.0 == site {
                    *bytes.entry(kept.page.route).or_default() += kept.page.bytes(address);
                }
            }
        }
        bytes
    }

    /// How many pages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.pages.read().len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> Arc<Page> {
        Arc::new(Page {
            status: 200,
            content: Arc::new(Content::new(
                "",
                String::new(),
                Vec::new(),
                Arc::new(vec![0; bytes]),
            )),
            blocks: Arc::default(),
            parts: Parts::default(),
            depends: Box::default(),
            version: 1,
            made_by: (1, 1),
            route: 0,
            deadline_ms: i64::MAX,
        })
    }

    #[test]
    fn memory_is_bounded_and_used_pages_stay() {
        let cache = Cache::default();
        for i in 0..1000 {
            cache.put(&format!("/{i}"), page(1000), 100_000);
            assert!(cache.bytes() <= 100_000);
            assert!(cache.get("/0").is_some(), "{i}");
        }
        assert!(cache.len() > 50 && cache.len() < 100, "{}", cache.len());
        assert_eq!(cache.counts.evictions.load(Relaxed), 1000 - cache.len() as u64);
        cache.put("/0", page(2000), 100_000);
        cache.put("/big", page(50_000), 100_000);
        assert!(cache.get("/big").is_none());
        cache.put("/x", page(0), 0);
        let bytes: usize = cache.parts.iter().map(|p| p.order.lock().len()).sum();
        assert_eq!(bytes, cache.len());
    }
}
