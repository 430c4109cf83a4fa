//! The writer: takes the records that the threads have appended, and makes them durable.
//!
//! One *turn* merges the present records into a group, writes it with one call and syncs it as the policy
//! says. While it syncs, the threads go on; the records that they append meanwhile are the next group. Under
//! `always`, all clients share one sync, however many they are.
//!
//! Clients that have just been answered are likely to send again soon. An immediate sync of the records that
//! other clients sent meanwhile splits the clients into two parties, each of which waits for the other's sync
//! as well as for its own. So the writer waits for as many records as both parties have made, for half of the
//! time that the sync took (`Writer::gathering`): one sync serves all. Where a sync takes less time than a
//! round trip of all clients, they do not come in time, and two parties are better: one is served while the
//! other's sync is under way. Then the wait is seldom tried.
//!
//! **Which thread writes.** Under `always` the writer's own thread writes, since the other threads have to
//! wait for the disk anyway. Without `always` a reply needs the write alone, which takes less time than waking
//! another thread: a thread with a reply to send writes for all ([`Shared::write_through`]). For that, the
//! writer lies in [`Shared`] behind a lock while its thread runs, and the writer's thread does the long work
//! (syncs, new files, the manifest: `Work`) without the lock.
//!
//! **Failures.** A write that fails is retried every second, at the same offset; until it succeeds the server
//! refuses writes. A sync that fails under `always` is another matter: the system may have dropped the bytes
//! that it could not write, and report success the next time. Nothing of that segment is trusted any more,
//! nothing is acknowledged, until a rewrite has made a new base and a new segment. Under `everysec` it is
//! retried, as in Redis, and then a rewrite is requested.

mod files;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::Location;
use super::manifest::{Base, Manifest};
use super::record::{self, Salt};
use super::recover::Recovered;
use super::shared::{Observer, Shared, Sync, Trouble};
use crate::disk::{Disk, File};
use files::{Finished, Naming, Rebase, Step, Work, named, reason};

/// Bytes of one write, unless a record alone is longer.
const GROUP: usize = 4 << 20;
/// A buffer that has grown beyond this is given back.
const KEEP: usize = 8 << 20;
/// Between two attempts of a failing operation, and between two syncs of `everysec`.
const SECOND: Duration = Duration::from_secs(1);
/// The part of a sync's time that the writer waits for more records for the next sync.
const LINGER_SHARE: u32 = 2;
/// Where waiting is in vain, it is retried after so many syncs at most.
const PAUSE_MAX: u32 = 63;
/// Orders to the writer, carried out between two groups.
pub enum Control {
    /// Begin a new segment, so that a rewrite can replace the segments so far.
    Rotate,
    /// Take a new base, and remove the files that it makes superfluous.
    Rebase(Base, Done),
    /// Write and sync everything, then end.
    Stop,
}

/// Notified of the result.
pub type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

struct Segment {
    file: Arc<dyn File>,
    name: String,
    salt: Salt,
    seed: u32,
    /// Behind the last record.
    at: u64,
    /// Up to here the file is zeros beyond `at`.
    zeroed: u64,
    /// Marks in it say that all was durable up to here. What comes before its first record need not be marked:
    /// a segment does not begin before the one in front of it is durable.
    marked: u64,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do at once.
    More,
    /// There is nothing to do, for so long at most.
    Idle(Option<Duration>),
    /// It was ordered to stop, and everything is durable or cannot become so.
    Stopped,
}

