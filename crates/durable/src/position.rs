//! The position in the replication stream at which a snapshot was taken: a server that has loaded it goes on from
//! there, and so do its replicas.
//!
//! A journal has its position in a file of its own, written when the server ends in order: the records have numbers, and
//! it says behind which of them the data is at the position. It is removed when it has been read, since the server
//! that goes on writes no position with its records.
//!
//! Invariant: a position is written and restored only when data and offset agree. So the snapshot's moment has
//! every shard locked and no batch of a primary's stream half executed; and what is loaded keeps expired keys,
//! whose deletion is part of the stream.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use commands::rdb_limits;
use config::Id;
use engine::{Attention, Engine, Thread, log};
use rdb::{Item, Reader};
use replication::ReplId;
use replication::history::History;
use store::Small;

use crate::load::within;

/// The first line of a journal's position.
const HEAD: &str = "apus position 1";
/// How long a batch of a primary's stream may take at the end of the server.
const PATIENCE: Duration = Duration::from_secs(2);

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    id: ReplId,
    offset: i64,
    /// The database that the stream has selected.
    db: usize,
}

impl Position {
    /// The position of the data, if it is at one. Every shard is locked.
    pub(crate) fn now(engine: &Engine) -> Option<Self> {
        // Held: a batch of the primary's stream is half executed.
        let _quiet = engine.replication.applying.try_lock()?;
        Self::of_data(engine)
    }

    /// The position of the data at the end of the server: all threads with clients have ended, and nothing of a primary's
    /// stream is executed behind this.
    pub(crate) fn at_the_end(engine: &Engine) -> Option<Self> {
        let _quiet = engine.replication.applying.try_lock_for(PATIENCE)?;
        Self::of_data(engine)
    }

    fn of_data(engine: &Engine) -> Option<Self> {
        let mut state = engine.replication.state();
        state.render();
        // Without a backlog the offset stands still while the data changes.
        state.backlog.as_ref()?;
        let db = match engine.is_replica() {
            true => engine.replication.stream_db(),
            // Without one the next change selects its own.
            false => state.rendered_db().unwrap_or(0),
        };
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

    /// The position of a snapshot, if it has one. An error is for the load to find.
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

    /// Where the position of a journal lies.
    pub(crate) fn file_of(dir: &Path, stem: &str) -> PathBuf {
        dir.join(format!("{stem}.position"))
    }

    /// Writes the file of a journal whose last record has the number `sequence`.
    ///
    /// # Errors
    /// As the system says; there is no file then, or another position's.
    pub(crate) fn write_file(&self, path: &Path, sequence: u64) -> io::Result<()> {
        let mut text = format!("{HEAD}\nsequence {sequence}\n");
        for (name, value) in self.fields() {
            text.push_str(&format!("{name} {value}\n"));
        }
        text.push_str(&format!("checksum {:016x}\n", rdb::crc64(0, text.as_bytes())));
        let temporary = path.with_extension("position.tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    }

    /// The position of such a file and the number of its record, if there is a whole one. It is gone then: if it
    /// cannot be removed, it is not to be used.
    pub(crate) fn take_file(path: &Path) -> Option<(Self, u64)> {
        let text = fs::read_to_string(path).ok()?;
        fs::remove_file(path).ok()?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<(Self, u64)> {
        let (body, sum) = text.strip_suffix('\n')?.rsplit_once("checksum ")?;
        if u64::from_str_radix(sum, 16).ok()? != rdb::crc64(0, body.as_bytes()) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let field = |name: &str| {
            let mut values = body.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
            values.next()
        };
        let offset: i64 = field("repl-offset")?.parse().ok()?;
        let position = Self {
            id: ReplId::parse(field("repl-id")?.as_bytes())?,
            offset: (offset >= 0).then_some(offset)?,
            db: field("repl-stream-db")?.parse().ok()?,
        };
        Some((position, field("sequence")?.parse().ok()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_once_and_only_whole() {
        let dir = std::env::temp_dir().join(format!("apus-position-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        let path = dir.join("j.position");
        let id = ReplId::parse(&[b'a'; 40]).expect("an id");
        let position = Position { id, offset: 1234, db: 3 };
        position.write_file(&path, 77).expect("written");
        let text = fs::read_to_string(&path).expect("there");
        assert_eq!(Position::take_file(&path), Some((position, 77)));
        assert_eq!(Position::take_file(&path), None);
        for n in 0..text.len() {
            assert_eq!(Position::parse(&text[..n]), None, "{n}");
        }
        assert_eq!(Position::parse(&text.replace("1234", "1235")), None);
        fs::remove_dir_all(&dir).expect("removed");
    }
}
