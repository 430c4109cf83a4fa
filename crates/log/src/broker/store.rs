//! Storing: when those who wait are stored, what of it is stored already, and who is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::{CONFLICTS, Inner, RETRY_MS};
use crate::error::{Error, Result};
use crate::group::{Group, Stamp};
use crate::input::Input;
use crate::producers::{Producers, Verdict};
use crate::settings::Settings;
use crate::storage::Refused;
use crate::topic::{Appended, Pending, Phase, State, Topic};

impl Inner {
    pub(super) fn gather(&self, settings: Option<&Settings>) -> Duration {
        settings
            .and_then(|s| s.gather_ms)
            .map_or_else(|| self.storage.gather(), |ms| Duration::from_millis(u64::from(ms)))
    }

    /// Whether those who wait need not wait any longer.
    pub(super) fn enough(&self, state: &State, settings: Option<&Settings>) -> bool {
        let bytes = settings.map_or(self.options.settings.gather_bytes, |s| s.gather_bytes);
        state.pending_bytes >= bytes as usize
            || self.eager(settings) && state.pending.len() >= state.expect
    }

    /// Whether nobody waits longer than those are likely to take who came together last time. Where
    /// the time is set, it is waited.
    fn eager(&self, settings: Option<&Settings>) -> bool {
        self.storage.eager() && settings.is_none_or(|s| s.gather_ms.is_none())
    }

    pub(super) fn commit_at(self: &Arc<Self>, at: Instant, t: Arc<Topic>, ticket: u64) {
        let this = Arc::clone(self);
        self.schedule.add(at, Box::new(move || this.commit(&t, ticket)));
    }

    /// Stores those who wait, or as many as go together.
    fn commit(self: &Arc<Self>, t: &Arc<Topic>, ticket: u64) {
        let settings = t.settings();
        let max = settings.as_ref().map_or(self.options.settings.gather_bytes, |s| s.gather_bytes);
        let taken: Vec<Pending> = {
            let mut state = t.state.lock();
            if state.phase != Phase::Gathering || state.ticket != ticket {
                return;
            }
            state.phase = Phase::Committing;
            let mut bytes = 0;
            let fits = |p: &&Pending| {
                bytes += p.input.bytes();
                bytes <= max as usize
            };
            let count = state.pending.iter().take_while(fits).count().max(1);
            let count = count.min(state.pending.len());
            let taken: Vec<Pending> = state.pending.drain(..count).collect();
            let bytes: usize = taken.iter().map(|p| p.input.bytes()).sum();
            state.pending_bytes = state.pending_bytes.saturating_sub(bytes);
            state.expect = taken.len().max(1);
            // They came while these waited.
            state.since = Instant::now();
            taken
        };
        let inputs: Vec<Input> = taken.iter().map(|p| p.input.clone()).collect();
        let mut results = self.store(t, &inputs).into_iter();
        drop(inputs);
        let again = {
            let mut state = t.state.lock();
            if state.pending.is_empty() {
                state.phase = Phase::Idle;
                None
            } else {
                state.phase = Phase::Gathering;
                state.ticket += 1;
                // They have waited as long as it took to store the others.
                let now =
                    self.eager(settings.as_deref()) || self.enough(&state, settings.as_deref());
                let now = now || self.closed.load(Relaxed);
                let wait = if now { Duration::ZERO } else { self.gather(settings.as_deref()) };
                Some((state.since + wait, state.ticket))
            }
        };
        if let Some((at, ticket)) = again {
            self.commit_at(at, Arc::clone(t), ticket);
        }
        let count = taken.len();
        for p in taken {
            let Pending { input, done, room } = p;
            // Who is answered may go on at once, and finds that there is room.
            drop((input, room));
            // As many results as inputs.
            done(results.next().unwrap_or(Err(Error::Closed)));
        }
        self.answered(count);
    }

    pub(super) fn answered(&self, count: usize) {
        if self.open.fetch_sub(count, Relaxed) == count && self.closed.load(Relaxed) {
            let _lock = self.idle_lock.lock();
            self.idle.notify_all();
        }
    }

    /// Stores inputs together; what became of each of them.
    fn store(self: &Arc<Self>, t: &Arc<Topic>, inputs: &[Input]) -> Vec<Result<Appended>> {
        let all = |e: Error| vec![Err(e); inputs.len()];
        let mut looked = !self.storage.shared();
        for _ in 0..CONFLICTS {
            let mut guard = match self.open(t, self.options.auto_create) {
                Ok(guard) => guard,
                Err(e) => {
                    self.forget_unused(t);
                    return all(e);
                }
            };
            let Some(work) = guard.as_mut() else { return all(Error::Closed) };
            let settings = t.settings().unwrap_or_default();
            let judged = judge(&work.producers, inputs);
            if !looked && judged.slots.iter().any(Slot::is_wrong) {
                // What is missing here may have been stored by somebody else.
                looked = true;
                if let Err(e) = self.catch_up(t, work) {
                    return all(e);
                }
                continue;
            }
            if judged.fresh.is_empty() {
                return self.answers(&judged, None, inputs);
            }
            let extent = work.log.extent();
            let stamp = Stamp {
                first_offset: extent.next,
                // Time stands still rather than going back.
                now_us: (self.clock)().max(extent.latest_us),
                writer: self.writer,
                compression: settings.compression,
                synced: settings.sync,
            };
            let bytes = judged.fresh.iter().map(Input::bytes).sum();
            let producers = &work.producers;
            let lead = match work.log.reserve(bytes, &settings, &|| producers.encode()) {
                Ok(lead) => lead,
                Err(e) => return all(e),
            };
            let mut group = Group::build(&self.pool, lead, &judged.fresh, stamp);
            match work.log.append(&mut group, settings.sync) {
                Ok(()) => {
                    group.headers().for_each(|(_, h)| work.producers.note(h));
                    self.take_settings(t, work);
                    drop(guard);
                    let answers = self.answers(&judged, Some(stamp), inputs);
                    self.publish(t, group);
                    return answers;
                }
                Err(Refused::Conflict) => {
                    if let Err(e) = self.catch_up(t, work) {
                        return all(e);
                    }
                }
                Err(Refused::Failed(e)) => {
                    (self.tell)(&format!("topic '{}': {e}", t.name));
                    return all(e);
                }
            }
        }
        all(Error::Busy { retry_ms: RETRY_MS })
    }

