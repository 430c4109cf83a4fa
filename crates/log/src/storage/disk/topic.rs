//! One topic's segment files.
//!
//! `00000000000000000000.log` holds the records from offset 0 on, the next file is named after the
//! offset that it begins with. Only the last one is written to: whole blocks past the page cache, the
//! last block again and again until it is full. Measured (10 MiB groups, each synced): 2.2 GB/s and
//! 0.04 CPU seconds per GiB; through the page cache 1.1 GB/s and 0.66, as a file per group that is
//! renamed into place the same. Groups of 4 KiB take 0.11 ms, a file each 0.43 ms.
//!
//! Beside that, the memory that a group is written from counts for more than the way of writing (groups
//! of 8 MiB): from small pages 1.9 to 2.2 GB/s, from huge ones 3.5 to 3.9 (`crate::pages`). In two or
//! four parts by as many threads: nothing or a little less. Into preallocated space: nothing. Two groups
//! at once: nothing, since the sync is a thirtieth of the time. Only writing over old blocks was better,
//! 2.3 to 2.9 GB/s from small pages, and a new topic has none.
//!
//! `end` of the last segment bounds the bytes that readers may see; bytes behind it in the file do not
//! exist.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::{Value, json};
use stdx::crc32c::crc32c;

use super::descriptors::{Descriptors, Keeper, Permit};
use super::files;
use super::scan::{Content, Found, Gap, Index, Scanner, WINDOW, content};
use crate::batch::{Batch, Header};
use crate::buf::{ALIGN, Pool};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::seal::{seal, unseal};
use crate::settings::Settings;
use crate::storage::memory::Picked;
use crate::storage::{Extent, Limits, Refused, TopicLog, Want};

/// The file that a topic's state is kept in.
const STATE: &str = "state";
/// The file that says which segments there are.
const SEGMENTS: &str = "segments";
/// The file that says up to which offset all records have reached the disk.
const STORED: &str = "stored";
/// Offsets that are left out where the last segment is lost: more than it can have had.
const LEFT_OUT: u64 = 1_000_000_000_000;
const EXTENSION: &str = ".log";
/// Least bytes that are read at once.
const READ_MIN: usize = 64 << 10;

/// See the module's text.
pub(super) struct DiskTopic {
    name: String,
    dir: PathBuf,
    pool: Arc<Pool>,
    state: Mutex<State>,
    writer: Mutex<Option<Writer>>,
    /// The findings at opening, for the first caller that asks.
    numbered: Mutex<Option<Vec<Header>>>,
    descriptors: Arc<Descriptors>,
    me: Weak<Self>,
    /// When it was written to: a count that goes up.
    used: AtomicU64,
    /// An append follows, for which the writer is open. Changed while `writer` is locked.
    reserved: AtomicBool,
    /// The content of the file [`SEGMENTS`].
    recorded: Mutex<Option<Ends>>,
    /// Files that are not of the topic any more and could not be removed.
    left: Mutex<Vec<PathBuf>>,
}

/// The first offsets of a topic's first and last segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
}

impl Ends {
    fn encode(self) -> Vec<u8> {
        seal(json!({"first": self.first, "last": self.last}).to_string().as_bytes())
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(unseal(bytes, |_| false)?).ok()?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let (first, last) = (number("first")?, number("last")?);
        (first <= last).then_some(Self { first, last })
    }

    /// The text in a topic's directory; none if it is of a version that did not write one.
    fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(SEGMENTS);
        let Some(bytes) = files::read(&path)? else { return Ok(None) };
        Self::decode(&bytes).map(Some).ok_or_else(|| {
            Error::Storage(format!(
                "{} is damaged. Put it back from a backup; or, if no segment is missing, stop the \
                 server, and `apus log repair` makes it anew from those that are there",
                path.display()
            ))
        })
    }
}

/// The first offsets of the segments in a directory, ascending.
fn segments_in(dir: &Path) -> Result<Vec<u64>> {
    Ok(files::names(dir)?.iter().filter_map(|n| first_of(n)).collect())
}

