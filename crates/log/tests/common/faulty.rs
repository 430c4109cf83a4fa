//! An object store as one process sees it on a bad day: answers get lost, requests are done late or not
//! at all, listings are slow and old.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use log::storage::object::Bucket;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;

use super::Rng;

/// How often, of 1,000 requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Not done.
    pub failed: u64,
    /// Done, but the answer is lost.
    pub lost: u64,
    /// Done up to this many milliseconds after it was said to have failed.
    pub late: u64,
    pub late_ms: u64,
    /// Listings that do not show what was stored last, and take their time.
    pub stale: u64,
    /// Milliseconds that reading an object takes.
    pub get_ms: u64,
    /// Listings begin at the beginning, whatever name they are to begin behind.
    pub whole_lists: bool,
    /// Nothing is deleted.
    pub undeletable: bool,
}

#[derive(Debug)]
pub struct Faulty {
    store: Arc<InMemory>,
    faults: Mutex<Faults>,
    rng: Mutex<Rng>,
    /// The process is no more.
    dead: AtomicBool,
    pub puts: AtomicU64,
    /// Objects that were asked for.
    pub gets: AtomicU64,
    /// How many of those at the same time at most.
    pub together: AtomicU64,
    now: AtomicU64,
}

impl Faulty {
    pub fn new(store: &Arc<InMemory>, faults: Faults, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            faults: Mutex::new(faults),
            rng: Mutex::new(Rng(seed | 1)),
            dead: AtomicBool::new(false),
            puts: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            together: AtomicU64::new(0),
            now: AtomicU64::new(0),
        })
    }

    pub fn bucket(self: &Arc<Self>) -> Bucket {
        Bucket::new(Arc::clone(self) as Arc<dyn ObjectStore>, "", "memory://")
    }

    /// No later request is carried out.
    pub fn kill(&self) {
        self.dead.store(true, Relaxed);
    }

    pub fn set(&self, faults: Faults) {
        *self.faults.lock() = faults;
    }

    fn error() -> Error {
        Error::Generic { store: "faulty", source: "bad day".into() }
    }

    /// Whether something that happens so often happens now.
    fn happens(&self, often: impl Fn(&Faults) -> u64) -> bool {
        let often = often(&self.faults.lock());
        self.rng.lock().below(1000) < often
    }

    fn try_failing(&self) -> Result<()> {
        let fails = self.dead.load(Relaxed) || self.happens(|f| f.failed);
        if fails { Err(Self::error()) } else { Ok(()) }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.try_failing()?;
        self.puts.fetch_add(1, Relaxed);
        if self.happens(|f| f.late) {
            let ms = self.faults.lock().late_ms;
            let after = Duration::from_millis(self.rng.lock().below(ms + 1));
            let (store, location) = (Arc::clone(&self.store), location.clone());
            // Also if the process has ended: the request is on its way.
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let put = store.put_opts(&location, payload, opts);
                futures_util::FutureExt::now_or_never(put)
            });
            return Err(Self::error());
        }
        let result = self.store.put_opts(location, payload, opts).await;
        if self.dead.load(Relaxed) || result.is_ok() && self.happens(|f| f.lost) {
            return Err(Self::error());
        }
        result
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(Self::error())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.try_failing()?;
        self.gets.fetch_add(1, Relaxed);
        let now = self.now.fetch_add(1, Relaxed) + 1;
        self.together.fetch_max(now, Relaxed);
        let ms = self.faults.lock().get_ms;
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        self.now.fetch_sub(1, Relaxed);
        self.store.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if self.faults.lock().undeletable || self.try_failing().is_err() {
            return stream::once(async { Err(Self::error()) }).boxed();
        }
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if self.try_failing().is_err() {
            return stream::once(async { Err(Self::error()) }).boxed();
        }
        let all = self.store.list(prefix);
        if !self.happens(|f| f.stale) {
            return all;
        }
        let old = Duration::from_millis(self.rng.lock().below(100));
        let slow = async move {
            tokio::time::sleep(old / 20).await;
            let is_old = move |m: &ObjectMeta| {
                let age = std::time::SystemTime::now()
                    .duration_since(m.last_modified.into())
                    .unwrap_or_default();
                async move { age >= old }
            };
            all.try_filter(is_old)
        };
        stream::once(slow).flatten().boxed()
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (all, offset) = (self.list(prefix), offset.clone());
        let whole = self.faults.lock().whole_lists;
        all.try_filter(move |m| futures_util::future::ready(whole || m.location > offset)).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(Self::error())
    }
}
