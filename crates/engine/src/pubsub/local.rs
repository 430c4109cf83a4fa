//! One thread's half: its subscribers, their outboxes, and the messages that it publishes for other
//! threads.

use std::sync::Arc;

use resp::{Out, Proto, Reply};

use super::hub::Threads;
use super::outbox::Outboxes;
use super::{Backlog, Delivery, Encoded, Kind, Map, Name, Named, Names, Ready};
use crate::clients::Client;
use crate::engine::{Engine, Worker};
use crate::tracking::{self, Notice};

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

/// See the module's text.
#[derive(Default)]
pub struct Local {
    /// Number of the thread.
    pub(crate) me: usize,
    /// The part of the thread that others see: its inbox.
    own: Option<Arc<Worker>>,
    /// Bits of `notify-keyspace-events`.
    pub(crate) notify: u32,
    /// Keys that the batch has changed, each with the connection that changed it: noted while any client
    /// tracks by prefix.
    changed: Vec<(Box<[u8]>, u64)>,
    changed_bytes: usize,
    names: [Names<Members>; 3],
    boxes: Outboxes,
    /// The messages to be sent to other threads, by their number.
    outgoing: Vec<Outgoing>,
    /// A thread that has too much to deliver, and was given more.
    pub(crate) crowded: Option<usize>,
    /// The bytes that may wait in the outboxes of this thread.
    limit: usize,
    /// Threads with something in `outgoing`, or that are to be notified of posted messages.
    touched: Vec<usize>,
    /// All threads, as far as they were needed.
    peers: Vec<Arc<Worker>>,
    /// Scratch for received messages.
    mail: Vec<Delivery>,
}

impl Local {
    /// The half of thread number `me`.
    pub(crate) fn new(me: usize, own: Arc<Worker>) -> Self {
        let boxes = Outboxes::new(Arc::clone(&own.outboxes));
        let limit = Backlog::limit_for(0);
        Self { me, own: Some(own), boxes, limit, ..Self::default() }
    }

    /// Where the thread leaves its records for the journal.
    #[inline]
    pub fn lane(&self) -> Option<&persist::journal::Lane> {
        self.own.as_ref().map(|worker| &*worker.lane)
    }

    pub(crate) fn open(&mut self, client: u64, proto: Proto) -> u32 {
        let slot = self.boxes.open(client, Some(proto), true);
        self.note_limit();
        slot
    }

    pub(crate) fn close(&mut self, client: u64) {
        self.boxes.close(client);
        self.note_limit();
    }

    fn note_limit(&mut self) {
        self.limit = Backlog::limit_for(self.boxes.count());
        if let Some(own) = &self.own {
            own.inbox.backlog.set_limit(self.limit);
        }
    }

    pub(crate) fn join(&mut self, kind: Kind, name: &Name, slot: u32) {
        self.names[kind.index()].entry(name.clone()).or_default().add(slot);
    }

