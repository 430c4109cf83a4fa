//! The broker: topics by name, appending, reading, waiting, groups, and looking after it all.
//!
//! [`Broker::append`], [`Broker::read_kept`], [`Broker::wait`] and [`Broker::permit`] never block; all
//! others may wait for the storage, and are for threads that may wait.

mod identity;
mod maintenance;
mod store;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use stdx::crc32c::crc32c;

use crate::batch::Batch;
use crate::buf::Pool;
use crate::error::{Damage, Error, Result};
use crate::input::Input;
use crate::meter::{Meter, Permit};
use crate::producers::Producers;
use crate::schedule::Schedule;
use crate::settings::{Settings, check_name};
use crate::storage::{Extent, SETTINGS, Storage, TopicLog, Want};
use crate::topic::{Appended, Done, PendingAppend, Phase, Topic, Wake, Work};

/// How long a refused producer should wait.
const RETRY_MS: u64 = 100;
/// Least bytes that a reader takes room for: as many are read at once at least.
const READ_LEAST: usize = 64 << 10;
/// Retries against other processes that write the same topic, before the producer gets an error.
const CONFLICTS: usize = 100;

/// Topics that can be opened side by side, if their names are lucky.
const NAMINGS: usize = 64;

/// How a broker behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether appending to a topic that is not there creates it. Nothing else does.
    pub auto_create: bool,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// Bytes that may wait to be stored.
    pub pending_max: usize,
    /// Bytes of batches that are kept for readers after they have been stored, those included that slow
    /// readers have not let go of.
    pub kept_max: usize,
    /// Bytes of answers that readers have not taken yet.
    pub answers_max: usize,
    /// Settings of topics that do not say.
    pub settings: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auto_create: true,
            read_only: false,
            pending_max: 128 << 20,
            kept_max: 64 << 20,
            answers_max: 64 << 20,
            settings: Settings::default(),
        }
    }
}

/// Called with messages for people.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Where a consumer wants to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the oldest record.
    Earliest,
    /// With the next one to come.
    Latest,
    /// With this one.
    Offset(u64),
    /// With the first batch that was appended at or after this time, in Unix microseconds.
    Time(u64),
}

/// The result of a read.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Whole batches; the first holds the offset that was asked for.
    pub batches: Vec<Batch>,
    /// The topic's figures.
    pub extent: Extent,
}

/// A topic, as it is shown.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub extent: Extent,
    /// Its settings.
    pub settings: Settings,
}

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Records stored.
    pub records: AtomicU64,
    /// Their bytes, as stored.
    pub bytes: AtomicU64,
    /// Groups of batches stored.
    pub groups: AtomicU64,
    /// Retries that were recognised.
    pub duplicates: AtomicU64,
    /// Appends and reads that were refused for lack of room.
    pub refused: AtomicU64,
    /// Appends that were answered with offsets.
    pub appends: AtomicU64,
    /// Reads that found records.
    pub reads: AtomicU64,
    /// Bytes that they found, as stored.
    pub read_bytes: AtomicU64,
    /// Appends that the storage failed to store, and other troubles that the log tells of.
    pub storage_errors: AtomicU64,
}

/// The resources that a broker uses, and their limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Topics that are open.
    pub open_topics: usize,
    /// Appends that have not been answered.
    pub waiting_appends: usize,
    /// Bytes that wait to be stored, and how many may.
    pub pending: (usize, usize),
    /// Bytes of batches that are kept for readers, and how many may be.
    pub kept: (usize, usize),
    /// Bytes of answers that readers have not taken yet, and how many may be.
    pub answers: (usize, usize),
    /// Descriptors in use, and how many may be.
    pub descriptors: (usize, usize),
}

impl Counters {
    fn read(&self, f: &Fetched) {
        let bytes: usize = f.batches.iter().map(|b| b.bytes.len()).sum();
        self.reads.fetch_add(1, Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Relaxed);
    }
}

