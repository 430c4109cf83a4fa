//! Clients that wait for the replicas: WAIT, WAITAOF.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Engine, Thread};
use replication::acks;
use replication::render::GETACK;
use store::Waiter;

use super::Registry;

/// A client in WAIT or WAITAOF.
pub(super) struct Waiting {
    waiter: Arc<Waiter>,
    offset: i64,
    wanted: usize,
    /// It wants the replicas' disks.
    aof: Option<Own>,
}

/// What WAITAOF wants of this server's own disk.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The last change of the client, in the journal.
    pub sequence: u64,
    /// Whether it is waited for. The reply says in any case whether it is on disk.
    pub wanted: bool,
}

impl Registry {
    /// How many replicas have everything up to `offset`, in memory or on disk.
    fn have(&self, offset: i64, on_disk: bool) -> usize {
        let all = self.all.lock();
        let progress = all.iter().map(|r| r.progress());
        if on_disk { acks::on_disk(progress, offset) } else { acks::executed(progress, offset) }
    }

    /// A replica has acknowledged: the clients that have waited for it are answered.
    pub(crate) fn acknowledged(&self, engine: &Engine, thread: &mut Thread) {
        if !self.any_waiting.load(Relaxed) {
            return;
        }
        let mut waiting = self.waiting.lock();
        let (mut due, mut vain) = (Vec::new(), Vec::new());
        waiting.retain(|w| {
            if Arc::strong_count(&w.waiter) == 1 {
                // Its time is over, or its connection is.
                return false;
            }
            if w.aof.is_some_and(|own| own.wanted) && !engine.journal.is_on() {
                vain.push(Arc::clone(&w.waiter));
                return false;
            }
            let have = self.have(w.offset, w.aof.is_some());
            let here = w.aof.map(|own| i64::from(is_durable_here(engine, own.sequence)));
            let wanted_here = w.aof.is_some_and(|own| own.wanted);
            let done = have >= w.wanted && (!wanted_here || here == Some(1));
            engine::note_progress(&w.waiter, here, have as i64);
            if done {
                due.push((Arc::clone(&w.waiter), here, have));
            }
            !done
        });
        self.any_waiting.store(!waiting.is_empty(), Relaxed);
        drop(waiting);
        for waiter in vain {
            let off = durable::journal::OFF;
            let bytes = format!("-{}\r\n", off.0).into_bytes();
            thread.answer_waiter(engine, &waiter, bytes, Some(&off));
        }
        for (waiter, here, have) in due {
            let bytes = match here {
                Some(here) => format!("*2\r\n:{here}\r\n:{have}\r\n"),
                None => format!(":{have}\r\n"),
            };
            thread.answer_waiter(engine, &waiter, bytes.into_bytes(), None);
        }
    }

    /// The stream's position behind everything that this connection has written, for WAIT; and how many replicas
    /// have that.
    pub fn position(&self, engine: &Engine, thread: &Thread) -> (i64, usize) {
        engine.render_changes(thread.worker());
        let offset = engine.replication.state().history.offset();
        (offset, self.have(offset, false))
    }

    /// The same for WAITAOF: how many have it on disk.
    pub fn position_on_disk(&self, engine: &Engine, thread: &Thread) -> (i64, usize) {
        let (offset, _) = self.position(engine, thread);
        (offset, self.have(offset, true))
    }

    /// Answers `waiter` when `wanted` replicas have everything up to `offset`; with `aof` on their disks, and this
    /// server has what is said there.
    pub fn wait(
        &self,
        engine: &Engine,
        waiter: Arc<Waiter>,
        (offset, wanted): (i64, usize),
        aof: Option<Own>,
    ) {
        self.waiting.lock().push(Waiting { waiter, offset, wanted, aof });
        self.any_waiting.store(true, Relaxed);
        if !engine.is_replica() && engine.replication.renders() {
            engine.replication.state().append(GETACK);
            engine.feed_now();
        }
    }
}

/// Whether this server's own journal is on disk up to `sequence`.
pub fn is_durable_here(engine: &Engine, sequence: u64) -> bool {
    let journal = &engine.journal;
    journal.is_on()
        && !durable::journal::is_beginning(engine)
        && sequence <= journal.shared.durable()
}
