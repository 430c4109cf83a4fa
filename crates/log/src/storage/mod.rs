//! Where topics are kept. [`Storage`] is the interface that the broker needs; tests/suite states its
//! guarantees, and runs over every implementation.

pub mod disk;
pub mod memory;
#[cfg(feature = "objects")]
pub mod object;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::{Batch, Header};
use crate::error::{Damage, Error, Result};
use crate::group::Group;
use crate::settings::Settings;

/// A directory for copies of objects, and how many bytes of them.
#[derive(Clone, Debug)]
pub struct CacheOptions {
    /// The directory, which is created if needed.
    pub dir: PathBuf,
    /// Bytes at most.
    pub bytes: u64,
}

/// Called with messages for people.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A place that keeps topics. All of it may block.
pub trait Storage: Send + Sync + 'static {
    /// What it is, for people.
    fn kind(&self) -> &'static str;

    /// How long records may wait for others, unless their topic says otherwise.
    fn linger(&self) -> Duration;

    /// Whether a write is so cheap that an input should not wait for others, which may not come.
    fn eager(&self) -> bool;

    /// Whether others may write the same topics.
    fn shared(&self) -> bool {
        false
    }

    /// Descriptors in use, and how many may be.
    fn descriptors(&self) -> (usize, usize) {
        (0, 0)
    }

    /// The names of all topics, sorted.
    ///
    /// # Errors
    /// The storage fails.
    fn topics(&self) -> Result<Vec<String>>;

    /// Creates a topic, durably.
    ///
    /// # Errors
    /// [`Error::TopicExists`], or the storage fails.
    fn create(&self, topic: &str, settings: &Settings) -> Result<()>;

    /// Deletes a topic with all its records. It is gone when this returns, whatever happens.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    fn delete(&self, topic: &str) -> Result<()>;

    /// Keeps a small value of a topic under a name, durably and at once or not at all.
    ///
    /// # Errors
    /// The storage fails.
    fn put(&self, topic: &str, name: &str, value: &[u8]) -> Result<()>;

    /// Such a value, if there is one.
    ///
    /// # Errors
    /// The storage fails.
    fn get(&self, topic: &str, name: &str) -> Result<Option<Vec<u8>>>;

    /// Forgets such a value.
    ///
    /// # Errors
    /// The storage fails.
    fn forget(&self, topic: &str, name: &str) -> Result<()>;

    /// The names of such values that begin with `prefix`, sorted.
    ///
    /// # Errors
    /// The storage fails.
    fn names(&self, topic: &str, prefix: &str) -> Result<Vec<String>>;

    /// Makes a topic usable again whose own files are damaged or missing, so that it is not opened; nothing
    /// that can still be read is lost. Returns a description of the repair, for people.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    fn repair(&self, topic: &str) -> Result<Vec<String>> {
        let _ = topic;
        Ok(Vec::new())
    }

    /// Opens a topic that exists; unfinished work that a crash has left is cleared up. `tell` is called
    /// with messages for people.
    ///
    /// # Errors
    /// The storage fails.
    fn open(
        &self,
        topic: &str,
        settings: &Settings,
        tell: &dyn Fn(&str),
    ) -> Result<Arc<dyn TopicLog>>;
}

/// The name under which settings are kept.
pub const SETTINGS: &str = "topic.json";

/// The name under which a topic's identity is kept, where [`TopicLog::identity`] does not have it.
pub const IDENTITY: &str = "identity";

/// The figures of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the oldest record.
    pub first: u64,
    /// Offset that the next record gets.
    pub next: u64,
    /// Bytes as stored.
    pub bytes: u64,
    /// When the newest record was appended, in Unix microseconds; 0 if there is none.
    pub latest_us: u64,
    /// Files or objects.
    pub objects: u64,
}

/// The request of a read.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The offset that the first batch must contain.
    pub offset: u64,
    /// Records from there on that are enough.
    pub records: u64,
    /// Bytes that are enough. The first batch is returned whatever it has.
    pub bytes: usize,
    /// Offset at which to stop.
    pub before: u64,
    /// Bytes that there is memory for: a batch with more is not read, but refused with [`Error::Larger`] if
    /// it is the first one. A batch that is in memory already is not refused.
    pub most: usize,
}

