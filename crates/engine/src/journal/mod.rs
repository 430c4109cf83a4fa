//! The journal as the engine sees it: the waiters, the start, the rewriting.
//!
//! It is a reader of the stream of committed records ([`crate::commit`]).
//!
//! **Acknowledgements.** Under `appendfsync always` the output of a batch waits until everything is
//! durable that *any* thread had appended when the batch ended ([`Journal::gate`]). That is more than
//! the batch's own writes, and simple to be sure of: a write that a reply reflects, be it the client's own or
//! another client's that it read, is never lost. A batch that ends while everything is durable waits for
//! nothing; without writes, all batches end so.
//!
//! Under `everysec` and `no` it waits in the same way until everything is *written*, which a killed
//! process cannot lose. The thread does that itself, once for all output that it keeps back, before it waits
//! for events again ([`Journal::turn_over`]). When it cannot be written, a batch that has changed something is
//! not acknowledged: its client is disconnected, and gets no reply that could prove wrong.
//!
//! The bytes and files are the crate `persist`'s.

mod aof;
mod base;
mod replay;
mod rewrite;
mod start;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use commands::Fail;
use config::{Appendfsync, Config, Id};
use parking_lot::Mutex;
use persist::disk::Disk;
use persist::journal::writer::Orders;
use persist::journal::{Control, Location, Observer, Shared, Sync, Trouble};
use store::Waiter;
use stream::{Lane, Stream};

use crate::engine::{Attention, Engine, Worker};
use crate::log;
use crate::mailbox::{Job, Message};
use crate::thread::Thread;

pub use rewrite::{Rewrite, anew, begin as begin_rewrite};
pub(crate) use rewrite::{switch, upkeep};
pub use start::reload;

/// The answer of WAITAOF when there is no journal.
pub const OFF: Fail =
    Fail::text("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");

/// A thread that has more bytes in its lane waits for the writer.
const BACKLOG: usize = 64 << 20;
/// A batch that leaves so many bytes in the lane is written by itself: that costs little in proportion, and
/// its output need not be kept.
const LARGE: usize = 4096;

/// Replies wait for nothing.
const OPEN: u8 = 0;
/// Until all is written.
const WRITTEN: u8 = 1;
/// Until all is durable.
const DURABLE: u8 = 2;

/// See the module's text.
pub struct Journal {
    /// The state that the lanes and the writer share.
    pub shared: Arc<Shared>,
    /// Commits append.
    on: AtomicBool,
    /// The condition that replies wait for: [`OPEN`], [`WRITTEN`] or [`DURABLE`].
    gated: AtomicU8,
    /// It is being loaded at the start.
    starting: AtomicBool,
    /// It has all data: from CONFIG SET appendonly yes until the first rewrite is done, it has not.
    based: AtomicBool,
    running: Mutex<Option<Running>>,
    /// Keeps other servers from using the same files.
    lock: Mutex<Option<persist::disk::Lock>>,
    /// Its rewriting.
    pub rewrite: Rewrite,
    /// WAITAOF: clients, and the sequence numbers that they wait for.
    waiters: Mutex<Vec<(u64, Arc<Waiter>)>>,
}

/// A journal that is being written.
struct Running {
    orders: Orders,
    writer: JoinHandle<()>,
    place: Location,
    disk: Arc<dyn Disk>,
    /// Number of the last base.
    bases: u64,
}

/// Whether a batch's output may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Now.
    Open,
    /// When everything up to this number is as safe as the policy says.
    At(u64),
    /// Never, if it reports a change of its own: that could not be made safe. Replies of reads may be sent.
    Never,
}

impl Journal {
    pub(crate) fn new(stream: Arc<Stream>) -> Self {
        Self {
            shared: Arc::new(Shared::new(stream)),
            on: AtomicBool::new(false),
            gated: AtomicU8::new(OPEN),
            starting: AtomicBool::new(false),
            based: AtomicBool::new(false),
            running: Mutex::default(),
            lock: Mutex::default(),
            rewrite: Rewrite::default(),
            waiters: Mutex::default(),
        }
    }

