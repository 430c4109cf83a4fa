//! The data gets in: from disk at the start of the server, or in place of the data that is there.
//!
//! At the start this is a thread of its own, while the workers answer `-LOADING`.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use commands::Fail;
use config::Id;
use engine::{Attention, Engine, Job, Message, Thread, log, settings};
use stdx::rng::Rng;
use store::Context;

use crate::load::{self, Present, Source, read_file};
use crate::position::Position;
use crate::{journal, snapshots};

/// Replaces all data by that of a snapshot, and begins the journal anew with it: for LOAD, and for a replica.
/// No client sees anything in between; other threads wait until the source ends.
///
/// # Errors
/// The journal is just being rewritten: nothing has happened. Or the snapshot cannot be read or is damaged:
/// there is no data then. Or the journal cannot begin anew, and is off.
pub fn replace_all<R: Read + Send>(
    engine: &Engine,
    thread: &mut Thread,
    source: Source<R>,
) -> Result<(), Fail> {
    // The journal would not know where this data comes from: it begins anew.
    journal::anew(engine, thread, |thread| load::replace_all(engine, thread, source))?
}

/// Begins to load the data on disk, in a thread of its own; commands are answered `-LOADING` until it
/// is done. Called before the workers run. `done` is called with the result, after commands are
/// admitted again.
///
/// # Errors
/// The system has no more threads.
pub fn load(
    engine: &Arc<Engine>,
    done: impl FnOnce(Result<(), String>) + Send + 'static,
) -> io::Result<()> {
    let path = snapshots::path(engine);
    let journal = engine.config.flag(Id::Appendonly);
    if !journal && !path.exists() {
        done(Ok(()));
        return Ok(());
    }
    engine.attention.set(Attention::LOADING, true);
    let single = engine.solo.lock().as_ref().map(|solo| engine.keyspace.share(solo)).is_some();
    let engine = Arc::clone(engine);
    let work = move || {
        let now = engine.clock.wall_ms() as i64;
        let mut cx = Context::new(now, Rng::from_seed(engine.clock.monotonic_ns()));
        settings::follow(&engine.config, &mut cx);
        let outcome = if journal {
            journal::load(&engine, &mut cx)
        } else {
            let position = Position::of_file(&path);
            cx.keep_expired = position.is_some();
            load_snapshot(&engine, &mut cx, &path).map(|()| position)
        };
        match outcome {
            Ok(position) => {
                let end = move |engine: &Engine, thread: &mut Thread| {
                    if single {
                        engine.keyspace.unshare(&thread.cx.solo);
                    }
                    if let Some(position) = position {
                        position.restore(engine, thread);
                    }
                    engine.attention.set(Attention::LOADING, false);
                    done(Ok(()));
                };
                engine.post(0, Message::Run(Job::new(end)));
            }
            Err(e) => {
                let why = e.trim_end_matches('.');
                log!(engine.log, Warning, "Fatal error loading the DB: {}. Exiting.", why);
                done(Err(e));
            }
        }
    };
    std::thread::Builder::new().name("apus-loader".into()).spawn(work).map(drop)
}

fn load_snapshot(engine: &Engine, cx: &mut Context, path: &Path) -> Result<(), String> {
    let read = read_file(engine, cx, path, Present::Refuse);
    if let Err(e) = &read {
        // The text that operators of Redis look for.
        log!(engine.log, Warning, "Internal error in RDB reading: {}", e);
        let dir = std::env::current_dir().unwrap_or_default();
        log!(
            engine.log,
            Warning,
            "{} is left as it is. Restore it from a backup, or move it away to begin without data; \
             `apus check` tells how far it can be read.",
            dir.join(path).display()
        );
        log!(engine.log, Warning, "Terminating server after rdb file reading failure.");
    }
    read.map_err(|e| format!("{}: {e}", path.display()))
}
