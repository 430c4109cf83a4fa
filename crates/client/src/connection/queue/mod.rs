//! What callers and the driver of one connection share: the bytes that are to be written, and who waits for
//! which reply.
//!
//! ```text
//!  callers ──► out: Vec<u8>          commands in RESP, one after the other; the driver takes it whole
//!              order: VecDeque       one entry per command, oldest first: where its bytes stand in the
//!                │                   stream of all bytes ever queued, how many replies it has, its slot
//!                └──► slots          a slab: who waits, or the reply that waits to be taken
//! ```
//!
//! A command allocates nothing: its bytes are appended to a buffer that is used again, and its slot is one that
//! an earlier command has left. One short lock guards all of it; no thread parses, writes or wakes under it.
//!
//! Always true: replies come in the order of `order`; an entry keeps its slot until its last reply has come, also
//! when no caller waits for it any more, so a slot is never used again for a reply that is not its own.

use crate::error::{Error, ErrorKind, Result};
use crate::metrics::{Load, Stats};
use crate::value::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// The slot of an entry for which no caller waits any more.
const NOBODY: u32 = u32::MAX;
/// A command waits for its reply for so many epochs, the driver's ticks, and at most one more.
pub(crate) const EPOCHS: u32 = 4;
/// How often a read is written again after its connection broke.
const REPEATS_MAX: u8 = 2;

/// The queue of one connection.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    commands_max: usize,
    bytes_max: u64,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) out: Vec<u8>,
    /// Where `out` begins in the stream: the driver has taken all before it.
    pub(crate) taken: u64,
    order: VecDeque<Entry>,
    /// How many entries there ever were.
    pub(crate) submitted: u64,
    slots: Vec<Slot>,
    free: u32,
    /// Callers for whose commands there was no room, oldest first.
    waiting: BTreeMap<u64, Waker>,
    next_ticket: u64,
    /// The driver, while it sleeps and any command should wake it.
    driver: Option<Waker>,
    epoch: u32,
    /// The connection should be made anew.
    is_kicked: bool,
    /// Commands that were not taken yet have been given up.
    withdrawn: bool,
    phase: Phase,
    /// When the first command of `out` was queued.
    queued: Option<Instant>,
    /// The same for what was taken, with the end of each piece in the stream.
    times: VecDeque<(u64, Instant)>,
    pub(crate) stats: Stats,
}

#[derive(Debug)]
enum Phase {
    Open,
    /// There is no connection, and commands are refused with this error.
    Down(Error),
    /// No handle is left.
    Closed,
}

/// One command, or several that belong together.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    bytes: u32,
    replies: u32,
    /// Replies that have not come yet.
    left: u32,
    slot: u32,
    epoch: u32,
    repeatable: bool,
    repeats: u8,
}

#[derive(Debug)]
enum Slot {
    Free(u32),
    /// The caller, and the replies that have come if there are several.
    Waiting(Option<Waker>, Vec<Value>),
    Ready(Result<Value>),
    /// The caller is gone; the reply is still to come.
    Abandoned,
}

/// The bytes of what a caller sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload<'b> {
    /// The number of arguments, if `bytes` are the arguments of one command; its header is written here.
    pub(crate) args: Option<u32>,
    pub(crate) bytes: &'b [u8],
    pub(crate) replies: u32,
    /// It may be executed twice: it only reads.
    pub(crate) repeatable: bool,
}

/// What came of a submission.
#[derive(Debug)]
pub(crate) enum Submitted {
    Slot(u32),
    /// There is no room; the caller is woken when there is some. The ticket is its place in the queue.
    Full(u64),
}

