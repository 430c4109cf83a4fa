//! What a cache holds: values by key and command, within bounds.
//!
//! Invariants: an entry that is under way is only filled by the read that made it, and an invalidation of its key
//! takes it away first, so that a value which was read before a change is never kept after it. `bytes` is the sum of
//! the entries' weights. Each value has one place in `order`; places without a value are swept away in time.

use crate::value::Value;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// What an entry costs beside its bytes: the maps' own space, roughly.
const ENTRY_BYTES: usize = 160;
/// This many dead places in the order are tolerated.
const DEAD_MAX: usize = 64;

/// Values, and reads that are under way, of which `F` is the handle.
#[derive(Debug)]
pub(crate) struct Store<F> {
    keys: HashMap<Vec<u8>, HashMap<Vec<u8>, Entry<F>>>,
    /// Keys and commands in the order of their values' arrival, with the entry's number; second chances go behind.
    order: VecDeque<(Vec<u8>, Vec<u8>, u64)>,
    entries_max: usize,
    bytes_max: usize,
    entries: usize,
    bytes: usize,
    next: u64,
    pub(crate) evicted: u64,
}

#[derive(Debug)]
enum Entry<F> {
    Flying { number: u64, flight: F },
    Kept { number: u64, value: Value, until: Option<Instant>, weight: usize, is_used: bool },
}

/// What is there for a command.
#[derive(Debug)]
pub(crate) enum Found<F> {
    /// The value.
    Kept(Value),
    /// A read is under way.
    Flying(F),
    /// Nothing; the read under this number may be filled in.
    Missing(u64),
}

impl<F: Clone> Store<F> {
    pub(crate) fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            keys: HashMap::new(),
            order: VecDeque::new(),
            entries_max,
            bytes_max,
            entries: 0,
            bytes: 0,
            next: 0,
            evicted: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks a command up. If there is nothing, `begin` makes the handle of a read that is under way from now on.
    pub(crate) fn find(
        &mut self,
        key: &[u8],
        command: &[u8],
        now: Instant,
        begin: impl FnOnce() -> F,
    ) -> Found<F> {
        match self.keys.get_mut(key).and_then(|commands| commands.get_mut(command)) {
            Some(Entry::Flying { flight, .. }) => return Found::Flying(flight.clone()),
            Some(Entry::Kept { value, until, is_used, .. }) => {
                if until.is_none_or(|until| now < until) {
                    *is_used = true;
                    return Found::Kept(value.clone());
                }
                self.remove(key, command);
            }
            None => {}
        }
        self.next += 1;
        let flying = Entry::Flying { number: self.next, flight: begin() };
        self.keys.entry(key.to_vec()).or_default().insert(command.to_vec(), flying);
        Found::Missing(self.next)
    }

    /// Ends a read. Its value is kept if it is given, and if nothing has been said about the key meanwhile.
    pub(crate) fn fill(
        &mut self,
        key: &[u8],
        command: &[u8],
        number: u64,
        value: Option<(Value, Option<Instant>)>,
    ) {
        let Some(commands) = self.keys.get_mut(key) else { return };
        match commands.get(command) {
            Some(Entry::Flying { number: flying, .. }) if *flying == number => {}
            _ => return,
        }
        let weight = value.as_ref().map_or(usize::MAX, |(value, _)| {
            ENTRY_BYTES + weight(value) + 2 * (key.len() + command.len())
        });
        let Some((value, until)) = value.filter(|_| weight <= self.bytes_max) else {
            self.remove(key, command);
            return;
        };
        let kept = Entry::Kept { number, value, until, weight, is_used: false };
        commands.insert(command.to_vec(), kept);
        self.entries += 1;
        self.bytes += weight;
        self.order.push_back((key.to_vec(), command.to_vec(), number));
        self.evict();
    }

    /// What is known of a key is wrong from now on.
    pub(crate) fn invalidate(&mut self, key: &[u8]) {
        for entry in self.keys.remove(key).into_iter().flat_map(HashMap::into_values) {
            self.forget(&entry);
        }
        self.sweep();
    }

    /// Forgets all keys but some, and the reads of them that are under way.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&[u8]) -> bool) {
        let mut gone = Vec::new();
        self.keys.retain(|key, commands| {
            let stays = is_kept(key);
            if !stays {
                gone.extend(std::mem::take(commands).into_values());
            }
            stays
        });
        gone.iter().for_each(|entry| self.forget(entry));
        self.sweep();
    }

    /// All that is known is wrong.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.order.clear();
        (self.entries, self.bytes) = (0, 0);
    }

    fn forget(&mut self, entry: &Entry<F>) {
        if let Entry::Kept { weight, .. } = entry {
            self.entries -= 1;
            self.bytes -= weight;
        }
    }

    fn remove(&mut self, key: &[u8], command: &[u8]) {
        let Some(commands) = self.keys.get_mut(key) else { return };
        let removed = commands.remove(command);
        if commands.is_empty() {
            self.keys.remove(key);
        }
        if let Some(entry) = removed {
            self.forget(&entry);
        }
    }

    /// Takes values away, the oldest first, until the bounds are kept; one that was used since gets a second chance.
    fn evict(&mut self) {
        while self.entries > self.entries_max || self.bytes > self.bytes_max {
            let Some((key, command, place)) = self.order.pop_front() else { return };
            let entry = self.keys.get_mut(&key).and_then(|commands| commands.get_mut(&command));
            match entry {
                Some(Entry::Kept { number, is_used, .. }) if *number == place => {
                    if std::mem::take(is_used) {
                        self.order.push_back((key, command, place));
                    } else {
                        self.remove(&key, &command);
                        self.evicted += 1;
                    }
                }
                _ => {}
            }
        }
        self.sweep();
    }

    /// Places whose values are gone cost memory, too.
    fn sweep(&mut self) {
        if self.order.len() <= 2 * self.entries + DEAD_MAX {
            return;
        }
        let keys = &self.keys;
        self.order.retain(|(key, command, place)| {
            let entry = keys.get(key).and_then(|commands| commands.get(command));
            matches!(entry, Some(Entry::Kept { number, .. }) if number == place)
        });
    }
}

