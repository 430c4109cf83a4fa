//! Where a topic's objects are, as far as this process knows, and which objects readers read last.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::Header;
use crate::storage::disk::scan::Index;

/// Objects whose position is remembered, per topic that is in use …
const PLACES: usize = 20_000;
/// … and positions of batches in them: 1 MiB or so.
const ENTRIES: usize = 40_000;
/// Where objects are.
#[derive(Default)]
pub(super) struct Map {
    pub(super) places: BTreeMap<u64, KnownObject>,
    /// In the indexes of all positions.
    pub(super) entries: usize,
}

/// An object.
#[derive(Clone, Default)]
pub(super) struct KnownObject {
    /// The offset after it.
    pub(super) next: u64,
    pub(super) bytes: u64,
    /// When it was appended, once that is known.
    pub(super) us: Option<u64>,
    /// Where in it batches are, once that is known.
    pub(super) index: Option<Arc<Index>>,
}

impl Map {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Notes an object whose headers are known.
    pub(super) fn add(&mut self, first: u64, next: u64, bytes: u64, headers: &[(u64, Header)]) {
        let mut index = Index::default();
        headers.iter().for_each(|(at, h)| index.add(*at, h));
        let us = headers.first().map(|(_, h)| h.appended_us);
        self.put(first, KnownObject { next, bytes, us, index: Some(Arc::new(index)) });
    }

    pub(super) fn put(&mut self, first: u64, place: KnownObject) {
        self.entries += place.entries();
        if let Some(before) = self.places.insert(first, place) {
            self.entries -= before.entries();
        }
        while self.places.len() > PLACES || self.entries > ENTRIES {
            // More readers read at the end than read old records.
            let Some((_, gone)) = self.places.pop_first() else { break };
            self.entries -= gone.entries();
        }
    }

    /// Notes where in an object that is known its batches are.
    pub(super) fn set_index(&mut self, first: u64, index: Arc<Index>) {
        if let Some(place) = self.places.get(&first) {
            let place = KnownObject { index: Some(index), ..place.clone() };
            self.put(first, place);
        }
    }

    /// The same for an object that is only known from a listing, unless more is known.
    pub(super) fn put_new(&mut self, first: u64, place: &KnownObject) {
        if !self.places.contains_key(&first) {
            self.put(first, place.clone());
        }
    }

    /// The object that holds an offset, if it is known.
    pub(super) fn holding(&self, offset: u64) -> Option<(u64, KnownObject)> {
        let (first, place) = self.places.range(..=offset).next_back()?;
        (place.next > offset).then(|| (*first, place.clone()))
    }

    /// Forgets all before `first`.
    pub(super) fn cut(&mut self, first: u64) {
        self.places = self.places.split_off(&first);
        self.entries = self.places.values().map(KnownObject::entries).sum();
    }
}

impl KnownObject {
    fn entries(&self) -> usize {
        self.index.as_ref().map_or(0, |i| i.len())
    }
}

/// A reader that reads from object to object, as far as can be seen.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// Where the object ends that was read last.
    pub(super) end: u64,
    /// How many were read one after the other.
    pub(super) run: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_places_is_bounded() {
        // Each is 64 KiB, so that all are in the index.
        let headers: Vec<_> = (0..1000).map(|i| (i << 16, Header::default())).collect();
        let mut map = Map::default();
        for i in 0..100 {
            map.add(i, i + 1, 1000 << 16, &headers);
        }
        assert_eq!((map.places.len(), map.entries), (40, ENTRIES));
        assert!(map.holding(59).is_none() && map.holding(60).is_some());
        map.add(99, 100, 1000 << 16, &headers[..10]);
        map.cut(90);
        assert_eq!((map.places.len(), map.entries), (10, 9010));
        map.put(99, KnownObject { next: 100, ..KnownObject::default() });
        assert_eq!(map.entries, 9000);
        map.set_index(99, Arc::default());
        map.clear();
        assert_eq!((map.places.len(), map.entries), (0, 0));
        for i in 0..PLACES as u64 + 7 {
            map.put(i, KnownObject { next: i + 1, ..KnownObject::default() });
        }
        assert_eq!(map.places.len(), PLACES);
    }
}
