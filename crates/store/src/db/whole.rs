//! The half of the view for whole databases: their content, scanning, emptying, exchanging.

use data::entry::Entry;

use super::{Db, EFFORT_MAX, Flush, Key};
use crate::lazy::Garbage;
use crate::shards::{SHARDS, shard_of};

impl Db<'_> {
    /// Keys in the database, the expired ones that are not removed yet included (as in Redis).
    pub fn len(&mut self) -> usize {
        (0..SHARDS).map(|s| self.with_part(s, |p, _| p.table.len())).sum()
    }

    /// Whether the database has no keys.
    pub fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Keys with a deadline, and the mean time they have left in milliseconds (estimated from
    /// some of them), for INFO.
    pub fn expiring(&mut self) -> (usize, i64) {
        let base = self.locked.ks().base_ms;
        let (mut keys, mut sum, mut n) = (0, 0i64, 0);
        for s in 0..SHARDS {
            self.with_part(s, |p, cx| {
                keys += p.expiry.keys;
                for d in p.expiry.some_deadlines(base, 4) {
                    sum = sum.saturating_add((d - cx.now).max(0));
                    n += 1;
                }
            });
        }
        (keys, if keys == 0 || n == 0 { 0 } else { sum / n })
    }

    /// Bytes of the tables, their entries not included.
    pub fn table_bytes(&mut self) -> usize {
        (0..SHARDS).map(|s| self.with_part(s, |p, _| p.table.buckets() * 64)).sum()
    }

    /// Tables that are being resized now, and the bytes of those that they leave.
    pub fn resizing(&mut self) -> (usize, usize) {
        let mut found = (0, 0);
        for s in 0..SHARDS {
            let old = self.with_part(s, |p, _| p.table.old_buckets());
            found = (found.0 + usize::from(old > 0), found.1 + old * 64);
        }
        found
    }

    /// Buckets of all tables (DEBUG HTSTATS and the like).
    pub fn buckets(&mut self) -> usize {
        (0..SHARDS).map(|s| self.with_part(s, |p, _| p.table.buckets())).sum()
    }

    /// Whether a living key exists, without counting anything. Unlike the others, this may be called by a command that
    /// has no shard locked.
    pub fn lives(&mut self, key: Key<'_>) -> bool {
        self.with_part(shard_of(key.hash), |p, cx| {
            let found = p.table.find(key.hash, |e| e.has_key(key.bytes));
            found.is_some_and(|e| e.deadline().is_none_or(|d| d >= cx.now))
        })
    }

    /// One step of a scan: looks at the entries of the bucket at `cursor` and calls `f` with the
    /// living ones among those that are `wanted`; the expired ones go to [`Context::overdue`](crate::Context::overdue).
    /// Returns the next cursor, 0 at the end, and how many entries were looked at. Every key that
    /// is present from the first step to the last is seen, whatever else happens in between.
    pub fn scan(
        &mut self,
        cursor: u64,
        mut wanted: impl FnMut(&Entry) -> bool,
        mut f: impl FnMut(&Entry),
    ) -> (u64, usize) {
        // A cursor comes from a client and may be any number.
        let mut s = usize::try_from(cursor >> 32).unwrap_or(SHARDS);
        let mut pos = cursor as u32;
        let (index, mut seen) = (self.index, 0);
        while s < SHARDS {
            let next = self.with_part(s, |p, cx| {
                if p.table.is_empty() {
                    return None;
                }
                Some(p.table.scan(pos, |e| {
                    seen += 1;
                    if !wanted(e) {
                    } else if e.deadline().is_none_or(|d| d >= cx.now) {
                        f(e);
                    } else {
                        cx.note_overdue(index, e.key());
                    }
                }))
            });
            match next {
                Some(Some(pos)) => return ((s as u64) << 32 | u64::from(pos), seen),
                Some(None) if s + 1 < SHARDS => return ((s as u64 + 1) << 32, seen),
                Some(None) => break,
                // Empty shards cost one check each, not a step.
                None => (s, pos) = (s + 1, 0),
            }
        }
        (0, seen)
    }

    /// Calls `f` for every living entry, shard by shard. The shards are locked one after the other unless the command
    /// has all of them locked.
    pub fn for_each(&mut self, mut f: impl FnMut(&Entry)) {
        for s in 0..SHARDS {
            self.for_each_in(s, &mut f);
        }
    }

    /// The same for the entries of one shard. Returns how many entries it has, the expired ones included.
    pub fn for_each_in(&mut self, shard: usize, mut f: impl FnMut(&Entry)) -> usize {
        self.with_part(shard, |p, cx| {
            let now = cx.now;
            p.table.for_each(|e| {
                if e.deadline().is_none_or(|d| d >= now) {
                    f(e);
                }
            });
            p.table.len()
        })
    }

    /// A random living key, every one with about the same chance.
    pub fn random_key(&mut self) -> Option<Vec<u8>> {
        // A database of nothing but expired keys must not keep us here; Redis tries 100 times too.
        for _ in 0..100 {
            let total = self.len();
            if total == 0 {
                return None;
            }
            let mut nth = self.cx.rng.index(total);
            for s in 0..SHARDS {
                let n = self.with_part(s, |p, _| p.table.len());
                if nth >= n {
                    nth -= n;
                    continue;
                }
                let found = self.with_part(s, |p, cx| {
                    for _ in 0..1000 {
                        let pos = cx.rng.next_u64() as u32;
                        if let Some(e) = p.table.sample(pos, |n| cx.rng.index(n)) {
                            return Some((e.key().to_vec(), e.deadline()));
                        }
                    }
                    None
                });
                match found {
                    Some((key, d)) if d.is_none_or(|d| d >= self.cx.now) => return Some(key),
                    Some((key, _)) => {
                        self.cx.note_overdue(self.index, &key);
                        break;
                    }
                    None => break,
                }
            }
        }
        self.any_key()
    }

    /// A living key, for the case that nearly all are expired: the first one from a random shard on.
    #[cold]
    fn any_key(&mut self) -> Option<Vec<u8>> {
        let first = self.cx.rng.index(SHARDS);
        (0..SHARDS).find_map(|i| {
            self.with_part((first + i) % SHARDS, |p, cx| {
                let (mut at, mut found) = (Some(0), None);
                while let (Some(pos), None) = (at, &found) {
                    at = p.table.scan(pos, |e| {
                        if e.deadline().is_none_or(|d| d >= cx.now) {
                            found = Some(e.key().to_vec());
                        }
                    });
                }
                found
            })
        })
    }

    /// Whether freeing everything in the database takes so long that others would notice. Needs every
    /// shard.
    pub fn is_laborious(&mut self) -> bool {
        let mut effort = self.len();
        for s in 0..SHARDS {
            let table = &self.locked.part(self.index, s).table;
            let mut at = Some(0);
            while let Some(pos) = at
                && effort < EFFORT_MAX
            {
                at = table.scan(pos, |e| effort = effort.saturating_add(e.effort()));
            }
        }
        effort >= EFFORT_MAX
    }

    /// Empties the database. Needs every shard. Returns how many keys there were.
    pub fn flush(&mut self, how: Flush) -> usize {
        self.cx.effects.flushed = self.cx.effects.observed;
        let mut n = 0;
        let ks = self.locked.ks();
        for s in 0..SHARDS {
            self.invalidate(s, self.index, &[]);
            let part = self.locked.part(self.index, s);
            n += part.table.len();
            part.expiry.clear();
            part.fields = None;
            let table = part.table.take();
            if table.is_empty() {
                continue;
            }
            let mut garbage = Garbage::Table(table);
            if ks.saving.is_on() {
                match ks.saving.adopt(self.index, garbage) {
                    Some(unneeded) => garbage = unneeded,
                    None => continue,
                }
            }
            match how {
                Flush::Now => drop(garbage),
                Flush::Lazily => ks.lazy.free(garbage),
                Flush::Apart => self.cx.apart.push(garbage),
            }
        }
        n
    }

    /// Exchanges two databases. Needs every shard.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        if self.locked.ks().saving.is_on() {
            self.locked.ks().saving.swap(a, b);
        }
        for s in 0..SHARDS {
            self.invalidate(s, a, &[b]);
            self.invalidate(s, b, &[a]);
            let (x, y) = self.locked.parts(a, b, s);
            x.table.exchange(&mut y.table);
            std::mem::swap(&mut x.expiry, &mut y.expiry);
            std::mem::swap(&mut x.fields, &mut y.fields);
        }
    }
}