/// See the module's text.
pub struct Writer {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    observer: Arc<dyn Observer>,
    place: Location,
    manifest: Manifest,
    /// Highest number in a file name.
    number: u64,
    segment: Segment,
    records: stream::Reader,
    /// The number that comes next in the file.
    next: u64,
    /// Sealed records that wait to be written, and the last number in them.
    group: Vec<u8>,
    group_last: u64,
    /// Records were written since the last sync.
    unsynced: bool,
    /// A mark was.
    mark_unsynced: bool,
    synced_at: Instant,
    /// Up to here everything was synced.
    synced: u64,
    /// The records that the writer waits for before the next sync of `always`, and for how long.
    gathering: Option<(u64, Duration)>,
    /// The records that the writer has waited for.
    awaited: Option<u64>,
    /// Syncs that are yet to pass without a wait, and how many there were the last time that the wait was in
    /// vain; 0 when it was not.
    rest: u32,
    pause: u32,
    /// When a failed operation is retried.
    retry_at: Option<Instant>,
    /// Records were dropped because the segment is not trusted; a new segment ends that.
    gap: bool,
    /// A sync has failed and was retried.
    may_have_lost: bool,
    /// The file of the segment that comes next.
    spare: Option<Segment>,
    /// The next segment is to be begun.
    rotating: bool,
    /// `segment` is not named yet: the pending work for that.
    naming: Option<Naming>,
    /// No manifest may name the journal before it has a base.
    baseless: bool,
    /// Files of another journal, which this one replaces.
    superseded: Vec<String>,
    stopping: bool,
    controls: std::sync::mpsc::Receiver<Control>,
    /// A new base that has to wait for `rotating` and `naming`.
    later: Option<(Base, Done)>,
}

/// Where the writer's orders are left.
pub type Orders = std::sync::mpsc::Sender<Control>;

/// Removes files in the journal's directory that its manifest does not name, now or with those that the first
/// base supersedes.
fn settle_strays(
    disk: &dyn Disk,
    place: &Location,
    observer: &dyn Observer,
    from: &mut Recovered,
) -> io::Result<()> {
    let strays = files::strays(disk, place, &from.manifest)?;
    if from.baseless || !from.superseded.is_empty() {
        // They may belong to the journal that this one replaces.
        from.superseded.extend(strays);
    } else if !strays.is_empty() {
        files::remove(disk, place, &strays).iter().for_each(|note| observer.note(note));
        disk.sync_dir(&place.dir)?;
    }
    Ok(())
}

/// The segment in which recovery has ended, if it has room; otherwise a new one.
fn first_segment(
    disk: &dyn Disk,
    shared: &Shared,
    place: &Location,
    from: &mut Recovered,
) -> io::Result<Segment> {
    let Recovered { manifest, last, tail, baseless, number, adopted, .. } = from;
    // The bytes that a killed process has written may be in memory only; a segment that is named behind
    // another one says that the other is durable.
    let unsure = if *adopted { 2 } else { 1 };
    for (name, _) in manifest.segments.iter().rev().take(unsure) {
        disk.open(&place.file(name), false)?.sync()?;
    }
    if let Some(tail) = tail.take_if(|tail| tail.at < place.segment_bytes) {
        let file: Arc<dyn File> = disk.open(&place.file(&tail.name), false)?.into();
        if *adopted {
            manifest.store(disk, &place.manifest())?;
        }
        return Ok(Segment {
            file,
            name: tail.name,
            salt: tail.header.salt,
            seed: tail.header.seed(),
            at: tail.at,
            zeroed: tail.len,
            marked: tail.marked,
        });
    }
    let ahead = if shared.policy() == Sync::Always { place.ahead_bytes } else { 0 };
    *number += 1;
    let mut segment = files::make(disk, place, *number, ahead)?;
    let next = *last + 1;
    files::begin(&mut segment, next)?;
    segment.file.sync()?;
    manifest.segments.push((segment.name.clone(), next));
    if !*baseless {
        manifest.store(disk, &place.manifest())?;
    }
    Ok(segment)
}

