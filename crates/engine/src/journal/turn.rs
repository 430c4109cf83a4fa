//! What the threads of an engine do for the journal: they write at the end of a turn, and are woken when their
//! output may go.

use persist::journal::Sync;

use super::Journal;
use crate::engine::{Engine, Worker};

/// A thread that has more bytes in its lane waits for the writer.
const BACKLOG: usize = 64 << 20;
impl Journal {
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
}

impl Engine {
    /// Wakes the threads whose output waits for the journal.
    pub fn wake_gated(&self) {
        self.each_worker(|w| {
            if w.wake_request.take() {
                w.mailbox.wake();
            }
        });
    }
}
