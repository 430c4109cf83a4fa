//! Storing: when waiting inputs are stored, which of them are stored already, and which producers are
//! notified.
//!
//! While a group is being written, the next one is collected and laid out by another thread (`prepare`), as
//! if all went well: at the offset and behind the bytes that the first one ends with. If it turns out
//! otherwise, it is laid out anew. It is written only after the first one is stored, so there is never more
//! than one being written, and one prepared.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::{CONFLICTS, Inner, RETRY_MS};
use crate::error::{Error, Result};
use crate::group::{Group, Stamp};
use crate::input::Input;
use crate::meter::Permit;
use crate::producers::{Producers, Verdict};
use crate::settings::Settings;
use crate::storage::Refused;
use crate::topic::{Appended, PendingAppend, Phase, State, Topic, Work, Writing};

/// Bytes that are worth preparing while others are being written.
const AHEAD_MIN: usize = 1 << 20;

impl Inner {
    pub(super) fn linger(&self, settings: Option<&Settings>) -> Duration {
        settings
            .and_then(|s| s.linger_ms)
            .map_or_else(|| self.storage.linger(), |ms| Duration::from_millis(u64::from(ms)))
    }

    /// Whether the waiting inputs need not wait any longer.
    pub(super) fn enough(&self, state: &State, settings: Option<&Settings>) -> bool {
        let bytes = settings.map_or(self.options.settings.group_bytes, |s| s.group_bytes);
        state.pending_bytes >= bytes as usize
            || self.eager(settings)
                && match &state.writing {
                    None => state.pending.len() >= state.expect,
                    // Sooner would make many small groups of few large ones.
                    Some(w) => state.pending_bytes >= AHEAD_MIN.max(w.bytes / 2),
                }
    }

    /// Whether inputs wait only until as many have come as were stored together last time. Where the time
    /// is set, they wait for all of it.
    pub(super) fn eager(&self, settings: Option<&Settings>) -> bool {
        self.storage.eager() && settings.is_none_or(|s| s.linger_ms.is_none())
    }

    pub(super) fn commit_at(self: &Arc<Self>, at: Instant, t: Arc<Topic>, ticket: u64) {
        let this = Arc::clone(self);
        self.schedule.add(at, Box::new(move || this.commit(&t, ticket)));
    }

    /// Stores the waiting inputs, or as many as fit one group.
    fn commit(self: &Arc<Self>, t: &Arc<Topic>, ticket: u64) {
        let settings = t.settings();
        let max = settings.as_ref().map_or(self.options.settings.group_bytes, |s| s.group_bytes);
        let (taken, before) = {
            let mut state = t.state.lock();
            if state.phase != Phase::Gathering || state.ticket != ticket {
                return;
            }
            state.phase = Phase::Committing;
            let mut bytes = 0;
            let fits = |p: &&PendingAppend| {
                bytes += p.input.bytes();
                bytes <= max as usize
            };
            let count = state.pending.iter().take_while(fits).count().max(1);
            let count = count.min(state.pending.len());
            let taken: Vec<PendingAppend> = state.pending.drain(..count).collect();
            let bytes: usize = taken.iter().map(|p| p.input.bytes()).sum();
            state.pending_bytes = state.pending_bytes.saturating_sub(bytes);
            state.expect = taken.len().max(1);
            // They came while these waited.
            state.since = Instant::now();
            (taken, state.writing)
        };
        let inputs: Vec<&Input> = taken.iter().map(|p| &p.input).collect();
        let prepared = before.map(|w| self.prepare(&inputs, w, settings.as_deref()));
        let (results, written) = self.store(t, &inputs, prepared);
        drop(inputs);
        if !written {
            // As after a write, but no input has been let in before.
            let mut state = t.state.lock();
            state.phase = Phase::Gathering;
            self.go_on(t, state);
        }
        let count = taken.len();
        let stored = results.iter().filter(|r| r.is_ok()).count();
        self.counters.appends.fetch_add(stored as u64, Relaxed);
        let mut results = results.into_iter();
        for p in taken {
            let PendingAppend { input, done, permit } = p;
            // An answered producer may go on at once, and finds that there is room.
            drop((input, permit));
            // As many results as inputs.
            done(results.next().unwrap_or(Err(Error::Closed)));
        }
        self.answered(count);
    }