impl Writer {
    /// A writer that goes on where recovery has ended, or begins a journal in an empty directory.
    ///
    /// # Errors
    /// Its first files cannot be made.
    pub fn start(
        disk: Arc<dyn Disk>,
        shared: Arc<Shared>,
        observer: Arc<dyn Observer>,
        place: Location,
        from: Recovered,
    ) -> io::Result<(Self, Orders)> {
        disk.create_dir(&place.dir)?;
        if let Some(parent) = place.dir.parent() {
            disk.sync_dir(parent)?;
        }
        let mut from = from;
        settle_strays(&*disk, &place, &*observer, &mut from)?;
        shared.set_trouble(None);
        shared.set_observer(&observer);
        from.number = from.manifest.highest().max(from.number);
        let segment = first_segment(&*disk, &shared, &place, &mut from)?;
        let Recovered { manifest, last, baseless, superseded, number, .. } = from;
        let records = shared.stream.reader(last);
        shared.resume_at(last);
        let (orders, controls) = std::sync::mpsc::channel();
        let writer = Self {
            disk,
            shared,
            observer,
            place,
            manifest,
            number,
            segment,
            records,
            next: last + 1,
            group: Vec::new(),
            group_last: last,
            unsynced: false,
            mark_unsynced: false,
            synced_at: Instant::now(),
            synced: last,
            gathering: None,
            awaited: None,
            rest: 0,
            pause: 0,
            retry_at: None,
            gap: false,
            may_have_lost: false,
            spare: None,
            rotating: false,
            naming: None,
            baseless,
            superseded,
            stopping: false,
            controls,
            later: None,
        };
        writer.measure();
        writer.measure_base();
        Ok((writer, orders))
    }

    /// Takes the size of the base as that from which the journal grows; without a base, the journal's own.
    fn measure_base(&self) {
        let figures = &self.shared.figures;
        let base = if let Base::Snapshot { bytes, .. } = &self.manifest.base { *bytes } else { 0 };
        let base = if base > 0 { base } else { figures.size.load(Relaxed) };
        figures.base_size.store(base, Relaxed);
    }

    /// Highest number in the name of one of its files.
    pub fn highest(&self) -> u64 {
        self.number
    }

    /// The writer's thread: until it is ordered to stop.
    pub fn run(self) {
        let (shared, disk, place) =
            (Arc::clone(&self.shared), Arc::clone(&self.disk), self.place.clone());
        shared.set_writer(Some(Box::new(self)));
        let mut done = None;
        loop {
            let step = shared.with_writer(|writer| {
                let now = Instant::now();
                if let Some(done) = done.take() {
                    writer.finished(now, done);
                    if let Some((expected, time)) = writer.gathering.take() {
                        writer.awaited = Some(expected);
                        return (Step::Turn(Turn::Idle(Some(time))), expected);
                    }
                } else {
                    writer.learn();
                }
                let step = writer.step(now);
                // A failing operation is not retried sooner because more records come, and without `always`
                // other threads write.
                let waits = writer.retry_at.is_some() || writer.shared.policy() != Sync::Always;
                (step, if waits { u64::MAX } else { writer.next - 1 })
            });
            match step {
                // The turn may wait for a thread that has a number and is about to append.
                Some((Step::Turn(Turn::More), _)) => stdx::sync::spin_loop(),
                Some((Step::Turn(Turn::Idle(time)), beyond)) => shared.sleep(time, beyond),
                Some((Step::Work(work), _)) => done = Some(work.run(&*disk, &place)),
                Some((Step::Turn(Turn::Stopped), _)) | None => break,
            }
        }
        shared.set_writer(None);
    }

    /// One turn, at time `now`.
    pub fn turn(&mut self, now: Instant) -> Turn {
        loop {
            match self.step(now) {
                Step::Turn(turn) => return turn,
                Step::Work(work) => {
                    let done = work.run(&*self.disk, &self.place);
                    self.finished(now, done);
                }
            }
        }
    }

