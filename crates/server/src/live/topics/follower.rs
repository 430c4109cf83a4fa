//! Follows a topic for all threads that have subscribers of its channels.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ::log::storage::Want;
use ::log::{Broker, Error, Permit, Waiting};
use engine::{Engine, log};
use parking_lot::{Mutex, MutexGuard};

use super::found::Piece;
use super::read::cut;
use super::{Live, Record, may_read};
use crate::live::mail::Mail;

/// Records and bytes that threads are sent at once, at most: one record whatever it has.
const PIECE_RECORDS: usize = 1024;
const PIECE_BYTES: usize = 1 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// Until the next try, where there is no memory for records, and where the storage fails.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// See the module's text.
pub(crate) struct Follower {
    pub(super) topic: Arc<str>,
    live: Weak<Live>,
    engine: Arc<Engine>,
    /// Those that want records. Taken behind `at`, and never while something is read.
    threads: Mutex<Vec<usize>>,
    /// None: it does not know where it is, until a subscriber comes.
    at: Mutex<Option<At>>,
}

/// How far a follower is.
pub(super) struct At {
    pub(super) epoch: Arc<str>,
    /// The topic's offset behind the records that were sent.
    pub(super) next: u64,
    /// What has been read and was not sent yet, in reverse: it begins at `next`.
    left: Vec<Record>,
    room: Option<Arc<Permit>>,
    /// The piece that was sent last.
    piece: Weak<Piece>,
    /// For the record at `next`.
    waiting: Option<Waiting>,
    /// When the next try is, which comes by itself.
    pauses_until: Option<Instant>,
}

impl At {
    pub(super) fn new(epoch: Arc<str>, next: u64) -> Self {
        Self {
            epoch,
            next,
            left: Vec::new(),
            room: None,
            piece: Weak::new(),
            waiting: None,
            pauses_until: None,
        }
    }
}

/// What comes next.
enum Next {
    /// There is more to send.
    More,
    /// It is woken.
    Waits,
    /// It tries again after a pause.
    Pauses(Duration),
    /// Subscribers cannot go on from where they are.
    Ends,
}

impl Follower {
    pub(super) fn new(topic: &Arc<str>, live: Weak<Live>, engine: &Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            topic: Arc::clone(topic),
            live,
            engine: Arc::clone(engine),
            threads: Mutex::default(),
            at: Mutex::default(),
        })
    }

    pub(super) fn add(&self, thread: usize) {
        let mut threads = self.threads.lock();
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }

    /// Returns whether it was the last one.
    pub(super) fn remove(&self, thread: usize) -> bool {
        let mut threads = self.threads.lock();
        threads.retain(|one| *one != thread);
        threads.is_empty()
    }

    /// Locks the place. Records are sent while it is locked, and only then.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<At>> {
        self.at.lock()
    }

    fn post(&self, mail: &Mail) {
        let Some(live) = self.live.upgrade() else { return };
        let threads = self.threads.lock().clone();
        for thread in threads {
            live.post(&self.engine, thread, mail.clone());
        }
    }

    /// Has it look for records on a thread of the log.
    pub(super) fn go_on(self: &Arc<Self>) {
        if let Some(broker) = self.engine.topics.get() {
            let this = Arc::clone(self);
            broker.aside(Box::new(move || this.step()));
        }
    }

    /// Sends the next records, or waits for them.
    pub(super) fn step(self: &Arc<Self>) {
        let Some(broker) = self.engine.topics.get() else { return };
        let mut place = self.at.lock();
        loop {
            let Some(at) = place.as_mut() else { return };
            if self.threads.lock().is_empty() {
                *place = None;
                return;
            }
            // It is called again when all threads are done with it.
            if at.piece.strong_count() > 0 {
                return;
            }
            if at.pauses_until.is_some_and(|until| Instant::now() < until) {
                return;
            }
            at.waiting = None;
            match self.advance(broker, at) {
                Next::More => {}
                Next::Waits => return,
                Next::Pauses(time) => {
                    at.pauses_until = Some(Instant::now() + time);
                    let this = Arc::downgrade(self);
                    let again = move || this.upgrade().iter().for_each(Self::step);
                    return broker.aside_later(time, Box::new(again));
                }
                Next::Ends => {
                    *place = None;
                    return self.post(&Mail::TopicEnded(Arc::clone(&self.topic)));
                }
            }
        }
    }

    fn advance(self: &Arc<Self>, broker: &Broker, at: &mut At) -> Next {
        if !may_read(&self.engine, &self.topic) {
            return Next::Ends;
        }
        if at.left.is_empty() {
            at.room = None;
            let want = Want::from(at.next, PIECE_RECORDS as u64, READ_BYTES);
            let read = broker.read_with_permit(&self.topic, &want);
            // Asked behind the read: an identity never comes back, so what was read is of this topic.
            match broker.identity(&self.topic) {
                Ok(identity) if identity == at.epoch => {}
                Ok(_) | Err(Error::NoTopic(_)) => return Next::Ends,
                Err(why) => return self.failed(&why),
            }
            match read.and_then(|(f, room)| Ok((cut(&f.batches, at.next, u64::MAX)?, room))) {
                Ok((records, room)) if !records.is_empty() => {
                    at.left = records;
                    at.left.reverse();
                    at.room = Some(Arc::new(room));
                }
                Err(Error::OutOfBounds { next, .. }) if next == at.next => {
                    return self.wait(broker, at);
                }
                // Retention was faster, or there is damage: the subscribers are told, and the next one begins anew.
                Ok(_) | Err(Error::OutOfBounds { .. } | Error::Damaged(_) | Error::NoTopic(_)) => {
                    return Next::Ends;
                }
                Err(why) => return self.failed(&why),
            }
        }
        let (mut records, mut bytes) = (Vec::new(), 0);
        while let Some(record) = at.left.pop_if(|record| {
            bytes += record.bytes.len();
            records.is_empty() || records.len() < PIECE_RECORDS && bytes <= PIECE_BYTES
        }) {
            records.push(record);
        }
        let room = at.room.clone();
        if at.left.is_empty() {
            at.room = None;
        }
        let first = at.next;
        at.next += records.len() as u64;
        let follower = Arc::downgrade(self);
        let done = move || {
            if let Some(follower) = follower.upgrade() {
                follower.go_on();
            }
        };
        let piece = Arc::new(Piece {
            topic: Arc::clone(&self.topic),
            epoch: Arc::clone(&at.epoch),
            first,
            records,
            _room: room,
            done: Box::new(done),
        });
        at.piece = Arc::downgrade(&piece);
        self.post(&Mail::Records(piece));
        Next::More
    }

    fn wait(self: &Arc<Self>, broker: &Broker, at: &mut At) -> Next {
        let this = Arc::downgrade(self);
        let wake = Box::new(move || this.upgrade().iter().for_each(Self::go_on));
        match broker.wait(&self.topic, at.next, wake) {
            Ok(waiting) => {
                at.waiting = waiting;
                Next::Waits
            }
            // It was closed between, and is opened by the next read.
            Err(_) => Next::Pauses(BUSY_PAUSE),
        }
    }

    fn failed(&self, why: &Error) -> Next {
        match why {
            Error::Busy { .. } | Error::Larger { .. } => Next::Pauses(BUSY_PAUSE),
            Error::Closed => Next::Waits,
            why => {
                log!(self.engine.log, Verbose, "live: topic {}: {}", self.topic, why);
                Next::Pauses(FAILED_PAUSE)
            }
        }
    }
}
