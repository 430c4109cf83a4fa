//! One connection to the primary after the other.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::Id;
use engine::{Engine, Purpose, Session, Thread, Wire, log};
use replication::ReplId;
use replication::link::{Link, Settings};

use super::reports::Reports;
use super::stream::held_max;
use super::{CONNECTING, INPUT, Primary, TICK};
use crate::guard::{Guard, needs_grant};
use crate::replicas::Registry;
use crate::stale::note_link;
use crate::state::Replicator;
use crate::synced::Synced;

pub(super) struct Follower<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) registry: &'a Registry,
    pub(super) primary: &'a Primary,
    pub(super) thread: &'a mut Thread,
    pub(super) session: &'a mut Session,
    /// The stream cannot be gone on with from where it stopped; why.
    pub(super) begin_anew: Option<&'static str>,
    /// What the disk has of the stream, and whether the primary has asked for more of it than that.
    pub(super) synced: Synced,
    pub(super) asked: bool,
}

impl Follower<'_> {
    pub(super) fn guard(&self) -> &Guard {
        &self.registry.guard
    }

    /// Has an acknowledgement noted that the link has made.
    fn note_acknowledgement(&self, link: &mut Link) {
        if let Some(offset) = link.take_acknowledged() {
            self.guard().acknowledges(self.engine, offset);
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.engine.clock.wall_ms()
    }

    pub(super) fn stops(&self) -> bool {
        self.primary.stops.load(Relaxed) || self.session.client.closing.load(Relaxed)
    }

    pub(super) fn settings(&self) -> Settings {
        let c = &self.engine.config;
        let word = |id| Some(c.string(id).into_bytes()).filter(|s| !s.is_empty());
        let port = match c.int(Id::ReplicaAnnouncePort) {
            // Clients reach this server as it reaches its primary: over TLS if replication uses TLS.
            0 if c.flag(Id::TlsReplication) && c.int(Id::TlsPort) != 0 => c.int(Id::TlsPort) as u16,
            0 => self.engine.info.tcp_port.load(Relaxed) as u16,
            port => port as u16,
        };
        let state = self.engine.replication.state();
        // Without a backlog the offset has stood still: it says nothing about the data.
        let has_position = state.backlog.is_some();
        Settings {
            user: word(Id::Masteruser),
            password: word(Id::Masterauth),
            port,
            announce_ip: word(Id::ReplicaAnnounceIp),
            timeout_ms: timeout_ms(self.engine),
            resume: self
                .begin_anew
                .is_none()
                .then(|| state.history.resume())
                .filter(|_| has_position),
            why_full: self.begin_anew.unwrap_or("this server's data has no position in a history"),
            channels: c.flag(Id::ReplRdbChannel),
            channel: None,
            failover: Replicator::of(self.engine).failover.asks(),
            id: needs_grant(self.engine)
                .then(|| ReplId::parse(self.engine.run_id.as_bytes()))
                .flatten(),
        }
    }

    /// Makes a connection and follows until it ends. Returns whether the stream has arrived.
    pub(super) fn connect(&mut self) -> bool {
        let (engine, primary) = (self.engine, self.primary);
        // DEBUG SLEEP has it.
        drop(engine.replication.applying.lock());
        *primary.state.lock() = "connecting";
        log!(engine.log, Notice, "Connecting to MASTER {}:{}", primary.host, primary.port);
        let Some(mut wire) = dial(engine, primary) else { return false };
        *primary.closer.lock() = wire.closer();
        *engine.replication.link_end.lock() = wire.local_end();
        self.session.client.net_in.store(0, Relaxed);
        self.session.client.net_out.store(0, Relaxed);
        log!(engine.log, Notice, "MASTER <-> REPLICA sync started");
        let mut link = Link::new(self.settings(), self.now());
        let mut reports = Reports::default();
        let mut input = vec![0; INPUT];
        while !self.stops() && !reports.failed {
            self.send(&mut *wire, &mut link, &mut reports);
            if engine.holds_stream_back() && reports.stream.len() as u64 >= held_max(&engine.config)
            {
                // The rest waits at the primary.
                std::thread::sleep(TICK);
                link.was_busy(self.now());
            } else {
                let n = read(engine, &mut *wire, &mut input, &mut link, &mut reports);
                if n > 0 {
                    primary.heard_ms.store(self.now() as i64, Relaxed);
                    primary.copy_heard_ms.store(self.now() as i64, Relaxed);
                    self.receive(&input[..n], &mut *wire, &mut link, &mut reports);
                    primary.read.store(link.offset(), Relaxed);
                }
            }
            if let Err(why) = self.execute(&mut link, &mut reports) {
                link.fail(why, &mut |e| reports.take(engine, e));
            }
            self.count_held(&reports.stream);
            if self.synced.waits() {
                self.send(&mut *wire, &mut link, &mut reports);
                self.note_synced(&mut link);
            }
            link.set_timeout_ms(timeout_ms(engine));
            link.tick(self.now(), &mut |e| reports.take(engine, e));
            *primary.state.lock() = link.role_state();
            *primary.transfer.lock() = link.transfer();
        }
        *primary.closer.lock() = None;
        *engine.replication.link_end.lock() = None;
        primary.is_up()
    }

    pub(super) fn send(&self, wire: &mut dyn Wire, link: &mut Link, reports: &mut Reports) {
        self.note_acknowledgement(link);
        let sent = write_out(self.engine, wire, link, reports);
        self.session.client.net_out.fetch_add(sent as u64, Relaxed);
    }

    /// Hands the link what was read, and does what it reports.
    fn receive(
        &mut self,
        mut rest: &[u8],
        wire: &mut dyn Wire,
        link: &mut Link,
        reports: &mut Reports,
    ) {
        let engine = self.engine;
        while !rest.is_empty() && !reports.failed {
            let taken = link.receive(rest, self.now(), &mut |e| reports.take(engine, e));
            rest = &rest[taken..];
            if let Some(why) = reports.trouble.take() {
                return link.fail(why, &mut |e| reports.take(engine, e));
            }
            if let Some(id) = reports.goes_on.take() {
                self.go_on(id);
            }
            if let Some(channel) = reports.beside.take()
                && let Err(why) = self.copy_beside(channel, wire, link, reports)
            {
                return link.fail(why, &mut |e| reports.take(engine, e));
            }
            if std::mem::take(&mut reports.whole)
                && let Err(why) = self.load(wire, link, reports)
            {
                return link.fail(why, &mut |e| reports.take(engine, e));
            }
            if taken == 0 {
                return;
            }
        }
    }

    /// The primary goes on from where this server is.
    fn go_on(&self, id: Option<ReplId>) {
        let size = self.engine.config.bytes(Id::ReplBacklogSize) as usize;
        let mut state = self.engine.replication.state();
        state.ensure_backlog(size);
        let other = state.history.adopt_continue(id);
        drop(state);
        if other {
            // They are to learn the new id.
            self.registry.disconnect_all(self.engine);
        }
        self.is_up_now();
    }

    pub(super) fn is_up_now(&self) {
        self.primary.up.store(true, Relaxed);
        note_link(self.engine, true);
    }
}