    fn step(&mut self, now: Instant) -> Step {
        if let Some(work) = self.obey() {
            return Step::Work(work);
        }
        if let Some(at) = self.retry_at {
            if self.stopping {
                return Step::Turn(Turn::Stopped);
            }
            if now < at {
                return Step::Turn(Turn::Idle(Some(at - now)));
            }
            self.retry_at = None;
        }
        if let Some(naming) = &self.naming {
            return Step::Work(Work::Name(naming.clone()));
        }
        if self.group.is_empty() {
            self.merge();
        }
        if self.gap {
            // No client is told that these are safe; the base that ends this state contains them.
            self.group.clear();
        } else if let Err(e) = self.write() {
            self.failed(now, &e);
            let idle = Turn::Idle(Some(SECOND));
            return Step::Turn(if self.stopping { Turn::Stopped } else { idle });
        }
        if self.is_sync_due(now) {
            (self.unsynced, self.mark_unsynced) = (false, false);
            self.synced_at = now;
            let (file, name) = (Arc::clone(&self.segment.file), self.segment.name.clone());
            return Step::Work(Work::Sync(file, name, self.group_last));
        }
        // A group that waits for room on the disk was sealed for this segment.
        if self.rotating && self.group.is_empty() && !self.stopping {
            let Some(spare) = self.spare.take() else {
                let always = self.shared.policy() == Sync::Always;
                let ahead = if always { self.place.ahead_bytes } else { 0 };
                return Step::Work(Work::Make(self.number + 1, ahead));
            };
            if let Err(e) = self.rotate(spare) {
                self.failed(now, &e);
                return Step::Turn(Turn::Idle(Some(SECOND)));
            }
            return Step::Turn(Turn::More);
        }
        if self.shared.trouble().is_some_and(|t| !t.lasting) {
            self.trouble(None);
            if std::mem::take(&mut self.may_have_lost) {
                self.observer.may_have_lost();
            }
        }
        let more = self.next <= self.shared.last() && !(self.gap && self.stopping);
        Step::Turn(if more || self.mark_all() {
            Turn::More
        } else if self.stopping {
            Turn::Stopped
        } else {
            let due = match self.shared.policy() {
                Sync::Always => self.mark_unsynced,
                Sync::EverySecond => self.unsynced || self.mark_unsynced,
                Sync::Never => false,
            };
            let left = || (self.synced_at + SECOND).saturating_duration_since(now);
            Turn::Idle(due.then(left))
        })
    }

    /// Remembers whether the expected clients came: the more often they do not (the syncs are fast, or the
    /// clients send at their own pace), the less often the writer waits for them.
    fn learn(&mut self) {
        if let Some(expected) = self.awaited.take() {
            let came = self.shared.last() > expected;
            self.pause = if came { 0 } else { (2 * self.pause + 1).min(PAUSE_MAX) };
            self.rest = self.pause;
        }
    }

    /// Takes its orders.
    fn obey(&mut self) -> Option<Work> {
        loop {
            let waits = self.rotating || self.naming.is_some();
            let control = match self.later.take_if(|_| !waits) {
                Some((base, done)) => Control::Rebase(base, done),
                None => self.controls.try_recv().ok()?,
            };
            match control {
                Control::Stop => {
                    self.stopping = true;
                    self.retry_at = None;
                    // The event that it waits for may never come: the files so far are the journal.
                    if let Some((_, done)) = self.later.take() {
                        done(Err("the journal is being closed".to_owned()));
                    }
                }
                Control::Rotate => self.rotating = true,
                Control::Rebase(base, done) if waits => self.later = Some((base, done)),
                Control::Rebase(base, done) => match self.rebase(base) {
                    Ok(rebase) => return Some(Work::Rebase(rebase, done)),
                    Err(why) => done(Err(why)),
                },
            }
        }
    }

    /// Takes note of how work went.
    fn finished(&mut self, now: Instant, done: Finished) {
        match done {
            Finished::Synced(upto, took, Ok(())) => {
                let figures = &self.shared.figures;
                if took > SECOND {
                    figures.delayed.fetch_add(1, Relaxed);
                }
                figures.syncs.fetch_add(1, Relaxed);
                self.publish(upto);
                let answered = upto.saturating_sub(self.synced);
                self.synced = upto;
                if answered == 0 {
                    // It was for a mark alone.
                } else if self.rest > 0 {
                    self.rest -= 1;
                } else if self.shared.policy() == Sync::Always && !self.stopping {
                    // All except a few: some clients may have sent their last command.
                    let others = self.shared.last().saturating_sub(upto);
                    let all = answered + others;
                    let enough = (upto + all - all / 8).saturating_sub(1);
                    self.gathering = Some((enough, took / LINGER_SHARE));
                }
            }
            Finished::Synced(_, _, Err(e)) => {
                self.shared.figures.delayed.fetch_add(1, Relaxed);
                self.unsynced = true;
                if self.shared.policy() == Sync::Always {
                    self.abandon_segment(&e);
                }
                self.may_have_lost = !self.gap;
                self.failed(now, &e);
            }
            Finished::Made(Ok(segment)) => {
                self.number += 1;
                self.spare = Some(segment);
            }
            Finished::Named(Ok(manifest), upto) => {
                self.naming = None;
                self.manifest = manifest;
                if let Some(upto) = upto {
                    self.publish(upto);
                }
            }
            Finished::Made(Err(e)) | Finished::Named(Err(e), _) => self.failed(now, &e),
            Finished::Rebased(Ok(rebase), done) => {
                self.rebased(rebase);
                done(Ok(()));
            }
            Finished::Rebased(Err(e), done) => done(Err(format!("writing the manifest: {e}"))),
        }
    }

