//! Where in a topic an offset or a time is, and reading from there.
//!
//! The process remembers where the objects begin that it has stored or met, as far as memory allows; for
//! others, it asks for a listing from an offset a little before. A listing is a hint: the batches of an
//! object say what it holds, and its end gives the name of the next one.

use std::sync::Arc;

use bytes::Bytes;

use super::cache::Copy;
use super::end::Tail;
use super::map::{KnownObject, Reader};
use super::topic::{ObjectTopic, State};
use super::{Shared, names};
use crate::batch::{Batch, HEADER, Header};
use crate::error::{Error, Result};
use crate::storage::disk::scan::{Found, Gap, Index, Scanner, WINDOW, content};
use crate::storage::memory::Picked;
use crate::storage::{TopicLog as _, Want};

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

    /// Makes up for a head that cannot be read: the topic begins with the first object that is there, and all that
    /// the head says besides is found by reading on from there. Returns the offset.
    pub(super) fn without_head(&self, tail: &mut Tail) -> Result<u64> {
        let first = self.listed_from(0, 1)?.first().map_or(0, |(first, _)| *first);
        let mut state = self.state.lock();
        (state.first, state.next) = (first, first);
        (tail.head.first, tail.head.at) = (first, first);
        Ok(first)
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
            // It may be repaired.
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