/// How a [`STORED`] file is written: the offset and its checksum, which are one block of the disk.
///
/// It is written after a group was synced, and not synced itself: it never says more than is true, and after a
/// power cut perhaps less.
fn encode_stored(offset: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&offset.to_le_bytes());
    let sum = crc32c(0, &bytes[..8]);
    bytes[8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The offset below which all records had reached the disk, as far as that is known; none if the file that
/// says it is damaged.
fn stored_in(dir: &Path) -> Result<Option<u64>> {
    let Some(bytes) = files::read(&dir.join(STORED))? else { return Ok(Some(0)) };
    let Some((offset, _)) = bytes.split_first_chunk::<8>() else {
        // It was created, and nothing written yet.
        return Ok(bytes.is_empty().then_some(0));
    };
    let offset = u64::from_le_bytes(*offset);
    Ok((bytes == encode_stored(offset)).then_some(offset))
}

/// See [`crate::storage::Storage::repair`].
pub(super) fn repair(dir: &Path) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let mut there = segments_in(dir)?;
    let path = dir.join(SEGMENTS);
    let known = match Ends::read(dir) {
        Ok(known) => known,
        Err(_) => {
            files::remove(&path)?;
            done.push(format!("{}: made anew", path.display()));
            None
        }
    };
    if let Some(Ends { last, .. }) = known
        && there.last().is_none_or(|l| *l < last)
    {
        let next = last.saturating_add(LEFT_OUT);
        begin_segment(dir, next)?;
        there.push(next);
        done.push(format!(
            "{} is lost; the next record gets offset {next}",
            path_of(dir, last).display()
        ));
    }
    let stored = stored_in(dir)?.unwrap_or(0);
    let last = there.last().copied().unwrap_or(0);
    let path_of_last = path_of(dir, last);
    let reaches = match File::open(&path_of_last) {
        Ok(file) => content((&file, &path_of_last, &Arc::default()), last, true, stored)?.next,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => last,
        Err(e) => return Err(files::at(&path_of_last)(e)),
    };
    if reaches < stored {
        let next = stored.saturating_add(LEFT_OUT);
        begin_segment(dir, next)?;
        there.push(next);
        done.push(format!(
            "{} ends at offset {reaches}, before {stored}; the next record gets offset {next}",
            path_of_last.display()
        ));
    }
    if let (Some(first), Some(last)) = (there.first(), there.last())
        && !done.is_empty()
    {
        let first = known.map_or(*first, |k| k.first.min(*last));
        files::write(&path, &Ends { first, last: *last }.encode())?;
    }
    Ok(done)
}

struct State {
    /// At least one; ascending.
    segments: Vec<Segment>,
    next: u64,
    latest_us: u64,
}

#[derive(Clone)]
struct Segment {
    first: u64,
    /// Bytes of batches; of a full one, those of the file.
    end: u64,
    /// Made when it is needed, and kept up while it is there.
    index: Option<Arc<Index>>,
}

/// The last segment, open.
struct Writer {
    _permit: Permit,
    file: File,
    path: PathBuf,
    /// Where the last block begins that is not full …
    at: u64,
    /// … and its content.
    tail: Vec<u8>,
}

/// Writes of all topics, by which those are found that were used longest ago.
static TIMES: AtomicU64 = AtomicU64::new(1);

/// All of a segment from an offset on, of which there is no file.
fn missing(offset: u64) -> Gap {
    Gap { at: 0, offset, resumes: None, why: "the file is missing".to_owned() }
}

fn path_of(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}{EXTENSION}"))
}

/// Makes an empty segment, durably.
fn begin_segment(dir: &Path, first: u64) -> Result<()> {
    let path = path_of(dir, first);
    File::create(&path).and_then(|f| f.sync_all()).map_err(files::at(&path))?;
    files::sync_dir(dir)
}

/// The first offset that a segment's name says.
fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(EXTENSION)?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

