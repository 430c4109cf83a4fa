//! Random operations on a keyspace and on a `BTreeMap` beside it: what can be seen, what is
//! counted and what expires must be the same.
//!
//! The keys are chosen to fall into a few shards only, so that their tables grow and shrink many
//! times, also in the middle of a scan. Time is virtual. The hash is seeded per process, so a
//! failure names the seed of the operations, which repeats them on other places of the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stdx::rng::Rng;
use store::{Class, Content, Context, Db, Flush, Key, Keyspace, SHARDS, ShardSet, Str, Ttl};

const START_MS: i64 = 1_770_000_000_000;
/// Shards that have keys.
const USED: usize = 3;
const KEYS: usize = 900;

/// Key to value and deadline, expired ones that no access has noticed included.
type Model = BTreeMap<Vec<u8>, (i64, Option<i64>)>;

/// A scan under way.
struct Scan {
    db: usize,
    cursor: u64,
    /// Keys that were there at the beginning and ever since.
    must: BTreeSet<Vec<u8>>,
    seen: BTreeSet<Vec<u8>>,
}

struct World {
    ks: Arc<Keyspace>,
    cx: Context,
    rng: Rng,
    keys: Vec<Vec<u8>>,
    model: [Model; 2],
    scan: Option<Scan>,
    scans: usize,
    expired: u64,
}

fn shard(key: &[u8]) -> usize {
    (Key::new(key).hash >> (64 - SHARDS.trailing_zeros())) as usize
}

fn few_shards() -> Vec<Vec<u8>> {
    (0..).map(|n: u64| n.to_string().into_bytes()).filter(|k| shard(k) < USED).take(KEYS).collect()
}

impl World {
    fn new(seed: u64, keys: Vec<Vec<u8>>) -> Self {
        // A machine without a battery may start in 1970 and learn the time later.
        let ks = Keyspace::new(2, if seed.is_multiple_of(2) { START_MS } else { 0 });
        ks.take_interest();
        Self {
            ks,
            cx: Context::new(START_MS, Rng::from_seed(seed + 1)),
            rng: Rng::from_seed(seed),
            keys,
            model: Default::default(),
            scan: None,
            scans: 0,
            expired: 0,
        }
    }

    fn some_key(&mut self) -> Vec<u8> {
        self.keys[self.rng.index(self.keys.len())].clone()
    }

    fn some_deadline(&mut self) -> i64 {
        match self.rng.below(20) {
            // Farther than the index can say.
            0 => i64::MAX - self.rng.below(3) as i64,
            // Before the keyspace was made.
            1 => self.rng.below(START_MS as u64) as i64,
            _ => self.cx.now - 200 + self.rng.below(3_000) as i64,
        }
    }

    /// Forgets a key of the model that is expired, as every access to it does.
    fn reap(&mut self, db: usize, key: &[u8]) {
        let now = self.cx.now;
        if self.model[db].get(key).is_some_and(|(_, d)| d.is_some_and(|d| d < now)) {
            self.gone(db, key);
            self.expired += 1;
        }
    }

    fn gone(&mut self, db: usize, key: &[u8]) {
        self.model[db].remove(key);
        if let Some(scan) = self.scan.as_mut().filter(|s| s.db == db) {
            scan.must.remove(key);
        }
    }

    fn on<R>(&mut self, db: usize, key: &[u8], f: impl FnOnce(&mut Db<'_>, Key<'_>) -> R) -> R {
        self.reap(db, key);
        let key = Key::new(key);
        f(&mut Db::lock_one(&self.ks, db, key, &mut self.cx), key)
    }

