//! One thread's half: its subscribers, their outboxes, and the messages that it publishes for other
//! threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use resp::{Out, Proto, Reply};

use crate::encode::Encoded;
use crate::hub::{Hub, Threads};
use crate::inbox::Delivery;
use crate::map::Map;
use crate::name::{Named, Names};
use crate::notice::Notice;
use crate::outbox::Outboxes;
use crate::{
    Backlog, ChannelKind, Name, Payload, Peer, Peers, Ready, Receiver, Subscriptions, Wanted,
};

/// A batch ends when it has this many bytes for another thread.
const POST_BYTES: usize = 1 << 20;
/// Subscribers from which on a channel finds one of them by a map.
const MAPPED: usize = 16;

/// The outboxes that are subscribed to a name, in no order.
#[derive(Default)]
struct Members {
    slots: Vec<u32>,
    /// Indices in `slots`, once there are many.
    places: Option<Box<Map<u32, u32>>>,
    /// The thread itself gets the messages, too ([`Local::tap`]).
    tapped: bool,
}

/// A message of a channel that a thread has tapped.
#[derive(Debug)]
pub struct Tapped {
    /// The channel.
    pub name: Name,
    message: Arc<Encoded>,
}

impl Tapped {
    /// The message.
    pub fn payload(&self) -> &[u8] {
        self.message.payload()
    }
}

impl Members {
    fn add(&mut self, slot: u32) {
        self.slots.push(slot);
        let n = self.slots.len();
        if let Some(places) = &mut self.places {
            places.insert(slot, n as u32 - 1);
        } else if n > MAPPED {
            self.places = Some(Box::new(self.slots.iter().copied().zip(0..).collect()));
        }
    }

    fn remove(&mut self, slot: u32) {
        let at = match &mut self.places {
            Some(places) => places.remove(&slot).map(|at| at as usize),
            None => self.slots.iter().position(|s| *s == slot),
        };
        let Some(at) = at else { return };
        self.slots.swap_remove(at);
        if let (Some(places), Some(moved)) = (&mut self.places, self.slots.get(at)) {
            places.insert(*moved, at as u32);
        }
    }
}

/// The messages to be sent to another thread.
#[derive(Default)]
struct Outgoing {
    mail: Vec<Delivery>,
    /// Their bytes for all of its connections together.
    bytes: usize,
}

/// Bytes that one subscription takes: in its connection's set, in its thread's, and the name, which is
/// shared with its other subscribers.
fn subscription_bytes(name: &Name) -> u64 {
    (name.len() + size_of::<Name>() + 64) as u64
}

/// See the module's text.
pub struct Local<P> {
    /// Number of the thread.
    me: usize,
    /// The part of the thread that others see: its inbox.
    own: Arc<P>,
    /// Bits of `notify-keyspace-events`, for the thread that publishes them.
    pub notify: u32,
    /// Keys that the batch has changed, each with the connection that changed it: noted while any client
    /// tracks by prefix.
    changed: Vec<(Box<[u8]>, u64)>,
    changed_bytes: usize,
    names: [Names<Members>; 3],
    boxes: Outboxes,
    /// The messages to be sent to other threads, by their number.
    outgoing: Vec<Outgoing>,
    /// A thread that has too much to deliver, and was given more.
    pub crowded: Option<usize>,
    /// The bytes that may wait in the outboxes of this thread.
    limit: usize,
    /// Threads with something in `outgoing`, or that are to be notified of posted messages.
    touched: Vec<usize>,
    /// All threads, as far as they were needed.
    peers: Vec<Arc<P>>,
    /// Scratch for received messages.
    mail: Vec<Delivery>,
    /// Messages of tapped channels, in their order.
    tapped: Vec<Tapped>,
}

