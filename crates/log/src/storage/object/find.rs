//! Where in a topic an offset or a time is, and reading from there.
//!
//! The process remembers where the objects begin that it has stored or met, as far as memory allows; for
//! others, it asks for a listing from an offset a little before. A listing is a hint: the batches of an
//! object say what it holds, and its end gives the name of the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::cache::Copy;
use super::topic::{ObjectTopic, State};
use super::{Shared, names};
use crate::batch::{Batch, HEADER, Header};
use crate::error::{Error, Result};
use crate::storage::disk::scan::{Found, Gap, Index, Scanner, WINDOW, content};
use crate::storage::memory::Picked;
use crate::storage::{TopicLog as _, Want};

/// Objects whose position is remembered, per topic that is in use …
const PLACES: usize = 20_000;
/// … and positions of batches in them: 1 MiB or so.
const ENTRIES: usize = 40_000;
/// Least bytes that are read of a copy at once.
const READ_MIN: usize = 64 << 10;
/// Objects behind the one that is read that are fetched for a reader that has read on for a while …
const AHEAD: usize = 15;
/// … and bytes of them, at most; also not more than half of the memory for all readers.
const AHEAD_BYTES: u64 = 32 << 20;
/// Readers of a topic whose positions are remembered for that.
const READERS: usize = 64;
/// Names that a listing gives at once.
const PAGE: usize = 1000;

/// Where objects are.
#[derive(Default)]
pub(super) struct Map {
    places: BTreeMap<u64, KnownObject>,
    /// In the indexes of all positions.
    entries: usize,
}

/// An object.
#[derive(Clone, Default)]
pub(super) struct KnownObject {
    /// The offset after it.
    pub(super) next: u64,
    pub(super) bytes: u64,
    /// When it was appended, once that is known.
    us: Option<u64>,
    /// Where in it batches are, once that is known.
    index: Option<Arc<Index>>,
}

impl Map {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Notes an object whose headers are known.
    pub(super) fn add(&mut self, first: u64, next: u64, bytes: u64, headers: &[(u64, Header)]) {
        let mut index = Index::default();
        headers.iter().for_each(|(at, h)| index.add(*at, h));
        let us = headers.first().map(|(_, h)| h.appended_us);
        self.put(first, KnownObject { next, bytes, us, index: Some(Arc::new(index)) });
    }

    fn put(&mut self, first: u64, place: KnownObject) {
        self.entries += place.entries();
        if let Some(before) = self.places.insert(first, place) {
            self.entries -= before.entries();
        }
        while self.places.len() > PLACES || self.entries > ENTRIES {
            // More readers read at the end than read old records.
            let Some((_, gone)) = self.places.pop_first() else { break };
            self.entries -= gone.entries();
        }
    }

    /// Notes where in an object that is known its batches are.
    fn set_index(&mut self, first: u64, index: Arc<Index>) {
        if let Some(place) = self.places.get(&first) {
            let place = KnownObject { index: Some(index), ..place.clone() };
            self.put(first, place);
        }
    }

    /// The same for an object that is only known from a listing, unless more is known.
    fn put_new(&mut self, first: u64, place: &KnownObject) {
        if !self.places.contains_key(&first) {
            self.put(first, place.clone());
        }
    }

    /// The object that holds an offset, if it is known.
    fn holding(&self, offset: u64) -> Option<(u64, KnownObject)> {
        let (first, place) = self.places.range(..=offset).next_back()?;
        (place.next > offset).then(|| (*first, place.clone()))
    }

    /// Forgets all before `first`.
    pub(super) fn cut(&mut self, first: u64) {
        self.places = self.places.split_off(&first);
        self.entries = self.places.values().map(KnownObject::entries).sum();
    }
}

impl KnownObject {
    fn entries(&self) -> usize {
        self.index.as_ref().map_or(0, |i| i.len())
    }
}