/// The bytes of a value, roughly.
fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::Array(items) | Value::Set(items) | Value::Push(items) => {
            items.iter().map(weight).sum()
        }
        Value::Map(pairs) => pairs.iter().map(|(k, v)| weight(k) + weight(v)).sum(),
        other => other.as_bytes().map_or(0, <[u8]>::len),
    }
}

#[cfg(test)]
mod tests {
    use super::{DEAD_MAX, Found, Store};
    use crate::value::Value;
    use std::time::{Duration, Instant};

    fn store(entries_max: usize, bytes_max: usize) -> Store<u32> {
        Store::new(entries_max, bytes_max)
    }

    fn begin(store: &mut Store<u32>, key: &str) -> u64 {
        match store.find(key.as_bytes(), b"GET", Instant::now(), || 7) {
            Found::Missing(number) => number,
            other => panic!("{key}: {other:?}"),
        }
    }

    fn put(store: &mut Store<u32>, key: &str, value: i64) {
        let number = begin(store, key);
        store.fill(key.as_bytes(), b"GET", number, Some((Value::Int(value), None)));
    }

    fn has(store: &Store<u32>, key: &str) -> bool {
        store.keys.contains_key(key.as_bytes())
    }

    #[test]
    fn what_was_read_before_an_invalidation_is_not_kept() {
        let mut store = store(10, 1 << 20);
        let first = begin(&mut store, "k");
        let joined = store.find(b"k", b"GET", Instant::now(), || 8);
        assert!(matches!(joined, Found::Flying(7)), "one read is enough: {joined:?}");
        store.invalidate(b"k");
        let second = begin(&mut store, "k");
        store.fill(b"k", b"GET", first, Some((Value::Int(1), None)));
        let found = store.find(b"k", b"GET", Instant::now(), || 9);
        assert!(matches!(found, Found::Flying(7)), "the old value is not there: {found:?}");
        store.fill(b"k", b"GET", second, Some((Value::Int(2), None)));
        let found = store.find(b"k", b"GET", Instant::now(), || 9);
        assert!(matches!(found, Found::Kept(Value::Int(2))), "{found:?}");
        store.clear();
        store.fill(b"k", b"GET", second, Some((Value::Int(2), None)));
        assert!(!has(&store, "k") && store.len() == 0 && store.bytes() == 0);
    }

    #[test]
    fn bounds_are_kept_and_what_is_used_stays_longer() {
        let mut entries = store(3, 1 << 20);
        for (i, key) in ["a", "b", "c"].into_iter().enumerate() {
            put(&mut entries, key, i64::try_from(i).expect("small"));
        }
        assert!(matches!(entries.find(b"a", b"GET", Instant::now(), || 0), Found::Kept(_)));
        put(&mut entries, "d", 4);
        assert!(has(&entries, "a") && !has(&entries, "b") && has(&entries, "d"));
        assert_eq!((entries.len(), entries.evicted), (3, 1));
        let mut bytes = store(1000, 2000);
        for i in 0..100 {
            put(&mut bytes, &format!("key:{i}"), i);
            assert!(bytes.bytes() <= 2000);
        }
        let number = begin(&mut bytes, "large");
        let large = Value::Bulk(vec![0; 3000].into());
        bytes.fill(b"large", b"GET", number, Some((large, None)));
        assert!(!has(&bytes, "large"), "it does not drive everything else out");
        assert!(bytes.len() > 0);
    }

    #[test]
    fn the_order_does_not_grow_with_invalidations() {
        let mut store = store(10, 1 << 20);
        for i in 0..10_000 {
            put(&mut store, "k", i);
            store.invalidate(b"k");
        }
        assert!(store.order.len() <= DEAD_MAX + 2, "{}", store.order.len());
    }

    #[test]
    fn a_value_ends_with_its_time() {
        let mut store = store(10, 1 << 20);
        let number = begin(&mut store, "k");
        let now = Instant::now();
        let until = now + Duration::from_secs(1);
        store.fill(b"k", b"GET", number, Some((Value::Int(1), Some(until))));
        assert!(matches!(store.find(b"k", b"GET", now, || 0), Found::Kept(_)));
        assert!(matches!(store.find(b"k", b"GET", until, || 0), Found::Missing(_)));
        assert_eq!((store.len(), store.bytes()), (0, 0));
    }
}
