//! Publish and subscribe, where it is about sessions and their commands. Who receives what, and how it gets
//! there, is in the crate `pubsub`.

mod deliver;
mod notify;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ::pubsub::{Peer, Peers, Receiver};
use resp::{Out, Proto, Reply};

pub(crate) use ::pubsub::Payload;
pub use ::pubsub::{Backlog, ChannelKind, Hub, Inbox, Ready};
pub use ::pubsub::{Name, Tapped, Wanted};
pub use deliver::deliver;
pub(crate) use deliver::deliver_own;
pub(crate) use notify::notify;

use crate::engine::{Engine, Worker};
use crate::session::{ReplyMode, Session};
use crate::thread::Thread;

impl Peer for Worker {
    #[inline]
    fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn wake(&self) {
        self.mailbox.wake();
    }
}

impl Peers for Engine {
    type Peer = Worker;

    fn peer(&self, thread: usize) -> Option<Arc<Worker>> {
        self.worker(thread)
    }

    fn peers(&self) -> Vec<Arc<Worker>> {
        self.workers()
    }

    fn receiver(&self, id: u64) -> Option<Arc<Receiver>> {
        let client = self.clients.get(id).filter(|c| !c.closing.load(Relaxed))?;
        Some(Arc::clone(&client.receiver))
    }
}

impl Thread {
    /// Publishes to a channel or a shard channel, for a program that embeds the engine. Returns how many
    /// subscriptions it reaches.
    pub fn publish(
        &mut self,
        engine: &Engine,
        kind: ChannelKind,
        channel: &[u8],
        message: &[u8],
    ) -> u64 {
        self.pubsub.publish(&engine.pubsub, kind, Wanted::new(channel), Payload::of(message))
    }

