//! Storage in memory: for tests, and for topics that may be lost.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Extent, Limits, Refused, SETTINGS, Storage, TopicLog, Want};
use crate::batch::{Batch, HEADER, Header};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::settings::Settings;

/// Topics in memory.
#[derive(Debug, Default)]
pub struct Memory {
    topics: Mutex<BTreeMap<String, Arc<Topic>>>,
}

#[derive(Debug, Default)]
struct Topic {
    values: Mutex<BTreeMap<String, Vec<u8>>>,
    records: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    batches: VecDeque<Batch>,
    extent: Extent,
}

impl Memory {
    fn topic(&self, topic: &str) -> Result<Arc<Topic>> {
        let topics = self.topics.lock();
        topics.get(topic).cloned().ok_or_else(|| Error::NoTopic(topic.to_owned()))
    }
}

impl Storage for Memory {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn gather(&self) -> Duration {
        Duration::ZERO
    }

    fn eager(&self) -> bool {
        true
    }

    fn topics(&self) -> Result<Vec<String>> {
        Ok(self.topics.lock().keys().cloned().collect())
    }

    fn create(&self, topic: &str, settings: &Settings) -> Result<()> {
        let mut topics = self.topics.lock();
        if topics.contains_key(topic) {
            return Err(Error::TopicExists(topic.to_owned()));
        }
        let created = Topic::default();
        created.values.lock().insert(SETTINGS.to_owned(), settings.to_json().to_string().into());
        topics.insert(topic.to_owned(), Arc::new(created));
        Ok(())
    }

    fn delete(&self, topic: &str) -> Result<()> {
        let gone = self.topics.lock().remove(topic);
        gone.map(|_| ()).ok_or_else(|| Error::NoTopic(topic.to_owned()))
    }

    fn put(&self, topic: &str, name: &str, value: &[u8]) -> Result<()> {
        self.topic(topic)?.values.lock().insert(name.to_owned(), value.to_vec());
        Ok(())
    }

    fn get(&self, topic: &str, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.topic(topic).ok().and_then(|t| t.values.lock().get(name).cloned()))
    }

    fn forget(&self, topic: &str, name: &str) -> Result<()> {
        self.topic(topic)?.values.lock().remove(name);
        Ok(())
    }

    fn names(&self, topic: &str, prefix: &str) -> Result<Vec<String>> {
        let topic = self.topic(topic)?;
        let values = topic.values.lock();
        Ok(values.keys().filter(|n| n.starts_with(prefix)).cloned().collect())
    }

    fn open(&self, topic: &str, _: &Settings, _: &dyn Fn(&str)) -> Result<Arc<dyn TopicLog>> {
        Ok(self.topic(topic)?)
    }
}

impl TopicLog for Topic {
    fn extent(&self) -> Extent {
        self.records.lock().extent
    }

    fn reserve(&self, _: usize, _: &Settings, _: &dyn Fn() -> Vec<u8>) -> Result<usize> {
        Ok(0)
    }

    fn append(&self, group: &mut Group, _: bool) -> std::result::Result<(), Refused> {
        let mut kept = self.records.lock();
        for (at, header) in group.headers() {
            // A copy, since the group's buffer is to be used again.
            let bytes = group.bytes()[at..at + header.len()].to_vec().into();
            kept.batches.push_back(Batch { header: *header, bytes });
            kept.extent.bytes += header.len() as u64;
            kept.extent.next = header.next_offset();
            kept.extent.latest_us = header.appended_us;
            kept.extent.objects += 1;
        }
        Ok(())
    }

    fn history(&self) -> Result<(Option<Vec<u8>>, Vec<Header>)> {
        Ok((None, self.records.lock().batches.iter().map(|b| b.header).collect()))
    }

    fn read(&self, want: &Want) -> Result<Vec<Batch>> {
        let kept = self.records.lock();
        let Extent { first, next, .. } = kept.extent;
        if !(first..next).contains(&want.offset) {
            return Err(Error::OutOfBounds { offset: want.offset, first, next });
        }
        let from = kept.batches.partition_point(|b| b.header.next_offset() <= want.offset);
        let mut picked = Picked::new(want);
        for b in kept.batches.range(from..) {
            if !picked.add(b.clone()) {
                break;
            }
        }
        Ok(picked.batches)
    }

    fn find(&self, appended_us: u64) -> Result<u64> {
        let kept = self.records.lock();
        let at = kept.batches.partition_point(|b| b.header.appended_us < appended_us);
        Ok(kept.batches.get(at).map_or(kept.extent.next, |b| b.header.first_offset))
    }

    fn trim(&self, limits: &Limits, _: &dyn Fn() -> Vec<u8>) -> Result<bool> {
        let mut kept = self.records.lock();
        let mut any = false;
        while let Some(b) = kept.batches.front()
            && (b.header.appended_us < limits.before_us
                || limits.bytes != 0 && kept.extent.bytes > limits.bytes)
        {
            any = true;
            let (next, bytes) = (b.header.next_offset(), b.bytes.len() as u64);
            kept.batches.pop_front();
            kept.extent.first = next;
            kept.extent.bytes -= bytes;
            kept.extent.objects -= 1;
        }
        Ok(any)
    }

    fn verify(&self, seen: &mut dyn FnMut(&Header)) -> Result<Vec<Damage>> {
        let batches = self.records.lock().batches.clone();
        let mut damage = Vec::new();
        for b in &batches {
            match Batch::check(&b.bytes).and_then(|b| b.records()) {
                Ok(_) => seen(&b.header),
                Err(e) => damage.push(Damage {
                    topic: String::new(),
                    object: "memory".to_owned(),
                    position: 0,
                    offset: b.header.first_offset,
                    resumes: Some(b.header.next_offset()),
                    why: e.to_string(),
                }),
            }
        }
        Ok(damage)
    }
}

/// Batches picked for a read until there are enough.
pub(crate) struct Picked<'a> {
    want: &'a Want,
    pub(crate) batches: Vec<Batch>,
    bytes: usize,
}

impl<'a> Picked<'a> {
    pub(crate) fn new(want: &'a Want) -> Self {
        Self { want, batches: Vec::new(), bytes: 0 }
    }

    /// How many bytes are still wanted.
    pub(crate) fn bytes_left(&self) -> usize {
        self.want.bytes.saturating_sub(self.bytes)
    }

    /// Bytes of a batch that there is memory for. Of a later one, those that are wanted are enough: with
    /// more it would not be taken.
    pub(crate) fn most(&self) -> usize {
        if self.batches.is_empty() { self.want.most } else { self.want.most.min(self.bytes_left()) }
    }

    /// Forgets all but the first `count` batches.
    pub(crate) fn cut(&mut self, count: usize) {
        self.batches.truncate(count);
        self.bytes = self.batches.iter().map(|b| b.bytes.len()).sum();
    }

    /// Whether a batch that begins with `next` cannot be wanted any more.
    pub(crate) fn done(&self, next: u64) -> bool {
        !self.batches.is_empty()
            && (self.bytes_left() < HEADER
                || next >= self.want.before
                || next.saturating_sub(self.want.offset) >= self.want.records)
    }

    /// Takes the next batch, if it is wanted; whether it was.
    pub(crate) fn add(&mut self, batch: Batch) -> bool {
        let h = &batch.header;
        let enough = h.first_offset >= self.want.before
            || h.first_offset.saturating_sub(self.want.offset) >= self.want.records
            || self.bytes + batch.bytes.len() > self.want.bytes;
        if enough && !self.batches.is_empty() {
            return false;
        }
        self.bytes += batch.bytes.len();
        self.batches.push(batch);
        true
    }
}