impl Queue {
    pub(crate) fn new(commands_max: usize, bytes_max: usize) -> Self {
        let inner = Inner {
            out: Vec::new(),
            taken: 0,
            order: VecDeque::new(),
            submitted: 0,
            slots: Vec::new(),
            free: NOBODY,
            waiting: BTreeMap::new(),
            next_ticket: 0,
            driver: None,
            epoch: 0,
            is_kicked: false,
            withdrawn: false,
            phase: Phase::Open,
            queued: None,
            times: VecDeque::new(),
            stats: Stats::default(),
        };
        Self { inner: Mutex::new(inner), commands_max, bytes_max: bytes_max as u64 }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // No code panics while it holds the lock; the data would be whole all the same.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues bytes; `ticket` is that of an earlier try.
    pub(crate) fn submit(
        &self,
        payload: Payload<'_>,
        ticket: Option<u64>,
        waker: &Waker,
    ) -> Result<Submitted> {
        let mut inner = self.lock();
        match &inner.phase {
            Phase::Open => {}
            Phase::Down(error) => return Err(error.clone()),
            Phase::Closed => return Err(Error::new(ErrorKind::Closed, "the client is closed")),
        }
        // Callers that came first go first. A single command may be larger than the limit.
        let before = ticket.unwrap_or(u64::MAX);
        let is_behind = inner.waiting.first_key_value().is_some_and(|(&first, _)| first < before);
        let is_full = |inner: &Inner| {
            let is_too_much = inner.order.len() + payload.replies as usize > self.commands_max
                || inner.bytes() + payload.bytes.len() as u64 > self.bytes_max;
            is_too_much && !inner.order.is_empty()
        };
        // What was given up takes no room.
        if is_full(&inner) && std::mem::take(&mut inner.withdrawn) {
            inner.withdraw();
        }
        if is_behind || is_full(&inner) {
            let ticket = ticket.unwrap_or_else(|| {
                inner.next_ticket += 1;
                inner.next_ticket
            });
            inner.waiting.insert(ticket, waker.clone());
            return Ok(Submitted::Full(ticket));
        }
        if let Some(ticket) = ticket {
            inner.waiting.remove(&ticket);
        }
        let slot = inner.push(payload, waker)?;
        // The room may be enough for the next one, too.
        let next = inner.waiting.first_key_value().map(|(_, waker)| waker.clone());
        let driver = inner.driver.take();
        drop(inner);
        if let Some(driver) = driver {
            driver.wake();
        }
        if let Some(next) = next {
            next.wake();
        }
        Ok(Submitted::Slot(slot))
    }

    /// The caller that waits for room goes away: the next one may take its place.
    pub(crate) fn forget_ticket(&self, ticket: u64) {
        let mut inner = self.lock();
        inner.waiting.remove(&ticket);
        let next = inner.waiting.first_key_value().map(|(_, waker)| waker.clone());
        drop(inner);
        if let Some(next) = next {
            next.wake();
        }
    }

    /// The reply, once.
    pub(crate) fn poll_reply(&self, slot: u32, cx: &Context<'_>) -> Poll<Result<Value>> {
        let mut inner = self.lock();
        match &mut inner.slots[slot as usize] {
            Slot::Waiting(waker, _) => {
                let mut old = None;
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    old = waker.replace(cx.waker().clone());
                }
                // Dropped without the lock: a waker may run anything when it is dropped.
                drop(inner);
                drop(old);
                Poll::Pending
            }
            Slot::Ready(_) => match inner.release(slot) {
                Slot::Ready(reply) => Poll::Ready(reply),
                _ => unreachable!("the slot was ready"),
            },
            other => unreachable!("a slot of nobody's is polled: {other:?}"),
        }
    }

    /// The caller goes away before it took its reply.
    pub(crate) fn abandon(&self, slot: u32) {
        let mut inner = self.lock();
        let gone = if matches!(inner.slots[slot as usize], Slot::Waiting(..)) {
            inner.withdrawn = true;
            std::mem::replace(&mut inner.slots[slot as usize], Slot::Abandoned)
        } else {
            inner.release(slot)
        };
        // There may be room for the first one that waits for it.
        let next = inner.waiting.first_key_value().map(|(_, waker)| waker.clone());
        drop(inner);
        drop(gone);
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Has the driver make a new connection.
    pub(crate) fn kick(&self) {
        let mut inner = self.lock();
        inner.is_kicked = true;
        let driver = inner.driver.take();
        drop(inner);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// No handle is left, and so no caller waits: the driver ends.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.phase = Phase::Closed;
        let waiting = std::mem::take(&mut inner.waiting);
        let driver = inner.driver.take();
        drop(inner);
        driver.into_iter().chain(waiting.into_values()).for_each(Waker::wake);
    }
}

impl Inner {
    fn bytes(&self) -> u64 {
        let end = self.taken + self.out.len() as u64;
        self.order.front().map_or(0, |oldest| end - oldest.start)
    }