impl DiskTopic {
    pub(super) fn open(
        name: &str,
        dir: PathBuf,
        (pool, descriptors): (Arc<Pool>, Arc<Descriptors>),
        tell: &dyn Fn(&str),
    ) -> Result<Arc<Self>> {
        let permit = descriptors.take()?;
        let known = Ends::read(&dir)?;
        let begins = known.map_or(0, |k| k.first);
        let (mut segments, mut left) = (Vec::new(), Vec::new());
        for first in segments_in(&dir)? {
            let path = path_of(&dir, first);
            if first < begins {
                // Retention has let go of it.
                left.push(path);
                continue;
            }
            let end = fs::metadata(&path).map_err(files::at(&path))?.len();
            segments.push(Segment { first, end, index: None });
        }
        if let Some(Ends { last, .. }) = known
            && segments.last().is_none_or(|s| s.first < last)
        {
            return Err(Error::Storage(format!(
                "topic '{name}': its last segment {} is missing, so the next offset is not \
                 known. Put it back from a backup; or stop the server, and `apus log repair {name}` goes \
                 on behind all offsets that it can have had",
                path_of(&dir, last).display()
            )));
        }
        if segments.first().is_none_or(|s| s.first > begins) {
            if known.is_some() {
                tell(&format!(
                    "topic '{name}': its first segment {} is missing",
                    path_of(&dir, begins).display()
                ));
                segments.insert(0, Segment { first: begins, end: 0, index: None });
            } else if segments.is_empty() {
                segments.push(Segment { first: 0, end: 0, index: None });
            }
        }
        let topic = Arc::new_cyclic(|me| Self {
            name: name.to_owned(),
            dir,
            pool,
            state: Mutex::new(State { segments, next: 0, latest_us: 0 }),
            writer: Mutex::new(None),
            numbered: Mutex::new(None),
            descriptors,
            me: Weak::clone(me),
            used: AtomicU64::new(0),
            reserved: AtomicBool::new(false),
            recorded: Mutex::new(known),
            left: Mutex::new(left),
        });
        topic.remove_left(tell);
        topic.recover(tell)?;
        drop(permit);
        Ok(topic)
    }

    /// Removes files that are not of the topic any more.
    fn remove_left(&self, tell: &dyn Fn(&str)) {
        self.left.lock().retain(|path| match files::remove(path) {
            Ok(()) => false,
            Err(e) => {
                tell(&format!("topic '{}': {e}", self.name));
                true
            }
        });
    }

    /// Writes down which segments there are, if they are others than before.
    fn record(&self, first: u64) -> Result<()> {
        let last = self.state.lock().segments.last().map_or(0, |s| s.first);
        let ends = Ends { first, last };
        let mut recorded = self.recorded.lock();
        if *recorded != Some(ends) {
            files::write(&self.dir.join(SEGMENTS), &ends.encode())?;
            *recorded = Some(ends);
        }
        Ok(())
    }

