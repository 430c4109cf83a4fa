//! Output of connections that have become streams: what the producers of a thread append for them until the
//! event loop sends it, once per turn.
//!
//! A producer (a live channel, a live page) knows a connection by its client number and never touches its
//! socket. It may append for any connection of its thread at any time. What it appends is sent behind
//! everything that the connection has been given before.
//!
//! Memory: a connection for which nothing waits has no buffer here. Buffers that were sent are used again
//! by the next connections. What a client does not take is bounded: beyond its cap it gets nothing more and is
//! closed. A burst within one turn is not held against a client that has taken all before it, up to
//! [`BURST_MAX`] and one message, and neither is what is left of it later: a client that recovers much takes it at the
//! pace of its line, while others publish.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use resp::Out;
use stdx::hash::NumberMap;

/// Bytes that may be appended in one turn of the event loop for a client that has taken everything before.
const BURST_MAX: usize = 16 << 20;
/// Buffers that are kept for the next connections, and the largest that is kept.
const SPARE_MAX: usize = 64;
const SPARE_BYTES: usize = 64 * 1024;

/// What waits for one connection, and what is to become of it.
#[derive(Default)]
struct Outlet {
    out: Out,
    /// Bytes that its socket has not taken, as of the last sending.
    unsent: usize,
    /// Bytes that wait since the client had taken everything: they are not held against it.
    spared: usize,
    /// See the module's text.
    cap: usize,
    /// It is in the list of those that have something to do.
    queued: bool,
    /// More was to be appended than it may have; that was left out.
    full: bool,
    /// It is closed behind what has been appended, and nothing more is.
    ending: bool,
    /// It is a stream no more, and not closed.
    answered: bool,
    /// The messages of one sending become one.
    joins: bool,
    /// When its handler wants to be called, in Unix milliseconds; 0: not at all.
    due: i64,
}

/// What there is to do for a connection. See [`Outlets::next`].
pub(crate) struct Waiting {
    /// Its client number.
    pub(crate) id: u64,
    pub(crate) out: Out,
    pub(crate) full: bool,
    pub(crate) ending: bool,
    pub(crate) answered: bool,
    /// It consists of frames of a WebSocket whose messages are to become one.
    pub(crate) joins: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Outlets {
    all: NumberMap<Outlet>,
    queue: Vec<u64>,
    spare: Vec<Vec<u8>>,
    /// Times at which handlers want to be called. An entry that is not the outlet's own `due` is void.
    timers: BinaryHeap<Reverse<(i64, u64)>>,
    /// When the producers want a turn, in Unix milliseconds; 0: not at all.
    wake: i64,
}

impl Outlets {
    /// A connection becomes a stream; at most `cap` bytes wait for it.
    pub(crate) fn open(&mut self, id: u64, cap: usize) {
        self.all.insert(id, Outlet { cap, ..Outlet::default() });
    }

    /// Has the messages of a WebSocket that are sent together become one.
    pub(crate) fn join(&mut self, id: u64) {
        if let Some(outlet) = self.all.get_mut(&id) {
            outlet.joins = true;
        }
    }

    /// A connection is gone.
    pub(crate) fn remove(&mut self, id: u64) {
        self.all.remove(&id);
        if self.all.is_empty() {
            // All of them are void.
            self.timers = BinaryHeap::new();
        }
    }

    /// Appends bytes. Returns false, and appends nothing, when the connection is gone or ends, or has not taken
    /// enough of what it was given before.
    pub(crate) fn append(&mut self, id: u64, bytes: &[u8]) -> bool {
        let Some(outlet) = self.all.get_mut(&id) else { return false };
        if outlet.ending || outlet.full {
            return false;
        }
        let waits = outlet.unsent + outlet.out.len();
        outlet.full = if outlet.unsent == 0 {
            waits >= outlet.cap.max(BURST_MAX)
        } else {
            waits + bytes.len() - outlet.spared > outlet.cap
        };
        if !outlet.full {
            if outlet.out.buf.capacity() == 0 {
                outlet.out.buf = self.spare.pop().unwrap_or_default();
            }
            outlet.out.buf.extend_from_slice(bytes);
            if outlet.unsent == 0 {
                outlet.spared = outlet.out.len();
            }
        }
        let added = !outlet.full;
        Self::enqueue(&mut self.queue, id, outlet);
        added
    }

    /// Appends the last bytes, whatever waits: the connection is closed when its client has taken them.
    pub(crate) fn end(&mut self, id: u64, last: &[u8]) {
        self.append_last(id, last, false);
    }

    /// Appends an answer that was waited for: the connection goes on with its next request.
    pub(crate) fn answer(&mut self, id: u64, answer: &[u8]) {
        self.append_last(id, answer, true);
    }

    fn append_last(&mut self, id: u64, last: &[u8], answered: bool) {
        let Some(outlet) = self.all.get_mut(&id) else { return };
        if !outlet.ending {
            outlet.out.buf.extend_from_slice(last);
            outlet.ending = true;
            outlet.answered = answered;
            outlet.full = false;
            Self::enqueue(&mut self.queue, id, outlet);
        }
    }

    /// Has the handler of a connection called at a time in Unix milliseconds, and not at the one asked for
    /// before; with 0 not at all.
    pub(crate) fn call_at(&mut self, id: u64, due: i64) {
        let Some(outlet) = self.all.get_mut(&id) else { return };
        if outlet.due != due {
            outlet.due = due;
            if due > 0 {
                self.timers.push(Reverse((due, id)));
            }
        }
        // Times that were asked for and changed again stay in the heap until they come.
        if self.timers.len() > 64 + 4 * self.all.len() {
            let wanted = |(id, o): (&u64, &Outlet)| (o.due > 0).then_some(Reverse((o.due, *id)));
            self.timers = self.all.iter().filter_map(wanted).collect();
        }
    }

