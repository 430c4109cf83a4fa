//! The writer: takes what the threads have appended, and makes it durable.
//!
//! One *turn* merges what there is into a group, writes it with one call and syncs it as the policy
//! says. While it syncs, the threads go on; what they append meanwhile is the next group: under
//! `always`, however many clients there are, they share one sync.
//!
//! **Failures.** A write that fails is tried again every second, at the same place; until it
//! succeeds the server refuses writes. A sync that fails under `always` is another matter: the
//! system may have dropped what it could not write and report success the next time. Nothing of that
//! segment is trusted any more, nothing is acknowledged, until a rewrite has made a new base and a
//! new segment. Under `everysec` it is tried again, as in Redis.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::Place;
use super::lane::Lane;
use super::manifest::{Base, Manifest};
use super::record::{self, Salt};
use super::recover::Recovered;
use super::segment::{HEADER, Header};
use super::shared::{Observer, Shared, Sync, Trouble};
use crate::disk::{Disk, File};

/// Bytes of one write, unless a record alone is longer.
const GROUP: usize = 4 << 20;
/// A buffer that has grown beyond this is given back.
const KEEP: usize = 8 << 20;
/// Between two attempts of what fails, and between two syncs of `everysec`.
const SECOND: Duration = Duration::from_secs(1);
/// Without `always`, records are gathered for so long before they are written: long enough for one
/// write to serve many, short enough that a killed process loses next to nothing.
const GATHER: Duration = Duration::from_millis(2);

/// What the writer can be asked to do between two groups.
pub enum Control {
    /// Begin a new segment, so that a rewrite can do without the ones so far.
    Rotate,
    /// Take a new base, and remove the files that it makes superfluous.
    Rebase(Base, Done),
    /// Write and sync everything, then end.
    Stop,
}

/// Told how it went.
pub type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

struct Segment {
    file: Box<dyn File>,
    name: String,
    salt: Salt,
    seed: u32,
    /// Behind the last record.
    at: u64,
    /// Up to here the file is zeros beyond `at`.
    zeroed: u64,
    /// What the last mark says.
    marked: u64,
}

/// What was taken from a lane.
struct Source {
    lane: Arc<Lane>,
    bytes: Vec<u8>,
    at: usize,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do at once.
    More,
    /// There is nothing to do, for so long at most.
    Idle(Option<Duration>),
    /// It was told to stop, and everything is durable or cannot become so.
    Stopped,
}

/// See the module's text.
pub struct Writer {
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
    observer: Arc<dyn Observer>,
    place: Place,
    manifest: Manifest,
    /// Highest number in a file name.
    number: u64,
    segment: Segment,
    sources: Vec<Source>,
    /// The number that comes next in the file.
    next: u64,
    /// Sealed records that wait to be written, and the last number in them.
    group: Vec<u8>,
    group_last: u64,
    /// Something was written since the last sync.
    unsynced: bool,
    synced_at: Instant,
    /// When what failed is tried again.
    retry_at: Option<Instant>,
    /// Records were dropped because the segment is not trusted; a new one makes an end of that.
    gap: bool,
    /// The segment that comes next, while it is not certain that the manifest names it: until then,
    /// nothing is written anywhere.
    fresh: Option<Segment>,
    /// No manifest may name the journal before it has a base.
    baseless: bool,
    /// Files of another journal, which this one takes the place of.
    superseded: Vec<String>,
    stopping: bool,
    controls: std::sync::mpsc::Receiver<Control>,
}

/// Where the writer's orders are left.
pub type Orders = std::sync::mpsc::Sender<Control>;

