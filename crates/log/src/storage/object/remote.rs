//! The object store, for threads that may wait.
//!
//! `object_store` is asynchronous; the log's threads are not. Requests run on a small runtime that belongs to
//! the storage, and the caller waits for them on a channel, so that any thread may call. Requests that may be
//! repeated are retried here; one that may not (a put whose answer was lost) is distinguished from one that
//! certainly was not done.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error as StoreError, GetOptions, ObjectStore, ObjectStoreExt as _,
    PutMode, PutOptions, UpdateVersion,
};
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};

/// Threads of the runtime: they copy, sign and encrypt, and wait for nothing.
const THREADS: usize = 2;
/// No request takes longer; the store's own client gives up earlier.
const REQUEST: Duration = Duration::from_secs(90);
/// Time before the first repetition; it doubles …
const PAUSE: Duration = Duration::from_millis(20);
/// … up to this.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Bytes of an object at most: twice the size of the largest one that is written.
const OBJECT_MAX: u64 = 64 << 20;
/// Requests at the same time, of one thread that waits.
const TOGETHER: usize = 8;

/// The metadata of an object of records (on S3 `x-amz-meta-apusnext`): the offset after it. So it is known even
/// if the bytes are damaged. One word, as Azure wants it.
const NEXT: &str = "apusnext";

/// The result of a put.
#[derive(Debug)]
pub(super) enum Put {
    /// Stored.
    Done(UpdateVersion),
    /// Not stored by this request: there is an object already, or another than expected.
    Exists,
    /// Not stored, and it would not help to try again.
    Refused(Error),
    /// Stored, not stored, or stored later.
    Unknown(Error),
}

/// An object in a listing.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Its whole name.
    pub(super) path: Path,
    pub(super) size: u64,
}

/// See the module's text.
pub(super) struct Remote {
    store: Arc<dyn ObjectStore>,
    runtime: Option<Runtime>,
    /// How long requests that may be repeated are.
    patience: Duration,
    /// Begins every name that people are shown.
    url: String,
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Waiting for its threads would panic on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Is called once, at the latest when it is dropped.
struct Done<F: FnOnce(Option<Bytes>)>(Option<F>);

impl<F: FnOnce(Option<Bytes>)> Done<F> {
    fn call(&mut self, found: Option<Bytes>) {
        if let Some(done) = self.0.take() {
            done(found);
        }
    }
}

impl<F: FnOnce(Option<Bytes>)> Drop for Done<F> {
    fn drop(&mut self) {
        self.call(None);
    }
}

/// Grows with every round that went wrong.
pub(super) struct Pause {
    next: Duration,
    until: Instant,
}

impl Pause {
    pub(super) fn new(patience: Duration) -> Self {
        Self { next: PAUSE, until: Instant::now() + patience }
    }

    /// Waits before the next round; not if it is time to give up.
    pub(super) fn again(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        std::thread::sleep(self.next);
        self.next = (self.next * 2).min(PAUSE_MAX);
        true
    }
}

/// Whether the store has said no, rather than not having said anything that can be relied on.
fn is_refusal(e: &StoreError) -> bool {
    matches!(
        e,
        StoreError::PermissionDenied { .. }
            | StoreError::Unauthenticated { .. }
            | StoreError::NotSupported { .. }
            | StoreError::NotImplemented { .. }
            | StoreError::InvalidPath { .. }
            | StoreError::UnknownConfigurationKey { .. }
    )
}

/// An error text whose end is S3's answer in XML, with the code and the message of that instead.
fn without_markup(mut text: String) -> String {
    let inner = |tag: &str| {
        let from = text.find(&format!("<{tag}>"))? + tag.len() + 2;
        let to = text[from..].find(&format!("</{tag}>"))? + from;
        Some(text[from..to].to_owned())
    };
    if let Some((code, message)) = inner("Code").zip(inner("Message"))
        && let Some(start) = text.find("<?xml").or_else(|| text.find("<Error"))
    {
        text.truncate(start);
        text.push_str(&format!("{code}: {message}"));
    }
    text
}

impl Remote {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        url: String,
        patience: Duration,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("apus-objects")
            .enable_all()
            .build()
            .map_err(|e| Error::io("threads for the object store", &e))?;
        Ok(Self { store, runtime: Some(runtime), patience, url })
    }

