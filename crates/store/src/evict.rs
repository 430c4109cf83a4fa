//! Eviction: which key is removed when memory is over `maxmemory`.
//!
//! Redis's approximation: sample a few keys, keep the best candidates of all samples in a small
//! pool, and evict the best of the pool. Here every sample comes from another random shard, so
//! only one shard is locked at a time.

use stdx::hash::hash64;

use crate::context::Context;
use crate::db::{Db, Key};
use crate::shards::{Keyspace, SHARDS, shard_of};

/// `maxmemory-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the policies of Redis by name")]
pub enum Policy {
    #[default]
    NoEviction,
    AllKeysLru,
    AllKeysLfu,
    AllKeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
}

impl Policy {
    /// By the name in `maxmemory-policy`.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "noeviction" => Self::NoEviction,
            "allkeys-lru" => Self::AllKeysLru,
            "allkeys-lfu" => Self::AllKeysLfu,
            "allkeys-random" => Self::AllKeysRandom,
            "volatile-lru" => Self::VolatileLru,
            "volatile-lfu" => Self::VolatileLfu,
            "volatile-random" => Self::VolatileRandom,
            "volatile-ttl" => Self::VolatileTtl,
            _ => return None,
        })
    }

    /// Whether access counts as LFU.
    pub fn is_lfu(self) -> bool {
        matches!(self, Self::AllKeysLfu | Self::VolatileLfu)
    }

    /// Whether the time of the last access counts.
    pub fn is_lru(self) -> bool {
        matches!(self, Self::AllKeysLru | Self::VolatileLru)
    }

    fn is_volatile(self) -> bool {
        matches!(
            self,
            Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl
        )
    }
}

/// A key that may be evicted. Its hash is enough to find it again: keys may be long, and copies of them would
/// take the memory that is missing. If another key has the same hash by then, that key is evicted instead.
struct Candidate {
    /// The key with the higher score is evicted first.
    score: i64,
    db: usize,
    hash: u64,
}

/// Candidates found so far, best last; one per thread.
#[derive(Default)]
pub struct Evicted {
    pool: Vec<Candidate>,
    /// The policy by which the candidates were chosen.
    policy: Policy,
}

const POOL: usize = 16;
/// Shards looked at before falling back to all of them in order (a nearly empty keyspace).
const TRIES: usize = 64;

impl Evicted {
    /// Evicts one key, noted in the effects of `cx`, and calls `commit` with the view while its
    /// shard is still locked. Returns how many bytes it had; none: there was no key to evict.
    pub fn one(
        &mut self,
        ks: &Keyspace,
        policy: Policy,
        samples: usize,
        cx: &mut Context,
        mut commit: impl FnMut(&mut Db<'_>),
    ) -> Option<usize> {
        if policy == Policy::NoEviction {
            return None;
        }
        if self.policy != policy {
            // Scores of different policies cannot be compared.
            self.pool.clear();
            self.policy = policy;
        }
        // A candidate may have gone meanwhile; each round brings new ones. All keys of the pool may be gone;
        // that alone does not mean that there is no key to evict.
        for _ in 0..2 * POOL {
            self.collect(ks, policy, samples, cx);
            let best = self.pool.pop()?;
            let mut db = Db::lock_shard(ks, best.db, shard_of(best.hash), cx);
            let Some(key) = db.key_of(best.hash) else { continue };
            let key = Key { bytes: &key, hash: best.hash };
            // The key may have been in the pool for long, and may have lost its deadline since.
            if policy.is_volatile() && !db.expires(key) {
                continue;
            }
            let bytes = db.inspect(key).map(|e| e.bytes());
            if db.evict(key) {
                commit(&mut db);
                return bytes;
            }
        }
        None
    }

    fn collect(&mut self, ks: &Keyspace, policy: Policy, samples: usize, cx: &mut Context) {
        let mut found = 0;
        for _ in 0..TRIES {
            let s = cx.rng.index(SHARDS);
            found += self.look_at(ks, s, policy, cx);
            if found >= samples {
                return;
            }
        }
        if !self.pool.is_empty() {
            return;
        }
        let first = cx.rng.index(SHARDS);
        for i in 0..SHARDS {
            if self.look_at(ks, (first + i) % SHARDS, policy, cx) > 0 {
                return;
            }
        }
    }

    /// Adds a sample of every database's part of one shard; returns how many.
    fn look_at(&mut self, ks: &Keyspace, s: usize, policy: Policy, cx: &mut Context) -> usize {
        let mut n = 0;
        let mut db = Db::lock_shard(ks, 0, s, cx);
        db.sample_parts(s, |index, part, cx| {
            if part.table.is_empty() || policy.is_volatile() && part.expiry.keys == 0 {
                return;
            }
            let candidate = if policy.is_volatile() {
                (0..8).find_map(|_| part.expiry.sample(&part.table, |n| cx.rng.index(n)))
            } else {
                (0..64).find_map(|_| {
                    let pos = cx.rng.next_u64() as u32;
                    let e = part.table.sample(pos, |n| cx.rng.index(n))?;
                    Some(hash64(e.key()))
                })
            };
            let Some(hash) = candidate else { return };
            let Some(e) = part.table.find(hash, |e| hash64(e.key()) == hash) else {
                return;
            };
            let score = match policy {
                Policy::AllKeysLfu | Policy::VolatileLfu => {
                    255 - i64::from(cx.lfu_counter(e.access()))
                }
                Policy::VolatileTtl => i64::MAX - e.deadline().unwrap_or(i64::MAX).max(0),
                Policy::AllKeysLru | Policy::VolatileLru => i64::from(cx.idle_seconds(e.access())),
                _ => cx.rng.index(1 << 30) as i64,
            };
            n += 1;
            self.add(Candidate { score, db: index, hash });
        });
        n
    }

    fn add(&mut self, c: Candidate) {
        if self.pool.iter().any(|p| p.hash == c.hash && p.db == c.db) {
            return;
        }
        let at = self.pool.partition_point(|p| p.score < c.score);
        self.pool.insert(at, c);
        if self.pool.len() > POOL {
            self.pool.remove(0);
        }
    }
}