    fn step(&mut self) {
        let db = self.rng.index(2);
        let key = self.some_key();
        match self.rng.below(100) {
            0..30 => {
                let value = self.rng.next_u64() as i64;
                let ttl = match self.rng.below(3) {
                    0 => Ttl::Keep,
                    1 => Ttl::Clear,
                    _ => Ttl::At(self.some_deadline()),
                };
                self.on(db, &key, |db, key| db.set(key, Content::Int(value), ttl));
                let before = self.model[db].get(&key).and_then(|(_, d)| *d);
                let after = match ttl {
                    Ttl::Keep => before,
                    Ttl::Clear => None,
                    Ttl::At(at) => Some(at),
                };
                self.model[db].insert(key, (value, after));
            }
            30..50 => {
                let deadline =
                    if self.rng.below(4) == 0 { None } else { Some(self.some_deadline()) };
                let there = self.on(db, &key, |db, key| db.set_deadline(key, deadline));
                let entry = self.model[db].get_mut(&key);
                assert_eq!(there, entry.is_some());
                entry.into_iter().for_each(|(_, d)| *d = deadline);
            }
            50..60 => {
                let there = self.on(db, &key, |db, key| db.delete(key));
                assert_eq!(there, self.model[db].contains_key(&key));
                self.gone(db, &key);
            }
            60..70 => self.rename(db, &key),
            70..85 => self.look_at(db, &key),
            85..90 => self.cx.set_now(self.cx.now + self.rng.below(300) as i64),
            90..95 => {
                let (s, max) = (self.rng.index(USED), self.rng.index(20));
                self.expire(db, s, max);
            }
            95 => {
                let s = self.rng.index(USED);
                Db::lock_shard(&self.ks, db, s, &mut self.cx).upkeep(s);
            }
            96 => self.random_key(db),
            97 => self.grow_or_shrink(db),
            98 if self.rng.below(20) == 0 => self.swap_or_flush(db),
            _ => self.counts(db),
        }
        if self.rng.below(4) == 0 {
            self.scan_step();
        }
        self.cx.effects.clear();
    }

    fn rename(&mut self, db: usize, from: &[u8]) {
        let to = self.some_key();
        if from == to {
            return;
        }
        let absent = self.on(db, from, |db, key| db.write(key).is_none());
        assert_eq!(absent, !self.model[db].contains_key(from));
        if absent {
            return;
        }
        self.reap(db, &to);
        let (a, b) = (Key::new(from), Key::new(&to));
        let mut set = ShardSet::default();
        set.add(a.hash);
        set.add(b.hash);
        let mut view = Db::lock_set(&self.ks, db, set, &mut self.cx);
        let entry = view.take(a).expect("it is there");
        assert_eq!(view.delete(b), self.model[db].contains_key(&to));
        view.put(entry.with_key(&to));
        drop(view);
        let value = self.model[db][from];
        self.gone(db, from);
        // What a scan must find is the key, whatever was there before.
        self.model[db].insert(to, value);
    }

    fn look_at(&mut self, db: usize, key: &[u8]) {
        let how = self.rng.below(3);
        let found = self.on(db, key, |db, key| {
            let e = match how {
                0 => db.read(key),
                1 => db.look(key),
                _ => db.peek(key),
            };
            e.map(|e| match e.str() {
                Str::Int(n) => (n, e.deadline()),
                _ => panic!("not an integer"),
            })
        });
        assert_eq!(found, self.model[db].get(key).copied());
        let lives = Db::unlocked(&self.ks, db, &mut self.cx).lives(Key::new(key));
        assert_eq!(lives, found.is_some());
    }

    /// Active expiry of one shard; what it removed was expired.
    fn expire(&mut self, db: usize, s: usize, max: usize) {
        self.cx.effects.clear();
        let n = Db::lock_shard(&self.ks, db, s, &mut self.cx).expire_due(s, max);
        assert_eq!(n, self.cx.effects.dropped.len());
        for (index, key) in std::mem::take(&mut self.cx.effects.dropped) {
            let deadline = self.model[index].get(&key).and_then(|(_, d)| *d);
            assert!(index == db && deadline.is_some_and(|d| d < self.cx.now), "{deadline:?}");
            self.gone(db, &key);
            self.expired += 1;
        }
        assert!(self.cx.effects.events.iter().all(|e| e.class == Class::Expired));
        assert!(n <= max || max > 0, "{n} of at most {max}");
    }

    /// After active expiry of all shards exactly the living are left: no hint is lost.
    fn expire_all(&mut self) {
        for db in 0..2 {
            (0..USED).for_each(|s| self.expire(db, s, usize::MAX));
            let now = self.cx.now;
            let late = |d: &Option<i64>| d.is_some_and(|d| d < now);
            assert!(!self.model[db].values().any(|(_, d)| late(d)), "a hint is lost");
            self.counts(db);
        }
    }

    fn random_key(&mut self, db: usize) {
        let found = Db::unlocked(&self.ks, db, &mut self.cx).random_key();
        let now = self.cx.now;
        let lives = |d: Option<i64>| d.is_none_or(|d| d >= now);
        match found {
            Some(key) => assert!(lives(self.model[db][&key].1)),
            None => assert!(!self.model[db].values().any(|(_, d)| lives(*d))),
        }
        self.overdue();
    }

    /// What came across as expired is, and goes when it is looked at.
    fn overdue(&mut self) {
        for (db, key) in std::mem::take(&mut self.cx.overdue) {
            let now = self.cx.now;
            assert!(self.model[db].get(&key).is_none_or(|(_, d)| d.is_some_and(|d| d < now)));
            assert!(self.on(db, &key, |db, key| db.peek(key).is_none()));
        }
    }

