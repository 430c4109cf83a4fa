//! The state shared by the threads that append, the writer and the threads that wait for it.

use std::sync::Arc;
use std::sync::atomic::{
    self, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};
use std::time::Duration;

use stdx::sync::{AtomicBool, AtomicU8, AtomicU64, Condvar, Mutex, MutexGuard, fence};

use stream::Stream;

use super::writer::Writer;

/// How long a thread waits for another thread that writes, before it goes on with other things.
const PATIENCE: Duration = Duration::from_millis(1);

/// When written bytes are forced to the disk (`appendfsync`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sync {
    /// Before any reply that depends on it.
    Always,
    /// Once per second.
    EverySecond,
    /// When the system likes.
    Never,
}

/// The journal's reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What failed, with the file's name and the system's words.
    pub text: String,
    /// The system's words alone.
    pub reason: String,
    /// A retry will not help: a sync failed under `always`.
    pub lasting: bool,
}

/// Called by the writer, on its thread.
pub trait Observer: Send + std::marker::Sync {
    /// Everything up to this sequence number is durable now.
    fn durable(&self, sequence: u64);
    /// Writing has begun to fail, or (`None`) works again.
    fn trouble(&self, trouble: Option<&Trouble>);
    /// A thread that holds back replies until a write may look again.
    fn written(&self);
    /// Syncing works again after it has failed, without `always`. It is not known which bytes the system
    /// has dropped meanwhile: only a new base makes sure.
    fn may_have_lost(&self) {}
    /// Something worth a line in the log.
    fn note(&self, text: &str);
}

/// Figures for INFO.
#[derive(Debug, Default)]
pub struct Figures {
    /// Bytes of all segments.
    pub size: atomic::AtomicU64,
    /// Bytes of the base, and of the segments when the base was made.
    pub base_size: atomic::AtomicU64,
    /// Syncs that failed or took long.
    pub delayed: atomic::AtomicU64,
    /// Syncs done.
    pub syncs: atomic::AtomicU64,
    /// Bytes that the writer has taken and not written.
    pub pending: atomic::AtomicU64,
}

/// Says that a thread holds output back, and has to be woken when part of it may be sent.
#[derive(Debug, Default)]
pub struct WakeRequest(AtomicBool);

impl WakeRequest {
    /// The thread announces this, and only then looks at how far everything is: a thread that gets further
    /// in between wakes it.
    pub fn announce(&self) {
        self.0.store(true, Relaxed);
        fence(SeqCst);
    }

    /// Whether the thread has to be woken: asked, once, by the thread that has published how far
    /// everything is.
    pub fn take(&self) -> bool {
        fence(SeqCst);
        self.0.load(Relaxed) && self.0.swap(false, Relaxed)
    }
}

/// See the module's text.
pub struct Shared {
    /// The records, which the writer is a reader of.
    pub stream: Arc<Stream>,
    /// Up to here everything is written.
    written: AtomicU64,
    /// Up to here everything is durable.
    durable: AtomicU64,
    policy: AtomicU8,
    /// Writing fails: see [`Observer::trouble`].
    failing: AtomicBool,
    trouble: Mutex<Option<Trouble>>,
    /// The writer, while its thread runs.
    writer: Mutex<Option<Box<Writer>>>,
    /// A thread wanted to write and could not: the writing thread notifies it at its end.
    wanted: AtomicBool,
    observer: Mutex<Option<Arc<dyn Observer>>>,
    /// The writer sleeps and wants to be woken by the record behind `expected`.
    idle: AtomicBool,
    expected: AtomicU64,
    bell: Mutex<bool>,
    rung: Condvar,
    progress: Condvar,
    /// Figures for INFO.
    pub figures: Figures,
}

