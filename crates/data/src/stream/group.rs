//! Consumer groups: how far they have read, and what their consumers have not acknowledged.

use stdx::mem::allocated;

use super::id::Id;
use super::pending::Sorted;

/// A delivered entry that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When it was delivered last, in Unix milliseconds.
    pub time: i64,
    /// How often it was delivered.
    pub count: u64,
    /// The consumer that got it.
    pub consumer: ConsumerId,
}

/// A consumer within its group, as long as it is not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerId(u32);

/// A consumer.
#[derive(Clone, Debug)]
pub struct Consumer {
    name: Box<[u8]>,
    /// When it last tried to read or claim, in Unix milliseconds.
    pub seen: i64,
    /// When it last got something; -1: never.
    pub active: i64,
    pending: Sorted<()>,
}

impl Consumer {
    fn freeze(&mut self) -> Self {
        Self { name: self.name.clone(), pending: self.pending.freeze(), ..*self }
    }

    fn bytes(&self) -> usize {
        allocated::<u8>(self.name.len()) + self.pending.bytes()
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// How many entries are pending with it.
    pub fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// The entries pending with it from an ID on.
    pub fn pending(&self, from: Id) -> impl Iterator<Item = Id> + Clone {
        self.pending.iter_from(from).map(|(id, ())| id)
    }
}

/// A consumer group. See the module's text.
///
/// Invariant: an ID is in `pending` exactly if it is in the list of the consumer it names.
#[derive(Debug)]
pub struct Group {
    name: Box<[u8]>,
    /// The last ID delivered.
    pub last: Id,
    /// How many entries of the stream were read up to there, if that is known.
    pub read: Option<u64>,
    pending: Sorted<Pending>,
    /// By number; numbers of removed ones are used again.
    consumers: Vec<Option<Consumer>>,
    /// Numbers in the order of names.
    order: Vec<u32>,
    /// Numbers that may be used again.
    free: Vec<u32>,
    /// Bytes that the consumers hold from the allocator beyond their places.
    consumer_bytes: usize,
}

impl Clone for Group {
    fn clone(&self) -> Self {
        let mut copy = Self {
            name: self.name.clone(),
            pending: self.pending.clone(),
            consumers: self.consumers.clone(),
            order: self.order.clone(),
            free: self.free.clone(),
            ..*self
        };
        copy.count_consumers();
        copy
    }
}

impl Group {
    pub(super) fn new(name: &[u8], last: Id, read: Option<u64>) -> Self {
        Self {
            name: name.into(),
            last,
            read,
            pending: Sorted::default(),
            consumers: Vec::new(),
            order: Vec::new(),
            free: Vec::new(),
            consumer_bytes: 0,
        }
    }

    /// A copy for a snapshot, which shares what is pending.
    pub(super) fn freeze(&mut self) -> Self {
        let mut copy = Self {
            name: self.name.clone(),
            pending: self.pending.freeze(),
            consumers: self
                .consumers
                .iter_mut()
                .map(|c| c.as_mut().map(Consumer::freeze))
                .collect(),
            order: self.order.clone(),
            free: self.free.clone(),
            ..*self
        };
        self.count_consumers();
        copy.count_consumers();
        copy
    }

