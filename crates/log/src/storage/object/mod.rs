//! Storage in an object store: S3 and compatible stores, Google Cloud Storage, Azure.
//!
//! The bucket is the truth, and any number of processes may use it at the same time, without a
//! coordinator: a group of batches is an object that is named after its first offset, and is stored only
//! if there is none of that name (`tail`). Reads come from a bounded cache on a local disk (`cache`) if
//! the object is there. Names are in `names`; docs/topics-objects.md describes all this for people.

mod ahead;
mod cache;
#[cfg(feature = "cloud")]
mod connect;
mod end;
mod find;
mod head;
mod map;
mod names;
mod remote;
mod tail;
mod topic;
mod trim;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::limit::LimitStore;
use object_store::path::Path;
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::ahead::Ahead;
use self::cache::Cache;
use self::end::{Moment, Tail};
use self::head::Head;
use self::names::Root;
use self::remote::{Pause, Put, Remote};
use self::topic::{ObjectTopic, State};
pub use super::{CacheOptions, Tell};
use super::{SETTINGS, Storage, TopicLog};
use crate::buf::Pool;
use crate::error::{Error, Result};
use crate::seal::{one_line, seal, unseal};
use crate::settings::{Settings, check_name};

/// How often the same trouble is reported.
const COMPLAIN: Duration = Duration::from_secs(60);
/// Tries to find out whether conditional puts work, if others are trying at the same time.
const TRIES: usize = 20;

/// How a storage behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long records wait for others, unless their topic says otherwise.
    pub linger: Duration,
    /// How long the objects that retention has removed stay in the bucket. Processes that were asleep for
    /// longer than half of it check twice before they write.
    pub grace: Duration,
    /// After how long others' changes of a topic (its deletion, settings, retention) are noticed.
    pub check: Duration,
    /// How long a request is repeated that has no clear answer.
    pub patience: Duration,
    /// Bytes of objects that are on their way to readers.
    pub fetch_max: usize,
    /// Requests at a time, each of which may take a socket; others wait for their turn.
    pub requests_max: usize,
    /// Whether nothing may be written.
    pub read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            linger: Duration::from_millis(200),
            grace: Duration::from_secs(600),
            check: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            fetch_max: 32 << 20,
            requests_max: 128,
            read_only: false,
        }
    }
}

/// Where in which store.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    hints: Vec<String>,
}

impl Bucket {
    /// A store that is there already. `url` is how people are shown it, and ends in a slash.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str, url: &str) -> Self {
        Self { store, prefix: Path::from(prefix), url: url.to_owned(), hints: Vec::new() }
    }

    /// What people should know of how it is going to be reached.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// State that all topics share.
struct Shared {
    remote: Remote,
    root: Root,
    cache: Option<Cache>,
    ahead: Arc<Ahead>,
    options: Options,
    tell: Tell,
    /// What copies are read into.
    pool: Arc<Pool>,
    complained: Mutex<Option<Instant>>,
    closed: AtomicBool,
}

impl Shared {
    /// Tells of a trouble that may come with every request.
    fn complain(&self, text: &str) {
        let mut last = self.complained.lock();
        if last.is_none_or(|at| at.elapsed() > COMPLAIN) {
            *last = Some(Instant::now());
            (self.tell)(text);
        }
    }

    /// Deletes the rest of a deleted topic.
    fn sweep(&self, topic: &str, id: &str) -> Result<()> {
        let path = self.root.topic(topic);
        let record = self.remote.get(&path)?.map(|(b, _)| Record::decode(&b)).transpose()?;
        // A deletion that did not come to its end was not acknowledged, and the records appended since
        // were: the topic stays.
        if record.is_none_or(|r| r.id != id) {
            self.remote.delete_all(&self.root.data(topic, id))?;
        }
        self.remote.delete(&[self.root.deleted(id)])
    }
}

/// The bucket's state of a topic.
struct Record {
    id: String,
    settings: Settings,
}

impl Record {
    /// No two are the same, since a store may tell versions of an object apart by their content.
    fn encode(&self) -> Result<Vec<u8>> {
        let settings = self.settings.to_json();
        let record = json!({"id": self.id, "revision": random_id()?, "settings": settings});
        Ok(seal(record.to_string().as_bytes()))
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong =
            || Error::Storage("a topic's object is not what this version writes".to_owned());
        let text = unseal(bytes, one_line).ok_or_else(|| {
            Error::Storage(
                "a topic's object (topics/NAME) is damaged: its checksum is wrong. Put an earlier \
                 version of it back"
                    .to_owned(),
            )
        })?;
        let value: Value = serde_json::from_slice(text).map_err(|_| wrong())?;
        let id = value.get("id").and_then(Value::as_str).ok_or_else(wrong)?;
        // It becomes a path.
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let settings = value.get("settings").ok_or_else(wrong)?.to_string();
        let settings = Settings::default().with_json(settings.as_bytes())?;
        Ok(Self { id: id.to_owned(), settings })
    }
}

