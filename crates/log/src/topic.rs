//! One topic of the broker: the inputs that wait to be stored, the readers that wait for records, and
//! the groups that were stored last.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use crate::batch::Batch;
use crate::error::Result;
use crate::input::Input;
use crate::meter::Permit;
use crate::producers::Producers;
use crate::settings::Settings;
use crate::storage::memory::Picked;
use crate::storage::{TopicLog, Want};

/// The result of storing the records of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first of them.
    pub first_offset: u64,
    /// How many.
    pub records: u32,
    /// When, in Unix microseconds.
    pub appended_us: u64,
    /// They had been stored before: this was a retry.
    pub duplicate: bool,
}

/// Called with the result of storing records.
pub type Done = Box<dyn FnOnce(Result<Appended>) + Send>;

/// Called when there may be new records.
pub type Wake = Box<dyn FnOnce() + Send>;

pub(crate) struct PendingAppend {
    pub(crate) input: Input,
    pub(crate) done: Done,
    /// Given back when it is dropped.
    pub(crate) permit: Permit,
}

/// The state of the inputs that wait to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There are none.
    Idle,
    /// They wait for others, or for the group that is being written. A scheduled commit counts if its
    /// ticket is the last one.
    Gathering,
    /// Some have been taken to be stored, and are not being written yet; others may have come.
    Committing,
}

/// A group that is being written, and how the next one can be laid out if all goes well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing {
    /// Which of [`State::writes`] it is.
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    /// The offset after it.
    pub(crate) next: u64,
    /// Its time.
    pub(crate) now_us: u64,
    /// The space that the storage will probably ask for in front of the next group.
    pub(crate) lead: usize,
}

/// Batches that were stored last, for readers that keep up.
struct Recent {
    batches: Vec<Batch>,
}

pub(crate) struct State {
    pub(crate) pending: Vec<PendingAppend>,
    pub(crate) pending_bytes: usize,
    pub(crate) phase: Phase,
    pub(crate) ticket: u64,
    /// When the first of the waiting inputs came.
    pub(crate) since: Instant,
    /// How many were stored together last time: as many may come again.
    pub(crate) expect: usize,
    /// The group that is being written, while others are prepared.
    pub(crate) writing: Option<Writing>,
    /// Groups whose writing has begun.
    pub(crate) writes: u64,
    pub(crate) deleted: bool,
    pub(crate) used: Instant,
    /// Whether a thread looks for records that other processes append.
    watched: bool,
    waiters: Vec<Waiter>,
    next_waiter: u64,
    recent: VecDeque<Recent>,
}

struct Waiter {
    id: u64,
    offset: u64,
    wake: Wake,
}

/// State that only the storing thread needs.
pub(crate) struct Work {
    pub(crate) log: Arc<dyn TopicLog>,
    pub(crate) producers: Producers,
}

/// The parts of an open topic.
pub(crate) type Opened = (Arc<dyn TopicLog>, Arc<Settings>);

/// See the module's text.
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) state: Mutex<State>,
    /// Taken before `state` where both are.
    pub(crate) work: Mutex<Option<Work>>,
    /// Once the topic is open.
    pub(crate) open: RwLock<Option<Opened>>,
    /// Once it is known, where the storage does not give it.
    pub(crate) identity: Mutex<Option<Arc<str>>>,
}

