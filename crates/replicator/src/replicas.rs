//! The replicas of this server: their connections, what they have acknowledged, and the clients that wait for
//! that (WAIT, WAITAOF).
//!
//! A connection becomes one of a replica in steps: REPLCONF says what the replica is like, PSYNC asks for the
//! stream. Then the connection is *fed* ([`Feed`]): first the full copy, if the replica needs one, then the
//! stream.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use commands::Fail;
use config::Id;
use engine::acks::Silence;
use engine::replication::State as Stream;
use engine::{Attention, Client, Engine, Fed, Feed, Message, Peer, Session, Thread, log};
use parking_lot::Mutex;
use replication::acks::{self, MinReplicas, Progress};
use replication::backlog::Reader;
use replication::history::Decision;
use replication::render::GETACK;
use replication::serve::{self, Admission, Answer, Server, State};
use store::Waiter;

use crate::guard::{self, Guard};
use crate::payload::{Payload, Taken};
use crate::state::Replicator;

/// Bytes of the stream that a connection gets at once.
const STREAM_PIECE: usize = 256 << 10;

/// All replicas, and the clients that wait for them.
#[derive(Default)]
pub struct Registry {
    /// Connections that have sent PSYNC, in the order in which they did.
    all: Mutex<Vec<Arc<Replica>>>,
    waiting: Mutex<Vec<Waiting>>,
    /// What is acknowledged, and who may be promoted.
    pub guard: Guard,
    /// Some client waits: a look at this is cheaper than the lock.
    any_waiting: AtomicBool,
    /// When the last PING went into the stream, and the last look at acknowledgements: Unix milliseconds.
    pub(crate) pinged_ms: AtomicI64,
    pub(crate) looked_ms: AtomicI64,
}

/// A client in WAIT or WAITAOF.
struct Waiting {
    waiter: Arc<Waiter>,
    offset: i64,
    wanted: usize,
    /// It wants the replicas' disks.
    aof: Option<Own>,
}

/// What WAITAOF wants of this server's own disk.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The last change of the client, in the journal.
    pub sequence: u64,
    /// Whether it is waited for. The reply says in any case whether it is on disk.
    pub wanted: bool,
}

/// The connection of a replica.
pub struct Replica {
    /// The connection.
    pub client: Arc<Client>,
    /// What the replica has said about itself, and where it is.
    pub about: Mutex<serve::Replica>,
    pub(crate) payload: Payload,
    /// Its position in the stream.
    reader: Mutex<Option<Reader>>,
    /// Since when it waits for a full copy to begin, in Unix milliseconds.
    pub(crate) waits_since: AtomicI64,
}

impl Replica {
    fn new(client: Arc<Client>) -> Self {
        Self {
            client,
            about: Mutex::default(),
            payload: Payload::default(),
            reader: Mutex::new(None),
            waits_since: AtomicI64::new(0),
        }
    }

    fn peer(&self) -> IpAddr {
        let peer = &self.client.endpoint.peer;
        peer.parse::<SocketAddr>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |a| a.ip())
    }

    /// What the log calls it.
    pub fn name(&self) -> String {
        self.about.lock().name(self.peer())
    }

    /// Its address, and what it has acknowledged if it is online.
    fn reached_at(&self) -> ((String, u16), Option<i64>) {
        let about = self.about.lock();
        let port = u16::try_from(about.port).unwrap_or(0);
        ((about.address(self.peer()), port), about.is_online().then(|| about.ack()))
    }

    pub(crate) fn state(&self) -> Option<State> {
        self.about.lock().state
    }

    /// Its stream begins behind `offset`.
    pub(crate) fn attach(&self, stream: &mut Stream, offset: i64) {
        *self.reader.lock() = stream.attach(offset);
    }

    fn detach(&self, engine: &Engine) {
        // Elsewhere the state is locked first.
        let reader = self.reader.lock().take();
        if let Some(reader) = reader {
            engine.replication.state().detach(reader);
        }
    }

    fn for_guard(&self) -> guard::Progress {
        let about = self.about.lock();
        guard::Progress {
            id: about.id,
            place: about.name(self.peer()),
            online: about.is_online() && !about.stream_on_ack,
            ack: about.ack(),
            fack: about.fack(),
        }
    }

    fn progress(&self) -> Progress {
        let about = self.about.lock();
        Progress {
            online: about.is_online(),
            ack: about.ack(),
            fack: about.fack(),
            ack_ms: about.ack_ms(),
        }
    }

    /// Its connection is to be closed.
    pub(crate) fn close(&self, engine: &Engine) {
        self.payload.fail();
        self.client.closing.store(true, Relaxed);
        engine.post(self.client.thread, Message::Close(self.client.id));
    }
}

