//! How much a thread still has to deliver, and which threads wait until it is less.
//!
//! A connection that adds to the deliveries of a thread beyond its limit is not read from until half of
//! that is left (see `server/src/net/worker/mod.rs`). Only bytes that the thread works off by itself count:
//! mail from other threads, and outboxes. Bytes that a subscriber's socket does not take are not part
//! of it, so the backlog shrinks whether subscribers read or not. Subscribers that do not read are
//! closed by their output limit, and no thread waits for them. A thread never waits itself, so threads
//! that publish to each other's subscribers cannot stop each other.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use stdx::sync::{AtomicBool, AtomicUsize, Mutex, fence};

/// The bytes that may wait on a thread to be sent.
const BASE: usize = 1 << 20;
/// The bytes that may wait in addition, for every outbox: enough that one write carries many messages.
const PER_OUTBOX: usize = 4 << 10;

/// See the module's text. All counts are bytes, as they will be sent.
#[derive(Debug)]
pub struct Backlog {
    /// Bytes that other threads have posted and the owner has not put into outboxes yet.
    posted: AtomicUsize,
    /// Bytes in the owner's outboxes, as of its last report.
    outboxes: AtomicUsize,
    limit: AtomicUsize,
    /// Whether there are waiters. Changed under their lock.
    awaited: AtomicBool,
    /// Threads with connections that wait.
    waiters: Mutex<Vec<usize>>,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            posted: AtomicUsize::new(0),
            outboxes: AtomicUsize::new(0),
            limit: AtomicUsize::new(BASE),
            awaited: AtomicBool::new(false),
            waiters: Mutex::default(),
        }
    }
}

impl Backlog {
    /// The limit of a thread with this number of outboxes.
    pub(crate) fn limit_for(outboxes: usize) -> usize {
        BASE + PER_OUTBOX * outboxes
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.posted.load(Relaxed).saturating_add(self.outboxes.load(Relaxed))
    }

    /// Bytes that other threads have posted and the owner has not put into outboxes yet.
    pub fn posted(&self) -> usize {
        self.posted.load(Relaxed)
    }

    /// Whether more waits than should.
    pub fn is_over(&self) -> bool {
        self.bytes() > self.limit.load(Relaxed)
    }

    /// Whether so little waits that the waiting threads go on.
    fn has_room(&self) -> bool {
        self.bytes() <= self.limit.load(Relaxed) / 2
    }

    /// Another thread has posted this many bytes.
    pub fn add(&self, bytes: usize) {
        self.posted.fetch_add(bytes, Relaxed);
    }

    /// The owner has put this many of the posted bytes into outboxes, or dropped them.
    pub fn received(&self, bytes: usize) {
        self.posted.fetch_sub(bytes, Relaxed);
    }

    /// The owner reports the bytes in its outboxes.
    pub(crate) fn set_outboxes(&self, bytes: usize) {
        self.outboxes.store(bytes, Relaxed);
    }

    /// The owner sets the bytes that may wait.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    /// Whether `thread` may go on. If not, it is among the threads that `relieved`
    /// names.
    pub fn room_or_wait(&self, thread: usize) -> bool {
        if self.has_room() {
            return true;
        }
        let mut waiters = self.waiters.lock();
        if !waiters.contains(&thread) {
            waiters.push(thread);
        }
        self.awaited.store(true, Relaxed);
        drop(waiters);
        // Registered, then the second look: the owner makes room, then looks for waiters.
        fence(SeqCst);
        self.has_room()
    }

    /// For the owner, when it may have made room: the threads that are to be woken.
    pub(crate) fn relieved(&self) -> Vec<usize> {
        fence(SeqCst);
        if !self.awaited.load(Relaxed) || !self.has_room() {
            return Vec::new();
        }
        let mut waiters = self.waiters.lock();
        self.awaited.store(false, Relaxed);
        std::mem::take(&mut *waiters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_named_once_half_is_left() {
        let backlog = Backlog::default();
        backlog.add(BASE);
        assert!(!backlog.is_over());
        backlog.add(1);
        assert!(backlog.is_over());
        assert!(!backlog.room_or_wait(3) && !backlog.room_or_wait(3) && !backlog.room_or_wait(1));
        backlog.set_outboxes(BASE / 2 + 1);
        backlog.received(BASE + 1);
        assert!(!backlog.is_over());
        assert!(backlog.relieved().is_empty());
        backlog.set_outboxes(BASE / 2);
        assert_eq!(backlog.relieved(), [3, 1]);
        assert!(backlog.relieved().is_empty());
        assert!(backlog.room_or_wait(3));
    }
}

#[cfg(all(test, loom))]
mod model {
    use std::sync::Arc;

    use stdx::sync::check;
    use stdx::sync::loom::{sync::Notify, thread};

    use super::*;

    /// Two threads wait in their event loops until there is room; the owner works off the backlog in
    /// two steps, and wakes the threads that `relieved` names.
    #[test]
    fn nobody_sleeps_while_there_is_room() {
        check(3, || {
            let backlog = Arc::new(Backlog::default());
            backlog.add(2 * BASE);
            let bells: Vec<_> = (0..2).map(|_| Arc::new(Notify::new())).collect();
            for (me, bell) in bells.iter().enumerate() {
                let (backlog, bell) = (Arc::clone(&backlog), Arc::clone(bell));
                thread::spawn(move || {
                    while !backlog.room_or_wait(me) {
                        bell.wait();
                    }
                });
            }
            for _ in 0..2 {
                backlog.received(BASE);
                for thread in backlog.relieved() {
                    bells[thread].notify();
                }
            }
        });
    }
}
