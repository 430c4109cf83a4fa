//! The half of the view for registrations: watches, waiters, and the effect of a command's changes on
//! them.

use std::sync::Arc;

use data::entry::Entry;

use super::{Db, Key};
use crate::effects::Class;
use crate::interest::{Interest, Waiter, Watch};
use crate::shards::{SHARDS, shard_of};

impl Db<'_> {
    /// Marks watches of the keys that the command has changed as dirty, and readies their waiters. Called by the
    /// commit, before the effects are cleared.
    pub fn notify(&mut self) {
        let events = std::mem::take(&mut self.cx.effects.events);
        for e in &events {
            if matches!(e.class, Class::KeyMiss | Class::New) {
                continue;
            }
            let s = shard_of(stdx::hash::hash64(&e.key));
            // A command that goes from shard to shard changes no key.
            if self.locked.holds(s)
                && let Some(interest) = self.locked.interest(s)
                && interest.changed(e.db, &e.key, e.is_change())
            {
                self.ready(e.db, &e.key);
            }
        }
        self.cx.effects.events = events;
    }

    fn ready(&mut self, db: usize, key: &[u8]) {
        if !self.cx.ready.iter().any(|(d, k)| *d == db && k == key) {
            self.cx.ready.push((db, key.to_vec()));
        }
    }

    /// WATCH: from here on a change of the key in the selected database makes `w` dirty. Earlier changes of the
    /// view must have been committed, or `w` would be dirty from the start.
    pub fn watch(&mut self, key: Key<'_>, w: &Arc<Watch>) {
        let interest = self.locked.interest(shard_of(key.hash)).get_or_insert_default();
        interest.watch(self.index, key.bytes, w);
        self.locked.ks().take_interest();
    }

    /// The end of a [`watch`](Self::watch).
    pub fn unwatch(&mut self, key: Key<'_>, w: &Arc<Watch>) {
        let index = self.index;
        self.forget_in(key, |i| i.unwatch(index, key.bytes, w));
    }

    /// Adds a blocked command to those that wait for a key in its database.
    pub fn wait(&mut self, key: Key<'_>, w: &Arc<Waiter>) {
        let interest = self.locked.interest(shard_of(key.hash)).get_or_insert_default();
        interest.wait(key.bytes, w);
        self.locked.ks().take_interest();
    }

    /// The end of a [`wait`](Self::wait).
    pub fn unwait(&mut self, key: Key<'_>, w: &Arc<Waiter>) {
        self.forget_in(key, |i| i.unwait(key.bytes, w));
    }

    fn forget_in(&mut self, key: Key<'_>, f: impl FnOnce(&mut Interest)) {
        let place = self.locked.interest(shard_of(key.hash));
        if let Some(interest) = place {
            f(interest);
            if interest.is_empty() {
                *place = None;
            }
            self.locked.ks().lose_interest();
        }
    }

    /// The next command that waits for the key in the selected database and can use its present value: the
    /// first one with a ticket above `behind`. When the key is gone or has another type, only a command
    /// that must be notified of this counts ([`Waiter::errors`]).
    pub fn next_waiting(&mut self, key: Key<'_>, behind: u64) -> Option<Arc<Waiter>> {
        let index = self.index;
        let kind = self.peek(key).map(|e| e.kind());
        let interest = self.locked.interest(shard_of(key.hash));
        interest.as_ref()?.next_waiting(index, key.bytes, kind, behind)
    }

    /// How many keys are waited for, and of those how many by commands that are notified when the key is
    /// removed. Needs every shard.
    pub fn awaited_keys(&mut self) -> (usize, usize) {
        (0..SHARDS).fold((0, 0), |(a, b), s| {
            let (x, y) = self.locked.interest(s).as_ref().map_or((0, 0), |i| i.counts());
            (a + x, b + y)
        })
    }

    /// Marks watches as dirty and readies waiters of keys of shard `s` in database `db` that exist in `db` or in
    /// one of `others`, before all of them are emptied or exchanged.
    pub(super) fn invalidate(&mut self, s: usize, db: usize, others: &[usize]) {
        let Some(interest) = self.locked.interest(s).take() else { return };
        let here = |this: &mut Self, key: &[u8]| {
            let key = Key::new(key);
            let selected = this.index;
            let mut found = false;
            for index in [db].iter().chain(others) {
                this.index = *index;
                // A key whose time is over counts as absent. It is removed here, since its removal by a
                // later command would look like a change.
                if !this.remove_quietly_if_over(key) {
                    let table = &this.part(key.hash).table;
                    let same = |e: &Entry| e.has_key(key.bytes);
                    found |= table.find(key.hash, same).is_some();
                }
            }
            this.index = selected;
            found
        };
        for (key, watch) in interest.watched(db) {
            if here(self, key) {
                watch.mark_dirty();
            }
        }
        let awaited: Vec<Vec<u8>> = interest.awaited(db).map(<[u8]>::to_vec).collect();
        *self.locked.interest(s) = Some(interest);
        for key in awaited {
            if here(self, &key) {
                self.ready(db, &key);
            }
        }
    }
}