impl<P: Peer> Local<P> {
    /// The half of thread number `me`, which the others see as `own`. The memory of the buffers in which
    /// messages wait is shown in `outboxes`.
    pub fn new(me: usize, own: Arc<P>, outboxes: Arc<AtomicUsize>) -> Self {
        Self {
            me,
            own,
            notify: 0,
            changed: Vec::new(),
            changed_bytes: 0,
            names: Default::default(),
            boxes: Outboxes::new(outboxes),
            outgoing: Vec::new(),
            crowded: None,
            limit: Backlog::limit_for(0),
            touched: Vec::new(),
            peers: Vec::new(),
            mail: Vec::new(),
            tapped: Vec::new(),
        }
    }

    /// From here on, messages of a channel are kept for the thread itself, until [`take_tapped`](Self::take_tapped):
    /// it counts as one subscriber. A channel is tapped once at most.
    pub fn tap(&mut self, hub: &Hub, channel: &[u8]) {
        // Messages from before are not for it.
        self.receive();
        let name = hub.join(ChannelKind::Channel, Wanted::new(channel), self.me);
        let members = self.names[ChannelKind::Channel.index()].entry(name).or_default();
        debug_assert!(!members.tapped, "tapped twice");
        members.tapped = true;
    }

    /// Ends that.
    pub fn untap(&mut self, hub: &Hub, channel: &[u8]) {
        let names = &mut self.names[ChannelKind::Channel.index()];
        let wanted = Wanted::new(channel);
        let Some(members) = names.get_mut(&wanted as &dyn Named).filter(|m| m.tapped) else {
            return;
        };
        members.tapped = false;
        if members.slots.is_empty() {
            names.remove(&wanted as &dyn Named);
        }
        hub.leave(ChannelKind::Channel, wanted, self.me);
    }

    /// Whether messages of tapped channels wait.
    #[inline]
    pub fn has_tapped(&self) -> bool {
        !self.tapped.is_empty()
    }

    /// Takes the messages of tapped channels.
    pub fn take_tapped(&mut self) -> Vec<Tapped> {
        std::mem::take(&mut self.tapped)
    }

    /// The part of the thread that others see.
    #[inline]
    pub fn own(&self) -> &P {
        &self.own
    }

    /// Makes an outbox for a connection, or takes the one it has. Returns its number.
    pub fn open(&mut self, client: u64, proto: Proto) -> u32 {
        let slot = self.boxes.open(client, Some(proto), true);
        self.note_limit();
        slot
    }

    /// Drops the messages that wait for a connection, and its outbox.
    pub fn close(&mut self, client: u64) {
        self.boxes.close(client);
        self.note_limit();
    }

    fn note_limit(&mut self) {
        self.limit = Backlog::limit_for(self.boxes.count());
        self.own.inbox().backlog.set_limit(self.limit);
    }

    fn join(&mut self, kind: ChannelKind, name: &Name, slot: u32) {
        self.names[kind.index()].entry(name.clone()).or_default().add(slot);
    }

    fn leave(&mut self, kind: ChannelKind, name: &Name, slot: u32) {
        let names = &mut self.names[kind.index()];
        if let Some(members) = names.get_mut(name as &dyn Named) {
            members.remove(slot);
            if members.slots.is_empty() && !members.tapped {
                names.remove(name as &dyn Named);
            }
        }
    }

    /// Subscribes a connection, whose outbox is `slot`. Returns the number of subscriptions that the client
    /// is sent. When all are done, [`Receiver::note`] is to be called.
    pub fn subscribe(
        &mut self,
        hub: &Hub,
        receiver: &Receiver,
        subs: &mut Subscriptions,
        (kind, name): (ChannelKind, &[u8]),
        slot: u32,
    ) -> usize {
        let name = Wanted::new(name);
        if !subs.has(kind, name) {
            let name = hub.join(kind, name, self.me);
            self.join(kind, &name, slot);
            let bytes = &receiver.subscription_bytes;
            bytes.store(bytes.load(Relaxed) + subscription_bytes(&name), Relaxed);
            subs.insert(kind, name);
        }
        subs.told(kind)
    }

