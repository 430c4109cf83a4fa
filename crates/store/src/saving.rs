//! The part of a snapshot that writers meet: the keyspace's mark, and what they hand over. See
//! [`crate::snapshot`], which walks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use data::entry::Entry;
use stdx::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, RwLock};

use crate::lazy::Garbage;

/// Whether saving an entry takes more than some tens of microseconds.
pub(crate) fn is_long(e: &Entry) -> bool {
    e.effort() > 512 || e.bytes() > 64 << 10
}

/// Things to save that are not in the keyspace any more.
pub(crate) enum Orphan {
    Dropped(Garbage),
    Frozen(Entry),
}

/// Takes the parts that a snapshot must not lose.
pub trait Keep: Send + Sync {
    /// An entry of database `db` as it was when the snapshot began, from a thread that is about to
    /// change it and has its shard locked.
    fn keep(&self, db: usize, e: &Entry);
}

/// The keyspace's part.
#[derive(Default)]
pub(crate) struct Saving {
    on: AtomicBool,
    mark: AtomicBool,
    state: RwLock<Option<Arc<State>>>,
}

pub(crate) struct State {
    keep: Arc<dyn Keep>,
    /// The database that had this number when the snapshot began.
    pub(crate) was: Mutex<Vec<usize>>,
    /// How many exchanges of databases there were since.
    pub(crate) swaps: AtomicUsize,
    pub(crate) orphans: Mutex<VecDeque<(usize, Orphan)>>,
    /// Entries that writers saved, for statistics.
    pub(crate) early: AtomicU64,
}

impl State {
    pub(crate) fn freeze(&self, db: usize, e: &mut Entry) {
        let frozen = e.freeze();
        self.orphans.lock().push_back((db, Orphan::Frozen(frozen)));
    }
}

impl Saving {
    /// Whether a snapshot is under way.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// The mark of new entries.
    #[inline]
    pub(crate) fn mark(&self) -> bool {
        self.mark.load(Relaxed)
    }

    /// Begins a snapshot of this many databases. None when there is one already; one that is being
    /// finished still needs its mark, too. Called with all shards locked.
    pub(crate) fn begin(&self, keep: Arc<dyn Keep>, databases: usize) -> Option<Arc<State>> {
        if self.state.read().is_some() {
            return None;
        }
        let state = Arc::new(State {
            keep,
            was: Mutex::new((0..databases).collect()),
            swaps: AtomicUsize::new(0),
            orphans: Mutex::default(),
            early: AtomicU64::new(0),
        });
        *self.state.write() = Some(Arc::clone(&state));
        self.mark.store(!self.mark(), Relaxed);
        self.on.store(true, Relaxed);
        Some(state)
    }

    /// Writers save nothing more.
    pub(crate) fn off(&self) {
        self.on.store(false, Relaxed);
    }

    /// The snapshot is over: the next one may begin.
    pub(crate) fn forget(&self) {
        *self.state.write() = None;
    }

    fn state(&self) -> Option<Arc<State>> {
        self.state.read().clone()
    }

    /// Saves an entry that is about to change, if it is not saved yet.
    #[cold]
    pub(crate) fn save(&self, db: usize, e: &mut Entry) {
        if e.mark() == self.mark() {
            return;
        }
        e.set_mark(self.mark());
        if let Some(state) = self.state() {
            state.early.fetch_add(1, Relaxed);
            let db = state.was.lock()[db];
            if is_long(e) {
                state.freeze(db, e);
            } else {
                state.keep.keep(db, e);
            }
        }
    }

    /// Takes an orphan that only the snapshot still needs. Gives it back when the snapshot does not
    /// need it either.
    #[cold]
    pub(crate) fn adopt(&self, db: usize, garbage: Garbage) -> Option<Garbage> {
        let Some(state) = self.state() else { return Some(garbage) };
        if matches!(&garbage, Garbage::Entry(e) if e.mark() == self.mark()) {
            return Some(garbage);
        }
        let db = state.was.lock()[db];
        state.orphans.lock().push_back((db, Orphan::Dropped(garbage)));
        None
    }

    /// Notes that two databases are being exchanged.
    #[cold]
    pub(crate) fn swap(&self, a: usize, b: usize) {
        if let Some(state) = self.state() {
            state.was.lock().swap(a, b);
            state.swaps.fetch_add(1, Relaxed);
        }
    }
}