/// What a connection is fed with.
struct ReplicaFeed {
    engine: Weak<Engine>,
    registry: Arc<Registry>,
    replica: Arc<Replica>,
}

impl Feed for ReplicaFeed {
    fn next(&self, out: &mut Vec<u8>) -> Fed {
        let Some(engine) = self.engine.upgrade() else { return Fed::End };
        let replica = &self.replica;
        match replica.payload.next(out) {
            Taken::Some => return Fed::Some,
            Taken::Nothing => return Fed::Nothing,
            Taken::Failed => return Fed::End,
            Taken::Whole => {}
        }
        if replica.has_come_online(&engine) {
            if replica.about.lock().is_channel {
                self.registry.put_main_online(&engine, replica);
            }
            self.registry.count(&engine);
        }
        if !replica.may_stream() {
            return Fed::Nothing;
        }
        let Some(reader) = *replica.reader.lock() else { return Fed::Nothing };
        let more = engine.replication.state().read(reader, STREAM_PIECE, out);
        if more { Fed::Some } else { Fed::Nothing }
    }

    fn waiting(&self) -> u64 {
        // A snapshot's bytes are bounded by themselves.
        let (Some(engine), Some(reader)) = (self.engine.upgrade(), *self.replica.reader.lock())
        else {
            return 0;
        };
        engine.replication.state().outstanding(reader)
    }

    fn ended(&self) {
        let whole = self.replica.payload.is_given_out();
        self.replica.payload.fail();
        let Some(engine) = self.engine.upgrade() else { return };
        self.replica.detach(&engine);
        self.registry.end_partner(&engine, &self.replica, whole);
        let mut all = self.registry.all.lock();
        all.retain(|other| !Arc::ptr_eq(other, &self.replica));
        if all.is_empty() {
            engine.replication.state().alone_since = engine.clock.wall_ms() as i64;
        }
        drop(all);
        if !self.replica.about.lock().is_channel {
            self.registry.guard.lost(&self.replica.for_guard());
        }
        self.registry.count(&engine);
    }
}

impl Replica {
    /// Everything of the full copy was given out. Returns whether the replica is online since now.
    fn has_come_online(&self, engine: &Engine) -> bool {
        let mut about = self.about.lock();
        if about.state != Some(State::SendBulk) {
            return false;
        }
        let name = about.name(self.peer());
        if let Some(line) = about.put_online(engine.clock.wall_ms(), &name) {
            log!(engine.log, Notice, "{}", line);
        }
        true
    }

    /// Whether it has been silent for too long: its connection has brought nothing, not even an empty line.
    pub(crate) fn is_timed_out(&self, now_ms: u64, timeout_ms: u64) -> bool {
        let heard_ms = u64::try_from(self.client.active_ms.load(Relaxed)).unwrap_or(0);
        self.about.lock().is_timed_out(heard_ms, now_ms, timeout_ms)
    }

    fn may_stream(&self) -> bool {
        self.about.lock().may_stream()
    }
}

/// The replica at the other end of this connection, if it is one or is about to become one.
pub fn of_session(session: &Session) -> Option<Arc<Replica>> {
    let feed: &dyn Any = &**session.feed.as_ref()?;
    feed.downcast_ref::<ReplicaFeed>().map(|feed| Arc::clone(&feed.replica))
}

impl Registry {
    fn begin_session(self: &Arc<Self>, engine: &Engine, session: &mut Session) -> Arc<Replica> {
        if let Some(replica) = of_session(session) {
            return replica;
        }
        let replica = Arc::new(Replica::new(Arc::clone(&session.client)));
        let feed = ReplicaFeed {
            engine: engine.weak(),
            registry: Arc::clone(self),
            replica: Arc::clone(&replica),
        };
        session.feed = Some(Arc::new(feed));
        replica
    }

