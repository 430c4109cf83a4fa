//! The costs of a command, by phase: parsing it, waiting for locks, executing it, writing its
//! reply.
//!
//! One batch in [`EVERY`] is timed phase by phase, with a handful of readings of the clock per
//! group of commands; the others pay a decrement. The cost of a sampled batch is shared among the
//! families of its commands by their number (parse, write) or as measured (execute). Waiting for
//! shards is rare and long, so it is not sampled: every wait is counted, by the lock itself
//! ([`store::take_waits`]), where the uncontended path does not notice.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use commands::row::Group;

use crate::engine::Engine;
use crate::stats::bump;
use crate::thread::Thread;

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
    /// Of all commands, sampled or not.
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
    pub(crate) fn reset(&self) {
        for f in &self.families {
            for c in [&f.sampled, &f.parse, &f.execute, &f.write, &f.lock_wait, &f.lock_waits] {
                c.store(0, Relaxed);
            }
        }
        for c in [&self.batches, &self.reads, &self.read, &self.writes, &self.write] {
            c.store(0, Relaxed);
        }
    }

    /// Counts the time that the last `n` commands of a family have waited for shards.
    #[inline]
    pub(crate) fn waited(&self, family: Group) -> u64 {
        let (waits, nanos) = store::take_waits();
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
pub(crate) struct Costs {
    /// Batches up to the next that is timed, itself included.
    left: u64,
    /// The present batch is timed.
    pub(crate) on: bool,
    /// Nanoseconds of parsing per command of the present group.
    parse: u64,
    /// Commands of the batch by family.
    commands: [u32; FAMILIES],
    seed: u64,
}

impl Costs {
    pub(crate) fn new(seed: u64) -> Self {
        Self { left: 1, on: false, parse: 0, commands: [0; FAMILIES], seed }
    }

    /// A batch begins.
    #[inline]
    pub(crate) fn begin(&mut self, stats: &CostStats) {
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
    pub(crate) fn next_is_timed(&self) -> bool {
        self.left == 1
    }

    /// A group of `n` commands was parsed in `nanos`.
    #[cold]
    pub(crate) fn parsed(&mut self, n: usize, nanos: u64) {
        self.parse = nanos / n.max(1) as u64;
    }

    /// `n` commands of a family were executed in `nanos`, of which they waited `waited`.
    #[cold]
    pub(crate) fn executed(
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
    pub(crate) fn wrote(&mut self, stats: &CostStats, nanos: u64) {
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

impl Thread {
    /// Monotonic nanoseconds before a read, if the batch that it may bring is timed.
    #[inline]
    pub fn read_begins(&self, engine: &Engine) -> Option<u64> {
        self.costs.next_is_timed().then(|| engine.clock.monotonic_ns())
    }

    /// A read has ended; `begin` is the result of [`read_begins`](Self::read_begins).
    #[inline]
    pub fn read_ends(&self, engine: &Engine, begin: Option<u64>) {
        if let Some(begin) = begin {
            let c = &self.worker.costs;
            bump(&c.reads, 1);
            bump(&c.read, engine.clock.monotonic_ns().saturating_sub(begin));
        }
    }

    /// Monotonic nanoseconds before a write, if the batch that it answers is timed.
    #[inline]
    pub fn write_begins(&self, engine: &Engine) -> Option<u64> {
        self.costs.on.then(|| engine.clock.monotonic_ns())
    }

    /// A write has ended; `begin` is the result of [`write_begins`](Self::write_begins).
    #[inline]
    pub fn write_ends(&mut self, engine: &Engine, begin: Option<u64>) {
        if let Some(begin) = begin {
            let nanos = engine.clock.monotonic_ns().saturating_sub(begin);
            self.costs.wrote(&self.worker.costs, nanos);
        }
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

impl Engine {
    /// The costs of commands, summed over threads.
    pub fn costs(&self) -> Breakdown {
        let workers = self.workers();
        let mut calls = [0u64; FAMILIES];
        for (id, cmd) in self.table.all().iter().enumerate() {
            let n: u64 = workers.iter().map(|w| w.stats.commands[id].calls.load(Relaxed)).sum();
            calls[cmd.row.group as usize] += n;
        }
        let sum = |of: &dyn Fn(&CostStats) -> &AtomicU64| -> u64 {
            workers.iter().map(|w| of(&w.costs).load(Relaxed)).sum()
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
        Breakdown {
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
}
