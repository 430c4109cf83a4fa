//! The server's counters.
//!
//! A thread counts for itself, in atomics that only it writes (a plain load and store), so that
//! counting costs the same as without other threads; the reader sums over the threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stdx::histogram::Histogram;

/// Adds to a counter that only this thread writes.
#[inline]
pub fn bump(c: &AtomicU64, n: u64) {
    c.store(c.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Counts of one command on one thread, or summed.
#[derive(Default)]
pub struct CommandStats {
    /// Executions.
    pub calls: AtomicU64,
    /// Time spent executing, in nanoseconds.
    pub nanos: AtomicU64,
    /// Refused before execution (arity, authentication, memory …).
    pub rejected: AtomicU64,
    /// Executed and answered with an error.
    pub failed: AtomicU64,
    /// Latencies; allocated when first used.
    pub latency: OnceLock<Box<Histogram>>,
}

impl CommandStats {
    /// Counts `n` calls that took `nanos` together.
    #[inline]
    pub fn called(&self, n: u64, nanos: u64, tracking: bool) {
        bump(&self.calls, n);
        bump(&self.nanos, nanos);
        if tracking {
            self.latency.get_or_init(Default::default).record_many(nanos / n, n);
        }
    }

    fn reset(&self) {
        for c in [&self.calls, &self.nanos, &self.rejected, &self.failed] {
            c.store(0, Relaxed);
        }
        if let Some(h) = self.latency.get() {
            h.reset();
        }
    }
}

macro_rules! totals {
    (sum { $($(#[$doc:meta])* $name:ident),* $(,)? }
     max { $($(#[$max_doc:meta])* $max:ident),* $(,)? }) => {
        /// One thread's counters.
        #[derive(Default)]
        pub struct ThreadStats {
            $($(#[$doc])* pub $name: AtomicU64,)*
            $($(#[$max_doc])* pub $max: AtomicU64,)*
            /// By command number.
            pub commands: Box<[CommandStats]>,
        }

        /// Counters summed over threads, and the greatest of the maxima.
        #[derive(Default, Clone, Copy, Debug)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
            $($(#[$max_doc])* pub $max: u64,)*
        }

        impl ThreadStats {
            /// Counters for a table of `commands` commands.
            pub fn new(commands: usize) -> Self {
                Self {
                    commands: (0..commands).map(|_| CommandStats::default()).collect(),
                    ..Self::default()
                }
            }

            /// Adds these counters to a sum.
            pub fn add_to(&self, t: &mut Totals) {
                $(t.$name = t.$name.wrapping_add(self.$name.load(Relaxed));)*
                $(t.$max = t.$max.max(self.$max.load(Relaxed));)*
            }

            /// Resets the counters (CONFIG RESETSTAT). A count made at the same moment may survive.
            /// Changes since the last save stay: they are a fact about the data.
            pub fn reset(&self) {
                $(if stringify!($name) != "dirty" {
                    self.$name.store(0, Relaxed);
                })*
                $(self.$max.store(0, Relaxed);)*
                self.commands.iter().for_each(CommandStats::reset);
            }
        }
    };
}

totals! {
    sum {
        /// Commands executed.
        commands_processed,
        /// Connections accepted by this thread.
        connections_received,
        /// Connections refused because of `maxclients` or protected mode; written by the acceptor.
        rejected_connections,
        /// Bytes received from clients.
        net_input_bytes,
        /// Bytes sent to clients.
        net_output_bytes,
        /// Those of the received bytes that are a primary's copy and stream.
        net_repl_input_bytes,
        /// Those of the sent bytes that went to replicas.
        net_repl_output_bytes,
        /// Batches of input, each answered with one write.
        batches,
        /// Reads from sockets.
        reads_processed,
        /// Writes to sockets.
        writes_processed,
        /// Wake-ups of the event loop.
        eventloop_cycles,
        /// Time in the event loop without waiting, in nanoseconds.
        eventloop_nanos,
        /// Time executing commands, in nanoseconds.
        command_nanos,
        /// Error replies.
        error_replies,
        /// Lookups that found a key.
        keyspace_hits,
        /// Lookups that found none.
        keyspace_misses,
        /// Keys deleted because they expired.
        expired_keys,
        /// Fields of hashes deleted because they expired.
        expired_subkeys,
        /// Keys evicted.
        evicted_keys,
        /// Expiry cycles that ran out of time.
        expired_time_cap_reached,
        /// Changes since the last save.
        dirty,
        /// Times a DENYOOM command found memory above `maxmemory`.
        total_eviction_exceeded_nanos,
        /// Clients closed for their output limit.
        client_output_buffer_limit_disconnections,
        /// Clients closed for their query limit.
        client_query_buffer_limit_disconnections,
        /// Clients closed because all together held more than `maxmemory-clients`.
        evicted_clients,
        /// Connections closed for being idle.
        timed_out_clients,
        /// Nanoseconds spent in active expiry.
        expire_cycle_nanos,
        /// Nanoseconds spent in periodic work.
        cron_nanos,
    }
    max {
        /// The longest cycle of the event loop, in nanoseconds.
        eventloop_nanos_max,
        /// The most commands executed in one cycle.
        eventloop_commands_max,
    }
}