/// A reader that reads from object to object, as far as can be seen.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// Where the object ends that was read last.
    end: u64,
    /// How many were read one after the other.
    run: usize,
}

/// Where an object is read from.
enum Source {
    Copy(Copy),
    Store(Bytes),
}

/// The result of a read from one object.
enum Step {
    /// There is enough.
    Enough,
    /// There is more from this offset on, in the next object.
    Next(u64),
    /// This is in the way.
    Damage(Gap),
}

impl ObjectTopic {
    /// Objects from `first` on, as far as a listing shows them, and so many at most.
    pub(super) fn listed_from(&self, first: u64, max: usize) -> Result<Vec<(u64, u64)>> {
        let after = first.checked_sub(1).map(|before| self.object(before));
        let found = self.shared.remote.list(&names::log(&self.data), after.as_ref(), max)?;
        Ok(found.iter().filter_map(|l| Some((names::first_of(&l.path)?, l.size))).collect())
    }

    /// Where the object behind the one that begins with `first` begins, as far as a listing shows it.
    pub(super) fn listed_after(&self, first: u64) -> Result<Option<u64>> {
        let listed = self.listed_from(first.saturating_add(1), 1)?;
        Ok(listed.first().map(|(first, _)| *first))
    }

    /// The offset after the object that begins with `first`, if its bytes do not tell it: the offset
    /// given when it was stored, or the beginning of the next one.
    pub(super) fn after(&self, first: u64) -> Result<Option<u64>> {
        let said = self.shared.remote.said_next(&self.object(first))?;
        match said.filter(|next| (first + 1..=names::OFFSET_MAX).contains(next)) {
            Some(next) => Ok(Some(next)),
            None => self.listed_after(first),
        }
    }

    /// An object that is not in the cache.
    fn fetch(&self, first: u64, place: &KnownObject, wait: bool) -> Result<Option<Bytes>> {
        let Shared { remote, ahead, cache, .. } = &*self.shared;
        let get = || Ok(remote.get(&self.object(first))?.map(|(bytes, _)| bytes));
        let found = ahead.get(&(Arc::clone(&self.id), first), place.bytes, wait, get)?;
        if cache.is_some()
            && let Some(bytes) = &found
        {
            self.copy(first, bytes);
        }
        Ok(found)
    }

    /// Notes that a reader reads this object. A reader that has read the one before is likely to read
    /// those behind, too: they are fetched meanwhile, and the more of them the longer the reader has
    /// read on.
    fn note_reader(&self, first: u64, place: &KnownObject) {
        let run = {
            let mut readers = self.readers.lock();
            if readers.iter().any(|r| r.end == place.next) {
                // A reader was here already, perhaps the same one.
                return;
            }
            let before = readers.iter().position(|r| r.end == first);
            let run = before.and_then(|at| readers.remove(at)).map_or(0, |r| r.run + 1);
            readers.push_back(Reader { end: place.next, run });
            if readers.len() > READERS {
                readers.pop_front();
            }
            run
        };
        if run == 0 {
            return;
        }
        let Shared { remote, ahead, cache, options, .. } = &*self.shared;
        let bytes_max = AHEAD_BYTES.min(options.fetch_max as u64 / 2);
        for (first, place) in self.behind(place.next, AHEAD.min(1 << run.min(8)), bytes_max) {
            if cache.as_ref().is_some_and(|c| c.has(&self.id, first)) {
                continue;
            }
            let key = (Arc::clone(&self.id), first);
            if !ahead.begin(remote, &key, self.object(first), place.bytes) {
                break;
            }
        }
    }

    /// Objects from `from` on, so many and so many bytes at most.
    fn behind(&self, from: u64, max: usize, bytes_max: u64) -> Vec<(u64, KnownObject)> {
        let State { next: end, .. } = self.state();
        if from >= end {
            return Vec::new();
        }
        let known = self.map.lock().holding(from).is_some();
        // An error there is reported to the reader that gets there.
        if !known && self.locate(from).is_err() {
            return Vec::new();
        }
        let map = self.map.lock();
        let (mut found, mut at, mut bytes) = (Vec::new(), from, 0);
        while found.len() < max
            && let Some((first, place)) = map.holding(at).filter(|(first, _)| *first == at)
        {
            bytes += place.bytes;
            if bytes > bytes_max {
                break;
            }
            at = place.next;
            found.push((first, place));
        }
        found
    }

