//! Shards and their locks.
//!
//! A key's hash chooses its shard; a shard holds its part of every database, so that commands over two
//! databases (MOVE, COPY … DB, SWAPDB) need no further locks. A thread that needs several shards locks
//! them in ascending order; this rule alone prevents deadlocks.
//!
//! A keyspace that only one thread will ever use ([`Keyspace::single`]) has one [`SoloToken`], in that
//! thread's [`Context`](crate::Context). Since every access borrows the context mutably, the token already
//! proves exclusive access, and no lock is taken: two atomic operations less per command, which is a
//! seventh of the cost of a pipelined GET.
//!
//! Shards are locked as *sets* ([`Held`]), because a command, a batch or a transaction locks one, a few,
//! or all of them. The set proves the right to touch a shard, and it is checked at every access.

#![expect(
    unsafe_code,
    reason = "hands out &mut to a shard's data when its lock is in the held set"
)]

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use data::entry::Entry;
use data::epoch;
use data::table::{Heads, Spot, Table};
#[cfg(not(loom))]
use lock_api::RawMutex as _;
use stdx::sync::{AtomicU64, AtomicUsize, RawMutex, raw_mutex};

use crate::context::Context;
use crate::effects::{JOURNAL, MISSES};
use crate::expiry::ExpiryIndex;
use crate::interest::Interest;
use crate::lazy::{Garbage, Lazy};
pub(crate) use crate::lock_set::{Held, Hold, Outer, shard_of};
pub use crate::lock_set::{SHARDS, ShardSet, SoloToken};
use crate::saving::Saving;
use crate::waits;

/// One shard's part of one database.
pub(crate) struct DbPart {
    pub(crate) table: Table<Entry>,
    pub(crate) expiry: ExpiryIndex,
    /// Deadlines within values; made when the first one comes, for few data sets have any.
    pub(crate) fields: Option<Box<ExpiryIndex<true>>>,
}

impl DbPart {
    /// Notes that an entry's deadlines, its own and the earliest within its value, changed.
    #[inline]
    pub(crate) fn note(
        &mut self,
        base_ms: i64,
        hash: u64,
        before: [Option<i64>; 2],
        after: [Option<i64>; 2],
    ) {
        self.expiry.note(base_ms, hash, before[0], after[0]);
        if before[1] != after[1] {
            self.fields.get_or_insert_default().note(base_ms, hash, before[1], after[1]);
        }
    }
}

/// The lock, next to the part that most commands touch: database 0's part lies in the same lines.
#[repr(C, align(128))]
struct Shard {
    lock: RawMutex,
    /// Database 0's part; touched only while `lock` is locked; so is `others`.
    first: UnsafeCell<DbPart>,
    /// Parts of databases 1 and up.
    others: UnsafeCell<Box<[DbPart]>>,
    /// The watches and waiters of its keys; usually none.
    interest: UnsafeCell<Option<Box<Interest>>>,
    /// What stands for the cells above in a model, which reports uses that nothing orders.
    #[cfg(loom)]
    used: stdx::sync::loom::cell::UnsafeCell<()>,
}

/// All data of the server. Shared by all threads.
pub struct Keyspace {
    shards: Box<[Shard; SHARDS]>,
    heads: Arc<Heads>,
    databases: usize,
    pub(crate) lazy: Lazy,
    /// Expiry deadlines are indexed relative to this moment (Unix milliseconds).
    pub(crate) base_ms: i64,
    /// The number of the solo token, if there is one.
    solo: u64,
    /// The same while there are no locks; 0 while there are.
    unshared: AtomicU64,
    /// Reasons why a keyspace with a solo token has locks for now.
    shared: AtomicUsize,
    pub(crate) saving: Saving,
    /// Reasons to note what commands change: watches and waiters registered, and features that
    /// listen. Raised before the shard is locked under which the reason must hold.
    interest: AtomicUsize,
    /// The last ticket that was drawn.
    tickets: AtomicU64,
}

// SAFETY: the parts are only reached through `part`, which requires that the caller's `Held` has the shard
// locked; everything else is Sync by itself.
unsafe impl Sync for Keyspace {}
// SAFETY: all owned data is Send.
unsafe impl Send for Keyspace {}

impl Keyspace {
    /// An empty keyspace of `databases` databases; starts the thread that frees big values.
    pub fn new(databases: usize, now_ms: i64) -> Arc<Self> {
        Self::with_solo(databases, now_ms, 0)
    }