struct Inner {
    storage: Arc<dyn Storage>,
    options: Options,
    tell: Tell,
    topics: RwLock<HashMap<String, Arc<Topic>>>,
    /// Held while topics are created, opened and deleted: one for each part of all names, since a slow
    /// storage must not make all topics wait for one.
    naming: [Mutex<()>; NAMINGS],
    schedule: Arc<Schedule>,
    pool: Arc<Pool>,
    meter: Arc<Meter>,
    answers: Arc<Meter>,
    /// Of groups that are kept for readers, and of those that readers have not let go of yet.
    kept_meter: Arc<Meter>,
    /// The groups that are kept, by their topic and first offset.
    kept: Mutex<VecDeque<(Weak<Topic>, u64)>>,
    /// Appends that have not been answered.
    open: AtomicUsize,
    closed: AtomicBool,
    /// Signalled when the last of them is.
    idle: Condvar,
    idle_lock: Mutex<()>,
    writer: u64,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    counters: Counters,
}

/// See the module's text. A clone is the same broker.
#[derive(Clone)]
pub struct Broker {
    inner: Arc<Inner>,
}

impl Broker {
    /// A broker over a storage. `clock` gives Unix microseconds.
    pub fn new(
        storage: Arc<dyn Storage>,
        options: Options,
        tell: Tell,
        clock: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let mut writer = [0; 8];
        if stdx::rng::fill_from_os(&mut writer).is_err() {
            writer = clock().to_le_bytes();
        }
        let inner = Arc::new(Inner {
            storage,
            meter: Meter::apart(options.pending_max),
            answers: Meter::new(options.answers_max),
            kept_meter: Meter::new(options.kept_max),
            options,
            tell,
            topics: RwLock::default(),
            naming: std::array::from_fn(|_| Mutex::new(())),
            schedule: Arc::default(),
            pool: Arc::default(),
            kept: Mutex::default(),
            open: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            idle: Condvar::new(),
            idle_lock: Mutex::new(()),
            writer: u64::from_le_bytes(writer),
            clock,
            counters: Counters::default(),
        });
        maintenance::maintain(Arc::downgrade(&inner), &inner.schedule, 1);
        Self { inner }
    }

