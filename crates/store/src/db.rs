//! The view a data command has: one selected database, with the shards of its keys locked.
//!
//! Every access goes through here, so that the rules hold everywhere: an expired key is never
//! seen (and its removal is an effect), access times and hit counts are kept, deadlines stay
//! indexed, and what changed is noted for the commit.

use data::entry::{Content, Entry, Kind, Str};
use data::table::{Slot, SlotMut};

use crate::context::Context;
use crate::effects::{Class, Event};
use crate::lazy::Garbage;
use crate::shards::{Held, Keyspace, Locked, Part, SHARDS, ShardSet, shard_of};

/// A key with its hash, so that it is hashed once per command.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// The key.
    pub bytes: &'a [u8],
    /// Its hash.
    pub hash: u64,
}

impl<'a> Key<'a> {
    /// Hashes a key.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, hash: stdx::hash::hash64(bytes) }
    }
}

/// What happens to a key's deadline when its value is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// It stays.
    Keep,
    /// There is none afterwards.
    Clear,
    /// It is this, in Unix milliseconds.
    At(i64),
}

/// The key holds a value of another type: `WRONGTYPE …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

/// See the module's text.
pub struct Db<'a> {
    locked: Locked<'a>,
    index: usize,
    /// What surrounds the command.
    pub cx: &'a mut Context,
    /// The first key, hashed while the batch was prefetched.
    hint: (*const u8, usize, u64),
}

impl<'a> Db<'a> {
    /// A view with the shard of one hash locked.
    #[inline]
    pub fn lock_one(ks: &'a Keyspace, index: usize, key: Key<'_>, cx: &'a mut Context) -> Self {
        let locked = ks.lock(Held::One(shard_of(key.hash)));
        Self { locked, index, cx, hint: (key.bytes.as_ptr(), key.bytes.len(), key.hash) }
    }

    /// A view with a set of shards locked.
    pub fn lock_set(ks: &'a Keyspace, index: usize, set: ShardSet, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::Many(Box::new(set))), index, cx)
    }

    /// A view with every shard locked.
    pub fn lock_all(ks: &'a Keyspace, index: usize, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::All), index, cx)
    }

    /// A view with nothing locked, for commands that go through the shards one after the other.
    pub fn unlocked(ks: &'a Keyspace, index: usize, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::None), index, cx)
    }

    fn over(locked: Locked<'a>, index: usize, cx: &'a mut Context) -> Self {
        Self { locked, index, cx, hint: (std::ptr::null(), 0, 0) }
    }

    /// The selected database.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Selects another database (inside a transaction or a script, and for COPY … DB).
    pub fn select(&mut self, index: usize) {
        debug_assert!(index < self.databases());
        self.index = index;
    }

    /// How many databases there are.
    pub fn databases(&self) -> usize {
        self.locked.ks().databases()
    }

    /// The time of the batch in Unix milliseconds.
    #[inline]
    pub fn now(&self) -> i64 {
        self.cx.now
    }

    /// The key with its hash; the first key of a command costs nothing.
    #[inline]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        if self.hint.0 == bytes.as_ptr() && self.hint.1 == bytes.len() {
            return Key { bytes, hash: self.hint.2 };
        }
        Key::new(bytes)
    }

    #[inline]
    fn part(&mut self, hash: u64) -> &mut Part {
        self.locked.part(self.index, shard_of(hash))
    }

    /// Removes the key if its time is over. Returns whether the key is (now) logically absent
    /// because of it.
    #[inline]
    fn reap(&mut self, key: Key<'_>) -> bool {
        let now = self.cx.now;
        let part = self.part(key.hash);
        if part.expiry.keys == 0 {
            return false;
        }
        let Some(e) = part.table.find(key.hash, |e| e.key() == key.bytes) else { return false };
        if e.deadline().is_none_or(|d| d >= now) {
            return false;
        }
        if !self.cx.keep_expired {
            self.expire_now(key);
        }
        true
    }

    /// Deletes an expired key, as an effect.
    #[cold]
    fn expire_now(&mut self, key: Key<'_>) {
        let lazy = self.cx.lazy_expire;
        if self.take_out(key, lazy) {
            self.cx.counters.expired_keys += 1;
            self.dropped(key.bytes, Class::Expired, "expired");
        }
    }

    pub(crate) fn dropped(&mut self, key: &[u8], class: Class, name: &'static str) {
        if self.cx.effects.observed {
            self.cx.effects.dropped.push((self.index, key.to_vec()));
            self.event(class, name, key);
        }
    }

    fn take_out(&mut self, key: Key<'_>, lazily: bool) -> bool {
        let base = self.locked.ks().base_ms;
        let ks = self.locked.ks();
        let part = self.part(key.hash);
        let Some(e) = part.table.remove(key.hash, |e| e.key() == key.bytes) else { return false };
        part.expiry.note(base, key.hash, e.deadline(), None);
        if lazily && e.is_big() {
            ks.lazy.free(Garbage::Entry(e));
        }
        true
    }

    /// The entry, for a command that reads it: counts a hit or a miss and the access.
    #[inline]
    pub fn read(&mut self, key: Key<'_>) -> Option<Slot<'_, Entry>> {
        let now = self.cx.now;
        // One probe in the usual case: the deadline is looked at in the entry that was found.
        let bits = {
            let part = self.locked.part(self.index, shard_of(key.hash));
            match part.table.find_mut(key.hash, |e| e.key() == key.bytes) {
                None => None,
                Some(e) if e.deadline().is_some_and(|d| d < now) => {
                    drop(e);
                    self.reap(key);
                    None
                }
                Some(mut e) => {
                    if !self.cx.no_touch {
                        let bits = e.access();
                        let new = self.cx.touched(bits);
                        e.node_mut().set_access(new);
                    }
                    Some(e)
                }
            }
        };
        match bits {
            Some(_) => {
                self.cx.counters.keyspace_hits += 1;
                self.part(key.hash).table.find(key.hash, |e| e.key() == key.bytes)
            }
            None => {
                self.cx.counters.keyspace_misses += 1;
                if self.cx.effects.observed {
                    self.event(Class::KeyMiss, "keymiss", key.bytes);
                }
                None
            }
        }
    }
}
