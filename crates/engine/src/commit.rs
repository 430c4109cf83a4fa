//! The one place in which a command's effects turn into their consequences.
//!
//! While there is a reader of the stream of committed records (the journal, replicas), a commit appends to the lane
//! of its thread while the shards are locked (`note`): first the keys and fields that expired or were
//! evicted, then the command, in the form that can be replayed. One commit is one record; so is everything
//! between `Thread::begin_unit` and `Thread::end_unit` (a transaction, a script).

use commands::row::Scope;
use resp::Args;
use store::Db;
use stream::{Lane, Stream, Unit};

use crate::engine::{Engine, Local};
use crate::pubsub::notify;
use crate::table::Cmd;
use crate::thread::Thread;

/// The command that a commit belongs to.
pub struct Own<'a> {
    /// The database that was selected.
    pub db: usize,
    /// The command.
    pub cmd: &'a Cmd,
    /// Its arguments.
    pub args: &'a Args<'a>,
}

/// See [`Thread::changes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    /// [`Lane::acted`].
    pub lane: u64,
    dirty: u64,
}

/// Turns a command's effects into their consequences, while its shards are still locked: the one place
/// for journal, replication, events, waiters and invalidations as they come.
#[inline(always)]
pub fn commit(engine: &Engine, local: &mut Local, db: &mut Db<'_>) {
    let effects = &mut db.cx.effects;
    if effects.observed {
        commit_observed(engine, local, db, None);
    } else if effects.dirty != 0 {
        db.cx.counters.dirty += effects.dirty;
        effects.dirty = 0;
    }
}

/// [`commit`] for a command that a client has called: its arguments are its journal form, unless the
/// effects state another.
#[inline(always)]
pub fn commit_own(engine: &Engine, local: &mut Local, db: &mut Db<'_>, own: &Own<'_>) {
    let effects = &mut db.cx.effects;
    if effects.observed {
        commit_observed(engine, local, db, Some(own));
    } else if effects.dirty != 0 {
        db.cx.counters.dirty += effects.dirty;
        effects.dirty = 0;
    }
}

#[inline(never)]
fn commit_observed(engine: &Engine, local: &mut Local, db: &mut Db<'_>, own: Option<&Own<'_>>) {
    db.cx.counters.dirty += db.cx.effects.dirty;
    if engine.stream.is_on() {
        note(&engine.stream, &local.own().lane, db, own);
    }
    if !db.cx.effects.events.is_empty() {
        db.notify();
        let by = db.cx.client;
        for event in &db.cx.effects.events {
            if event.is_change() {
                engine.tracking.invalidate(engine, local, by, &event.key);
            }
            notify(&engine.pubsub, engine, local, event);
        }
    }
    if db.cx.effects.flushed {
        engine.tracking.invalidate_all(engine, local);
    } else if own.is_some_and(|own| own.cmd.row.scope == Scope::All && own.cmd.is_write()) {
        // SWAPDB changes keys without an event for each. Redis does not notify clients of it.
        engine.tracking.pages.drop_all();
    }
    db.cx.effects.clear();
}

/// Appends the record of a commit. The shards are locked.
fn note(stream: &Stream, lane: &Lane, db: &Db<'_>, own: Option<&Own<'_>>) {
    let e = &db.cx.effects;
    let told = !db.cx.untold;
    let own = own.filter(|_| told && (e.dirty > 0 || !e.rewritten.is_empty()));
    let stated = told && (own.is_some() || !e.rewritten.is_empty());
    if !stated && e.dropped.is_empty() && e.dropped_fields.is_empty() {
        return;
    }
    lane.append(stream.counter(), db.cx.now, stated, |unit| {
        for (db, key) in &e.dropped {
            unit.command(*db, b"del", 1, std::iter::once(key.as_slice()));
        }
        for (db, key, field) in &e.dropped_fields {
            unit.command(*db, b"hdel", 2, [key.as_slice(), field].into_iter());
        }
        let Some(own) = own else {
            // A session command's change: the command has stated its form, which belongs to no database.
            if stated {
                words(unit, 0, &e.rewritten);
            }
            return;
        };
        if e.rewritten.is_empty() {
            // By its own name: renaming a command must not make the journal unreadable.
            let name = own.cmd.name().as_bytes();
            unit.command(own.db, name, own.args.len() - 1, own.args.iter_from(1));
        } else {
            words(unit, own.db, &e.rewritten);
        }
        e.also.iter().for_each(|record| words(unit, own.db, record));
    });
}

/// Appends a change of a session command, which gives the form that can be replayed. The shard is locked.
pub fn note_words(stream: &Stream, lane: &Lane, db: &Db<'_>, index: usize, words: &[&[u8]]) {
    if stream.is_on()
        && let Some((name, args)) = words.split_first()
    {
        lane.append(stream.counter(), db.cx.now, true, |unit| {
            unit.command(index, name, args.len(), args.iter().copied());
        });
    }
}

fn words(unit: &mut Unit<'_>, db: usize, words: &[Vec<u8>]) {
    if let Some((name, args)) = words.split_first() {
        unit.command(db, name, args.len(), args.iter().map(Vec::as_slice));
    }
}

impl Thread {
    /// From here to [`end_unit`](Self::end_unit) all commits of this thread are one record: they are
    /// replayed together or not at all. The caller keeps the shards that they concern locked throughout. Units
    /// may lie within units.
    pub fn begin_unit(&self) {
        self.worker.lane.begin_unit();
    }

    /// The highest sequence number that a client's command on this thread has caused.
    pub fn last_written(&self) -> u64 {
        self.worker.lane.acted()
    }

    /// What clients' commands have changed on this thread so far. Without a reader of the stream no change has a number:
    /// then [`Counters::dirty`](store::Counters) tells.
    #[inline]
    pub fn changes(&self) -> Changes {
        Changes {
            lane: self.worker.lane.acted(),
            dirty: self.collected_dirty + self.cx.counters.dirty,
        }
    }

    /// Ends a unit. With the outermost one, the messages that tell of its changes are published: who receives one
    /// finds its record in the journal's order before it.
    pub fn end_unit(&mut self, engine: &Engine) {
        self.worker.lane.end_unit(engine.stream.counter());
        if !self.announces.is_empty() && !self.worker.lane.is_in_unit() {
            for (channel, message) in std::mem::take(&mut self.announces) {
                self.publish_in_order(engine, &channel, &message);
            }
        }
    }
}
