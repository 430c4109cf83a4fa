//! Copies of objects on a local disk, as many bytes of them as are allowed; those that were used
//! longest ago go first.
//!
//! ```text
//! DIR/.lock               one process at a time
//! DIR/ID/FIRST-SIZE       an object: its topic's id, the offset it begins with, its bytes
//! ```
//!
//! An object never changes, so that a copy is either right or damaged, and its batches have checksums:
//! nothing is synced, and damage by a crash is found when the copy is read. When a copy was used last
//! is kept as its time of modification, so that a restart forgets nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::error::Result;
use crate::storage::disk::files;

/// Copies at most, whatever their size: each takes some memory.
const FILES_MAX: usize = 200_000;
/// How exactly times of use are kept on the disk.
const TOUCH: Duration = Duration::from_secs(60);
/// Names that begin so are unfinished.
const UNFINISHED: &str = ".new-";

/// See the module's text.
pub(super) struct Cache {
    dir: PathBuf,
    pub(super) bytes_max: u64,
    state: Mutex<State>,
    number: AtomicU64,
    /// Held as long as this lives.
    _lock: File,
}

type Key = (Arc<str>, u64);

#[derive(Default)]
struct State {
    kept: HashMap<Key, Kept>,
    /// By last use.
    order: BTreeMap<u64, Key>,
    bytes: u64,
    uses: u64,
}

struct Kept {
    size: u64,
    used: u64,
    touched: Instant,
}

/// A copy that was opened.
pub(super) struct Copy {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) size: u64,
}

impl Cache {
    /// The cache in `dir`, which is created if needed, with its content.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it.
    pub(super) fn open(dir: &Path, bytes_max: u64) -> Result<Self> {
        fs::create_dir_all(dir).map_err(files::at(dir))?;
        let lock = files::lock(&dir.join(".lock"), dir)?;
        let mut found: Vec<(SystemTime, Key, u64)> = Vec::new();
        for id in files::names(dir)? {
            let path = dir.join(&id);
            if is_unfinished(&id) {
                files::remove(&path)?;
            } else if is_id(&id) && path.is_dir() {
                let id: Arc<str> = id.into();
                for name in files::names(&path)? {
                    // Whatever else is there is not ours: the directory may have been given by mistake.
                    let Some((first, size)) = parse(&name) else { continue };
                    let file = path.join(&name);
                    let meta = fs::metadata(&file).map_err(files::at(&file))?;
                    if size == meta.len() {
                        let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                        found.push((used, (Arc::clone(&id), first), size));
                    } else {
                        files::remove(&file)?;
                    }
                }
            }
        }
        found.sort_unstable_by_key(|f| f.0);
        let mut state = State::default();
        for (_, key, size) in found {
            state.add(key, size);
        }
        let cache = Self {
            dir: dir.to_owned(),
            bytes_max,
            state: Mutex::new(state),
            number: AtomicU64::new(0),
            _lock: lock,
        };
        cache.shrink(0);
        Ok(cache)
    }

    fn path(&self, key: &Key, size: u64) -> PathBuf {
        self.dir.join(&*key.0).join(format!("{:020}-{size}", key.1))
    }

    /// The copy of an object, if there is one.
    pub(super) fn get(&self, id: &Arc<str>, first: u64) -> Option<Copy> {
        let key = (Arc::clone(id), first);
        let (size, touch) = {
            let mut state = self.state.lock();
            let size = state.kept.get(&key)?.size;
            (size, state.touch(&key))
        };
        let path = self.path(&key, size);
        let file = File::open(&path).ok().filter(|f| f.metadata().is_ok_and(|m| m.len() == size));
        let Some(file) = file else {
            self.remove(id, first);
            return None;
        };
        if touch {
            // Only an order that a restart gets a little wrong depends on it.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(Copy { file, path, size })
    }

    /// Whether there is a copy of an object.
    pub(super) fn has(&self, id: &Arc<str>, first: u64) -> bool {
        self.state.lock().kept.contains_key(&(Arc::clone(id), first))
    }

    /// Keeps a copy.
    ///
    /// # Errors
    /// The disk does not take it.
    pub(super) fn put(&self, id: &Arc<str>, first: u64, bytes: &[u8]) -> Result<()> {
        let (key, size) = ((Arc::clone(id), first), bytes.len() as u64);
        if size > self.bytes_max || self.state.lock().kept.contains_key(&key) {
            return Ok(());
        }
        self.shrink(size);
        let number = self.number.fetch_add(1, Relaxed);
        let unfinished = self.dir.join(format!("{UNFINISHED}{number}"));
        let path = self.path(&key, size);
        let write = || {
            fs::write(&unfinished, bytes)?;
            match fs::rename(&unfinished, &path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    fs::create_dir_all(self.dir.join(&*key.0))?;
                    fs::rename(&unfinished, &path)
                }
                other => other,
            }
        };
        if let Err(e) = write() {
            let _ = fs::remove_file(&unfinished);
            return Err(files::at(&path)(e));
        }
        self.state.lock().add(key, size);
        Ok(())
    }

