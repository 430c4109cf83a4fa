//! The end of a topic: how records get their offsets although several processes append.
//!
//! Every object is named after its first offset, and is stored on condition that there is none of that
//! name. So there is one chain of objects, each beginning where the one before ends, and a process that
//! stores an object at the end has claimed its offsets; no other process can have them too. A process that
//! finds the name taken reads the object there, renumbers, and tries at the new end.
//!
//! **A lost answer.** When a put ends in a time-out or an error, it was done, was not done, or will be
//! done yet. The same bytes are put again until the store says yes or "taken". The object that has the
//! name then decides: the same bytes are ours, since they hold this process's random number, and the time.
//! If that takes too long, producers are told that it failed, which may be wrong: producers that number
//! their batches find out by a retry, since whatever is stored at that name is read before anything can be
//! stored behind it.
//!
//! **Names that are free again.** A free name proves that no process has claimed an offset only as long as
//! no process deletes. Retention therefore writes into the head which offset the topic begins with, and
//! deletes earlier objects only when that has stood there for [`super::Options::grace`]. A process that
//! has made sure of the end within half that time can rely on names; one that has not (since it was
//! asleep, or had nothing to do) looks into the head *after* it has stored or found nothing: if the topic
//! begins behind that offset, the process deletes its object again. No reader can have seen it, since
//! readers begin where the topic begins.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use object_store::UpdateVersion;
use object_store::path::Path;

use super::end::{Moment, Tail};
use super::head::Head;
use super::remote::{Pause, Put};
use super::topic::{ObjectTopic, State};
use super::{Record, names};
use crate::batch::{HEADER, Header};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::storage::Refused;
use crate::storage::disk::scan::Gap;

/// Objects after which the state is written down, so that opening the topic reads at most so many.
const NOTE_OBJECTS: u64 = 64;
/// Bytes after which it is.
const NOTE_BYTES: u64 = 64 << 20;
/// Objects that are found one by one before the others are listed and fetched together …
const ALONE: usize = 3;
/// … so many …
const TOGETHER: usize = 16;
/// … and bytes, at most.
const TOGETHER_BYTES: u64 = 32 << 20;

/// Offsets that are left out where it is unknown how many were given out: more than an object can have.
const LEFT_OUT: u64 = 1_000_000_000_000;

impl ObjectTopic {
    /// Stores a group at the end.
    pub(super) fn claim(&self, group: &Group) -> std::result::Result<(), Refused> {
        let mut tail = self.tail.lock();
        let first = self.state().next;
        if group.first_offset() != first || self.gone.load(Relaxed) {
            return Err(Refused::Conflict);
        }
        let path = self.object(first);
        let bytes = Bytes::copy_from_slice(group.bytes());
        let begin = Moment::now();
        let mut pause = Pause::new(self.shared.options.patience);
        let unknown = |e: &Error| {
            let why = format!("{e}; the records may have been stored or not");
            Refused::Failed(Error::Storage(why))
        };
        loop {
            let e = match self.shared.remote.create_records(
                &path,
                bytes.clone(),
                group.next_offset(),
            ) {
                Put::Done(_) => break,
                Put::Exists => match self.is_there(&path, &bytes) {
                    Ok(Some(true)) => break,
                    Ok(Some(false)) => return Err(Refused::Conflict),
                    // Stores answer so, too, while another request for that name is under way.
                    Ok(None) => {
                        Error::Storage(format!("{}: busy", self.shared.remote.shown(&path)))
                    }
                    Err(e) => e,
                },
                Put::Refused(e) => return Err(Refused::Failed(e)),
                Put::Unknown(e) => e,
            };
            if !pause.again() {
                return Err(unknown(&e));
            }
        }
        while let Err(e) = self.make_sure(&mut tail) {
            if !pause.again() {
                return Err(unknown(&e));
            }
        }
        if self.gone.load(Relaxed) {
            // No reader can see it there.
            let _ = self.shared.remote.delete(std::slice::from_ref(&path));
            return Err(Refused::Conflict);
        }
        // Nothing had been stored behind it when this began.
        tail.confirmed = begin;
        let headers = group.headers().map(|(at, h)| (at as u64, *h)).collect::<Vec<_>>();
        self.grow(&mut tail, first, group.next_offset(), bytes.len() as u64, &headers);
        drop(tail);
        self.copy(first, &bytes);
        Ok(())
    }