    /// Counts anew what the consumers hold, since copies have other capacities.
    fn count_consumers(&mut self) {
        self.consumer_bytes = self.consumers.iter().flatten().map(Consumer::bytes).sum();
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Bytes that it holds from the allocator beyond its own size.
    pub(super) fn bytes(&self) -> usize {
        allocated::<u8>(self.name.len())
            + allocated::<Option<Consumer>>(self.consumers.capacity())
            + allocated::<u32>(self.order.capacity())
            + allocated::<u32>(self.free.capacity())
            + self.consumer_bytes
            + self.pending.bytes()
    }

    /// How many consumers there are.
    pub fn consumers_len(&self) -> usize {
        self.order.len()
    }

    /// The consumers in the order of their names.
    pub fn consumers(&self) -> impl Iterator<Item = &Consumer> {
        self.order.iter().filter_map(|&n| self.consumer(ConsumerId(n)))
    }

    fn search(&self, name: &[u8]) -> Result<usize, usize> {
        self.order.binary_search_by(|&n| {
            self.consumer(ConsumerId(n)).map_or(&[][..], Consumer::name).cmp(name)
        })
    }

    /// The consumer of a name.
    pub fn find(&self, name: &[u8]) -> Option<ConsumerId> {
        let i = self.search(name).ok()?;
        self.order.get(i).copied().map(ConsumerId)
    }

    /// A consumer by its number.
    pub fn consumer(&self, id: ConsumerId) -> Option<&Consumer> {
        self.consumers.get(id.0 as usize)?.as_ref()
    }

    /// Notes when a consumer tried something, and whether it got something.
    pub fn note(&mut self, id: ConsumerId, now: i64, active: bool) {
        if let Some(Some(consumer)) = self.consumers.get_mut(id.0 as usize) {
            consumer.seen = now;
            if active {
                consumer.active = now;
            }
        }
    }

    /// Sets a consumer's times as they were stored.
    pub fn set_times(&mut self, id: ConsumerId, seen: i64, active: i64) {
        if let Some(Some(consumer)) = self.consumers.get_mut(id.0 as usize) {
            (consumer.seen, consumer.active) = (seen, active);
        }
    }

    /// The consumer of a name, which is added if there is none; whether it was.
    pub fn find_or_add(&mut self, name: &[u8], now: i64) -> (ConsumerId, bool) {
        let place = match self.search(name) {
            Ok(i) => return (ConsumerId(self.order[i]), false),
            Err(place) => place,
        };
        let consumer =
            Consumer { name: name.into(), seen: now, active: -1, pending: Sorted::default() };
        self.consumer_bytes += allocated::<u8>(name.len());
        let n = self.free.pop().unwrap_or_else(|| {
            self.consumers.push(None);
            self.consumers.len() as u32 - 1
        });
        self.consumers[n as usize] = Some(consumer);
        self.order.insert(place, n);
        (ConsumerId(n), true)
    }

    /// Removes a consumer and what is pending with it. Returns how much that was, if it existed.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<usize> {
        let place = self.search(name).ok()?;
        let n = self.order.remove(place);
        let consumer = self.consumers.get_mut(n as usize)?.take()?;
        self.free.push(n);
        self.consumer_bytes -= consumer.bytes();
        for id in consumer.pending(Id::MIN) {
            self.pending.remove(id);
        }
        Some(consumer.pending_len())
    }

    /// How many entries are pending.
    pub fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// The pending entries from an ID on.
    pub fn pending(&self, from: Id) -> impl Iterator<Item = (Id, &Pending)> + Clone {
        self.pending.iter_from(from)
    }

    /// The first and the last pending ID.
    pub fn pending_ends(&self) -> Option<(Id, Id)> {
        Some((self.pending.first()?, self.pending.last()?))
    }

    /// What is known about a pending entry.
    pub fn get(&self, id: Id) -> Option<&Pending> {
        self.pending.get(id)
    }

    /// Sets time and count of a pending entry.
    pub fn set_delivery(&mut self, id: Id, time: i64, count: u64) {
        self.pending.edit(id, |pending| (pending.time, pending.count) = (time, count));
    }

    /// Makes an entry pending with a consumer, whichever consumer had it.
    pub fn assign(&mut self, id: Id, pending: Pending) {
        match self.pending.edit(id, |old| std::mem::replace(old, pending).consumer) {
            Some(before) => {
                if before == pending.consumer {
                    return;
                }
                self.own_list(before, |list| list.remove(id));
            }
            None => self.pending.insert(id, pending),
        }
        self.own_list(pending.consumer, |list| list.insert(id, ()));
    }

    /// Forgets a pending entry. Returns whether it was there.
    pub fn forget(&mut self, id: Id) -> bool {
        let Some(pending) = self.pending.remove(id) else { return false };
        self.own_list(pending.consumer, |list| list.remove(id));
        true
    }

    fn own_list<R>(&mut self, id: ConsumerId, f: impl FnOnce(&mut Sorted<()>) -> R) {
        if let Some(Some(consumer)) = self.consumers.get_mut(id.0 as usize) {
            self.consumer_bytes -= consumer.pending.bytes();
            f(&mut consumer.pending);
            self.consumer_bytes += consumer.pending.bytes();
        }
    }
}
