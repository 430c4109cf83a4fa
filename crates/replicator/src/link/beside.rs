//! A full copy on a second connection: Redis's `rdb-channel`, Valkey's `dual-channel`.
//!
//! ```text
//!  apus-copy    connects ─► asks ─► copy ─► file ──┐
//!  apus-link    reads the stream and holds it ─────┴─► loading ─► what was held ─► stream
//! ```
//!
//! The stream goes on to be read and held while the copy arrives and is loaded, so that the primary need not keep it.
//! With more than `replica-full-sync-buffer-limit` bytes here it waits at the primary all the same. The copy's thread
//! ends before `Follower::copy_beside` does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

use config::{ClientClass, Config, Id};
use engine::{Engine, Wire, log};
use replication::ReplId;
use replication::link::{Channel, Link, Settings};

use super::follower::{Follower, dial, read, timeout_ms, write_out};
use super::reports::Reports;
use super::{INPUT, Primary, TICK};
use crate::pause::{self, Point};
use crate::state::Replicator;

/// How often the first connection is read before the thread looks for something else to do.
const READS: usize = 64;

/// What the first connection asks for the stream with.
struct Position {
    id: ReplId,
    offset: i64,
    number: u64,
}

/// The most bytes of the stream that are held.
fn held_max(config: &Config) -> u64 {
    let max = match config.bytes(Id::ReplicaFullSyncBufferLimit) {
        0 => config.output_limits(ClientClass::Replica).hard,
        max => max,
    };
    if max == 0 { u64::MAX } else { max }
}

impl Follower<'_> {
    /// Fetches the copy by a second connection, loads it and executes what has come on this one meanwhile.
    pub(super) fn copy_beside(
        &mut self,
        kind: Channel,
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) -> Result<(), String> {
        let engine = self.engine;
        let settings = Settings { channel: Some(kind), resume: None, ..self.settings() };
        let (gives_up, mut input) = (AtomicBool::new(false), vec![0; INPUT]);
        let (tell, told) = channel();
        let primary = self.primary;
        *primary.state.lock() = link.role_state();
        let arrived = std::thread::scope(|scope| {
            let fetch = || Fetch { engine, primary, gives_up: &gives_up }.run(settings, &tell);
            let thread = std::thread::Builder::new()
                .name("apus-copy".into())
                .spawn_scoped(scope, fetch)
                .map_err(|e| format!("no thread for the copy: {e}"))?;
            while !thread.is_finished() {
                ask(&told, link);
                hold(engine, primary, &mut input, (&mut *wire, link, reports));
                gives_up.store(self.stops() || reports.failed, Relaxed);
            }
            thread.join().map_err(|_| "the thread for the copy has ended".to_owned())
        });
        let (mut copy, connection) = arrived??;
        ask(&told, link);
        let since = self.now();
        while link.asks() && !self.stops() && !reports.failed {
            if self.now().saturating_sub(since) > link.timeout_ms() {
                return Err("MASTER does not go on behind its copy".into());
            }
            hold(engine, primary, &mut input, (&mut *wire, link, reports));
        }
        // Valkey keeps the stream for as long as this is there, until it is asked for.
        drop(connection);
        if self.stops() || reports.failed {
            return Err("the link has ended while its copy came".into());
        }
        let meanwhile = || {
            let had_failed = reports.failed;
            hold(engine, primary, &mut input, (&mut *wire, link, reports));
            if reports.failed && !had_failed {
                log!(engine.log, Notice, "Aborting rdb channel sync while loading the RDB.");
                log!(engine.log, Notice, "After loading RDB, replica will try psync with master.");
            }
        };
        let offset = self.load_copy(&mut copy, meanwhile)?;
        link.copied(offset, self.now());
        self.has_loaded();
        self.execute_held(wire, link, reports)
    }

    /// Executes what was held, in pieces, so that the primary hears of this server meanwhile.
    fn execute_held(
        &mut self,
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) -> Result<(), String> {
        let engine = self.engine;
        let held = std::mem::take(&mut reports.stream);
        let mut left = held.len() as u64;
        log!(
            engine.log,
            Notice,
            "MASTER <-> REPLICA sync: Starting to stream replication buffer into the db ({} bytes).",
            left
        );
        for piece in held.chunks(INPUT) {
            // If it has ended, the next link asks for the rest.
            if self.stops() || reports.failed {
                break;
            }
            reports.stream.extend_from_slice(piece);
            self.execute(link, reports)?;
            self.count_held(&reports.stream);
            left -= piece.len() as u64;
            self.primary.holds(left);
            link.was_busy(self.now());
            link.tick(self.now(), &mut |e| reports.take(engine, e));
            self.send(wire, link, reports);
            let pauses = &Replicator::of(engine).pauses;
            pause::stop_link_at(engine, pauses, Point::OnStreamingReplBuf);
        }
        if self.stops() || reports.failed {
            log!(
                engine.log,
                Warning,
                "Master client was freed while streaming accumulated replication data to db."
            );
        }
        Ok(())
    }
}