    /// REPLCONF, without its name.
    pub fn replconf(
        self: &Arc<Self>,
        engine: &Engine,
        thread: &mut Thread,
        session: &mut Session,
        args: &[&[u8]],
    ) -> Result<bool, Fail> {
        let now = engine.clock.wall_ms();
        let sent = engine.replication.state().history.offset();
        // A client that is no replica may say things, too: they are checked, and forgotten with the connection.
        let replica = self.begin_session(engine, session);
        let answer = replica.about.lock().replconf(args, sent, now);
        match answer {
            Answer::Ok => self.admit_channel(&replica).map(|()| true),
            Answer::Silent | Answer::GetAck => Ok(false),
            Answer::Error(text) => Err(Fail::new(text)),
            Answer::Acknowledged { start_stream } => {
                if start_stream {
                    engine.post(session.client.thread, Message::Fed(session.client.id));
                }
                if engine.attention.get() & Attention::REPLICAS != 0 {
                    self.count(engine);
                }
                self.guard.acked(engine, &replica.for_guard());
                self.acknowledged(engine, thread);
                Ok(false)
            }
        }
    }

    /// The connection that gets the stream while `channel` gets the snapshot.
    pub(crate) fn main_of(&self, channel: &Replica) -> Option<Arc<Replica>> {
        let main = channel.about.lock().main?;
        self.all.lock().iter().find(|r| r.client.id as i64 == main).cloned()
    }

    /// The snapshot was sent.
    fn put_main_online(&self, engine: &Engine, channel: &Replica) {
        let Some(main) = self.main_of(channel) else { return };
        let mut about = main.about.lock();
        if about.state == Some(State::BulkAndStream) {
            let name = about.name(main.peer());
            if let Some(line) = about.put_online(engine.clock.wall_ms(), &name) {
                log!(engine.log, Notice, "{}", line);
            }
        }
    }

    /// A connection for a snapshot must name one that waits for it.
    fn admit_channel(&self, replica: &Replica) -> Result<(), Fail> {
        let Some(main) = replica.about.lock().main else { return Ok(()) };
        let waits = |r: Arc<Replica>| r.state() == Some(State::WaitChannel);
        if replica.state().is_some() || self.main_of(replica).is_some_and(waits) {
            return Ok(());
        }
        replica.about.lock().main = None;
        Err(Fail::new(format!("ERR Unrecognized RDB client id: {main}")))
    }

    /// Of two connections of one replica one has ended: the other is of no use, unless the `whole` copy was sent. The
    /// replica ends that connection as soon as it has it, which may be before this server has noticed.
    fn end_partner(&self, engine: &Engine, gone: &Replica, whole: bool) {
        let state = gone.state();
        if gone.about.lock().is_channel {
            match whole {
                true => self.put_main_online(engine, gone),
                false => {
                    self.main_of(gone).inspect(|main| main.close(engine));
                }
            }
        } else if matches!(state, Some(State::WaitChannel | State::BulkAndStream)) {
            let of_gone = |r: &&Arc<Replica>| r.about.lock().main == Some(gone.client.id as i64);
            let partner = self.all.lock().iter().find(of_gone).cloned();
            partner.inspect(|channel| channel.close(engine));
        }
    }

    /// A replica that can is told to make another connection for the snapshot: this one then carries the stream
    /// meanwhile, which waits there and not here. What it is answered, if that is so.
    fn offer_channel(&self, engine: &Engine, replica: &Replica) -> Option<String> {
        let c = &engine.config;
        let mut about = replica.about.lock();
        let offers = c.flag(Id::ReplRdbChannel) && c.flag(Id::ReplDisklessSync);
        if !offers || !about.wants_channel() {
            return None;
        }
        about.state = Some(State::WaitChannel);
        about.heard(engine.clock.wall_ms());
        let name = about.name(replica.peer());
        drop(about);
        replica.payload.end();
        log!(
            engine.log,
            Notice,
            "Replica {} is capable of rdb channel synchronization, and partial sync isn't possible. Full sync \
             will continue with dedicated rdb channel.",
            name
        );
        Some(format!("RDBCHANNELSYNC {}", replica.client.id))
    }

