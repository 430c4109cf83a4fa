//! One topic in the bucket, as this process knows it.
//!
//! The state in memory is a copy of the bucket's, perhaps an old one: [`super::tail`] makes sure that
//! no write relies on an old copy.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytes::Bytes;
use object_store::path::Path;
use parking_lot::Mutex;

use super::end::Tail;
use super::head::Totals;
use super::map::{Map, Reader};
use super::{Shared, names};
use crate::batch::{Batch, Header};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::settings::Settings;
use crate::storage::disk::scan::{Found, Gap, Scanner};
use crate::storage::{Extent, Limits, Refused, TopicLog, Want};

/// See the module's text.
pub(super) struct ObjectTopic {
    pub(super) shared: Arc<Shared>,
    pub(super) name: String,
    /// Tells this topic from others of that name, before and after.
    pub(super) id: Arc<str>,
    /// The folder of its objects.
    pub(super) data: Path,
    /// Locked, also during requests to the store, by a thread that appends, looks for records of other
    /// processes, or changes the head. Taken before `state` and `map`.
    pub(super) tail: Mutex<Tail>,
    pub(super) state: Mutex<State>,
    /// Where its objects are, as far as that is known.
    pub(super) map: Mutex<Map>,
    /// The last readers.
    pub(super) readers: Mutex<VecDeque<Reader>>,
    /// It was deleted, or this process's state of it is too old to go on from: the caller must open it
    /// anew.
    pub(super) gone: AtomicBool,
    /// The findings at opening, for the first caller that asks.
    pub(super) opened: Mutex<Option<History>>,
}

/// A state that was written down, and the numbered batches since then.
pub(super) type History = (Option<Vec<u8>>, Vec<Header>);

/// The topic's figures.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) latest_us: u64,
    /// Counted over all that was ever appended …
    pub(super) totals: Totals,
    /// … and of the removed records.
    pub(super) trimmed: Totals,
}

impl ObjectTopic {
    pub(super) fn object(&self, first: u64) -> Path {
        names::object(&self.data, first)
    }

    pub(super) fn state(&self) -> State {
        *self.state.lock()
    }

    pub(super) fn out_of_bounds(&self, offset: u64) -> Error {
        let State { first, next, .. } = self.state();
        Error::OutOfBounds { offset, first, next }
    }

    /// Tells of something that people should know about this topic.
    pub(super) fn tell(&self, text: &str) {
        (self.shared.tell)(&format!("topic '{}': {text}", self.name));
    }

    /// Keeps a copy of an object for readers.
    pub(super) fn copy(&self, first: u64, bytes: &[u8]) {
        if let Some(cache) = &self.shared.cache
            && let Err(e) = cache.put(&self.id, first, bytes)
        {
            self.shared.complain(&format!("topics are not cached: {e}"));
        }
    }

    /// Damage in the object that begins with `first`, which people see as `shown`.
    pub(super) fn damage(&self, shown: String, gap: &Gap, next: Option<u64>) -> Damage {
        Damage {
            topic: self.name.clone(),
            object: shown,
            position: gap.at,
            offset: gap.offset,
            resumes: gap.resumes.or(next),
            why: gap.why.clone(),
        }
    }
}

impl TopicLog for ObjectTopic {
    fn extent(&self) -> Extent {
        let s = self.state();
        Extent {
            first: s.first,
            next: s.next,
            bytes: s.totals.bytes.saturating_sub(s.trimmed.bytes),
            latest_us: s.latest_us,
            objects: s.totals.objects.saturating_sub(s.trimmed.objects),
        }
    }

    fn gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    fn identity(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.id))
    }

    fn changed(&self) -> Option<Settings> {
        self.tail.lock().changed.take()
    }

    fn reserve(&self, _: usize, settings: &Settings, state: &dyn Fn() -> Vec<u8>) -> Result<usize> {
        self.note(settings.segment_bytes, state);
        Ok(0)
    }

    fn append(&self, group: &mut Group, _: bool) -> std::result::Result<(), Refused> {
        self.claim(group)
    }

    fn refresh(&self, numbered: &mut Vec<Header>) -> Result<()> {
        self.catch_up(&mut self.tail.lock(), numbered)
    }

    fn history(&self) -> Result<History> {
        Ok(self.opened.lock().take().unwrap_or_default())
    }

    fn read(&self, want: &Want) -> Result<Vec<Batch>> {
        self.pick(want)
    }

    fn find(&self, appended_us: u64) -> Result<u64> {
        self.first_since(appended_us)
    }

    fn trim(&self, limits: &Limits, state: &dyn Fn() -> Vec<u8>) -> Result<bool> {
        self.let_go(limits, state)
    }

    fn verify(&self, seen: &mut dyn FnMut(&Header)) -> Result<Vec<Damage>> {
        let State { first, next, .. } = self.state();
        let (mut at, mut damage) = (first, Vec::new());
        // Also the records appended meanwhile, and the damage that hides the end.
        loop {
            let path = self.object(at);
            let shown = self.shared.remote.shown(&path);
            // From the store: a copy says nothing about it.
            let Some((bytes, _)) = self.shared.remote.get(&path)? else {
                if at >= next {
                    break;
                }
                let resumes = self.listed_after(at)?;
                let gap =
                    Gap { at: 0, offset: at, resumes, why: "the object is missing".to_owned() };
                damage.push(self.damage(shown, &gap, None));
                let Some(resumes) = resumes else { break };
                at = resumes;
                continue;
            };
            let (end, gaps) = check(bytes, at, seen)?;
            damage.extend(gaps.iter().map(|gap| self.damage(shown.clone(), gap, None)));
            at = match end {
                Some(end) if gaps.is_empty() && end > at => end,
                // A damaged object may not say where it ends.
                _ => match self.after(at)? {
                    Some(after) => after,
                    None => break,
                },
            };
        }
        Ok(damage)
    }

    fn repair(&self) -> Result<Option<u64>> {
        self.make_end_known()
    }

    fn release_idle(&self, state: Option<&dyn Fn() -> Vec<u8>>) {
        if let Some(state) = state {
            self.note_rest(state);
        }
        self.map.lock().clear();
        self.shared.ahead.forget(&self.id);
    }
}

/// Checks all batches of an object. Returns the offset after the last one, and the damage.
pub(super) fn check(
    bytes: Bytes,
    first: u64,
    seen: &mut dyn FnMut(&Header),
) -> Result<(Option<u64>, Vec<Gap>)> {
    let mut scanner = Scanner::over(bytes, (0, first));
    let (mut end, mut gaps) = (None, Vec::new());
    loop {
        match scanner.next()? {
            Found::Batch { batch, at } => {
                end = Some(batch.header.next_offset());
                match batch.records() {
                    Ok(_) => seen(&batch.header),
                    Err(e) => gaps.push(Gap {
                        at,
                        offset: batch.header.first_offset,
                        resumes: end,
                        why: e.to_string(),
                    }),
                }
            }
            Found::Damage(gap) => gaps.push(gap),
            Found::End => {
                if end.is_none() && gaps.is_empty() {
                    let why = "there is nothing in it".to_owned();
                    gaps.push(Gap { at: 0, offset: first, resumes: None, why });
                }
                return Ok((end, gaps));
            }
        }
    }
}
