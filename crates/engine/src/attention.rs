//! What keeps commands from the fast path.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Reasons for which a command cannot take the fast path. Zero most of the time: one load per group of
/// commands shows that none of them applies.
#[derive(Default)]
pub struct Attention(AtomicU32);

impl Attention {
    /// A client runs MONITOR.
    pub const MONITOR: u32 = 1;
    /// CLIENT PAUSE.
    pub const PAUSE: u32 = 2;
    /// `maxmemory` is set.
    pub const MAXMEMORY: u32 = 4;
    /// The slow log or the latency monitor needs every command timed by itself.
    pub const TIMING: u32 = 8;
    /// The server is loading its data.
    pub const LOADING: u32 = 16;
    /// Writes are refused because the journal cannot be written.
    pub const DISK: u32 = 128;
    /// Writes are refused because the last snapshot failed.
    pub const UNSAVED: u32 = 64;
    /// A script has run for longer than `busy-reply-threshold`.
    pub const BUSY: u32 = 256;
    /// Writes are refused because `min-replicas-to-write` asks for replicas, and there are none.
    pub const REPLICAS: u32 = 1024;
    /// Keys are being moved to another server.
    pub const MIGRATE: u32 = 512;
    /// Long commands have shards locked.
    pub const LONG: u32 = 2048;
    /// The server is a replica: it takes its changes from a primary, and its keys expire when the primary
    /// says so.
    pub const REPLICA: u32 = 4096;
    /// A replica has no link to its primary, and `replica-serve-stale-data` is no.
    pub const STALE: u32 = 8192;

    /// The reasons that commands of the link to a primary ignore.
    pub(crate) const OBEYED: u32 =
        Self::REPLICA | Self::STALE | Self::MAXMEMORY | Self::DISK | Self::UNSAVED | Self::REPLICAS;

    /// All reasons.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Sets or clears one.
    pub fn set(&self, bit: u32, on: bool) {
        if on {
            self.0.fetch_or(bit, Relaxed);
        } else {
            self.0.fetch_and(!bit, Relaxed);
        }
    }
}
