//! The bytes of a snapshot, from several threads to one.
//!
//! A piece is whole entries, so that the order of pieces does not matter; an entry that comes in
//! several pieces is sent under [`Queue::alone`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Bytes that may wait for the reader: beyond that, a thread that serialises waits, too.
const BYTES_MAX: usize = 16 << 20;
/// Bytes above which even commands wait, for a moment.
const BYTES_FULL: usize = 64 << 20;
/// How long a command waits for the reader at most: memory above the bound is better than a stall.
const PATIENCE: Duration = Duration::from_millis(2);

#[derive(Default)]
struct Waiting {
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    closed: bool,
}

/// See the module's text.
pub(super) struct Queue {
    /// Bytes above which a thread that sends waits.
    bytes_max: usize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Locked while a thread sends pieces that must follow each other.
    order: Mutex<()>,
    /// Nothing is written any more.
    dead: AtomicBool,
}

/// The right to send pieces with no other thread's pieces between them.
pub(super) struct Alone<'a>(
    &'a Queue,
    #[expect(dead_code, reason = "the right")] MutexGuard<'a, ()>,
);

impl Alone<'_> {
    /// Sends the bytes in the buffer and leaves it empty; waits while there is much.
    pub(super) fn send(&self, buf: &mut Vec<u8>) {
        self.0.put(buf, None);
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::bounded(BYTES_MAX)
    }
}

impl Queue {
    /// A queue in which a thread that sends waits while there are so many bytes.
    pub(super) fn bounded(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            waiting: Mutex::default(),
            changed: Condvar::new(),
            order: Mutex::default(),
            dead: AtomicBool::new(false),
        }
    }

    /// Waits for the right to send.
    pub(super) fn alone(&self) -> Alone<'_> {
        Alone(self, self.order.lock())
    }

    /// Sends the entries that a command has saved, if no thread is in the middle of an entry. It
    /// waits for a moment only.
    pub(super) fn send_soon(&self, buf: &mut Vec<u8>) {
        if let Some(_order) = self.order.try_lock() {
            self.put(buf, Some(PATIENCE));
        }
    }

    fn put(&self, buf: &mut Vec<u8>, patience: Option<Duration>) {
        if buf.is_empty() {
            return;
        }
        let mut w = self.waiting.lock();
        match patience {
            Some(time) if w.bytes >= BYTES_FULL => {
                self.changed.wait_for(&mut w, time);
            }
            Some(_) => {}
            None => {
                while w.bytes >= self.bytes_max && !self.is_dead() {
                    self.changed.wait(&mut w);
                }
            }
        }
        if self.is_dead() {
            buf.clear();
            return;
        }
        w.bytes += buf.len();
        w.pieces.push_back(std::mem::take(buf));
        self.changed.notify_all();
    }

    /// The next piece; none when there are no more.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut w = self.waiting.lock();
        loop {
            if let Some(piece) = w.pieces.pop_front() {
                w.bytes -= piece.len();
                self.changed.notify_all();
                return Some(piece);
            }
            if w.closed || self.is_dead() {
                return None;
            }
            self.changed.wait(&mut w);
        }
    }

    /// The same, without waiting.
    pub(super) fn try_take(&self) -> Poll<Option<Vec<u8>>> {
        let mut w = self.waiting.lock();
        if let Some(piece) = w.pieces.pop_front() {
            w.bytes -= piece.len();
            self.changed.notify_all();
            return Poll::Ready(Some(piece));
        }
        if w.closed || self.is_dead() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.lock().bytes
    }

    /// There will be no more.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.changed.notify_all();
    }

    /// Writing or reading has failed: bytes sent from here on are dropped.
    pub(super) fn kill(&self) {
        self.dead.store(true, Relaxed);
        let mut w = self.waiting.lock();
        w.pieces.clear();
        w.bytes = 0;
        self.changed.notify_all();
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Relaxed)
    }
}