    /// PSYNC, or SYNC (without a position). What is to be answered now, if anything is.
    pub fn psync(
        self: &Arc<Self>,
        engine: &Engine,
        session: &mut Session,
        link_is_up: bool,
        position: Option<(&[u8], i64)>,
    ) -> Result<Option<String>, Fail> {
        let replica = self.begin_session(engine, session);
        let is_replica = engine.is_replica();
        let fails_over = Replicator::of(engine).failover.is_on();
        let server = Server { is_replica, link_is_up, fails_over };
        if engine.replication.acks.is_silent(Silence::Ping) {
            // Its data may be older than theirs.
            if position.is_some_and(|(id, _)| id != b"?") {
                self.guard.asked_for_more(engine);
            }
            return Err(Fail::text(
                "NOMASTERLINK This server does not know yet whether it is the primary",
            ));
        }
        let pending = session.client.output_bytes.load(Relaxed) > 0;
        match replica.about.lock().admit(server, pending) {
            Admission::Go => {}
            Admission::Ignore => return Ok(None),
            Admission::Refuse(text) => return Err(Fail::text(text)),
        }
        let name = replica.name();
        log!(engine.log, Notice, "Replica {} asks for synchronization", name);
        session.client.set_peer(Peer::Replica);
        engine.post(session.client.thread, Message::Fed(session.client.id));
        let counts = &engine.replication.counts;
        let mut answer = None;
        if let Some((id, offset)) = position {
            let mut state = engine.replication.state();
            // What was committed before this request is in front of it in the stream.
            state.render();
            let window = state.backlog.as_ref().map(replication::backlog::Backlog::window);
            match state.history.decide(id, offset, window, &name) {
                Decision::Continue => {
                    replica.attach(&mut state, offset - 1);
                    let own = state.history.id();
                    let sent = state.history.offset() + 1 - offset;
                    drop(state);
                    let mut about = replica.about.lock();
                    about.state = Some(State::Online);
                    about.heard(engine.clock.wall_ms());
                    answer = Some(match about.psync2 {
                        true => format!("CONTINUE {own}"),
                        false => "CONTINUE".to_owned(),
                    });
                    drop(about);
                    replica.payload.end();
                    counts.partial.fetch_add(1, Relaxed);
                    log!(
                        engine.log,
                        Notice,
                        "Partial resynchronization request from {} accepted. Sending {} bytes of backlog \
                     starting from offset {}.",
                        name,
                        sent,
                        offset
                    );
                }
                Decision::Full { reason, warning, refused } => {
                    drop(state);
                    log!(engine.log, Notice, "{}", reason);
                    if let Some(warning) = warning {
                        log!(engine.log, Warning, "{}", warning);
                    }
                    if refused {
                        counts.refused.fetch_add(1, Relaxed);
                    }
                    answer = self.offer_channel(engine, &replica);
                }
            }
        } else {
            replica.about.lock().pre_psync = true;
            log!(
                engine.log,
                Notice,
                "Full copy for replica {}: it asked by SYNC, without a position",
                name
            );
        }
        if answer.is_none() {
            counts.full.fetch_add(1, Relaxed);
            replica.about.lock().state = Some(State::WaitStart);
            replica.waits_since.store(engine.clock.wall_ms() as i64, Relaxed);
        }
        self.all.lock().push(replica);
        self.count(engine);
        // What was rendered above is for all.
        engine.feed_soon();
        Ok(answer)
    }

    /// All replicas.
    pub fn all(&self) -> Vec<Arc<Replica>> {
        self.all.lock().clone()
    }

    /// The replica at an address, or the first: how others reach it, and what it has acknowledged if it is
    /// online.
    pub(crate) fn acknowledged_by(
        &self,
        target: Option<&(String, u16)>,
    ) -> Option<((String, u16), Option<i64>)> {
        let all = self.all.lock();
        let mut found = all
            .iter()
            .map(|r| r.reached_at())
            .filter(|(address, _)| target.is_none_or(|target| target == address));
        found.next()
    }

    /// A replica, the one at `target` if that is given, that has executed everything up to `offset`.
    pub(crate) fn acknowledged_by_any(
        &self,
        target: Option<&(String, u16)>,
        offset: i64,
    ) -> Option<(String, u16)> {
        let all = self.all.lock();
        let mut found = all.iter().map(|r| r.reached_at()).filter(|(address, ack)| {
            target.is_none_or(|target| target == address) && ack.is_some_and(|ack| ack >= offset)
        });
        found.next().map(|(address, _)| address)
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.all.lock().is_empty()
    }

    /// Closes the connections of all replicas: what they were sent is not this server's data any more.
    pub fn disconnect_all(&self, engine: &Engine) {
        for replica in self.all() {
            replica.close(engine);
        }
    }