    /// A description of the storage, for people.
    pub fn kind(&self) -> &'static str {
        self.inner.storage.kind()
    }

    /// Counters since the start.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// The resources that it uses, and their limits.
    pub fn figures(&self) -> Figures {
        let inner = &self.inner;
        let both = |m: &Meter| (m.taken(), m.max());
        Figures {
            open_topics: inner.topics.read().values().filter(|t| t.open.read().is_some()).count(),
            waiting_appends: inner.open.load(Relaxed),
            pending: both(&inner.meter),
            kept: both(&inner.kept_meter),
            answers: both(&inner.answers),
            descriptors: inner.storage.descriptors(),
        }
    }

    /// How it behaves.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// A permit for bytes that are being received; to be handed in with them.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn permit(&self, bytes: usize) -> Result<Permit> {
        self.inner.meter.take(bytes).ok_or_else(|| {
            self.inner.counters.refused.fetch_add(1, Relaxed);
            Error::Busy { retry_ms: RETRY_MS }
        })
    }

    /// A permit for bytes that have been read and wait for a reader to take them.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn answer_permit(&self, bytes: usize) -> Result<Permit> {
        self.inner.answers.take(bytes).ok_or_else(|| {
            self.inner.counters.refused.fetch_add(1, Relaxed);
            Error::Busy { retry_ms: RETRY_MS }
        })
    }

    /// Reads whole batches, with room for them. Nothing is read for which there is no room, so that readers
    /// together cost no more than there may be; where room is scarce, less is read than is wanted.
    ///
    /// # Errors
    /// As [`Broker::read`], and [`Error::Busy`].
    pub fn read_with_permit(&self, topic: &str, want: &Want) -> Result<(Fetched, Permit)> {
        let mut bytes = want.bytes.min(self.inner.answers.max()).max(READ_LEAST);
        let mut permit = loop {
            match self.answer_permit(bytes) {
                Ok(permit) => break permit,
                Err(_) if bytes > READ_LEAST => bytes = (bytes / 2).max(READ_LEAST),
                Err(e) => return Err(e),
            }
        };
        let busy = || Error::Busy { retry_ms: RETRY_MS };
        loop {
            let bytes = want.bytes.min(permit.bytes());
            match self.read(topic, &Want { bytes, most: permit.bytes(), ..*want }) {
                // Memory for one batch is enough.
                Err(Error::Larger { bytes }) if bytes > permit.bytes() => {
                    if !permit.fit(bytes) {
                        return Err(busy());
                    }
                }
                Err(e) => return Err(e),
                Ok(fetched) => {
                    // It is more only where it is in memory already.
                    let bytes = fetched.batches.iter().map(|b| b.bytes.len()).sum();
                    return if permit.fit(bytes) { Ok((fetched, permit)) } else { Err(busy()) };
                }
            }
        }
    }

    /// Bytes of batches that are kept for readers, or that readers have not let go of yet.
    pub fn kept_bytes(&self) -> usize {
        self.inner.kept_meter.taken()
    }

    /// An empty vector of at least this capacity that was lent before, if there is one.
    pub fn spare(&self, capacity: usize) -> Option<Vec<u8>> {
        self.inner.pool.spare(capacity)
    }

    /// Bytes for [`Input::from_buffer`] whose vector comes back as a spare one.
    pub fn lend(&self, bytes: Vec<u8>) -> Bytes {
        self.inner.pool.lend(bytes)
    }

    /// Appends records. `done` is called when they are stored, on some thread, or at once if they
    /// cannot be; it must not block.
    pub fn append(&self, topic: &str, input: Input, permit: Option<Permit>, done: Done) {
        let inner = &self.inner;
        let topic = match self.admit(topic) {
            Ok(t) => t,
            Err(e) => return done(Err(e)),
        };
        let permit = match permit.map_or_else(|| self.permit(input.bytes()), Ok) {
            Ok(r) => r,
            Err(e) => return done(Err(e)),
        };
        inner.open.fetch_add(1, Relaxed);
        let now = Instant::now();
        let mut state = topic.state.lock();
        if state.deleted || inner.closed.load(Relaxed) {
            let e = if state.deleted { Error::NoTopic(topic.name.clone()) } else { Error::Closed };
            drop(state);
            inner.answered(1);
            return done(Err(e));
        }
        state.used = now;
        state.pending_bytes += input.bytes();
        if state.pending.is_empty() {
            state.since = now;
        }
        state.pending.push(PendingAppend { input, done, permit });
        let settings = topic.settings();
        let at = match state.phase {
            Phase::Committing => return,
            _ if inner.enough(&state, settings.as_deref()) => now,
            Phase::Gathering => return,
            Phase::Idle if state.writing.is_some() && inner.eager(settings.as_deref()) => {
                // It is their turn when that has been written, if not before.
                state.phase = Phase::Gathering;
                return;
            }
            Phase::Idle => now + inner.linger(settings.as_deref()),
        };
        state.phase = Phase::Gathering;
        state.ticket += 1;
        let ticket = state.ticket;
        drop(state);
        inner.commit_at(at, topic, ticket);
    }

    /// Appends records and waits until they are stored.
    ///
    /// # Errors
    /// They are not, as far as is known.
    pub fn append_wait(&self, topic: &str, input: Input) -> Result<Appended> {
        let (tx, rx) = std::sync::mpsc::sync_channel(1);
        let done = Box::new(move |result| {
            // Only this function receives.
            let _ = tx.send(result);
        });
        self.append(topic, input, None, done);
        rx.recv().unwrap_or(Err(Error::Closed))
    }

    fn admit(&self, topic: &str) -> Result<Arc<Topic>> {
        if self.inner.closed.load(Relaxed) {
            return Err(Error::Closed);
        }
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        if let Some(t) = self.inner.topics.read().get(topic) {
            return Ok(Arc::clone(t));
        }
        check_name("topic", topic)?;
        Ok(self.inner.entry(topic))
    }

    /// Whether the topic is open, so that questions about it are answered without waiting.
    pub fn is_open(&self, topic: &str) -> bool {
        self.inner.topics.read().get(topic).is_some_and(|t| t.open.read().is_some())
    }

    /// The topic, open. One that is not there is not created: only records and [`Broker::create`] do that.
    fn topic(&self, topic: &str) -> Result<(Arc<Topic>, Arc<dyn TopicLog>)> {
        let known = self.inner.topics.read().get(topic).cloned();
        if let Some(t) = known
            && let Some(log) = t.log()
        {
            return Ok((t, log));
        }
        check_name("topic", topic)?;
        let t = self.inner.entry(topic);
        let opened =
            self.inner.open(&t, false).map(|work| work.as_ref().map(|w| Arc::clone(&w.log)));
        match opened {
            Ok(Some(log)) => Ok((t, log)),
            Ok(None) => Err(Error::NoTopic(topic.to_owned())),
            Err(e) => {
                self.inner.forget_unused(&t);
                Err(e)
            }
        }
    }

    /// The same, with the records that other processes have appended.
    fn caught_up(&self, topic: &str) -> Result<(Arc<Topic>, Arc<dyn TopicLog>)> {
        let (t, log) = self.topic(topic)?;
        self.inner.refresh(&t, &log)?;
        if log.gone() { self.topic(topic) } else { Ok((t, log)) }
    }

    /// Opens a topic, so that later calls do not wait.
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::Bad`] for its name, or the storage fails.
    pub fn open(&self, topic: &str) -> Result<()> {
        self.topic(topic).map(|_| ())
    }

    /// Creates a topic.
    ///
    /// # Errors
    /// [`Error::TopicExists`], [`Error::Bad`] for its name, or the storage fails.
    pub fn create(&self, topic: &str, settings: &Settings) -> Result<()> {
        check_name("topic", topic)?;
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        let _naming = self.inner.naming(topic).lock();
        self.inner.storage.create(topic, settings)
    }

    /// Changes a topic's settings.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn set(&self, topic: &str, settings: Settings) -> Result<()> {
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        let (t, log) = self.topic(topic)?;
        self.inner.storage.put(topic, SETTINGS, settings.to_json().to_string().as_bytes())?;
        *t.open.write() = Some((log, Arc::new(settings)));
        Ok(())
    }

    /// Deletes a topic and all its records.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn delete(&self, topic: &str) -> Result<()> {
        check_name("topic", topic)?;
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        let _naming = self.inner.naming(topic).lock();
        let gone = self.inner.topics.write().remove(topic);
        if let Some(t) = &gone {
            // A thread that is storing ends first.
            let mut work = t.work.lock();
            *work = None;
            let pending = {
                let mut state = t.state.lock();
                state.deleted = true;
                state.pending_bytes = 0;
                std::mem::take(&mut state.pending)
            };
            *t.open.write() = None;
            drop(work);
            self.inner.answered(pending.len());
            for p in pending {
                (p.done)(Err(Error::NoTopic(topic.to_owned())));
            }
            t.wake(u64::MAX);
            return self.inner.storage.delete(topic);
        }
        self.inner.storage.delete(topic)
    }

    /// The names of all topics, sorted.
    ///
    /// # Errors
    /// The storage fails.
    pub fn topics(&self) -> Result<Vec<String>> {
        self.inner.storage.topics()
    }

    /// The figures of a topic, and its settings.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn describe(&self, topic: &str) -> Result<Description> {
        let (t, log) = self.caught_up(topic)?;
        Ok(Description {
            name: topic.to_owned(),
            extent: log.extent(),
            settings: t.settings().map_or_else(Settings::default, |s| (*s).clone()),
        })
    }

    /// The offset that a consumer begins with.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn start(&self, topic: &str, start: Start) -> Result<u64> {
        let (_, log) = match start {
            Start::Latest | Start::Time(_) => self.caught_up(topic)?,
            Start::Offset(_) | Start::Earliest => self.topic(topic)?,
        };
        match start {
            Start::Offset(offset) => Ok(offset),
            Start::Earliest => Ok(log.extent().first),
            Start::Latest => Ok(log.extent().next),
            Start::Time(us) => log.find(us),
        }
    }

    /// Reads whole batches.
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::OutOfBounds`], [`Error::Damaged`], or the storage fails.
    pub fn read(&self, topic: &str, want: &Want) -> Result<Fetched> {
        let (mut t, mut log) = self.topic(topic)?;
        t.state.lock().used = Instant::now();
        if log.extent().next <= want.offset {
            (t, log) = self.caught_up(topic)?;
        }
        if let Some(fetched) = fetch_kept(&t, &log, want) {
            return fetched.inspect(|f| self.inner.counters.read(f));
        }
        let fetched = Fetched { batches: log.read(want)?, extent: log.extent() };
        self.inner.counters.read(&fetched);
        Ok(fetched)
    }

    /// The same without waiting, if that is possible.
    pub fn read_kept(&self, topic: &str, want: &Want) -> Option<Result<Fetched>> {
        let t = self.inner.topics.read().get(topic).cloned()?;
        let log = t.log()?;
        if self.inner.storage.shared() && log.extent().next <= want.offset {
            return None;
        }
        let fetched = fetch_kept(&t, &log, want);
        fetched.map(|found| found.inspect(|f| self.inner.counters.read(f)))
    }

    /// Calls `wake` when the topic, which must be open, has a record with this offset, or is deleted; at
    /// once if it has. Returns the handle with which the caller gives up.
    ///
    /// # Errors
    /// [`Error::NoTopic`] if it is not open.
    pub fn wait(&self, topic: &str, offset: u64, wake: Wake) -> Result<Option<Waiting>> {
        let t = self.inner.topics.read().get(topic).cloned();
        let t = t.ok_or_else(|| Error::NoTopic(topic.to_owned()))?;
        let log = t.log().ok_or_else(|| Error::NoTopic(topic.to_owned()))?;
        let id = t.wait(&*log, offset, wake);
        if self.inner.storage.shared() && t.begin_watch() {
            self.inner.watch(&t);
        }
        Ok(id.map(|id| Waiting { topic: Arc::downgrade(&t), id }))
    }

    /// Waits until there is a record with this offset, or the time is over; whether there is.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn wait_for(&self, topic: &str, offset: u64, timeout: Duration) -> Result<bool> {
        let (_, log) = self.topic(topic)?;
        let (tx, rx) = std::sync::mpsc::sync_channel(1);
        let wake = Box::new(move || {
            let _ = tx.send(());
        });
        let waiting = self.wait(topic, offset, wake)?;
        // The timeout is the other way to end; giving up is harmless either way.
        let _ = rx.recv_timeout(timeout);
        drop(waiting);
        Ok(log.extent().next > offset)
    }

    /// Keeps the offset that a group is going to read next.
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::Bad`] for its name or an offset past the end, or the storage fails.
    pub fn commit(&self, topic: &str, group: &str, offset: u64) -> Result<()> {
        check_name("group", group)?;
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        let (_, mut log) = self.topic(topic)?;
        if log.extent().next < offset {
            (_, log) = self.caught_up(topic)?;
        }
        let Extent { first, next, .. } = log.extent();
        if offset > next {
            return Err(Error::OutOfBounds { offset, first, next });
        }
        let text = serde_json::json!({"offset": offset}).to_string();
        self.inner.storage.put(topic, &format!("groups/{group}"), text.as_bytes())
    }

    /// The offset that a group has committed.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn committed(&self, topic: &str, group: &str) -> Result<Option<u64>> {
        check_name("group", group)?;
        self.topic(topic)?;
        let name = format!("groups/{group}");
        let Some(value) = self.inner.storage.get(topic, &name)? else { return Ok(None) };
        // A bare number comes from an earlier version.
        let value: Option<serde_json::Value> = serde_json::from_slice(&value).ok();
        let offset = value.and_then(|v| v.as_u64().or_else(|| v.get("offset")?.as_u64()));
        offset
            .map(Some)
            .ok_or_else(|| Error::Storage(format!("topic '{topic}': {name} holds no offset")))
    }

    /// The offset that a reader of a group begins with, and whether the group is new: it has committed
    /// nothing, and `reset` says where it begins then; none: that is [`Error::NoGroup`].
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::NoGroup`], or the storage fails.
    pub fn start_group(
        &self,
        topic: &str,
        group: &str,
        reset: Option<Start>,
    ) -> Result<(u64, bool)> {
        if let Some(offset) = self.committed(topic, group)? {
            return Ok((offset, false));
        }
        let reset = reset.ok_or_else(|| Error::NoGroup(group.to_owned()))?;
        Ok((self.start(topic, reset)?, true))
    }

    /// All groups and their committed offsets.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn groups(&self, topic: &str) -> Result<Vec<(String, u64)>> {
        self.topic(topic)?;
        let mut groups = Vec::new();
        for name in self.inner.storage.names(topic, "groups/")? {
            let group = name.trim_start_matches("groups/").to_owned();
            if let Some(offset) = self.committed(topic, &group)? {
                groups.push((group, offset));
            }
        }
        Ok(groups)
    }

    /// Forgets a group; whether there was one.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn forget_group(&self, topic: &str, group: &str) -> Result<bool> {
        let there = match self.committed(topic, group) {
            Ok(offset) => offset.is_some(),
            // It is damaged: deleting it is one way out.
            Err(Error::Storage(_)) => true,
            Err(e) => return Err(e),
        };
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        self.inner.storage.forget(topic, &format!("groups/{group}"))?;
        Ok(there)
    }

    /// Lets go of records that are too old or too many, now.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails.
    pub fn trim(&self, topic: &str) -> Result<bool> {
        let (t, log) = self.topic(topic)?;
        self.inner.trim(&t, &log)
    }

    /// Reads and checks all of a topic; `seen` is called with every batch.
    ///
    /// # Errors
    /// [`Error::NoTopic`], or the storage fails. Damage is no error, but the result.
    pub fn verify(
        &self,
        topic: &str,
        seen: &mut dyn FnMut(&crate::batch::Header),
    ) -> Result<Vec<Damage>> {
        self.topic(topic)?.1.verify(seen)
    }

    /// Repairs a topic whose own files are damaged, and makes appending possible again where the records do
    /// not tell the next offset. Returns a description of the repair, and that offset.
    ///
    /// # Errors
    /// [`Error::NoTopic`], [`Error::ReadOnly`], or the storage fails.
    pub fn repair(&self, topic: &str) -> Result<(Vec<String>, Option<u64>)> {
        check_name("topic", topic)?;
        if self.inner.options.read_only {
            return Err(Error::ReadOnly);
        }
        let known = self.inner.topics.read().get(topic).is_some_and(|t| t.open.read().is_some());
        let done = if known { Vec::new() } else { self.inner.storage.repair(topic)? };
        Ok((done, self.topic(topic)?.1.repair()?))
    }

    /// Does something that may wait for the storage on a thread of the log.
    pub fn aside(&self, job: Box<dyn FnOnce() + Send>) {
        self.inner.schedule.add(Instant::now(), job);
    }

    /// The same a little later.
    pub fn aside_later(&self, after: Duration, job: Box<dyn FnOnce() + Send>) {
        self.inner.schedule.add(Instant::now() + after, job);
    }

    /// Accepts no further records, and waits until the accepted ones are stored, for this time at most.
    /// Returns whether all are.
    pub fn close(&self, within: Duration) -> bool {
        let inner = &self.inner;
        // Sequentially consistent, as are the accesses of `answered` in the other order: one sees the
        // other.
        inner.closed.store(true, SeqCst);
        let topics: Vec<Arc<Topic>> = inner.topics.read().values().cloned().collect();
        for t in &topics {
            let mut state = t.state.lock();
            if state.phase == Phase::Gathering {
                state.ticket += 1;
                let ticket = state.ticket;
                drop(state);
                inner.commit_at(Instant::now(), Arc::clone(t), ticket);
            }
        }
        let until = Instant::now() + within;
        let mut lock = inner.idle_lock.lock();
        while inner.open.load(SeqCst) > 0 {
            if inner.idle.wait_until(&mut lock, until).timed_out() {
                return inner.open.load(SeqCst) == 0;
            }
        }
        true
    }
}

