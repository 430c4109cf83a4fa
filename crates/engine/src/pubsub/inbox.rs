//! What a thread is sent for its connections by other threads.
//!
//! Posting and waking are apart: a batch of commands posts many times and wakes once, when it ends.
//! The flag says that the owner has been told since it last looked, so that many posters cost one
//! wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Encoded, Kind, Name};
use crate::clients::Client;
use crate::tracking::Notice;

/// One message for one thread.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// For all who are subscribed.
    Message(Kind, Name, Arc<Encoded>),
    /// For one connection that tracks keys, or receives for one that does.
    Notice(Arc<Client>, Notice),
}

/// See the module's text.
#[derive(Default, Debug)]
pub struct Inbox {
    queue: Mutex<Vec<Delivery>>,
    /// Whether the queue holds anything: a look costs no lock.
    full: AtomicBool,
    told: AtomicBool,
}

impl Inbox {
    /// Adds all of `mail`, which is empty afterwards. The owner is to be told.
    pub(crate) fn post(&self, mail: &mut Vec<Delivery>) {
        let mut queue = self.queue.lock();
        queue.append(mail);
        self.full.store(true, Ordering::Release);
    }

    /// Whether the owner must be woken: nobody else has done so since it looked.
    pub(crate) fn tell(&self) -> bool {
        // What was posted happens before the owner's look, through the queue's lock.
        !self.told.swap(true, Ordering::AcqRel)
    }

    /// Exchanges the queue for the empty `mail`.
    pub(crate) fn take(&self, mail: &mut Vec<Delivery>) {
        // First the flag: whoever posts after the queue was taken tells again.
        if self.told.load(Ordering::Relaxed) {
            self.told.swap(false, Ordering::AcqRel);
        }
        if self.full.load(Ordering::Acquire) {
            let mut queue = self.queue.lock();
            std::mem::swap(&mut *queue, mail);
            self.full.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pubsub::Payload;

    #[test]
    fn an_owner_is_told_once_until_it_looks() {
        let inbox = Inbox::default();
        let mail = || {
            let name = crate::pubsub::Wanted::new(b"c").keep();
            let message = Encoded::message(Kind::Channel, b"c", &Payload::Bytes(b"m"));
            vec![Delivery::Message(Kind::Channel, name, message.into())]
        };
        inbox.post(&mut mail());
        assert!(inbox.tell());
        inbox.post(&mut mail());
        assert!(!inbox.tell());
        let mut got = Vec::new();
        inbox.take(&mut got);
        assert_eq!(got.len(), 2);
        inbox.post(&mut mail());
        assert!(inbox.tell());
    }
}
