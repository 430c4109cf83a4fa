//! A packed run with room at both ends: the form in which a node is changed.
//!
//! ```text
//!  buf:  |  room  | count, 2 bytes | element | element | … |  spare capacity  |
//!                 └ start
//! ```

use crate::packed::{Edit, Packed, START};

/// Bytes of elements up to which a node grows.
pub(super) const BYTES_MAX: usize = 8192;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Hot {
    buf: Vec<u8>,
    start: usize,
}

impl Hot {
    /// The run of no elements.
    pub(super) fn new() -> Self {
        Self::from_run(&crate::packed::EMPTY)
    }

    /// A copy of a run.
    pub(super) fn from_run(run: &[u8]) -> Self {
        let mut buf = Vec::with_capacity(stdx::mem::size_class(run.len().max(64)));
        buf.extend_from_slice(run);
        Self { buf, start: 0 }
    }

    /// The run.
    #[inline]
    pub(super) fn run(&self) -> &[u8] {
        &self.buf[self.start..]
    }

    /// The run, to be read.
    #[inline]
    pub(super) fn packed(&self) -> Packed<'_> {
        Packed::new(self.run())
    }

    /// Bytes of the elements.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.buf.len() - self.start - START
    }

    /// Bytes held from the allocator.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        stdx::mem::size_class(self.buf.capacity())
    }

    /// Sees to it that `n` bytes can be added at the front or at the back.
    fn make_room(&mut self, n: usize, front: bool) {
        let run = self.buf.len() - self.start;
        let need = run + n;
        if need + need / 8 <= self.buf.capacity() {
            // The buffer has enough room, but at the other end.
            let spare = self.buf.capacity() - need;
            let to = spare / 2 + if front { n } else { 0 };
            if to > self.start {
                self.buf.resize(to + run, 0);
            }
            self.buf.copy_within(self.start..self.start + run, to);
            self.buf.truncate(to + run);
            self.start = to;
            return;
        }
        let most = (BYTES_MAX + START).max(need + need / 8);
        let capacity = (need + need / 2).min(most).max(64);
        let mut buf = Vec::with_capacity(stdx::mem::size_class(capacity));
        let to = if front { buf.capacity() - run } else { 0 };
        buf.resize(to, 0);
        buf.extend_from_slice(self.run());
        *self = Self { buf, start: to };
    }

    /// Adds an encoded element at the front.
    #[inline]
    pub(super) fn push_front(&mut self, encoded: &[u8]) {
        let n = encoded.len();
        if self.start < n {
            self.make_room(n, true);
        }
        let count = self.packed().len() as u16 + 1;
        self.start -= n;
        let at = self.start;
        self.buf[at..at + START].copy_from_slice(&count.to_le_bytes());
        self.buf[at + START..at + START + n].copy_from_slice(encoded);
    }

    /// Adds an encoded element at the back.
    #[inline]
    pub(super) fn push_back(&mut self, encoded: &[u8]) {
        if self.buf.capacity() - self.buf.len() < encoded.len() {
            self.make_room(encoded.len(), false);
        }
        let count = self.packed().len() as u16 + 1;
        self.buf.extend_from_slice(encoded);
        self.set_count(count);
    }

    /// Drops the first `n` bytes of elements, which are `elements` elements.
    pub(super) fn cut_front(&mut self, n: usize, elements: usize) {
        let count = self.packed().len() - elements;
        self.start += n;
        self.set_count(count as u16);
    }

    /// Drops everything behind offset `at` of the run, which is `elements` elements.
    pub(super) fn cut_back(&mut self, at: usize, elements: usize) {
        let count = self.packed().len() - elements;
        self.buf.truncate(self.start + at);
        self.set_count(count as u16);
    }
}

impl Clone for Hot {
    fn clone(&self) -> Self {
        Self::from_run(self.run())
    }
}

impl Edit for Hot {
    fn run(&self) -> &[u8] {
        Hot::run(self)
    }

    fn splice(&mut self, at: usize, remove: usize, insert: &[u8]) {
        if insert.len() > remove && self.buf.capacity() - self.buf.len() < insert.len() - remove {
            self.make_room(insert.len() - remove, false);
        }
        let at = self.start + at;
        let (old, len) = (self.buf.len(), self.buf.len() - remove + insert.len());
        if len > old {
            self.buf.resize(len, 0);
        }
        self.buf.copy_within(at + remove..old, at + insert.len());
        self.buf[at..at + insert.len()].copy_from_slice(insert);
        self.buf.truncate(len);
    }

    fn set_count(&mut self, n: u16) {
        let at = self.start;
        self.buf[at..at + START].copy_from_slice(&n.to_le_bytes());
    }
}
