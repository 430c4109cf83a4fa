//! Full copies: one snapshot for all replicas that wait for one.
//!
//! The snapshot's moment is a position in the stream: every shard is locked, so all changes before it are in
//! the copy and all later ones behind the position. From there each replica has a reader of the backlog,
//! which keeps the bytes until the replica has loaded the copy.
//!
//! Replicas that can find the end of a copy by a mark get the bytes as they are made. For the others the length
//! must be known first: the copy goes into a file that has no name.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use config::Id;
use durable::Durable;
use durable::snapshots::{self, Format, Sink};
use engine::{Engine, Thread, log};
use rdb::Encoder;
use replication::serve::State;

use crate::pause::{self, Point};
use crate::replicas::{Registry, Replica};
use crate::state::Replicator;

/// Begins a full copy if replicas wait for one and it is time.
pub(crate) fn begin_if_due(engine: &Engine, thread: &mut Thread, registry: &Registry) {
    let waiting: Vec<Arc<Replica>> =
        registry.all().into_iter().filter(|r| r.state() == Some(State::WaitStart)).collect();
    if waiting.is_empty() || Durable::of(engine).snapshots.is_busy() {
        return;
    }
    let c = &engine.config;
    let streams = c.flag(Id::ReplDisklessSync);
    let (marked, sized): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|r| streams && r.about.lock().eof);
    if let Some((format, sized)) = of_one_format(sized) {
        return begin(engine, thread, format, sized, None);
    }
    let Some((format, marked)) = of_one_format(marked) else { return };
    let now = engine.clock.wall_ms() as i64;
    let since = marked.iter().map(|r| r.waits_since.load(Relaxed)).min().unwrap_or(now);
    let enough = c.int(Id::ReplDisklessSyncMaxReplicas);
    let is_time = now - since >= c.int(Id::ReplDisklessSyncDelay) * 1000
        || enough > 0 && marked.len() as i64 >= enough;
    if is_time {
        begin(engine, thread, format, marked, Some(mark(engine)));
    }
}

/// The replicas that read the same form as the first one: one copy is for all of them. The others get the next one.
fn of_one_format(mut replicas: Vec<Arc<Replica>>) -> Option<(Format, Vec<Arc<Replica>>)> {
    let format = |r: &Replica| match r.about.lock().wants_valkeys_form() {
        true => Format::Valkey,
        false => Format::Redis,
    };
    let first = format(replicas.first()?);
    replicas.retain(|r| format(r) == first);
    Some((first, replicas))
}

fn begin(
    engine: &Engine,
    thread: &mut Thread,
    format: Format,
    replicas: Vec<Arc<Replica>>,
    mark: Option<[u8; 40]>,
) {
    // Copies without data are made at once: of functions, for `redis-cli --functions-rdb`.
    let (without, replicas): (Vec<_>, Vec<_>) =
        replicas.into_iter().partition(|r| r.about.lock().exclude_data);
    for replica in without {
        send_functions(engine, thread, &replica);
    }
    if replicas.is_empty() {
        return;
    }
    let target = match mark {
        None => "disk",
        Some(_) if replicas.iter().all(|r| r.about.lock().is_channel) => {
            "replicas sockets (rdb-channel)"
        }
        Some(_) => "replicas sockets",
    };
    log!(engine.log, Notice, "Starting BGSAVE for SYNC with target: {}", target);
    // While a replica executes its primary's stream, data and offset do not agree.
    let quiet = engine.replication.applying.lock();
    let shared = engine.arc();
    let targets = replicas.clone();
    let moment = move || at_moment(&shared, &targets, mark);
    let done_with = replicas.clone();
    let done = move |engine: &Engine, _: &mut Thread, taken: io::Result<_>| {
        if let Err(e) = taken {
            log!(engine.log, Warning, "The copy for replicas has failed: {}", e);
            for replica in &done_with {
                replica.close(engine);
            }
        }
    };
    let begun = if let Some(mark) = mark {
        let sink =
            Broadcast { engine: engine.arc(), replicas: replicas.clone(), mark, ended: false };
        snapshots::save_for_replicas(engine, thread, format, sink, moment, done)
    } else {
        match Spool::new(engine, replicas.clone()) {
            Ok(sink) => snapshots::save_for_replicas(engine, thread, format, sink, moment, done),
            Err(e) => {
                log!(engine.log, Warning, "No file for a replica's copy: {}", e);
                replicas.iter().for_each(|r| r.close(engine));
                return;
            }
        }
    };
    drop(quiet);
    // Otherwise it is tried again.
    if begun.is_ok() {
        pause::stop_at(engine, &Replicator::of(engine).pauses, Point::AfterFork);
        engine.feed_now();
    }
}

fn mark(engine: &Engine) -> [u8; 40] {
    *engine::random_repl_id(engine.clock.wall_ms() as i64).as_bytes()
}