    /// The object that holds `offset`, which is within the topic.
    pub(super) fn locate(&self, offset: u64) -> Result<(u64, KnownObject)> {
        if let Some(found) = self.map.lock().holding(offset) {
            return Ok(found);
        }
        let state = self.state();
        let records = state.next.saturating_sub(state.first);
        let objects = state.totals.objects.saturating_sub(state.trimmed.objects).max(1);
        // As far back as it probably begins; further, if that was not enough.
        let mut back = (records / objects).saturating_mul(4).max(16);
        loop {
            let from = offset.saturating_sub(back).max(state.first);
            if let Some(found) = self.list_to(offset, from)? {
                return Ok(found);
            }
            if from == state.first {
                break;
            }
            back = back.saturating_mul(16);
        }
        if offset < self.state().first {
            return Err(self.out_of_bounds(offset));
        }
        let gap = Gap {
            at: 0,
            offset,
            resumes: self.listed_after(offset)?,
            why: "the object is missing".to_owned(),
        };
        let shown = self.shared.remote.shown(&self.object(offset));
        Err(Error::Damaged(self.damage(shown, &gap, None)))
    }

    /// Looks for the object that holds `offset` among those that begin at `from` or later.
    fn list_to(&self, offset: u64, mut from: u64) -> Result<Option<(u64, KnownObject)>> {
        let mut last: Option<(u64, u64)> = None;
        let mut found = None;
        loop {
            let listed = self.listed_from(from, PAGE)?;
            let all = listed.len() < PAGE;
            for (first, bytes) in listed {
                if let Some((before, bytes)) = last {
                    let place = KnownObject { next: first, bytes, ..KnownObject::default() };
                    self.map.lock().put_new(before, &place);
                    if first > offset && before <= offset {
                        found = Some((before, place));
                    }
                } else if first > offset {
                    return Ok(None);
                }
                last = Some((first, bytes));
            }
            if found.is_some() {
                return Ok(found);
            }
            let Some((first, _)) = last else { return Ok(None) };
            if !all {
                from = first.saturating_add(1);
                continue;
            }
            // The last one was stored with the offset that comes after it, or itself says where it ends.
            let path = self.object(first);
            if let Some(next) = self.shared.remote.said_next(&path)?.filter(|next| *next > first)
                && let Some((_, bytes)) = last
            {
                let place = KnownObject { next, bytes, ..KnownObject::default() };
                self.map.lock().put_new(first, &place);
                return Ok((next > offset).then_some((first, place)));
            }
            let Some((bytes, _)) = self.shared.remote.get(&self.object(first))? else {
                return Ok(None);
            };
            let size = bytes.len() as u64;
            let mut headers = Vec::new();
            let mut at = 0;
            let mut next = first;
            while let Ok(h) = Header::decode(&bytes[at.min(bytes.len())..]) {
                headers.push((at as u64, h));
                (at, next) = (at + h.len(), h.next_offset());
            }
            if next <= offset {
                return Ok(None);
            }
            let mut map = self.map.lock();
            map.add(first, next, size, &headers);
            return Ok(map.holding(offset));
        }
    }

    /// When the object that begins with `first` was appended. A damaged one is taken for old: it is
    /// looked into, and not thrown away for its age.
    pub(super) fn appended(&self, first: u64, place: &KnownObject) -> Result<u64> {
        if let Some(us) = place.us {
            return Ok(us);
        }
        let head = self.shared.remote.beginning(&self.object(first), HEADER as u64)?;
        let us = head.and_then(|h| Header::decode(&h).ok()).map_or(0, |h| h.appended_us);
        if let Some(place) = self.map.lock().places.get_mut(&first) {
            place.us = Some(us);
        }
        Ok(us)
    }