    /// Any server may use the files from here on.
    fn unlock(&self) {
        *self.lock.lock() = None;
    }

    /// Whether changes are appended.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Whether, and until when, the output of a batch must wait that has just ended on the thread of
    /// `lane`, whose [`Lane::acted`] was `before` when the batch began.
    #[inline]
    pub fn gate(&self, lane: &Lane, before: u64) -> Gate {
        let gated = self.gated.load(Relaxed);
        if gated == OPEN {
            return Gate::Open;
        }
        let last = self.shared.last();
        if last <= self.far(gated) {
            return Gate::Open;
        }
        self.wait_for(gated, last, lane, before)
    }

    #[inline]
    fn far(&self, gated: u8) -> u64 {
        if gated == WRITTEN { self.shared.written() } else { self.shared.durable() }
    }

    fn wait_for(&self, gated: u8, last: u64, lane: &Lane, before: u64) -> Gate {
        if self.shared.is_failing() {
            // Replies of reads are sent all the same: the server stays up for reads.
            return if lane.acted() == before { Gate::Open } else { Gate::Never };
        }
        if gated == WRITTEN
            && lane.waiting() >= LARGE
            && self.shared.write_through(|| {})
            && self.shared.written() >= last
        {
            return Gate::Open;
        }
        Gate::At(last)
    }

    /// The fate of output that waits for `sequence`.
    #[inline]
    pub fn reached(&self, sequence: u64) -> Gate {
        let gated = self.gated.load(Relaxed);
        if gated == OPEN || sequence <= self.far(gated) {
            Gate::Open
        } else if self.shared.is_failing() {
            Gate::Never
        } else {
            Gate::At(sequence)
        }
    }

    /// Called when a turn of an event loop is over and nothing is locked: writes, or has the writer begin, and
    /// waits for it when it is far behind.
    #[inline]
    pub fn turn_over(&self, worker: &Worker) {
        if !self.is_on() || self.shared.written() >= self.shared.last() {
            return;
        }
        if self.shared.policy() == Sync::Always {
            self.shared.wake_writer();
        } else {
            self.shared.write_through(|| worker.wake_request.announce());
        }
        while worker.lane.waiting().max(self.shared.stream.queued()) > BACKLOG
            && !self.shared.is_failing()
        {
            self.shared.wait_for_progress(std::time::Duration::from_millis(20));
        }
    }

    /// Whether it was turned on at run time and its first base is not there yet.
    pub fn is_beginning(&self) -> bool {
        self.is_on() && !self.based.load(Relaxed)
    }

    /// Copies `appendfsync`.
    pub(crate) fn follow_config(&self, c: &Config) {
        let policy = match c.chosen(Id::Appendfsync) {
            Appendfsync::Always => Sync::Always,
            Appendfsync::Everysec => Sync::EverySecond,
            Appendfsync::No => Sync::Never,
        };
        if self.shared.policy() != policy {
            self.shared.set_policy(policy);
        }
        let gated = match policy {
            _ if !self.is_on() || !self.based.load(Relaxed) => OPEN,
            Sync::Always => DURABLE,
            Sync::EverySecond | Sync::Never => WRITTEN,
        };
        self.gated.store(gated, Relaxed);
    }

    /// The refusal of writes while they cannot be made durable.
    pub(crate) fn misconf(&self) -> Fail {
        let reason = self.shared.trouble().map_or_else(String::new, |t| t.reason);
        Fail::new(format!("MISCONF Errors writing to the AOF file: {reason}"))
    }

    /// Answers `w` when everything up to `sequence` is durable and there is a base. Returns false when
    /// that is so.
    pub(crate) fn wait(&self, sequence: u64, w: &Arc<Waiter>) -> bool {
        let mut waiters = self.waiters.lock();
        // Looked at under the lock under which the writer looks for waiters.
        if sequence <= self.shared.durable() && self.based.load(Relaxed) {
            return false;
        }
        if waiters.len() >= 1024 {
            // No other list knows the waiters whose time is over.
            waiters.retain(|(_, w)| Arc::strong_count(w) > 1);
        }
        waiters.push((sequence, Arc::clone(w)));
        true
    }
}