/// See the module's text.
pub struct Objects {
    shared: Arc<Shared>,
    /// The ids of topics, and when they were seen.
    ids: Mutex<HashMap<String, (String, Moment)>>,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.shared.closed.store(true, Relaxed);
    }
}

impl Objects {
    /// The topics in a bucket. Finds out first whether the store keeps to conditions of puts, since
    /// all depends on that; a storage that may only read takes it on trust.
    ///
    /// # Errors
    /// The store cannot be used, or does not keep to conditions, or the directory of the cache cannot
    /// be used.
    pub fn open(
        bucket: Bucket,
        options: Options,
        cache: Option<CacheOptions>,
        tell: Tell,
    ) -> Result<Self> {
        // A store keeps no more idle connections than it has had requests at a time.
        let store = Arc::new(LimitStore::new(bucket.store, options.requests_max.max(1)));
        let remote = Remote::new(store, bucket.url, options.patience)?;
        let cache = cache.map(|c| Cache::open(&c.dir, c.bytes)).transpose()?;
        let shared = Arc::new(Shared {
            remote,
            root: Root::new(bucket.prefix),
            cache,
            ahead: Ahead::new(options.fetch_max),
            options,
            tell,
            pool: Arc::default(),
            complained: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        if !shared.options.read_only {
            try_conditions(&shared.remote, &shared.root.tried())?;
            let mut left = Vec::new();
            for listed in shared.remote.list(&shared.root.all_deleted(), None, 1000)? {
                let Some(id) = listed.path.filename() else { continue };
                if let Some((name, _)) = shared.remote.get(&listed.path)?
                    && let Ok(name) = std::str::from_utf8(&name)
                    && check_name("topic", name).is_ok()
                {
                    left.push((name.to_owned(), id.to_owned()));
                }
            }
            if !left.is_empty() {
                sweep_aside(&shared, left);
            }
        }
        Ok(Self { shared, ids: Mutex::default() })
    }

    /// The bucket's state of a topic.
    fn record(&self, topic: &str) -> Result<Option<Record>> {
        // Names come from any client, and become paths here.
        check_name("topic", topic)?;
        let found = self.shared.remote.get(&self.shared.root.topic(topic))?;
        let record = found.map(|(bytes, _)| Record::decode(&bytes)).transpose()?;
        let mut ids = self.ids.lock();
        match &record {
            Some(r) => ids.insert(topic.to_owned(), (r.id.clone(), Moment::now())),
            None => ids.remove(topic),
        };
        Ok(record)
    }

    /// The folder of a topic's objects.
    fn data(&self, topic: &str) -> Result<Option<Path>> {
        let known = self.ids.lock().get(topic).cloned();
        let id = match known.filter(|(_, seen)| seen.age() < self.shared.options.check) {
            Some((id, _)) => Some(id),
            None => self.record(topic)?.map(|r| r.id),
        };
        Ok(id.map(|id| self.shared.root.data(topic, &id)))
    }

    /// Where a value is that is not the settings.
    fn value(&self, topic: &str, name: &str) -> Result<Option<Path>> {
        for part in name.split('/') {
            check_name("value", part)?;
        }
        Ok(self.data(topic)?.map(|data| names::value(&data, name)))
    }
}

/// Deletes the rest of topics (names and ids), on a thread of its own; the next process finishes
/// unfinished work.
fn sweep_aside(shared: &Arc<Shared>, topics: Vec<(String, String)>) {
    let shared = Arc::clone(shared);
    let sweep = move || {
        for (topic, id) in &topics {
            if let Err(e) = shared.sweep(topic, id)
                && !shared.closed.load(Relaxed)
            {
                (shared.tell)(&format!("of topic '{topic}', which was deleted, some is left: {e}"));
            }
        }
    };
    // Without a thread, it is left to the next start.
    let _ = std::thread::Builder::new().name("apus-log-sweep".to_owned()).spawn(sweep);
}

/// Finds out whether puts that must not be done are not.
fn try_conditions(remote: &Remote, path: &Path) -> Result<()> {
    let ignored = |what: &str| {
        Err(Error::Storage(format!(
            "{}: this store takes a put that it must refuse ({what}), so that processes would \
             overwrite each other's records; it cannot be used for topics",
            remote.shown(path)
        )))
    };
    // Its versions have different contents: S3 tells versions apart by a checksum of their content.
    let content = || {
        let text = "That conditional puts work was tried here with the number";
        Ok::<_, Error>(Bytes::from(format!("{text} {}\n", random_id()?)))
    };
    let mut pause = Pause::new(Duration::from_secs(30));
    let (mut created, mut why) = (false, None);
    for _ in 0..TRIES {
        match remote.create(path, content()?) {
            Put::Done(_) if created => return ignored("If-None-Match"),
            Put::Done(_) => created = true,
            Put::Refused(e) => return Err(e),
            Put::Unknown(e) if !pause.again() => return Err(e),
            Put::Unknown(e) => why = Some(e),
            Put::Exists => {
                let Some((_, old)) = remote.get(path)? else { continue };
                match remote.replace(path, content()?, old.clone()) {
                    Put::Refused(e) => return Err(e),
                    Put::Unknown(e) if !pause.again() => return Err(e),
                    Put::Unknown(e) => {
                        why = Some(e);
                        continue;
                    }
                    // Another process tries, too.
                    Put::Exists => continue,
                    Put::Done(new) if new == old => {
                        return ignored("versions of the same object cannot be told apart");
                    }
                    Put::Done(_) => {}
                }
                match remote.replace(path, content()?, old) {
                    Put::Exists => return Ok(()),
                    Put::Done(_) => return ignored("If-Match"),
                    Put::Refused(e) => return Err(e),
                    Put::Unknown(e) if !pause.again() => return Err(e),
                    Put::Unknown(e) => why = Some(e),
                }
            }
        }
    }
    let text = "it could not be found out whether conditional puts work";
    Err(Error::Storage(match why {
        Some(e) => format!("{text}: {e}"),
        None => format!("{}: {text}, since others try as well", remote.shown(path)),
    }))
}

fn random_id() -> Result<String> {
    let mut bytes = [0; 8];
    stdx::rng::fill_from_os(&mut bytes).map_err(|e| Error::io("a random number", &e))?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

impl Storage for Objects {
    fn kind(&self) -> &'static str {
        "object store"
    }

    fn linger(&self) -> Duration {
        self.shared.options.linger
    }

    fn eager(&self) -> bool {
        false
    }

    fn shared(&self) -> bool {
        true
    }

    fn topics(&self) -> Result<Vec<String>> {
        let listed = self.shared.remote.list(&self.shared.root.topics(), None, usize::MAX)?;
        let names = listed.iter().filter_map(|l| l.path.filename().map(str::to_owned));
        Ok(names.filter(|n| check_name("topic", n).is_ok()).collect())
    }

    fn create(&self, topic: &str, settings: &Settings) -> Result<()> {
        check_name("topic", topic)?;
        let Shared { remote, root, .. } = &*self.shared;
        let path = root.topic(topic);
        if remote.get(&path)?.is_some() {
            return Err(Error::TopicExists(topic.to_owned()));
        }
        let record = Record { id: random_id()?, settings: settings.clone() };
        // The head first: a topic that is there has one.
        let data = root.data(topic, &record.id);
        remote.overwrite(&names::head(&data), &Head::default().encode().into())?;
        let bytes = Bytes::from(record.encode()?);
        let mut pause = Pause::new(self.shared.options.patience);
        loop {
            let e = match remote.create(&path, bytes.clone()) {
                Put::Done(_) => return Ok(()),
                Put::Refused(e) => return Err(e),
                Put::Exists => match remote.get(&path)? {
                    Some((there, _)) if there == bytes => return Ok(()),
                    Some(_) => {
                        remote.delete(&[names::head(&data)])?;
                        return Err(Error::TopicExists(topic.to_owned()));
                    }
                    None => Error::Storage(format!("{}: busy", remote.shown(&path))),
                },
                Put::Unknown(e) => e,
            };
            if !pause.again() {
                return Err(e);
            }
        }
    }

    fn delete(&self, topic: &str) -> Result<()> {
        let none = || Error::NoTopic(topic.to_owned());
        let record = self.record(topic)?.ok_or_else(none)?;
        let Shared { remote, root, .. } = &*self.shared;
        remote.overwrite(&root.deleted(&record.id), &Bytes::copy_from_slice(topic.as_bytes()))?;
        remote.delete(&[root.topic(topic)])?;
        self.ids.lock().remove(topic);
        if let Some(cache) = &self.shared.cache {
            cache.forget(&record.id);
        }
        sweep_aside(&self.shared, vec![(topic.to_owned(), record.id)]);
        Ok(())
    }

    fn put(&self, topic: &str, name: &str, value: &[u8]) -> Result<()> {
        let none = || Error::NoTopic(topic.to_owned());
        if name == SETTINGS {
            check_name("topic", topic)?;
            let settings = Settings::default().with_json(value)?;
            return self.shared.remote.change(&self.shared.root.topic(topic), |now| {
                let id = Record::decode(now.ok_or_else(none)?)?.id;
                Record { id, settings: settings.clone() }.encode().map(Some)
            });
        }
        let path = self.value(topic, name)?.ok_or_else(none)?;
        // As with records, no two are the same.
        let content = seal(&[value, b"\n", random_id()?.as_bytes()].concat());
        self.shared.remote.change(&path, |_| Ok(Some(content.clone())))
    }

    fn get(&self, topic: &str, name: &str) -> Result<Option<Vec<u8>>> {
        if name == SETTINGS {
            let record = self.record(topic)?;
            return Ok(record.map(|r| r.settings.to_json().to_string().into_bytes()));
        }
        let Some(path) = self.value(topic, name)? else { return Ok(None) };
        let Some((content, _)) = self.shared.remote.get(&path)? else { return Ok(None) };
        // Earlier versions wrote no checksum: a line, and one with a random number.
        let old = |c: &[u8]| c.iter().filter(|b| **b == b'\n').count() <= 1;
        let text = unseal(&content, old).ok_or_else(|| {
            Error::Storage(format!(
                "{} is damaged: its checksum is wrong. Commit the group's offset again, or delete it",
                self.shared.remote.shown(&path)
            ))
        })?;
        let end = text.iter().rposition(|b| *b == b'\n').unwrap_or(text.len());
        Ok(Some(text[..end].to_vec()))
    }

    fn forget(&self, topic: &str, name: &str) -> Result<()> {
        let none = || Error::NoTopic(topic.to_owned());
        let path = self.value(topic, name)?.ok_or_else(none)?;
        self.shared.remote.delete(&[path])
    }

    fn names(&self, topic: &str, prefix: &str) -> Result<Vec<String>> {
        let none = || Error::NoTopic(topic.to_owned());
        let data = self.data(topic)?.ok_or_else(none)?;
        // Values lie in folders beside the records.
        let (folder, start) = prefix.rsplit_once('/').unwrap_or(("groups", prefix));
        let listed = self.shared.remote.list(&names::value(&data, folder), None, usize::MAX)?;
        let names = listed.iter().filter_map(|l| l.path.filename());
        Ok(names.filter(|n| n.starts_with(start)).map(|n| format!("{folder}/{n}")).collect())
    }

    fn open(
        &self,
        topic: &str,
        settings: &Settings,
        tell: &dyn Fn(&str),
    ) -> Result<Arc<dyn TopicLog>> {
        let none = || Error::NoTopic(topic.to_owned());
        let begin = Moment::now();
        let record = self.record(topic)?.ok_or_else(none)?;
        let data = self.shared.root.data(topic, &record.id);
        let path = names::head(&data);
        let (bytes, version) = self.shared.remote.get(&path)?.ok_or_else(none)?;
        let (head, damaged) = match Head::decode(&bytes) {
            Some(head) => (head, false),
            None => (Head::default(), true),
        };
        let log = ObjectTopic {
            shared: Arc::clone(&self.shared),
            name: topic.to_owned(),
            id: record.id.into(),
            data,
            state: Mutex::new(State {
                first: head.first,
                next: head.at,
                latest_us: head.latest_us,
                totals: head.totals,
                trimmed: head.trimmed,
            }),
            map: Mutex::default(),
            readers: Mutex::default(),
            gone: AtomicBool::new(false),
            opened: Mutex::default(),
            tail: Mutex::new(Tail {
                condemned: (head.condemned, begin),
                head,
                version,
                confirmed: begin,
                checked: begin,
                since: (0, 0),
                changed: (record.settings != *settings).then(|| record.settings.clone()),
                settings: record.settings,
            }),
        };
        let mut tail = log.tail.lock();
        if damaged {
            let first = log.without_head(&mut tail)?;
            tell(&format!(
                "topic '{topic}': {} is damaged; all of the topic is read to make up for it, \
                 beginning with offset {first}",
                self.shared.remote.shown(&path)
            ));
        }
        let mut numbered = Vec::new();
        match log.catch_up_behind(&mut tail, &mut numbered) {
            // Records before it can be read all the same. No producer can append until it is repaired.
            Err(Error::Damaged(d)) => tell(&d.to_string()),
            other => other?,
        }
        let producers = tail.head.producers.clone();
        *log.opened.lock() = Some((Some(producers), numbered));
        drop(tail);
        if log.gone() {
            return Err(none());
        }
        Ok(Arc::new(log))
    }
}