    /// Ends one subscription. Returns whether there was one.
    pub fn unsubscribe(
        &mut self,
        hub: &Hub,
        receiver: &Receiver,
        (kind, name): (ChannelKind, &[u8]),
        slot: u32,
    ) -> bool {
        let mut subs = receiver.subscriptions.lock();
        let Some(subs) = &mut *subs else { return false };
        let Some(name) = subs.take(kind, Wanted::new(name)) else { return false };
        let bytes = &receiver.subscription_bytes;
        bytes.store(bytes.load(Relaxed).saturating_sub(subscription_bytes(&name)), Relaxed);
        self.leave(kind, &name, slot);
        hub.leave(kind, (&name).into(), self.me);
        receiver.note(hub, kind, subs);
        true
    }

    /// Publishes to a channel or a shard channel. Returns how many subscriptions it reaches.
    pub fn publish(
        &mut self,
        hub: &Hub,
        kind: ChannelKind,
        to: Wanted<'_>,
        message: Payload<'_>,
    ) -> u64 {
        let me = self.me;
        let channel = to.text();
        let mut here = None;
        let mut receivers = 0;
        hub.find(kind, to, |name, threads| {
            let encoded = Arc::new(Encoded::message(kind, channel, &message));
            receivers += self.spread(name, kind, &encoded, threads);
            if threads.count(me) > 0 {
                here = Some((name.clone(), encoded));
            }
        });
        // Delivered when the hub's lock is free again: it takes as long as there are subscribers. Messages
        // that others published before come first.
        if let Some((name, encoded)) = here {
            self.receive();
            self.deliver(kind, &name, &encoded);
        }
        if kind == ChannelKind::Channel && hub.has_patterns() {
            let mut here = Vec::new();
            hub.matching(channel, &mut |name, threads| {
                let encoded = Arc::new(Encoded::matched(name, channel, &message));
                receivers += self.spread(name, ChannelKind::Pattern, &encoded, threads);
                if threads.count(me) > 0 {
                    here.push((name.clone(), encoded));
                }
            });
            for (name, encoded) in here {
                self.receive();
                self.deliver(ChannelKind::Pattern, &name, &encoded);
            }
        }
        receivers
    }

    /// Notes that a key was changed by a connection, for the clients that are notified by prefix when the
    /// batch ends.
    pub(crate) fn note_changed(&mut self, key: &[u8], by: u64) {
        self.changed.push((key.into(), by));
        self.changed_bytes += key.len();
        if self.changed_bytes > POST_BYTES {
            // The batch ends here.
            self.crowded = Some(self.me);
        }
    }

    /// Whether any keys have been noted.
    #[inline]
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The keys that have been noted so far.
    pub(crate) fn take_changed(&mut self) -> Vec<(Box<[u8]>, u64)> {
        self.changed_bytes = 0;
        std::mem::take(&mut self.changed)
    }

    /// Notes a message for all other threads that have subscribers. Returns all subscriptions, those
    /// on this thread included.
    fn spread(
        &mut self,
        name: &Name,
        kind: ChannelKind,
        message: &Arc<Encoded>,
        threads: &Threads,
    ) -> u64 {
        let mut receivers = 0;
        for (thread, n) in threads.iter() {
            receivers += u64::from(n);
            if thread != self.me {
                let delivery = Delivery::Message(kind, name.clone(), Arc::clone(message));
                self.send_to(thread, delivery, message.len().saturating_mul(n as usize));
            }
        }
        receivers
    }

    /// Notes a message for another thread, whose connections will be sent this many bytes.
    fn send_to(&mut self, thread: usize, delivery: Delivery, bytes: usize) {
        if self.outgoing.len() <= thread {
            self.outgoing.resize_with(thread + 1, Outgoing::default);
        }
        if !self.touched.contains(&thread) {
            self.touched.push(thread);
        }
        let outgoing = &mut self.outgoing[thread];
        outgoing.mail.push(delivery);
        outgoing.bytes = outgoing.bytes.saturating_add(bytes);
        // All of it is posted before any thread waits.
        if outgoing.bytes > POST_BYTES {
            self.crowded = Some(thread);
        }
    }