impl Default for Shared {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl Shared {
    /// The state of a journal of `stream`.
    pub fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            written: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            policy: AtomicU8::new(Sync::EverySecond as u8),
            failing: AtomicBool::new(false),
            trouble: Mutex::default(),
            writer: Mutex::default(),
            wanted: AtomicBool::new(false),
            observer: Mutex::default(),
            idle: AtomicBool::new(false),
            expected: AtomicU64::new(0),
            bell: Mutex::new(false),
            rung: Condvar::new(),
            progress: Condvar::new(),
            figures: Figures::default(),
        }
    }

    /// The last sequence number that was given out.
    #[inline]
    pub fn last(&self) -> u64 {
        self.stream.last()
    }

    /// Up to here everything is written.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written.load(Acquire)
    }

    /// Up to here everything is durable.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.durable.load(Acquire)
    }

    /// Where the numbers begin, before anything is appended: what recovery has found is durable.
    pub(crate) fn resume_at(&self, sequence: u64) {
        self.written.store(sequence, Release);
        self.durable.store(sequence, Release);
    }

    /// When the disk is synced.
    #[inline]
    pub fn policy(&self) -> Sync {
        match self.policy.load(Relaxed) {
            0 => Sync::Always,
            1 => Sync::EverySecond,
            _ => Sync::Never,
        }
    }

    /// Changes when the disk is synced.
    pub fn set_policy(&self, policy: Sync) {
        self.policy.store(policy as u8, Relaxed);
        self.ring();
    }

    /// Whether writing fails at the moment.
    #[inline]
    pub fn is_failing(&self) -> bool {
        self.failing.load(Acquire)
    }

    /// Why writing fails, if it does.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().clone()
    }

    /// A caller that closes a journal that could not be written, and goes on without one, calls this.
    pub fn forget_trouble(&self) {
        self.set_trouble(None);
    }

    pub(crate) fn set_trouble(&self, trouble: Option<Trouble>) {
        let failing = trouble.is_some();
        *self.trouble.lock() = trouble;
        self.failing.store(failing, Release);
        self.progress.notify_all();
    }

    pub(crate) fn set_written(&self, sequence: u64) {
        self.written.store(sequence, Release);
        let _bell = self.bell.lock();
        self.progress.notify_all();
    }

    pub(crate) fn set_durable(&self, sequence: u64) {
        self.durable.store(sequence, Release);
    }

    /// Writes everything that has a number by now, unless the policy is `always` or writing fails. When
    /// another thread is writing and does not end soon, `announce` is called and false returned: that
    /// thread calls [`Observer::written`] at its end. The caller has nothing locked.
    pub fn write_through(&self, announce: impl FnOnce()) -> bool {
        if self.written() >= self.last() {
            return true;
        }
        if let Some(writer) = self.writer.try_lock_for(PATIENCE)
            && self.write_with(writer)
        {
            return true;
        }
        announce();
        self.wanted.store(true, SeqCst);
        // It may have ended in between, without seeing the request.
        fence(SeqCst);
        self.writer.try_lock().is_some_and(|writer| self.write_with(writer))
    }

    fn write_with(&self, mut writer: MutexGuard<'_, Option<Box<Writer>>>) -> bool {
        let upto = self.last();
        let all = writer.as_mut().is_none_or(|w| w.write_all(upto));
        drop(writer);
        self.writer_is_free();
        all
    }

    /// Notifies the threads that wanted to write and did not wait.
    fn writer_is_free(&self) {
        fence(SeqCst);
        if self.wanted.load(Relaxed) && self.wanted.swap(false, SeqCst) {
            let observer = self.observer.lock().clone();
            if let Some(observer) = observer {
                observer.written();
            }
        }
    }

    /// Calls `f` with the writer, if there is one.
    pub(crate) fn with_writer<R>(&self, f: impl FnOnce(&mut Writer) -> R) -> Option<R> {
        let mut writer = self.writer.lock();
        let result = writer.as_mut().map(|w| f(w));
        drop(writer);
        self.writer_is_free();
        result
    }

    pub(crate) fn set_writer(&self, writer: Option<Box<Writer>>) {
        let old = std::mem::replace(&mut *self.writer.lock(), writer);
        drop(old);
        self.writer_is_free();
    }

    pub(crate) fn set_observer(&self, observer: &Arc<dyn Observer>) {
        *self.observer.lock() = Some(Arc::clone(observer));
    }

    /// Wakes the writer if it sleeps and the record that it waits for is there. Called when a turn of an
    /// event loop is over, so that all records of the turn are synced together.
    #[inline]
    pub fn wake_writer(&self) {
        // Between taking a number and this look, as in `sleep` between announcing and its look: one of
        // the two sees the other.
        fence(SeqCst);
        if self.idle.load(Acquire)
            && self.last() > self.expected.load(Relaxed)
            && self.idle.swap(false, Relaxed)
        {
            self.ring();
        }
    }

    /// Wakes the writer.
    pub fn ring(&self) {
        *self.bell.lock() = true;
        self.rung.notify_one();
    }

    /// The writer's sleep: until it is woken, the time is over, or numbers beyond `expected` have been
    /// given out.
    pub(crate) fn sleep(&self, time: Option<Duration>, expected: u64) {
        self.expected.store(expected, Relaxed);
        self.idle.store(true, Release);
        fence(SeqCst);
        if self.last() > expected {
            self.idle.store(false, Relaxed);
            return;
        }
        let mut bell = self.bell.lock();
        if !*bell {
            match time {
                Some(time) => {
                    self.rung.wait_for(&mut bell, time);
                }
                None => self.rung.wait(&mut bell),
            }
        }
        *bell = false;
        self.idle.store(false, Relaxed);
    }

    /// Waits, `time` at most, for the writer to get on: for threads that have appended more than it can
    /// write. The caller has nothing locked.
    pub fn wait_for_progress(&self, time: Duration) {
        let mut bell = self.bell.lock();
        *bell = true;
        self.rung.notify_one();
        self.progress.wait_for(&mut bell, time);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("stream", &self.stream).finish_non_exhaustive()
    }
}