    /// The next connection whose handler is to be called now.
    pub(crate) fn next_due(&mut self, now: i64) -> Option<u64> {
        while let Some(Reverse((at, id))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            if let Some(outlet) = self.all.get_mut(&id).filter(|o| o.due == at) {
                outlet.due = 0;
                return Some(id);
            }
        }
        None
    }

    /// Has the producers get a turn at a time in Unix milliseconds, and not at the one asked for before; with 0
    /// not at all.
    pub(crate) fn wake_at(&mut self, at: i64) {
        self.wake = at;
    }

    /// When the next handler is to be called, or the producers get a turn, in Unix milliseconds. It may be too
    /// early.
    pub(crate) fn first_due(&self) -> Option<i64> {
        let due = self.timers.peek().map(|Reverse((at, _))| *at);
        due.into_iter().chain((self.wake > 0).then_some(self.wake)).min()
    }

    /// The connections.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.all.keys().copied().collect()
    }

    /// Whether a connection has been given its last bytes.
    pub(crate) fn is_ending(&self, id: u64) -> bool {
        self.all.get(&id).is_some_and(|outlet| outlet.ending)
    }

    /// Bytes that were appended for a connection since the last sending.
    pub(crate) fn appended(&self, id: u64) -> usize {
        self.all.get(&id).map_or(0, |outlet| outlet.out.len())
    }

    /// Takes what there is to do for one connection.
    pub(crate) fn next(&mut self) -> Option<Waiting> {
        while let Some(id) = self.queue.pop() {
            if let Some(outlet) = self.all.get_mut(&id) {
                outlet.queued = false;
                let out = std::mem::take(&mut outlet.out);
                let Outlet { full, ending, answered, joins, .. } = *outlet;
                return Some(Waiting { id, out, full, ending, answered, joins });
            }
        }
        None
    }

    /// Gives back what was taken and not sent: it stands before what has been appended since.
    pub(crate) fn put_back(&mut self, waiting: Waiting) {
        if let Some(outlet) = self.all.get_mut(&waiting.id) {
            let since = std::mem::replace(&mut outlet.out, waiting.out);
            outlet.out.buf.extend_from_slice(&since.buf);
            Self::enqueue(&mut self.queue, waiting.id, outlet);
        }
    }

    /// Reports how many bytes a connection's socket has not taken.
    pub(crate) fn note_unsent(&mut self, id: u64, unsent: usize) {
        if let Some(outlet) = self.all.get_mut(&id) {
            outlet.unsent = unsent;
            outlet.spared = outlet.spared.min(unsent);
        }
    }

    /// Gives back the buffer of what was sent.
    pub(crate) fn recycle(&mut self, mut out: Out) {
        if self.spare.len() < SPARE_MAX && (1..=SPARE_BYTES).contains(&out.buf.capacity()) {
            out.buf.clear();
            self.spare.push(out.buf);
        }
    }

    fn enqueue(queue: &mut Vec<u64>, id: u64, outlet: &mut Outlet) {
        if !outlet.queued {
            outlet.queued = true;
            queue.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_takes_nothing_is_full_at_its_cap_and_can_still_be_told() {
        let mut all = Outlets::default();
        all.open(7, 100);
        assert!(all.append(7, &[1; 1000]), "a burst for a client that has taken everything");
        let first = all.next().expect("it waits");
        assert_eq!((first.id, first.out.len(), first.full), (7, 1000, false));
        all.note_unsent(7, 60);
        assert!(all.append(7, &[2; 100]), "the rest of the burst does not count");
        assert!(!all.append(7, &[3]), "beyond the cap");
        assert!(!all.append(7, &[]), "nothing more, however short");
        let second = all.next().expect("it waits");
        assert_eq!((second.out.len(), second.full), (100, true));
        all.end(7, b"bye");
        let given_back = all.next().expect("it waits");
        all.put_back(given_back);
        let last = all.next().expect("it waits");
        assert_eq!((last.out.buf.as_slice(), last.full, last.ending), (&b"bye"[..], false, true));
        assert!(!all.append(7, b"x"), "it ends");
        assert!(all.next().is_none());
    }

    #[test]
    fn a_burst_ends_with_the_message_that_passes_its_bound() {
        let mut all = Outlets::default();
        all.open(7, 100);
        assert!(all.append(7, &vec![1; BURST_MAX - 1]));
        assert!(all.append(7, &vec![1; BURST_MAX]), "one message, however long");
        assert!(!all.append(7, b"x"));
        let burst = all.next().expect("it waits");
        assert_eq!((burst.out.len(), burst.full), (2 * BURST_MAX - 1, true));
    }

    #[test]
    fn a_handler_is_called_at_the_time_it_asked_for_last() {
        let mut all = Outlets::default();
        all.open(1, 1);
        all.open(2, 1);
        all.call_at(1, 50);
        all.call_at(2, 40);
        all.call_at(1, 70);
        assert_eq!(all.next_due(39), None);
        assert_eq!(all.next_due(60), Some(2));
        assert_eq!(all.next_due(60), None, "that time was changed");
        assert_eq!(all.next_due(70), Some(1));
        assert_eq!(all.next_due(1000), None);
        all.call_at(1, 80);
        all.remove(1);
        assert_eq!(all.next_due(1000), None);
        for n in 1..10_000 {
            all.call_at(2, n);
        }
        assert!(all.timers.len() <= 68, "void times do not pile up");
    }
}
