//! What is known about the journal's files: the writer, the lock, rewrites, and clients that wait.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use persist::disk::{Disk, Lock};
use persist::journal::Location;
use persist::journal::writer::Orders;
use store::Waiter;

/// See the module's text.
#[derive(Default)]
pub struct Files {
    /// It is being loaded at the start.
    pub(super) starting: AtomicBool,
    /// It has all data: from CONFIG SET appendonly yes until the first rewrite is done, it has not.
    pub(super) based: AtomicBool,
    pub(super) running: Mutex<Option<Running>>,
    /// Keeps other servers from using the same files.
    pub(super) lock: Mutex<Option<Lock>>,
    /// Its rewriting.
    pub rewrite: Rewrite,
    /// WAITAOF: clients, and the sequence numbers that they wait for.
    pub(super) waiters: Mutex<Vec<(u64, Arc<Waiter>)>>,
}

/// A journal that is being written.
pub(super) struct Running {
    pub(super) orders: Orders,
    pub(super) writer: JoinHandle<()>,
    pub(super) place: Location,
    pub(super) disk: Arc<dyn Disk>,
    /// Number of the last base.
    pub(super) bases: u64,
}

impl Files {
    /// Any server may use the files from here on.
    pub(super) fn unlock(&self) {
        *self.lock.lock() = None;
    }
}

/// The state of rewrites.
pub struct Rewrite {
    pub(super) busy: AtomicBool,
    /// The writer is to take its base, and to remove files.
    pub(super) rebasing: AtomicBool,
    pub(super) scheduled: AtomicBool,
    pub(super) since_ms: AtomicI64,
    pub(super) last_ok: AtomicBool,
    pub(super) last_seconds: AtomicI64,
    pub(super) count: AtomicU64,
    pub(super) failures: AtomicU64,
    /// Unix milliseconds before which no failed rewrite is begun again by itself.
    pub(super) not_before: AtomicI64,
}

impl Default for Rewrite {
    fn default() -> Self {
        Self {
            busy: AtomicBool::new(false),
            rebasing: AtomicBool::new(false),
            scheduled: AtomicBool::new(false),
            since_ms: AtomicI64::new(0),
            last_ok: AtomicBool::new(true),
            last_seconds: AtomicI64::new(-1),
            count: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            not_before: AtomicI64::new(0),
        }
    }
}

impl Rewrite {
    /// Takes the right to begin one.
    pub(super) fn claim(&self) -> bool {
        self.busy.compare_exchange(false, true, AcqRel, Acquire).is_ok()
    }

    /// Has one begin as soon as it can.
    pub fn schedule(&self) {
        self.scheduled.store(true, Relaxed);
    }

    /// Whether the writer is about to replace the files so far with a new base.
    pub(super) fn is_rebasing(&self) -> bool {
        self.rebasing.load(Relaxed)
    }

    /// Whether one begins as soon as it can.
    pub fn is_scheduled(&self) -> bool {
        self.scheduled.load(Relaxed)
    }

    /// Whether one is under way, as INFO says.
    pub(super) fn is_running(&self) -> bool {
        self.since_ms.load(Relaxed) != 0
    }

    /// Whether none can be begun.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// INFO's fields: name and value.
    pub fn info(&self, now_ms: i64) -> [(&'static str, i64); 7] {
        let since = self.since_ms.load(Relaxed);
        let running = since != 0;
        [
            ("aof_rewrite_in_progress", i64::from(running)),
            ("aof_rewrite_scheduled", i64::from(self.scheduled.load(Relaxed))),
            ("aof_last_rewrite_time_sec", self.last_seconds.load(Relaxed)),
            ("aof_current_rewrite_time_sec", if running { (now_ms - since) / 1000 } else { -1 }),
            ("aof_last_bgrewrite_ok", i64::from(self.last_ok.load(Relaxed))),
            ("aof_rewrites", self.count.load(Relaxed) as i64),
            ("aof_rewrites_consecutive_failures", self.failures.load(Relaxed) as i64),
        ]
    }
}
