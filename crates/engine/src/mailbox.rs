//! Messages from one thread to another thread's connections.

use std::sync::Arc;

use parking_lot::Mutex;

/// What a thread can be asked to do.
#[derive(Debug)]
pub enum Message {
    /// Close this client.
    Close(u64),
    /// Send these bytes to this client, behind what it has been sent (MONITOR, push messages).
    Push(u64, Arc<Vec<u8>>),
    /// The reply of the command that blocks this client.
    Answer(u64, Vec<u8>),
    /// Look again at connections that wait (pause has ended).
    Resume,
    /// Give freed memory back to the system (MEMORY PURGE).
    Purge,
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