    /// Looks at the last segment, the only one that a crash can have left unfinished.
    fn recover(&self, tell: &dyn Fn(&str)) -> Result<()> {
        let mut state = self.state.lock();
        let Some(last) = state.segments.last_mut() else { return Ok(()) };
        let path = path_of(&self.dir, last.first);
        let stored = stored_in(&self.dir)?.unwrap_or_else(|| {
            tell(&format!(
                "topic '{}': {} is damaged, and ignored",
                self.name,
                self.dir.join(STORED).display()
            ));
            0
        });
        let found = match File::open(&path) {
            Ok(file) => content((&file, &path, &self.pool), last.first, true, stored)?,
            // Not written to yet.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Content { next: last.first, ..Content::default() }
            }
            Err(e) => return Err(files::at(&path)(e)),
        };
        if found.next < stored {
            let name = &self.name;
            return Err(Error::Storage(format!(
                "topic '{name}': all records before offset {stored} had reached the disk, but {} ends at \
                 offset {}, so the offsets behind would be assigned twice. Put the file back from a backup; \
                 or stop the server, and `apus log repair {name}` goes on behind all offsets that can have \
                 been assigned",
                path.display(),
                found.next
            )));
        }
        if let Some(gap) = &found.cut {
            self.cut(&path, found.end, gap, tell)?;
        }
        let first = last.first;
        last.end = found.end;
        last.index = Some(Arc::new(found.index));
        state.next = found.next;
        state.latest_us = found.latest_us;
        if found.latest_us == 0 {
            // An empty one behind others: its predecessor knows.
            if let Some(before) = state.segments.len().checked_sub(2) {
                state.latest_us = self.latest_us(state.segments[before].first)?;
            }
        }
        drop(state);
        for gap in &found.gaps {
            tell(&self.damage(first, gap).to_string());
        }
        *self.numbered.lock() = Some(found.numbered);
        Ok(())
    }

    /// Cuts an unfinished write off a segment, whose batches end at byte `end`.
    fn cut(&self, path: &Path, end: u64, gap: &Gap, tell: &dyn Fn(&str)) -> Result<()> {
        let file = File::options().write(true).open(path).map_err(files::at(path))?;
        let cut = file.metadata().map_err(files::at(path))?.len().saturating_sub(end);
        file.set_len(end).and_then(|()| file.sync_all()).map_err(files::at(path))?;
        tell(&format!(
            "topic '{}': cut {cut} bytes of an unfinished write off {} at byte {end} (offset {}: {})",
            self.name,
            path.display(),
            gap.offset,
            gap.why
        ));
        Ok(())
    }

    /// When the last batch of the segment that begins with offset `first` was appended; 0 if the segment is missing,
    /// which reading there tells.
    fn latest_us(&self, first: u64) -> Result<u64> {
        let path = path_of(&self.dir, first);
        match File::open(&path) {
            Ok(file) => Ok(content((&file, &path, &self.pool), first, false, 0)?.latest_us),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(files::at(&path)(e)),
        }
    }

    fn damage(&self, first: u64, gap: &Gap) -> Damage {
        Damage {
            topic: self.name.clone(),
            object: path_of(&self.dir, first).display().to_string(),
            position: gap.at,
            offset: gap.offset,
            resumes: gap.resumes.or_else(|| self.after(first)),
            why: gap.why.clone(),
        }
    }

    fn open_writer(&self) -> Result<Writer> {
        let permit = self.descriptors.keep(Weak::<Self>::clone(&self.me))?;
        let (begins, first, end) = {
            let state = self.state.lock();
            let begins = state.segments.first().map_or(0, |s| s.first);
            state.segments.last().map_or((0, 0, 0), |s| (begins, s.first, s.end))
        };
        let path = path_of(&self.dir, first);
        let fresh = !path.exists();
        let file = files::open_blocks(&path)?;
        if fresh {
            files::sync_dir(&self.dir)?;
        }
        self.record(begins)?;
        let at = end - end % ALIGN as u64;
        let mut tail = vec![0; (end - at) as usize];
        if !tail.is_empty() {
            // Through the page cache: a direct read would need an aligned buffer.
            let plain = File::open(&path).map_err(files::at(&path))?;
            plain.read_exact_at(&mut tail, at).map_err(files::at(&path))?;
        }
        // Bytes that a failed write may have left behind the end must not come to light.
        if file.metadata().map_err(files::at(&path))?.len() > end.next_multiple_of(ALIGN as u64) {
            file.set_len(end).and_then(|()| file.sync_all()).map_err(files::at(&path))?;
        }
        Ok(Writer { _permit: permit, file, path, at, tail })
    }

    /// Begins a new segment at the next offset.
    fn roll(&self, writer: &mut Option<Writer>, log_state: &dyn Fn() -> Vec<u8>) -> Result<()> {
        let bytes = log_state();
        let state_path = self.dir.join(STATE);
        if !bytes.is_empty() || state_path.exists() {
            files::write(&state_path, &bytes)?;
        }
        *writer = None;
        let mut state = self.state.lock();
        let first = state.next;
        // The file is made now, since its name says where to go on if all others are trimmed.
        begin_segment(&self.dir, first)?;
        state.segments.push(Segment { first, end: 0, index: Some(Arc::default()) });
        let begins = state.segments.first().map_or(first, |s| s.first);
        drop(state);
        self.record(begins)
    }

    fn write(&self, writer: &mut Writer, group: &mut Group, sync: bool) -> Result<()> {
        let batches: Vec<(usize, Header)> = group.headers().map(|(at, h)| (at, *h)).collect();
        let next_offset = group.next_offset();
        let (raw, begin, end) = group.raw();
        assert_eq!(begin, writer.tail.len(), "the group was laid out for another place");
        raw[..begin].copy_from_slice(&writer.tail);
        let padded = end.next_multiple_of(ALIGN);
        raw[end..padded].fill(0);
        writer
            .file
            .write_all_at(&raw[..padded], writer.at)
            .and_then(|()| if sync { writer.file.sync_data() } else { Ok(()) })
            .map_err(files::at(&writer.path))?;
        if sync {
            self.note_stored(next_offset)?;
        }
        let full = end - end % ALIGN;
        writer.tail.clear();
        writer.tail.extend_from_slice(&raw[full..end]);
        let begins = writer.at + begin as u64;
        let ends = writer.at + end as u64;
        writer.at += full as u64;
        let mut state = self.state.lock();
        let State { segments, next, latest_us } = &mut *state;
        if let Some(segment) = segments.last_mut() {
            segment.end = ends;
            if let Some(index) = &mut segment.index {
                let index = Arc::make_mut(index);
                batches.iter().for_each(|(at, h)| index.add(begins + *at as u64, h));
            }
        }
        *next = next_offset;
        *latest_us = batches.last().map_or(*latest_us, |(_, h)| h.appended_us);
        Ok(())
    }

    /// Notes that all records before this offset have reached the disk. The file is open for this moment only:
    /// kept open, it would cost each topic a second descriptor.
    fn note_stored(&self, offset: u64) -> Result<()> {
        let path = self.dir.join(STORED);
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(files::at(&path))?;
        file.write_all_at(&encode_stored(offset), 0).map_err(files::at(&path))
    }

    /// The segment that holds `offset`, with its index, and whether it is the last one.
    fn segment(&self, offset: u64) -> Result<(Segment, Arc<Index>, bool)> {
        let (segment, at, count) = {
            let state = self.state.lock();
            let at = state.segments.partition_point(|s| s.first <= offset).saturating_sub(1);
            (state.segments[at].clone(), at, state.segments.len())
        };
        let last = at + 1 == count;
        if let Some(index) = &segment.index {
            return Ok((segment.clone(), Arc::clone(index), last));
        }
        let path = path_of(&self.dir, segment.first);
        let permit = self.descriptors.take()?;
        let index = match File::open(&path) {
            Ok(file) => {
                Arc::new(content((&file, &path, &self.pool), segment.first, false, 0)?.index)
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && segment.end == 0 => {
                Arc::default()
            }
            Err(e) => return Err(files::at(&path)(e)),
        };
        drop(permit);
        let mut state = self.state.lock();
        // The last one may have grown meanwhile, behind the part that has been read.
        if let Some(s) = state.segments.iter_mut().find(|s| s.first == segment.first)
            && s.end == segment.end
        {
            s.index = Some(Arc::clone(&index));
        }
        Ok((segment, index, last))
    }

    /// When the first batch of a segment was appended; the latest time there is if it has none.
    fn first_us(&self, segment: &Segment) -> Result<u64> {
        let path = path_of(&self.dir, segment.first);
        let latest = self.state.lock().latest_us;
        if segment.end == 0 {
            return Ok(latest);
        }
        let _permit = self.descriptors.take()?;
        let file = File::open(&path).map_err(files::at(&path))?;
        let mut head = [0; crate::batch::HEADER];
        let read = file.read_exact_at(&mut head, 0);
        // A damaged one is taken for old: it is looked into, and not thrown away for its age.
        Ok(read.ok().and_then(|()| Header::decode(&head).ok()).map_or(0, |h| h.appended_us))
    }

    /// Reads from one segment. Returns the offset to go on with in the next one, if there is more to
    /// read.
    fn read_segment(&self, offset: u64, picked: &mut Picked<'_>) -> Result<Option<u64>> {
        let (segment, index, last) = self.segment(offset)?;
        let path = path_of(&self.dir, segment.first);
        let _permit = self.descriptors.take()?;
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && self.is_of(&segment) => {
                return Err(Error::Damaged(self.damage(segment.first, &missing(offset))));
            }
            Err(e) => return Err(files::at(&path)(e)),
        };
        let from =
            index.before(|e| e.offset > offset).map_or((0, segment.first), |e| (e.at, e.offset));
        let hint = picked.bytes_left().clamp(READ_MIN, WINDOW);
        let mut scanner = Scanner::new((&file, &path, &self.pool), from, segment.end, hint)
            .at_most(picked.most());
        let mut next = offset;
        loop {
            match scanner.next()? {
                Found::Batch { batch, .. } if batch.header.next_offset() <= offset => {}
                Found::Batch { batch, .. } => {
                    next = batch.header.next_offset();
                    if !picked.add(batch) || picked.done(next) {
                        return Ok(None);
                    }
                }
                Found::Damage(gap) if gap.resumes.is_some_and(|at| at <= offset) => {}
                Found::Damage(_) if !picked.batches.is_empty() => return Ok(None),
                Found::Damage(gap) => {
                    return Err(Error::Damaged(self.damage(segment.first, &gap)));
                }
                Found::End => return Ok((!last).then_some(next)),
            }
        }
    }
}