    /// The first offset that was appended at or after a time.
    pub(super) fn first_since(&self, appended_us: u64) -> Result<u64> {
        let State { first, next, latest_us, .. } = self.state();
        if latest_us < appended_us {
            return Ok(next);
        }
        let (mut low, mut high) = (first, next);
        while low < high {
            let (object, place) = self.locate(low + (high - low) / 2)?;
            if self.appended(object, &place)? < appended_us {
                low = place.next;
            } else {
                // All of a group was appended at the same time.
                high = object;
            }
        }
        Ok(low.min(next))
    }

    /// Reads whole batches.
    pub(super) fn pick(&self, want: &Want) -> Result<Vec<Batch>> {
        let State { first, next, .. } = self.state();
        if !(first..next).contains(&want.offset) {
            return Err(self.out_of_bounds(want.offset));
        }
        let mut picked = Picked::new(want);
        let mut offset = want.offset;
        while offset < next {
            match self.pick_from(offset, &mut picked) {
                Ok(Some(at)) => offset = at,
                Ok(None) => break,
                // An error there is reported to the reader that begins there.
                Err(_) if !picked.batches.is_empty() => break,
                Err(e) => return Err(e),
            }
        }
        Ok(picked.batches)
    }

    /// Reads from the object that holds `offset`. Returns where to go on, if there is more to read.
    fn pick_from(&self, offset: u64, picked: &mut Picked<'_>) -> Result<Option<u64>> {
        let (first, place) = self.locate(offset)?;
        self.note_reader(first, &place);
        let before = picked.batches.len();
        if let Some(copy) = self.shared.cache.as_ref().and_then(|c| c.get(&self.id, first)) {
            let shown = copy.path.display().to_string();
            let gap = match self.step(Source::Copy(copy), first, &place, offset, picked) {
                Ok(Step::Enough) => return Ok(None),
                Ok(Step::Next(next)) if next == place.next => return Ok(Some(next)),
                // Either the copy is wrong or the listing was: the object will tell.
                Ok(Step::Next(next)) => {
                    Gap { at: 0, offset: next, resumes: None, why: "it is cut off".to_owned() }
                }
                Ok(Step::Damage(gap)) => gap,
                Err(Error::Larger { .. }) if !picked.batches.is_empty() => return Ok(None),
                Err(e @ Error::Larger { .. }) => return Err(e),
                Err(e) => Gap { at: 0, offset, resumes: None, why: e.to_string() },
            };
            picked.cut(before);
            let damage = self.damage(shown, &gap, None);
            (self.shared.tell)(&format!("{damage}; it is a copy, and fetched again"));
            if let Some(cache) = &self.shared.cache {
                cache.remove(&self.id, first);
            }
        }
        let path = self.object(first);
        let Some(bytes) = self.fetch(first, &place, before == 0)? else {
            return Err(self.missing(first, offset));
        };
        let step = self.step(Source::Store(bytes), first, &place, offset, picked);
        if !matches!(step, Ok(Step::Enough | Step::Next(_))) {
            // It may be mended.
            self.shared.ahead.remove(&(Arc::clone(&self.id), first));
        }
        match step? {
            Step::Enough => Ok(None),
            // The batches know better than a listing; if there were none, this is no way on.
            Step::Next(next) if next > offset => {
                if next != place.next {
                    let mut map = self.map.lock();
                    if let Some(place) = map.places.get_mut(&first) {
                        place.next = next;
                    }
                }
                Ok(Some(next))
            }
            Step::Next(next) => {
                // The object itself is whole, if it has anything: then the one behind it is missing.
                let (why, path) = match next > first {
                    true => ("the object is missing", self.object(next)),
                    false => ("it ends too early", path),
                };
                let gap = Gap { at: 0, offset, resumes: Some(place.next), why: why.to_owned() };
                Err(Error::Damaged(self.damage(self.shared.remote.shown(&path), &gap, None)))
            }
            Step::Damage(gap) => {
                let shown = self.shared.remote.shown(&path);
                Err(Error::Damaged(self.damage(shown, &gap, Some(place.next))))
            }
        }
    }