    /// Whether it is these bytes that an object holds, if there is one.
    fn is_there(&self, path: &Path, bytes: &Bytes) -> Result<Option<bool>> {
        let begin = &bytes[..bytes.len().min(HEADER)];
        // An object of another process differs in its first header, and is fetched when it is needed.
        match self.shared.remote.beginning(path, HEADER as u64)? {
            Some(there) if there != begin => Ok(Some(false)),
            Some(_) => Ok(self.shared.remote.get(path)?.map(|(there, _)| there == bytes)),
            None => Ok(None),
        }
    }

    /// Takes an object at the end into account.
    fn grow(&self, tail: &mut Tail, first: u64, next: u64, bytes: u64, headers: &[(u64, Header)]) {
        self.map.lock().add(first, next, bytes, headers);
        tail.since.0 += 1;
        tail.since.1 += bytes;
        let mut state = self.state.lock();
        state.next = next;
        state.totals.add(bytes);
        if let Some((_, h)) = headers.last() {
            state.latest_us = state.latest_us.max(h.appended_us);
        }
    }

    /// Looks into the head if names alone do not prove where the end is, or if that has not been done for
    /// a while. To be called after the names were checked.
    fn make_sure(&self, tail: &mut Tail) -> Result<()> {
        if tail.confirmed.age() >= self.shared.options.grace / 2 {
            self.check(tail)?;
        } else if tail.checked.age() >= self.shared.options.check {
            // Only how soon others' doings are noticed depends on it.
            let _ = self.check(tail);
        }
        Ok(())
    }

    /// Asks whether the topic is still there, where it begins, and what its settings are. If it is gone,
    /// or begins behind the end that is known here, that is noted; it is no error.
    fn check(&self, tail: &mut Tail) -> Result<()> {
        let begin = Moment::now();
        let record = self.shared.remote.get(&self.shared.root.topic(&self.name))?;
        let record = record.map(|(bytes, _)| Record::decode(&bytes)).transpose()?;
        match record.filter(|r| *r.id == *self.id) {
            Some(r) if r.settings == tail.settings => {}
            Some(r) => {
                tail.settings = r.settings.clone();
                tail.changed = Some(r.settings);
            }
            None => {
                self.gone.store(true, Relaxed);
                return Ok(());
            }
        }
        self.read_head(tail)?;
        tail.checked = begin;
        let State { first, next, .. } = self.state();
        if first > next {
            self.gone.store(true, Relaxed);
        } else {
            tail.confirmed = begin;
        }
        Ok(())
    }

    pub(super) fn read_head(&self, tail: &mut Tail) -> Result<()> {
        let path = names::head(&self.data);
        let Some((bytes, version)) = self.shared.remote.get(&path)? else {
            self.gone.store(true, Relaxed);
            return Ok(());
        };
        let Some(head) = Head::decode(&bytes) else {
            return Err(Error::Storage(format!(
                "topic '{}': {} is damaged",
                self.name,
                self.shared.remote.shown(&path)
            )));
        };
        self.adopt(tail, head, version);
        Ok(())
    }

    fn adopt(&self, tail: &mut Tail, head: Head, version: UpdateVersion) {
        if head.condemned != tail.condemned.0 {
            tail.condemned = (head.condemned, Moment::now());
        }
        {
            let mut state = self.state.lock();
            if head.first > state.first {
                (state.first, state.trimmed) = (head.first, head.trimmed);
            }
        }
        (tail.head, tail.version) = (head, version);
    }

