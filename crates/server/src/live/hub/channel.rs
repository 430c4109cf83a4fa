//! The channels of a thread: who is subscribed to them there.

use std::collections::HashMap;
use std::sync::Arc;

use ::live::Namespace;

use super::filter;
use super::wire::Wire;
use crate::live::Counts;

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
    pub(crate) filter: Option<Arc<filter::Node>>,
}

/// See the module's text.
pub(crate) struct Channel {
    pub(crate) namespace: Arc<Namespace>,
    /// Of the namespace.
    pub(crate) counts: Arc<Counts>,
    pub(crate) subscribers: Vec<Subscriber>,
    places: Option<HashMap<u64, usize>>,
}

impl Channel {
    pub(crate) fn new(namespace: Arc<Namespace>, counts: Arc<Counts>) -> Self {
        Self { namespace, counts, subscribers: Vec::new(), places: None }
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
