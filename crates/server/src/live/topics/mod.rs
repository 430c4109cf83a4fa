//! Topics as channels: a namespace's option `topic` names a topic of the log, and its records are the publications.
//!
//! ```text
//!  subscribe, history ─► hub/topics.rs ─► a thread of the log: read.rs ─► mail ─► hub/topics.rs ─► reply
//!  an append ─► the log wakes follower.rs ─► a piece of records ─► mail to the threads with subscribers ─► deliver.rs
//! ```
//!
//! A record's offset in the channel is its offset in the topic and one, since Centrifugo's offsets begin at one: so a
//! client's position is the topic's offset that it reads next. The epoch is the topic's identity.
//!
//! **Neither a gap nor a duplicate.** A topic with subscribers has one follower, which knows the offset up to which it
//! has sent records to threads. What a new subscriber has missed is read without a lock; then the follower is locked,
//! what it has sent meanwhile is read, too, and the answer is mailed before it sends more. Mail arrives in its order. So
//! the first record that the subscriber is sent is the one behind its answer, or one that it has, which is told by its
//! offset.
//!
//! **Nothing waits on an event loop.** The log is read on threads of its own, by [`READERS`] of them at most. The next
//! piece of a topic is sent when all threads are done with the one before it: a follower has the records of one read in
//! memory, which the log's budget for readers counts.

mod follower;
mod found;
mod read;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ::log::{Broker, Error};
use config::Id;
use engine::{Engine, log};
use hyper::body::Bytes;
use parking_lot::Mutex;

use super::Live;
use ::live::options::FromResp;
use ::live::publication::from_resp;
pub(crate) use follower::Follower;
pub(crate) use found::{Found, Piece, Read};
pub(crate) use read::{Asked, Since, Wanted};

/// Threads that read for subscribers and histories at one time, at most.
const READERS: usize = 8;

/// A record, as clients get it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    bytes: Bytes,
    /// What stands for bytes that are no JSON, where clients are sent JSON.
    text: Option<Box<[u8]>>,
}

impl Record {
    fn new(bytes: Bytes) -> Self {
        let text = match from_resp(FromResp::Wrap, &bytes) {
            Some(std::borrow::Cow::Owned(text)) => Some(text.into()),
            _ => None,
        };
        Self { bytes, text }
    }

    /// The data of its publication; `binary`: as they are, whatever they are.
    pub(crate) fn data(&self, binary: bool) -> Vec<u8> {
        match &self.text {
            Some(text) if !binary => text.to_vec(),
            _ => self.bytes.to_vec(),
        }
    }

    /// Whether its bytes are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.text.is_none()
    }
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Readers {
    working: usize,
    queue: VecDeque<Job>,
}

/// The topics that channels follow.
#[derive(Default)]
pub(crate) struct Topics {
    followers: Mutex<HashMap<Arc<str>, Arc<Follower>>>,
    readers: Mutex<Readers>,
}

impl Topics {
    /// A thread wants a topic's records from now on.
    pub(crate) fn follow(
        live: &Arc<Live>,
        engine: &Arc<Engine>,
        topic: &Arc<str>,
        thread: usize,
    ) -> Arc<Follower> {
        let mut all = live.topics.followers.lock();
        let follower = all
            .entry(Arc::clone(topic))
            .or_insert_with(|| Follower::new(topic, Arc::downgrade(live), engine));
        follower.add(thread);
        Arc::clone(follower)
    }

    /// … and does not any more.
    pub(crate) fn leave(&self, topic: &str, thread: usize) {
        let mut all = self.followers.lock();
        let is_last = all.get(topic).is_some_and(|follower| follower.remove(thread));
        let last = if is_last { all.remove(topic) } else { None };
        drop(all);
        // It gives up waiting for records.
        drop(last);
    }

    /// Has something read that may wait for the storage.
    fn read(live: &Arc<Live>, broker: &Broker, job: Job) {
        let mut readers = live.topics.readers.lock();
        if readers.working >= READERS {
            readers.queue.push_back(job);
            return;
        }
        readers.working += 1;
        drop(readers);
        let live = Arc::clone(live);
        broker.aside(Box::new(move || {
            let mut job = job;
            loop {
                job();
                let mut readers = live.topics.readers.lock();
                match readers.queue.pop_front() {
                    Some(next) => job = next,
                    None => {
                        readers.working -= 1;
                        return;
                    }
                }
            }
        }));
    }
}

/// Whether channels may show a topic: to the user that `live-user` names, if there is one, TOPIC.READ is open.
pub(crate) fn may_read(engine: &Engine, topic: &str) -> bool {
    let name = engine.config.string(Id::LiveUser);
    if name.is_empty() {
        return true;
    }
    let argv: [&[u8]; 3] = [b"topic.read", topic.as_bytes(), b"0"];
    let may = engine.user_may(name.as_bytes(), &argv);
    if may.is_none() {
        log!(engine.log, Warning, "live: live-user names no user");
    }
    may.unwrap_or(false)
}

/// What clients are told of an error of the log: one of a topic that is not there passes when it is created.
pub(crate) fn told(engine: &Engine, topic: &str, why: &Error) -> ::live::Error {
    match why {
        Error::NoTopic(_) => ::live::Error { temporary: true, ..::live::Error::UNKNOWN_CHANNEL },
        why => {
            log!(engine.log, Verbose, "live: topic {}: {}", topic, why);
            ::live::Error::INTERNAL
        }
    }
}