impl Keeper for DiskTopic {
    fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    fn let_go(&self) -> bool {
        let Some(mut writer) = self.writer.try_lock() else { return false };
        !self.reserved.load(Relaxed) && writer.take().is_some()
    }
}

impl TopicLog for DiskTopic {
    fn extent(&self) -> Extent {
        let state = self.state.lock();
        Extent {
            first: state.segments.first().map_or(0, |s| s.first),
            next: state.next,
            bytes: state.segments.iter().map(|s| s.end).sum(),
            latest_us: state.latest_us,
            objects: state.segments.len() as u64,
        }
    }

    fn reserve(
        &self,
        bytes: usize,
        settings: &Settings,
        log_state: &dyn Fn() -> Vec<u8>,
    ) -> Result<usize> {
        let mut writer = self.writer.lock();
        self.used.store(TIMES.fetch_add(1, Relaxed), Relaxed);
        let end = self.state.lock().segments.last().map_or(0, |s| s.end);
        if end > 0 && end + bytes as u64 > settings.segment_bytes {
            self.roll(&mut writer, log_state)?;
        }
        if writer.is_none() {
            *writer = Some(self.open_writer()?);
        }
        self.reserved.store(true, Relaxed);
        Ok(writer.as_ref().map_or(0, |w| w.tail.len()))
    }