    /// Subscribes a connection to names. `tell` answers each, with the number of subscriptions after it.
    pub fn subscribe<'n>(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        kind: ChannelKind,
        names: impl Iterator<Item = &'n [u8]>,
        mut tell: impl FnMut(&mut Self, &mut Session, &[u8], usize),
    ) {
        let slot = self.outbox(session);
        let client = Arc::clone(&session.client);
        let mut subs = client.receiver.subscriptions.lock();
        let subs = subs.get_or_insert_default();
        for name in names {
            let hub = &engine.pubsub;
            let n = self.pubsub.subscribe(hub, &client.receiver, subs, (kind, name), slot);
            tell(self, session, name, n);
        }
        client.receiver.note(&engine.pubsub, kind, subs);
        session.note_attention();
    }

    /// Ends one subscription. Returns whether there was one.
    pub fn unsubscribe(
        &mut self,
        engine: &Engine,
        session: &mut Session,
        kind: ChannelKind,
        name: &[u8],
    ) -> bool {
        let Some(slot) = session.slot() else { return false };
        let receiver = &session.client.receiver;
        let was = self.pubsub.unsubscribe(&engine.pubsub, receiver, (kind, name), slot);
        session.note_attention();
        was
    }

    /// Ends all subscriptions without a message (RESET, a connection that is gone).
    pub fn unsubscribe_all(&mut self, engine: &Engine, session: &mut Session) {
        for kind in ChannelKind::ALL {
            for name in session.client.receiver.names(kind) {
                self.unsubscribe(engine, session, kind, &name);
            }
        }
        *session.client.receiver.subscriptions.lock() = None;
    }

    /// The connection's outbox, made if it has none.
    pub fn outbox(&mut self, session: &mut Session) -> u32 {
        if let Some(slot) = session.slot() {
            return slot;
        }
        let slot = self.pubsub.open(session.client.id, session.proto);
        session.outbox = Some(NonZeroU32::MIN.saturating_add(slot));
        slot
    }

    /// Writes replies that are push messages. They are sent even when CLIENT REPLY holds replies
    /// back, as in Redis.
    pub fn push_reply(
        &mut self,
        session: &mut Session,
        reply: &mut Reply<'_>,
        write: impl FnOnce(&mut Reply<'_>, &Session),
    ) {
        if session.reply == ReplyMode::On {
            return write(reply, session);
        }
        let slot = self.outbox(session);
        self.pubsub.write(slot, |reply| write(reply, session));
    }

    /// Has the messages of a channel kept for the thread itself: see [`::pubsub::Local::tap`].
    pub fn tap(&mut self, engine: &Engine, channel: &[u8]) {
        self.pubsub.tap(&engine.pubsub, channel);
    }

    /// Ends that.
    pub fn untap(&mut self, engine: &Engine, channel: &[u8]) {
        self.pubsub.untap(&engine.pubsub, channel);
    }

    /// Takes the messages of tapped channels.
    #[inline]
    pub fn take_tapped(&mut self) -> Vec<Tapped> {
        if self.pubsub.has_tapped() { self.pubsub.take_tapped() } else { Vec::new() }
    }

    /// Whether messages of tapped channels wait.
    #[inline]
    pub fn has_tapped(&self) -> bool {
        self.pubsub.has_tapped()
    }

    /// Delivers the messages that other threads have sent to connections of this one.
    pub fn receive(&mut self) {
        self.pubsub.receive();
    }

    /// Hands the messages that this thread has published to the others, and wakes them.
    #[inline]
    pub fn send_mail(&mut self, engine: &Engine) {
        engine.tracking.broadcast(engine, &mut self.pubsub);
        self.pubsub.send(engine);
    }

    /// Appends push messages that wait for this connection to `out`.
    #[inline]
    pub fn take_outbox(&mut self, session: &Session, out: &mut Out) {
        if let Some(slot) = session.slot() {
            self.pubsub.take(slot, out);
        }
    }

    /// Sends bytes that another thread has posted to a connection of this one (MONITOR), if it is still
    /// `there`.
    pub fn push_bytes(&mut self, client: u64, bytes: &[u8], there: bool) {
        if there {
            self.pubsub.push_bytes(client, bytes);
        }
        self.worker.inbox.backlog.received(bytes.len());
    }

    /// The thread that has too much to deliver, to which something was added since the last batch began.
    /// The connection that added it is to wait until there is [room](Self::has_room).
    #[inline]
    pub fn take_crowded(&mut self) -> Option<usize> {
        self.pubsub.crowded.take()
    }

    /// Whether a thread that had too much to deliver has so little that one may go on. If not, that
    /// thread wakes this one when it has.
    pub fn has_room(&self, engine: &Engine, thread: usize) -> bool {
        let Some(worker) = engine.worker(thread) else { return true };
        worker.inbox.backlog.room_or_wait(self.index)
    }

    /// To be called when outboxes have been sent: wakes the threads that wait for that.
    #[inline]
    pub fn relieve(&mut self, engine: &Engine) {
        self.pubsub.relieve(engine);
    }

    /// Connections that have something to be sent.
    #[inline]
    pub fn ready(&self) -> usize {
        self.pubsub.ready()
    }

    /// Bytes that wait in outboxes.
    pub fn ready_bytes(&self) -> usize {
        self.pubsub.bytes()
    }

    /// The next of them, and the bytes to be sent.
    pub fn next_ready(&mut self) -> Option<Ready> {
        self.pubsub.next_ready()
    }

    /// Takes back the empty buffer of a [`Ready`].
    pub fn recycle(&mut self, out: Out) {
        self.pubsub.recycle(out);
    }

    /// A connection is gone: ends its subscriptions and drops the bytes that were to be sent.
    pub fn forget(&mut self, engine: &Engine, session: &mut Session) {
        self.untrack(engine, session);
        self.unsubscribe_all(engine, session);
        self.pubsub.close(session.client.id);
        session.outbox = None;
    }

    /// HELLO: later messages are in this form.
    pub fn set_proto(&mut self, session: &mut Session, proto: Proto) {
        session.set_proto(proto);
        if let Some(slot) = session.slot() {
            self.pubsub.set_proto(slot, proto);
        }
        session.note_attention();
    }
}
