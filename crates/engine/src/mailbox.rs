//! Messages from one thread to another thread's connections.

use std::sync::Arc;

use stdx::sync::Mutex;

use crate::engine::Engine;
use crate::thread::Thread;

/// The requests to a thread.
#[derive(Debug)]
pub enum Message {
    /// Close this client.
    Close(u64),
    /// Send these bytes to this client, behind its earlier output (MONITOR, push messages).
    Push(u64, Arc<Vec<u8>>),
    /// The reply of the command that blocks this client.
    Answer(u64, Vec<u8>),
    /// As [`Answer`](Self::Answer), for a long reply, in pieces.
    Pieces(u64, resp::Out),
    /// The command that blocks this client is to be run again earlier than the thread was last
    /// told.
    Wakes(u64),
    /// This client has output that is no reply from here on: see [`Feed`](crate::Feed).
    Fed(u64),
    /// Look again at connections that wait (pause has ended).
    Resume,
    /// Give freed memory back to the system (MEMORY PURGE).
    Purge,
    /// Run this, between two batches.
    Run(Job),
}

/// Something that only a worker thread can do: it has the right to look at the keyspace.
pub struct Job(Box<Work>);

type Work = dyn FnOnce(&Engine, &mut Thread) + Send;

impl Job {
    /// A job; it must be short, since connections wait meanwhile.
    pub fn new(run: impl FnOnce(&Engine, &mut Thread) + Send + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Does the job.
    pub fn run(self, engine: &Engine, thread: &mut Thread) {
        (self.0)(engine, thread);
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

/// A thread's inbox. Posting wakes the thread.
pub struct Mailbox {
    queue: Mutex<Vec<Message>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Mailbox {
    /// An inbox whose owner is woken by `wake`.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { queue: Mutex::default(), wake: Box::new(wake) }
    }

    /// Adds a message. Only the first message since the owner looked wakes it.
    pub fn post(&self, m: Message) {
        let mut q = self.queue.lock();
        q.push(m);
        if q.len() == 1 {
            drop(q);
            (self.wake)();
        }
    }

    /// All messages so far.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.queue.lock())
    }

    /// The jobs among the messages so far; the others stay.
    pub(crate) fn take_jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut q = self.queue.lock();
        for m in std::mem::take(&mut *q) {
            match m {
                Message::Run(job) => jobs.push(job),
                other => q.push(other),
            }
        }
        jobs
    }

    /// Wakes the owner without a message.
    pub fn wake(&self) {
        (self.wake)();
    }
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::check;
    use stdx::sync::loom::{sync::Notify, thread};

    use super::*;

    /// The owner sleeps in its event loop whenever it has looked, and looks for jobs at any time.
    #[test]
    fn an_owner_that_takes_jobs_early_is_woken_for_the_rest() {
        check(3, || {
            let bell = Arc::new(Notify::new());
            let ring = Arc::clone(&bell);
            let mailbox = Arc::new(Mailbox::new(move || ring.notify()));
            let posters = [
                [Message::Run(Job::new(|_, _| ())), Message::Close(1)],
                [Message::Resume, Message::Run(Job::new(|_, _| ()))],
            ];
            for messages in posters {
                let mailbox = Arc::clone(&mailbox);
                thread::spawn(move || messages.into_iter().for_each(|m| mailbox.post(m)));
            }
            let (mut jobs, mut others) = (mailbox.take_jobs().len(), Vec::new());
            while jobs + others.len() < 4 {
                bell.wait();
                jobs += mailbox.take_jobs().len();
                others.extend(mailbox.take());
                jobs += mailbox.take_jobs().len();
            }
            let is_job = |m: &&Message| matches!(m, Message::Run(_));
            assert_eq!(jobs + others.iter().filter(is_job).count(), 2);
        });
    }
}