    fn push(&mut self, payload: Payload<'_>, waker: &Waker) -> Result<u32> {
        let begin = self.out.len();
        if let Some(args) = payload.args {
            self.out.push(b'*');
            crate::arg::write_number(&mut self.out, args as usize);
            self.out.extend_from_slice(b"\r\n");
        }
        self.out.extend_from_slice(payload.bytes);
        let Ok(bytes) = u32::try_from(self.out.len() - begin) else {
            self.out.truncate(begin);
            return Err(Error::usage("a command of more than 4 GiB"));
        };
        let slot = self.allot(Slot::Waiting(Some(waker.clone()), Vec::new()));
        self.order.push_back(Entry {
            start: self.taken + begin as u64,
            bytes,
            replies: payload.replies,
            left: payload.replies,
            slot,
            epoch: self.epoch,
            repeatable: payload.repeatable,
            repeats: 0,
        });
        self.submitted += 1;
        self.queued.get_or_insert_with(Instant::now);
        self.stats.commands += u64::from(payload.replies);
        Ok(slot)
    }

    fn allot(&mut self, content: Slot) -> u32 {
        let slot = self.free;
        if slot == NOBODY {
            self.slots.push(content);
            // The limit of commands is far below.
            return u32::try_from(self.slots.len() - 1).unwrap_or(NOBODY);
        }
        if let Slot::Free(next) = self.slots[slot as usize] {
            self.free = next;
        }
        self.slots[slot as usize] = content;
        slot
    }

    fn release(&mut self, slot: u32) -> Slot {
        let next = std::mem::replace(&mut self.free, slot);
        std::mem::replace(&mut self.slots[slot as usize], Slot::Free(next))
    }

    /// Ends an entry's wait; its slot belongs to its caller alone from now on.
    fn settle(&mut self, slot: u32, reply: Result<Value>, wakers: &mut Vec<Waker>) {
        if slot == NOBODY {
            self.stats.discarded += 1;
            return;
        }
        match &mut self.slots[slot as usize] {
            Slot::Waiting(waker, _) => {
                wakers.extend(waker.take());
                self.stats.failures += u64::from(reply.is_err());
                self.slots[slot as usize] = Slot::Ready(reply);
            }
            Slot::Abandoned => {
                self.stats.discarded += 1;
                self.release(slot);
            }
            other => unreachable!("an entry's slot is another's: {other:?}"),
        }
    }

    /// Hands replies to those who wait for them, oldest first.
    ///
    /// # Errors
    ///
    /// There is a reply for which no command was sent.
    pub(crate) fn deliver(
        &mut self,
        replies: &mut Vec<Value>,
        wakers: &mut Vec<Waker>,
    ) -> Result<()> {
        let now = Instant::now();
        for value in replies.drain(..) {
            let Some(entry) = self.order.front_mut().filter(|entry| entry.start < self.taken)
            else {
                return Err(Error::protocol("a reply to no command"));
            };
            self.stats.replies += 1;
            self.stats.errors += u64::from(matches!(value, Value::Error(_)));
            entry.left -= 1;
            let Entry { slot, replies, left, start, .. } = *entry;
            self.time(start, now);
            if left == 0 {
                self.order.pop_front();
            }
            if replies == 1 {
                self.settle(slot, Ok(value), wakers);
            } else {
                self.collect(slot, left as usize, value, wakers);
            }
        }
        Ok(())
    }

