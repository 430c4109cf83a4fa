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

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use data::entry::Entry;

use crate::context::Context;
use crate::lazy::Garbage;
pub use crate::saving::Keep;
use crate::saving::{Orphan, State, is_long};
use crate::shards::{Held, Keyspace, SHARDS};

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
        let state = saving.begin(keep, self.databases())?;
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
        self.ks.saving.off();
        drop(locked);
        // From here on no thread hands in anything.
        self.orphans(f);
        self.ks.saving.forget();
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
