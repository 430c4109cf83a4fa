//! Where one thread leaves its records for the readers.
//!
//! Each thread has a lane of its own, so that threads do not meet here; the merger takes its content
//! from time to time. A record gets its sequence number under the lane's lock, while the shards that
//! it concerns are locked: within a lane numbers ascend, and for any key they follow the order of its
//! changes.

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use stdx::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Mutex};

use crate::record::{self, HEADER, MESSAGES, UNIT, Unit};

/// See the module's text.
#[derive(Debug, Default)]
pub struct Lane {
    inner: Mutex<Inner>,
    /// Bytes that the merger has not taken.
    waiting: AtomicUsize,
    /// Highest sequence number here that a command of a client caused; written by this thread only.
    acted: AtomicU64,
    /// Units within units that are open. This thread alone uses it and the fields below: a unit in
    /// which nothing changes takes no lock.
    depth: AtomicU32,
    /// The open unit is not empty.
    begun: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    /// Whole records without checksums.
    records: Vec<u8>,
    /// A client's command is in the open unit.
    acted: bool,
    /// Commands of the open unit.
    unit: Vec<u8>,
    /// Messages that were sent within it.
    messages: Vec<u8>,
}

/// A buffer that has grown beyond this is given back.
const KEEP: usize = 4 << 20;

impl Lane {
    /// Appends the output of `write` as one record, or to the unit that is open. `now` is its time in
    /// Unix milliseconds. `acts`: a client caused it, and will get a reply. The caller has the shards
    /// concerned locked.
    #[inline]
    pub fn append(
        &self,
        counter: &AtomicU64,
        now: i64,
        acts: bool,
        write: impl FnOnce(&mut Unit<'_>),
    ) {
        let now = now.max(0) as u64;
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if self.depth.load(Relaxed) > 0 {
            inner.acted |= acts;
            if inner.unit.is_empty() {
                self.begun.store(true, Relaxed);
                record::put_number(&mut inner.unit, now);
            }
            write(&mut Unit { out: &mut inner.unit });
            return;
        }
        let from = inner.records.len();
        record::begin(&mut inner.records, now);
        write(&mut Unit { out: &mut inner.records });
        self.number(inner, from, counter, UNIT, acts);
    }

    /// Appends messages: commands for replicas alone. Those of a unit follow behind it.
    pub fn append_messages(&self, counter: &AtomicU64, write: impl FnOnce(&mut Unit<'_>)) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if self.depth.load(Relaxed) > 0 {
            if inner.messages.is_empty() {
                self.begun.store(true, Relaxed);
                record::put_number(&mut inner.messages, 0);
            }
            write(&mut Unit { out: &mut inner.messages });
            return;
        }
        let from = inner.records.len();
        record::begin(&mut inner.records, 0);
        write(&mut Unit { out: &mut inner.records });
        self.number(inner, from, counter, MESSAGES, false);
    }

    #[inline]
    fn number(&self, inner: &mut Inner, from: usize, counter: &AtomicU64, kind: u8, acts: bool) {
        let frame = &mut inner.records[from..];
        // `Shared::wake_writer` follows, with a look at whether the writer sleeps.
        let sequence = counter.fetch_add(1, SeqCst) + 1;
        record::head(frame, kind, sequence);
        self.waiting.store(inner.records.len(), Relaxed);
        if acts {
            self.acted.store(sequence, Relaxed);
        }
    }

    /// From here on all that is appended belongs to one record, until the matching
    /// [`end_unit`](Self::end_unit). Called by the lane's thread, as `append` is.
    #[inline]
    pub fn begin_unit(&self) {
        self.depth.store(self.depth.load(Relaxed) + 1, Relaxed);
    }

    /// Whether what is appended now belongs to a record that is not complete.
    #[inline]
    pub fn is_in_unit(&self) -> bool {
        self.depth.load(Relaxed) > 0
    }

    /// Ends a unit; with the outermost one, the collected commands become a record. The shards that
    /// it concerns are still locked.
    #[inline]
    pub fn end_unit(&self, counter: &AtomicU64) {
        let depth = self.depth.load(Relaxed).saturating_sub(1);
        self.depth.store(depth, Relaxed);
        if depth == 0 && self.begun.load(Relaxed) {
            self.begun.store(false, Relaxed);
            self.complete(counter);
        }
    }

    fn complete(&self, counter: &AtomicU64) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let acts = std::mem::take(&mut inner.acted);
        if !inner.unit.is_empty() {
            let from = inner.records.len();
            inner.records.reserve(HEADER + inner.unit.len());
            inner.records.extend_from_slice(&[0; HEADER]);
            inner.records.append(&mut inner.unit);
            if inner.unit.capacity() > KEEP {
                inner.unit = Vec::new();
            }
            self.number(inner, from, counter, UNIT, acts);
        }
        if !inner.messages.is_empty() {
            let from = inner.records.len();
            inner.records.extend_from_slice(&[0; HEADER]);
            inner.records.append(&mut inner.messages);
            self.number(inner, from, counter, MESSAGES, false);
        }
    }

    /// Bytes that the merger has not taken.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Highest sequence number that a client's command on this thread has caused.
    #[inline]
    pub fn acted(&self) -> u64 {
        self.acted.load(Relaxed)
    }

    /// Moves the records to the end of `to`.
    pub(crate) fn take(&self, to: &mut Vec<u8>) {
        if self.waiting() == 0 {
            return;
        }
        let mut inner = self.inner.lock();
        if to.is_empty() {
            std::mem::swap(to, &mut inner.records);
            if inner.records.capacity() > KEEP {
                inner.records = Vec::new();
            }
        } else {
            to.append(&mut inner.records);
        }
        self.waiting.store(0, Relaxed);
    }
}
