//! `maxmemory`: whether there is memory for a command, and eviction of keys.

use config::Id;
use store::Db;

use crate::commit::commit;
use crate::engine::Engine;
use crate::thread::Thread;
use observe::stats::bump;

/// Keys that one command evicts before it looks at the clock, as in Redis.
const EVICT_FEWEST: u32 = 16;

impl Thread {
    /// Whether more memory is in use than `maxmemory`.
    pub(crate) fn is_over_memory(&self) -> bool {
        let max = self.hot.maxmemory;
        // The memory that does not count is looked at only where it matters: this runs before every
        // write.
        max != 0
            && stdx::mem::used() > max
            && stdx::mem::used().saturating_sub(stdx::mem::apart()) > max
    }

    /// Evicts until memory is below `maxmemory`, for a bounded time. Returns whether commands that
    /// need memory may run: it is below, or will be when eviction has had more time. False when the
    /// policy has nothing to evict (no key has a deadline under a volatile one).
    pub(crate) fn make_room(&mut self, engine: &Engine) -> bool {
        let max = self.hot.maxmemory;
        if !self.is_over_memory() {
            return true;
        }
        let samples = engine.config.int(Id::MaxmemorySamples).max(1) as usize;
        // No client did this, so all clients are notified.
        self.cx.client = 0;
        let start = engine.clock.monotonic_ns();
        // Invalidations of evicted keys take memory until they have been sent, perhaps more than the keys had,
        // and other threads deliver them meanwhile. They must not cause further evictions. So what is to be
        // freed is looked at once, and then only what the evicted keys had counts.
        let over = self.over_memory(engine);
        let (mut more, mut evicted, mut freed) = (true, 0u32, 0);
        while freed < over {
            let policy = self.hot.policy;
            let pubsub = &mut self.pubsub;
            let commit = |db: &mut Db<'_>| commit(engine, pubsub, db);
            let bytes = self.evicted.one(&engine.keyspace, policy, samples, &mut self.cx, commit);
            more = bytes.is_some();
            let Some(bytes) = bytes else { break };
            freed += bytes as u64;
            // The memory that is being freed in the background will be enough, unless very much is
            // missing.
            if engine.keyspace.lazy_counts().0 > 0 && over.saturating_sub(freed) < max / 8 {
                break;
            }
            // The next command or the periodic work goes on with the eviction.
            evicted += 1;
            if evicted.is_multiple_of(EVICT_FEWEST)
                && engine.clock.monotonic_ns() - start > self.hot.evict_ns
            {
                break;
            }
        }
        self.collect();
        let nanos = engine.clock.monotonic_ns() - start;
        bump(&self.worker.stats.total_eviction_exceeded_nanos, nanos);
        if nanos >= self.hot.latency_ns {
            engine.latency.record("eviction-cycle", nanos, self.cx.now);
        }
        // Values that are being freed in the background make room soon.
        more || freed >= over || engine.keyspace.lazy_counts().0 > 0
    }

    /// How much memory is to be freed.
    fn over_memory(&self, engine: &Engine) -> u64 {
        stdx::mem::used()
            .saturating_sub(engine.not_counted_for_eviction())
            .saturating_sub(self.hot.maxmemory)
    }
}

impl Engine {
    /// Bytes that `maxmemory` does not count: messages that wait to be sent, buffers that are kept for the next
    /// ones, what replicas have not read, and memory that has limits of its own (topics, HTTP).
    pub fn not_counted_for_eviction(&self) -> u64 {
        self.outbox_bytes() + self.replication.held_for_replicas() as u64 + stdx::mem::apart()
    }
}
