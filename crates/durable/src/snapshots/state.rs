//! What is known about snapshots: the one that is being taken, and those before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use parking_lot::{Mutex, RwLock};
use persist::disk::{Disk, Real};

use super::queue::Queue;

/// See the module's text.
pub struct Snapshots {
    /// One is being taken, in the background or not.
    pub(super) busy: AtomicBool,
    /// Unix milliseconds at which BGSAVE's or that for replicas began; 0 when there is none.
    pub(super) background_since: AtomicI64,
    /// BGSAVE SCHEDULE: to be begun when the present one has ended.
    pub(super) scheduled: AtomicBool,
    /// FLUSHALL found a snapshot being taken, and wants one when that is over.
    pub(super) owed: AtomicBool,
    /// Unix seconds of the last one that succeeded; 0 before any.
    last_save: AtomicI64,
    /// Unix seconds at which BGSAVE's last one was begun.
    pub(super) last_try: AtomicI64,
    /// Whether BGSAVE's last one succeeded.
    pub(super) last_ok: AtomicBool,
    /// Seconds that it took, or the last one for replicas; -1 before any.
    pub(super) last_seconds: AtomicI64,
    /// How many have succeeded.
    pub(super) saves: AtomicU64,
    /// Changes that the last successful one has, of all since the start.
    pub(super) saved_changes: AtomicU64,
    /// Keys serialised of the present one, and about how many there are.
    pub(super) progress: [AtomicU64; 2],
    /// The file that is being written, under its temporary name.
    temporary: Mutex<Option<PathBuf>>,
    /// The queue of the bytes of the one that is being taken.
    present: Mutex<Option<Arc<Queue>>>,
    /// Where snapshots are written.
    disk: RwLock<Arc<dyn Disk>>,
}

impl Default for Snapshots {
    fn default() -> Self {
        Self {
            busy: AtomicBool::new(false),
            background_since: AtomicI64::new(0),
            scheduled: AtomicBool::new(false),
            owed: AtomicBool::new(false),
            last_save: AtomicI64::new(0),
            last_try: AtomicI64::new(0),
            last_ok: AtomicBool::new(true),
            last_seconds: AtomicI64::new(-1),
            saves: AtomicU64::new(0),
            saved_changes: AtomicU64::new(0),
            progress: Default::default(),
            temporary: Mutex::default(),
            present: Mutex::default(),
            disk: RwLock::new(Arc::new(Real)),
        }
    }
}

impl Snapshots {
    /// Whether BGSAVE's snapshot is being taken, or one for replicas.
    pub fn is_in_background(&self) -> bool {
        self.background_since.load(Relaxed) != 0
    }

    /// Whether another snapshot in the background is to follow the present work.
    pub fn schedule(&self, yes: bool) {
        self.scheduled.store(yes, Relaxed);
    }

    /// Whether a snapshot is being taken.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Unix seconds of the last save, or of the start at `started_ms`.
    pub fn last_save(&self, started_ms: i64) -> i64 {
        match self.last_save.load(Relaxed) {
            0 => started_ms / 1000,
            at => at,
        }
    }

    /// Whether the last save in the background succeeded.
    pub fn last_ok(&self) -> bool {
        self.last_ok.load(Relaxed)
    }

    /// Has the snapshot that is being taken fail.
    pub fn give_up(&self) {
        if let Some(queue) = &*self.present.lock() {
            queue.kill();
        }
    }

    /// Writes files to another disk: for tests.
    pub fn save_to(&self, disk: Arc<dyn Disk>) {
        *self.disk.write() = disk;
    }

    /// Removes the file of an unfinished save: the process is about to end.
    pub fn abandon(&self) {
        if let Some(path) = self.temporary.lock().take() {
            // The thread that writes it ends with the process.
            let _ = std::fs::remove_file(path);
        }
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk.read())
    }

    /// Takes the right to take a snapshot.
    pub(super) fn claim(&self) -> bool {
        self.busy.compare_exchange(false, true, AcqRel, Acquire).is_ok()
    }

    /// Gives the right back.
    pub(super) fn release(&self) {
        *self.temporary.lock() = None;
        *self.present.lock() = None;
        self.busy.store(false, Relaxed);
    }

    /// The snapshot of BGSAVE, or the one for replicas, has ended.
    pub(super) fn ended_in_background(&self, now_ms: i64) {
        let began = self.background_since.swap(0, Relaxed);
        self.last_seconds.store((now_ms - began) / 1000, Relaxed);
    }

    /// The snapshot that has begun: the queue of its bytes, and about how many keys it has.
    pub(super) fn begun(&self, queue: Arc<Queue>, keys: u64) {
        *self.present.lock() = Some(queue);
        self.progress[0].store(0, Relaxed);
        self.progress[1].store(keys, Relaxed);
    }

    /// The file that is to be written, under its temporary name.
    pub(crate) fn writes(&self, temporary: &Path) {
        *self.temporary.lock() = Some(temporary.to_owned());
    }

    /// One has been saved that has the first so many `changes`.
    pub(super) fn saved(&self, now_ms: i64, changes: u64) {
        self.last_ok.store(true, Relaxed);
        self.last_save.store(now_ms / 1000, Relaxed);
        self.saves.fetch_add(1, Relaxed);
        self.saved_changes.store(changes, Relaxed);
    }
}
