//! Which shards are locked: sets of shards, the set of a [`Locked`](crate::shards::Locked), and the lock set that a
//! context keeps over several commands. This is only bookkeeping; the locks are in `shards`.

use std::sync::Arc;

/// Number of shards. Far more than threads, so that two threads rarely need the same one; few in a model, where
/// each multiplies the orders to try.
pub const SHARDS: usize = if cfg!(loom) { 2 } else { 1024 };

/// The shard of a hash.
#[inline]
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARDS.trailing_zeros())) as usize
}

/// The right to use a keyspace without locks; there is one per such keyspace, and it cannot be
/// copied.
#[derive(Debug, PartialEq, Eq)]
pub struct SoloToken(pub(crate) u64);

impl SoloToken {
    /// The solo token of a context that uses only keyspaces with locks.
    pub(crate) const NONE: Self = Self(0);
}

/// Shards that a context keeps locked over several commands.
#[derive(Debug, Default)]
pub(crate) struct Hold(pub(crate) Option<Arc<Outer>>);

#[derive(Debug)]
pub(crate) struct Outer {
    /// Address of the keyspace, to distinguish it from others.
    pub(crate) ks: usize,
    pub(crate) held: Held,
}

impl Outer {
    /// Panics when `set` is not part of the lock set: the transaction has not declared all its keys.
    pub(crate) fn check(&self, ks: usize, set: &Held) {
        assert!(self.ks == ks, "a hold on another keyspace");
        let has = match set {
            Held::None => true,
            Held::One(s) => self.held.has(*s),
            Held::Many(set) => self.held.has_all(set),
            Held::All => matches!(self.held, Held::All),
        };
        assert!(has, "a command of a transaction needs more shards than are held");
    }
}

/// A set of shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardSet([u64; SHARDS.div_ceil(64)]);

impl Default for ShardSet {
    fn default() -> Self {
        Self([0; SHARDS.div_ceil(64)])
    }
}

impl ShardSet {
    /// Adds all shards of another set.
    pub fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Adds the shard of a hash.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let s = shard_of(hash);
        self.0[s / 64] |= 1 << (s % 64);
    }

    #[inline]
    pub(crate) fn has(&self, s: usize) -> bool {
        self.0[s / 64] >> (s % 64) & 1 != 0
    }

    /// Whether the two sets have a shard in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Shards in the set.
    pub fn count(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Calls `f` for every shard in ascending order: the order of locking.
    pub(crate) fn each(&self, mut f: impl FnMut(usize)) {
        for (i, word) in self.0.iter().enumerate() {
            let mut w = *word;
            while w != 0 {
                f(i * 64 + w.trailing_zeros() as usize);
                w &= w - 1;
            }
        }
    }
}

/// Which shards a [`Locked`] has locked.
#[derive(Debug)]
pub(crate) enum Held {
    None,
    One(usize),
    Many(ShardSet),
    All,
}

impl Held {
    pub(crate) fn has_all(&self, set: &ShardSet) -> bool {
        let mut all = true;
        set.each(|s| all &= self.has(s));
        all
    }

    #[inline]
    pub(crate) fn has(&self, s: usize) -> bool {
        match self {
            Held::One(one) => *one == s,
            Held::All => true,
            Held::Many(set) => set.has(s),
            Held::None => false,
        }
    }
}
