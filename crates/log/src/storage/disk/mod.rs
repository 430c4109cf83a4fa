//! Storage in a directory: the default.
//!
//! ```text
//! topics/.lock                               one process at a time
//! topics/NAME/topic.json                     settings
//! topics/NAME/00000000000000000000.log       segments: batches, one after the other
//! topics/NAME/state                          producers, as they were when the last segment began
//! topics/NAME/groups/GROUP                   committed offsets
//! ```

pub(super) mod files;
pub(super) mod scan;
mod topic;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{SETTINGS, Storage, TopicLog};
use crate::buf::Pool;
use crate::error::{Error, Result};
use crate::settings::{Settings, check_name};
use files::{DELETED, UNFINISHED};
use topic::DiskTopic;

/// How long records may wait for others: as Seb does.
const GATHER: Duration = Duration::from_millis(5);

/// Topics in a directory.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    /// Held as long as this lives.
    _lock: File,
    /// Creating and deleting topics, one at a time.
    naming: Mutex<u64>,
    /// What files are read into.
    pool: Arc<Pool>,
}

impl Disk {
    /// The topics in `root`, which is created if needed.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it.
    pub fn open(root: &Path) -> Result<Self> {
        fs::create_dir_all(root).map_err(files::at(root))?;
        let lock = files::lock(&root.join(".lock"), root)?;
        for name in files::names(root)? {
            if name.starts_with(UNFINISHED) || name.starts_with(DELETED) {
                let path = root.join(name);
                fs::remove_dir_all(&path).map_err(files::at(&path))?;
            }
        }
        Ok(Self { root: root.to_owned(), _lock: lock, naming: Mutex::new(0), pool: Arc::default() })
    }

    fn dir(&self, topic: &str) -> Result<PathBuf> {
        // Names come from anybody, and become paths here.
        check_name("topic", topic)?;
        Ok(self.root.join(topic))
    }

    fn value(&self, topic: &str, name: &str) -> Result<PathBuf> {
        let mut path = self.dir(topic)?;
        for part in name.split('/') {
            check_name("value", part)?;
            path.push(part);
        }
        Ok(path)
    }

    fn exists(&self, topic: &str) -> Result<PathBuf> {
        let dir = self.dir(topic)?;
        if dir.join(SETTINGS).exists() { Ok(dir) } else { Err(Error::NoTopic(topic.to_owned())) }
    }
}

impl Storage for Disk {
    fn kind(&self) -> &'static str {
        "disk"
    }

    fn gather(&self) -> Duration {
        GATHER
    }

    fn eager(&self) -> bool {
        true
    }

    fn topics(&self) -> Result<Vec<String>> {
        let mut names = files::names(&self.root)?;
        names.retain(|n| check_name("topic", n).is_ok());
        Ok(names)
    }

    fn create(&self, topic: &str, settings: &Settings) -> Result<()> {
        let dir = self.dir(topic)?;
        let _naming = self.naming.lock();
        if dir.exists() {
            return Err(Error::TopicExists(topic.to_owned()));
        }
        let unfinished = self.root.join(format!("{UNFINISHED}{topic}"));
        fs::create_dir_all(&unfinished).map_err(files::at(&unfinished))?;
        files::write(&unfinished.join(SETTINGS), settings.to_json().to_string().as_bytes())?;
        fs::rename(&unfinished, &dir).map_err(files::at(&dir))?;
        files::sync_dir(&self.root)
    }

    fn delete(&self, topic: &str) -> Result<()> {
        let mut naming = self.naming.lock();
        let dir = self.exists(topic)?;
        *naming += 1;
        let gone = self.root.join(format!("{DELETED}{naming}-{topic}"));
        fs::rename(&dir, &gone).map_err(files::at(&dir))?;
        files::sync_dir(&self.root)?;
        drop(naming);
        fs::remove_dir_all(&gone).map_err(files::at(&gone))
    }

    fn put(&self, topic: &str, name: &str, value: &[u8]) -> Result<()> {
        let path = self.value(topic, name)?;
        let dir = self.exists(topic)?;
        if let Some(parent) = path.parent()
            && parent != dir
            && !parent.exists()
        {
            fs::create_dir(parent).map_err(files::at(parent))?;
            files::sync_dir(&dir)?;
        }
        files::write(&path, value)
    }

    fn get(&self, topic: &str, name: &str) -> Result<Option<Vec<u8>>> {
        files::read(&self.value(topic, name)?)
    }

    fn forget(&self, topic: &str, name: &str) -> Result<()> {
        files::remove(&self.value(topic, name)?)
    }

    fn names(&self, topic: &str, prefix: &str) -> Result<Vec<String>> {
        let dir = self.exists(topic)?;
        let (folder, start) = prefix.rsplit_once('/').map_or((None, prefix), |(f, s)| (Some(f), s));
        let names = files::names(&folder.map_or_else(|| dir.clone(), |f| dir.join(f)))?;
        let fine = |n: &&String| n.starts_with(start) && check_name("value", n).is_ok();
        let full = |n: &String| folder.map_or_else(|| n.clone(), |f| format!("{f}/{n}"));
        Ok(names.iter().filter(fine).map(full).collect())
    }

    fn open(&self, topic: &str, _: &Settings, tell: &dyn Fn(&str)) -> Result<Arc<dyn TopicLog>> {
        let dir = self.exists(topic)?;
        Ok(Arc::new(DiskTopic::open(topic, dir, Arc::clone(&self.pool), tell)?))
    }
}
