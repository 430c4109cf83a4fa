//! The backlog: the last bytes of the replication stream, kept once, for all replicas.
//!
//! ```text
//!  first_byte                                                              next
//!  ├──────────┬──────────┬────┬─────┬──────────┬───────────────┬ ─ ─ ─ ─ ─ ┤
//!  │  piece   │  piece   │piece│ …  │  piece   │ open block    │ room      │
//!  └──────────┴──────────┴────┴─────┴──────────┴───────────────┴ ─ ─ ─ ─ ─ ┘
//!        ▲ slow reader                      ▲ reader    ▲ reader that is nearly there
//! ```
//!
//! Bytes are appended to one open block. A full block becomes a piece: an immutable, counted slice.
//! A reader is a position. It keeps everything behind its position alive; what no reader needs is
//! dropped piece by piece as soon as more than `repl-backlog-size` bytes are held.
//!
//! **Reading needs the lock for a moment only.** The backlog has one owner (`&mut`), which the caller
//! puts behind a lock. [`Backlog::read`] hands out counted slices, which stay valid without the lock,
//! so that no socket is written to under it. Of the open block there are two ways: up to
//! [`COPY_MAX`] bytes are copied, since a replica that keeps up reads a few hundred bytes at a time
//! and a piece of its own for each would cost more than the bytes; from more, a piece is split off,
//! which shares the block's memory and leaves its room to the next appends. So a piece has at least
//! [`COPY_MAX`] bytes unless it ends a block, their number is bounded by the bytes held, and a byte
//! is copied at most once per reader, in the cheap case. An append-only block that readers
//! look into while it grows would save that copy, and need unsafe code.
//!
//! Always: pieces are contiguous and not empty; readers are within `first ..= next`.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::history::Window;

/// The most bytes that are copied out of the open block by one read.
pub const COPY_MAX: usize = 4 << 10;
/// The least value of `repl-backlog-size`, as in Redis.
pub const SIZE_MIN: usize = 16 << 10;
/// Bytes of a block: a sixteenth of the backlog within these bounds, so that a small backlog does not
/// lose most of its history when one block is dropped.
const BLOCK_MIN: usize = 16 << 10;
const BLOCK_MAX: usize = 64 << 10;
/// Pieces that are dropped at once at most: after the loss of a slow reader there may be very many.
const TRIM_MAX: usize = 64;

/// Bytes of the stream in a row.
#[derive(Debug)]
struct Piece {
    start: i64,
    bytes: Bytes,
    /// Bytes of memory that go with this piece, which is the last of its block; else 0.
    block: usize,
}

impl Piece {
    fn end(&self) -> i64 {
        self.start + self.bytes.len() as i64
    }
}

/// A reader's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader(usize);

/// The replication stream's last bytes.
#[derive(Debug)]
pub struct Backlog {
    size: usize,
    pieces: VecDeque<Piece>,
    open: BytesMut,
    /// Capacity that the open block had when it was made; 0 when there is none.
    open_block: usize,
    /// Offset of the first byte that is held.
    first: i64,
    /// Offset that the next byte will have.
    next: i64,
    /// Memory of all blocks, in bytes.
    memory: usize,
    readers: Vec<Option<i64>>,
}

/// What was read; kept by the caller from read to read, so that its memory is used again.
#[derive(Debug, Default)]
pub struct Batch {
    pieces: Vec<Bytes>,
    copied: Vec<u8>,
}

impl Batch {
    /// The bytes, in order, for a vectored write.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let copied = Some(self.copied.as_slice()).filter(|c| !c.is_empty());
        self.pieces.iter().map(|p| &p[..]).chain(copied)
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.slices().map(<[u8]>::len).sum()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.copied.is_empty()
    }

    /// Lets go of the pieces. A batch that is kept until the next read keeps their memory.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.copied.clear();
    }
}

/// The figures of INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// `repl_backlog_size`.
    pub size: usize,
    /// `repl_backlog_first_byte_offset`.
    pub first: i64,
    /// `repl_backlog_histlen`.
    pub len: i64,
    /// `mem_total_replication_buffers`, in bytes.
    pub memory: usize,
    /// `mem_replication_backlog`: the part that the backlog itself is charged with.
    pub backlog_memory: usize,
    /// `mem_clients_slaves`: what is held beyond, for the sake of readers.
    pub readers_memory: usize,
}

impl Backlog {
    /// An empty backlog behind `offset` bytes of stream, which keeps `size` bytes (at least
    /// [`SIZE_MIN`]).
    pub fn new(size: usize, offset: i64) -> Self {
        Self {
            size: size.max(SIZE_MIN),
            pieces: VecDeque::new(),
            open: BytesMut::new(),
            open_block: 0,
            first: offset + 1,
            next: offset + 1,
            memory: 0,
            readers: Vec::new(),
        }
    }

    /// `repl-backlog-size` has changed.
    pub fn resize(&mut self, size: usize) {
        self.size = size.max(SIZE_MIN);
        self.trim();
    }

