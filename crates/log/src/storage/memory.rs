//! Storage in memory: for tests, and for topics that may be lost.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use stdx::mem::Apart;

use super::{Extent, Limits, Refused, SETTINGS, Storage, TopicLog, Want};
use crate::batch::{Batch, HEADER, Header};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::settings::Settings;

/// Topics in memory.
#[derive(Debug)]
pub struct Memory {
    topics: Mutex<BTreeMap<String, Arc<Topic>>>,
    bytes: Arc<Bytes>,
}

/// Bytes of all records, and how many there may be.
#[derive(Debug)]
struct Bytes {
    used: AtomicUsize,
    max: usize,
}

#[derive(Debug)]
struct Topic {
    values: Mutex<BTreeMap<String, Vec<u8>>>,
    records: Mutex<Kept>,
    bytes: Arc<Bytes>,
}

#[derive(Debug, Default)]
struct Kept {
    batches: VecDeque<Batch>,
    extent: Extent,
    apart: Apart,
}

impl Default for Memory {
    fn default() -> Self {
        Self::with_max(usize::MAX)
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        self.bytes.used.fetch_sub(self.records.get_mut().apart.bytes(), Relaxed);
    }
}

impl Memory {
    /// Whose records have at most so many bytes together.
    pub fn with_max(bytes: usize) -> Self {
        let bytes = Arc::new(Bytes { used: AtomicUsize::new(0), max: bytes });
        Self { topics: Mutex::default(), bytes }
    }

    fn topic(&self, topic: &str) -> Result<Arc<Topic>> {
        let topics = self.topics.lock();
        topics.get(topic).cloned().ok_or_else(|| Error::NoTopic(topic.to_owned()))
    }
}

impl Storage for Memory {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn linger(&self) -> Duration {
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
        let bytes = Arc::clone(&self.bytes);
        let created = Topic { values: Mutex::default(), records: Mutex::default(), bytes };
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
        let Bytes { used, max } = &*self.bytes;
        let more = group.bytes().len();
        let fits = |used: usize| used.checked_add(more).filter(|sum| sum <= max);
        if used.fetch_update(Relaxed, Relaxed, fits).is_err() {
            return Err(Refused::Failed(Error::Storage(format!(
                "topics in memory have the {max} bytes that topic-memory allows; retention or \
                 deleting topics makes room"
            ))));
        }
        let now = kept.apart.bytes() + more;
        kept.apart.set(now);
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
            let now = kept.apart.bytes().saturating_sub(bytes as usize);
            self.bytes.used.fetch_sub(kept.apart.bytes() - now, Relaxed);
            kept.apart.set(now);
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
    #[cfg(feature = "objects")]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Broker, Input, Options};

    #[test]
    fn no_more_than_there_may_be() {
        let storage = Arc::new(Memory::with_max(10_000));
        let tell = Box::new(|_: &str| {});
        let b = Broker::new(storage.clone(), Options::default(), tell, Box::new(|| 1));
        let record = || Input::from_records([&[0u8; 3000][..]].into_iter()).expect("a record");
        for topic in ["a", "b", "a"] {
            b.append_wait(topic, record()).expect("stored");
        }
        let full = b.append_wait("c", record()).expect_err("full");
        assert!(full.to_string().contains("topic-memory"), "{full}");
        b.set("a", Settings { retention_bytes: 4000, ..Settings::default() }).expect("set");
        assert_eq!(b.trim("a"), Ok(true));
        b.append_wait("c", record()).expect("there is room");
        b.delete("c").expect("deleted");
        b.append_wait("b", record()).expect("there is room again");
        let used = storage.bytes.used.load(Relaxed);
        assert!(used > 9000 && used <= 10_000, "{used}");
    }
}
