//! Freeing of big values off the path: one background thread per keyspace, and one for each command
//! that empties a large database and waits for that.
//!
//! Dropping a value of many allocations, or a whole database, takes as long as it has parts; the
//! thread that serves connections hands it over instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

use data::entry::Entry;
use data::table::Table;
use parking_lot::Mutex;

/// What can be freed later.
pub enum Garbage {
    /// One big value.
    Entry(Entry),
    /// A database's part of a shard.
    Table(Table<Entry>),
}

impl std::fmt::Debug for Garbage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Garbage({})", self.objects())
    }
}

impl Garbage {
    fn objects(&self) -> u64 {
        match self {
            Garbage::Entry(_) => 1,
            Garbage::Table(t) => t.len() as u64,
        }
    }
}

#[derive(Default)]
struct Counts {
    pending: AtomicU64,
    freed: AtomicU64,
}

impl Counts {
    fn free(&self, garbage: Garbage) {
        let n = garbage.objects();
        drop(garbage);
        self.pending.fetch_sub(n, Relaxed);
        self.freed.fetch_add(n, Relaxed);
    }
}

/// Lowers the priority of the calling thread: where it shares a core with a thread that serves
/// connections, that one does not wait for it for a time slice. 19 is as far as it goes.
pub fn step_back(nice: i32) {
    #[cfg(target_os = "linux")]
    // SAFETY: takes numbers only. On Linux, 0 means the calling thread; a failure changes nothing.
    #[expect(unsafe_code, reason = "std has no thread priorities")]
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, nice.clamp(0, 19));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}

pub(crate) struct Lazy {
    send: Sender<Garbage>,
    counts: Arc<Counts>,
}

impl Lazy {
    pub(crate) fn start() -> Self {
        let (send, receive) = channel::<Garbage>();
        let counts = Arc::new(Counts::default());
        let c = Arc::clone(&counts);
        std::thread::Builder::new()
            .name("apus-lazyfree".into())
            .spawn(move || {
                step_back(19);
                // Ends when the keyspace, and with it the sender, is gone.
                while let Ok(garbage) = receive.recv() {
                    c.free(garbage);
                }
            })
            .expect("the system lets a process start a thread");
        Self { send, counts }
    }

    pub(crate) fn free(&self, garbage: Garbage) {
        self.counts.pending.fetch_add(garbage.objects(), Relaxed);
        if let Err(back) = self.send.send(garbage) {
            // The thread cannot be gone while `self` is there, but freeing here is never wrong.
            self.counts.pending.fetch_sub(back.0.objects(), Relaxed);
        }
    }

    /// Frees what somebody waits for, and calls `then`: on a thread of its own, which unlike the one
    /// for the rest does not step back.
    pub(crate) fn free_soon(&self, garbage: Vec<Garbage>, then: impl FnOnce() + Send + 'static) {
        let n = garbage.iter().map(Garbage::objects).sum();
        self.counts.pending.fetch_add(n, Relaxed);
        let counts = Arc::clone(&self.counts);
        let work: Box<dyn FnOnce() + Send> = Box::new(move || {
            garbage.into_iter().for_each(|g| counts.free(g));
            then();
        });
        // Shared, so that it is not lost when the system has no thread to give.
        let work = Arc::new(Mutex::new(Some(work)));
        let run = |work: &Mutex<Option<Box<dyn FnOnce() + Send>>>| {
            let work = work.lock().take();
            if let Some(work) = work {
                work();
            }
        };
        let theirs = Arc::clone(&work);
        let started =
            std::thread::Builder::new().name("apus-flush".into()).spawn(move || run(&theirs));
        if started.is_err() {
            run(&work);
        }
    }

    /// Objects pending and freed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.counts.pending.load(Relaxed), self.counts.freed.load(Relaxed))
    }

    pub(crate) fn count_freed(&self, n: u64) {
        self.counts.freed.fetch_add(n, Relaxed);
    }

    pub(crate) fn reset(&self) {
        self.counts.freed.store(0, Relaxed);
    }
}
