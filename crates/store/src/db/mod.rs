//! The view of a data command: one selected database, with the shards of its keys locked.
//!
//! Every access goes through here, so that the rules hold everywhere: an expired key is never seen (and its
//! removal is an effect), access times and hit counts are kept, deadlines stay indexed, and changes are
//! noted for the commit.

use data::entry::{Content, Entry, Kind, Str};
use data::table::{Slot, SlotMut};

use crate::context::{Block, Budget, Context, Empty};
use crate::effects::Class;
use crate::lazy::Garbage;
use crate::shards::{DbPart, Held, Keyspace, Locked, SHARDS, ShardSet, shard_of};

mod watched;
mod whole;

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
    /// The key keeps its deadline.
    Keep,
    /// The key has no deadline afterwards.
    Clear,
    /// The key gets this deadline, in Unix milliseconds.
    At(i64),
}

/// The key holds a value of another type: `WRONGTYPE …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

/// A value of more allocations is never freed on the path: at 50 ns each this is half a
/// millisecond.
const EFFORT_MAX: usize = 10_000;

/// How the values of a database that is emptied are freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Here and now.
    Now,
    /// In the background.
    Lazily,
    /// By the caller that ran the command: they go to [`Context::apart`].
    Apart,
}

/// Fields of hashes that active expiry removes in the place of one key.
const FIELDS_PER_KEY: usize = 16;

/// See the module's text.
pub struct Db<'a> {
    locked: Locked<'a>,
    index: usize,
    /// The command's context.
    pub cx: &'a mut Context,
    /// A key that has been hashed: where it lies, how long it is, and its hash.
    hint: (*const u8, usize, u64),
    /// The hash of the first key, or 0 when it is not known.
    first: u64,
    /// The probable index, within its bucket, of the entry that is looked for next.
    near: usize,
}

/// Counts an access to an entry. Its memory is written only when that changes something.
#[inline(always)]
fn touch(cx: &mut Context, e: &mut SlotMut<'_, Entry>) {
    let bits = cx.touched(e.access());
    if bits != e.access() {
        e.node_mut().set_access(bits);
    }
}

impl<'a> Db<'a> {
    /// A view with the shard of one hash locked.
    #[inline]
    pub fn lock_one(ks: &'a Keyspace, index: usize, key: Key<'_>, cx: &'a mut Context) -> Self {
        let locked = ks.lock(Held::One(shard_of(key.hash)), &cx.solo, &cx.hold);
        cx.effects.observe(ks.interest());
        let hint = (key.bytes.as_ptr(), key.bytes.len(), key.hash);
        Self { locked, index, cx, hint, first: 0, near: 0 }
    }

    /// Ends the view and leaves its shards locked until [`Keyspace::release`].
    pub fn into_hold(self) {
        let Self { locked, cx, .. } = self;
        locked.into_hold(&mut cx.hold);
    }

    /// Unlocks the locked shards and locks the shard of another key, by its hash. The view is reused for the
    /// next command of a pipeline. The entry is looked for at index `near` of its bucket first.
    #[inline(always)]
    pub fn move_to(&mut self, hash: u64, near: usize) {
        self.locked.move_to(shard_of(hash), self.index, &self.cx.solo);
        self.cx.effects.observe(self.locked.ks().interest());
        self.first = hash;
        self.near = near;
    }

    /// A view with a set of shards locked.
    pub fn lock_set(ks: &'a Keyspace, index: usize, set: ShardSet, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::Many(set), &cx.solo, &cx.hold), index, cx)
    }

    /// A view with every shard locked.
    pub fn lock_all(ks: &'a Keyspace, index: usize, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::All, &cx.solo, &cx.hold), index, cx)
    }

    /// A view with nothing locked, for commands that go through the shards one after the other.
    #[inline]
    pub fn unlocked(ks: &'a Keyspace, index: usize, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::None, &cx.solo, &cx.hold), index, cx)
    }

    #[inline]
    fn over(locked: Locked<'a>, index: usize, cx: &'a mut Context) -> Self {
        cx.effects.observe(locked.ks().interest());
        Self { locked, index, cx, hint: (std::ptr::null(), 0, 0), first: 0, near: 0 }
    }

