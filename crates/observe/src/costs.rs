//! The costs of a command, by phase: parsing it, waiting for locks, executing it, writing its
//! reply.
//!
//! One batch in [`EVERY`] is timed phase by phase, with a handful of readings of the clock per
//! group of commands; the others pay a decrement. The cost of a sampled batch is shared among the
//! families of its commands by their number (parse, write) or as measured (execute). Waiting for
//! shards is rare and long, so it is not sampled: every wait is counted, by the lock itself
//! (`store::take_waits`), where the uncontended path does not notice.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use commands::row::Group;

use crate::stats::{ThreadStats, bump};

/// On average, one batch of this many is timed.
pub const EVERY: u64 = 64;

/// Number of families: the documentation groups of the commands.
pub const FAMILIES: usize = Group::Module as usize + 1;

/// The costs of the commands of one family, in nanoseconds.
#[derive(Default)]
#[expect(missing_docs, reason = "see the module's text")]
pub struct FamilyCosts {
    /// Commands in the batches that were timed; `parse`, `execute` and `write` are theirs.
    pub sampled: AtomicU64,
    pub parse: AtomicU64,
    /// Without the time waited for locks.
    pub execute: AtomicU64,
    pub write: AtomicU64,
    /// Waits of all commands, sampled or not.
    pub lock_wait: AtomicU64,
    pub lock_waits: AtomicU64,
}

/// One thread's counts. Only the thread writes.
#[derive(Default)]
pub struct CostStats {
    /// By number of the family ([`Group`]).
    pub families: [FamilyCosts; FAMILIES],
    /// Batches that were timed.
    pub batches: AtomicU64,
    /// Reads of sockets that were timed.
    pub reads: AtomicU64,
    /// How long they took, in nanoseconds.
    pub read: AtomicU64,
    /// Writes that were timed.
    pub writes: AtomicU64,
    /// How long they took, in nanoseconds.
    pub write: AtomicU64,
}

impl CostStats {
    /// Resets the counts (CONFIG RESETSTAT).
    pub fn reset(&self) {
        for f in &self.families {
            for c in [&f.sampled, &f.parse, &f.execute, &f.write, &f.lock_wait, &f.lock_waits] {
                c.store(0, Relaxed);
            }
        }
        for c in [&self.batches, &self.reads, &self.read, &self.writes, &self.write] {
            c.store(0, Relaxed);
        }
    }

    /// A read of a socket has taken so long.
    #[cold]
    pub fn read_took(&self, nanos: u64) {
        bump(&self.reads, 1);
        bump(&self.read, nanos);
    }

    /// The last commands of a family have waited for shards so many times, for so many nanoseconds
    /// together. Returns the nanoseconds.
    #[inline]
    pub fn waited(&self, family: Group, (waits, nanos): (u64, u64)) -> u64 {
        if waits != 0 {
            let f = &self.families[family as usize];
            bump(&f.lock_waits, waits);
            bump(&f.lock_wait, nanos);
        }
        nanos
    }
}

/// A thread's clock for the batch at hand.
#[derive(Debug)]
pub struct Costs {
    /// Batches up to the next that is timed, itself included.
    left: u64,
    /// The present batch is timed.
    pub on: bool,
    /// Nanoseconds of parsing per command of the present group.
    parse: u64,
    /// Commands of the batch by family.
    commands: [u32; FAMILIES],
    seed: u64,
}

impl Costs {
    /// A clock that begins with a batch that is timed. `seed` is of the choice of the next ones.
    pub fn new(seed: u64) -> Self {
        Self { left: 1, on: false, parse: 0, commands: [0; FAMILIES], seed }
    }

    /// A batch begins.
    #[inline]
    pub fn begin(&mut self, stats: &CostStats) {
        self.on = false;
        self.left -= 1;
        if self.left == 0 {
            self.sample(stats);
        }
    }

    #[cold]
    fn sample(&mut self, stats: &CostStats) {
        // Not every 64th: a client whose batches come in turns would have the same one timed.
        self.left = 1 + stdx::rng::splitmix64(&mut self.seed) % (2 * EVERY - 1);
        self.on = true;
        self.parse = 0;
        self.commands = [0; FAMILIES];
        bump(&stats.batches, 1);
    }

    /// Whether the next batch will be timed, so that reading its input should be.
    #[inline]
    pub fn next_is_timed(&self) -> bool {
        self.left == 1
    }

    /// A group of `n` commands was parsed in `nanos`.
    #[cold]
    pub fn parsed(&mut self, n: usize, nanos: u64) {
        self.parse = nanos / n.max(1) as u64;
    }

    /// `n` commands of a family were executed in `nanos`, of which they waited `waited`.
    #[cold]
    pub fn executed(
        &mut self,
        stats: &CostStats,
        family: Group,
        (n, nanos, waited): (u64, u64, u64),
    ) {
        let f = &stats.families[family as usize];
        bump(&f.sampled, n);
        bump(&f.parse, self.parse * n);
        bump(&f.execute, nanos.saturating_sub(waited));
        let sum = &mut self.commands[family as usize];
        *sum = sum.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
    }

    /// Their replies were written in `nanos`.
    #[cold]
    pub fn wrote(&mut self, stats: &CostStats, nanos: u64) {
        bump(&stats.writes, 1);
        bump(&stats.write, nanos);
        let all: u64 = self.commands.iter().map(|n| u64::from(*n)).sum();
        for (f, &n) in stats.families.iter().zip(&self.commands).filter(|(_, n)| **n > 0) {
            bump(&f.write, nanos * u64::from(n) / all);
        }
        // A batch may be written in several parts.
        self.commands = [0; FAMILIES];
    }
}