    /// Counts how long a reply took to what begins at `start`.
    #[inline]
    fn time(&mut self, start: u64, now: Instant) {
        while let Some(&(end, queued)) = self.times.front() {
            if start < end {
                self.stats.latencies.record(now.saturating_duration_since(queued));
                return;
            }
            self.times.pop_front();
        }
    }

    /// One of several replies of an entry, of which `left` are still to come.
    fn collect(&mut self, slot: u32, left: usize, value: Value, wakers: &mut Vec<Waker>) {
        if let Some(Slot::Waiting(_, values)) = self.slots.get_mut(slot as usize) {
            values.reserve(left + 1);
            values.push(value);
            if left == 0 {
                let values = std::mem::take(values);
                self.settle(slot, Ok(Value::Array(values)), wakers);
            }
        } else if left == 0 {
            self.settle(slot, Ok(Value::Nil), wakers);
        }
    }

    /// Callers that now have room.
    pub(crate) fn make_room(&mut self, queue: &Queue, wakers: &mut Vec<Waker>) {
        if self.order.len() < queue.commands_max && self.bytes() < queue.bytes_max {
            // The first one; it wakes the next when it has found room.
            wakers.extend(self.waiting.first_key_value().map(|(_, waker)| waker.clone()));
        }
    }

    /// Where the oldest command begins for which there is no reply: bytes before it are needed no more.
    pub(crate) fn oldest(&self) -> u64 {
        self.order.front().map_or(self.taken + self.out.len() as u64, |entry| entry.start)
    }

    pub(crate) fn pending(&self) -> usize {
        self.order.len()
    }

    /// What waits now.
    pub(crate) fn load(&self) -> Load {
        Load { pending: self.order.len(), bytes: self.bytes(), waiting: self.waiting.len() }
    }

    /// There is a connection, and a new one at that.
    pub(crate) fn connected(&mut self) {
        self.stats.connects += 1;
        self.is_kicked = false;
    }

    /// Whether the connection should be made anew; asked once.
    pub(crate) fn take_kick(&mut self) -> bool {
        std::mem::take(&mut self.is_kicked)
    }

    pub(crate) fn is_down(&self) -> bool {
        !matches!(self.phase, Phase::Open)
    }