/// `repl-timeout`, in milliseconds.
pub(super) fn timeout_ms(engine: &Engine) -> u64 {
    engine.config.int(Id::ReplTimeout).max(1) as u64 * 1000
}

/// Writes what the link has to say, as far as the connection takes it. Returns how many bytes that are.
pub(super) fn write_out(
    engine: &Engine,
    wire: &mut dyn Wire,
    link: &mut Link,
    reports: &mut Reports,
) -> usize {
    let mut sent = 0;
    while sent < link.output().len() {
        match wire.write(&link.output()[sent..]) {
            Ok(n) => sent += n,
            // The rest follows in the next turn.
            Err(e) if is_late(&e) => break,
            Err(e) => {
                link.lost(&e.to_string(), &mut |e| reports.take(engine, e));
                return sent;
            }
        }
    }
    link.output().drain(..sent);
    if let Some(worker) = engine.link_worker.get().filter(|_| sent > 0) {
        worker.stats.net_output_bytes.fetch_add(sent as u64, Relaxed);
        worker.stats.writes_processed.fetch_add(1, Relaxed);
    }
    sent
}

/// Reads once. Returns how many bytes there are: 0 also when there were none in time, or the connection has ended.
pub(super) fn read(
    engine: &Engine,
    wire: &mut dyn Wire,
    input: &mut [u8],
    link: &mut Link,
    reports: &mut Reports,
) -> usize {
    match wire.read(input) {
        Ok(0) => link.lost("connection lost", &mut |e| reports.take(engine, e)),
        Ok(n) => {
            if let Some(worker) = engine.link_worker.get() {
                let stats = &worker.stats;
                stats.net_input_bytes.fetch_add(n as u64, Relaxed);
                stats.net_repl_input_bytes.fetch_add(n as u64, Relaxed);
                stats.reads_processed.fetch_add(1, Relaxed);
            }
            return n;
        }
        Err(e) if is_late(&e) => {}
        Err(e) => link.lost(&e.to_string(), &mut |e| reports.take(engine, e)),
    }
    0
}

fn is_late(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Connects to the primary.
pub(super) fn dial(engine: &Engine, primary: &Primary) -> Option<Box<dyn Wire>> {
    let dial = engine.hooks.dial.read().clone()?;
    let wire = match dial(Purpose::Replicate, &primary.host, primary.port, CONNECTING) {
        Ok(wire) => wire,
        Err(why) => {
            log!(engine.log, Warning, "Unable to connect to MASTER: {:?}", why);
            return None;
        }
    };
    wire.limit(TICK).is_ok().then_some(wire)
}
