//! Letting go of the oldest objects.
//!
//! First the head says that the topic begins later; only when it has said so for a while are the
//! objects before deleted (see [`super::tail`] for why). How long is measured by the process that
//! deletes, from when it first saw it in the head: clocks of several machines need not agree.

use std::time::{Duration, Instant};

use object_store::path::Path;

use super::end::{Moment, Tail};
use super::head::Totals;
use super::names;
use super::tail::note_in;
use super::topic::{ObjectTopic, State};
use crate::error::Result;
use crate::storage::Limits;

/// Objects that are deleted with one listing.
const PAGE: usize = 1000;
/// How long deleting goes on at once: no thread can append meanwhile.
const TURN: Duration = Duration::from_secs(1);

impl ObjectTopic {
    pub(super) fn let_go(&self, limits: &Limits, log_state: &dyn Fn() -> Vec<u8>) -> Result<bool> {
        let mut tail = self.tail.lock();
        let state = self.state();
        let (to, gone) = self.beyond(limits, &state)?;
        let any = to > state.first;
        if any {
            let producers = log_state();
            self.write_head(&mut tail, |head| {
                // A process that begins reading behind it must find the earlier producers.
                note_in(head, &state, &producers);
                // Unless another process was faster.
                if head.first == state.first {
                    head.first = to;
                    head.trimmed.bytes += gone.bytes;
                    head.trimmed.objects += gone.objects;
                }
                if head.condemned == 0 {
                    head.condemned = head.first;
                }
            })?;
            self.map.lock().cut(self.state().first);
        }
        self.purge(&mut tail)?;
        Ok(any)
    }

    /// The offset that the topic is to begin with, and the objects that lie before.
    fn beyond(&self, limits: &Limits, state: &State) -> Result<(u64, Totals)> {
        let mut gone = Totals::default();
        if state.first >= state.next {
            return Ok((state.first, gone));
        }
        let (first, place) = self.locate(state.first)?;
        let any_old = limits.before_us != 0 && self.appended(first, &place)? < limits.before_us;
        let young = if any_old { self.first_since(limits.before_us)? } else { state.first };
        let bytes = state.totals.bytes.saturating_sub(state.trimmed.bytes);
        let mut at = state.first;
        while at < state.next {
            let (_, place) = self.locate(at)?;
            let rest = bytes.saturating_sub(gone.bytes + place.bytes);
            if at >= young && (limits.bytes == 0 || rest < limits.bytes) {
                break;
            }
            gone.add(place.bytes);
            at = place.next;
        }
        Ok((at.min(state.next), gone))
    }

    /// Deletes the objects that have been condemned for long enough.
    fn purge(&self, tail: &mut Tail) -> Result<()> {
        let (before, since) = tail.condemned;
        if before == 0 || since.age() < self.shared.options.grace {
            return Ok(());
        }
        let begin = Instant::now();
        let mut last = None;
        loop {
            if last.is_some() && begin.elapsed() >= TURN {
                // The rest is for the next time.
                return Ok(());
            }
            let folder = names::log(&self.data);
            let listed = self.shared.remote.list(&folder, None, PAGE)?;
            let old: Vec<Path> = listed
                .into_iter()
                .map(|l| l.path)
                .filter(|p| names::first_of(p).is_some_and(|first| first < before))
                .collect();
            // A listing may still show deleted objects.
            if old.is_empty() || old.last() == last.as_ref() {
                break;
            }
            self.shared.remote.delete(&old)?;
            if let Some(cache) = &self.shared.cache {
                old.iter()
                    .filter_map(names::first_of)
                    .for_each(|first| cache.remove(&self.id, first));
            }
            last = old.last().cloned();
        }
        tail.condemned = (before, Moment::now());
        self.write_head(tail, |head| {
            if head.condemned == before {
                head.condemned = if head.first > before { head.first } else { 0 };
            }
        })
    }
}
