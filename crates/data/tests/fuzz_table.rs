//! Drives a [`Table`] of entries through random changes beside a `HashMap`, with scans under way.

mod drive;

use std::collections::{HashMap, HashSet};

use data::entry::{Content, Entry, INLINE_MAX, Str};
use data::table::{Heads, Node as _, Table};
use stdx::hash::hash64;
use stdx::rng::Rng;

type Model = HashMap<Vec<u8>, Vec<u8>>;

/// A scan under way: the keys that were there when it began and have been there since.
struct Scan {
    at: u32,
    due: HashSet<Vec<u8>>,
}

struct Drive {
    rng: Rng,
    table: Table<Entry>,
    model: Model,
    keys: u64,
    scan: Option<Scan>,
}

fn value_of(e: &Entry) -> Vec<u8> {
    match e.str() {
        Str::Int(n) => n.to_string().into_bytes(),
        Str::Inline(bytes) => bytes.to_vec(),
        Str::Shared(bytes) => bytes.to_vec(),
    }
}

impl Drive {
    /// One of `keys` keys, of 0 to 300 bytes; the same number gives the same key.
    fn some_key(&mut self) -> Vec<u8> {
        let n = self.rng.below(self.keys);
        let mut rng = Rng::from_seed(n);
        let len = if n.is_multiple_of(4) { rng.index(301) } else { 8 };
        let mut key = vec![0; len];
        rng.fill(&mut key);
        // Distinct even when short.
        if len >= 8 {
            key[..8].copy_from_slice(&n.to_le_bytes());
        }
        key
    }

    fn some_value(&mut self) -> Vec<u8> {
        let len = match self.rng.index(20) {
            0 => INLINE_MAX - 2 + self.rng.index(5),
            1 => self.rng.index(300),
            2..=8 => return self.rng.next_u64().to_string().into_bytes(),
            _ => self.rng.index(24),
        };
        let mut value = vec![0; len];
        self.rng.fill(&mut value);
        value
    }

    fn content(value: &[u8]) -> Content<'_> {
        stdx::num::parse_i64(value).map_or(Content::Bytes(value), Content::Int)
    }

    fn set(&mut self) {
        let (key, value) = (self.some_key(), self.some_value());
        let content = Self::content(&value);
        let deadline = (self.rng.index(3) == 0).then_some(7);
        let hash = hash64(&key);
        let found = self.table.find_mut(hash, |e| e.key() == key);
        assert_eq!(found.is_some(), self.model.contains_key(&key));
        if let Some(mut slot) = found {
            slot.replace_with(|e| e.set(content, deadline));
            assert_eq!(value_of(&slot), value);
        } else {
            self.table.insert(Entry::string(&key, content, deadline, 0));
        }
        self.model.insert(key, value);
    }

    fn remove(&mut self) {
        let key = self.some_key();
        let removed = self.table.remove(hash64(&key), |e| e.key() == key);
        assert_eq!(removed.map(|e| value_of(&e)), self.model.remove(&key));
        if let Some(scan) = &mut self.scan {
            scan.due.remove(&key);
        }
    }

    fn find(&mut self) {
        let key = self.some_key();
        let found = self.table.find(hash64(&key), |e| e.key() == key);
        assert_eq!(found.map(|e| value_of(&e)), self.model.get(&key).cloned());
    }

    fn edit(&mut self) {
        let key = self.some_key();
        // Right or wrong, where it is looked for first makes no difference.
        let near = self.rng.index(8);
        let found = self.table.find_mut_near(hash64(&key), near, |e| e.has_key(&key));
        let Some(mut slot) = found else {
            return;
        };
        let near = slot.place();
        assert!(slot.has_key(&key) && near < 8);
        let value = self.model.get_mut(&key).expect("in both");
        let e = slot.node_mut();
        if let Some(n) = e.int_mut() {
            *n = n.wrapping_add(1);
            *value = n.to_string().into_bytes();
        } else if let Some(bytes) = e.inline_mut() {
            bytes.reverse();
            value.reverse();
        } else if let Some(bytes) = e.shared_mut() {
            bytes.push(1);
            value.push(1);
        }
    }

    fn sample(&mut self) {
        let (pos, pick) = (self.rng.next_u64() as u32, self.rng.next_u64() as usize);
        if let Some(e) = self.table.sample(pos, |n| pick % n) {
            assert_eq!(self.model.get(e.key()), Some(&value_of(&e)));
        }
    }

    /// One step of a scan; at its end, every key that was there throughout has been seen.
    fn scan(&mut self) {
        let scan = self
            .scan
            .get_or_insert_with(|| Scan { at: 0, due: self.model.keys().cloned().collect() });
        let next = self.table.scan(scan.at, |e| {
            assert_eq!(self.model.get(e.key()), Some(&value_of(e)));
            scan.due.remove(e.key());
        });
        match next {
            Some(at) => {
                assert!(at > scan.at, "the scan goes forward");
                scan.at = at;
            }
            None => {
                assert!(scan.due.is_empty(), "{} keys were not seen", scan.due.len());
                self.scan = None;
            }
        }
    }

    /// Everything moves to another table and back, or is dropped at once.
    fn upheave(&mut self) {
        let mut other = self.table.take();
        assert!(self.table.is_empty());
        assert_eq!(self.table.for_each(|_| panic!("there is nothing")), ());
        if self.rng.index(2) == 0 {
            self.table.exchange(&mut other);
        } else {
            drop(other);
            self.model.clear();
            self.scan = None;
        }
    }

    fn check(&self) {
        assert_eq!(self.table.len(), self.model.len());
        let mut seen = 0;
        self.table.for_each(|e| {
            assert_eq!(self.model.get(e.key()), Some(&value_of(e)));
            assert_eq!(e.hash(), hash64(e.key()));
            seen += 1;
        });
        assert!(seen >= self.model.len());
    }
}

#[test]
fn like_the_model() {
    let heads = Heads::new(1, 2);
    for seed in drive::seeds(if cfg!(miri) { 1 } else { 12 }) {
        eprintln!("seed {seed}");
        let mut rng = Rng::from_seed(seed);
        let phase = rng.below(1024) as u16;
        let published = rng.index(2) == 0;
        let table = if published { Table::published(phase, &heads, 1) } else { Table::new(phase) };
        let keys = 1 << (3 + rng.index(if cfg!(miri) { 6 } else { 11 }));
        let mut d = Drive { rng, table, model: Model::new(), keys, scan: None };
        // Mostly filling, then mostly emptying, and so on, so that tables grow and shrink.
        for step in 0..drive::steps(20_000) {
            let filling = step / 4000 % 2 == 0;
            match d.rng.index(100) {
                0..30 => d.set(),
                30..60 if filling => d.set(),
                30..60 => d.remove(),
                60..65 => d.remove(),
                65..75 => d.find(),
                75..85 => d.edit(),
                85..97 => d.scan(),
                97 => d.sample(),
                98 => {
                    d.table.step(2);
                }
                _ if d.rng.index(60) == 0 => d.upheave(),
                _ => {
                    let pin = crossbeam_epoch::pin();
                    let hash = hash64(&d.some_key());
                    heads.spot(1, hash, &pin).node(hash).prefetch();
                }
            }
            if step % 2000 == 0 {
                d.check();
            }
        }
        d.check();
    }
}