    /// An object's name as people are shown it.
    pub(super) fn shown(&self, path: &Path) -> String {
        format!("{}{path}", self.url)
    }

    fn error(&self, path: &Path, e: &StoreError) -> Error {
        let mut text = format!("{}: {e}", self.shown(path));
        // The whole chain is often in the first text already.
        let mut source = std::error::Error::source(e);
        while let Some(s) = source {
            let s_text = s.to_string();
            if !text.contains(&s_text) {
                text.push_str(": ");
                text.push_str(&s_text);
            }
            source = s.source();
        }
        Error::Storage(without_markup(text))
    }

    /// Runs a request on the runtime and waits for it.
    fn run<T: Send + 'static>(
        &self,
        request: impl Future<Output = std::result::Result<T, StoreError>> + Send + 'static,
    ) -> std::result::Result<T, StoreError> {
        let lost = |why: &'static str| StoreError::Generic { store: "apus", source: why.into() };
        let Some(runtime) = &self.runtime else { return Err(lost("it is closed")) };
        let (tx, rx) = sync_channel(1);
        runtime.spawn(async move {
            let result = tokio::time::timeout(REQUEST, request).await;
            // The caller waits for it.
            let _ = tx.send(result.unwrap_or_else(|_| Err(lost("no answer in time"))));
        });
        rx.recv().unwrap_or_else(|_| Err(lost("the request was given up")))
    }

    /// Runs a request until it has an answer or patience ends.
    fn repeat<T: Send + 'static, F>(&self, path: &Path, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, StoreError>> + Send + 'static,
    {
        let mut pause = Pause::new(self.patience);
        loop {
            match self.run(request()) {
                Ok(t) => return Ok(t),
                Err(e) if is_refusal(&e) || !pause.again() => return Err(self.error(path, &e)),
                Err(_) => {}
            }
        }
    }

    fn put(&self, path: &Path, bytes: Bytes, mode: PutMode) -> Put {
        self.put_saying(path, bytes, mode, None)
    }

    fn put_saying(&self, path: &Path, bytes: Bytes, mode: PutMode, next: Option<u64>) -> Put {
        let (store, to) = (Arc::clone(&self.store), path.clone());
        let said = next.map(|n| (Attribute::Metadata(NEXT.into()), n.to_string()));
        let attributes = Attributes::from_iter(said);
        let request = async move {
            let options = PutOptions { attributes, ..PutOptions::from(mode) };
            store.put_opts(&to, bytes.into(), options).await.map(UpdateVersion::from)
        };
        match self.run(request) {
            Ok(version) => Put::Done(version),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Put::Exists,
            // There is no bucket of that name.
            Err(e @ StoreError::NotFound { .. }) => Put::Refused(self.error(path, &e)),
            Err(e) if is_refusal(&e) => Put::Refused(self.error(path, &e)),
            Err(e) => Put::Unknown(self.error(path, &e)),
        }
    }

    /// Stores an object of a name that there is not yet. Once.
    pub(super) fn create(&self, path: &Path, bytes: Bytes) -> Put {
        self.put(path, bytes, PutMode::Create)
    }

    /// The same, for an object of records that ends before the offset `next`.
    pub(super) fn create_records(&self, path: &Path, bytes: Bytes, next: u64) -> Put {
        self.put_saying(path, bytes, PutMode::Create, Some(next))
    }

    /// The offset after an object of records, as it was said when it was stored.
    pub(super) fn said_next(&self, path: &Path) -> Result<Option<u64>> {
        self.repeat(path, || {
            let (store, path) = (Arc::clone(&self.store), path.clone());
            async move {
                let options = GetOptions { head: true, ..GetOptions::default() };
                match store.get_opts(&path, options).await {
                    Ok(found) => {
                        let said = found.attributes.get(&Attribute::Metadata(NEXT.into()));
                        Ok(said.and_then(|n| n.parse().ok()))
                    }
                    Err(StoreError::NotFound { .. }) => Ok(None),
                    Err(e) => Err(e),
                }
            }
        })
    }

    /// Says of an object of records, whatever is in it, that it ends before the offset `next`.
    pub(super) fn say_next(&self, path: &Path, next: u64) -> Result<()> {
        let mut pause = Pause::new(self.patience);
        loop {
            let Some((bytes, version)) = self.get(path)? else { return Ok(()) };
            if self.said_next(path)? == Some(next) {
                return Ok(());
            }
            match self.put_saying(path, bytes, PutMode::Update(version), Some(next)) {
                Put::Done(_) => return Ok(()),
                Put::Refused(e) => return Err(e),
                Put::Unknown(e) if !pause.again() => return Err(e),
                Put::Exists | Put::Unknown(_) => {}
            }
        }
    }

    /// Replaces that version of an object. Tried once.
    pub(super) fn replace(&self, path: &Path, bytes: Bytes, version: UpdateVersion) -> Put {
        self.put(path, bytes, PutMode::Update(version))
    }

    /// Stores an object whatever there is, until it is known to be stored.
    pub(super) fn overwrite(&self, path: &Path, bytes: &Bytes) -> Result<()> {
        let mut pause = Pause::new(self.patience);
        loop {
            match self.put(path, bytes.clone(), PutMode::Overwrite) {
                Put::Done(_) => return Ok(()),
                Put::Refused(e) => return Err(e),
                Put::Unknown(e) if !pause.again() => return Err(e),
                Put::Exists | Put::Unknown(_) => {}
            }
        }
    }

    /// An object, if there is one.
    pub(super) fn get(&self, path: &Path) -> Result<Option<(Bytes, UpdateVersion)>> {
        self.repeat(path, || fetch(Arc::clone(&self.store), path.clone()))
    }

    /// Begins to fetch an object. `done` is called with it on a thread of the runtime and must not block; with
    /// none if it is not there or does not come at once.
    pub(super) fn get_aside(&self, path: Path, done: impl FnOnce(Option<Bytes>) + Send + 'static) {
        let Some(runtime) = &self.runtime else { return done(None) };
        // If the task is dropped, it is not called, and must be all the same.
        let done = Done(Some(done));
        let store = Arc::clone(&self.store);
        runtime.spawn(async move {
            let mut done = done;
            let found = tokio::time::timeout(REQUEST, fetch(store, path)).await;
            let found = found.ok().and_then(std::result::Result::ok).flatten();
            done.call(found.map(|(bytes, _)| bytes));
        });
    }

    /// Several objects, side by side; those that are not there are none.
    pub(super) fn get_all(&self, paths: &[Path]) -> Result<Vec<Option<Bytes>>> {
        let Some(first) = paths.first() else { return Ok(Vec::new()) };
        self.repeat(first, || {
            let (store, paths) = (Arc::clone(&self.store), paths.to_vec());
            async move {
                let fetches = paths.into_iter().map(move |p| fetch(Arc::clone(&store), p));
                let all = stream::iter(fetches).buffered(TOGETHER);
                all.map_ok(|found| found.map(|(bytes, _)| bytes)).try_collect().await
            }
        })
    }

    /// The first bytes of an object, if there is one.
    pub(super) fn beginning(&self, path: &Path, len: u64) -> Result<Option<Bytes>> {
        self.repeat(path, || {
            let (store, path) = (Arc::clone(&self.store), path.clone());
            async move {
                match store.get_range(&path, 0..len).await {
                    Ok(bytes) => Ok(Some(bytes)),
                    Err(StoreError::NotFound { .. }) => Ok(None),
                    // Nothing cannot be asked for a part of it.
                    Err(e) => match store.head(&path).await {
                        Ok(meta) if meta.size == 0 => Ok(Some(Bytes::new())),
                        _ => Err(e),
                    },
                }
            }
        })
    }

    /// Objects in `folder`, in order, those after `after` if given; so many at most.
    pub(super) fn list(
        &self,
        folder: &Path,
        after: Option<&Path>,
        max: usize,
    ) -> Result<Vec<Listed>> {
        self.repeat(folder, || {
            let store = Arc::clone(&self.store);
            let (folder, after) = (folder.clone(), after.cloned());
            async move {
                let all = match &after {
                    Some(after) => store.list_with_offset(Some(&folder), after),
                    None => store.list(Some(&folder)),
                };
                // Not every store can begin in the middle, or tells that it cannot.
                let wanted = all.try_filter(|m| {
                    future::ready(after.as_ref().is_none_or(|after| m.location > *after))
                });
                let mut found: Vec<Listed> = wanted
                    .take(max)
                    .map_ok(|m| Listed { path: m.location, size: m.size })
                    .try_collect()
                    .await?;
                // Stores list in order; an interface that does not promise it costs little to order.
                found.sort_by(|a, b| a.path.cmp(&b.path));
                Ok(found)
            }
        })
    }

    /// Deletes objects, whether they are there or not.
    pub(super) fn delete(&self, paths: &[Path]) -> Result<()> {
        let Some(first) = paths.first() else { return Ok(()) };
        self.repeat(first, || {
            let (store, paths) = (Arc::clone(&self.store), paths.to_vec());
            async move {
                let paths = stream::iter(paths.into_iter().map(Ok)).boxed();
                let gone = |r: &std::result::Result<Path, StoreError>| {
                    future::ready(!matches!(r, Err(StoreError::NotFound { .. })))
                };
                store.delete_stream(paths).filter(gone).try_for_each(|_| future::ok(())).await
            }
        })
    }

    /// Deletes all objects in a folder.
    pub(super) fn delete_all(&self, folder: &Path) -> Result<()> {
        loop {
            let some = self.list(folder, None, 1000)?;
            if some.is_empty() {
                return Ok(());
            }
            let paths: Vec<Path> = some.into_iter().map(|l| l.path).collect();
            self.delete(&paths)?;
        }
    }

    /// Replaces a small object's content by the result of `change`, as one step. None leaves it as it is. A
    /// request that was delayed cannot undo a later change, since it names the version that it replaces; no
    /// content may come twice, since it may be the content that tells versions apart.
    pub(super) fn change(
        &self,
        path: &Path,
        change: impl Fn(Option<&[u8]>) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        let mut pause = Pause::new(self.patience);
        // The content that an attempt without an answer may have stored.
        let mut maybe: Option<Bytes> = None;
        loop {
            let found = self.get(path)?;
            let (now, version) = found.map_or((None, None), |(b, v)| (Some(b), Some(v)));
            if maybe.is_some() && maybe == now {
                return Ok(());
            }
            let Some(bytes) = change(now.as_deref())? else { return Ok(()) };
            let bytes = Bytes::from(bytes);
            let put = match version {
                Some(version) => self.replace(path, bytes.clone(), version),
                None => self.create(path, bytes.clone()),
            };
            match put {
                Put::Done(_) => return Ok(()),
                Put::Refused(e) => return Err(e),
                Put::Unknown(e) if !pause.again() => return Err(e),
                Put::Unknown(_) => maybe = Some(bytes),
                Put::Exists => {}
            }
        }
    }
}

async fn fetch(
    store: Arc<dyn ObjectStore>,
    path: Path,
) -> std::result::Result<Option<(Bytes, UpdateVersion)>, StoreError> {
    match store.get_opts(&path, GetOptions::default()).await {
        Ok(found) if found.meta.size > OBJECT_MAX => Err(StoreError::NotSupported {
            source: format!("{} bytes, which no object of topics has", found.meta.size).into(),
        }),
        Ok(found) => {
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            Ok(Some((found.bytes().await?, version)))
        }
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_xml_is_said_in_words() {
        let text = "s3://b/x: 400 Bad Request: <?xml version=\"1.0\"?>\n<Error><Code>Invalid</Code>\
                    <Message>Not so.</Message><Resource>/b</Resource></Error>";
        assert_eq!(without_markup(text.to_owned()), "s3://b/x: 400 Bad Request: Invalid: Not so.");
        for other in ["no answer", "<Code>half", "</Code><Code>x</Code><Message>y"] {
            assert_eq!(without_markup(other.to_owned()), other);
        }
    }
}