/// The writer's reports, and the threads that they concern.
struct Bell(Weak<Engine>);

impl Observer for Bell {
    fn durable(&self, sequence: u64) {
        let Some(engine) = self.0.upgrade() else { return };
        engine.wake_gated();
        engine.answer_durable(sequence);
    }

    fn trouble(&self, trouble: Option<&Trouble>) {
        let Some(engine) = self.0.upgrade() else { return };
        match trouble {
            Some(t) if t.lasting => log!(
                engine.log,
                Warning,
                "The journal cannot be made durable: {}. Nothing is acknowledged any more, writes \
                 are refused. When the disk works again, BGREWRITEAOF makes a new journal of what \
                 is in memory.",
                t.text
            ),
            Some(t) => log!(
                engine.log,
                Warning,
                "The journal cannot be written: {}. Writes are refused until it can; tried again \
                 every second.",
                t.text
            ),
            None => log!(engine.log, Notice, "The journal can be written again."),
        }
        engine.attention.set(Attention::DISK, trouble.is_some());
        engine.wake_gated();
    }

    fn written(&self) {
        if let Some(engine) = self.0.upgrade() {
            engine.wake_gated();
        }
    }

    fn may_have_lost(&self) {
        if let Some(engine) = self.0.upgrade() {
            log!(
                engine.log,
                Warning,
                "The journal is rewritten, since the system may have dropped what it could not write"
            );
            engine.journal.rewrite.schedule();
        }
    }

    fn note(&self, text: &str) {
        if let Some(engine) = self.0.upgrade() {
            log!(engine.log, Warning, "Journal: {}", text);
        }
    }
}

impl Engine {
    /// Wakes the threads whose output waits for the journal.
    fn wake_gated(&self) {
        self.each_worker(|w| {
            if w.wake_request.take() {
                w.mailbox.wake();
            }
        });
    }

    /// Answers the clients in WAITAOF that wait for nothing beyond `sequence`.
    fn answer_durable(&self, sequence: u64) {
        let journal = &self.journal;
        let mut waiters = journal.waiters.lock();
        // Without a base, records that are durable are of no use.
        if !journal.based.load(Relaxed) {
            return;
        }
        let (due, rest) = std::mem::take(&mut *waiters).into_iter().partition(|w| w.0 <= sequence);
        *waiters = rest;
        drop(waiters);
        let due: Vec<(u64, Arc<Waiter>)> = due;
        for (_, w) in due {
            let thread = w.thread;
            let job = move |engine: &Engine, thread: &mut Thread| thread.durable(engine, &w);
            self.post(thread, Message::Run(Job::new(job)));
        }
    }

    /// Makes everything durable and ends the writer. Called when no command appends any more.
    pub fn close_journal(&self) {
        let Some(running) = self.journal.running.lock().take() else { return };
        self.journal.on.store(false, Relaxed);
        // It fails only when the writer has ended.
        let _ = running.orders.send(Control::Stop);
        self.journal.shared.ring();
        let _ = running.writer.join();
        // Not before the writer has ended: from here on, output that was held back is sent.
        self.journal.gated.store(OPEN, Relaxed);
        self.wake_gated();
        self.journal.unlock();
        if let Some(trouble) = self.journal.shared.trouble() {
            log!(
                self.log,
                Warning,
                "The end of the journal could not be written: {}",
                trouble.text
            );
        }
    }

    /// Closes the journal while the server goes on: no client waits for it any more.
    fn end_journal(&self, thread: &mut Thread) {
        self.close_journal();
        self.journal.shared.forget_trouble();
        self.attention.set(Attention::DISK, false);
        for (_, w) in std::mem::take(&mut *self.journal.waiters.lock()) {
            let bytes = format!("-{}\r\n", OFF.0).into_bytes();
            thread.answer_waiter(self, &w, bytes, Some(&OFF));
        }
    }
}