impl Writer {
    /// A writer that goes on where recovery has ended, or begins a journal in an empty directory.
    ///
    /// # Errors
    /// Its first files cannot be made.
    pub fn start(
        disk: Arc<dyn Disk>,
        shared: Arc<Shared>,
        observer: Arc<dyn Observer>,
        place: Place,
        from: Recovered,
    ) -> io::Result<(Self, Orders)> {
        disk.create_dir(&place.dir)?;
        if let Some(parent) = place.dir.parent() {
            disk.sync_dir(parent)?;
        }
        let Recovered { mut manifest, last, tail, baseless, superseded, number, .. } = from;
        // A journal that has ended in trouble may have left records of its own.
        for lane in shared.lanes() {
            lane.take(&mut Vec::new());
        }
        shared.set_trouble(None);
        let next = last + 1;
        let mut number = manifest.highest().max(number);
        let segment = match tail {
            Some(tail) if tail.at < place.segment_bytes => {
                let mut file = disk.open(&place.file(&tail.name), false)?;
                // What a killed process has written may be in memory only.
                file.sync()?;
                let header = tail.header;
                Segment {
                    file,
                    name: tail.name,
                    salt: header.salt,
                    seed: header.seed(),
                    at: tail.at,
                    zeroed: tail.len,
                    marked: 0,
                }
            }
            _ => {
                let ahead = shared.policy() == Sync::Always;
                let segment = create(&*disk, &place, &mut number, next, ahead)?;
                manifest.segments.push((segment.name.clone(), next));
                if !baseless {
                    manifest.store(&*disk, &place.manifest())?;
                }
                segment
            }
        };
        shared.resume_at(last);
        let (orders, controls) = std::sync::mpsc::channel();
        let mut writer = Self {
            disk,
            shared,
            observer,
            place,
            manifest,
            number,
            segment,
            sources: Vec::new(),
            next,
            group: Vec::new(),
            group_last: last,
            unsynced: false,
            synced_at: Instant::now(),
            retry_at: None,
            gap: false,
            fresh: None,
            baseless,
            superseded,
            stopping: false,
            controls,
        };
        if !baseless {
            writer.clean(Vec::new());
        }
        writer.measure();
        let size = writer.shared.figures.size.load(Relaxed);
        let base =
            if let Base::Snapshot { bytes, .. } = &writer.manifest.base { *bytes } else { 0 };
        writer.shared.figures.base_size.store(if base > 0 { base } else { size }, Relaxed);
        Ok((writer, orders))
    }

    /// Highest number in the name of one of its files.
    pub fn highest(&self) -> u64 {
        self.number
    }

    /// The writer's thread: until it is told to stop.
    pub fn run(mut self) {
        loop {
            match self.turn(Instant::now()) {
                Turn::More => {}
                Turn::Stopped => return,
                Turn::Idle(time) => {
                    // What fails is not tried again sooner because more comes.
                    let beyond = if self.retry_at.is_some() { u64::MAX } else { self.next - 1 };
                    self.shared.sleep(time, beyond);
                    if self.shared.policy() != Sync::Always && !self.stopping {
                        std::thread::sleep(GATHER);
                    }
                }
            }
        }
    }

    /// One turn, at time `now`.
    pub fn turn(&mut self, now: Instant) -> Turn {
        while let Ok(control) = self.controls.try_recv() {
            match control {
                Control::Stop => {
                    self.stopping = true;
                    self.retry_at = None;
                }
                Control::Rotate => {
                    if let Err(e) = self.rotate() {
                        self.failed(now, &e);
                    }
                }
                Control::Rebase(base, done) => done(self.rebase(base)),
            }
        }
        if let Some(at) = self.retry_at {
            if now < at {
                return Turn::Idle(Some(at - now));
            }
            self.retry_at = None;
        }
        if self.fresh.is_some()
            && let Err(e) = self.rotate()
        {
            self.failed(now, &e);
            return if self.stopping { Turn::Stopped } else { Turn::Idle(Some(SECOND)) };
        }
        if self.group.is_empty() {
            self.merge();
        }
        if self.gap {
            // Nobody is told that these are safe; the base that makes an end of this contains them.
            self.group.clear();
        } else if let Err(e) = self.write().and_then(|()| self.sync_if_due(now)) {
            self.failed(now, &e);
            return if self.stopping { Turn::Stopped } else { Turn::Idle(Some(SECOND)) };
        } else if self.shared.trouble().is_some_and(|t| !t.lasting) {
            self.trouble(None);
        }
        if self.next <= self.shared.last() && !(self.gap && self.stopping) {
            return Turn::More;
        }
        if self.stopping {
            return Turn::Stopped;
        }
        let every = self.unsynced && self.shared.policy() == Sync::EverySecond;
        Turn::Idle(every.then(|| (self.synced_at + SECOND).saturating_duration_since(now)))
    }

