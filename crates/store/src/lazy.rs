//! Freeing of big values off the path: one background thread per keyspace.
//!
//! Dropping a value of many allocations, or a whole database, takes as long as it has parts; the
//! thread that serves connections hands it over instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

use data::entry::Entry;
use data::table::Table;

/// What can be freed later.
pub enum Garbage {
    /// One big value.
    Entry(Entry),
    /// A database's part of a shard.
    Table(Table<Entry>),
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

/// Lowers the priority of the calling thread as far as it goes: where it shares a core with a
/// thread that serves connections, that one does not wait for it for a time slice.
fn step_back() {
    #[cfg(target_os = "linux")]
    // SAFETY: takes numbers only. On Linux, 0 means the calling thread; a failure changes nothing.
    #[expect(unsafe_code, reason = "std has no thread priorities")]
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
    }
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
                step_back();
                // Ends when the keyspace, and with it the sender, is gone.
                while let Ok(garbage) = receive.recv() {
                    let n = garbage.objects();
                    drop(garbage);
                    c.pending.fetch_sub(n, Relaxed);
                    c.freed.fetch_add(n, Relaxed);
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

    /// Objects pending and freed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.counts.pending.load(Relaxed), self.counts.freed.load(Relaxed))
    }

    pub(crate) fn reset(&self) {
        self.counts.freed.store(0, Relaxed);
    }
}
