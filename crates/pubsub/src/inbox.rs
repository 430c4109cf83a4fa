//! Messages that other threads send to a thread's connections.
//!
//! Posting and waking are apart: a batch of commands posts many times and wakes once, when it ends.
//! The flag says that the owner has been notified since it last looked, so that many posters cost one
//! wake-up.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stdx::sync::{AtomicBool, Mutex};

use crate::encode::Encoded;
use crate::notice::Notice;
use crate::{Backlog, ChannelKind, Name, Receiver};

/// One message for one thread.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// For all subscribers.
    Message(ChannelKind, Name, Arc<Encoded>),
    /// For one connection that tracks keys, or receives for one that does.
    Notice(Arc<Receiver>, Notice),
}

#[derive(Default, Debug)]
struct Queue {
    mail: Vec<Delivery>,
    /// The bytes that the backlog counts for it.
    bytes: usize,
}

/// See the module's text.
#[derive(Default, Debug)]
pub struct Inbox {
    queue: Mutex<Queue>,
    /// Whether the queue holds anything: a look costs no lock.
    full: AtomicBool,
    told: AtomicBool,
    /// The bytes that the owner has yet to send.
    pub backlog: Backlog,
}

impl Inbox {
    /// Adds all of `mail`, which is empty afterwards, and this many bytes for the owner's connections.
    /// The owner is to be notified.
    pub(crate) fn post(&self, mail: &mut Vec<Delivery>, bytes: usize) {
        let mut queue = self.queue.lock();
        queue.mail.append(mail);
        queue.bytes += bytes;
        self.backlog.add(bytes);
        self.full.store(true, Ordering::Release);
    }

    /// Whether the owner must be woken: no other thread has done so since it looked.
    pub(crate) fn tell(&self) -> bool {
        // The post happens before the owner's look, through the queue's lock.
        !self.told.swap(true, Ordering::AcqRel)
    }

    /// Exchanges the queue for the empty `mail`. Returns the bytes that the backlog counts for it.
    pub(crate) fn take(&self, mail: &mut Vec<Delivery>) -> usize {
        // First the flag: a thread that posts after the queue was taken notifies again.
        if self.told.load(Ordering::Relaxed) {
            self.told.swap(false, Ordering::AcqRel);
        }
        if self.full.load(Ordering::Acquire) {
            let mut queue = self.queue.lock();
            std::mem::swap(&mut queue.mail, mail);
            self.full.store(false, Ordering::Release);
            return std::mem::take(&mut queue.bytes);
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Payload;

    #[test]
    fn an_owner_is_told_once_until_it_looks() {
        let inbox = Inbox::default();
        let mail = || {
            let name = crate::Wanted::new(b"c").keep();
            let message = Encoded::message(ChannelKind::Channel, b"c", &Payload::Bytes(b"m"));
            vec![Delivery::Message(ChannelKind::Channel, name, message.into())]
        };
        inbox.post(&mut mail(), 1);
        assert!(inbox.tell());
        inbox.post(&mut mail(), 1);
        assert!(!inbox.tell());
        let mut got = Vec::new();
        inbox.take(&mut got);
        assert_eq!(got.len(), 2);
        inbox.post(&mut mail(), 1);
        assert!(inbox.tell());
    }
}

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::check;
    use stdx::sync::loom::{sync::Notify, thread};

    use super::*;
    use crate::{Payload, Wanted};

    /// The owner sleeps in its event loop when it has looked; posters wake it only when told to.
    #[test]
    fn nothing_is_posted_to_an_owner_that_sleeps_untold() {
        let name = Wanted::new(b"c").keep();
        let message = Arc::new(Encoded::message(ChannelKind::Channel, b"c", &Payload::Bytes(b"m")));
        check(3, move || {
            let (inbox, bell) = (Arc::new(Inbox::default()), Arc::new(Notify::new()));
            for n in [2, 1] {
                let (inbox, bell) = (Arc::clone(&inbox), Arc::clone(&bell));
                let (name, message) = (name.clone(), Arc::clone(&message));
                thread::spawn(move || {
                    for _ in 0..n {
                        let d = Delivery::Message(
                            ChannelKind::Channel,
                            name.clone(),
                            Arc::clone(&message),
                        );
                        inbox.post(&mut vec![d], 1);
                        if inbox.tell() {
                            bell.notify();
                        }
                    }
                });
            }
            let (mut got, mut mail) = (0, Vec::new());
            loop {
                inbox.take(&mut mail);
                got += mail.drain(..).count();
                if got == 3 {
                    return;
                }
                bell.wait();
            }
        });
    }
}
