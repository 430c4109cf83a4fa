//! Freeing of big values off the path: one background thread per keyspace, and one for each command
//! that empties a large database and waits for it.
//!
//! Dropping a value of many allocations, or a whole database, takes time in proportion to its parts;
//! the thread that serves connections hands it over instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

use data::entry::Entry;
use data::table::Table;
use parking_lot::Mutex;

use crate::background::{Background, step_back};

/// Values that can be freed later.
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

/// No client waits for the calling thread.
fn pause_now_and_then() {
    let mut background = Background::begin();
    stdx::yield_point::each(move || background.yield_point());
}

pub(crate) struct Lazy {
    send: Sender<Garbage>,
    counts: Arc<Counts>,
}

impl Lazy {
    pub(crate) fn start() -> Self {
        let (send, receive) = channel::<Garbage>();
        let counts = Arc::new(Counts::default());
        if cfg!(loom) {
            // A model has no threads but its own; what is handed over is freed at once.
            return Self { send, counts };
        }
        let c = Arc::clone(&counts);
        std::thread::Builder::new()
            .name("apus-lazyfree".into())
            .spawn(move || {
                step_back();
                pause_now_and_then();
                // The thread ends when the keyspace, and with it the sender, is dropped.
                while let Ok(garbage) = receive.recv() {
                    c.free(garbage);
                    stdx::yield_point::reached();
                }
            })
            .expect("the system lets a process start a thread");
        Self { send, counts }
    }

    pub(crate) fn free(&self, garbage: Garbage) {
        self.counts.pending.fetch_add(garbage.objects(), Relaxed);
        if let Err(back) = self.send.send(garbage) {
            // The thread cannot have ended while `self` exists, but freeing here is never wrong.
            self.counts.pending.fetch_sub(back.0.objects(), Relaxed);
        }
    }

    /// Frees values that a client waits for, and calls `then`. This runs on a thread of its own,
    /// which, unlike the one for the rest, does not give way to others.
    pub(crate) fn free_soon(&self, garbage: Vec<Garbage>, then: impl FnOnce() + Send + 'static) {
        let n = garbage.iter().map(Garbage::objects).sum();
        self.counts.pending.fetch_add(n, Relaxed);
        let counts = Arc::clone(&self.counts);
        let work: Box<dyn FnOnce() + Send> = Box::new(move || {
            garbage.into_iter().for_each(|g| counts.free(g));
            then();
        });
        // Shared, so that it is not lost when the system cannot start a thread.
        let work = Arc::new(Mutex::new(Some(work)));
        let run = |work: &Mutex<Option<Box<dyn FnOnce() + Send>>>| {
            let work = work.lock().take();
            if let Some(work) = work {
                work();
            }
        };
        let theirs = Arc::clone(&work);
        let started = std::thread::Builder::new().name("apus-flush".into()).spawn(move || {
            pause_now_and_then();
            run(&theirs);
        });
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
