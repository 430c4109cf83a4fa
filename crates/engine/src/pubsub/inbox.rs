//! What a thread is sent for its connections by other threads.
//!
//! Posting and waking are apart: a batch of commands posts many times and wakes once, when it ends.
//! The flag says that the owner has been told since it last looked, so that many posters cost one
//! wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::{Encoded, Kind, Name};

/// To whom on a thread.
#[derive(Debug)]
pub(crate) enum To {
    /// All who are subscribed.
    Name(Kind, Name),
}

/// One message for one thread.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) to: To,
    pub(crate) message: Arc<Encoded>,
}

/// See the module's text.
#[derive(Default, Debug)]
pub struct Inbox {
    queue: Mutex<Vec<Delivery>>,
    told: AtomicBool,
}

impl Inbox {
    /// Adds all of `mail`, which is empty afterwards. The owner is to be told.
    pub(crate) fn post(&self, mail: &mut Vec<Delivery>) {
        self.queue.lock().append(mail);
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
        std::mem::swap(&mut *self.queue.lock(), mail);
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
            let message = Encoded::message(Kind::Channel, b"c", &Payload::Bytes(b"m"));
            vec![Delivery {
                to: To::Name(Kind::Channel, Name::from(*b"c")),
                message: message.into(),
            }]
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
