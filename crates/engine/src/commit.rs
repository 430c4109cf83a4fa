//! The one place in which a command's effects turn into their consequences.

use store::Db;

use crate::engine::Engine;
use crate::journal::{self, Own};
use crate::pubsub::{self, Local};

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
    if engine.journal.is_on() {
        journal::note(engine, &local.own().lane, db, own);
    }
    if !db.cx.effects.events.is_empty() {
        db.notify();
        let by = db.cx.client;
        for event in &db.cx.effects.events {
            if event.is_change() {
                engine.tracking.invalidate(engine, local, by, &event.key);
            }
            pubsub::notify(engine, local, event);
        }
    }
    if db.cx.effects.flushed {
        engine.tracking.invalidate_all(engine, local);
    }
    db.cx.effects.clear();
}