    /// Writes all that was appended so far, on a thread that has replies to send. Not under `always`, where
    /// replies also need a sync. Whether all is written.
    pub(crate) fn write_all(&mut self, upto: u64) -> bool {
        if self.shared.policy() == Sync::Always || self.retry_at.is_some() || self.gap {
            return true;
        }
        let idle = !self.unsynced;
        let mut patience = 100;
        while self.next <= upto || !self.group.is_empty() {
            if self.group.is_empty() {
                self.merge();
            }
            if self.group.is_empty() {
                // Another thread has a number and is about to append.
                patience -= 1;
                if patience == 0 {
                    return false;
                }
                stdx::sync::spin_loop();
                continue;
            }
            if let Err(e) = self.write() {
                self.failed(Instant::now(), &e);
                self.shared.ring();
                return true;
            }
        }
        if self.segment.at >= self.place.segment_bytes && !self.rotating && self.naming.is_none() {
            self.rotating = true;
            self.shared.ring();
        } else if idle && self.unsynced {
            // The next sync is to be planned.
            self.shared.ring();
        }
        true
    }

    /// Moves the appended records into the group, in the order of their numbers, up to the first one that is
    /// not there yet.
    fn merge(&mut self) {
        if self.group.capacity() > KEEP {
            self.group = Vec::new();
        }
        let Self { group, segment, group_last, next, records, shared, .. } = self;
        let durable = shared.durable();
        let (salt, seed) = (segment.salt, segment.seed);
        let pending = records.read(|sequence, frame| {
            assert!(sequence == *next, "the stream has no gaps");
            if group.is_empty() && segment.marked < durable {
                record::mark(group, sequence, durable, &salt, seed);
                segment.marked = durable;
            }
            let from = group.len();
            if frame.is_messages() {
                // Numbers have no gaps.
                record::nothing(group, sequence);
            } else {
                group.extend_from_slice(frame.bytes());
            }
            record::seal(&mut group[from..], seed);
            *group_last = sequence;
            *next += 1;
            group.len() < GROUP
        });
        shared.figures.pending.store((pending + group.len()) as u64, Relaxed);
    }

    /// Puts a mark into the empty group when none says yet how far everything is durable.
    fn mark(&mut self) -> bool {
        let durable = self.shared.durable();
        if self.gap || !self.group.is_empty() || self.segment.marked >= durable {
            return false;
        }
        record::mark(&mut self.group, self.next, durable, &self.segment.salt, self.segment.seed);
        self.segment.marked = durable;
        true
    }

    /// The same where everything is durable: no group may follow for a long time, or ever, that a mark
    /// could come with.
    fn mark_all(&mut self) -> bool {
        self.shared.durable() == self.group_last && self.mark()
    }

