//! The counter, the lanes, and their merging for the readers.

use std::sync::Arc;
use std::sync::atomic::{
    Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use stdx::sync::{AtomicU64, AtomicUsize, Mutex, RwLock};

use crate::lane::Lane;
use crate::record;

/// Bytes of a buffer whose read part is given back while it is in use.
const READ_MAX: usize = 4 << 20;
/// A buffer that has grown beyond this is given back.
const KEEP: usize = 8 << 20;

/// See the crate's text.
#[derive(Debug, Default)]
pub struct Stream {
    /// The last sequence number that was given out.
    last: AtomicU64,
    lanes: RwLock<Vec<Arc<Lane>>>,
    /// How many.
    count: AtomicUsize,
    /// Readers: without any, nothing is to be appended.
    readers: AtomicUsize,
    /// Bytes in the longest queue of a reader.
    queued: AtomicUsize,
    merger: Mutex<Merger>,
}

#[derive(Debug, Default)]
struct Merger {
    sources: Vec<Source>,
    /// The number of the record that is merged next.
    next: u64,
    queues: Vec<Option<Queue>>,
}

/// The records that were taken from a lane.
#[derive(Debug)]
struct Source {
    lane: Arc<Lane>,
    buffer: Buffer,
}

/// The records that others have merged and this reader has not read.
#[derive(Debug, Default)]
struct Queue {
    buffer: Buffer,
    /// The reader wants the records behind this number.
    after: u64,
}

/// Whole records, read from the front.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    fn rest(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Gives back what was read.
    fn tidy(&mut self) {
        if self.rest() == 0 {
            self.bytes.clear();
            self.at = 0;
            if self.bytes.capacity() > KEEP {
                self.bytes = Vec::new();
            }
        } else if self.at > READ_MAX {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }
}

/// Reads all records behind a number. Without it in scope, the stream keeps nothing for this reader.
#[derive(Debug)]
pub struct Reader {
    stream: Arc<Stream>,
    id: usize,
}

impl Stream {
    /// A lane for one more thread.
    pub fn add_lane(&self) -> Arc<Lane> {
        let lane = Arc::new(Lane::default());
        let mut lanes = self.lanes.write();
        lanes.push(Arc::clone(&lane));
        self.count.store(lanes.len(), SeqCst);
        lane
    }

    /// The counter that lanes take numbers from.
    #[inline]
    pub fn counter(&self) -> &AtomicU64 {
        &self.last
    }

    /// The last sequence number that was given out.
    #[inline]
    pub fn last(&self) -> u64 {
        self.last.load(SeqCst)
    }

    /// Whether commits are to append their records.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.readers.load(Relaxed) != 0
    }

    /// Bytes that wait for the reader that is furthest behind, those in the lanes left aside.
    #[inline]
    pub fn queued(&self) -> usize {
        self.queued.load(Relaxed)
    }

    /// A reader of the records behind number `after`. The first reader makes that the number of the last
    /// record; for any other, `after` is not lower than the number of any record that was merged. No thread
    /// appends meanwhile: the caller has all shards locked, or is alone.
    pub fn reader(self: &Arc<Self>, after: u64) -> Reader {
        let mut merger = self.merger.lock();
        if self.readers.load(Relaxed) == 0 {
            // An earlier reader that has given up may have left records.
            for lane in self.lanes.read().iter() {
                lane.take(&mut Vec::new());
            }
            merger.sources.clear();
            merger.next = after + 1;
            self.last.store(after, SeqCst);
        }
        assert!(after < merger.next.max(self.last() + 1), "a reader begins within the stream");
        assert!(after + 1 >= merger.next, "records that are gone cannot be read");
        let queue = Some(Queue { buffer: Buffer::default(), after });
        let id = match merger.queues.iter().position(Option::is_none) {
            Some(id) => {
                merger.queues[id] = queue;
                id
            }
            None => {
                merger.queues.push(queue);
                merger.queues.len() - 1
            }
        };
        self.readers.fetch_add(1, Release);
        Reader { stream: Arc::clone(self), id }
    }

    fn take_lanes(&self, merger: &mut Merger) {
        if self.count.load(SeqCst) != merger.sources.len() {
            for lane in self.lanes.read().iter().skip(merger.sources.len()) {
                let source = Source { lane: Arc::clone(lane), buffer: Buffer::default() };
                merger.sources.push(source);
            }
        }
        for source in &mut merger.sources {
            source.buffer.tidy();
            source.lane.take(&mut source.buffer.bytes);
        }
    }
}

