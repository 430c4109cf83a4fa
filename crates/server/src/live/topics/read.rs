//! Reads topics for subscriptions that begin and for histories, on threads of the log.

use std::sync::Arc;
use std::time::Duration;

use ::log::batch::Batch;
use ::log::storage::{Extent, Want};
use ::log::{Broker, Error, Permit, Result};
use engine::Engine;
use parking_lot::MutexGuard;

use super::follower::{At, Follower};
use super::found::{Found, Read};
use super::{Live, Record, Topics};
use crate::live::mail::Mail;
use crate::live::store::Span;

/// Bytes of one answer, at most: more missed records count as lost, and a history ends before them.
const BYTES_MAX: usize = 16 << 20;
/// Records of one answer, where the options do not bound them.
const RECORDS_MAX: u64 = 65_536;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;
/// Records that a history from the end reads at once.
const BACK_RECORDS: u64 = 256;
/// How often it is tried where there is no memory for the records, and the time between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(40);
/// How often a topic may be replaced, or trimmed, while it is read.
const CHANGES: usize = 5;

/// What a subscriber has missed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    /// Nothing: it begins at the end.
    Top,
    /// All from this offset of the topic on.
    Offset(u64),
    /// The latest record.
    Latest,
}

/// A subscription that begins.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) follower: Arc<Follower>,
    pub(crate) since: Since,
    /// Records that it is given at most; 0: no limit.
    pub(crate) limit: usize,
}

/// Who has asked.
pub(crate) struct Asked {
    pub(crate) live: Arc<Live>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) thread: usize,
    /// The client, and the number of its question.
    pub(crate) client: u64,
    pub(crate) number: u64,
}

impl Asked {
    fn answer(&self, read: Read) {
        let mail = Mail::TopicsRead(self.client, self.number, Arc::new(read));
        self.live.post(&self.engine, self.thread, mail);
    }

    /// Reads what subscriptions have missed, and has their followers go on behind it.
    pub(crate) fn join(self, broker: &Broker, wanted: Vec<Wanted>) {
        self.join_after(broker, wanted, TRIES);
    }

    fn join_after(self, broker: &Broker, wanted: Vec<Wanted>, tries: u32) {
        let live = Arc::clone(&self.live);
        let again = broker.clone();
        let job = move || match self.try_join(&again, &wanted) {
            Ok(()) => wanted.iter().for_each(|one| one.follower.go_on()),
            Err((_, Error::Busy { .. })) if tries > 0 => {
                let broker = again.clone();
                let later = move || self.join_after(&broker, wanted, tries - 1);
                again.aside_later(PAUSE, Box::new(later));
            }
            Err(failed) => self.answer(Read { topics: topics(&wanted), found: Err(failed) }),
        };
        Topics::read(&live, broker, Box::new(job));
    }

    fn try_join(
        &self,
        broker: &Broker,
        wanted: &[Wanted],
    ) -> std::result::Result<(), (Arc<str>, Error)> {
        let mut followers: Vec<&Arc<Follower>> = wanted.iter().map(|one| &one.follower).collect();
        // All that lock several take them in this order.
        followers.sort_by(|a, b| a.topic.cmp(&b.topic));
        followers.dedup_by(|a, b| Arc::ptr_eq(a, b));
        for _ in 0..CHANGES {
            let mut missed = Vec::new();
            for one in wanted {
                let topic = &one.follower.topic;
                missed.push(Missed::read(broker, one).map_err(|e| (Arc::clone(topic), e))?);
            }
            let mut places: Vec<_> = followers.iter().map(|one| one.lock()).collect();
            let mut fits = true;
            for (one, missed) in wanted.iter().zip(&mut missed) {
                let at = followers.iter().position(|f| Arc::ptr_eq(f, &one.follower));
                let Some(place) = at.and_then(|at| places.get_mut(at)) else { continue };
                let met = missed.meet(broker, one, place);
                fits &= met.map_err(|e| (Arc::clone(&one.follower.topic), e))?;
            }
            if fits {
                let found = wanted.iter().zip(missed).map(|(one, m)| m.found(one)).collect();
                self.answer(Read { topics: topics(wanted), found: Ok(found) });
                return Ok(());
            }
            drop(places);
            // One of them has not noticed yet that its topic is another one.
            followers.iter().for_each(|one| one.step());
        }
        let topic = wanted.first().map_or_else(|| "".into(), |one| Arc::clone(&one.follower.topic));
        Err((topic, Error::Busy { retry_ms: 0 }))
    }