/// The average costs of a command of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "see the module's text")]
pub struct FamilyCost {
    pub family: &'static str,
    /// Commands executed.
    pub calls: u64,
    /// Commands that were timed.
    pub sampled: u64,
    /// Nanoseconds per command.
    pub parse: f64,
    pub execute: f64,
    pub write: f64,
    pub lock_wait: f64,
    /// Times that a command found a shard locked.
    pub lock_waits: u64,
}

/// Families by number, as [`Group`] orders them.
const GROUPS: [Group; FAMILIES] = [
    Group::Generic,
    Group::String,
    Group::List,
    Group::Set,
    Group::SortedSet,
    Group::Hash,
    Group::PubSub,
    Group::Transactions,
    Group::Connection,
    Group::Server,
    Group::Scripting,
    Group::HyperLogLog,
    Group::Cluster,
    Group::Sentinel,
    Group::Geo,
    Group::Stream,
    Group::Bitmap,
    Group::Topic,
    Group::Live,
    Group::Module,
];

/// The whole breakdown.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// Families that have executed anything.
    pub families: Vec<FamilyCost>,
    /// Batches that were timed.
    pub sampled_batches: u64,
    /// Mean nanoseconds of a read from a socket, and of a write.
    pub read: f64,
    /// See `read`.
    pub write: f64,
}

impl Breakdown {
    /// The costs of commands, summed over `threads`. `groups` are the families of the commands by number.
    pub fn of(threads: &[(&ThreadStats, &CostStats)], groups: impl Iterator<Item = Group>) -> Self {
        let mut calls = [0u64; FAMILIES];
        for (id, group) in groups.enumerate() {
            let n: u64 = threads.iter().map(|(s, _)| s.commands[id].calls.load(Relaxed)).sum();
            calls[group as usize] += n;
        }
        let sum = |of: &dyn Fn(&CostStats) -> &AtomicU64| -> u64 {
            threads.iter().map(|(_, costs)| of(costs).load(Relaxed)).sum()
        };
        let each = |ns: u64, n: u64| if n == 0 { 0.0 } else { ns as f64 / n as f64 };
        let families = GROUPS
            .iter()
            .map(|g| {
                let i = *g as usize;
                let sampled = sum(&|c| &c.families[i].sampled);
                FamilyCost {
                    family: g.name(),
                    calls: calls[i],
                    sampled,
                    parse: each(sum(&|c| &c.families[i].parse), sampled),
                    execute: each(sum(&|c| &c.families[i].execute), sampled),
                    write: each(sum(&|c| &c.families[i].write), sampled),
                    lock_wait: each(sum(&|c| &c.families[i].lock_wait), calls[i]),
                    lock_waits: sum(&|c| &c.families[i].lock_waits),
                }
            })
            .filter(|f| f.calls > 0)
            .collect();
        Self {
            families,
            sampled_batches: sum(&|c| &c.batches),
            read: each(sum(&|c| &c.read), sum(&|c| &c.reads)),
            write: each(sum(&|c| &c.write), sum(&|c| &c.writes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_in_order() {
        for (i, g) in GROUPS.iter().enumerate() {
            assert_eq!(*g as usize, i, "{}", g.name());
        }
    }

    #[test]
    fn one_batch_in_sixty_four_is_timed() {
        let stats = CostStats::default();
        let mut c = Costs::new(3);
        let timed = (0..64_000)
            .filter(|_| {
                let foretold = c.next_is_timed();
                c.begin(&stats);
                assert_eq!(foretold, c.on);
                c.on
            })
            .count();
        assert!((900..1100).contains(&timed), "{timed}");
        assert_eq!(stats.batches.load(Relaxed), timed as u64);
    }

    #[test]
    fn a_batch_is_shared_among_its_families() {
        let stats = CostStats::default();
        let mut c = Costs::new(0);
        c.begin(&stats);
        assert!(c.on);
        c.parsed(4, 400);
        c.executed(&stats, Group::String, (3, 900, 300));
        c.executed(&stats, Group::Generic, (1, 50, 0));
        c.wrote(&stats, 4000);
        let of = |g: Group| {
            let f = &stats.families[g as usize];
            [&f.sampled, &f.parse, &f.execute, &f.write].map(|n| n.load(Relaxed))
        };
        assert_eq!(of(Group::String), [3, 300, 600, 3000]);
        assert_eq!(of(Group::Generic), [1, 100, 50, 1000]);
    }

    #[test]
    fn a_breakdown_is_of_all_threads() {
        let threads = [0, 1].map(|_| (ThreadStats::new(3), CostStats::default()));
        for (stats, costs) in &threads {
            bump(&stats.commands[1].calls, 5);
            bump(&costs.families[Group::Hash as usize].sampled, 2);
            bump(&costs.families[Group::Hash as usize].execute, 500);
            assert_eq!(costs.waited(Group::Hash, (1, 70)), 70);
            assert_eq!(costs.waited(Group::Hash, (0, 0)), 0);
            costs.read_took(30);
        }
        let seen: Vec<_> = threads.iter().map(|(s, c)| (s, c)).collect();
        let groups = [Group::String, Group::Hash, Group::Set];
        let b = Breakdown::of(&seen, groups.into_iter());
        let [hash] = b.families.as_slice() else { panic!("{:?}", b.families) };
        assert_eq!((hash.family, hash.calls, hash.sampled, hash.lock_waits), ("hash", 10, 4, 2));
        assert_eq!((hash.execute, hash.lock_wait, b.read), (250.0, 14.0, 30.0));
        threads[0].1.reset();
        threads[0].0.reset();
        assert_eq!(Breakdown::of(&seen, groups.into_iter()).families[0].calls, 5);
    }
}