    /// Lays a group out that follows one which is being written.
    fn prepare(&self, inputs: &[&Input], before: Writing, settings: Option<&Settings>) -> Prepared {
        let settings = settings.unwrap_or(&self.options.settings);
        let stamp = Stamp {
            first_offset: before.next,
            now_us: (self.clock)().max(before.now_us),
            writer: self.writer,
            compression: settings.compression,
            synced: settings.sync,
        };
        let lead = before.lead;
        Prepared { lead, stamp, group: Group::build(&self.pool, lead, inputs, stamp) }
    }

    /// Lets the next group be prepared, since this one is about to be written.
    fn begin_write(
        self: &Arc<Self>,
        t: &Arc<Topic>,
        work: &Work,
        group: &mut Group,
        now_us: u64,
    ) -> u64 {
        let (_, begin, end) = group.raw();
        let settings = t.settings();
        let mut state = t.state.lock();
        state.writes += 1;
        let number = state.writes;
        let (next, lead) = (group.next_offset(), work.log.lead_after(end));
        state.writing = Some(Writing { number, bytes: end - begin, next, now_us, lead });
        let enough = self.enough(&state, settings.as_deref());
        if state.pending.is_empty() {
            state.phase = Phase::Idle;
            return number;
        }
        state.phase = Phase::Gathering;
        if !enough && self.eager(settings.as_deref()) {
            return number;
        }
        let wait = if enough { Duration::ZERO } else { self.linger(settings.as_deref()) };
        let at = state.since + wait;
        state.ticket += 1;
        let ticket = state.ticket;
        drop(state);
        self.commit_at(at, Arc::clone(t), ticket);
        number
    }

    /// A group has been written, or could not be: the inputs that have waited for that are next.
    fn end_write(self: &Arc<Self>, t: &Arc<Topic>, number: u64) {
        let mut state = t.state.lock();
        // Otherwise the next one is being written already.
        if state.writing.is_some_and(|w| w.number == number) {
            state.writing = None;
            if state.phase == Phase::Gathering {
                self.go_on(t, state);
            }
        }
    }

    /// Schedules the storing of the waiting inputs: at once, or when enough have been collected.
    fn go_on(self: &Arc<Self>, t: &Arc<Topic>, mut state: MutexGuard<'_, State>) {
        if state.pending.is_empty() {
            state.phase = Phase::Idle;
            return;
        }
        let settings = t.settings();
        let settings = settings.as_deref();
        // They have waited as long as it took to store the others.
        let now = self.eager(settings) || self.enough(&state, settings);
        let now = now || self.closed.load(Relaxed);
        let wait = if now { Duration::ZERO } else { self.linger(settings) };
        let at = state.since + wait;
        state.ticket += 1;
        let ticket = state.ticket;
        drop(state);
        self.commit_at(at, Arc::clone(t), ticket);
    }

    pub(super) fn answered(&self, count: usize) {
        if self.open.fetch_sub(count, SeqCst) == count && self.closed.load(SeqCst) {
            let _lock = self.idle_lock.lock();
            self.idle.notify_all();
        }
    }

    /// Stores inputs together; returns the result of each of them, and whether anything had to be written.
    fn store(
        self: &Arc<Self>,
        t: &Arc<Topic>,
        inputs: &[&Input],
        mut prepared: Option<Prepared>,
    ) -> (Vec<Result<Appended>>, bool) {
        let mut written = None;
        let results = self.try_store(t, inputs, &mut prepared, &mut written);
        if let Some(number) = written {
            self.end_write(t, number);
        }
        (results, written.is_some())
    }