    /// Why an object that should be there is not.
    fn missing(&self, first: u64, offset: u64) -> Error {
        // The retention of another process, which this process has not seen yet, or the end of the
        // topic.
        let mut tail = self.tail.lock();
        if let Err(e) = self.read_head(&mut tail) {
            return e;
        }
        drop(tail);
        self.map.lock().cut(first.saturating_add(1));
        if self.gone() || self.state().first > offset {
            return self.out_of_bounds(offset);
        }
        let resumes = self.listed_after(first).ok().flatten();
        let gap = Gap { at: 0, offset, resumes, why: "the object is missing".to_owned() };
        let shown = self.shared.remote.shown(&self.object(first));
        Error::Damaged(self.damage(shown, &gap, None))
    }

    /// Picks batches of one object from `offset` on.
    fn step(
        &self,
        source: Source,
        first: u64,
        place: &KnownObject,
        offset: u64,
        picked: &mut Picked<'_>,
    ) -> Result<Step> {
        let pool = &self.shared.pool;
        let copy;
        let from = |index: &Index| {
            let entry = index.before(|e| e.offset > offset);
            entry.map_or((0, first), |e| (e.at, e.offset))
        };
        let mut scanner = match source {
            Source::Store(bytes) => {
                let from = place.index.as_deref().map_or((0, first), from);
                Scanner::over(bytes, from)
            }
            Source::Copy(c) => {
                copy = c;
                let file = (&copy.file, copy.path.as_path(), pool);
                let index = match &place.index {
                    Some(index) => Arc::clone(index),
                    None => {
                        let index = Arc::new(content(file, first, false, 0)?.index);
                        self.map.lock().set_index(first, Arc::clone(&index));
                        index
                    }
                };
                let hint = picked.bytes_left().clamp(READ_MIN, WINDOW);
                Scanner::new(file, from(&index), copy.size, hint).at_most(picked.most())
            }
        };
        loop {
            match scanner.next()? {
                Found::Batch { batch, .. } if batch.header.next_offset() <= offset => {}
                Found::Batch { batch, .. } => {
                    let next = batch.header.next_offset();
                    if !picked.add(batch) || picked.done(next) {
                        return Ok(Step::Enough);
                    }
                }
                Found::Damage(gap) if gap.resumes.is_some_and(|at| at <= offset) => {}
                Found::Damage(gap) => return Ok(Step::Damage(gap)),
                Found::End => return Ok(Step::Next(scanner.expected())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_places_is_bounded() {
        // Each is 64 KiB, so that all are in the index.
        let headers: Vec<_> = (0..1000).map(|i| (i << 16, Header::default())).collect();
        let mut map = Map::default();
        for i in 0..100 {
            map.add(i, i + 1, 1000 << 16, &headers);
        }
        assert_eq!((map.places.len(), map.entries), (40, ENTRIES));
        assert!(map.holding(59).is_none() && map.holding(60).is_some());
        map.add(99, 100, 1000 << 16, &headers[..10]);
        map.cut(90);
        assert_eq!((map.places.len(), map.entries), (10, 9010));
        map.put(99, KnownObject { next: 100, ..KnownObject::default() });
        assert_eq!(map.entries, 9000);
        map.set_index(99, Arc::default());
        map.clear();
        assert_eq!((map.places.len(), map.entries), (0, 0));
        for i in 0..PLACES as u64 + 7 {
            map.put(i, KnownObject { next: i + 1, ..KnownObject::default() });
        }
        assert_eq!(map.places.len(), PLACES);
    }
}
