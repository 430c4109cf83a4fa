//! Objects on their way from the store to readers: those that a reader waits for, and those behind them that
//! it is likely to need next.
//!
//! Memory for them is bounded by bytes ([`super::Options::fetch_max`]), from before an object is asked for
//! until the last reader has let go of it. An object that was fetched ahead is dropped when no reader needs it
//! within [`KEEP`], and before a reader has to wait. Readers are only known by the positions that they have
//! read: one that goes away leaves nothing else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::path::Path;
use parking_lot::{Condvar, Mutex};

use super::remote::Remote;
use crate::error::{Error, Result};
use crate::meter::{Meter, Permit};

/// How long an object is kept for readers that do not come.
const KEEP: Duration = Duration::from_secs(10);
/// How long a reader waits for memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a waiting thread looks for free memory, since readers do not announce that they have released it.
const LOOK: Duration = Duration::from_millis(5);

/// A topic's id and the offset that the object begins with.
pub(super) type Key = (Arc<str>, u64);

/// See the module's text.
pub(super) struct Ahead {
    meter: Arc<Meter>,
    objects: Mutex<HashMap<Key, Object>>,
    /// Signalled when one has come, or does not.
    come: Condvar,
}

enum Object {
    Coming,
    Here { bytes: Bytes, wanted: bool, since: Instant },
}

/// Bytes whose room is given back with them.
struct WithPermit {
    bytes: Bytes,
    _permit: Permit,
}

impl AsRef<[u8]> for WithPermit {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn with_permit(bytes: Bytes, mut permit: Permit) -> Bytes {
    // If it is larger than it was said to be, it is here all the same.
    permit.fit(bytes.len());
    Bytes::from_owner(WithPermit { bytes, _permit: permit })
}

impl Ahead {
    pub(super) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            meter: Meter::apart(bytes_max),
            objects: Mutex::default(),
            come: Condvar::new(),
        })
    }

    /// Begins to fetch an object that a reader will probably need, if there is memory for it.
    pub(super) fn begin(
        self: &Arc<Self>,
        remote: &Remote,
        key: &Key,
        path: Path,
        size: u64,
    ) -> bool {
        let mut objects = self.objects.lock();
        objects.retain(|_, o| !matches!(o, Object::Here { since, .. } if since.elapsed() > KEEP));
        if objects.contains_key(key) {
            return true;
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let permit = loop {
            if let Some(permit) = self.meter.take(size) {
                break permit;
            }
            // Not for objects that no reader has used yet.
            if !drop_oldest(&mut objects, true) {
                return false;
            }
        };
        objects.insert(key.clone(), Object::Coming);
        drop(objects);
        let (this, key) = (Arc::clone(self), key.clone());
        remote.get_aside(path, move |found| {
            let mut objects = this.objects.lock();
            match found {
                Some(bytes) => {
                    let (bytes, since) = (with_permit(bytes, permit), Instant::now());
                    objects.insert(key, Object::Here { bytes, wanted: false, since });
                }
                // The reader that needs it asks again, and gets the error.
                None => drop(objects.remove(&key)),
            }
            drop(objects);
            this.come.notify_all();
        });
        true
    }

    /// An object that is here or coming, or the result of `fetch`. A caller that has room already must not
    /// `wait` for more.
    ///
    /// # Errors
    /// The errors of `fetch`, and [`Error::Busy`] if there is no memory.
    pub(super) fn get(
        &self,
        key: &Key,
        size: u64,
        wait: bool,
        fetch: impl FnOnce() -> Result<Option<Bytes>>,
    ) -> Result<Option<Bytes>> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let until = Instant::now() + PATIENCE;
        let mut objects = self.objects.lock();
        let permit = loop {
            match objects.get_mut(key) {
                Some(Object::Here { bytes, wanted, .. }) => {
                    *wanted = true;
                    return Ok(Some(bytes.clone()));
                }
                Some(Object::Coming) => {
                    self.come.wait(&mut objects);
                    continue;
                }
                None => {}
            }
            if let Some(permit) = self.meter.take(size) {
                break permit;
            }
            if !drop_oldest(&mut objects, true) && !drop_oldest(&mut objects, false) {
                if !wait || Instant::now() >= until {
                    return Err(Error::Busy { retry_ms: 1000 });
                }
                self.come.wait_for(&mut objects, LOOK);
            }
        };
        objects.insert(key.clone(), Object::Coming);
        drop(objects);
        // Others wait for it: they must hear of it even if this panics.
        let mut coming = ComingIn { ahead: self, key, here: None };
        let bytes = fetch()?.map(|bytes| with_permit(bytes, permit));
        coming.here.clone_from(&bytes);
        Ok(bytes)
    }

    /// Drops an object with wrong content.
    pub(super) fn remove(&self, key: &Key) {
        let mut objects = self.objects.lock();
        if matches!(objects.get(key), Some(Object::Here { .. })) {
            objects.remove(key);
        }
    }

    /// Lets go of a topic's objects.
    pub(super) fn forget(&self, id: &Arc<str>) {
        self.objects.lock().retain(|key, o| matches!(o, Object::Coming) || key.0 != *id);
    }
}

/// Publishes, when dropped, the result for an object that other threads wait for.
struct ComingIn<'a> {
    ahead: &'a Ahead,
    key: &'a Key,
    here: Option<Bytes>,
}

impl Drop for ComingIn<'_> {
    fn drop(&mut self) {
        let mut objects = self.ahead.objects.lock();
        objects.remove(self.key);
        if let Some(bytes) = self.here.take() {
            let object = Object::Here { bytes, wanted: true, since: Instant::now() };
            objects.insert(self.key.clone(), object);
        }
        drop(objects);
        self.ahead.come.notify_all();
    }
}

/// Drops the oldest present object, of those that a reader has used or of those that none has used.
fn drop_oldest(objects: &mut HashMap<Key, Object>, seen: bool) -> bool {
    let here = objects.iter().filter_map(|(key, o)| match o {
        Object::Here { wanted, since, .. } if *wanted == seen => Some((*since, key)),
        _ => None,
    });
    let Some(key) = here.min_by_key(|(since, _)| *since).map(|(_, key)| key.clone()) else {
        return false;
    };
    objects.remove(&key);
    true
}
