//! Broadcasting mode: connections that are notified of every change of keys with a prefix.
//!
//! A thread collects the keys that its batch changes and looks up here, when the batch ends, the
//! connections to notify: each connection gets one message per prefix and batch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;

/// Changed keys, each with the connection that changed it last.
type Changes<'k> = Vec<(&'k [u8], u64)>;

/// Prefixes, and the connections that are notified of each.
#[derive(Default)]
pub(super) struct Prefixes {
    map: RwLock<BTreeMap<Vec<u8>, Vec<u64>>>,
    count: AtomicU64,
}

impl Prefixes {
    pub(super) fn add(&self, prefix: &[u8], id: u64) {
        let mut map = self.map.write();
        let ids = map.entry(prefix.to_vec()).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
        self.count.store(map.len() as u64, Relaxed);
    }

    pub(super) fn remove(&self, prefix: &[u8], id: u64) {
        let mut map = self.map.write();
        if let Some(ids) = map.get_mut(prefix) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                map.remove(prefix);
            }
        }
        self.count.store(map.len() as u64, Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// For every prefix that some of the changed keys have: the connections to notify, and the
    /// keys.
    pub(super) fn affected<'k>(
        &self,
        changed: &'k [(Box<[u8]>, u64)],
    ) -> Vec<(Vec<u64>, Changes<'k>)> {
        let keys: BTreeMap<&[u8], u64> = changed.iter().map(|(k, by)| (&**k, *by)).collect();
        // Sorted, so that the keys with a prefix follow one another.
        let keys: Changes<'k> = keys.into_iter().collect();
        let mut all = Vec::new();
        for (prefix, ids) in self.map.read().iter() {
            let from = keys.partition_point(|(key, _)| *key < prefix.as_slice());
            let found = keys[from..].iter().take_while(|(key, _)| key.starts_with(prefix));
            let found: Changes<'k> = found.copied().collect();
            if !found.is_empty() {
                all.push((ids.clone(), found));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_by_prefix_once_each() {
        let p = Prefixes::default();
        p.add(b"", 1);
        p.add(b"a:", 2);
        p.add(b"a:", 2);
        p.add(b"c", 3);
        let key = |k: &str, by| (k.as_bytes().into(), by);
        let changed = [key("b", 8), key("a:1", 8), key("a", 8), key("a:1", 9)];
        let told = p.affected(&changed);
        let all: Changes<'_> = vec![(b"a", 8), (b"a:1", 9), (b"b", 8)];
        assert_eq!(told, [(vec![1], all), (vec![2], vec![(b"a:1".as_slice(), 9)])]);
        p.remove(b"a:", 2);
        p.remove(b"a:", 5);
        assert_eq!(p.count(), 2);
    }
}
