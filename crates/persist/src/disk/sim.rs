//! A disk in memory that behaves as badly as a real one may.
//!
//! It separates durable bytes from bytes that were only written. [`SimDisk::crash`] leaves of the latter
//! whatever a machine that stops may leave: each sector of each write is there, missing, or garbage;
//! names that were made, changed or removed since their directory was synced are so or not. Writes can
//! run out of space, and writes and syncs can be made to fail.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use stdx::rng::Rng;

use super::{Disk, File};

const SECTOR: usize = 512;

/// See the module's text. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Clone, Default)]
struct State {
    files: BTreeMap<u64, Content>,
    names: BTreeMap<PathBuf, u64>,
    /// Names as of the last sync of their directory.
    durable_names: BTreeMap<PathBuf, u64>,
    next: u64,
    faults: Faults,
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Offset and length of writes since the last sync.
    writes: Vec<(usize, usize)>,
}

/// The failures to come, counted down as they happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// All further writes together may have so many bytes; then the disk is full.
    pub room: Option<u64>,
    /// After so many good ones, syncs fail.
    pub good_syncs: Option<u32>,
    /// When the sync of a file fails, nothing written so far ever becomes durable, whatever later syncs say.
    pub drops: bool,
    /// After so many good ones, writes fail.
    pub good_writes: Option<u32>,
    /// After so many good ones, renames fail.
    pub good_renames: Option<u32>,
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Counts down by one, and returns whether the countdown is over.
fn over(countdown: &mut Option<u32>) -> bool {
    match countdown {
        Some(0) => true,
        Some(n) => {
            *n -= 1;
            false
        }
        None => false,
    }
}

impl SimDisk {
    /// From here on these failures happen.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// The machine stops and starts again. Open files must not be used any more.
    pub fn crash(&self, rng: &mut Rng) {
        let state = &mut *self.0.lock();
        for content in state.files.values_mut() {
            let mut left = std::mem::take(&mut content.durable);
            // A new length may be durable without the written bytes.
            if rng.index(2) == 0 && content.now.len() > left.len() {
                left.resize(content.now.len(), 0);
            }
            for (at, len) in std::mem::take(&mut content.writes) {
                // All of a write, nothing of it, or each sector by itself.
                let mode = rng.index(4);
                let mut from = at;
                while from < at + len {
                    let to = (from / SECTOR * SECTOR + SECTOR).min(at + len);
                    let source = content.now.get(from..to).unwrap_or_default();
                    let fate = if mode < 2 { mode } else { rng.index(8).saturating_sub(5) };
                    if fate != 1 && left.len() < from + source.len() {
                        left.resize(from + source.len(), 0);
                    }
                    match (fate, left.get_mut(from..from + source.len())) {
                        (0, Some(place)) => place.copy_from_slice(source),
                        (2, Some(place)) => place.fill_with(|| rng.next_u64() as u8),
                        _ => {}
                    }
                    from = to;
                }
            }
            content.now.clone_from(&left);
            content.durable = left;
        }
        // A change of a name is durable or not, each by itself.
        let mut names = state.durable_names.clone();
        for (path, id) in &state.names {
            if rng.index(2) == 0 {
                names.insert(path.clone(), *id);
            }
        }
        names.retain(|path, _| state.names.contains_key(path) || rng.index(2) == 0);
        state.names.clone_from(&names);
        state.durable_names = names;
        state.faults = Faults::default();
    }

    /// Another disk with the same content and the same past.
    pub fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().clone())))
    }

    /// Changes bytes of a file where it lies, durable as they are.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let state = &mut *self.0.lock();
        let id = state.names.get(path);
        if let Some(content) = id.and_then(|id| state.files.get_mut(id)) {
            change(&mut content.now);
            content.durable.clone_from(&content.now);
            content.writes.clear();
        }
    }

    /// Names of all files.
    pub fn names(&self) -> Vec<PathBuf> {
        self.0.lock().names.keys().cloned().collect()
    }
}

impl State {
    fn id(&self, path: &Path) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn content(&mut self, id: u64) -> io::Result<&mut Content> {
        self.files.get_mut(&id).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for SimDisk {
    fn lock(&self, _: &Path) -> io::Result<Option<super::Lock>> {
        // There is one process.
        Ok(Some(Box::new(())))
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn File>> {
        let state = &mut *self.0.lock();
        let id = match (state.id(path), create) {
            (Ok(_), true) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Ok(id), false) => id,
            (Err(e), false) => return Err(e),
            (Err(_), true) => {
                state.next += 1;
                state.files.insert(state.next, Content::default());
                state.names.insert(path.to_owned(), state.next);
                state.next
            }
        };
        Ok(Box::new(SimFile { disk: self.clone(), id }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = &mut *self.0.lock();
        let id = state.id(path)?;
        Ok(state.content(id)?.now.clone())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.0.lock();
        if over(&mut state.faults.good_renames) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let id = state.id(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), id);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.0.lock();
        state.id(path)?;
        state.names.remove(path);
        Ok(())
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.0.lock();
        if over(&mut state.faults.good_syncs) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let here = if path == Path::new(".") { Path::new("") } else { path };
        let inside = |p: &Path| p.parent() == Some(here);
        state.durable_names.retain(|p, _| !inside(p));
        let now = state.names.iter().filter(|(p, _)| inside(p));
        state.durable_names.extend(now.map(|(p, id)| (p.clone(), *id)));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let inside = |p: &&PathBuf| p.parent() == Some(dir);
        let name = |p: &PathBuf| Some(p.file_name()?.to_str()?.to_owned());
        Ok(self.0.lock().names.keys().filter(inside).filter_map(name).collect())
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let state = &mut *self.0.lock();
        let id = state.id(path)?;
        Ok(state.content(id)?.now.len() as u64)
    }
}

struct SimFile {
    disk: SimDisk,
    id: u64,
}

impl File for SimFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let state = &mut *self.disk.0.lock();
        if over(&mut state.faults.good_writes) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let mut n = bytes.len();
        if let Some(room) = &mut state.faults.room {
            n = n.min(usize::try_from(*room).unwrap_or(usize::MAX));
            *room -= n as u64;
        }
        let at = at as usize;
        let content = state.content(self.id)?;
        if content.now.len() < at + n {
            content.now.resize(at + n, 0);
        }
        content.now[at..at + n].copy_from_slice(&bytes[..n]);
        content.writes.push((at, n));
        if n < bytes.len() { Err(io::Error::from_raw_os_error(ENOSPC)) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let state = &mut *self.disk.0.lock();
        if over(&mut state.faults.good_syncs) {
            if state.faults.drops {
                state.content(self.id)?.writes.clear();
            }
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let content = state.content(self.id)?;
        content.durable.resize(content.now.len(), 0);
        for (at, n) in std::mem::take(&mut content.writes) {
            let end = (at + n).min(content.now.len());
            if at < end {
                content.durable[at..end].copy_from_slice(&content.now[at..end]);
            }
        }
        Ok(())
    }

    fn write_out(&self, _range: Range<u64>, wait: bool) -> io::Result<()> {
        if wait && over(&mut self.disk.0.lock().faults.good_syncs) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let state = &mut *self.disk.0.lock();
        let content = state.content(self.id)?;
        content.now.resize(len as usize, 0);
        // Simpler than it could be: a cut is durable at once.
        content.durable.resize(len as usize, 0);
        Ok(())
    }
}