impl Want {
    /// What begins with an offset: so many records and bytes, whatever the first batch has.
    pub fn from(offset: u64, records: u64, bytes: usize) -> Self {
        Self { offset, records, bytes, before: u64::MAX, most: usize::MAX }
    }
}

/// The records to remove.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Records appended before this time, in Unix microseconds.
    pub before_us: u64,
    /// The oldest, while there are more bytes than this; 0: no limit.
    pub bytes: u64,
}

/// Why an append was not done.
#[derive(Debug)]
pub enum Refused {
    /// Another process has written at these offsets: call [`TopicLog::refresh`], and retry.
    Conflict,
    /// The storage failed. Only where it is shared may the records come to light later all the same, if no
    /// others have been stored at their offsets.
    Failed(Error),
}

/// The records of one topic. The broker calls `reserve`, `append`, `refresh` and `trim` from one thread
/// at a time, all else from any.
pub trait TopicLog: Send + Sync {
    /// What there is.
    fn extent(&self) -> Extent;

    /// Prepares for an append of about so many bytes. Returns how many bytes the group must leave free in
    /// front of itself. A new file or object that this begins is the moment to store the state that a later
    /// opening should not have to look for: `state` gives it.
    ///
    /// # Errors
    /// The storage fails.
    fn reserve(
        &self,
        bytes: usize,
        settings: &Settings,
        state: &dyn Fn() -> Vec<u8>,
    ) -> Result<usize>;

    /// How many bytes [`TopicLog::reserve`] is likely to ask for next, if a group is stored that ends at
    /// this byte of its buffer.
    fn lead_after(&self, end: usize) -> usize {
        let _ = end;
        0
    }

    /// Appends a group whose first offset is the next one. When this returns, readers may see it.
    ///
    /// # Errors
    /// See [`Refused`].
    fn append(&self, group: &mut Group, sync: bool) -> std::result::Result<(), Refused>;

    /// Whether it was deleted by another process, or cannot go on for another reason: the caller must open
    /// it anew.
    fn gone(&self) -> bool {
        false
    }

    /// The topic's identity, where the storage gives it one: see [`crate::Broker::identity`].
    fn identity(&self) -> Option<Arc<str>> {
        None
    }

    /// Settings that another process has changed, returned once.
    fn changed(&self) -> Option<Settings> {
        None
    }

    /// Looks for records that other processes have appended. `numbered` gets the headers of those batches
    /// that are numbered, in order, also of those that were found before an error.
    ///
    /// # Errors
    /// The storage fails.
    fn refresh(&self, numbered: &mut Vec<Header>) -> Result<()> {
        let _ = numbered;
        Ok(())
    }

    /// The state that was last written down, and the headers of all batches since then.
    ///
    /// # Errors
    /// The storage fails.
    fn history(&self) -> Result<(Option<Vec<u8>>, Vec<Header>)>;

    /// Whole batches, checked, from the one that holds `want.offset` on.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Damaged`] if the first batch is, or the storage fails. The result
    /// ends before damage further on.
    fn read(&self, want: &Want) -> Result<Vec<Batch>>;

    /// The offset of the first batch that was appended at or after this time, or the next offset.
    ///
    /// # Errors
    /// The storage fails.
    fn find(&self, appended_us: u64) -> Result<u64>;

    /// Lets go of the oldest files or objects that are beyond the limits. Returns whether any was.
    /// `state` as in [`TopicLog::reserve`].
    ///
    /// # Errors
    /// The storage fails.
    fn trim(&self, limits: &Limits, state: &dyn Fn() -> Vec<u8>) -> Result<bool>;

    /// Reads and checks everything. `seen` is called for every batch, with its size.
    ///
    /// # Errors
    /// The storage fails. Damage is no error, but the result.
    fn verify(&self, seen: &mut dyn FnMut(&Header)) -> Result<Vec<Damage>>;

    /// Makes it possible again to append where damage at the very end hides which offset comes next, by
    /// leaving out more offsets than can be there. Returns the one to go on with, if there was such damage.
    ///
    /// # Errors
    /// The storage fails.
    fn repair(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Releases the resources that are only needed while there is traffic: descriptors, indexes. `state` as in
    /// [`TopicLog::reserve`]; none if nothing may be written.
    fn release_idle(&self, state: Option<&dyn Fn() -> Vec<u8>>) {
        let _ = state;
    }
}