    /// INFO's lines `slaveN`.
    pub fn info(&self, engine: &Engine) -> Vec<String> {
        let now = engine.clock.wall_ms();
        let line = |r: &Arc<Replica>| r.about.lock().info(r.peer(), now);
        self.all.lock().iter().filter_map(line).collect()
    }

    /// The entries of ROLE: address, port and acknowledged offset.
    pub fn role(&self) -> Vec<[String; 3]> {
        self.all.lock().iter().filter_map(|r| r.about.lock().role(r.peer())).collect()
    }

    /// The number of replicas with as little lag as `min-replicas-max-lag` asks for.
    pub fn good(&self, engine: &Engine) -> usize {
        let min = min_replicas(engine);
        let now = engine.clock.wall_ms();
        min.good(self.all.lock().iter().map(|r| r.progress()), now)
    }

    /// Refuses writes while too few replicas are good.
    pub fn count(&self, engine: &Engine) {
        engine.replication.good.store(self.good(engine), Relaxed);
        engine.follow_good_replicas();
    }

    /// How many replicas have everything up to `offset`, in memory or on disk.
    fn have(&self, offset: i64, on_disk: bool) -> usize {
        let all = self.all.lock();
        let progress = all.iter().map(|r| r.progress());
        if on_disk { acks::on_disk(progress, offset) } else { acks::executed(progress, offset) }
    }

    /// A replica has acknowledged: the clients that have waited for it are answered.
    pub(crate) fn acknowledged(&self, engine: &Engine, thread: &mut Thread) {
        if !self.any_waiting.load(Relaxed) {
            return;
        }
        let mut waiting = self.waiting.lock();
        let mut due = Vec::new();
        waiting.retain(|w| {
            if Arc::strong_count(&w.waiter) == 1 {
                // Its time is over, or its connection is.
                return false;
            }
            let have = self.have(w.offset, w.aof.is_some());
            let here = w.aof.map(|own| i64::from(is_durable_here(engine, own.sequence)));
            let wanted_here = w.aof.is_some_and(|own| own.wanted);
            let done = have >= w.wanted && (!wanted_here || here == Some(1));
            engine::note_progress(&w.waiter, here, have as i64);
            if done {
                due.push((Arc::clone(&w.waiter), here, have));
            }
            !done
        });
        self.any_waiting.store(!waiting.is_empty(), Relaxed);
        drop(waiting);
        for (waiter, here, have) in due {
            let bytes = match here {
                Some(here) => format!("*2\r\n:{here}\r\n:{have}\r\n"),
                None => format!(":{have}\r\n"),
            };
            thread.answer_waiter(engine, &waiter, bytes.into_bytes(), None);
        }
    }
}

/// Whether this server's own journal is on disk up to `sequence`.
pub fn is_durable_here(engine: &Engine, sequence: u64) -> bool {
    let journal = &engine.journal;
    journal.is_on()
        && !durable::journal::is_beginning(engine)
        && sequence <= journal.shared.durable()
}

fn min_replicas(engine: &Engine) -> MinReplicas {
    MinReplicas {
        to_write: engine.config.int(Id::MinReplicasToWrite).max(0) as usize,
        max_lag_s: engine.config.int(Id::MinReplicasMaxLag).max(0) as u64,
    }
}

impl Registry {
    /// The stream's position behind everything that this connection has written, for WAIT; and how many replicas
    /// have that.
    pub fn position(&self, engine: &Engine, thread: &Thread) -> (i64, usize) {
        engine.render_changes(thread.worker());
        let offset = engine.replication.state().history.offset();
        (offset, self.have(offset, false))
    }

    /// The same for WAITAOF: how many have it on disk.
    pub fn position_on_disk(&self, engine: &Engine, thread: &Thread) -> (i64, usize) {
        let (offset, _) = self.position(engine, thread);
        (offset, self.have(offset, true))
    }

    /// Answers `waiter` when `wanted` replicas have everything up to `offset`; with `aof` on their disks, and this
    /// server has what is said there.
    pub fn wait(
        &self,
        engine: &Engine,
        waiter: Arc<Waiter>,
        (offset, wanted): (i64, usize),
        aof: Option<Own>,
    ) {
        self.waiting.lock().push(Waiting { waiter, offset, wanted, aof });
        self.any_waiting.store(true, Relaxed);
        if !engine.is_replica() && engine.replication.renders() {
            engine.replication.state().append(GETACK);
            engine.feed_now();
        }
    }
}
