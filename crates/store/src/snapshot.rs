//! The keyspace as it was at one moment, while all threads go on changing it.
//!
//! Every entry carries a mark, one bit. Outside of snapshots all marks are the same as the keyspace's
//! own. A snapshot begins by flipping the keyspace's mark while all shards are locked: from then on an
//! entry whose mark differs is one *as it was* and has yet to be saved. Then
//!
//! - a [`Walk`] goes through the shards, each locked for a short time, saves the entries with the old
//!   mark and sets the mark;
//! - a thread that is about to change or remove an entry with the old mark saves it first ([`Keep`])
//!   and sets the mark;
//! - a new entry gets the new mark when it is created.
//!
//! So every entry is saved once, and when the walks are through all marks agree again. No thread saves
//! a [long](is_long) entry while it has a shard locked: a frozen copy goes to the [`Snapshot`] instead,
//! and shares its parts with the entry that lives on where possible ([`Entry::freeze`]). Whole tables
//! that FLUSHALL drops meanwhile go there, too, and so do long entries that are removed, instead of
//! being freed. Exchanged databases are undone by number: a walk over a shard begins anew, and the
//! marks make this harmless.
//!
//! Without a snapshot the cost is one load per write.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use data::entry::Entry;
use parking_lot::{Mutex, RwLock};

use crate::context::Context;
use crate::lazy::Garbage;
use crate::shards::{Held, Keyspace, SHARDS};

/// Whether saving an entry takes more than some tens of microseconds.
fn is_long(e: &Entry) -> bool {
    e.effort() > 512 || e.bytes() > 64 << 10
}

/// Things to save that are not in the keyspace any more.
enum Orphan {
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

struct State {
    keep: Arc<dyn Keep>,
    /// The database that had this number when the snapshot began.
    was: Mutex<Vec<usize>>,
    /// How many exchanges of databases there were since.
    swaps: AtomicUsize,
    orphans: Mutex<VecDeque<(usize, Orphan)>>,
    /// Entries that writers saved, for statistics.
    early: AtomicU64,
}

impl State {
    fn freeze(&self, db: usize, e: &mut Entry) {
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

/// A snapshot under way: see the module's text. Its owner walks all of it and then calls
/// [`finish`](Self::finish), even when the snapshot has failed: the marks must agree again before the
/// next one.
pub struct Snapshot {
    ks: Arc<Keyspace>,
    state: Arc<State>,
}

impl Keyspace {
    /// Begins a snapshot; `at` is called at its moment, when no command is under way. None when
    /// there is one already.
    pub fn begin_snapshot(
        self: &Arc<Self>,
        cx: &mut Context,
        keep: Arc<dyn Keep>,
        at: impl FnOnce(),
    ) -> Option<Snapshot> {
        let locked = self.lock(Held::All, &cx.solo, &cx.hold);
        let saving = &self.saving;
        // A snapshot that is being finished still needs its mark.
        if saving.state.read().is_some() {
            return None;
        }
        let state = Arc::new(State {
            keep,
            was: Mutex::new((0..self.databases()).collect()),
            swaps: AtomicUsize::new(0),
            orphans: Mutex::default(),
            early: AtomicU64::new(0),
        });
        *saving.state.write() = Some(Arc::clone(&state));
        saving.mark.store(!saving.mark(), Relaxed);
        saving.on.store(true, Relaxed);
        at();
        drop(locked);
        Some(Snapshot { ks: Arc::clone(self), state })
    }
}

impl Snapshot {
    /// The keyspace cut into `n` parts of about the same size, to be walked at the same time.
    pub fn walks(&self, n: usize) -> Vec<Walk> {
        let n = n.clamp(1, SHARDS);
        let walk = |i: usize| Walk {
            ks: Arc::clone(&self.ks),
            state: Arc::clone(&self.state),
            shard: i * SHARDS / n,
            end: (i + 1) * SHARDS / n,
            at: (0, 0),
            swaps: 0,
        };
        (0..n).map(walk).collect()
    }

    /// Calls `f` with every entry that was frozen, or dropped from the keyspace, and frees it. Called
    /// while no shard is locked; the last call must come after the last walk has ended.
    pub fn orphans(&self, mut f: impl FnMut(usize, &Entry)) {
        let mark = self.ks.saving.mark();
        loop {
            let Some((db, orphan)) = self.state.orphans.lock().pop_front() else { return };
            let garbage = match orphan {
                Orphan::Dropped(garbage) => garbage,
                Orphan::Frozen(e) => {
                    f(db, &e);
                    continue;
                }
            };
            match &garbage {
                Garbage::Entry(e) => f(db, e),
                Garbage::Table(t) => t.for_each(|e| {
                    if e.mark() != mark {
                        f(db, e);
                    }
                }),
            }
            self.ks.lazy.free(garbage);
        }
    }

    /// Entries that were saved by the threads that changed them.
    pub fn early(&self) -> u64 {
        self.state.early.load(Relaxed)
    }

    /// Ends it: all walks have ended, and `f` gets the last of what was dropped.
    pub fn finish(self, cx: &mut Context, f: impl FnMut(usize, &Entry)) {
        let locked = self.ks.lock(Held::All, &cx.solo, &cx.hold);
        self.ks.saving.on.store(false, Relaxed);
        drop(locked);
        // From here on no thread hands in anything.
        self.orphans(f);
        *self.ks.saving.state.write() = None;
    }
}

/// A walk over some shards.
pub struct Walk {
    ks: Arc<Keyspace>,
    state: Arc<State>,
    shard: usize,
    end: usize,
    /// Database and position within its table.
    at: (usize, u32),
    swaps: usize,
}

impl Walk {
    /// Goes on by about `budget` (the sum of the values that `f` returns) while a shard stays locked,
    /// calling `f` with every entry as it was and the number that its database had; long ones are left
    /// to [`Snapshot::orphans`]. Returns whether there is more.
    pub fn step(
        &mut self,
        cx: &mut Context,
        budget: usize,
        mut f: impl FnMut(usize, &Entry) -> usize,
    ) -> bool {
        if self.shard == self.end {
            return false;
        }
        let mut locked = self.ks.lock(Held::One(self.shard), &cx.solo, &cx.hold);
        let swaps = self.state.swaps.load(Relaxed);
        if swaps != self.swaps {
            (self.swaps, self.at) = (swaps, (0, 0));
        }
        let was = self.state.was.lock().clone();
        let mark = self.ks.saving.mark();
        let mut spent = 0;
        while self.at.0 < self.ks.databases() {
            let (db, mut pos) = self.at;
            let table = &mut locked.part(db, self.shard).table;
            if !table.is_empty() {
                loop {
                    let next = table.scan_mut(pos, |e| {
                        if e.mark() == mark {
                            return;
                        }
                        e.set_mark(mark);
                        if is_long(e) {
                            self.state.freeze(was[db], e);
                            spent += budget;
                        } else {
                            spent += f(was[db], e);
                        }
                    });
                    let Some(next) = next else { break };
                    if spent >= budget {
                        self.at.1 = next;
                        return true;
                    }
                    pos = next;
                }
            }
            self.at = (db + 1, 0);
        }
        (self.shard, self.at) = (self.shard + 1, (0, 0));
        self.shard != self.end
    }

    /// Shards that are still to be walked, and all of them.
    pub fn left(&self) -> usize {
        self.end - self.shard
    }
}
