//! A copy is proved while it arrives.
//!
//! A damaged copy must not cost the data, so all of it is decoded once before it is loaded. A thread of its own does
//! that, behind the one that writes the file: when the last bytes are there, little is left to be proved, and no worker
//! has waited.
//!
//! ```text
//!  socket ─► link ─► file ─► proving
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use durable::load;
use engine::Engine;
use parking_lot::{Condvar, Mutex};

use super::TICK;

/// How much of the file is there.
#[derive(Debug, Default)]
struct Arrived {
    bytes: u64,
    whole: bool,
    /// The rest will not come.
    given_up: bool,
}

#[derive(Debug, Default)]
struct Shared {
    arrived: Mutex<Arrived>,
    more: Condvar,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Arrived)) {
        let mut arrived = self.arrived.lock();
        change(&mut arrived);
        drop(arrived);
        self.more.notify_one();
    }

    /// Waits for bytes behind `at`; how many there are, none when the file ends there.
    fn behind(&self, at: u64) -> io::Result<u64> {
        let mut arrived = self.arrived.lock();
        loop {
            if arrived.given_up {
                return Err(io::Error::other("the link has ended"));
            }
            if arrived.bytes > at || arrived.whole {
                return Ok(arrived.bytes.saturating_sub(at));
            }
            self.more.wait(&mut arrived);
        }
    }
}

/// A file that grows, from its beginning to its end.
struct Growing<R> {
    file: R,
    at: u64,
    shared: Arc<Shared>,
}

impl<R: Read> Read for Growing<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let there = usize::try_from(self.shared.behind(self.at)?).unwrap_or(usize::MAX);
        let most = there.min(buf.len());
        let n = self.file.read(&mut buf[..most])?;
        self.at += n as u64;
        Ok(n)
    }
}

/// The side that writes the file: the thread gives up when this is dropped.
struct Writing(Arc<Shared>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.change(|arrived| arrived.given_up = true);
    }
}

/// The proof of a copy; given up when it is dropped.
pub(super) struct Proving {
    writing: Writing,
    thread: JoinHandle<Result<(), String>>,
}

impl Proving {
    /// Begins to prove what will be in the file at `path`.
    pub(super) fn begin(engine: &Engine, path: &Path) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let growing = Growing { file: File::open(path)?, at: 0, shared: Arc::clone(&shared) };
        let engine = engine.arc();
        let prove = move || load::prove_source(&engine, growing);
        let thread = std::thread::Builder::new().name("apus-prove".into()).spawn(prove)?;
        Ok(Self { writing: Writing(shared), thread })
    }

    /// This many more bytes have been written.
    pub(super) fn arrived(&self, bytes: usize) {
        self.writing.0.change(|arrived| arrived.bytes += bytes as u64);
    }

    /// No more bytes follow: waits for the outcome, and calls `meanwhile` again and again.
    pub(super) fn outcome(self, mut meanwhile: impl FnMut()) -> Result<(), String> {
        let Self { writing, thread } = self;
        writing.0.change(|arrived| arrived.whole = true);
        let mut turns = 0;
        while !thread.is_finished() {
            // Little is left: most often it ends before the primary must hear of this server.
            std::thread::sleep(TICK / 100);
            turns += 1;
            if turns % 100 == 0 {
                meanwhile();
            }
        }
        thread.join().unwrap_or_else(|_| Err("the thread that proves it has ended".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file, as far as it is written: a read behind that finds its end.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>, usize);

    impl Read for Written {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = (&self.0.lock()[self.1..]).read(buf)?;
            self.1 += n;
            Ok(n)
        }
    }

    #[test]
    fn it_reads_what_arrives_and_ends_where_that_ends() {
        let (file, shared) = (Written::default(), Arc::<Shared>::default());
        let mut growing = Growing { file: file.clone(), at: 0, shared: Arc::clone(&shared) };
        let reads = std::thread::spawn(move || {
            let mut all = Vec::new();
            growing.read_to_end(&mut all).map(|_| all)
        });
        for piece in [&b"one"[..], b"two", b"three"] {
            file.0.lock().extend_from_slice(piece);
            // A reader that does not wait finds an end here.
            std::thread::yield_now();
            shared.change(|arrived| arrived.bytes += piece.len() as u64);
        }
        shared.change(|arrived| arrived.whole = true);
        assert_eq!(reads.join().expect("no panic").expect("read"), b"onetwothree");
    }

    #[test]
    fn it_ends_when_the_rest_does_not_come() {
        let shared = Arc::<Shared>::default();
        let mut growing = Growing { file: Written::default(), at: 0, shared: Arc::clone(&shared) };
        let reads = std::thread::spawn(move || growing.read(&mut [0; 10]).is_err());
        shared.change(|arrived| arrived.given_up = true);
        assert!(reads.join().expect("no panic"));
    }
}