impl Topic {
    pub(crate) fn new(name: &str) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            state: Mutex::new(State {
                pending: Vec::new(),
                pending_bytes: 0,
                phase: Phase::Idle,
                ticket: 0,
                since: now,
                expect: 1,
                writing: None,
                writes: 0,
                deleted: false,
                used: now,
                watched: false,
                waiters: Vec::new(),
                next_waiter: 0,
                recent: VecDeque::new(),
            }),
            work: Mutex::new(None),
            open: RwLock::new(None),
            identity: Mutex::new(None),
        }
    }

    /// Its log, if it is open.
    pub(crate) fn log(&self) -> Option<Arc<dyn TopicLog>> {
        self.open.read().as_ref().map(|(log, _)| Arc::clone(log)).filter(|log| !log.gone())
    }

    /// Lets go of a log that is gone.
    pub(crate) fn close(&self) {
        *self.open.write() = None;
        self.state.lock().recent.clear();
        // Waiting threads find out that it is closed.
        self.wake(u64::MAX);
    }

    /// Its settings, if it is open.
    pub(crate) fn settings(&self) -> Option<Arc<Settings>> {
        self.open.read().as_ref().map(|(_, s)| Arc::clone(s))
    }

    /// Keeps batches that have been stored. Returns the first offset, by which they are dropped.
    pub(crate) fn keep(&self, batches: Vec<Batch>) -> Option<u64> {
        let first = batches.first()?.header.first_offset;
        let mut state = self.state.lock();
        // Others may have written between.
        let next = state.recent.back().and_then(Recent::next);
        if next.is_some_and(|n| n != first) {
            state.recent.clear();
        }
        state.recent.push_back(Recent { batches });
        Some(first)
    }

    /// Lets go of kept batches up to those that begin with `first`.
    pub(crate) fn drop_kept(&self, first: u64) {
        let mut state = self.state.lock();
        while state.recent.front().and_then(Recent::first).is_some_and(|f| f <= first) {
            state.recent.pop_front();
        }
    }

    /// Reads from the groups in memory; none if the first batch is not.
    pub(crate) fn read_kept(&self, want: &Want) -> Option<Vec<Batch>> {
        let state = self.state.lock();
        if state.recent.front().and_then(Recent::first)? > want.offset {
            return None;
        }
        let from = state.recent.partition_point(|r| r.next().is_some_and(|n| n <= want.offset));
        let mut picked = Picked::new(want);
        for r in state.recent.range(from..) {
            let skip = r.batches.partition_point(|b| b.header.next_offset() <= want.offset);
            for b in &r.batches[skip..] {
                if !picked.add(b.clone()) {
                    return Some(picked.batches);
                }
            }
        }
        (!picked.batches.is_empty()).then_some(picked.batches)
    }

    /// Calls `wake` when there is a record with this offset, if there is none yet. Returns a number
    /// to give up with, or none if there is one already.
    pub(crate) fn wait(&self, log: &dyn TopicLog, offset: u64, wake: Wake) -> Option<u64> {
        let mut state = self.state.lock();
        // Looked at under the lock: a thread that appends takes it after that.
        if log.extent().next > offset || state.deleted {
            drop(state);
            wake();
            return None;
        }
        state.next_waiter += 1;
        let id = state.next_waiter;
        state.waiters.push(Waiter { id, offset, wake });
        Some(id)
    }

    /// Gives up waiting; whether it was still waiting.
    pub(crate) fn give_up(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let at = state.waiters.iter().position(|w| w.id == id);
        at.map(|at| state.waiters.swap_remove(at)).is_some()
    }

    /// Whether it must be watched from here on: a reader waits for records, and no thread watches the
    /// topic.
    pub(crate) fn begin_watch(&self) -> bool {
        let mut state = self.state.lock();
        let begin = !state.watched && !state.waiters.is_empty();
        state.watched |= begin;
        begin
    }

    /// Whether it must still be watched.
    pub(crate) fn go_on_watching(&self, open: bool) -> bool {
        let mut state = self.state.lock();
        state.watched = open && !state.waiters.is_empty();
        state.watched
    }

    /// Wakes the readers that wait for records before `next`.
    pub(crate) fn wake(&self, next: u64) {
        let ready: Vec<Waiter> = {
            let mut state = self.state.lock();
            if state.waiters.is_empty() {
                return;
            }
            state.waiters.extract_if(.., |w| w.offset < next).collect()
        };
        ready.into_iter().for_each(|w| (w.wake)());
    }
}

impl Recent {
    fn first(&self) -> Option<u64> {
        self.batches.first().map(|b| b.header.first_offset)
    }

    fn next(&self) -> Option<u64> {
        self.batches.last().map(|b| b.header.next_offset())
    }
}