    /// Lets go of a copy.
    pub(super) fn remove(&self, id: &Arc<str>, first: u64) {
        let key = (Arc::clone(id), first);
        let gone = self.state.lock().remove(&key);
        if let Some(size) = gone {
            // If it is not removed, it is found again at the next start.
            let _ = fs::remove_file(self.path(&key, size));
        }
    }

    /// Lets go of all copies of a topic.
    pub(super) fn forget(&self, id: &str) {
        let keys: Vec<Key> = {
            let state = self.state.lock();
            state.kept.keys().filter(|k| &*k.0 == id).cloned().collect()
        };
        keys.iter().for_each(|k| self.remove(&k.0, k.1));
        let _ = fs::remove_dir(self.dir.join(id));
    }

    /// Lets go of copies until `more` bytes fit.
    fn shrink(&self, more: u64) {
        loop {
            let oldest = {
                let state = self.state.lock();
                let full = state.bytes.saturating_add(more) > self.bytes_max
                    || state.kept.len() >= FILES_MAX;
                state.order.values().next().filter(|_| full).cloned()
            };
            let Some(key) = oldest else { return };
            self.remove(&key.0, key.1);
        }
    }
}

/// The offset and the size that a copy's name says.
fn parse(name: &str) -> Option<(u64, u64)> {
    let (first, size) = name.split_once('-').filter(|(first, _)| first.len() == 20)?;
    Some((first.parse().ok()?, size.parse().ok()?))
}

/// Whether that is how a topic's id looks.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether that is how an unfinished copy is called.
fn is_unfinished(name: &str) -> bool {
    let number = name.strip_prefix(UNFINISHED);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

impl State {
    fn add(&mut self, key: Key, size: u64) {
        self.remove(&key);
        self.uses += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.order.insert(self.uses, key.clone());
        self.kept.insert(key, Kept { size, used: self.uses, touched: Instant::now() });
    }

    fn remove(&mut self, key: &Key) -> Option<u64> {
        let kept = self.kept.remove(key)?;
        self.order.remove(&kept.used);
        self.bytes = self.bytes.saturating_sub(kept.size);
        Some(kept.size)
    }

    /// Notes a use; whether it is to be written down.
    fn touch(&mut self, key: &Key) -> bool {
        self.uses += 1;
        let Some(kept) = self.kept.get_mut(key) else { return false };
        self.order.remove(&kept.used);
        kept.used = self.uses;
        self.order.insert(self.uses, key.clone());
        let touch = kept.touched.elapsed() >= TOUCH;
        if touch {
            kept.touched = Instant::now();
        }
        touch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(cache: &Cache, id: &Arc<str>, firsts: &[u64]) -> Vec<bool> {
        // Without using them.
        let state = cache.state.lock();
        firsts.iter().map(|f| state.kept.contains_key(&(Arc::clone(id), *f))).collect()
    }

    #[test]
    fn bounded_in_order_of_use_and_kept_over_restarts() {
        let dir = testing::TempDir::new();
        let id: Arc<str> = "1f".into();
        let cache = Cache::open(&dir, 1000).expect("a directory");
        for first in 0..3 {
            cache.put(&id, first, &[first as u8; 300]).expect("written");
        }
        assert!(cache.get(&id, 0).is_some());
        cache.put(&id, 3, &[3; 300]).expect("written");
        assert_eq!(has(&cache, &id, &[0, 1, 2, 3]), [true, false, true, true]);
        cache.put(&id, 4, &[4; 1001]).expect("left out");
        assert_eq!(has(&cache, &id, &[0, 2, 3, 4]), [true, true, true, false]);
        assert!(Cache::open(&dir, 1000).is_err(), "it is in use");
        // Times as the file system keeps them.
        for (first, s) in [(0u64, 30), (2, 10), (3, 20)] {
            let file = cache.get(&id, first).expect("kept").file;
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(s)).expect("set");
        }
        drop(cache);
        // A file that a crash left.
        fs::write(dir.join(".new-7"), b"half").expect("written");
        fs::write(dir.join("1f").join(format!("{:020}-9", 9)), b"half").expect("written");
        // A file of another program.
        let others = ["letters/to-whom", "letters/1-1", "1f/notes", ".new-key"];
        fs::create_dir(dir.join("letters")).expect("created");
        others.iter().for_each(|f| fs::write(dir.join(f), b"mine").expect("written"));
        let cache = Cache::open(&dir, 700).expect("free");
        assert!(others.iter().all(|f| dir.join(f).exists()), "it is left alone");
        assert_eq!(has(&cache, &id, &[0, 2, 3, 9]), [true, false, true, false]);
        assert!(!dir.join(".new-7").exists());
        let copy = cache.get(&id, 3).expect("kept");
        assert_eq!(fs::read(&copy.path).expect("there"), [3; 300]);
        fs::write(&copy.path, b"short").expect("written");
        assert!(cache.get(&id, 3).is_none());
        assert_eq!(cache.state.lock().bytes, 300);
        cache.forget(&id);
        assert!(
            cache.get(&id, 0).is_none() && !dir.join("1f").join(format!("{:020}-300", 0)).exists()
        );
        drop(cache);
    }
}
