//! Storage in a directory: the default.
//!
//! ```text
//! topics/.lock                               one process at a time
//! topics/NAME/topic.json                     settings
//! topics/NAME/segments                       which segments there are: the first and the last
//! topics/NAME/00000000000000000000.log       segments: batches, one after the other
//! topics/NAME/state                          producers, as they were when the last segment began
//! topics/NAME/stored                         the offset up to which all records have reached the disk
//! topics/NAME/groups/GROUP                   committed offsets
//! ```

mod descriptors;
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
use crate::seal::{one_line, seal, unseal};
use crate::settings::{Settings, check_name};
use descriptors::Descriptors;
use files::{DELETED, UNFINISHED};
use topic::DiskTopic;

/// How long records may wait for others: as Seb does.
const LINGER: Duration = Duration::from_millis(5);

/// Files that topics may have open, unless it is said.
const DESCRIPTORS: usize = 256;

/// Topics in a directory.
pub struct Disk {
    root: PathBuf,
    /// Held as long as this lives.
    _lock: File,
    /// Creating and deleting topics, one at a time.
    naming: Mutex<u64>,
    /// Buffers that files are read into.
    pool: Arc<Pool>,
    descriptors: Arc<Descriptors>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Disk {
    /// The topics in `root`, which is created if needed.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it.
    pub fn open(root: &Path) -> Result<Self> {
        Self::open_with(root, DESCRIPTORS)
    }

    /// The same with so many files open at once, about.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it.
    pub fn open_with(root: &Path, descriptors: usize) -> Result<Self> {
        fs::create_dir_all(root).map_err(files::at(root))?;
        let lock = files::lock(&root.join(".lock"), root)?;
        for name in files::names(root)? {
            if name.starts_with(UNFINISHED) || name.starts_with(DELETED) {
                let path = root.join(name);
                fs::remove_dir_all(&path).map_err(files::at(&path))?;
            }
        }
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
            naming: Mutex::new(0),
            pool: Arc::default(),
            descriptors: Descriptors::new(descriptors),
        })
    }

    fn dir(&self, topic: &str) -> Result<PathBuf> {
        // Names come from any client, and become paths here.
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
        if dir.is_dir() { Ok(dir) } else { Err(Error::NoTopic(topic.to_owned())) }
    }
}

impl Storage for Disk {
    fn kind(&self) -> &'static str {
        "disk"
    }

    fn linger(&self) -> Duration {
        LINGER
    }

    fn eager(&self) -> bool {
        true
    }

    fn descriptors(&self) -> (usize, usize) {
        self.descriptors.figures()
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
        let _permit = self.descriptors.take()?;
        files::write(&unfinished.join(SETTINGS), &seal(settings.to_json().to_string().as_bytes()))?;
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
        let _permit = self.descriptors.take()?;
        files::write(&path, &seal(value))
    }

    fn get(&self, topic: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.value(topic, name)?;
        let _permit = self.descriptors.take()?;
        let shown = path.display();
        let repair = || {
            format!(
                "Put it back from a backup; or stop the server, and `apus log repair {topic}` writes it \
                 anew with settings that keep all records"
            )
        };
        let Some(content) = files::read(&path)? else {
            // No topic is ever without.
            return match name {
                SETTINGS if self.dir(topic)?.is_dir() => {
                    Err(Error::Storage(format!("{shown} is missing. {}", repair())))
                }
                _ => Ok(None),
            };
        };
        let text = unseal(&content, one_line).map(<[u8]>::to_vec);
        text.map(Some).ok_or_else(|| {
            let what = match name {
                SETTINGS => repair(),
                _ => "Write it anew: for a group, commit its offset, or delete it".to_owned(),
            };
            Error::Storage(format!("{shown} is damaged: its checksum is wrong. {what}"))
        })
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
        let shared = (Arc::clone(&self.pool), Arc::clone(&self.descriptors));
        Ok(DiskTopic::open(topic, dir, shared, tell)?)
    }

    fn repair(&self, topic: &str) -> Result<Vec<String>> {
        let dir = self.exists(topic)?;
        let mut done = Vec::new();
        let settings = self
            .get(topic, SETTINGS)
            .and_then(|text| Settings::default().with_json(&text.unwrap_or_default()));
        if settings.is_err() {
            self.put(topic, SETTINGS, Settings::default().to_json().to_string().as_bytes())?;
            done.push(format!("{}: default settings", dir.join(SETTINGS).display()));
        }
        done.extend(topic::repair(&dir)?);
        Ok(done)
    }
}