    /// Whether no handle is left. A reply that is awaited holds one, so no caller waits then.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// The driver sleeps until a command comes.
    pub(crate) fn sleep(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|driver| driver.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// The driver is up and looks for itself.
    pub(crate) fn awake(&mut self) {
        self.driver = None;
    }

    /// Takes what is to be written and leaves an empty buffer. What was given up meanwhile is left out.
    pub(crate) fn take(&mut self, empty: Vec<u8>) -> Vec<u8> {
        if std::mem::take(&mut self.withdrawn) {
            self.withdraw();
        }
        let bytes = std::mem::replace(&mut self.out, empty);
        self.taken += bytes.len() as u64;
        if let Some(queued) = self.queued.take().filter(|_| !bytes.is_empty()) {
            self.times.push_back((self.taken, queued));
        }
        bytes
    }

    fn withdraw(&mut self) {
        let from = self.order.partition_point(|entry| entry.start < self.taken);
        let is_gone = |slots: &[Slot], slot: u32| {
            slot == NOBODY || matches!(slots[slot as usize], Slot::Abandoned)
        };
        if !self.order.iter().skip(from).any(|entry| is_gone(&self.slots, entry.slot)) {
            return;
        }
        let tail: Vec<Entry> = self.order.drain(from..).collect();
        let old = std::mem::take(&mut self.out);
        for mut entry in tail {
            if is_gone(&self.slots, entry.slot) {
                if entry.slot != NOBODY {
                    self.release(entry.slot);
                }
                self.stats.discarded += 1;
                continue;
            }
            // In range: the entry's bytes were appended to `out` after `taken`.
            let at = usize::try_from(entry.start - self.taken).unwrap_or(usize::MAX);
            entry.start = self.taken + self.out.len() as u64;
            self.out.extend_from_slice(&old[at..at + entry.bytes as usize]);
            self.order.push_back(entry);
        }
        if self.out.is_empty() {
            self.queued = None;
        }
    }

    /// A tick of the clock by which replies are missed; gives up waiting for those that are too late.
    pub(crate) fn tick(&mut self, is_connected: bool, wakers: &mut Vec<Waker>) {
        self.epoch = self.epoch.wrapping_add(1);
        for i in 0..self.order.len() {
            let Entry { slot, epoch, start, repeats, .. } = self.order[i];
            if slot == NOBODY || self.epoch.wrapping_sub(epoch) <= EPOCHS {
                continue;
            }
            let was_taken = start < self.taken;
            let why = match (is_connected, &self.phase) {
                (false, Phase::Down(error)) => format!("no reply in time: {error}"),
                (false, _) => "no reply in time: there is no connection".into(),
                _ => "no reply in time".into(),
            };
            let error =
                Error::new(ErrorKind::Timeout, why).maybe_executed(was_taken || repeats > 0);
            if !matches!(self.slots[slot as usize], Slot::Abandoned) {
                self.stats.timeouts += 1;
            }
            self.settle(slot, Err(error), wakers);
            self.order[i].slot = NOBODY;
            self.withdrawn |= !was_taken;
        }
    }

    /// The connection broke after `written` bytes of the stream. Commands that the server has not read whole, and
    /// those that only read, are queued again; all others fail. `sent` gives bytes that were taken.
    pub(crate) fn interrupted(
        &mut self,
        written: u64,
        error: &Error,
        sent: impl Fn(u64, usize) -> Vec<u8>,
        wakers: &mut Vec<Waker>,
    ) {
        let old = std::mem::take(&mut self.out);
        let begin = self.taken;
        let oldest = self.times.drain(..).map(|(_, queued)| queued).next();
        self.queued = oldest.or(self.queued);
        // The stream begins anew behind all that was ever queued.
        self.taken += old.len() as u64;
        let failed = error.maybe_executed(true);
        for mut entry in std::mem::take(&mut self.order) {
            let end = entry.start + u64::from(entry.bytes);
            let is_unread = if entry.replies == 1 { end > written } else { entry.start >= written };
            let may_repeat = entry.repeatable && entry.repeats < REPEATS_MAX;
            let is_wanted =
                entry.slot != NOBODY && !matches!(self.slots[entry.slot as usize], Slot::Abandoned);
            if !is_wanted || !(is_unread || may_repeat) {
                self.settle(entry.slot, Err(failed.clone()), wakers);
                continue;
            }
            if let Slot::Waiting(_, values) = &mut self.slots[entry.slot as usize] {
                values.clear();
            }
            let length = entry.bytes as usize;
            let at = self.out.len();
            if entry.start >= begin {
                let from = usize::try_from(entry.start - begin).unwrap_or(usize::MAX);
                self.out.extend_from_slice(&old[from..from + length]);
            } else {
                self.out.extend_from_slice(&sent(entry.start, length));
            }
            if !is_unread {
                entry.repeats += 1;
                self.stats.repeated += u64::from(entry.replies);
            }
            entry.start = self.taken + at as u64;
            entry.left = entry.replies;
            self.order.push_back(entry);
        }
    }

    /// Fails everything that is queued.
    pub(crate) fn fail_all(&mut self, error: &Error, wakers: &mut Vec<Waker>) {
        for entry in std::mem::take(&mut self.order) {
            self.settle(entry.slot, Err(error.maybe_executed(entry.repeats > 0)), wakers);
        }
        self.taken += self.out.len() as u64;
        self.out.clear();
        self.queued = None;
        self.times.clear();
        wakers.extend(std::mem::take(&mut self.waiting).into_values());
    }

    /// Refuses commands until there is a connection again.
    pub(crate) fn set_down(&mut self, error: Option<Error>) {
        self.phase = match (&self.phase, error) {
            (Phase::Closed, _) => Phase::Closed,
            (_, Some(error)) => Phase::Down(error),
            (_, None) => Phase::Open,
        };
    }
}

#[cfg(test)]
mod tests;
