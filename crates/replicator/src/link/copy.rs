//! Full copies.

use std::path::Path;

use config::Id;
use durable::Durable;
use durable::load::Source;
use engine::{Attention, Wire, log};
use replication::ReplId;
use replication::link::Link;

use super::follower::Follower;
use super::on_worker;
use super::proving::Proving;
use super::reports::{Copied, Reports};

impl Follower<'_> {
    /// Replaces all data by the copy that has arrived, and goes on with the stream.
    pub(super) fn load(
        &mut self,
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) -> Result<(), String> {
        let engine = self.engine;
        let alive = || {
            link.tick(engine.clock.wall_ms(), &mut |_| {});
            let bytes = std::mem::take(link.output());
            // If it cannot be sent, the next read says so.
            let _ = wire.write(&bytes);
        };
        self.load_copy(reports, alive)?;
        link.loaded(self.now());
        self.has_loaded();
        Ok(())
    }

    /// Replaces all data by the copy that `reports` has. `meanwhile` is called again and again. Returns the position
    /// of the copy.
    pub(super) fn load_copy(
        &mut self,
        reports: &mut Reports,
        mut meanwhile: impl FnMut(),
    ) -> Result<i64, String> {
        let engine = self.engine;
        let (Some(copy), Some((id, offset))) = (reports.copy.take(), reports.full.take()) else {
            return Err("a copy has arrived that was not announced".into());
        };
        let Copied { path, file, proving } = copy;
        drop(file);
        self.guard().loads();
        // A copy that is damaged must not cost the data.
        let replaced = self.proved(&path, proving, &mut meanwhile).and_then(|()| {
            log!(engine.log, Notice, "MASTER <-> REPLICA sync: Loading DB in memory");
            self.replace_all(&path, meanwhile).inspect_err(|_| self.lose_position())
        });
        // It has been read.
        let _ = std::fs::remove_file(&path);
        replaced?;
        self.adopt(id, offset);
        Ok(offset)
    }

    fn proved(&self, path: &Path, proving: Proving, meanwhile: impl FnMut()) -> Result<(), String> {
        proving.outcome(meanwhile).map_err(|e| {
            let path = path.display();
            log!(self.engine.log, Warning, "{} is not loaded: {}", path, e);
            format!(
                "Failed trying to load the MASTER synchronization DB: ERR {path} cannot be loaded: {e}"
            )
        })
    }

    fn replace_all(&self, path: &Path, meanwhile: impl FnMut()) -> Result<(), String> {
        let source = path.to_owned();
        let loaded = on_worker(self.engine, meanwhile, move |engine, thread| {
            engine.attention.set(Attention::LOADING, true);
            thread.cx.keep_expired = true;
            let loaded = Source::open(&source)
                .map_err(|e| commands::Fail::new(e.to_string()))
                .and_then(|source| durable::replace_all(engine, thread, source));
            thread.cx.keep_expired = false;
            engine.attention.set(Attention::LOADING, false);
            loaded
        });
        match loaded {
            None => Err("the server stops".into()),
            Some(Err(fail)) => {
                Err(format!("Failed trying to load the MASTER synchronization DB: {}", fail.0))
            }
            Some(Ok(())) => Ok(()),
        }
    }

    /// The old data is gone and the copy's did not come: this server is at no position in any history.
    fn lose_position(&mut self) {
        let engine = self.engine;
        let id = engine::random_repl_id(engine.clock.wall_ms() as i64);
        let applying = engine.replication.applying.lock();
        engine.replication.state().end_history(id);
        drop(applying);
        self.registry.disconnect_all(engine);
        self.synced.forget();
    }

    /// The data is the copy's: this server is at its position in the primary's history.
    fn adopt(&mut self, id: ReplId, offset: i64) {
        let engine = self.engine;
        let size = engine.config.bytes(Id::ReplBacklogSize) as usize;
        self.thread.discard(engine, self.session);
        let db = Durable::of(engine).loading.stream_db();
        self.session.select(db.min(engine.keyspace.databases() - 1));
        let applying = engine.replication.applying.lock();
        engine.replication.state().adopt_full(id, offset, size);
        self.note_db();
        drop(applying);
        self.registry.disconnect_all(engine);
        self.begin_anew = None;
        self.synced.forget();
    }

    /// The stream goes on behind the copy.
    pub(super) fn has_loaded(&self) {
        self.is_up_now();
        log!(self.engine.log, Notice, "MASTER <-> REPLICA sync: Finished with success");
    }
}