    /// Changes the head. `change` is repeated if another process has changed it meanwhile.
    pub(super) fn write_head(&self, tail: &mut Tail, change: impl Fn(&mut Head)) -> Result<()> {
        let mut pause = Pause::new(self.shared.options.patience);
        let path = names::head(&self.data);
        loop {
            let mut head = tail.head.clone();
            change(&mut head);
            if head == tail.head || self.gone.load(Relaxed) {
                return Ok(());
            }
            let put = self.shared.remote.replace(&path, head.encode().into(), tail.version.clone());
            match put {
                Put::Done(version) => {
                    self.adopt(tail, head, version);
                    return Ok(());
                }
                Put::Refused(e) => return Err(e),
                Put::Unknown(e) if !pause.again() => return Err(e),
                // If it was done after all, nothing is left to change.
                Put::Exists | Put::Unknown(_) => self.read_head(tail)?,
            }
        }
    }

    /// Writes the state down, if enough has come since.
    pub(super) fn note(&self, every: u64, log_state: &dyn Fn() -> Vec<u8>) {
        let mut tail = self.tail.lock();
        if tail.since.0 >= NOTE_OBJECTS || tail.since.1 >= every.min(NOTE_BYTES) {
            self.note_now(&mut tail, log_state);
        }
    }

    /// Writes the state down, if anything has come since. From then on no offset before it can be assigned again,
    /// whatever becomes of the objects.
    pub(super) fn note_rest(&self, log_state: &dyn Fn() -> Vec<u8>) {
        // A thread that is appending is not at rest.
        if let Some(mut tail) = self.tail.try_lock()
            && tail.since.0 > 0
        {
            self.note_now(&mut tail, log_state);
        }
    }

    fn note_now(&self, tail: &mut Tail, log_state: &dyn Fn() -> Vec<u8>) {
        tail.since = (0, 0);
        let state = self.state();
        let producers = log_state();
        if let Err(e) = self.write_head(tail, |head| note_in(head, &state, &producers)) {
            // It only costs some time at the next opening of the topic.
            self.tell(&e.to_string());
        }
    }

    /// Takes records of other processes into account. `numbered` gets the headers of numbered batches,
    /// also if it does not come to the end.
    pub(super) fn catch_up(&self, tail: &mut Tail, numbered: &mut Vec<Header>) -> Result<()> {
        let mut ahead: BTreeMap<u64, Bytes> = BTreeMap::new();
        let mut alone = 0;
        while !self.gone.load(Relaxed) {
            let first = self.state().next;
            if ahead.is_empty() && alone >= ALONE {
                ahead = self.fetch_from(first)?;
                alone = 0;
            }
            let begin = Moment::now();
            let found = match ahead.remove(&first) {
                Some(bytes) => Some(bytes),
                None => {
                    // The listing may be older than the bucket's content.
                    ahead.clear();
                    alone += 1;
                    self.shared.remote.get(&self.object(first))?.map(|(bytes, _)| bytes)
                }
            };
            self.make_sure(tail)?;
            if self.gone.load(Relaxed) {
                break;
            }
            let Some(bytes) = found else {
                tail.confirmed = begin;
                break;
            };
            let (next, headers) = self.headers(first, &bytes)?;
            numbered.extend(headers.iter().filter(|(_, h)| h.producer != 0).map(|(_, h)| *h));
            self.copy(first, &bytes);
            self.grow(tail, first, next, bytes.len() as u64, &headers);
        }
        Ok(())
    }

    /// The same when the topic is opened: then an object that has vanished, so that its name is free again, must
    /// not be taken for the end. What a listing shows behind it tells where the topic goes on.
    pub(super) fn catch_up_behind(
        &self,
        tail: &mut Tail,
        numbered: &mut Vec<Header>,
    ) -> Result<()> {
        loop {
            self.catch_up(tail, numbered)?;
            let next = self.state().next;
            let behind = self.listed_from(next, 1)?.first().map(|(first, _)| *first);
            let Some(resumes) = behind.filter(|_| !self.gone.load(Relaxed)) else { return Ok(()) };
            // If it is the next one, it has come meanwhile.
            if resumes > next {
                let why = "the object is missing".to_owned();
                let gap = Gap { at: 0, offset: next, resumes: Some(resumes), why };
                let shown = self.shared.remote.shown(&self.object(next));
                (self.shared.tell)(&self.damage(shown, &gap, None).to_string());
                self.state.lock().next = resumes;
            }
        }
    }