    fn with_solo(databases: usize, now_ms: i64, solo: u64) -> Arc<Self> {
        assert!(databases > 0);
        let heads = Heads::new(databases, SHARDS);
        let part = |db: usize, s: usize| DbPart {
            table: Table::published((s * 1024 / SHARDS) as u16, &heads, db * SHARDS + s),
            expiry: ExpiryIndex::default(),
            fields: None,
        };
        let shards: Box<[Shard]> = (0..SHARDS)
            .map(|s| Shard {
                lock: raw_mutex(),
                first: UnsafeCell::new(part(0, s)),
                others: UnsafeCell::new((1..databases).map(|db| part(db, s)).collect()),
                interest: UnsafeCell::new(None),
                #[cfg(loom)]
                used: Default::default(),
            })
            .collect();
        let Ok(shards) = shards.try_into() else { unreachable!("one for each of 0..SHARDS") };
        let lazy = Lazy::start();
        let interest = AtomicUsize::new(0);
        Arc::new(Self {
            shards,
            heads,
            databases,
            lazy,
            base_ms: now_ms,
            solo,
            unshared: AtomicU64::new(solo),
            shared: AtomicUsize::new(0),
            saving: Saving::default(),
            interest,
            tickets: AtomicU64::new(0),
        })
    }

    /// An empty keyspace for one thread, and the solo token for its context.
    pub fn single(databases: usize, now_ms: i64) -> (Arc<Self>, SoloToken) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let solo = NEXT.fetch_add(1, Relaxed);
        (Self::with_solo(databases, now_ms, solo), SoloToken(solo))
    }

    /// Whether only one thread uses it now, without locks.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.unshared.load(Relaxed) != 0
    }

    /// Lets other threads in, for one more reason: from here on the thread with the token takes locks too.
    /// That thread must have no view and no lock set while this is called, which the borrow of its token
    /// proves for views. Those threads begin after this, and have ended, as far as the keyspace is
    /// concerned, before [`unshare`](Self::unshare).
    pub fn share(&self, solo: &SoloToken) {
        assert!(solo.0 == self.solo, "only the thread with the solo token lets others in");
        self.shared.fetch_add(1, Relaxed);
        self.unshared.store(0, Relaxed);
    }

    /// One reason less; with the last one the locks go.
    pub fn unshare(&self, solo: &SoloToken) {
        assert!(solo.0 == self.solo, "only the thread with the solo token lets others in");
        if self.shared.fetch_sub(1, Relaxed) == 1 {
            self.unshared.store(self.solo, Relaxed);
        }
    }

    /// How many databases there are.
    #[inline]
    pub fn databases(&self) -> usize {
        self.databases
    }

    /// Whether a database may hold keys, or has ever held any. A key that is just being written to it by
    /// another thread may be missed.
    #[inline]
    pub fn is_used(&self, db: usize) -> bool {
        self.heads.is_used(db)
    }

    /// The bucket that a lookup of `hash` needs first, to be prefetched. Needs no lock. The shard's lock is being
    /// prefetched. When the bucket has come, its entry can be prefetched.
    #[inline]
    pub fn spot<'p>(&self, db: usize, hash: u64, pin: &'p epoch::Guard) -> Spot<'p> {
        let s = shard_of(hash);
        data::table::prefetch(std::ptr::from_ref(&self.shards[s]).cast());
        self.heads.spot(db * SHARDS + s, hash, pin)
    }

    /// Frees what a command has left in [`Context::apart`], elsewhere, and then calls `then`.
    pub fn free_apart(&self, garbage: Vec<Garbage>, then: impl FnOnce() + Send + 'static) {
        self.lazy.free_soon(garbage, then);
    }

    /// Values that wait to be freed in the background, and the number of those freed.
    pub fn lazy_counts(&self) -> (u64, u64) {
        self.lazy.counts()
    }

    /// Counts values that other code than the keyspace frees in the background.
    pub fn count_freed_apart(&self, n: u64) {
        self.lazy.count_freed(n);
    }

    /// Starts counting freed values anew (CONFIG RESETSTAT).
    pub fn reset_lazy_counts(&self) {
        self.lazy.reset();
    }

    /// Makes commands note their journal forms from here on, or stops it. The caller has every shard
    /// locked, so that no command sees it change.
    pub fn keep_journal(&self, yes: bool) {
        if yes {
            self.interest.fetch_add(JOURNAL, Relaxed);
        } else {
            self.interest.fetch_sub(JOURNAL, Relaxed);
        }
    }

    /// Makes commands note missed keys, too, from here on, or stops it. To be called in turn.
    pub fn keep_misses(&self, yes: bool) {
        if yes {
            self.interest.fetch_add(MISSES, Relaxed);
        } else {
            self.interest.fetch_sub(MISSES, Relaxed);
        }
    }

    /// The next position in the order in which commands begin to wait, from 1 on. A command draws it while
    /// it has the shards of its keys locked, so the tickets of a key's waiters are in the order of their
    /// arrival.
    pub fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Relaxed) + 1
    }

    /// Makes commands note their changes from here on, for one more reason. Must be undone by
    /// [`lose_interest`](Self::lose_interest).
    pub fn take_interest(&self) {
        self.interest.fetch_add(1, Relaxed);
    }

    /// One reason less.
    pub fn lose_interest(&self) {
        self.interest.fetch_sub(1, Relaxed);
    }

    /// Why changes must be noted: for [`Effects::observe`](crate::Effects). A registration is made under
    /// the lock of its key's shard, so a thread that locks that shard later sees its reason here.
    #[inline]
    pub(crate) fn interest(&self) -> usize {
        self.interest.load(Relaxed)
    }

    /// Locks a set. The caller's context stays mutably borrowed as long as the result lives. Shards in the
    /// context's [lock set](Self::hold) are not locked again.
    #[inline]
    pub(crate) fn lock(&self, set: Held, solo: &SoloToken, hold: &Hold) -> Locked<'_> {
        let unshared = self.unshared.load(Relaxed);
        if unshared != 0 {
            // The solo token is in a context that the caller has borrowed mutably: no other thread can be
            // here.
            assert!(solo.0 == unshared, "a second thread in a keyspace for one thread");
            return Locked { ks: self, held: set, last: NOWHERE, lockless: true, within: None };
        }
        if let Some(outer) = &hold.0 {
            outer.check(std::ptr::from_ref(self).addr(), &set);
            let within = Some(Arc::clone(outer));
            return Locked { ks: self, held: set, last: NOWHERE, lockless: true, within };
        }
        self.lock_all_of(&set);
        Locked { ks: self, held: set, last: NOWHERE, lockless: false, within: None }
    }

    /// [`lock`](Self::lock) for one shard, unless another thread has it.
    pub(crate) fn try_lock(&self, s: usize, solo: &SoloToken, hold: &Hold) -> Option<Locked<'_>> {
        let held = Held::One(s);
        if self.unshared.load(Relaxed) != 0 || hold.0.is_some() {
            return Some(self.lock(held, solo, hold));
        }
        if !self.shards[s].lock.try_lock() {
            return None;
        }
        // Created only after locking: dropping it unlocks the shard, whichever thread has it.
        Some(Locked { ks: self, held, last: NOWHERE, lockless: false, within: None })
    }

    fn lock_all_of(&self, set: &Held) {
        match set {
            Held::None => {}
            Held::One(s) => waits::lock(&self.shards[*s].lock),
            Held::Many(set) => set.each(|s| waits::lock(&self.shards[s].lock)),
            Held::All => self.shards.iter().for_each(|s| waits::lock(&s.lock)),
        }
    }

    /// Locks shards for every use of `cx` until [`release`](Self::release): a transaction. Views made
    /// meanwhile must not need more. `None` means every shard.
    pub fn hold(&self, cx: &mut Context, set: Option<ShardSet>) {
        assert!(cx.hold.0.is_none(), "a hold inside a hold");
        if self.is_single() {
            return;
        }
        let held = set.map_or(Held::All, Held::Many);
        self.lock_all_of(&held);
        cx.hold.0 = Some(Arc::new(Outer { ks: std::ptr::from_ref(self).addr(), held }));
    }

    /// Whether `cx` may lock these shards now: it has no lock set, or one that contains them.
    pub fn covers(&self, cx: &Context, set: &ShardSet) -> bool {
        cx.hold.0.as_ref().is_none_or(|outer| outer.held.has_all(set))
    }

    /// Unlocks what [`hold`](Self::hold) has locked.
    pub fn release(&self, cx: &mut Context) {
        if let Some(outer) = cx.hold.0.take() {
            assert!(outer.ks == std::ptr::from_ref(self).addr());
            self.unlock(&outer.held);
        }
    }

    #[inline]
    fn unlock(&self, held: &Held) {
        // SAFETY: the caller passes the shards that it has locked, once.
        let unlock = |s: usize| unsafe { self.shards[s].lock.unlock() };
        match held {
            Held::None => {}
            Held::One(s) => unlock(*s),
            Held::Many(set) => set.each(unlock),
            Held::All => (0..SHARDS).for_each(unlock),
        }
    }
}