    /// Moves what the threads have appended into the group, in the order of its numbers, up to the
    /// first one that is not there yet.
    fn merge(&mut self) {
        let lanes = self.shared.lanes();
        for lane in lanes.into_iter().skip(self.sources.len()) {
            self.sources.push(Source { lane, bytes: Vec::new(), at: 0 });
        }
        for s in &mut self.sources {
            if s.at == s.bytes.len() {
                s.bytes.clear();
                s.at = 0;
                if s.bytes.capacity() > KEEP {
                    s.bytes = Vec::new();
                }
            } else if s.at > GROUP {
                s.bytes.drain(..s.at);
                s.at = 0;
            }
            s.lane.take(&mut s.bytes);
        }
        if self.group.capacity() > KEEP {
            self.group = Vec::new();
        }
        let durable = self.shared.durable();
        let (salt, seed) = (self.segment.salt, self.segment.seed);
        'more: while self.group.len() < GROUP {
            for s in &mut self.sources {
                let mut any = false;
                while let Some((len, sequence)) = record::peek(&s.bytes[s.at..])
                    && sequence == self.next
                    && self.group.len() < GROUP
                {
                    if self.group.is_empty() && self.segment.marked != durable {
                        record::mark(&mut self.group, sequence, durable, &salt, seed);
                        self.segment.marked = durable;
                    }
                    let from = self.group.len();
                    self.group.extend_from_slice(&s.bytes[s.at..s.at + len]);
                    record::seal(&mut self.group[from..], seed);
                    s.at += len;
                    self.group_last = sequence;
                    self.next += 1;
                    any = true;
                }
                if any {
                    continue 'more;
                }
            }
            break;
        }
        let pending = self.sources.iter().map(|s| s.bytes.len() - s.at).sum::<usize>();
        self.shared.figures.pending.store((pending + self.group.len()) as u64, Relaxed);
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
        self.unsynced = true;
        self.group.clear();
        self.shared.figures.size.fetch_add(len as u64, Relaxed);
        self.shared.figures.pending.store(0, Relaxed);
        self.shared.set_written(self.group_last);
        Ok(())
    }

    fn sync_if_due(&mut self, now: Instant) -> io::Result<()> {
        let due = self.stopping
            || match self.shared.policy() {
                Sync::Always => true,
                Sync::EverySecond => now.saturating_duration_since(self.synced_at) >= SECOND,
                Sync::Never => false,
            };
        if due && self.unsynced {
            self.sync(now)?;
        }
        if self.segment.at >= self.place.segment_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    fn sync(&mut self, now: Instant) -> io::Result<()> {
        let started = Instant::now();
        if let Err(e) = self.segment.file.sync() {
            self.shared.figures.delayed.fetch_add(1, Relaxed);
            let e = named("syncing", &self.segment.name, &e);
            if self.shared.policy() == Sync::Always {
                self.distrust(&e);
            }
            return Err(e);
        }
        if started.elapsed() > SECOND {
            self.shared.figures.delayed.fetch_add(1, Relaxed);
        }
        self.shared.figures.syncs.fetch_add(1, Relaxed);
        self.unsynced = false;
        self.synced_at = now;
        self.publish();
        Ok(())
    }

    /// Tells how far everything is durable, unless a base is missing for that.
    fn publish(&self) {
        if self.shared.trouble().is_none_or(|t| !t.lasting) {
            self.shared.set_durable(self.group_last);
            self.observer.durable(self.group_last);
        }
    }

    /// The end of a segment: it is synced, and a new one begun and named in the manifest.
    fn rotate(&mut self) -> io::Result<()> {
        if !self.gap && self.unsynced {
            self.sync(Instant::now())?;
        }
        if !self.group.is_empty() {
            // It waits for room on the disk, and was sealed for this segment.
            return Ok(());
        }
        let first = self.next;
        let fresh = match self.fresh.take() {
            Some(fresh) => fresh,
            None => {
                let ahead = self.shared.policy() == Sync::Always;
                create(&*self.disk, &self.place, &mut self.number, first, ahead)?
            }
        };
        let mut manifest = self.manifest.clone();
        manifest.segments.push((fresh.name.clone(), first));
        if !self.baseless
            && let Err(e) = manifest.store(&*self.disk, &self.place.manifest())
        {
            // It may be in its place all the same: both must be true until this is settled.
            self.fresh = Some(fresh);
            return Err(named("writing", "the manifest", &e));
        }
        self.manifest = manifest;
        self.segment = fresh;
        self.gap = false;
        self.unsynced = false;
        Ok(())
    }

    /// Takes a new base. Segments all of whose records are in it go. After an error the manifest on
    /// disk may name the new base or the old one: neither may be removed.
    fn rebase(&mut self, base: Base) -> Result<(), String> {
        let sequence = base.sequence();
        let mut fresh = Manifest { base, segments: self.manifest.segments.clone() };
        while let [_, (_, next), ..] = fresh.segments.as_slice()
            && *next <= sequence + 1
        {
            fresh.segments.remove(0);
        }
        let lasting = self.shared.trouble().is_some_and(|t| t.lasting);
        if lasting && (self.gap || fresh.segments.len() > 1) {
            return Err("the journal still ends in a segment that failed".to_owned());
        }
        fresh
            .store(&*self.disk, &self.place.manifest())
            .map_err(|e| format!("writing the manifest: {e}"))?;
        let old = std::mem::replace(&mut self.manifest, fresh);
        if lasting {
            self.trouble(None);
            if !self.unsynced {
                self.publish();
            }
        }
        self.baseless = false;
        let mut remove: Vec<String> = old.segments.into_iter().map(|(name, _)| name).collect();
        if let Base::Snapshot { name, .. } = old.base {
            remove.push(name);
        }
        self.clean(remove);
        self.measure();
        let figures = &self.shared.figures;
        figures.base_size.store(figures.size.load(Relaxed), Relaxed);
        Ok(())
    }

    /// Removes files that the manifest does not name.
    fn clean(&mut self, mut remove: Vec<String>) {
        remove.append(&mut self.superseded);
        let kept = |name: &String| {
            self.manifest.segments.iter().any(|(n, _)| n == name)
                || matches!(&self.manifest.base, Base::Snapshot { name: n, .. } if n == name)
        };
        for name in remove.iter().filter(|name| !kept(name)) {
            if let Err(e) = self.disk.remove(&self.place.file(name))
                && e.kind() != io::ErrorKind::NotFound
            {
                self.observer.note(&format!("{name} is of no use any more, but stays: {e}"));
            }
        }
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

    /// From now on the segment is not trusted.
    fn distrust(&mut self, e: &io::Error) {
        self.gap = true;
        self.group.clear();
        self.trouble(Some(Trouble { text: e.to_string(), reason: reason(e), lasting: true }));
    }

    fn trouble(&self, trouble: Option<Trouble>) {
        self.shared.set_trouble(trouble.clone());
        self.observer.trouble(trouble.as_ref());
    }
}

/// An error that names the file; its source is the system's.
fn named(doing: &str, name: &str, e: &io::Error) -> io::Error {
    let inner = Named { text: format!("{doing} {name}: {e}"), reason: e.to_string() };
    io::Error::new(e.kind(), inner)
}

#[derive(Debug)]
struct Named {
    text: String,
    reason: String,
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Named {}

/// The system's words, without its number.
fn reason(e: &io::Error) -> String {
    let inner = e.get_ref().and_then(|inner| inner.downcast_ref::<Named>());
    let text = inner.map_or_else(|| e.to_string(), |named| named.reason.clone());
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

fn create(
    disk: &dyn Disk,
    place: &Place,
    number: &mut u64,
    first: u64,
    ahead: bool,
) -> io::Result<Segment> {
    // A failed attempt may have left a file.
    *number += 1;
    let name = place.segment(*number);
    let path = place.file(&name);
    if crate::disk::exists(disk, &path)? {
        disk.remove(&path)?;
    }
    let ahead = if ahead { place.ahead_bytes } else { 0 };
    let made = fill(disk, &path, first, ahead).map_err(|e| named("making", &name, &e));
    if made.is_err() {
        // The error matters, and the next attempt uses another name.
        let _ = disk.remove(&path);
    }
    let (file, header, zeroed) = made?;
    disk.sync_dir(&place.dir)?;
    let (salt, seed) = (header.salt, header.seed());
    Ok(Segment { file, name, salt, seed, at: HEADER as u64, zeroed, marked: 0 })
}

fn fill(
    disk: &dyn Disk,
    path: &Path,
    first: u64,
    ahead: u64,
) -> io::Result<(Box<dyn File>, Header, u64)> {
    let mut header = Header { salt: Salt::default(), first };
    stdx::rng::fill_from_os(&mut header.salt).map_err(|_| io::Error::other("no randomness"))?;
    let mut bytes = header.to_bytes().to_vec();
    bytes.resize(HEADER.max(ahead as usize), 0);
    let mut file = disk.open(path, true)?;
    file.write_at(&bytes, 0)?;
    file.sync()?;
    Ok((file, header, bytes.len() as u64))
}