    /// Reads a history; `answer` gets it.
    pub(crate) fn history(
        self,
        broker: &Broker,
        (topic, span): (Arc<str>, Span),
        answer: impl FnOnce(Self, Result<Found>) + Send + 'static,
    ) {
        self.history_after(broker, (topic, span), answer, TRIES);
    }

    fn history_after(
        self,
        broker: &Broker,
        (topic, span): (Arc<str>, Span),
        answer: impl FnOnce(Self, Result<Found>) + Send + 'static,
        tries: u32,
    ) {
        let live = Arc::clone(&self.live);
        let again = broker.clone();
        let job = move || match history(&again, &topic, span) {
            Err(Error::Busy { .. }) if tries > 0 => {
                let broker = again.clone();
                let later = move || self.history_after(&broker, (topic, span), answer, tries - 1);
                again.aside_later(PAUSE, Box::new(later));
            }
            read => answer(self, read),
        };
        Topics::read(&live, broker, Box::new(job));
    }

    /// The same for a command of a client.
    pub(crate) fn history_by_mail(self, broker: &Broker, topic: Arc<str>, span: Span) {
        let name = Arc::clone(&topic);
        self.history(broker, (topic, span), move |asked, read| {
            let found = read.map(|found| vec![found]).map_err(|e| (name, e));
            asked.answer(Read { topics: Vec::new(), found });
        });
    }
}

fn topics(wanted: &[Wanted]) -> Vec<Arc<str>> {
    wanted.iter().map(|one| Arc::clone(&one.follower.topic)).collect()
}

/// What one subscriber has missed, as far as it was read.
struct Missed {
    epoch: Arc<str>,
    first: u64,
    next: u64,
    records: Vec<Record>,
    rooms: Vec<Permit>,
    /// Not all of it can be had: nothing is given.
    lost: bool,
}

impl Missed {
    fn read(broker: &Broker, one: &Wanted) -> Result<Self> {
        let topic = &*one.follower.topic;
        let epoch = broker.identity(topic)?;
        let Extent { first: oldest, next: top, .. } = broker.describe(topic)?.extent;
        let (first, lost) = match one.since {
            Since::Top => (top, false),
            Since::Latest => (if top > oldest { top - 1 } else { top }, false),
            Since::Offset(at) if at < oldest || at > top || top - at > most(one) => (top, true),
            Since::Offset(at) => (at, false),
        };
        let mut missed =
            Self { epoch, first, next: first, records: Vec::new(), rooms: Vec::new(), lost };
        missed.go_on(broker, one, top)?;
        Ok(missed)
    }

    /// Reads up to an offset.
    fn go_on(&mut self, broker: &Broker, one: &Wanted, top: u64) -> Result<()> {
        if matches!(one.since, Since::Latest) && top > self.next {
            self.records.clear();
            self.first = top - 1;
            self.next = self.first;
        }
        self.lost |= top.saturating_sub(self.first) > most(one) && top > self.next;
        if !self.lost && self.next < top {
            match range(broker, &one.follower.topic, self.next, top) {
                Ok((records, rooms)) => {
                    self.lost = records.len() as u64 != top - self.next;
                    self.records.extend(records);
                    self.rooms.extend(rooms);
                }
                // They were trimmed meanwhile, or are damaged.
                Err(Error::OutOfBounds { .. } | Error::Damaged(_)) => self.lost = true,
                Err(e) => return Err(e),
            }
            let bytes: usize = self.records.iter().map(|r| r.bytes.len()).sum();
            self.lost |= bytes > BYTES_MAX && self.records.len() > 1;
        }
        if self.lost {
            self.records.clear();
            self.rooms.clear();
        }
        self.next = self.next.max(top);
        Ok(())
    }

    /// Catches up with the follower, which is locked; false: they are at different topics of that name.
    fn meet(
        &mut self,
        broker: &Broker,
        one: &Wanted,
        place: &mut MutexGuard<'_, Option<At>>,
    ) -> Result<bool> {
        let behind = place.as_ref().map(|at| (at.next, at.epoch == self.epoch));
        match behind {
            Some((_, false)) => return Ok(false),
            Some((next, true)) if next > self.next => self.go_on(broker, one, next)?,
            _ => {}
        }
        // Behind the reading: what was read is of this topic.
        if broker.identity(&one.follower.topic)? != self.epoch {
            return Ok(false);
        }
        if place.is_none() {
            **place = Some(At::new(Arc::clone(&self.epoch), self.next));
        }
        Ok(true)
    }

    fn found(self, one: &Wanted) -> Found {
        Found {
            topic: Arc::clone(&one.follower.topic),
            epoch: self.epoch,
            top: self.next,
            records: (self.first..).zip(self.records).collect(),
            _rooms: self.rooms,
        }
    }
}