    /// Sets or deletes all keys of one shard, so that its table is resized.
    fn grow_or_shrink(&mut self, db: usize) {
        let (s, grow) = (self.rng.index(USED), self.rng.below(2) == 0);
        for key in self.keys.clone().into_iter().filter(|k| shard(k) == s) {
            if grow {
                self.on(db, &key, |db, key| db.set(key, Content::Int(1), Ttl::Keep));
                let before = self.model[db].get(&key).and_then(|(_, d)| *d);
                self.model[db].insert(key, (1, before));
            } else {
                self.on(db, &key, |db, key| db.unlink(key));
                self.gone(db, &key);
            }
        }
    }

    fn swap_or_flush(&mut self, db: usize) {
        // Neither database is the one it was: a scan has nothing to hold on to.
        self.scan = None;
        let mut view = Db::lock_all(&self.ks, db, &mut self.cx);
        if self.rng.below(2) == 0 {
            view.swap(0, 1);
            self.model.swap(0, 1);
        } else {
            assert_eq!(
                view.flush([Flush::Now, Flush::Lazily][self.rng.below(2) as usize]),
                self.model[db].len()
            );
            self.model[db].clear();
        }
    }

    fn counts(&mut self, db: usize) {
        let mut view = Db::unlocked(&self.ks, db, &mut self.cx);
        assert_eq!(view.len(), self.model[db].len());
        let expiring = self.model[db].values().filter(|(_, d)| d.is_some()).count();
        assert_eq!(view.expiring().0, expiring);
        drop(view);
        assert_eq!(self.cx.counters.expired_keys, self.expired);
    }

    fn scan_step(&mut self) {
        let now = self.cx.now;
        let lives = |(_, d): &(i64, Option<i64>)| d.is_none_or(|d| d >= now);
        let mut scan = self.scan.take().unwrap_or_else(|| {
            let db = self.rng.index(2);
            let living = self.model[db].iter().filter(|(_, e)| lives(e));
            let must = living.map(|(key, _)| key.clone()).collect();
            Scan { db, cursor: 0, must, seen: BTreeSet::new() }
        });
        let mut found = Vec::new();
        let (next, looked_at) = Db::unlocked(&self.ks, scan.db, &mut self.cx).scan(
            scan.cursor,
            |_| true,
            |e| found.push(e.key().to_vec()),
        );
        assert_eq!(looked_at, found.len() + self.cx.overdue.len());
        for key in &found {
            assert!(self.model[scan.db].get(key).is_some_and(lives), "seen and not there");
        }
        scan.seen.extend(found);
        scan.cursor = next;
        // What expired meanwhile was not there all the time.
        scan.must.retain(|key| self.model[scan.db].get(key).is_some_and(lives));
        if next == 0 {
            assert!(scan.must.is_subset(&scan.seen), "a scan missed a key");
            self.scans += 1;
        } else {
            self.scan = Some(scan);
        }
        self.overdue();
    }

    /// The whole content, as a command that sees everything finds it.
    fn content(&mut self) {
        let now = self.cx.now;
        for db in 0..2 {
            let mut all = Vec::new();
            Db::unlocked(&self.ks, db, &mut self.cx).for_each(|e| {
                if let Str::Int(n) = e.str() {
                    all.push((e.key().to_vec(), (n, e.deadline())));
                }
            });
            all.sort();
            let lives = |d: Option<i64>| d.is_none_or(|d| d >= now);
            let living = self.model[db].iter().filter(|(_, (_, d))| lives(*d));
            let living: Vec<_> = living.map(|(k, e)| (k.clone(), *e)).collect();
            assert_eq!(all, living);
        }
    }
}

#[test]
fn keyspace_is_a_map_with_deadlines() {
    let keys = few_shards();
    let (mut scans, mut expired) = (0, 0);
    for seed in 0..12 {
        eprintln!("seed {seed}");
        let mut w = World::new(seed, keys.clone());
        for round in 0..4 {
            (0..1_500).for_each(|_| w.step());
            w.content();
            if round % 2 == 1 {
                w.expire_all();
            }
        }
        // Past every deadline that is not a lifetime away.
        w.cx.set_now(w.cx.now + 10_000);
        w.expire_all();
        w.content();
        scans += w.scans;
        expired += w.expired;
    }
    assert!(scans > 100 && expired > 1_000, "too little was tested: {scans} {expired}");
}