    /// Posts the messages for other threads, without waking them yet.
    pub fn post(&mut self, peers: &impl Peers<Peer = P>) {
        for &thread in &self.touched {
            let Outgoing { mail, bytes } = &mut self.outgoing[thread];
            let bytes = std::mem::take(bytes);
            if mail.is_empty() {
                continue;
            }
            if thread >= self.peers.len() {
                self.peers = peers.peers();
            }
            let Some(peer) = self.peers.get(thread) else {
                mail.clear();
                continue;
            };
            peer.inbox().post(mail, bytes);
            if peer.inbox().backlog.is_over() {
                self.crowded = Some(thread);
            }
        }
    }

    /// The lines fed to clients that run MONITOR have made the backlog of some thread too long.
    #[cold]
    pub fn note_crowd(&mut self, peers: &impl Peers<Peer = P>) {
        let over = |peer: &Arc<P>| peer.inbox().backlog.is_over();
        if let Some(thread) = peers.peers().iter().position(over) {
            self.crowded = Some(thread);
        }
    }

    /// Reports the bytes that wait to be sent, and wakes the threads that wait for less.
    #[inline]
    pub fn relieve(&mut self, peers: &impl Peers<Peer = P>) {
        let backlog = &self.own.inbox().backlog;
        backlog.set_outboxes(self.boxes.bytes());
        for thread in backlog.relieved() {
            if let Some(peer) = peers.peer(thread) {
                peer.wake();
            }
        }
    }

    /// Posts, and wakes the threads that have not been notified yet. To be called when a batch ends.
    #[inline]
    pub fn send(&mut self, peers: &impl Peers<Peer = P>) {
        if self.touched.is_empty() {
            return;
        }
        self.post(peers);
        for thread in self.touched.drain(..) {
            if let Some(peer) = self.peers.get(thread)
                && peer.inbox().tell()
            {
                peer.wake();
            }
        }
    }

    /// Delivers the messages that this thread has been sent.
    #[inline]
    pub fn receive(&mut self) {
        let bytes = self.own.inbox().take(&mut self.mail);
        if !self.mail.is_empty() {
            self.deliver_mail(bytes);
        }
    }

    fn deliver_mail(&mut self, bytes: usize) {
        // Messages from other threads do not hold up the thread that happens to look for them.
        let crowded = self.crowded;
        let mut mail = std::mem::take(&mut self.mail);
        for d in mail.drain(..) {
            match d {
                Delivery::Message(kind, name, message) => self.deliver(kind, &name, &message),
                Delivery::Notice(client, notice) => self.notify_client(&client, &notice),
            }
        }
        self.mail = mail;
        self.crowded = crowded;
        let backlog = &self.own.inbox().backlog;
        backlog.set_outboxes(self.boxes.bytes());
        backlog.received(bytes);
    }

    /// Appends a message to the outboxes of all subscribers on this thread.
    fn deliver(&mut self, kind: ChannelKind, name: &Name, message: &Arc<Encoded>) {
        let Some(members) = self.names[kind.index()].get(name as &dyn Named) else { return };
        for &slot in &members.slots {
            self.boxes.append(slot, |out, proto| message.append(out, proto));
        }
        if members.tapped {
            self.tapped.push(Tapped { name: name.clone(), message: Arc::clone(message) });
        }
        self.look_at_own();
    }

    #[inline]
    fn look_at_own(&mut self) {
        if self.boxes.bytes() > self.limit {
            self.crowded = Some(self.me);
            self.own.inbox().backlog.set_outboxes(self.boxes.bytes());
        }
    }

    /// Sends a connection something, whichever thread it lives on.
    pub(crate) fn notice(&mut self, client: &Arc<Receiver>, notice: Notice) {
        if client.thread == self.me {
            self.notify_client(client, &notice);
            return self.look_at_own();
        }
        let bytes = notice.len();
        self.send_to(client.thread, Delivery::Notice(Arc::clone(client), notice), bytes);
    }

