//! The journal (`appendonly yes`): every change as a record with a sequence number and a checksum.
//!
//! ```text
//!  worker threads          writer                              files in `appenddirname`
//!  ──────────────          ──────                              ────────────────────────
//!  take a number and       merge by number, seal, write,       manifest: base and segments
//!  append to their own     sync as `appendfsync` says,         base:     a snapshot
//!  lane, under the locks   publish how far it is durable       segments: records
//!  of the shards
//! ```
//!
//! - Numbers have no gaps, and the writer stops at a number that is missing (its thread is just about
//!   to append it): the records on disk are always a beginning of all records.
//! - A record is a unit: a command with the deletions that came before it, a transaction, a script.
//! - One sync serves all waiting clients. The journal does not know them: it notifies [`Observer`]
//!   how far all is durable.
//! - No durable byte is ever written again, nor is a file changed in place; a damaged one is for the
//!   operator ([`check`]).

pub mod check;
pub mod manifest;
#[cfg(all(test, loom))]
mod model;
pub mod record;
pub mod recover;
pub mod redis;
pub mod segment;
pub mod shared;
pub mod writer;

use std::io;
use std::path::PathBuf;

use crate::disk::Disk;

pub use manifest::{Base, Manifest};
pub use recover::{Recovered, Recovery, Refusal};
pub use shared::{Observer, Shared, Sync, Trouble, WakeRequest};
pub use writer::{Control, Writer};

/// Where a journal is, and how large its files become.
#[derive(Clone, Debug)]
pub struct Location {
    /// The directory (`appenddirname` in `dir`).
    pub dir: PathBuf,
    /// The beginning of all names (`appendfilename`).
    pub stem: String,
    /// Bytes after which a segment is not continued.
    pub segment_bytes: u64,
    /// Zeros that are written ahead of the records under `always`: syncing a write into them makes
    /// no length or block map durable, which halves the time of a sync.
    pub ahead_bytes: u64,
}

impl Location {
    /// Path of the manifest.
    pub fn manifest(&self) -> PathBuf {
        self.dir.join(format!("{}.journal", self.stem))
    }

    /// Path of the file that is locked by the server whose journal it is.
    pub fn lock(&self) -> PathBuf {
        self.dir.join(format!("{}.lock", self.stem))
    }

    /// Path of a file by its name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Name of a segment.
    pub fn segment(&self, number: u64) -> String {
        format!("{}.{number}.seg", self.stem)
    }

    /// Name of a base snapshot. Redis's end in `.base.rdb`, and stay as they are.
    pub fn base(&self, number: u64) -> String {
        format!("{}.{number}.base", self.stem)
    }

    /// A file that a manifest has named once, where there is no manifest: a base, or the first
    /// segment of all if it has records. The files of a journal that ended before its first base
    /// existed have other numbers, and are of no use.
    fn left_without_manifest(&self, disk: &dyn Disk) -> io::Result<Option<String>> {
        let mut names = match disk.list(&self.dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            names => names?,
        };
        names.retain(|name| self.is_own(name));
        names.sort();
        for name in names {
            let is_left = if name == self.segment(1) {
                let bytes = disk.read(&self.file(&name))?;
                segment::survey(&bytes).is_ok_and(|s| s.records > 0)
            } else {
                name.ends_with(".base")
            };
            if is_left {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Whether a name in the directory is one that a journal gives to its files, finished or not (the
    /// manifest excepted).
    fn is_own(&self, name: &str) -> bool {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let ours = name.strip_prefix(&*self.stem).and_then(|rest| rest.strip_prefix('.'));
        let whole = ours.map(|rest| rest.strip_suffix(".tmp").unwrap_or(rest));
        let numbered = whole.and_then(|rest| rest.rsplit_once('.'));
        numbered.is_some_and(|(n, kind)| number(n) && matches!(kind, "seg" | "base"))
            || ours == Some("journal.tmp")
    }
}