impl Reader {
    /// Calls `each` with the number and the bytes of every record that is there and was not read yet, in
    /// the order of the numbers, until `each` returns false. The checksum in the bytes is left out: it is the
    /// reader's. Returns the bytes of the records that wait, those that only the lanes have left aside.
    pub fn read(&mut self, mut each: impl FnMut(u64, Frame<'_>) -> bool) -> usize {
        let mut guard = self.stream.merger.lock();
        let merger = &mut *guard;
        let go_on = merger.drain_queue(self.id, &mut each);
        if go_on {
            self.stream.take_lanes(merger);
            merger.merge(self.id, &mut each);
        }
        let queued = merger.queues.iter().flatten().map(|q| q.buffer.rest());
        self.stream.queued.store(queued.max().unwrap_or(0), Relaxed);
        let own = merger.queues[self.id].as_ref().map_or(0, |q| q.buffer.rest());
        own + merger.sources.iter().map(|s| s.buffer.rest()).sum::<usize>()
    }

    /// The number of readers of this stream, this one included.
    pub fn readers(&self) -> usize {
        self.stream.readers.load(Acquire)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut merger = self.stream.merger.lock();
        merger.queues[self.id] = None;
        self.stream.readers.fetch_sub(1, Release);
    }
}

/// The bytes of a record ([`record`]).
#[derive(Debug)]
pub struct Frame<'a>(&'a [u8]);

impl Frame<'_> {
    /// Header and payload.
    pub fn bytes(&self) -> &[u8] {
        self.0
    }

    /// Whether it has messages, which no journal keeps.
    pub fn is_messages(&self) -> bool {
        self.0[11] == record::MESSAGES
    }

    /// The payload, as [`record::Commands`] reads it.
    pub fn payload(&self) -> &[u8] {
        &self.0[record::HEADER..]
    }
}