    fn notify_client(&mut self, client: &Receiver, notice: &Notice) {
        let slot = self.boxes.open(client.id, None, false);
        self.boxes.append(slot, |out, _| notice.write(out, client));
    }

    /// Has `write` write into an outbox.
    pub fn write(&mut self, slot: u32, write: impl FnOnce(&mut Reply<'_>)) {
        self.boxes.append(slot, |out, proto| {
            let before = out.len();
            write(&mut Reply::new(out, proto));
            out.len() - before
        });
    }

    /// Appends bytes for a connection to its outbox.
    pub fn push_bytes(&mut self, client: u64, bytes: &[u8]) {
        let slot = self.boxes.open(client, None, false);
        self.boxes.append(slot, |out, _| {
            out.buf.extend_from_slice(bytes);
            bytes.len()
        });
    }

    /// Later messages are in this form.
    pub fn set_proto(&mut self, slot: u32, proto: Proto) {
        self.boxes.set_proto(slot, proto);
    }

    #[inline]
    /// Moves the messages that wait in an outbox behind `out`.
    pub fn take(&mut self, slot: u32, out: &mut Out) {
        self.boxes.take(slot, out);
    }

    /// Connections that have something to be sent.
    #[inline]
    pub fn ready(&self) -> usize {
        self.boxes.ready()
    }

    /// Bytes that wait in outboxes.
    pub fn bytes(&self) -> usize {
        self.boxes.bytes()
    }

    /// The next connection that has something to be sent, and the bytes.
    pub fn next_ready(&mut self) -> Option<Ready> {
        self.boxes.next()
    }

    /// Takes back the empty buffer of a [`Ready`].
    pub fn recycle(&mut self, out: Out) {
        self.boxes.recycle(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Alone(crate::Inbox);

    impl Peer for Alone {
        fn inbox(&self) -> &crate::Inbox {
            &self.0
        }

        fn wake(&self) {}
    }

    #[test]
    fn a_tapped_channel_has_its_messages_kept_for_the_thread() {
        let hub = Hub::default();
        let mut local = Local::new(0, Arc::new(Alone(crate::Inbox::default())), Arc::default());
        let publish = |local: &mut Local<Alone>, bytes: &[u8]| {
            let payload = Payload::of(bytes);
            local.publish(&hub, ChannelKind::Channel, Wanted::new(b"c"), payload)
        };
        assert_eq!(publish(&mut local, b"before"), 0);
        local.tap(&hub, b"c");
        let large = vec![b'x'; 20_000];
        assert_eq!(publish(&mut local, b"one"), 1);
        assert_eq!(publish(&mut local, &large), 1);
        let short = Payload::Shared(Arc::new(b"two".to_vec()));
        local.publish(&hub, ChannelKind::Channel, Wanted::new(b"c"), short);
        let got = local.take_tapped();
        let texts: Vec<_> = got.iter().map(|t| (&*t.name, t.payload())).collect();
        assert_eq!(texts, [(&b"c"[..], &b"one"[..]), (b"c", &large), (b"c", b"two")]);
        assert!(!local.has_tapped());
        local.untap(&hub, b"c");
        local.untap(&hub, b"c");
        assert_eq!(publish(&mut local, b"after"), 0);
        assert!(!local.has_tapped() && local.names[0].is_empty());
    }

    #[test]
    fn members_come_and_go_in_any_number() {
        let mut members = Members::default();
        let mut model = std::collections::BTreeSet::new();
        for slot in 0..100 {
            members.add(slot);
            model.insert(slot);
        }
        // 37 and 100 have no common divisor: every slot has its turn, in mixed order.
        for i in 0..100 {
            let slot = i * 37 % 100;
            members.remove(slot);
            members.remove(slot);
            model.remove(&slot);
            let left: std::collections::BTreeSet<u32> = members.slots.iter().copied().collect();
            assert_eq!(left, model);
        }
    }
}