    /// Objects from `first` on, as far as a listing shows them, and some at most.
    fn fetch_from(&self, first: u64) -> Result<BTreeMap<u64, Bytes>> {
        let mut listed = self.listed_from(first, TOGETHER)?;
        let mut bytes = 0;
        listed.retain(|(_, size)| {
            let fits = bytes == 0 || bytes + size <= TOGETHER_BYTES;
            bytes += size;
            fits
        });
        let paths: Vec<_> = listed.iter().map(|(first, _)| self.object(*first)).collect();
        let fetched = self.shared.remote.get_all(&paths)?;
        let found = listed.iter().zip(fetched);
        Ok(found.filter_map(|((first, _), bytes)| Some((*first, bytes?))).collect())
    }

    /// The headers in an object and where they are, and the offset after it. Bodies are checked when
    /// they are read. Damage ends it, if something comes behind this object that tells where it ends.
    fn headers(&self, first: u64, bytes: &Bytes) -> Result<(u64, Vec<(u64, Header)>)> {
        let (mut at, mut next, mut headers) = (0, first, Vec::new());
        while at < bytes.len() {
            let why = match Header::decode(&bytes[at..]) {
                Ok(h) if h.first_offset == next && at + h.len() <= bytes.len() => {
                    headers.push((at as u64, h));
                    (at, next) = (at + h.len(), h.next_offset());
                    continue;
                }
                Ok(h) if h.first_offset == next => "it is cut off".to_owned(),
                Ok(h) => format!("offset {} where {next} was expected", h.first_offset),
                Err(e) => e.to_string(),
            };
            return self.skip(first, headers, at, next, why);
        }
        if next == first {
            return self.skip(first, headers, 0, first, "it is empty".to_owned());
        }
        Ok((next, headers))
    }

    fn skip(
        &self,
        first: u64,
        headers: Vec<(u64, Header)>,
        at: usize,
        offset: u64,
        why: String,
    ) -> Result<(u64, Vec<(u64, Header)>)> {
        let resumes = self.after(first)?.filter(|after| *after > offset);
        let damage = Damage {
            topic: self.name.clone(),
            object: self.shared.remote.shown(&self.object(first)),
            position: at as u64,
            offset,
            resumes,
            why,
        };
        match resumes {
            Some(resumes) => {
                (self.shared.tell)(&damage.to_string());
                Ok((resumes, headers))
            }
            None => {
                let why = format!(
                    "{}; nobody knows which offset comes next, so that nothing can be appended until \
                     `apus log repair` leaves some out",
                    damage.why
                );
                Err(Error::Damaged(Damage { why, ..damage }))
            }
        }
    }

    /// See [`crate::storage::TopicLog::repair`]. Others may append at the same time, or repair: no process can
    /// get past the damage before it is repaired, and all repair it in the same way.
    pub(super) fn make_end_known(&self) -> Result<Option<u64>> {
        let mut tail = self.tail.lock();
        let hidden = match self.catch_up(&mut tail, &mut Vec::new()) {
            Ok(()) => return Ok(None),
            Err(Error::Damaged(_)) => self.state().next,
            Err(e) => return Err(e),
        };
        // The broker has not been notified of the findings: it must open the topic anew.
        self.gone.store(true, Relaxed);
        let next = hidden.saturating_add(LEFT_OUT).min(names::OFFSET_MAX);
        let path = self.object(hidden);
        self.shared.remote.say_next(&path, next)?;
        Ok(Some(next))
    }
}

/// Stores the present state, unless another process has stored a later one.
pub(super) fn note_in(head: &mut Head, state: &State, producers: &[u8]) {
    if state.next > head.at {
        head.at = state.next;
        head.totals = state.totals;
        head.latest_us = state.latest_us;
        head.producers = producers.to_vec();
    }
}
