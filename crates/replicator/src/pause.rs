//! Where DEBUG REPL-PAUSE stops the process, for tests that look at it meanwhile.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::channel;

use engine::{Engine, Job, Message, log, process};

/// A moment at which the process can be stopped.
#[derive(Clone, Copy)]
pub enum Point {
    /// A full copy for replicas has begun.
    AfterFork = 1,
    /// The replica is about to make the second connection, for the copy.
    BeforeRdbChannel = 2,
    /// The replica has executed a piece of the stream that came beside the copy.
    OnStreamingReplBuf = 4,
}

impl Point {
    /// Reads the name that DEBUG has for it.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let points = [
            (b"after-fork".as_slice(), Self::AfterFork),
            (b"before-rdb-channel", Self::BeforeRdbChannel),
            (b"on-streaming-repl-buf", Self::OnStreamingReplBuf),
        ];
        points.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, point)| point)
    }
}

/// The points at which the process is to be stopped.
#[derive(Debug, Default)]
pub struct Pauses(AtomicU8);

impl Pauses {
    /// Adds a point.
    pub fn add(&self, point: Point) {
        self.0.fetch_or(point as u8, Relaxed);
    }

    /// Removes all points.
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }
}

/// Stops the process if `point` is one of the points. Returns whether it was stopped.
pub(crate) fn stop_at(engine: &Engine, pauses: &Pauses, point: Point) -> bool {
    if pauses.0.load(Relaxed) & point as u8 == 0 {
        return false;
    }
    log!(engine.log, Notice, "Process is about to stop.");
    process::stop();
    log!(engine.log, Notice, "Process has been continued.");
    true
}

/// The same for a thread that has no connections. Behind it the workers have executed what clients had sent before the
/// process went on, as if this thread were the one that executes it.
pub(crate) fn stop_link_at(engine: &Engine, pauses: &Pauses, point: Point) {
    if !stop_at(engine, pauses, point) {
        return;
    }
    // A worker reads in the turn in which it is given the first job, or before that.
    for _ in 0..2 {
        let (give, take) = channel();
        for worker in engine.workers() {
            let give = give.clone();
            worker.mailbox.post(Message::Run(Job::new(move |_, _| {
                // This thread waits for it.
                let _ = give.send(());
            })));
        }
        drop(give);
        for () in take {}
    }
}
