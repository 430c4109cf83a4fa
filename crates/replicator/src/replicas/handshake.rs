//! From a connection to a replica's: REPLCONF, PSYNC and SYNC, and the two connections of a replica that takes its copy
//! beside the stream.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::Fail;
use config::Id;
use engine::acks::Silence;
use engine::{Attention, Engine, Message, Peer, Session, Thread, log};
use replication::history::Decision;
use replication::serve::{Admission, Answer, Server, State};

use crate::state::Replicator;

use super::replica::ReplicaFeed;
use super::{Registry, Replica, of_session};

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
        session.feed = Some(Box::new(Arc::new(feed)));
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
    pub(super) fn put_main_online(&self, engine: &Engine, channel: &Replica) {
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
    pub(super) fn end_partner(&self, engine: &Engine, gone: &Replica, whole: bool) {
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
        let is_channel = replica.about.lock().is_channel;
        session.client.set_peer(if is_channel { Peer::ReplicaCopy } else { Peer::Replica });
        engine.post(session.client.thread, Message::Fed(session.client.id));
        let answer = match position {
            Some(position) => self.resume(engine, &replica, &name, position),
            None => {
                replica.about.lock().pre_psync = true;
                log!(
                    engine.log,
                    Notice,
                    "Full copy for replica {}: it asked by SYNC, without a position",
                    name
                );
                None
            }
        };
        if answer.is_none() {
            engine.replication.counts.full.fetch_add(1, Relaxed);
            replica.about.lock().state = Some(State::WaitStart);
            replica.waits_since.store(engine.clock.wall_ms() as i64, Relaxed);
        }
        self.all.lock().push(replica);
        self.count(engine);
        // What was rendered above is for all.
        engine.feed_soon();
        Ok(answer)
    }

    /// Lets a replica go on from its position, or offers it another connection for a full copy. What it is answered;
    /// nothing if it waits for a full copy on this connection.
    fn resume(
        &self,
        engine: &Engine,
        replica: &Replica,
        name: &str,
        (id, offset): (&[u8], i64),
    ) -> Option<String> {
        let counts = &engine.replication.counts;
        let mut state = engine.replication.state();
        // What was committed before this request is in front of it in the stream.
        state.render();
        let window = state.backlog.as_ref().map(replication::backlog::Backlog::window);
        match state.history.decide(id, offset, window, name) {
            Decision::Continue => {
                replica.attach(&mut state, offset - 1);
                let own = state.history.id();
                let sent = state.history.offset() + 1 - offset;
                drop(state);
                let mut about = replica.about.lock();
                about.state = Some(State::Online);
                about.heard(engine.clock.wall_ms());
                let answer = match about.psync2 {
                    true => format!("CONTINUE {own}"),
                    false => "CONTINUE".to_owned(),
                };
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
                Some(answer)
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
                self.offer_channel(engine, replica)
            }
        }
    }
}