/// A wait for a record. Dropping it gives up.
#[derive(Debug)]
pub struct Waiting {
    topic: Weak<Topic>,
    id: u64,
}

impl std::fmt::Debug for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Topic").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(t) = self.topic.upgrade() {
            t.give_up(self.id);
        }
    }
}

fn fetch_kept(t: &Topic, log: &Arc<dyn TopicLog>, want: &Want) -> Option<Result<Fetched>> {
    let extent = log.extent();
    let Extent { first, next, .. } = extent;
    if !(first..next).contains(&want.offset) {
        return Some(Err(Error::OutOfBounds { offset: want.offset, first, next }));
    }
    let batches = t.read_kept(want)?;
    Some(Ok(Fetched { batches, extent }))
}

impl Inner {
    /// The topic of this name, which need not be there.
    fn entry(&self, topic: &str) -> Arc<Topic> {
        let mut topics = self.topics.write();
        Arc::clone(topics.entry(topic.to_owned()).or_insert_with(|| Arc::new(Topic::new(topic))))
    }

    /// Takes a topic off the list again that turned out not to be there.
    fn forget_unused(&self, t: &Arc<Topic>) {
        let mut topics = self.topics.write();
        if t.open.read().is_none()
            && t.state.lock().pending.is_empty()
            && topics.get(&t.name).is_some_and(|known| Arc::ptr_eq(known, t))
        {
            topics.remove(&t.name);
        }
    }

