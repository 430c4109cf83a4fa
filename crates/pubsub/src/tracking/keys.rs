//! Which connections have read which keys. Names of keys are those of all databases, as in Redis.
//!
//! Spread over stripes by the keys' hash, so that reads and writes of different keys on different
//! threads do not wait for each other.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::map::Map;

const STRIPES: usize = 1024;

/// A key and the connections that have read it, ascending.
type Readers = Map<Box<[u8]>, Vec<u64>>;

/// See the module's text.
pub(super) struct Keys {
    stripes: Box<[Mutex<Readers>]>,
    count: AtomicU64,
    items: AtomicU64,
    /// Where to look for the next key to forget.
    hand: AtomicUsize,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            count: AtomicU64::new(0),
            items: AtomicU64::new(0),
            hand: AtomicUsize::new(0),
        }
    }
}

impl Keys {
    fn stripe(&self, key: &[u8]) -> &Mutex<Readers> {
        &self.stripes[stdx::hash::hash64(key) as usize % STRIPES]
    }

    /// Notes that a connection has read a key.
    pub(super) fn add(&self, key: &[u8], id: u64) {
        let mut readers = self.stripe(key).lock();
        if let Some(ids) = readers.get_mut(key) {
            if let Err(at) = ids.binary_search(&id) {
                ids.insert(at, id);
                self.items.fetch_add(1, Relaxed);
            }
            return;
        }
        readers.insert(key.into(), vec![id]);
        self.count.fetch_add(1, Relaxed);
        self.items.fetch_add(1, Relaxed);
    }

    /// Forgets a key. Returns the connections that have read it.
    pub(super) fn take(&self, key: &[u8]) -> Vec<u64> {
        if self.count() == 0 {
            return Vec::new();
        }
        let ids = self.stripe(key).lock().remove(key).unwrap_or_default();
        if !ids.is_empty() {
            self.count.fetch_sub(1, Relaxed);
            self.items.fetch_sub(ids.len() as u64, Relaxed);
        }
        ids
    }

    /// Some key.
    pub(super) fn any(&self) -> Option<Box<[u8]>> {
        (0..STRIPES).find_map(|_| {
            let s = self.hand.fetch_add(1, Relaxed) % STRIPES;
            self.stripes[s].lock().keys().next().cloned()
        })
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.stripes.iter().for_each(|stripe| self.clear_stripe(stripe));
    }

    /// Forgets a part of everything; to be called again and again.
    pub(super) fn clear_some(&self) {
        for _ in 0..STRIPES / 64 {
            let s = self.hand.fetch_add(1, Relaxed) % STRIPES;
            self.clear_stripe(&self.stripes[s]);
        }
    }

    fn clear_stripe(&self, stripe: &Mutex<Readers>) {
        let gone = std::mem::take(&mut *stripe.lock());
        self.count.fetch_sub(gone.len() as u64, Relaxed);
        let items: usize = gone.values().map(Vec::len).sum();
        self.items.fetch_sub(items as u64, Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    pub(super) fn items(&self) -> u64 {
        self.items.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_with_all_its_readers() {
        let keys = Keys::default();
        for (key, id) in [("a", 7), ("b", 7), ("a", 3), ("a", 7)] {
            keys.add(key.as_bytes(), id);
        }
        assert_eq!((keys.count(), keys.items()), (2, 3));
        assert_eq!(keys.take(b"a"), [3, 7]);
        assert!(keys.take(b"a").is_empty());
        assert_eq!(keys.any().as_deref(), Some(b"b".as_slice()));
        keys.clear();
        assert_eq!((keys.count(), keys.items()), (0, 0));
        assert!(keys.any().is_none());
    }
}
