//! The position in the replication stream at which a snapshot was taken: a server that has loaded it goes on from
//! there, and so do its replicas.
//!
//! Invariant: a position is written and restored only when data and offset agree. So the snapshot's moment has
//! every shard locked and no batch of a primary's stream half executed; and what is loaded keeps expired keys,
//! whose deletion is part of the stream.

use std::fs::File;
use std::path::Path;

use commands::rdb_limits;
use config::Id;
use engine::{Attention, Engine, Thread, log};
use rdb::{Item, Reader};
use replication::ReplId;
use replication::history::History;
use store::Small;

use crate::load::within;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    id: ReplId,
    offset: i64,
    /// The database that the stream has selected.
    db: usize,
}

impl Position {
    /// That of the data, if it is at one. Every shard is locked.
    pub(crate) fn now(engine: &Engine) -> Option<Self> {
        // Held: a batch of the primary's stream is half executed.
        let _quiet = engine.replication.applying.try_lock()?;
        let mut state = engine.replication.state();
        state.render();
        // Without a backlog the offset stands still while the data changes.
        state.backlog.as_ref()?;
        let db = engine.replication.stream_db();
        Some(Self { id: state.history.id(), offset: state.history.offset(), db })
    }

    /// The fields of a snapshot, as Redis writes them.
    pub(crate) fn fields(&self) -> [(&'static str, String); 3] {
        [
            ("repl-stream-db", self.db.to_string()),
            ("repl-id", self.id.to_string()),
            ("repl-offset", self.offset.to_string()),
        ]
    }

    /// That of a snapshot, if it has one. An error is for the load to find.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let mut reader =
            Reader::new(File::open(path).ok()?, rdb_limits(&Small::default()), false).ok()?;
        let (mut id, mut offset, mut db) = (None, None, 0);
        while let Ok(Item::Aux { name, value }) = reader.next() {
            match name {
                b"repl-id" => id = ReplId::parse(value),
                b"repl-offset" => offset = stdx::num::parse_i64(value),
                b"repl-stream-db" => db = stdx::num::parse_u64(value).unwrap_or(0) as usize,
                _ => {}
            }
        }
        Some(Self { id: id?, offset: offset.filter(|o| *o >= 0)?, db })
    }

    /// The data is that of this position, and no command has been admitted yet.
    pub(crate) fn restore(self, engine: &Engine, thread: &mut Thread) {
        let size = engine.config.bytes(Id::ReplBacklogSize) as usize;
        let now = engine.clock.wall_ms() as i64;
        engine.replication.set_stream_db(self.db.min(engine.keyspace.databases() - 1));
        if engine.config.string(Id::Replicaof).is_empty() {
            let id = engine::random_repl_id(now);
            within(engine, thread, |_| {
                engine.replication.state().history =
                    History::restored_as_primary(id, self.id, self.offset);
                engine.begin_rendering(size);
            });
            engine.replication.state().alone_since = now;
        } else {
            // No client writes before the primary is followed.
            engine.attention.set(Attention::REPLICA, true);
            let mut state = engine.replication.state();
            state.history = History::restored_as_replica(self.id, self.offset);
            state.ensure_backlog(size);
        }
        log!(
            engine.log,
            Notice,
            "The data is that of history {} at offset {}: replication may go on from there",
            self.id,
            self.offset
        );
    }
}
