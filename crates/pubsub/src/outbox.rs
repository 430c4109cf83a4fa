//! Push messages that wait to be sent to the connections of one thread.
//!
//! A connection has an outbox while it is subscribed, and otherwise from the first message to the
//! moment it is sent. Its buffer comes from a few spare ones and goes back when it has been sent, so
//! that a subscriber without waiting messages has none.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use resp::{Out, Proto};
use slab::Slab;

use crate::map::Map;

/// Empty buffers that are kept.
const SPARE: usize = 64;
/// The largest of them, in bytes.
const SPARE_BYTES: usize = 16 * 1024;

struct Outbox {
    client: u64,
    proto: Proto,
    out: Out,
    /// In the list of those that have something to be sent.
    queued: bool,
    /// Stays when it is empty.
    pinned: bool,
}

/// The bytes to be sent to a connection.
#[derive(Debug)]
pub struct Ready {
    /// The connection's number.
    pub client: u64,
    /// The bytes to be sent; give them back to [`recycle`](crate::Local::recycle) when they are sent.
    pub out: Out,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Outboxes {
    all: Slab<Outbox>,
    by_client: Map<u64, u32>,
    ready: VecDeque<u32>,
    /// Bytes in all outboxes.
    bytes: usize,
    spare: Vec<Out>,
    /// Memory of all buffers, the spare ones included.
    held: usize,
    /// The same, for other threads to read.
    shown: Arc<AtomicUsize>,
}

impl Outboxes {
    /// Shows the memory of the buffers in `shown`.
    pub(crate) fn new(shown: Arc<AtomicUsize>) -> Self {
        Self { shown, ..Self::default() }
    }

    /// A buffer has grown or shrunk from `before` to `after` bytes.
    #[inline]
    fn hold(&mut self, before: usize, after: usize) {
        if before != after {
            self.held = self.held - before + after;
            self.shown.store(self.held, Relaxed);
        }
    }

    /// The outbox of a client, made if need be.
    pub(crate) fn open(&mut self, client: u64, proto: Option<Proto>, pin: bool) -> u32 {
        let slot = *self.by_client.entry(client).or_insert_with(|| {
            let fresh = Outbox {
                client,
                proto: Proto::V2,
                out: Out::default(),
                queued: false,
                pinned: false,
            };
            self.all.insert(fresh) as u32
        });
        let o = &mut self.all[slot as usize];
        o.pinned |= pin;
        if let Some(proto) = proto {
            o.proto = proto;
        }
        slot
    }

    /// Forgets a client and the bytes that were to be sent to it.
    pub(crate) fn close(&mut self, client: u64) {
        let Some(slot) = self.by_client.remove(&client) else { return };
        let o = &mut self.all[slot as usize];
        self.bytes -= o.out.len();
        let gone = std::mem::take(&mut o.out).buf.capacity();
        o.pinned = false;
        // One that is listed goes when it is reached there.
        if !o.queued {
            self.all.remove(slot as usize);
        }
        self.hold(gone, 0);
    }

    /// Has `f` append something to an outbox; it returns how many bytes.
    #[inline]
    pub(crate) fn append(&mut self, slot: u32, f: impl FnOnce(&mut Out, Proto) -> usize) {
        let Some(o) = self.all.get_mut(slot as usize) else { return };
        if !o.queued {
            o.queued = true;
            self.ready.push_back(slot);
        }
        if o.out.buf.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            o.out = spare;
        }
        let before = o.out.buf.capacity();
        self.bytes += f(&mut o.out, o.proto);
        let after = o.out.buf.capacity();
        self.hold(before, after);
    }

    pub(crate) fn set_proto(&mut self, slot: u32, proto: Proto) {
        if let Some(o) = self.all.get_mut(slot as usize) {
            o.proto = proto;
        }
    }

    /// Moves the bytes that wait for one connection behind `to`.
    #[inline]
    pub(crate) fn take(&mut self, slot: u32, to: &mut Out) {
        let Some(o) = self.all.get_mut(slot as usize) else { return };
        if o.out.is_empty() {
            return;
        }
        self.bytes -= o.out.len();
        let base = to.buf.len();
        to.buf.extend_from_slice(&o.out.buf);
        to.shared.extend(o.out.shared.drain(..).map(|(at, s)| (base + at, s)));
        o.out.clear();
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next connection that has something to be sent.
    pub(crate) fn next(&mut self) -> Option<Ready> {
        while let Some(slot) = self.ready.pop_front() {
            let Some(o) = self.all.get_mut(slot as usize) else { continue };
            o.queued = false;
            let out = std::mem::take(&mut o.out);
            let client = o.client;
            self.bytes -= out.len();
            let pinned = o.pinned;
            self.hold(out.buf.capacity(), 0);
            if !pinned {
                // A client that is gone has no entry, or a new outbox.
                if self.by_client.get(&client) == Some(&slot) {
                    self.by_client.remove(&client);
                }
                self.all.remove(slot as usize);
            }
            if out.is_empty() {
                // It went out behind a reply.
                self.recycle(out);
                continue;
            }
            return Some(Ready { client, out });
        }
        None
    }

    pub(crate) fn recycle(&mut self, mut out: Out) {
        if self.spare.len() < SPARE && (1..=SPARE_BYTES).contains(&out.buf.capacity()) {
            out.clear();
            self.hold(0, out.buf.capacity());
            self.spare.push(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(all: &mut Outboxes, slot: u32, text: &str) {
        all.append(slot, |out, _| {
            out.buf.extend_from_slice(text.as_bytes());
            text.len()
        });
    }

    #[test]
    fn messages_wait_together_and_leave_in_order() {
        let mut all = Outboxes::default();
        let a = all.open(1, Some(Proto::V3), true);
        let b = all.open(2, None, false);
        put(&mut all, a, "one");
        put(&mut all, b, "x");
        put(&mut all, a, "two");
        assert_eq!((all.ready(), all.bytes()), (2, 7));
        let first = all.next().unwrap();
        assert_eq!((first.client, first.out.buf.as_slice()), (1, b"onetwo".as_slice()));
        all.recycle(first.out);
        assert_eq!(all.next().unwrap().client, 2);
        assert!(all.next().is_none());
        assert_eq!((all.bytes(), all.all.len()), (0, 1));
    }

    #[test]
    fn what_waits_for_a_connection_that_is_gone_is_dropped() {
        let mut all = Outboxes::default();
        let a = all.open(1, None, true);
        put(&mut all, a, "one");
        all.close(1);
        let again = all.open(1, None, false);
        assert_ne!(a, again);
        put(&mut all, again, "two");
        assert_eq!(all.next().unwrap().out.buf, b"two");
        assert!(all.next().is_none());
        assert!(all.all.is_empty() && all.by_client.is_empty());
    }

    #[test]
    fn what_left_behind_a_reply_is_not_sent_again() {
        let mut all = Outboxes::default();
        let a = all.open(1, None, true);
        put(&mut all, a, "one");
        let mut out = Out::default();
        all.take(a, &mut out);
        assert_eq!(out.buf, b"one");
        assert!(all.next().is_none());
        put(&mut all, a, "two");
        assert_eq!(all.next().unwrap().out.buf, b"two");
    }
}
