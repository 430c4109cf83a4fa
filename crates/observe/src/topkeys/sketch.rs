//! The heaviest of very many keys, in a fixed number of counters.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements
//! in data streams, 2005): a key without a counter takes the smallest one over, with its count,
//! which is then the most by which the key may be overestimated. Count minus error is therefore
//! never too high, a key heavier than `total / capacity` always has a counter, and a flood of keys
//! that come once shows as nothing. Few counters, laid out by column, so that finding one is a walk
//! over a handful of cache lines.

/// Bytes of a key that are kept: enough to recognise it. The whole key is counted.
const KEY_BYTES: usize = 256;

/// The key of a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// Database.
    pub(super) db: usize,
    /// Its first [`KEY_BYTES`] bytes.
    pub(super) key: Vec<u8>,
    /// Bytes of the whole key.
    pub(super) len: usize,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct Sketch {
    ids: Vec<u64>,
    counts: Vec<f64>,
    errors: Vec<f64>,
    /// Times counted since the key has the counter.
    seen: Vec<u32>,
    names: Vec<Name>,
    capacity: usize,
    total: f64,
}

impl Sketch {
    /// A sketch of `capacity` counters; allocates when it is first used.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), ..Self::default() }
    }

    /// Counts `weight` for a key; `id` distinguishes (database, key) from others.
    pub(super) fn add(&mut self, id: u64, db: usize, key: &[u8], weight: f64) {
        self.total += weight;
        if let Some(at) = self.ids.iter().position(|&other| other == id) {
            self.counts[at] += weight;
            self.seen[at] = self.seen[at].saturating_add(1);
            return;
        }
        let at = if self.ids.len() < self.capacity {
            if self.ids.is_empty() {
                self.ids.reserve_exact(self.capacity);
                self.counts.reserve_exact(self.capacity);
                self.errors.reserve_exact(self.capacity);
                self.seen.reserve_exact(self.capacity);
                self.names.reserve_exact(self.capacity);
            }
            self.ids.push(id);
            self.counts.push(0.0);
            self.errors.push(0.0);
            self.seen.push(0);
            self.names.push(Name::default());
            self.ids.len() - 1
        } else {
            let least = least(&self.counts);
            self.counts.iter().position(|&count| count == least).unwrap_or(0)
        };
        self.ids[at] = id;
        self.seen[at] = 1;
        self.errors[at] = self.counts[at];
        self.counts[at] += weight;
        let name = &mut self.names[at];
        (name.db, name.len) = (db, key.len());
        // The buffer of the key before it is used again.
        name.key.clear();
        name.key.extend_from_slice(&key[..key.len().min(KEY_BYTES)]);
    }

    /// Multiplies all counts: older counts weigh less.
    pub(super) fn scale(&mut self, factor: f64) {
        for count in self.counts.iter_mut().chain(&mut self.errors) {
            *count *= factor;
        }
        self.total *= factor;
    }

    /// All that was counted.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// Every key that has a counter.
    pub(super) fn keys(&self) -> impl Iterator<Item = Counted<'_>> {
        (0..self.ids.len()).map(|i| Counted {
            id: self.ids[i],
            name: &self.names[i],
            least: self.counts[i] - self.errors[i],
            seen: self.seen[i],
        })
    }
}

/// The smallest of the counts. In lanes, since comparing them one after the other is most of the
/// cost of counting a new key.
fn least(counts: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; 8];
    let mut chunks = counts.chunks_exact(lanes.len());
    let lower = |a: f64, b: f64| if b < a { b } else { a };
    for chunk in &mut chunks {
        for (lane, &count) in lanes.iter_mut().zip(chunk) {
            *lane = lower(*lane, count);
        }
    }
    lanes.iter().chain(chunks.remainder()).copied().fold(f64::INFINITY, lower)
}

/// A counter's figures about its key.
pub(super) struct Counted<'a> {
    pub(super) id: u64,
    pub(super) name: &'a Name,
    /// Its count at least.
    pub(super) least: f64,
    /// Times that it was counted.
    pub(super) seen: u32,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use stdx::rng::Rng;

    use super::*;

    fn least(s: &Sketch, id: u64) -> Option<f64> {
        s.keys().find(|k| k.id == id).map(|k| k.least)
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut s = Sketch::new(4);
        for (id, weight) in [(1, 5.0), (2, 1.0), (1, 2.5), (3, 4.0)] {
            s.add(id, 0, &id.to_le_bytes(), weight);
        }
        assert_eq!(least(&s, 1), Some(7.5));
        assert_eq!(least(&s, 2), Some(1.0));
        assert_eq!(least(&s, 9), None);
        assert_eq!(s.total(), 12.5);
        s.scale(0.5);
        assert_eq!((least(&s, 1), s.total()), (Some(3.75), 6.25));
    }

    /// Whatever the stream: no key is overestimated, and every heavy one is there.
    #[test]
    fn heavy_keys_are_found_and_never_overestimated() {
        for seed in 0..20 {
            let mut rng = Rng::from_seed(seed);
            let mut s = Sketch::new(32);
            let mut exact: HashMap<u64, f64> = HashMap::new();
            for _ in 0..20_000 {
                // Three heavy keys among a thousand, with weights that vary.
                let id = if rng.below(4) == 0 { rng.below(3) } else { 3 + rng.below(1000) };
                let weight = 1.0 + rng.below(10) as f64;
                s.add(id, 0, b"", weight);
                *exact.entry(id).or_default() += weight;
            }
            for k in s.keys() {
                let has = exact[&k.id];
                assert!(k.least <= has + 1e-6, "seed {seed}: {} has {has} not {}", k.id, k.least);
            }
            for id in 0..3 {
                let n = least(&s, id).expect("a heavy key has a counter");
                assert!(n > exact[&id] * 0.8, "seed {seed}: {id} has {} not {n}", exact[&id]);
            }
            // Keys that come once count next to nothing.
            let light: Vec<f64> = s.keys().filter(|k| k.id >= 3).map(|k| k.least).collect();
            assert!(light.iter().all(|&n| n < s.total() / 100.0), "seed {seed}");
        }
    }

    #[test]
    fn long_keys_are_cut_and_counters_used_again() {
        let mut s = Sketch::new(1);
        s.add(1, 3, &[b'x'; 1000], 1.0);
        let name = s.keys().next().expect("a key").name.clone();
        assert_eq!((name.db, name.len, name.key.len()), (3, 1000, KEY_BYTES));
        s.add(2, 0, b"short", 1.0);
        s.add(2, 0, b"short", 1.0);
        let k = s.keys().next().expect("a key");
        assert_eq!((k.id, k.name.key.as_slice(), k.least, k.seen), (2, &b"short"[..], 2.0, 2));
        assert_eq!(s.total(), 3.0);
    }
}
