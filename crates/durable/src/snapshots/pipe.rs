//! A snapshot's bytes on their way to another thread or a connection: a bounded queue.
//!
//! The thread that writes the snapshot waits while the queue is full, so that a slow reader slows the snapshot
//! down and takes no more memory than the bound. Commands wait for it no longer than for a slow disk.

use std::io::{self, Read};
use std::sync::Arc;
use std::task::Poll;

use super::queue::Queue;
use super::sink::Sink;

/// A queue of at most about `bytes_max` bytes. `ready` is called when there is something new for the reader:
/// on the thread that writes, so it must be short.
pub fn pipe(bytes_max: usize, ready: impl Fn() + Send + 'static) -> (PipeSink, PipeSource) {
    let queue = Arc::new(Queue::bounded(bytes_max));
    let sink = PipeSink { queue: Arc::clone(&queue), ready: Box::new(ready), finished: false };
    (sink, PipeSource { queue, piece: io::Cursor::default() })
}

/// The end that a snapshot is written into. Dropped before the snapshot is whole, it has the reader fail.
pub struct PipeSink {
    queue: Arc<Queue>,
    ready: Box<dyn Fn() + Send>,
    finished: bool,
}

impl Sink for PipeSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.queue.alone().send(&mut bytes.to_vec());
        if self.queue.is_dead() {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the reader is gone"));
        }
        (self.ready)();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.queue.close();
        self.finished = true;
        (self.ready)();
        Ok(())
    }
}

impl Drop for PipeSink {
    fn drop(&mut self) {
        if !self.finished {
            self.queue.kill();
            (self.ready)();
        }
    }
}

/// The end that is read: by a thread that waits ([`Read`]), or by one that does not
/// ([`try_take`](Self::try_take)). Dropped, it has the snapshot fail.
pub struct PipeSource {
    queue: Arc<Queue>,
    /// The piece that is being read.
    piece: io::Cursor<Vec<u8>>,
}

impl PipeSource {
    /// The next bytes if there are some; none when the snapshot is whole.
    ///
    /// # Errors
    /// The snapshot has failed.
    pub fn try_take(&mut self) -> Poll<io::Result<Option<Vec<u8>>>> {
        match self.queue.try_take() {
            Poll::Pending => Poll::Pending,
            Poll::Ready(piece) => Poll::Ready(self.checked(piece)),
        }
    }

    fn checked(&self, piece: Option<Vec<u8>>) -> io::Result<Option<Vec<u8>>> {
        if piece.is_none() && self.queue.is_dead() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the snapshot has failed"));
        }
        Ok(piece)
    }
}

impl Read for PipeSource {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            let next = self.queue.take();
            match self.checked(next)? {
                Some(piece) => self.piece = io::Cursor::new(piece),
                None => return Ok(0),
            }
        }
        self.piece.read(buf)
    }
}

impl Drop for PipeSource {
    fn drop(&mut self) {
        self.queue.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_fails_is_not_taken_for_whole() {
        for finishes in [true, false] {
            let (mut sink, mut source) = pipe(100, || {});
            sink.write(b"a part").expect("a reader");
            assert!(matches!(source.try_take(), Poll::Ready(Ok(Some(_)))));
            assert!(source.try_take().is_pending());
            if finishes {
                sink.finish().expect("a reader");
            }
            drop(sink);
            assert_eq!(source.read(&mut [0; 10]).is_ok(), finishes);
        }
    }

    #[test]
    fn a_reader_that_is_gone_ends_the_snapshot() {
        let (mut sink, source) = pipe(100, || {});
        drop(source);
        assert!(sink.write(b"a part").is_err());
    }

    #[test]
    fn the_writer_waits_for_a_slow_reader() {
        const PIECES: usize = 1000;
        let (mut sink, mut source) = pipe(1000, || {});
        let writer = std::thread::spawn(move || {
            for i in 0..PIECES {
                sink.write(&[i as u8; 100]).expect("a reader");
                assert!(sink.queue.waiting() <= 1000 + 100);
            }
            sink.finish().expect("a reader");
        });
        let mut all = Vec::new();
        source.read_to_end(&mut all).expect("a whole snapshot");
        writer.join().expect("no panic");
        assert!(all.len() == PIECES * 100 && all[99_900] == (PIECES - 1) as u8);
    }
}