    /// The selected database.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Selects another database (inside a transaction or a script, and for COPY … DB).
    pub fn select(&mut self, index: usize) {
        assert!(index < self.databases());
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

    /// The same for what is noted and never expires, such as the delivery of a stream's entry: on a thread that applies
    /// a primary's commands [`now`](Self::now) is before all deadlines.
    #[inline]
    pub fn wall(&self) -> i64 {
        self.cx.wall
    }

    /// The first key of a command that has just one, with its hash: costs nothing.
    #[inline(always)]
    pub fn first_key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        // To hash it again would cost what this function saves.
        debug_assert!(self.first == 0 || self.first == stdx::hash::hash64(bytes));
        match self.first {
            0 => self.key(bytes),
            hash => Key { bytes, hash },
        }
    }

    /// The key with its hash.
    #[inline(never)]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        if self.hint.0 == bytes.as_ptr() && self.hint.1 == bytes.len() {
            return Key { bytes, hash: self.hint.2 };
        }
        Key::new(bytes)
    }

    #[inline]
    fn part(&mut self, hash: u64) -> &mut DbPart {
        self.locked.part(self.index, shard_of(hash))
    }

    /// Removes the key if its time is over, as an effect. Returns whether it must be taken as
    /// absent although it may still be there (expired keys are kept while writes are paused).
    #[inline(always)]
    fn reap(&mut self, key: Key<'_>) -> bool {
        self.part(key.hash).expiry.keys != 0 && self.reap_expired(key.bytes, key.hash)
    }

    fn reap_expired(&mut self, bytes: &[u8], hash: u64) -> bool {
        let key = Key { bytes, hash };
        let part = self.locked.part(self.index, shard_of(key.hash));
        let Some(e) = part.table.find_mut_near(key.hash, self.near, |e| e.has_key(key.bytes))
        else {
            return false;
        };
        // The caller is about to look for it again.
        self.near = e.place();
        if e.deadline().is_none_or(|d| d >= self.cx.now) {
            return false;
        }
        if self.cx.keep_expired {
            return true;
        }
        self.drop_expired(key);
        false
    }

    /// Removes a key whose time is over, without an event.
    fn remove_quietly_if_over(&mut self, key: Key<'_>) -> bool {
        let now = self.cx.now;
        let table = &self.part(key.hash).table;
        let found = table.find(key.hash, |e| e.has_key(key.bytes));
        if found.is_none_or(|e| e.deadline().is_none_or(|d| d >= now)) {
            return false;
        }
        if let Some(e) = self.take_out(key) {
            self.cx.counters.expired_keys += 1;
            self.free(e, true);
            self.cx.effects.gone(self.index, key.bytes);
        }
        true
    }

    #[cold]
    fn drop_expired(&mut self, key: Key<'_>) {
        if let Some(e) = self.take_out(key) {
            self.cx.counters.expired_keys += 1;
            self.free(e, self.cx.lazy_expire);
            self.cx.effects.dropped(Class::Expired, "expired", self.index, key.bytes);
        }
    }

    /// Frees an entry: in the background when that takes long and `lazily` is set, or when it takes so long
    /// that other clients would notice.
    #[inline]
    fn free(&self, mut e: Entry, lazily: bool) {
        let effort = e.effort();
        let saving = &self.locked.ks().saving;
        if saving.is_on() {
            if effort < EFFORT_MAX {
                saving.save(self.index, &mut e);
            } else if let Some(Garbage::Entry(unneeded)) =
                saving.adopt(self.index, Garbage::Entry(e))
            {
                e = unneeded;
            } else {
                return;
            }
        }
        if effort >= EFFORT_MAX || lazily && e.is_big() {
            self.locked.ks().lazy.free(Garbage::Entry(e));
        }
    }

    /// Saves the entry as it is for a snapshot under way: the caller may change it next.
    #[inline]
    fn before_change(&mut self, key: Key<'_>) {
        if self.locked.ks().saving.is_on() {
            self.save_for_snapshot(key);
        }
    }

    #[cold]
    fn save_for_snapshot(&mut self, key: Key<'_>) {
        let saving = &self.locked.ks().saving;
        let part = self.locked.part(self.index, shard_of(key.hash));
        let found = part.table.find_mut(key.hash, |e| e.has_key(key.bytes));
        if let Some(mut e) = found {
            saving.save(self.index, e.node_mut());
        }
    }

    /// Removes an entry without any notice: an expired one that was hidden.
    fn discard(&mut self, key: Key<'_>) {
        if let Some(e) = self.take_out(key) {
            self.free(e, true);
        }
    }

    /// Removes an entry. The caller gives it to [`free`](Self::free), or has called
    /// [`before_change`](Self::before_change).
    fn take_out(&mut self, key: Key<'_>) -> Option<Entry> {
        let base = self.locked.ks().base_ms;
        let part = self.part(key.hash);
        let e = part.table.remove(key.hash, |e| e.has_key(key.bytes))?;
        part.note(base, key.hash, [e.deadline(), e.part_deadline()], [None, None]);
        Some(e)
    }

    /// Hints the processor to load what commands about parts of the value at a locked key (members,
    /// fields) are going to read, if there is a big one. Reads the entry; counts nothing.
    pub fn prefetch_parts(&mut self, key: Key<'_>, parts: &[data::big::Named<'_>]) {
        use data::big::Step;
        let table = &self.part(key.hash).table;
        let entry = table.find(key.hash, |e| e.has_key(key.bytes));
        let Some(big) = entry.as_ref().and_then(|e| e.as_big()) else { return };
        for step in [Step::Bucket, Step::Node, Step::Place] {
            for part in parts {
                big.prefetch(*part, step);
            }
        }
    }

    /// The entry, for a command that reads it: counts a hit or a miss, and the access.
    #[inline]
    pub fn read(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        self.read_here(key)
    }

    /// The same, copied to where it is called: for the few commands where that pays.
    #[inline(always)]
    fn read_here(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        let hidden = self.reap(key);
        let Self { locked, cx, index, near, .. } = self;
        let part = locked.part(*index, shard_of(key.hash));
        match part.table.find_mut_near(key.hash, *near, |e| e.has_key(key.bytes)) {
            Some(mut e) if !hidden => {
                cx.counters.keyspace_hits += 1;
                if !cx.no_touch {
                    touch(cx, &mut e);
                }
                Some(e)
            }
            _ => {
                cx.counters.keyspace_misses += 1;
                cx.effects.missed(*index, key.bytes);
                None
            }
        }
    }

    /// The entry, for a command that changes it: counts the access only.
    #[inline]
    pub fn write(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        if self.reap(key) {
            return None;
        }
        let Self { locked, cx, index, near, .. } = self;
        let saving = &locked.ks().saving;
        let part = locked.part(*index, shard_of(key.hash));
        let mut e = part.table.find_mut_near(key.hash, *near, |e| e.has_key(key.bytes))?;
        if saving.is_on() {
            saving.save(*index, e.node_mut());
        }
        if !cx.no_touch {
            touch(cx, &mut e);
        }
        Some(e)
    }

    /// The entry, for a command that reads its properties and not its value (TYPE, TTL, EXISTS …): counts a
    /// hit or a miss, and leaves the access time alone.
    pub fn look(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        let hidden = self.reap(key);
        let Self { locked, cx, index, .. } = self;
        let part = locked.part(*index, shard_of(key.hash));
        let found = part.table.find_mut(key.hash, |e| e.has_key(key.bytes)).filter(|_| !hidden);
        if found.is_some() {
            cx.counters.keyspace_hits += 1;
        } else {
            cx.counters.keyspace_misses += 1;
            cx.effects.missed(*index, key.bytes);
        }
        found
    }

    /// The entry without counting anything. The caller may change it.
    pub fn peek(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        if self.reap(key) {
            return None;
        }
        self.before_change(key);
        self.part(key.hash).table.find_mut(key.hash, |e| e.has_key(key.bytes))
    }

    /// The entry as it lies there, even if its time is over, without counting anything.
    pub fn inspect(&mut self, key: Key<'_>) -> Option<SlotMut<'_, Entry>> {
        self.part(key.hash).table.find_mut(key.hash, |e| e.has_key(key.bytes))
    }

    /// The value at a key, for a command that reads it and wants this type.
    #[inline]
    pub fn read_as(
        &mut self,
        key: Key<'_>,
        kind: Kind,
    ) -> Result<Option<SlotMut<'_, Entry>>, WrongType> {
        match self.read(key) {
            Some(e) if e.kind() != kind => Err(WrongType),
            found => Ok(found),
        }
    }

    /// The value at a key, for a command that changes it and wants this type.
    #[inline]
    pub fn write_as(
        &mut self,
        key: Key<'_>,
        kind: Kind,
    ) -> Result<Option<SlotMut<'_, Entry>>, WrongType> {
        match self.write(key) {
            Some(e) if e.kind() != kind => Err(WrongType),
            found => Ok(found),
        }
    }

    /// The values at several keys, all at once, for a command that reads them and wants this type.
    /// Each is counted as by [`read`](Self::read), in order.
    pub fn read_all_as<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        kind: Kind,
    ) -> Result<Vec<Option<Slot<'_, Entry>>>, WrongType> {
        let mut present = Vec::new();
        for bytes in keys {
            let key = self.key(bytes);
            let found = self.read_as(key, kind)?.is_some();
            present.push((key, found));
        }
        let look = |(key, found): (Key<'_>, bool)| {
            let part = self.locked.read_part(self.index, shard_of(key.hash));
            let node = part.table.find(key.hash, |e| e.has_key(key.bytes));
            node.filter(|_| found)
        };
        Ok(present.into_iter().map(look).collect())
    }

    /// Shows `take` the entry of the key that the view has [moved to](Self::move_to), if it has no deadline,
    /// and touches it when it is taken. For runs of the same command; counts nothing. After false, the
    /// caller executes the command in the usual way.
    #[inline(always)]
    pub fn fast_path(
        &mut self,
        bytes: &[u8],
        take: impl FnOnce(&mut SlotMut<'_, Entry>) -> bool,
    ) -> bool {
        let Self { locked, cx, index, near, first: hash, .. } = self;
        let part = locked.part(*index, shard_of(*hash));
        let Some(mut e) = part.table.find_mut_near(*hash, *near, |e| e.has_key(bytes)) else {
            return false;
        };
        if cx.no_touch || e.deadline().is_some() || !take(&mut e) {
            return false;
        }
        touch(cx, &mut e);
        true
    }

    /// The same for a command that changes it, while nothing observes changes and no snapshot needs the
    /// state before it.
    #[inline(always)]
    pub fn fast_path_to_change(
        &mut self,
        bytes: &[u8],
        take: impl FnOnce(&mut SlotMut<'_, Entry>) -> bool,
    ) -> bool {
        let unobserved = !self.cx.effects.observed && !self.locked.ks().saving.is_on();
        unobserved && self.fast_path(bytes, take)
    }

    /// The string at a key, for a command that reads it.
    #[inline(always)]
    pub fn read_str(&mut self, key: Key<'_>) -> Result<Option<SlotMut<'_, Entry>>, WrongType> {
        match self.read_here(key) {
            Some(e) if e.kind() != Kind::String => Err(WrongType),
            found => Ok(found),
        }
    }

    /// The string at a key, for a command that changes it.
    #[inline]
    pub fn write_str(&mut self, key: Key<'_>) -> Result<Option<SlotMut<'_, Entry>>, WrongType> {
        match self.write(key) {
            Some(e) if e.kind() != Kind::String => Err(WrongType),
            found => Ok(found),
        }
    }

    /// Sets a key to a string that does not expire, if that takes no more than writing the bytes over
    /// those of another: see [`Entry::overwrite`]. Returns whether it did. The caller notes the effect.
    #[inline(always)]
    pub fn overwrite(&mut self, key: Key<'_>, bytes: &[u8]) -> bool {
        let Self { locked, cx, index, near, .. } = self;
        if locked.ks().saving.is_on() {
            return false;
        }
        let part = locked.part(*index, shard_of(key.hash));
        let found = part.table.find_mut_near(key.hash, *near, |e| e.has_key(key.bytes));
        let Some(mut e) = found.filter(|e| !e.will_move()) else { return false };
        if !e.node_mut().overwrite(bytes) {
            return false;
        }
        touch(cx, &mut e);
        true
    }

    /// Sets a key to a string, whatever it was. The caller notes the effect.
    #[inline]
    pub fn set(&mut self, key: Key<'_>, content: Content<'_>, ttl: Ttl) {
        if self.reap(key) {
            // It was kept only because it is hidden; it is overwritten like any other value.
            self.discard(key);
        }
        let Self { locked, cx, index, near, .. } = self;
        let base = locked.ks().base_ms;
        let saving = &locked.ks().saving;
        let part = locked.part(*index, shard_of(key.hash));
        if let Some(mut e) = part.table.find_mut_near(key.hash, *near, |e| e.has_key(key.bytes)) {
            if e.effort() >= EFFORT_MAX {
                return self.set_over_big(key, content, ttl);
            }
            if saving.is_on() {
                saving.save(*index, e.node_mut());
            }
            let (before, inner) = (e.deadline(), e.part_deadline());
            let after = match ttl {
                Ttl::Keep => before,
                Ttl::Clear => None,
                Ttl::At(ms) => Some(ms),
            };
            let bits = cx.touched(e.access());
            e.replace_with(|e| e.set(content, after));
            e.node_mut().set_access(bits);
            part.note(base, key.hash, [before, inner], [after, None]);
        } else {
            let after = if let Ttl::At(ms) = ttl { Some(ms) } else { None };
            let access = cx.fresh_access() | u32::from(saving.mark()) << 24;
            part.table.insert(Entry::string(key.bytes, content, after, access));
            part.expiry.note(base, key.hash, None, after);
            cx.effects.event(Class::New, "new", *index, key.bytes);
        }
    }

    /// A value that takes long to free is not overwritten in place.
    #[cold]
    fn set_over_big(&mut self, key: Key<'_>, content: Content<'_>, ttl: Ttl) {
        if let Some(old) = self.take_out(key) {
            let ttl = match (ttl, old.deadline()) {
                (Ttl::Keep, Some(at)) => Ttl::At(at),
                (ttl, _) => ttl,
            };
            self.free(old, true);
            self.set(key, content, ttl);
        }
    }

    /// Adds an entry at a key which [`write`](Self::write) has just found absent, and returns it.
    /// Its access time becomes that of a new key. The caller notes the effect.
    pub fn create(&mut self, key: Key<'_>, mut e: Entry) -> SlotMut<'_, Entry> {
        // Under another key's hash no command would find it.
        assert!(e.key() == key.bytes);
        if self.cx.keep_expired {
            // An expired key is hidden, and may have seemed absent.
            self.discard(key);
        }
        let Self { locked, cx, index, .. } = self;
        let base = locked.ks().base_ms;
        e.set_access(cx.fresh_access());
        e.set_mark(locked.ks().saving.mark());
        let part = locked.part(*index, shard_of(key.hash));
        part.note(base, key.hash, [None, None], [e.deadline(), e.part_deadline()]);
        part.table.insert(e);
        cx.effects.event(Class::New, "new", *index, key.bytes);
        part.table.find_mut(key.hash, |e| e.has_key(key.bytes)).expect("it was inserted")
    }

    /// Adds an empty value of any type except string; see [`create`](Self::create). The caller puts
    /// something into it: a key never holds an empty collection, except a stream.
    pub fn create_run(&mut self, key: Key<'_>, kind: Kind) -> SlotMut<'_, Entry> {
        let e = Entry::packed(kind, key.bytes, &data::packed::EMPTY, None, 0);
        self.create(key, e)
    }

    /// Deletes a key whose collection has become empty, with the event that Redis gives.
    pub fn remove_empty(&mut self, key: Key<'_>) {
        if let Some(e) = self.take_out(key) {
            self.free(e, true);
            self.event(Class::Generic, "del", key.bytes);
        }
    }

    /// Replaces whatever is at a key by an entry of that key (the STORE commands): its deadline is
    /// the entry's own. The caller notes the effect.
    pub fn replace(&mut self, key: Key<'_>, e: Entry) {
        if self.reap(key) {
            self.discard(key);
        }
        if let Some(old) = self.take_out(key) {
            self.free(old, self.cx.lazy_server_del);
        }
        self.create(key, e);
    }

    /// Adds a string at a key which [`write`](Self::write) has just found absent. The caller notes
    /// the effect.
    pub fn add(&mut self, key: Key<'_>, content: Content<'_>, deadline: Option<i64>) {
        if self.cx.keep_expired {
            // Absent may have meant hidden.
            self.discard(key);
        }
        let Self { locked, cx, index, .. } = self;
        let base = locked.ks().base_ms;
        let access = cx.fresh_access() | u32::from(locked.ks().saving.mark()) << 24;
        let part = locked.part(*index, shard_of(key.hash));
        part.table.insert(Entry::string(key.bytes, content, deadline, access));
        part.expiry.note(base, key.hash, None, deadline);
        cx.effects.event(Class::New, "new", *index, key.bytes);
    }

    /// Changes the bytes of a string in place, beginning with an empty one where there is none;
    /// the deadline stays. The caller has checked the type, and notes the effect.
    pub fn edit<R>(&mut self, key: Key<'_>, f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mut f = Some(f);
        let mut scratch = Vec::new();
        if let Some(mut e) = self.write(key) {
            if let Some(v) = e.node_mut().shared_mut() {
                return (f.take().expect("called once"))(v);
            }
            match e.str() {
                Str::Int(n) => scratch.extend_from_slice(n.to_string().as_bytes()),
                Str::Inline(b) => scratch.extend_from_slice(b),
                Str::Shared(_) => {}
            }
        }
        let r = (f.take().expect("called once"))(&mut scratch);
        let content = if scratch.len() > data::entry::INLINE_MAX {
            Content::Shared(std::sync::Arc::new(scratch))
        } else {
            Content::Bytes(&scratch)
        };
        self.set(key, content, Ttl::Keep);
        if let Some(mut e) = self.peek(key) {
            e.node_mut().mark_raw();
        }
        r
    }

    /// Deletes a key. Returns whether it was there; the caller notes the effect.
    pub fn delete(&mut self, key: Key<'_>) -> bool {
        self.delete_as(key, self.cx.lazy_del)
    }

    /// Deletes a key, leaving the freeing of a big value to the background.
    pub fn unlink(&mut self, key: Key<'_>) -> bool {
        self.delete_as(key, true)
    }

    /// Deletes a key that is replaced, or whose time is over. The caller notes the consequences.
    pub fn displace(&mut self, key: Key<'_>) {
        self.delete_as(key, self.cx.lazy_server_del);
    }

    fn delete_as(&mut self, key: Key<'_>, lazily: bool) -> bool {
        if self.reap(key) {
            return false;
        }
        match self.take_out(key) {
            Some(e) => {
                self.free(e, lazily);
                true
            }
            None => false,
        }
    }

    /// Takes an entry out of the database (RENAME, MOVE).
    pub fn take(&mut self, key: Key<'_>) -> Option<Entry> {
        if self.reap(key) {
            return None;
        }
        self.before_change(key);
        self.take_out(key)
    }

    /// Puts an entry at its own key, which must be free.
    pub fn put(&mut self, mut e: Entry) {
        use data::table::Node as _;
        let hash = e.hash();
        let base = self.locked.ks().base_ms;
        let index = self.index;
        if self.cx.keep_expired {
            // A hidden entry may be in the way.
            self.discard(Key { bytes: e.key(), hash });
        }
        e.set_mark(self.locked.ks().saving.mark());
        self.cx.effects.event(Class::New, "new", index, e.key());
        let part = self.part(hash);
        part.note(base, hash, [None, None], [e.deadline(), e.part_deadline()]);
        part.table.insert(e);
    }

    /// Sets or clears a key's deadline. Returns whether the key is there.
    pub fn set_deadline(&mut self, key: Key<'_>, deadline: Option<i64>) -> bool {
        if self.reap(key) {
            return false;
        }
        self.before_change(key);
        let base = self.locked.ks().base_ms;
        let part = self.part(key.hash);
        let Some(mut e) = part.table.find_mut(key.hash, |e| e.has_key(key.bytes)) else {
            return false;
        };
        let before = e.deadline();
        e.replace_with(|e| e.set_deadline(deadline));
        part.expiry.note(base, key.hash, before, deadline);
        true
    }

    /// Sets a key's deadline to `at`, if that is in the future and `allows` accepts the present one; counts
    /// the access. Returns whether it was set, or none if the key does not exist or `at` has passed: then
    /// nothing has changed.
    pub fn postpone(
        &mut self,
        key: Key<'_>,
        at: i64,
        allows: impl FnOnce(Option<i64>) -> bool,
    ) -> Option<bool> {
        if at <= self.cx.now || self.reap(key) {
            return None;
        }
        let Self { locked, cx, index, .. } = self;
        let base = locked.ks().base_ms;
        let saving = &locked.ks().saving;
        let part = locked.part(*index, shard_of(key.hash));
        let mut e = part.table.find_mut(key.hash, |e| stdx::bytes::same(e.key(), key.bytes))?;
        if saving.is_on() {
            saving.save(*index, e.node_mut());
        }
        if !cx.no_touch {
            touch(cx, &mut e);
        }
        let before = e.deadline();
        if !allows(before) {
            return Some(false);
        }
        e.replace_with(|e| e.set_deadline(Some(at)));
        part.expiry.note(base, key.hash, before, Some(at));
        Some(true)
    }

    /// Makes the command wait. It must have changed nothing and must answer nothing when this returns
    /// `None`: it is run again when one of the keys has changed. Where a command may not wait (transactions,
    /// scripts), this returns its reply instead.
    #[must_use]
    pub fn block(&mut self, block: Block) -> Option<Empty> {
        if !self.cx.may_block {
            return Some(block.empty);
        }
        self.cx.block = Some(block);
        None
    }

    /// Ends the command before it has replied or changed anything: it is to be run where it may take long.
    /// It has [read](Self::read) `reads` keys, which are counted when they are read there. Only when
    /// [`Context::budget`] is exceeded.
    #[cold]
    pub fn hand_over(&mut self, reads: u64) {
        assert_ne!(self.cx.budget, Budget::UNLIMITED, "nobody runs this command elsewhere");
        self.cx.counters.keyspace_hits -= reads;
        self.cx.handed_over = true;
    }

    /// Notes that `n` changes were made.
    #[inline]
    pub fn dirty(&mut self, n: u64) {
        self.cx.effects.dirty += n;
    }

    /// Notes one change of a key, with its event.
    #[inline]
    pub fn changed(&mut self, key: &[u8], class: Class, name: &'static str) {
        self.cx.effects.dirty += 1;
        self.cx.effects.event(class, name, self.index, key);
    }

    /// Notes an event alone.
    #[inline]
    pub fn event(&mut self, class: Class, name: &'static str, key: &[u8]) {
        self.cx.effects.event(class, name, self.index, key);
    }

    /// States the journal form of this command, when it is not its own arguments.
    pub fn rewrite(&mut self, args: &[&[u8]]) {
        if self.cx.effects.observed {
            self.cx.effects.rewritten = args.iter().map(|a| a.to_vec()).collect();
        }
    }

    /// States one more journal record behind that of [`rewrite`](Self::rewrite), for commands whose
    /// effect takes several.
    pub fn also(&mut self, args: &[&[u8]]) {
        if self.cx.effects.observed {
            self.cx.effects.also.push(args.iter().map(|a| a.to_vec()).collect());
        }
    }

    /// One shard's part, locked for the moment unless the command has every shard locked.
    fn with_part<R>(&mut self, s: usize, f: impl FnOnce(&mut DbPart, &mut Context) -> R) -> R {
        if self.locked.holds(s) {
            return f(self.locked.part(self.index, s), self.cx);
        }
        // Locking one more while others are locked could deadlock; a command of scope `Each` has none
        // locked.
        assert!(self.locked.holds_none(), "a command with locked keys asked for shard {s}");
        let mut moment = self.locked.ks().lock(Held::One(s), &self.cx.solo, &self.cx.hold);
        f(moment.part(self.index, s), self.cx)
    }

    /// Work on one shard that no client asked for: continues a resize and tidies the expiry index. Returns
    /// whether a resize has more to do.
    pub fn upkeep(&mut self, s: usize) -> bool {
        let base = self.locked.ks().base_ms;
        let part = self.locked.part(self.index, s);
        part.expiry.tidy(&part.table, base);
        if let Some(fields) = &mut part.fields {
            fields.tidy(&part.table, base);
        }
        part.table.is_resizing() && part.table.step(64)
    }

    /// Deletes keys of shard `s` whose time is over, `max` at most, and fields of its hashes, some
    /// times as many since they cost less, as effects. Returns how many: `max` or more when there
    /// may be more.
    pub fn expire_due(&mut self, s: usize, max: usize) -> usize {
        let base = self.locked.ks().base_ms;
        let mut n = 0;
        while n < max {
            let now = self.cx.now;
            let part = self.locked.part(self.index, s);
            let Some(due) = part.expiry.next_due(&part.table, base, now) else {
                break;
            };
            for (hash, key) in due {
                self.drop_expired(Key { bytes: &key, hash });
                n += 1;
            }
        }
        let max = if n < max { max.saturating_mul(FIELDS_PER_KEY) } else { 0 };
        while n < max {
            let now = self.cx.now;
            let part = self.locked.part(self.index, s);
            let Some(fields) = &mut part.fields else { break };
            let Some(due) = fields.next_due(&part.table, base, now) else { break };
            for (hash, key) in due {
                let key = Key { bytes: &key, hash };
                n += self.expire_fields(key, max.saturating_sub(n));
                let part = self.locked.part(self.index, s);
                let e = part.table.find(hash, |e| e.has_key(key.bytes));
                if let (Some(d), Some(fields)) =
                    (e.and_then(|e| e.part_deadline()), &mut part.fields)
                {
                    // Its hint was removed on the way here.
                    fields.renew(base, hash, d);
                }
            }
        }
        n
    }

    /// Removes fields of a hash whose time is over, `max` at most, as effects; the key is removed with the
    /// last field. Returns how many. While writes are paused it removes nothing.
    pub fn expire_fields(&mut self, key: Key<'_>, max: usize) -> usize {
        if self.cx.keep_expired {
            return 0;
        }
        let Self { locked, cx, index, .. } = self;
        let base = locked.ks().base_ms;
        let saving = &locked.ks().saving;
        let part = locked.part(*index, shard_of(key.hash));
        let Some(mut e) = part.table.find_mut(key.hash, |e| e.has_key(key.bytes)) else {
            return 0;
        };
        let before = e.part_deadline();
        if before.is_none_or(|d| d >= cx.now) {
            return 0;
        }
        if saving.is_on() {
            saving.save(*index, e.node_mut());
        }
        let effects = &mut cx.effects;
        let n = data::hash::expire(&mut e, cx.now, max, &mut |field| {
            effects.dropped_field(*index, key.bytes, field);
        });
        let (after, empty) = (e.part_deadline(), data::hash::len(&e) == 0);
        let deadline = e.deadline();
        part.note(base, key.hash, [deadline, before], [deadline, after]);
        if n > 0 {
            cx.counters.expired_subkeys += n as u64;
            self.event(Class::Hash, "hexpired", key.bytes);
            if empty {
                self.remove_empty(key);
            }
        }
        n
    }

    /// Notes that the earliest deadline within the value of a key has changed. Code that edits a value with
    /// such deadlines calls this afterwards, before anything else.
    #[inline]
    pub fn part_deadline_changed(&mut self, key: Key<'_>, before: Option<i64>, after: Option<i64>) {
        if before != after {
            let base = self.locked.ks().base_ms;
            self.part(key.hash).note(base, key.hash, [None, before], [None, after]);
        }
    }

    /// Keys whose values have parts with a deadline, for INFO.
    pub fn expiring_parts(&mut self) -> usize {
        (0..SHARDS).map(|s| self.with_part(s, |p, _| p.fields.as_ref().map_or(0, |f| f.keys))).sum()
    }

    pub(crate) fn sample_parts(
        &mut self,
        s: usize,
        mut f: impl FnMut(usize, &mut DbPart, &mut Context),
    ) {
        for db in 0..self.databases() {
            f(db, self.locked.part(db, s), self.cx);
        }
    }

    /// The key that has this hash, if there is one; its shard is locked.
    pub(crate) fn key_of(&mut self, hash: u64) -> Option<Vec<u8>> {
        let found = self.part(hash).table.find(hash, |e| stdx::hash::hash64(e.key()) == hash);
        found.map(|e| e.key().to_vec())
    }

    /// Whether the key is there and has a deadline.
    pub(crate) fn expires(&mut self, key: Key<'_>) -> bool {
        let table = &self.part(key.hash).table;
        table.find(key.hash, |e| e.has_key(key.bytes)).is_some_and(|e| e.deadline().is_some())
    }

    pub(crate) fn evict(&mut self, key: Key<'_>) -> bool {
        let Some(e) = self.take_out(key) else {
            return false;
        };
        // Freed here, unless that takes long. Memory that is freed later does not count for the evicting
        // thread, which would evict more keys than needed.
        self.free(e, false);
        self.cx.counters.evicted_keys += 1;
        self.cx.effects.dropped(Class::Evicted, "evicted", self.index, key.bytes);
        true
    }

    /// A view with one shard locked, by number (0..[`SHARDS`]), for periodic work.
    pub fn lock_shard(ks: &'a Keyspace, index: usize, s: usize, cx: &'a mut Context) -> Self {
        Self::over(ks.lock(Held::One(s), &cx.solo, &cx.hold), index, cx)
    }

    /// The same, unless another thread has the shard locked: periodic work can do without it until the next
    /// time.
    pub fn try_lock_shard(
        ks: &'a Keyspace,
        index: usize,
        s: usize,
        cx: &'a mut Context,
    ) -> Option<Self> {
        let locked = ks.try_lock(s, &cx.solo, &cx.hold)?;
        Some(Self::over(locked, index, cx))
    }

    /// Whether shard `s` has keys that are due, without deleting them.
    pub fn has_due(&mut self, s: usize) -> bool {
        let base = self.locked.ks().base_ms;
        let now = self.cx.now;
        self.with_part(s, |p, _| {
            p.expiry.is_due(base, now) || p.fields.as_ref().is_some_and(|f| f.is_due(base, now))
        })
    }
}