fn most(one: &Wanted) -> u64 {
    if one.limit == 0 { RECORDS_MAX } else { RECORDS_MAX.min(one.limit as u64) }
}

/// Records from one offset up to another, or those before damage, and about [`BYTES_MAX`] at most.
fn range(broker: &Broker, topic: &str, from: u64, to: u64) -> Result<(Vec<Record>, Vec<Permit>)> {
    let (mut records, mut rooms, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut at = from;
    while at < to && bytes <= BYTES_MAX {
        let want = Want { before: to, ..Want::from(at, to - at, READ_BYTES) };
        let (fetched, room) = match broker.read_with_permit(topic, &want) {
            Ok(read) => read,
            Err(Error::Damaged(_)) if at > from => break,
            Err(e) => return Err(e),
        };
        let found = cut(&fetched.batches, at, to)?;
        if found.is_empty() {
            break;
        }
        at += found.len() as u64;
        bytes += found.iter().map(|record| record.bytes.len()).sum::<usize>();
        records.extend(found);
        rooms.push(room);
    }
    Ok((records, rooms))
}

/// The records of batches from one offset up to another, as far as they follow each other.
pub(super) fn cut(batches: &[Batch], from: u64, before: u64) -> Result<Vec<Record>> {
    let (mut records, mut at) = (Vec::new(), from);
    for batch in batches {
        let header = &batch.header;
        if header.first_offset > at || header.next_offset() <= at {
            break;
        }
        let skip = (at - header.first_offset) as usize;
        let count = usize::try_from(before.saturating_sub(at)).unwrap_or(usize::MAX);
        let all = batch.records()?;
        records.extend(all.iter().skip(skip).take(count).map(Record::new));
        at = header.next_offset();
        if at >= before {
            break;
        }
    }
    Ok(records)
}

fn history(broker: &Broker, topic: &Arc<str>, span: Span) -> Result<Found> {
    let mut changes = 0;
    loop {
        let epoch = broker.identity(topic)?;
        let extent = broker.describe(topic)?.extent;
        let read = if span.reverse {
            backwards(broker, topic, span, extent)
        } else {
            forwards(broker, topic, span, extent)
        };
        let is_same = broker.identity(topic)? == epoch;
        changes += 1;
        let (records, rooms) = match read {
            Ok(read) if is_same => read,
            Err(e) if changes >= CHANGES || is_same && !matches!(e, Error::OutOfBounds { .. }) => {
                return Err(e);
            }
            _ if changes >= CHANGES => return Err(Error::Busy { retry_ms: 0 }),
            _ => continue,
        };
        let topic = Arc::clone(topic);
        return Ok(Found { topic, epoch, top: extent.next, records, _rooms: rooms });
    }
}

type Numbered = (Vec<(u64, Record)>, Vec<Permit>);

fn count(span: Span) -> u64 {
    u64::try_from(span.limit).map_or(RECORDS_MAX, |limit| limit.min(RECORDS_MAX))
}

fn forwards(broker: &Broker, topic: &str, span: Span, extent: Extent) -> Result<Numbered> {
    // A client's offset is that of the topic's next record.
    let from = span.since.unwrap_or(0).max(extent.first);
    let to = from.saturating_add(count(span)).min(extent.next);
    if from >= to {
        return Ok(Numbered::default());
    }
    let (records, rooms) = range(broker, topic, from, to)?;
    Ok(((from..).zip(records).collect(), rooms))
}

fn backwards(broker: &Broker, topic: &str, span: Span, extent: Extent) -> Result<Numbered> {
    let before = span.since.map_or(u64::MAX, |since| since.saturating_sub(1));
    let mut to = extent.next.min(before);
    let end = extent.first.max(to.saturating_sub(count(span)));
    let (mut found, mut bytes, mut step) = (Numbered::default(), 0, BACK_RECORDS);
    while to > end && bytes <= BYTES_MAX {
        let from = end.max(to.saturating_sub(step));
        let (records, rooms) = range(broker, topic, from, to)?;
        if records.len() as u64 != to - from {
            if step == 1 {
                // The record is damaged: a later one is asked for.
                return Err(Error::Storage(format!("offset {from} cannot be read")));
            }
            step = (step / 4).max(1);
            continue;
        }
        bytes += records.iter().map(|record| record.bytes.len()).sum::<usize>();
        let mut records: Vec<_> = (from..).zip(records).collect();
        records.reverse();
        found.0.extend(records);
        found.1.extend(rooms);
        to = from;
    }
    Ok(found)
}