impl Merger {
    /// Reads what others have merged. Whether `each` wants more.
    fn drain_queue(&mut self, id: usize, each: &mut impl FnMut(u64, Frame<'_>) -> bool) -> bool {
        let Some(queue) = &mut self.queues[id] else { return false };
        let buffer = &mut queue.buffer;
        while let Some((len, sequence)) = record::peek(&buffer.bytes[buffer.at..]) {
            let from = buffer.at;
            buffer.at += len;
            if !each(sequence, Frame(&buffer.bytes[from..from + len])) {
                buffer.tidy();
                return false;
            }
        }
        buffer.tidy();
        true
    }

    /// Merges, up to the first number that is not there yet, or until `each` has had enough.
    fn merge(&mut self, id: usize, each: &mut impl FnMut(u64, Frame<'_>) -> bool) {
        let Self { sources, next, queues } = self;
        let after = queues[id].as_ref().map_or(u64::MAX, |q| q.after);
        'more: loop {
            let mut any = false;
            for source in &mut *sources {
                let buffer = &mut source.buffer;
                while let Some((len, sequence)) = record::peek(&buffer.bytes[buffer.at..])
                    && sequence == *next
                {
                    let frame = &buffer.bytes[buffer.at..buffer.at + len];
                    buffer.at += len;
                    *next += 1;
                    any = true;
                    for (other, queue) in queues.iter_mut().enumerate() {
                        if let Some(queue) = queue
                            && other != id
                            && sequence > queue.after
                        {
                            queue.buffer.bytes.extend_from_slice(frame);
                        }
                    }
                    if sequence > after && !each(sequence, Frame(frame)) {
                        break 'more;
                    }
                }
            }
            if !any {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::rng::Rng;

    fn append(stream: &Stream, lane: &Lane, word: &[u8]) {
        lane.append(stream.counter(), 5, true, |unit| {
            unit.command(0, b"SET", 1, std::iter::once(word));
        });
    }

    /// What a reader finds: numbers, and the last byte of each record.
    fn all(reader: &mut Reader, most: usize) -> Vec<(u64, u8)> {
        let mut seen = Vec::new();
        reader.read(|sequence, frame| {
            seen.push((sequence, *frame.bytes().last().expect("not empty")));
            seen.len() < most
        });
        seen
    }

    #[test]
    fn each_reader_sees_every_record_behind_its_beginning_once_and_in_order() {
        let mut rng = Rng::from_seed(7);
        for _ in 0..200 {
            let stream = Arc::new(Stream::default());
            let lanes: Vec<_> = (0..3).map(|_| stream.add_lane()).collect();
            let from = rng.below(100);
            let mut readers = vec![(stream.reader(from), from)];
            let mut model: Vec<(u64, u8)> = Vec::new();
            for _ in 0..200 {
                match rng.index(10) {
                    0 if readers.len() < 4 => {
                        readers.push((stream.reader(stream.last()), stream.last()));
                    }
                    1 if readers.len() > 1 => drop(readers.swap_remove(rng.index(readers.len()))),
                    2..=4 => {
                        let i = rng.index(readers.len());
                        let (reader, at) = &mut readers[i];
                        let most = 1 + rng.index(5);
                        let seen = all(reader, most);
                        let expected: Vec<_> =
                            model.iter().filter(|(n, _)| n > at).take(most).copied().collect();
                        assert_eq!(seen, expected);
                        *at += seen.len() as u64;
                    }
                    _ => {
                        let word = rng.next_u64() as u8;
                        append(&stream, &lanes[rng.index(3)], &[word]);
                        model.push((stream.last(), word));
                    }
                }
            }
        }
    }

    #[test]
    fn the_messages_of_a_unit_follow_it() {
        let stream = Arc::new(Stream::default());
        let lane = stream.add_lane();
        let mut reader = stream.reader(0);
        let message = |word: &'static [u8]| {
            lane.append_messages(stream.counter(), |unit| {
                unit.command(0, b"PUBLISH", 1, std::iter::once(word));
            });
        };
        message(b"a");
        lane.begin_unit();
        message(b"c");
        append(&stream, &lane, b"b");
        message(b"d");
        lane.end_unit(stream.counter());
        let mut seen = Vec::new();
        reader.read(|sequence, frame| {
            seen.push((sequence, frame.is_messages(), *frame.bytes().last().expect("not empty")));
            true
        });
        assert_eq!(seen, [(1, true, b'a'), (2, false, b'b'), (3, true, b'd')]);
    }

    #[test]
    fn a_stream_without_readers_is_off_and_begins_anew() {
        let stream = Arc::new(Stream::default());
        let lane = stream.add_lane();
        assert!(!stream.is_on());
        let reader = stream.reader(9);
        assert!(stream.is_on());
        append(&stream, &lane, b"x");
        assert_eq!((stream.last(), reader.readers()), (10, 1));
        drop(reader);
        assert!(!stream.is_on());
        // A record that no reader has read is not found again.
        let mut reader = stream.reader(20);
        append(&stream, &lane, b"y");
        assert_eq!(all(&mut reader, 9), [(21, b'y')]);
    }

    #[test]
    fn a_reader_that_does_not_read_is_counted() {
        let stream = Arc::new(Stream::default());
        let lane = stream.add_lane();
        let (mut a, mut b) = (stream.reader(0), stream.reader(0));
        append(&stream, &lane, &[b'x'; 1000]);
        assert_eq!(stream.queued(), 0);
        assert_eq!(all(&mut a, 9).len(), 1);
        assert!(stream.queued() > 1000);
        assert_eq!(all(&mut b, 9).len(), 1);
        assert_eq!(stream.queued(), 0);
    }
}