    fn lead_after(&self, end: usize) -> usize {
        end % ALIGN
    }

    fn append(&self, group: &mut Group, sync: bool) -> std::result::Result<(), Refused> {
        let mut writer = self.writer.lock();
        self.reserved.store(false, Relaxed);
        let result = match writer.as_mut() {
            Some(w) => self.write(w, group, sync),
            None => Err(Error::Storage("append without reserve".to_owned())),
        };
        result.map_err(|e| {
            // The content of the file behind the end is unknown; the next one to open it cuts it.
            *writer = None;
            Refused::Failed(e)
        })
    }

    fn history(&self) -> Result<(Option<Vec<u8>>, Vec<Header>)> {
        let seen = self.numbered.lock().take().unwrap_or_default();
        Ok((files::read(&self.dir.join(STATE))?, seen))
    }

    fn read(&self, want: &Want) -> Result<Vec<Batch>> {
        let Extent { first, next, .. } = self.extent();
        if !(first..next).contains(&want.offset) {
            return Err(Error::OutOfBounds { offset: want.offset, first, next });
        }
        let mut picked = Picked::new(want);
        let mut offset = want.offset;
        loop {
            match self.read_segment(offset, &mut picked) {
                Ok(Some(at)) if at < next => {
                    if at == offset {
                        if !picked.batches.is_empty() {
                            return Ok(picked.batches);
                        }
                        // The segment ends before the next one begins.
                        let at = self.segment(offset)?.0;
                        let gap = Gap {
                            at: at.end,
                            offset,
                            resumes: self.after(at.first),
                            why: "the file ends too early".to_owned(),
                        };
                        return Err(Error::Damaged(self.damage(at.first, &gap)));
                    }
                    offset = at;
                    if self.segment(offset)?.0.first != offset {
                        return Ok(picked.batches);
                    }
                }
                Ok(_) => return Ok(picked.batches),
                // Retention was faster.
                Err(Error::Storage(_)) if self.extent().first > want.offset => {
                    let Extent { first, next, .. } = self.extent();
                    return Err(Error::OutOfBounds { offset: want.offset, first, next });
                }
                Err(_) if !picked.batches.is_empty() => return Ok(picked.batches),
                Err(e) => return Err(e),
            }
        }
    }

