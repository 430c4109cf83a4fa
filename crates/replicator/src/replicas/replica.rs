//! One replica: its connection, and what that is fed with.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use engine::replication::State as Stream;
use engine::{Client, Engine, Fed, Feed, Message, Session, log};
use parking_lot::Mutex;
use replication::acks::Progress;
use replication::backlog::Reader;
use replication::serve::{self, State};

use crate::guard;
use crate::payload::{Payload, Taken};

use super::Registry;

/// Bytes of the stream that a connection gets at once.
const STREAM_PIECE: usize = 256 << 10;

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
    /// What its connection had taken of the copy, what that still held, and since when: Unix milliseconds.
    taken: Mutex<(u64, u64, i64)>,
}

impl Replica {
    pub(super) fn new(client: Arc<Client>) -> Self {
        Self {
            client,
            about: Mutex::default(),
            payload: Payload::default(),
            reader: Mutex::new(None),
            waits_since: AtomicI64::new(0),
            taken: Mutex::default(),
        }
    }

    pub(super) fn peer(&self) -> IpAddr {
        let peer = &self.client.endpoint.peer;
        peer.parse::<SocketAddr>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |a| a.ip())
    }

    /// What the log calls it.
    pub fn name(&self) -> String {
        self.about.lock().name(self.peer())
    }

    /// Its address, and what it has acknowledged if it is online.
    pub(super) fn reached_at(&self) -> ((String, u16), Option<i64>) {
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

    pub(super) fn for_guard(&self) -> guard::Progress {
        let about = self.about.lock();
        guard::Progress {
            id: about.id,
            place: about.name(self.peer()),
            online: about.is_online() && !about.stream_on_ack,
            ack: about.ack(),
            fack: about.fack(),
        }
    }

    pub(super) fn progress(&self) -> Progress {
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
pub(super) struct ReplicaFeed {
    pub(super) engine: Weak<Engine>,
    pub(super) registry: Arc<Registry>,
    pub(super) replica: Arc<Replica>,
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

    /// Whether its connection has taken nothing of the copy for too long. The copy may be that of other replicas, too.
    pub(crate) fn takes_no_copy(&self, now_ms: i64, timeout_ms: u64) -> bool {
        let (given, more) = self.payload.progress();
        let held = self.client.output_bytes.load(Relaxed);
        let waits = self.state() == Some(State::SendBulk) && (more || held > 0);
        let mut taken = self.taken.lock();
        if !waits || taken.2 == 0 || (taken.0, taken.1) != (given, held) {
            *taken = (given, held, now_ms);
        }
        now_ms.saturating_sub(taken.2) > i64::try_from(timeout_ms).unwrap_or(i64::MAX)
    }

    fn may_stream(&self) -> bool {
        self.about.lock().may_stream()
    }
}

/// The replica at the other end of this connection, if it is one or is about to become one.
pub fn of_session(session: &Session) -> Option<Arc<Replica>> {
    let feed: &dyn Any = &***session.feed.as_ref()?;
    feed.downcast_ref::<ReplicaFeed>().map(|feed| Arc::clone(&feed.replica))
}
