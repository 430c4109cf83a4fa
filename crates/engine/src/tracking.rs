//! Client-side caching, where it is about sessions and their commands; the table is in
//! [`pubsub::tracking`].

use std::sync::Arc;

pub use ::pubsub::tracking::{FORGET_AT_ONCE, Pages, Tracker, Tracking, Watcher};
use resp::Args;

use crate::engine::{Engine, Local};
use crate::session::Session;
use crate::table::Cmd;
use crate::thread::Thread;

/// Remembers that a connection, or the page that it renders, has read the keys of a command. To be called while
/// their shards are locked, after the read: clients are not notified of the removal of an expired key that the
/// read found.
#[cold]
pub(crate) fn remember(
    engine: &Engine,
    local: &mut Local,
    session: &Session,
    cmd: &Cmd,
    args: &Args<'_>,
) {
    let id = match &session.tracking {
        _ if session.page != 0 => session.page,
        Some(t) if t.wants(session.caching) => session.client.id,
        _ => return,
    };
    // Without valid keys nothing was read.
    let _ = commands::keys::positions(cmd.row, args, &mut |i| {
        engine.tracking.remember(&args[i], id);
    });
    limit(engine, local, FORGET_AT_ONCE);
}

fn keys_max(engine: &Engine) -> u64 {
    engine.config.int(config::Id::TrackingTableMaxKeys) as u64
}

/// Forgets some keys when there are more than `tracking-table-max-keys`, `most` of them at once.
pub(crate) fn limit(engine: &Engine, local: &mut Local, most: usize) {
    engine.tracking.limit(engine, local, keys_max(engine), most);
}

/// Periodic work: keeps the table below its limit, and empties it when no client tracks.
pub(crate) fn upkeep(engine: &Engine, local: &mut Local) {
    engine.tracking.upkeep(engine, local, keys_max(engine));
    let now = engine.clock.wall_ms() as i64;
    engine.tracking.pages.rest(now, || engine.keyspace.lose_interest());
}

impl Thread {
    /// CLIENT TRACKING ON, or other options for a connection that tracks already.
    pub fn track(&mut self, engine: &Engine, session: &mut Session, tracker: Tracker) {
        self.outbox(session);
        if session.tracking.is_none() {
            engine.keyspace.take_interest();
        }
        let tracker = Arc::new(tracker);
        engine.tracking.begin(&tracker);
        session.tracking = Some(tracker);
        session.note_attention();
    }

    /// CLIENT TRACKING OFF; harmless without tracking.
    pub fn untrack(&mut self, engine: &Engine, session: &mut Session) {
        let Some(tracker) = session.tracking.take() else { return };
        engine.tracking.end(&tracker);
        session.caching = false;
        engine.keyspace.lose_interest();
        session.note_attention();
    }
}