    pub(crate) fn leave(&mut self, kind: Kind, name: &Name, slot: u32) {
        let names = &mut self.names[kind.index()];
        if let Some(members) = names.get_mut(name as &dyn Named) {
            members.remove(slot);
            if members.slots.is_empty() {
                names.remove(name as &dyn Named);
            }
        }
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

    /// The keys that have been noted so far.
    pub(crate) fn take_changed(&mut self) -> Vec<(Box<[u8]>, u64)> {
        self.changed_bytes = 0;
        std::mem::take(&mut self.changed)
    }

    /// Notes a message for all other threads that have subscribers. Returns all subscriptions, those
    /// on this thread included.
    pub(crate) fn spread(
        &mut self,
        name: &Name,
        kind: Kind,
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
    pub(crate) fn send_to(&mut self, thread: usize, delivery: Delivery, bytes: usize) {
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
    pub(crate) fn post(&mut self, engine: &Engine) {
        for &thread in &self.touched {
            let Outgoing { mail, bytes } = &mut self.outgoing[thread];
            let bytes = std::mem::take(bytes);
            if mail.is_empty() {
                continue;
            }
            if thread >= self.peers.len() {
                self.peers = engine.workers();
            }
            let Some(peer) = self.peers.get(thread) else {
                mail.clear();
                continue;
            };
            peer.inbox.post(mail, bytes);
            if peer.inbox.backlog.is_over() {
                self.crowded = Some(thread);
            }
        }
    }

    /// The lines fed to clients that run MONITOR have made the backlog of some thread too long.
    #[cold]
    pub(crate) fn note_crowd(&mut self, engine: &Engine) {
        let over = |worker: &Arc<Worker>| worker.inbox.backlog.is_over();
        if let Some(thread) = engine.workers().iter().position(over) {
            self.crowded = Some(thread);
        }
    }

    /// Reports the bytes that wait to be sent, and wakes the threads that wait for less.
    #[inline]
    pub(crate) fn relieve(&mut self, engine: &Engine) {
        let Some(own) = &self.own else { return };
        own.inbox.backlog.set_outboxes(self.boxes.bytes());
        for thread in own.inbox.backlog.relieved() {
            if let Some(peer) = engine.worker(thread) {
                peer.mailbox.wake();
            }
        }
    }

    /// Posts, and wakes the threads that have not been notified yet.
    #[inline]
    pub(crate) fn send(&mut self, engine: &Engine) {
        if !self.changed.is_empty() {
            tracking::broadcast(engine, self);
        }
        if self.touched.is_empty() {
            return;
        }
        self.post(engine);
        for thread in self.touched.drain(..) {
            if let Some(peer) = self.peers.get(thread)
                && peer.inbox.tell()
            {
                peer.mailbox.wake();
            }
        }
    }

    /// Delivers the messages that this thread has been sent.
    #[inline]
    pub(crate) fn receive(&mut self) {
        let Some(own) = &self.own else { return };
        let bytes = own.inbox.take(&mut self.mail);
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
        if let Some(own) = &self.own {
            own.inbox.backlog.set_outboxes(self.boxes.bytes());
            own.inbox.backlog.received(bytes);
        }
    }

    /// Appends a message to the outboxes of all subscribers on this thread.
    pub(crate) fn deliver(&mut self, kind: Kind, name: &Name, message: &Encoded) {
        let Some(members) = self.names[kind.index()].get(name as &dyn Named) else { return };
        for &slot in &members.slots {
            self.boxes.append(slot, |out, proto| message.append(out, proto));
        }
        self.look_at_own();
    }

    #[inline]
    fn look_at_own(&mut self) {
        if self.boxes.bytes() > self.limit {
            self.crowded = Some(self.me);
            if let Some(own) = &self.own {
                own.inbox.backlog.set_outboxes(self.boxes.bytes());
            }
        }
    }

    /// Sends a connection something, whichever thread it lives on.
    pub(crate) fn notice(&mut self, client: &Arc<Client>, notice: Notice) {
        if client.thread == self.me {
            self.notify_client(client, &notice);
            return self.look_at_own();
        }
        let bytes = notice.len();
        self.send_to(client.thread, Delivery::Notice(Arc::clone(client), notice), bytes);
    }

    fn notify_client(&mut self, client: &Client, notice: &Notice) {
        let slot = self.boxes.open(client.id, None, false);
        self.boxes.append(slot, |out, _| notice.write(out, client));
    }

    /// Has `write` write into an outbox.
    pub(crate) fn write(&mut self, slot: u32, write: impl FnOnce(&mut Reply<'_>)) {
        self.boxes.append(slot, |out, proto| {
            let before = out.len();
            write(&mut Reply::new(out, proto));
            out.len() - before
        });
    }

    pub(crate) fn push_bytes(&mut self, client: u64, bytes: &[u8]) {
        let slot = self.boxes.open(client, None, false);
        self.boxes.append(slot, |out, _| {
            out.buf.extend_from_slice(bytes);
            bytes.len()
        });
    }

    pub(crate) fn set_proto(&mut self, slot: u32, proto: Proto) {
        self.boxes.set_proto(slot, proto);
    }

    #[inline]
    pub(crate) fn take(&mut self, slot: u32, out: &mut Out) {
        self.boxes.take(slot, out);
    }

    pub(crate) fn ready(&self) -> usize {
        self.boxes.ready()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.boxes.bytes()
    }

    pub(crate) fn next_ready(&mut self) -> Option<Ready> {
        self.boxes.next()
    }

    pub(crate) fn recycle(&mut self, out: Out) {
        self.boxes.recycle(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