    /// Opens a topic, if it is not, and takes the right to write to it.
    fn open<'a>(&self, t: &'a Topic, create: bool) -> Result<MutexGuard<'a, Option<Work>>> {
        if t.open.read().is_some() {
            let work = t.work.lock();
            if work.as_ref().is_some_and(|w| !w.log.gone()) {
                return Ok(work);
            }
        }
        // One of this name that is being deleted must be gone before. Taken before `work`, as there.
        let _naming = self.naming(&t.name).lock();
        let mut work = t.work.lock();
        if t.state.lock().deleted {
            return Err(Error::NoTopic(t.name.clone()));
        }
        if work.as_ref().is_some_and(|w| w.log.gone()) {
            *work = None;
            t.close();
        }
        if work.is_none() {
            *work = Some(self.open_new(t, create)?);
        }
        Ok(work)
    }

    fn open_new(&self, t: &Topic, create: bool) -> Result<Work> {
        let kept = self.storage.get(&t.name, SETTINGS)?;
        let settings = match kept {
            Some(text) => Settings::default().with_json(&text)?,
            None if create => {
                match self.storage.create(&t.name, &self.options.settings) {
                    Ok(()) | Err(Error::TopicExists(_)) => {}
                    Err(e) => return Err(e),
                }
                self.options.settings.clone()
            }
            None => return Err(Error::NoTopic(t.name.clone())),
        };
        let log = self.storage.open(&t.name, &settings, &self.tell)?;
        let (state, headers) = log.history()?;
        let mut producers = match state.as_deref().map(Producers::decode) {
            Some(None) => {
                (self.tell)(&format!("topic '{}': its state is damaged, ignored", t.name));
                Producers::default()
            }
            Some(Some(producers)) => producers,
            None => Producers::default(),
        };
        headers.iter().for_each(|h| producers.note(h));
        *t.open.write() = Some((Arc::clone(&log), Arc::new(settings)));
        Ok(Work { log, producers })
    }

    fn naming(&self, topic: &str) -> &Mutex<()> {
        let sum = crc32c(0, topic.as_bytes());
        &self.naming[sum as usize % NAMINGS]
    }

    /// Looks for records that other processes have written.
    fn refresh(&self, t: &Topic, log: &Arc<dyn TopicLog>) -> Result<()> {
        if !self.storage.shared() {
            return Ok(());
        }
        // Locked meanwhile: the records found count together with the producers that have numbered them.
        match t.work.lock().as_mut() {
            Some(work) if Arc::ptr_eq(&work.log, log) => self.catch_up(t, work),
            // It has been opened anew since.
            _ => Ok(()),
        }
    }

    fn catch_up(&self, t: &Topic, work: &mut Work) -> Result<()> {
        let mut numbered = Vec::new();
        let result = work.log.refresh(&mut numbered);
        // Also if not all was found: it does not come again.
        numbered.iter().for_each(|h| work.producers.note(h));
        self.take_settings(t, work);
        if work.log.gone() {
            t.close();
        } else {
            t.wake(work.log.extent().next);
        }
        result
    }

    /// Takes over settings that another process has changed.
    fn take_settings(&self, t: &Topic, work: &Work) {
        if let Some(settings) = work.log.changed() {
            let mut open = t.open.write();
            if let Some((_, known)) = open.as_mut() {
                *known = Arc::new(settings);
            }
        }
    }

    /// Looks for records of other processes, as long as a reader waits for them.
    fn watch(self: &Arc<Self>, t: &Arc<Topic>) {
        let (this, t) = (Arc::clone(self), Arc::clone(t));
        let at = Instant::now() + self.storage.linger();
        self.schedule.add(
            at,
            Box::new(move || {
                let open = t.log().is_some() && !this.closed.load(Relaxed);
                if !t.go_on_watching(open) {
                    return;
                }
                // A thread that is storing learns it anyway.
                if let Some(mut work) = t.work.try_lock()
                    && let Some(work) = work.as_mut()
                    && let Err(e) = this.catch_up(&t, work)
                {
                    (this.tell)(&format!("topic '{}': {e}", t.name));
                }
                this.watch(&t);
            }),
        );
    }
}