    fn answers(
        &self,
        judged: &Judged,
        stamp: Option<Stamp>,
        inputs: &[Input],
    ) -> Vec<Result<Appended>> {
        let mut offsets = Vec::with_capacity(judged.fresh.len());
        let mut next = stamp.map_or(0, |s| s.first_offset);
        for i in &judged.fresh {
            offsets.push(next);
            next += u64::from(i.records);
        }
        let slot = |(slot, input): (&Slot, &Input)| {
            let fresh = |i: usize, duplicate| Appended {
                first_offset: offsets.get(i).copied().unwrap_or(0),
                records: input.records,
                appended_us: stamp.map_or(0, |s| s.now_us),
                duplicate,
            };
            match slot {
                Slot::Fresh(i) => Ok(fresh(*i, false)),
                Slot::Same(i) => Ok(fresh(*i, true)),
                Slot::Decided(result) => result.clone(),
            }
        };
        let answers: Vec<_> = judged.slots.iter().zip(inputs).map(slot).collect();
        let again = answers.iter().filter(|a| a.as_ref().is_ok_and(|a| a.duplicate)).count();
        self.counters.duplicates.fetch_add(again as u64, Relaxed);
        answers
    }

    /// Shows readers what has been stored.
    fn publish(&self, t: &Arc<Topic>, group: Group) {
        let next = group.next_offset();
        let c = &self.counters;
        c.records.fetch_add(next - group.first_offset(), Relaxed);
        c.bytes.fetch_add(group.bytes().len() as u64, Relaxed);
        c.groups.fetch_add(1, Relaxed);
        let (batches, bytes) = group.into_batches();
        if bytes <= self.options.kept_max
            && let Some(first) = t.keep(batches)
        {
            let mut gone = Vec::new();
            let mut kept = self.kept.lock();
            kept.bytes += bytes;
            kept.groups.push_back((Arc::downgrade(t), first, bytes));
            while kept.bytes > self.options.kept_max
                && let Some((topic, first, bytes)) = kept.groups.pop_front()
            {
                kept.bytes -= bytes;
                gone.push((topic, first));
            }
            drop(kept);
            for (topic, first) in gone {
                if let Some(topic) = topic.upgrade() {
                    topic.drop_kept(first);
                }
            }
        }
        t.wake(next);
    }
}

/// What is to be done with inputs that are stored together.
struct Judged {
    slots: Vec<Slot>,
    fresh: Vec<Input>,
}

enum Slot {
    /// Is stored, as this one of the fresh ones.
    Fresh(usize),
    /// Is a retry of this one of the fresh ones.
    Same(usize),
    Decided(Result<Appended>),
}

impl Slot {
    /// Is refused as not the producer's next.
    fn is_wrong(&self) -> bool {
        matches!(self, Self::Decided(Err(_)))
    }
}

fn judge(producers: &Producers, inputs: &[Input]) -> Judged {
    let mut judged = Judged { slots: Vec::with_capacity(inputs.len()), fresh: Vec::new() };
    // By producer: the sequences among the fresh ones, and which they are.
    let mut numbered: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
    for input in inputs {
        let (producer, sequence) = (input.producer, input.sequence);
        let next = judged.fresh.len();
        let slot = if producer == 0 {
            Slot::Fresh(next)
        } else {
            let mine = numbered.entry(producer).or_default();
            if let Some((_, i)) = mine.iter().find(|(s, _)| *s == sequence) {
                Slot::Same(*i)
            } else {
                match producers.judge(producer, sequence, mine.last().map(|(s, _)| *s)) {
                    Verdict::New => {
                        mine.push((sequence, next));
                        Slot::Fresh(next)
                    }
                    Verdict::Known(s) => Slot::Decided(Ok(Appended {
                        first_offset: s.first_offset,
                        records: s.records,
                        appended_us: s.appended_us,
                        duplicate: true,
                    })),
                    Verdict::Wrong { expected } => {
                        Slot::Decided(Err(Error::Sequence { producer, expected, got: sequence }))
                    }
                }
            }
        };
        if matches!(slot, Slot::Fresh(_)) {
            judged.fresh.push(input.clone());
        }
        judged.slots.push(slot);
    }
    judged
}