    /// Appends bytes of the stream.
    pub fn append(&mut self, mut bytes: &[u8]) {
        let mut new_block = false;
        while !bytes.is_empty() {
            let room = self.open.capacity() - self.open.len();
            if room == 0 {
                self.open_new();
                new_block = true;
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.open.extend_from_slice(now);
            self.next += now.len() as i64;
            bytes = later;
        }
        if new_block {
            self.trim();
        }
    }

    #[cold]
    fn open_new(&mut self) {
        let block = self.open_block;
        if !self.open.is_empty() {
            self.split_off();
        }
        // The last piece is the last one of the block, which goes when that piece goes.
        if let Some(last) = self.pieces.back_mut() {
            last.block = block;
        } else {
            self.memory -= block;
        }
        self.open = BytesMut::with_capacity((self.size / 16).clamp(BLOCK_MIN, BLOCK_MAX));
        self.open_block = self.open.capacity();
        self.memory += self.open_block;
    }

    /// Makes a piece of the bytes in the open block, whose room remains.
    fn split_off(&mut self) {
        let bytes = self.open.split().freeze();
        self.pieces.push_back(Piece { start: self.next - bytes.len() as i64, bytes, block: 0 });
    }

    fn trim(&mut self) {
        let wanted = self.readers.iter().flatten().copied().min().unwrap_or(i64::MAX);
        for _ in 0..TRIM_MAX {
            let Some(piece) = self.pieces.front() else { return };
            let held = self.next - piece.end();
            if held <= self.size as i64 || piece.end() > wanted {
                return;
            }
            self.first = piece.end();
            self.memory -= piece.block;
            self.pieces.pop_front();
        }
    }

    /// The bytes that are held.
    pub fn window(&self) -> Window {
        Window { first: self.first, len: self.next - self.first }
    }

    /// Bytes of the stream so far: `master_repl_offset`.
    pub fn offset(&self) -> i64 {
        self.next - 1
    }

    /// A reader that begins at the byte `offset`; `None` when that byte is not held and is not the
    /// next one. From now on nothing behind it is dropped.
    pub fn attach(&mut self, offset: i64) -> Option<Reader> {
        if !(self.first..=self.next).contains(&offset) {
            return None;
        }
        let free = self.readers.iter().position(Option::is_none).unwrap_or_else(|| {
            self.readers.push(None);
            self.readers.len() - 1
        });
        self.readers[free] = Some(offset);
        Some(Reader(free))
    }

    /// The reader is gone.
    pub fn detach(&mut self, reader: Reader) {
        if let Some(slot) = self.readers.get_mut(reader.0) {
            *slot = None;
        }
        self.trim();
    }

    /// Bytes that the reader has still to read: what `client-output-buffer-limit replica` bounds.
    /// 0 for a reader that is gone.
    pub fn outstanding(&self, reader: Reader) -> u64 {
        self.position(reader).map_or(0, |at| (self.next - at) as u64)
    }

    fn position(&self, reader: Reader) -> Option<i64> {
        self.readers.get(reader.0).copied().flatten()
    }

    /// Reads at most `max` bytes from the reader's position into `batch`, whose former content goes.
    /// The position stays: see [`Backlog::advance`].
    pub fn read(&mut self, reader: Reader, max: usize, batch: &mut Batch) {
        batch.clear();
        let Some(mut at) = self.position(reader) else { return };
        let end = self.next.min(at.saturating_add(i64::try_from(max).unwrap_or(i64::MAX)));
        let tail = self.next - self.open.len() as i64;
        if end > tail && end - at.max(tail) > COPY_MAX as i64 {
            self.split_off();
        }
        let mut i = self.pieces.partition_point(|p| p.end() <= at);
        while at < end
            && let Some(piece) = self.pieces.get(i)
        {
            let from = (at - piece.start) as usize;
            let to = piece.bytes.len().min((end - piece.start) as usize);
            batch.pieces.push(piece.bytes.slice(from..to));
            at = piece.start + to as i64;
            i += 1;
        }
        if at < end {
            let tail = self.next - self.open.len() as i64;
            batch.copied.extend_from_slice(&self.open[(at - tail) as usize..(end - tail) as usize]);
        }
    }

    /// The reader has sent the first `bytes` of what it read.
    pub fn advance(&mut self, reader: Reader, bytes: usize) {
        let next = self.next;
        if let Some(at) = self.readers.get_mut(reader.0).and_then(Option::as_mut) {
            *at = at.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX)).min(next);
        }
        // A reader within the last block cannot be what keeps a piece from being dropped.
        if self.next - self.first > self.size as i64 {
            self.trim();
        }
    }

    /// The figures of INFO. Without any backlog they are all 0 but the size.
    pub fn figures(&self) -> Figures {
        let readers = self.readers.iter().any(Option::is_some);
        let pieces = self.pieces.len() * size_of::<Piece>();
        let memory = self.memory + pieces;
        let beyond = if readers { memory.saturating_sub(self.size) } else { 0 };
        Figures {
            size: self.size,
            first: self.first,
            len: self.next - self.first,
            memory,
            backlog_memory: memory - beyond,
            readers_memory: beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    fn all(batch: &Batch) -> Vec<u8> {
        batch.slices().flatten().copied().collect()
    }

    #[test]
    fn a_new_backlog_begins_behind_what_was_sent() {
        let mut b = Backlog::new(1 << 20, 100);
        assert_eq!(b.window(), Window { first: 101, len: 0 });
        assert_eq!(b.attach(100), None);
        assert_eq!(b.attach(102), None);
        let r = b.attach(101).expect("the next byte");
        b.append(b"abc");
        assert_eq!((b.offset(), b.outstanding(r)), (103, 3));
        let mut batch = Batch::default();
        b.read(r, 2, &mut batch);
        assert_eq!(all(&batch), b"ab");
        b.advance(r, 1);
        b.read(r, usize::MAX, &mut batch);
        assert_eq!(all(&batch), b"bc");
        b.detach(r);
        b.read(r, 9, &mut batch);
        assert!(batch.is_empty());
        assert_eq!(b.outstanding(r), 0);
    }

    #[test]
    fn a_slow_reader_keeps_bytes_and_its_end_frees_them() {
        let mut b = Backlog::new(SIZE_MIN, 0);
        let slow = b.attach(1).expect("there");
        for _ in 0..1000 {
            b.append(&[7; 1000]);
        }
        assert_eq!(b.window(), Window { first: 1, len: 1_000_000 });
        assert_eq!(b.outstanding(slow), 1_000_000);
        let f = b.figures();
        assert!(f.memory >= 1_000_000 && f.memory < 1_100_000, "{f:?}");
        assert_eq!(f.backlog_memory, SIZE_MIN);
        b.detach(slow);
        assert!(b.window().len <= (SIZE_MIN + BLOCK_MIN) as i64);
        assert!(b.window().len >= SIZE_MIN as i64);
        let f = b.figures();
        assert!(f.memory <= SIZE_MIN + 2 * BLOCK_MIN + 200, "{f:?}");
        assert_eq!(f.readers_memory, 0);
    }

    #[test]
    fn what_was_read_outlives_the_backlog() {
        let mut b = Backlog::new(SIZE_MIN, 0);
        let r = b.attach(1).expect("there");
        let bytes: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        b.append(&bytes);
        let mut batch = Batch::default();
        b.read(r, usize::MAX, &mut batch);
        b.advance(r, batch.len());
        b.append(&[0; 100_000]);
        drop(b);
        assert!(all(&batch) == bytes);
    }

    #[test]
    fn few_bytes_are_copied_and_make_no_piece() {
        let mut b = Backlog::new(1 << 20, 0);
        let r = b.attach(1).expect("there");
        let mut batch = Batch::default();
        for _ in 0..1000 {
            b.append(b"12345678");
            b.read(r, usize::MAX, &mut batch);
            assert_eq!(batch.len(), 8);
            b.advance(r, 8);
        }
        assert_eq!(b.pieces.len(), 0);
    }

    #[test]
    fn it_is_the_end_of_one_long_vector() {
        let mut rng = Rng::from_seed(11);
        for round in 0..30 {
            let size = SIZE_MIN << rng.index(3);
            let start = rng.index(1000) as i64;
            let mut b = Backlog::new(size, start);
            let mut model: Vec<u8> = Vec::new();
            let mut readers: Vec<(Reader, i64)> = Vec::new();
            let mut batch = Batch::default();
            for _ in 0..400 {
                let window = b.window();
                match rng.index(8) {
                    0..3 => {
                        let most = 1 << rng.index(18);
                        let mut bytes = vec![0; rng.index(most)];
                        rng.fill(&mut bytes);
                        model.extend_from_slice(&bytes);
                        b.append(&bytes);
                    }
                    3..6 if !readers.is_empty() => {
                        let i = rng.index(readers.len());
                        let (r, at) = &mut readers[i];
                        assert_eq!(
                            b.outstanding(*r),
                            (start + 1 + model.len() as i64 - *at) as u64
                        );
                        b.read(*r, 1 << rng.index(19), &mut batch);
                        let from = (*at - start - 1) as usize;
                        assert!(model[from..].starts_with(&all(&batch)), "round {round}");
                        assert!(!batch.is_empty() || from == model.len());
                        let sent = rng.index(batch.len() + 1);
                        b.advance(*r, sent);
                        *at += sent as i64;
                    }
                    6 => {
                        let at = window.first + rng.index(window.len as usize + 1) as i64;
                        readers.push((b.attach(at).expect("in the window"), at));
                    }
                    _ if rng.index(3) == 0 && !readers.is_empty() => {
                        let (r, _) = readers.swap_remove(rng.index(readers.len()));
                        b.detach(r);
                    }
                    _ => b.resize(SIZE_MIN << rng.index(3)),
                }
                let window = b.window();
                assert_eq!(window.first + window.len, start + 1 + model.len() as i64);
                assert!(readers.iter().all(|(_, at)| *at >= window.first));
                assert!(window.len as usize >= model.len().min(SIZE_MIN));
                let held: usize = b.pieces.iter().map(|p| p.bytes.len()).sum();
                assert_eq!(held + b.open.len(), window.len as usize);
                assert!(b.memory <= window.len as usize + 3 * BLOCK_MAX, "{} bytes", b.memory);
            }
        }
    }
}