    fn find(&self, appended_us: u64) -> Result<u64> {
        let (segments, next) = {
            let state = self.state.lock();
            (state.segments.clone(), state.next)
        };
        // The last segment that begins before that time may hold it; all before it do not.
        let (mut low, mut high) = (0, segments.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.first_us(&segments[middle])? < appended_us {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(at) = low.checked_sub(1) else {
            return Ok(segments.first().map_or(next, |s| s.first));
        };
        let (segment, index, _) = self.segment(segments[at].first)?;
        if segment.end == 0 {
            // Nothing has been written to it: there may be no file.
            return Ok(segments.get(at + 1).map_or(next, |s| s.first));
        }
        let path = path_of(&self.dir, segment.first);
        let _permit = self.descriptors.take()?;
        let file = File::open(&path).map_err(files::at(&path))?;
        let from =
            index.before(|e| e.us >= appended_us).map_or((0, segment.first), |e| (e.at, e.offset));
        let mut scanner = Scanner::new((&file, &path, &self.pool), from, segment.end, WINDOW);
        loop {
            match scanner.next()? {
                Found::Batch { batch, .. } if batch.header.appended_us >= appended_us => {
                    return Ok(batch.header.first_offset);
                }
                Found::End => break,
                _ => {}
            }
        }
        Ok(segments.get(at + 1).map_or(next, |s| s.first))
    }

    fn trim(&self, limits: &Limits, log_state: &dyn Fn() -> Vec<u8>) -> Result<bool> {
        // Nothing is appended meanwhile.
        let mut writer = self.writer.lock();
        let (latest_us, empty) = {
            let state = self.state.lock();
            (state.latest_us, state.segments.last().is_none_or(|s| s.end == 0))
        };
        if latest_us < limits.before_us && !empty {
            // All of it is too old, the last segment, too.
            self.roll(&mut writer, log_state)?;
        }
        let segments = self.state.lock().segments.clone();
        let mut bytes: u64 = segments.iter().map(|s| s.end).sum();
        let mut gone = 0;
        while let [oldest, second, ..] = &segments[gone..] {
            let many = limits.bytes != 0 && bytes - oldest.end >= limits.bytes;
            if !many && self.first_us(second)? >= limits.before_us {
                break;
            }
            bytes -= oldest.end;
            gone += 1;
        }
        if let Some(first) = segments.get(gone).filter(|_| gone > 0) {
            // From then on the topic begins there, whatever becomes of the files.
            self.record(first.first)?;
            self.state.lock().segments.drain(..gone);
            let paths = segments[..gone].iter().map(|s| path_of(&self.dir, s.first));
            self.left.lock().extend(paths);
        }
        let failed = Mutex::new(None);
        self.remove_left(&|e| *failed.lock() = Some(e.to_owned()));
        match failed.into_inner() {
            Some(e) => Err(Error::Storage(e)),
            None => Ok(gone > 0),
        }
    }

    fn verify(&self, seen: &mut dyn FnMut(&Header)) -> Result<Vec<Damage>> {
        let (segments, next) = {
            let state = self.state.lock();
            (state.segments.clone(), state.next)
        };
        let mut damage = Vec::new();
        for (i, segment) in segments.iter().enumerate() {
            let path = path_of(&self.dir, segment.first);
            if segment.end == 0 && i + 1 == segments.len() {
                continue;
            }
            let _permit = self.descriptors.take()?;
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    damage.push(self.damage(segment.first, &missing(segment.first)));
                    continue;
                }
                Err(e) => return Err(files::at(&path)(e)),
            };
            let mut scanner =
                Scanner::new((&file, &path, &self.pool), (0, segment.first), segment.end, WINDOW);
            let mut reached = segment.first;
            loop {
                match scanner.next()? {
                    Found::Batch { at, batch } => {
                        reached = batch.header.next_offset();
                        match batch.records() {
                            Ok(_) => seen(&batch.header),
                            Err(e) => {
                                let offset = batch.header.first_offset;
                                let (resumes, why) = (Some(reached), e.to_string());
                                let gap = Gap { at, offset, resumes, why };
                                damage.push(self.damage(segment.first, &gap));
                            }
                        }
                    }
                    Found::Damage(gap) => {
                        reached = gap.resumes.unwrap_or(reached);
                        damage.push(self.damage(segment.first, &gap));
                    }
                    Found::End => break,
                }
            }
            let due = segments.get(i + 1).map_or(next, |s| s.first);
            if reached != due && damage.last().is_none_or(|d| d.resumes != Some(due)) {
                let why = format!("it ends before offset {reached}, the next begins with {due}");
                let gap = Gap { at: segment.end, offset: reached, resumes: Some(due), why };
                damage.push(self.damage(segment.first, &gap));
            }
        }
        Ok(damage)
    }

    fn release_idle(&self, _: Option<&dyn Fn() -> Vec<u8>>) {
        // A topic that is being written to is not at rest.
        if let Some(mut writer) = self.writer.try_lock() {
            *writer = None;
            self.state.lock().segments.iter_mut().for_each(|s| s.index = None);
            self.pool.clear();
        }
    }
}

impl DiskTopic {
    /// Whether a segment is still of the topic and not the last one, so that it must have a file.
    fn is_of(&self, segment: &Segment) -> bool {
        let state = self.state.lock();
        let before_last = state.segments.len().saturating_sub(1);
        state.segments[..before_last].iter().any(|s| s.first == segment.first)
    }

    /// The first offset of the segment after the one that begins with `first`.
    fn after(&self, first: u64) -> Option<u64> {
        self.state.lock().segments.iter().map(|s| s.first).find(|f| *f > first)
    }
}