/// Takes the position. Every shard is locked, and no batch of a primary's stream is half executed.
fn at_moment(
    engine: &Engine,
    replicas: &[Arc<Replica>],
    mark: Option<[u8; 40]>,
) -> snapshots::Fields {
    let size = engine.config.bytes(Id::ReplBacklogSize) as usize;
    if !engine.is_replica() {
        let fresh = engine.replication.state().backlog.is_none();
        if fresh {
            // Until now the offset stood still: it says nothing about this data.
            let id = engine::random_repl_id(engine.clock.wall_ms() as i64);
            engine.replication.state().history.restart(id);
        }
        engine.begin_rendering(size);
    }
    // Before the state is locked.
    let registry = &Replicator::of(engine).replicas;
    let mains: Vec<_> = replicas.iter().map(|r| registry.main_of(r)).collect();
    let mut state = engine.replication.state();
    state.ensure_backlog(size);
    state.render();
    let db = if engine.is_replica() {
        Replicator::of(engine).following.stream_db().unwrap_or(0)
    } else {
        // Behind the rendering, which selects databases in front of the position.
        state.forget_db();
        0
    };
    let (id, offset) = (state.history.id(), state.history.offset());
    for (replica, main) in replicas.iter().zip(mains) {
        // It has one stream, even if another connection names it.
        match main.filter(|main| main.state() == Some(State::WaitChannel)) {
            None => replica.attach(&mut state, offset),
            Some(main) => {
                // It gets the stream at once, and the other connection only the copy.
                main.attach(&mut state, offset);
                main.about.lock().state = Some(State::BulkAndStream);
                log!(
                    engine.log,
                    Notice,
                    "Starting to deliver RDB and replication stream to replica: {}",
                    main.name()
                );
            }
        }
        let mut about = replica.about.lock();
        about.state = Some(State::WaitEnd);
        about.stream_on_ack = mark.is_some();
        if !about.pre_psync {
            replica.payload.push_line(format!("+FULLRESYNC {id} {offset}\r\n").as_bytes());
        }
        if let Some(mark) = mark {
            replica.payload.push_line(b"$EOF:");
            replica.payload.push_line(&mark);
            replica.payload.push_line(b"\r\n");
            about.state = Some(State::SendBulk);
        }
    }
    vec![
        ("repl-stream-db", db.to_string()),
        ("repl-id", id.to_string()),
        ("repl-offset", offset.to_string()),
        ("aof-base", "0".to_owned()),
    ]
}

/// Sends a copy's bytes to all replicas as they are made.
struct Broadcast {
    engine: Arc<Engine>,
    replicas: Vec<Arc<Replica>>,
    mark: [u8; 40],
    ended: bool,
}

impl Broadcast {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bytes: Arc<[u8]> = bytes.into();
        self.replicas.retain(|replica| replica.payload.push(&bytes));
        if self.replicas.is_empty() {
            return Err(io::Error::other("no replica is left"));
        }
        self.engine.feed_now();
        Ok(())
    }
}

impl Sink for Broadcast {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.send(&{ self.mark })?;
        self.replicas.iter().for_each(|replica| replica.payload.end());
        self.ended = true;
        self.engine.feed_now();
        Ok(())
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        if !self.ended {
            self.replicas.iter().for_each(|replica| replica.close(&self.engine));
        }
    }
}

/// Collects a copy in a file without a name.
struct Spool {
    engine: Arc<Engine>,
    replicas: Vec<Arc<Replica>>,
    file: File,
    bytes: u64,
}

impl Spool {
    fn new(engine: &Engine, replicas: Vec<Arc<Replica>>) -> io::Result<Self> {
        Ok(Self { engine: engine.arc(), replicas, file: unnamed()?, bytes: 0 })
    }
}

/// A new file in `dir` that goes with its last user.
fn unnamed() -> io::Result<File> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Relaxed);
    let path = PathBuf::from(format!("temp-{}-{number}.repl.rdb", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

impl Sink for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        for replica in &self.replicas {
            // Each has a position of its own in the file.
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file));
            let mut file = File::open(path)?;
            file.rewind()?;
            replica.payload.push_line(format!("${}\r\n", self.bytes).as_bytes());
            replica.payload.push_file(file, self.bytes);
            let mut about = replica.about.lock();
            if about.state == Some(State::WaitEnd) {
                about.state = Some(State::SendBulk);
            }
        }
        self.engine.feed_now();
        Ok(())
    }
}

/// Sends a copy that has functions at most, and the stream behind it to a replica that wants it.
fn send_functions(engine: &Engine, thread: &mut Thread, replica: &Arc<Replica>) {
    let mark = mark(engine);
    let quiet = engine.replication.applying.lock();
    let bytes = durable::load::within(engine, thread, |_| {
        at_moment(engine, std::slice::from_ref(replica), Some(mark));
        functions(engine, !replica.about.lock().exclude_functions)
    });
    drop(quiet);
    replica.payload.push_line(&bytes);
    replica.payload.push_line(&mark);
    replica.payload.end();
    engine.feed_now();
}

/// A copy that has all functions, or nothing.
fn functions(engine: &Engine, all: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(false);
    let mut bytes = Vec::new();
    encoder.header(&mut bytes);
    encoder.aux(&mut bytes, b"redis-ver", engine::COMPAT_VERSION.as_bytes());
    for library in engine.function_codes().iter().filter(|_| all) {
        encoder.function(&mut bytes, &library.code);
    }
    encoder.end(&mut bytes);
    let crc = rdb::crc64(0, &bytes);
    encoder.checksum(&mut bytes, crc);
    bytes
}
