//! The channels of a thread: who is subscribed to them there.

use std::sync::Arc;

use ::live::Namespace;
use live_protocol::filter::Node;
use stdx::hash::NumberMap;

use super::batch::Arrived;
use super::broker::Followed;
use super::wire::Wire;
use crate::live::Counts;
use crate::live::tally::Space;

/// Subscribers from which on one of them is found by a map.
const MAPPED: usize = 32;

/// A subscriber, as publications see it.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    /// The client number of its connection.
    pub(crate) id: u64,
    pub(crate) wire: Wire,
    /// It follows its position.
    pub(crate) positioned: bool,
    /// The offset of the last publication that it was sent.
    pub(crate) offset: u64,
    /// The stream's life that the offset belongs to.
    pub(crate) epoch: Arc<str>,
    /// It is told of others' joining and leaving.
    pub(crate) push_join_leave: bool,
    pub(crate) server_side: bool,
    /// It gets publications whose tags match.
    pub(crate) filter: Option<Arc<Node>>,
    /// Pushes name the channel by its number.
    pub(crate) compact: bool,
    /// It takes deltas.
    pub(crate) delta: bool,
    /// The offset of the publication that its client has the data of, for the next delta; 0: of none.
    pub(crate) base: u64,
}

/// The publication that subscribers were sent last, for deltas.
#[derive(Clone, Debug)]
pub(crate) struct Latest {
    pub(crate) offset: u64,
    pub(crate) epoch: Box<str>,
    pub(crate) data: Vec<u8>,
}

/// See the module's text.
pub(crate) struct Channel {
    pub(crate) namespace: Arc<Namespace>,
    /// What stands for its name in pushes: no other channel of the thread has it.
    pub(crate) number: u64,
    /// The topic that it is; none: it is a channel of its own.
    pub(crate) topic: Option<Arc<str>>,
    /// Kept while a subscriber takes deltas.
    pub(crate) latest: Option<Latest>,
    /// Publications that wait for others, and when they go out, in Unix milliseconds.
    pub(crate) waiting: Vec<Arrived>,
    pub(crate) flush_at: i64,
    /// Of the namespace.
    pub(crate) counts: Arc<Counts>,
    /// Of the namespace in this thread.
    pub(crate) space: Arc<Space>,
    pub(crate) subscribers: Vec<Subscriber>,
    /// Of a channel of the broker.
    pub(super) remote: Followed,
    places: Option<NumberMap<usize>>,
}

impl Channel {
    pub(crate) fn new(
        namespace: Arc<Namespace>,
        (counts, space): (Arc<Counts>, Arc<Space>),
        number: u64,
    ) -> Self {
        Self {
            namespace,
            counts,
            space,
            number,
            topic: None,
            latest: None,
            waiting: Vec::new(),
            flush_at: 0,
            subscribers: Vec::new(),
            remote: Followed::default(),
            places: None,
        }
    }

    pub(crate) fn add(&mut self, subscriber: Subscriber) {
        let at = self.subscribers.len();
        if let Some(places) = &mut self.places {
            places.insert(subscriber.id, at);
        }
        self.subscribers.push(subscriber);
        if self.places.is_none() && at >= MAPPED {
            self.places = Some(self.subscribers.iter().map(|s| s.id).zip(0..).collect());
        }
    }

    fn place(&self, id: u64) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&id).copied(),
            None => self.subscribers.iter().position(|s| s.id == id),
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Subscriber> {
        self.subscribers.get(self.place(id)?)
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<Subscriber> {
        let at = self.place(id)?;
        let removed = self.subscribers.swap_remove(at);
        if let Some(places) = &mut self.places {
            places.remove(&id);
            if let Some(moved) = self.subscribers.get(at) {
                places.insert(moved.id, at);
            }
        }
        Some(removed)
    }
}