/// Locked shards; unlocks them when dropped.
pub(crate) struct Locked<'a> {
    ks: &'a Keyspace,
    held: Held,
    /// The part of the last access and its shard and database: commands come back to the same one.
    last: (usize, usize, *mut DbPart),
    /// Nothing was locked for it: there is a solo token, or it is within a lock set.
    lockless: bool,
    /// The lock set that it is within.
    within: Option<Arc<Outer>>,
}

const NOWHERE: (usize, usize, *mut DbPart) = (usize::MAX, 0, std::ptr::null_mut());

impl<'a> Locked<'a> {
    #[inline]
    pub(crate) fn ks(&self) -> &'a Keyspace {
        self.ks
    }

    /// Leaves the shards locked for every use of the context until [`Keyspace::release`].
    pub(crate) fn into_hold(mut self, hold: &mut Hold) {
        if !self.lockless {
            let held = std::mem::replace(&mut self.held, Held::None);
            hold.0 = Some(Arc::new(Outer { ks: std::ptr::from_ref(self.ks).addr(), held }));
        }
    }

    #[inline]
    pub(crate) fn holds(&self, s: usize) -> bool {
        self.held.has(s)
    }

    /// Unlocks the locked shards and locks one shard, of which database `db` will be used first.
    #[inline(always)]
    pub(crate) fn move_to(&mut self, s: usize, db: usize, solo: &SoloToken) {
        if self.lockless {
            // Run for every command of a pipeline; `lock`, which made this value, has checked the same token.
            debug_assert!(self.within.is_some() || solo.0 == self.ks.solo);
            if let Some(outer) = &self.within {
                outer.check(std::ptr::from_ref(self.ks).addr(), &Held::One(s));
            }
        } else {
            self.unlock();
            waits::lock(&self.ks.shards[s].lock);
        }
        self.held = Held::One(s);
        // Another thread may have changed the last part meanwhile.
        self.reach(db, s);
    }

    pub(crate) fn holds_none(&self) -> bool {
        matches!(self.held, Held::None)
    }

    /// One shard's part of a database. Panics when the shard is not locked: the command's row does not
    /// name one of its keys, and such a command must never touch data.
    #[inline]
    pub(crate) fn part(&mut self, db: usize, s: usize) -> &mut DbPart {
        if self.last.0 != s || self.last.1 != db {
            self.find_part(db, s);
        }
        // SAFETY: `find_part` gave the pointer for a shard whose lock this value holds until it is
        // dropped, so no other thread touches it, and `&mut self` lends it out once.
        unsafe { &mut *self.last.2 }
    }

    #[inline(never)]
    fn find_part(&mut self, db: usize, s: usize) {
        assert!(self.holds(s), "shard {s} is not locked by this command");
        self.reach(db, s);
    }

    /// Notes where a part of a locked shard lies.
    #[inline(always)]
    fn reach(&mut self, db: usize, s: usize) {
        let shard = &self.ks.shards[s];
        #[cfg(loom)]
        shard.used.with_mut(|_| ());
        let part = if db == 0 {
            shard.first.get()
        } else {
            // SAFETY: the shard's lock is held, as above.
            unsafe { &raw mut (&mut *shard.others.get())[db - 1] }
        };
        self.last = (s, db, part);
    }

    /// The same, to read several of them at once.
    pub(crate) fn read_part(&self, db: usize, s: usize) -> &DbPart {
        assert!(self.holds(s), "shard {s} is not locked by this command");
        let shard = &self.ks.shards[s];
        #[cfg(loom)]
        shard.used.with(|_| ());
        // SAFETY: the shard's lock is held, so no other thread touches the part; `&self` keeps
        // this value from lending any part out to be changed.
        unsafe {
            match db {
                0 => &*shard.first.get(),
                _ => &(&*shard.others.get())[db - 1],
            }
        }
    }

    /// Two databases' parts of one shard.
    pub(crate) fn parts(&mut self, a: usize, b: usize, s: usize) -> (&mut DbPart, &mut DbPart) {
        self.last = NOWHERE;
        assert!(self.holds(s) && a != b);
        let shard = &self.ks.shards[s];
        #[cfg(loom)]
        shard.used.with_mut(|_| ());
        let (low, high) = (a.min(b), a.max(b));
        // SAFETY: as in `part`.
        let others = unsafe { &mut *shard.others.get() };
        let (x, y) = if low == 0 {
            // SAFETY: as in `part`; it is another object than `others`.
            (unsafe { &mut *shard.first.get() }, &mut others[high - 1])
        } else {
            let (lo, hi) = others.split_at_mut(high - 1);
            (&mut lo[low - 1], &mut hi[0])
        };
        if a < b { (x, y) } else { (y, x) }
    }
}

impl Locked<'_> {
    #[inline]
    fn unlock(&mut self) {
        self.ks.unlock(&self.held);
        self.held = Held::None;
    }

    /// The watches and waiters of the keys of a shard, which must be locked.
    pub(crate) fn interest(&mut self, s: usize) -> &mut Option<Box<Interest>> {
        assert!(self.holds(s), "shard {s} is not locked by this command");
        #[cfg(loom)]
        self.ks.shards[s].used.with_mut(|_| ());
        // SAFETY: the shard's lock is held until `self` is dropped, and `&mut self` lends it once.
        unsafe { &mut *self.ks.shards[s].interest.get() }
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.lockless {
            self.unlock();
        }
    }
}