/// Has the first connection ask for the stream when the second one has said from where.
fn ask(told: &Receiver<Position>, link: &mut Link) {
    if let Ok(Position { id, offset, number }) = told.try_recv() {
        link.asks_beside(id, offset, number);
    }
}

/// Keeps what has come on the first connection, as long as there is room, and says that this server is alive.
fn hold(
    engine: &Engine,
    primary: &Primary,
    input: &mut [u8],
    (wire, link, reports): (&mut dyn Wire, &mut Link, &mut Reports),
) {
    if reports.failed {
        return std::thread::sleep(TICK);
    }
    let max = held_max(&engine.config);
    write_out(engine, wire, link, reports);
    for _ in 0..READS {
        if reports.stream.len() as u64 >= max {
            if !std::mem::replace(&mut reports.told_limit, true) {
                log!(
                    engine.log,
                    Notice,
                    "Replication buffer limit has been reached ({} bytes), stopped buffering replication \
                     stream. Further accumulation may occur on master side.",
                    max
                );
            }
            std::thread::sleep(TICK);
            break;
        }
        let n = read(engine, wire, input, link, reports);
        if n == 0 {
            break;
        }
        let now = engine.clock.wall_ms();
        primary.heard_ms.store(now as i64, Relaxed);
        link.receive(&input[..n], now, &mut |e| reports.take(engine, e));
        primary.holds(reports.stream.len() as u64);
    }
    link.set_timeout_ms(timeout_ms(engine));
    link.tick(engine.clock.wall_ms(), &mut |e| reports.take(engine, e));
}

/// The second connection.
struct Fetch<'a> {
    engine: &'a Engine,
    primary: &'a Primary,
    /// The first connection has ended.
    gives_up: &'a AtomicBool,
}

impl Fetch<'_> {
    /// Fetches the copy into a file. Tells the position if the first connection needs it to go on. Returns what has
    /// arrived, and the connection.
    fn run(
        self,
        settings: Settings,
        tell: &Sender<Position>,
    ) -> Result<(Reports, Box<dyn Wire>), String> {
        let Self { engine, primary, gives_up } = self;
        pause::stop_at(engine, &Replicator::of(engine).pauses, Point::BeforeRdbChannel);
        let Some(mut wire) = dial(engine, primary) else {
            return Err("there is no second connection for the copy".into());
        };
        let mut link = Link::new(settings, engine.clock.wall_ms());
        let (mut reports, mut input) = (Reports::default(), vec![0; INPUT]);
        while !reports.whole {
            if gives_up.load(Relaxed) || primary.stops.load(Relaxed) {
                return Err("the link has ended while its copy came".into());
            }
            write_out(engine, &mut *wire, &mut link, &mut reports);
            let n = read(engine, &mut *wire, &mut input, &mut link, &mut reports);
            let now = engine.clock.wall_ms();
            if n > 0 {
                primary.copy_heard_ms.store(now as i64, Relaxed);
            }
            link.receive(&input[..n], now, &mut |e| reports.take(engine, e));
            if let (Some(number), Some((id, offset))) = (reports.number.take(), reports.full) {
                // The other side waits for the end of this thread.
                let _ = tell.send(Position { id, offset, number });
            }
            if let Some(why) = reports.trouble.take() {
                return Err(why);
            }
            link.set_timeout_ms(timeout_ms(engine));
            link.tick(now, &mut |e| reports.take(engine, e));
            *primary.transfer.lock() = link.transfer();
            if reports.failed {
                return Err("the second connection, for the copy, has ended".into());
            }
        }
        Ok((reports, wire))
    }
}