    fn try_store(
        self: &Arc<Self>,
        t: &Arc<Topic>,
        inputs: &[&Input],
        prepared: &mut Option<Prepared>,
        written: &mut Option<u64>,
    ) -> Vec<Result<Appended>> {
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
                // The missing batches may have been stored by another process.
                looked = true;
                if let Err(e) = self.catch_up(t, work) {
                    return all(e);
                }
                continue;
            }
            if judged.fresh.is_empty() {
                return self.answers(&judged, None, inputs);
            }
            let whole = judged.fresh.len() == inputs.len();
            let prepared = prepared.take().filter(|_| whole);
            let (mut group, stamp) = match self.lay_out(work, &judged.fresh, &settings, prepared) {
                Ok(laid) => laid,
                Err(e) => return all(e),
            };
            if written.is_none() {
                *written = Some(self.begin_write(t, work, &mut group, stamp.now_us));
            }
            match work.log.append(&mut group, settings.sync) {
                Ok(()) => {
                    group.headers().for_each(|(_, h)| work.producers.note(h));
                    self.take_settings(t, work);
                    let next = group.next_offset();
                    // Before the next group can be stored: they are kept in order.
                    self.keep(t, group);
                    drop(guard);
                    if let Some(number) = *written {
                        self.end_write(t, number);
                    }
                    t.wake(next);
                    return self.answers(&judged, Some(stamp), inputs);
                }
                Err(Refused::Conflict) => {
                    if let Err(e) = self.catch_up(t, work) {
                        return all(e);
                    }
                }
                Err(Refused::Failed(e)) => {
                    self.counters.storage_errors.fetch_add(1, Relaxed);
                    (self.tell)(&format!("topic '{}': {e}", t.name));
                    return all(e);
                }
            }
        }
        all(Error::Busy { retry_ms: RETRY_MS })
    }

    /// The group of these inputs, behind the last one that is stored: the one that was prepared of them, if it still
    /// fits there.
    fn lay_out(
        &self,
        work: &Work,
        inputs: &[&Input],
        settings: &Settings,
        prepared: Option<Prepared>,
    ) -> Result<(Group, Stamp)> {
        let extent = work.log.extent();
        let stamp = Stamp {
            first_offset: extent.next,
            // Time stands still rather than going back.
            now_us: (self.clock)().max(extent.latest_us),
            writer: self.writer,
            compression: settings.compression,
            synced: settings.sync,
        };
        let bytes = inputs.iter().map(|i| i.bytes()).sum();
        let lead = work.log.reserve(bytes, settings, &|| work.producers.encode());
        let lead = lead.inspect_err(|_| {
            self.counters.storage_errors.fetch_add(1, Relaxed);
        })?;
        let fits = |p: &Prepared| {
            // Its timestamp was read before ours.
            let same = Stamp { now_us: p.stamp.now_us, ..stamp } == p.stamp;
            same && p.lead == lead && p.stamp.now_us >= extent.latest_us
        };
        Ok(match prepared.filter(fits) {
            Some(p) => (p.group, p.stamp),
            None => (Group::build(&self.pool, lead, inputs, stamp), stamp),
        })
    }

    fn answers(
        &self,
        judged: &Judged<'_>,
        stamp: Option<Stamp>,
        inputs: &[&Input],
    ) -> Vec<Result<Appended>> {
        let mut offsets = Vec::with_capacity(judged.fresh.len());
        let mut next = stamp.map_or(0, |s| s.first_offset);
        for i in &judged.fresh {
            offsets.push(next);
            next += u64::from(i.records);
        }
        let slot = |(slot, input): (&Slot, &&Input)| {
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

    /// A permit to keep a group for readers; the oldest kept groups are freed for it. Groups that slow readers
    /// still use keep their permit: then there may be none.
    fn permit_to_keep(&self, bytes: usize) -> Option<Permit> {
        if bytes > self.options.kept_max {
            return None;
        }
        loop {
            if let Some(permit) = self.kept_meter.take(bytes) {
                return Some(permit);
            }
            let (topic, first) = self.kept.lock().pop_front()?;
            if let Some(topic) = topic.upgrade() {
                topic.drop_kept(first);
            }
        }
    }

    /// Counts the stored records, and keeps it for readers.
    fn keep(&self, t: &Arc<Topic>, group: Group) {
        let c = &self.counters;
        c.records.fetch_add(group.next_offset() - group.first_offset(), Relaxed);
        c.bytes.fetch_add(group.bytes().len() as u64, Relaxed);
        c.groups.fetch_add(1, Relaxed);
        if let Some(permit) = self.permit_to_keep(group.capacity())
            && let Some(first) = t.keep(group.into_batches(Some(permit)))
        {
            self.kept.lock().push_back((Arc::downgrade(t), first));
        }
    }
}

/// The work to do with inputs that are stored together.
struct Judged<'a> {
    slots: Vec<Slot>,
    fresh: Vec<&'a Input>,
}

/// A group that was laid out before it was known for sure where it will be.
struct Prepared {
    lead: usize,
    stamp: Stamp,
    group: Group,
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

fn judge<'a>(producers: &Producers, inputs: &[&'a Input]) -> Judged<'a> {
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
            judged.fresh.push(input);
        }
        judged.slots.push(slot);
    }
    judged
}
