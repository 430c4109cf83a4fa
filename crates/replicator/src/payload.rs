//! A full copy on its way to one replica: lines and a snapshot's bytes, before the stream.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Bytes that may wait for a replica while the snapshot goes on.
const WAITING_MAX: usize = 16 << 20;
/// Bytes that are given out at once.
const PIECE: usize = 256 << 10;

#[derive(Default)]
struct Inner {
    pieces: VecDeque<Arc<[u8]>>,
    /// Bytes of the first piece that were given out.
    at: usize,
    waiting: usize,
    /// Bytes that were given out in all.
    given: u64,
    /// What follows the pieces: a snapshot in a file, and its bytes that were not given out.
    file: Option<(File, u64)>,
    /// Nothing follows.
    whole: bool,
    /// The connection or the snapshot has failed.
    dead: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Payload {
    inner: Mutex<Inner>,
    room: Condvar,
}

/// What [`Payload::next`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Bytes.
    Some,
    /// Nothing yet.
    Nothing,
    /// Everything was given out.
    Whole,
    /// There will not be more.
    Failed,
}

impl Payload {
    /// Appends bytes; waits while there are many. Returns whether the connection is still there.
    pub(crate) fn push(&self, bytes: &Arc<[u8]>) -> bool {
        let mut inner = self.inner.lock();
        while inner.waiting >= WAITING_MAX && !inner.dead {
            self.room.wait_for(&mut inner, Duration::from_secs(1));
        }
        if inner.dead {
            return false;
        }
        inner.waiting += bytes.len();
        inner.pieces.push_back(Arc::clone(bytes));
        true
    }

    /// Appends a line or a sign of life, however much waits.
    pub(crate) fn push_line(&self, line: &[u8]) {
        let mut inner = self.inner.lock();
        if !inner.dead && !inner.whole {
            inner.waiting += line.len();
            inner.pieces.push_back(line.into());
        }
    }

    /// The snapshot lies in a file, from where it is read as the replica takes it.
    pub(crate) fn push_file(&self, file: File, bytes: u64) {
        let mut inner = self.inner.lock();
        inner.file = Some((file, bytes));
        inner.whole = true;
    }

    /// There is nothing more.
    pub(crate) fn end(&self) {
        self.inner.lock().whole = true;
    }

    /// A thread that waits for the other side does so no longer.
    pub(crate) fn fail(&self) {
        let mut inner = self.inner.lock();
        inner.dead = true;
        inner.pieces.clear();
        inner.file = None;
        self.room.notify_all();
    }

    /// Whether everything was given out.
    pub(crate) fn is_given_out(&self) -> bool {
        let inner = self.inner.lock();
        inner.whole && inner.pieces.is_empty() && inner.file.is_none() && !inner.dead
    }

    /// How many bytes were given out, and whether there are more.
    pub(crate) fn progress(&self) -> (u64, bool) {
        let inner = self.inner.lock();
        (inner.given, !inner.pieces.is_empty() || inner.file.is_some())
    }

    /// Appends what comes next.
    pub(crate) fn next(&self, out: &mut Vec<u8>) -> Taken {
        let before = out.len();
        let mut inner = self.inner.lock();
        let taken = inner.next(&self.room, out);
        inner.given += (out.len() - before) as u64;
        taken
    }
}

impl Inner {
    /// See [`Payload::next`].
    fn next(&mut self, room: &Condvar, out: &mut Vec<u8>) -> Taken {
        if self.dead {
            return Taken::Failed;
        }
        let before = out.len();
        while let Some(piece) = self.pieces.front()
            && out.len() - before < PIECE
        {
            let n = (piece.len() - self.at).min(PIECE);
            out.extend_from_slice(&piece[self.at..self.at + n]);
            self.at += n;
            self.waiting -= n;
            if self.at == piece.len() {
                self.pieces.pop_front();
                self.at = 0;
            }
        }
        if out.len() > before {
            room.notify_all();
            return Taken::Some;
        }
        if let Some((file, left)) = &mut self.file {
            let from = out.len();
            let most = (PIECE as u64).min(*left);
            let read = file.take(most).read_to_end(out);
            let n = (out.len() - from) as u64;
            *left -= n;
            if read.is_err() || n < most {
                // The file is shorter than it was: the replica must not take what there is for all.
                self.dead = true;
                return Taken::Failed;
            }
            if *left == 0 {
                self.file = None;
            }
            if n > 0 {
                return Taken::Some;
            }
        }
        if self.whole { Taken::Whole } else { Taken::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_in_order_and_then_the_end() {
        let p = Payload::default();
        let mut out = Vec::new();
        assert_eq!(p.next(&mut out), Taken::Nothing);
        p.push_line(b"+FULLRESYNC\r\n");
        let long: Arc<[u8]> = vec![7; PIECE + 10].into();
        assert!(p.push(&long));
        assert!(!p.is_given_out());
        assert_eq!(p.progress(), (0, true));
        p.end();
        while p.next(&mut out) == Taken::Some {}
        assert_eq!(out.len(), 13 + PIECE + 10);
        assert_eq!((p.next(&mut out), p.inner.lock().waiting), (Taken::Whole, 0));
        assert!(p.is_given_out());
        assert_eq!(p.progress(), (out.len() as u64, false));
        // No sign of life comes behind the end.
        p.push_line(b"\n");
        assert_eq!(p.next(&mut out), Taken::Whole);
    }

    #[test]
    fn a_snapshot_does_not_wait_for_a_replica_that_is_gone() {
        let p = Arc::new(Payload::default());
        let piece: Arc<[u8]> = vec![7; WAITING_MAX].into();
        assert!(p.push(&piece));
        let other = Arc::clone(&p);
        let writer = std::thread::spawn(move || other.push(&piece));
        p.fail();
        assert!(!writer.join().expect("no panic"));
        assert_eq!(p.next(&mut Vec::new()), Taken::Failed);
    }
}