    fn write(&mut self) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let len = self.group.len();
        let end = self.segment.at + len as u64;
        let s = &mut self.segment;
        let mut zeroed = s.zeroed.max(end);
        if end > s.zeroed && self.shared.policy() == Sync::Always {
            zeroed = end.next_multiple_of(4096) + self.place.ahead_bytes;
            self.group.resize(len + (zeroed - end) as usize, 0);
        }
        let written = s.file.write_at(&self.group, s.at);
        self.group.truncate(len);
        written.map_err(|e| named("writing", &s.name, &e))?;
        (s.at, s.zeroed) = (end, zeroed);
        if self.group_last > self.shared.written() {
            self.unsynced = true;
        } else {
            self.mark_unsynced = true;
        }
        self.group.clear();
        self.shared.figures.size.fetch_add(len as u64, Relaxed);
        self.shared.figures.pending.store(0, Relaxed);
        self.shared.set_written(self.group_last);
        Ok(())
    }

    /// Whether the segment is to be synced; notes as well that it has become long. A mark is synced with the
    /// records that follow it, or after a second.
    fn is_sync_due(&mut self, now: Instant) -> bool {
        if self.segment.at >= self.place.segment_bytes && !self.gap {
            self.rotating = true;
        }
        let any = self.unsynced || self.mark_unsynced;
        let passed = now.saturating_duration_since(self.synced_at) >= SECOND;
        let due = self.stopping && any
            || match self.shared.policy() {
                Sync::Always => self.unsynced || any && passed,
                Sync::EverySecond => any && passed,
                Sync::Never => false,
            };
        due && !self.gap
    }

    /// Publishes how far everything is durable, unless a base is missing for that. A mark that says so is on
    /// disk for every published number; only under `always` the mark is left to the next group, or to the next
    /// moment without one, since replies wait for this.
    fn publish(&mut self, upto: u64) {
        if self.shared.trouble().is_some_and(|t| t.lasting) {
            return;
        }
        self.shared.set_durable(upto);
        if self.shared.policy() != Sync::Always
            && self.mark()
            && let Err(e) = self.write()
        {
            self.failed(Instant::now(), &e);
        }
        self.observer.durable(upto);
    }

    /// From here on records go to another segment, which the manifest does not name yet: recovery finds it
    /// behind the last one that is named.
    fn rotate(&mut self, mut spare: Segment) -> io::Result<()> {
        if let Err(e) = files::begin(&mut spare, self.next) {
            self.spare = Some(spare);
            return Err(e);
        }
        let mut manifest = self.manifest.clone();
        manifest.segments.push((spare.name.clone(), self.next));
        let old = std::mem::replace(&mut self.segment, spare);
        self.naming = Some(Naming {
            // The end of a mark, too, must not look like damage where a segment follows.
            old: (!self.gap && (self.unsynced || self.mark_unsynced)).then_some((
                old.file,
                old.name,
                self.group_last,
            )),
            new: Arc::clone(&self.segment.file),
            manifest,
            // Behind a segment that failed, it would make a torn end look like damage, until a base contains
            // both.
            stored: !self.baseless && self.shared.trouble().is_none_or(|t| !t.lasting),
        });
        self.rotating = false;
        self.gap = false;
        (self.unsynced, self.mark_unsynced) = (false, false);
        Ok(())
    }

    /// Updates the manifest for a new base: segments whose records are all in the base are removed.
    fn rebase(&self, base: Base) -> Result<Rebase, String> {
        let sequence = base.sequence();
        let mut manifest = Manifest { base, ..self.manifest.clone() };
        while let [_, (_, next), ..] = manifest.segments.as_slice()
            && *next <= sequence + 1
        {
            manifest.segments.remove(0);
        }
        let lasting = self.shared.trouble().is_some_and(|t| t.lasting);
        if lasting && (self.gap || manifest.segments.len() > 1) {
            return Err("the journal still ends in a segment that failed".to_owned());
        }
        let old = self.manifest.clone();
        let mut remove: Vec<String> = old.segments.into_iter().map(|(name, _)| name).collect();
        if let Base::Snapshot { name, .. } = old.base {
            remove.push(name);
        }
        remove.extend(self.superseded.iter().cloned());
        remove.retain(|name| !manifest.names(name));
        Ok(Rebase { manifest, remove, left: Vec::new() })
    }

    /// The manifest names a new base.
    fn rebased(&mut self, rebase: Rebase) {
        self.manifest = rebase.manifest;
        self.superseded.clear();
        if self.shared.trouble().is_some_and(|t| t.lasting) {
            self.trouble(None);
            // The dropped records are in the base.
            if self.group.is_empty() {
                self.shared.set_written(self.group_last);
                if !self.unsynced {
                    self.publish(self.group_last);
                }
            }
        }
        self.baseless = false;
        rebase.left.iter().for_each(|note| self.observer.note(note));
        self.measure();
        let figures = &self.shared.figures;
        figures.base_size.store(figures.size.load(Relaxed), Relaxed);
    }

    /// Counts the bytes of all files anew.
    fn measure(&self) {
        let len = |name: &str| self.disk.len(&self.place.file(name)).unwrap_or(0);
        let mut size: u64 = self
            .manifest
            .segments
            .iter()
            .filter(|(name, _)| *name != self.segment.name)
            .map(|(name, _)| len(name))
            .sum();
        if let Base::Snapshot { bytes, .. } = &self.manifest.base {
            size += bytes;
        }
        self.shared.figures.size.store(size + self.segment.at, Relaxed);
    }

    fn failed(&mut self, now: Instant, e: &io::Error) {
        self.retry_at = Some(now + SECOND);
        if self.shared.trouble().is_none() {
            self.trouble(Some(Trouble { text: e.to_string(), reason: reason(e), lasting: false }));
        }
    }

    /// From here on the segment is not trusted.
    fn abandon_segment(&mut self, e: &io::Error) {
        self.gap = true;
        // If it has not been named yet, nothing durable is in it.
        self.naming = None;
        // Nothing is appended behind it except by order: a segment that the manifest names behind it would
        // turn its torn end into damage.
        self.rotating = false;
        self.group.clear();
        self.trouble(Some(Trouble { text: e.to_string(), reason: reason(e), lasting: true }));
    }

    fn trouble(&self, trouble: Option<Trouble>) {
        self.shared.set_trouble(trouble.clone());
        self.observer.trouble(trouble.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    struct Deaf;

    impl Observer for Deaf {
        fn durable(&self, _: u64) {}
        fn trouble(&self, _: Option<&Trouble>) {}
        fn written(&self) {}
        fn note(&self, _: &str) {}
    }

    #[test]
    fn the_next_sync_waits_for_those_who_have_just_been_answered() {
        let shared = Arc::new(Shared::default());
        shared.set_policy(Sync::Always);
        let place =
            Location { dir: "/d".into(), stem: "a".into(), segment_bytes: 1 << 20, ahead_bytes: 0 };
        let fresh = Recovered::fresh(Base::default());
        let disk = Arc::new(SimDisk::default());
        let started = Writer::start(disk, Arc::clone(&shared), Arc::new(Deaf), place, fresh);
        let (mut writer, _orders) = started.expect("a journal");
        let lane = shared.stream.add_lane();
        let append = |n: u64| {
            for _ in 0..n {
                lane.append(shared.stream.counter(), 5, true, |unit| {
                    unit.command(0, b"PING", 0, std::iter::empty());
                });
            }
        };
        let now = Instant::now();
        let synced = |writer: &mut Writer, came: u64| {
            let Step::Work(Work::Sync(_, _, upto)) = writer.step(now) else { panic!("a sync") };
            // While it syncs, other clients come.
            append(came);
            writer.finished(now, Finished::Synced(upto, Duration::from_millis(8), Ok(())));
            writer.gathering.take()
        };
        // 48 take turns; most of them are waited for.
        append(24);
        let patience = Duration::from_millis(4);
        assert_eq!(synced(&mut writer, 24), Some((24 + 48 - 6 - 1, patience)));
        append(24);
        assert_eq!(synced(&mut writer, 0), Some((72 + 48 - 6 - 1, patience)));
        // For a single client the writer does not wait.
        append(1);
        assert_eq!(synced(&mut writer, 0), Some((73, patience)));
        // The writer waits less often for clients that do not come, until one comes.
        for (pause, came) in [(1, 0), (3, 0), (7, 0), (0, 1), (1, 0)] {
            writer.awaited = Some(shared.last());
            append(came);
            writer.learn();
            assert_eq!((writer.pause, writer.rest), (pause, pause));
        }
        append(1);
        assert_eq!(synced(&mut writer, 0), None);
        append(1);
        assert!(synced(&mut writer, 0).is_some());
    }
}
