//! Requests to threads to feed their replicas, and how soon.
//!
//! A thread that has committed changes and feeds no connection has another one render them: it *tells* one, once
//! for all that comes until that one looks ([`Told`]). What is wanted of a thread that feeds stays noted until it
//! begins to ([`FeedRequest`]), since it may let changes gather first.
//!
//! Each side writes what it has for the other before it looks whether the other has been told: a change is
//! in its lane before its thread tells, and a thread that feeds says that it looks before it does. So no
//! change is left without a thread that will render it.

use std::sync::atomic::Ordering::SeqCst;

use stdx::sync::{AtomicBool, AtomicU8};

/// How soon a thread is to feed its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Urgency {
    /// No changes wait for the replicas.
    #[default]
    None,
    /// Changes wait: other work may come first, for a bounded time.
    Soon,
    /// In its next turn: a client waits for it.
    Now,
}

/// Requests of other threads to a thread that feeds.
#[derive(Debug, Default)]
pub struct FeedRequest(AtomicU8);

impl FeedRequest {
    /// Asks for this much. The thread is to be woken behind this.
    pub fn ask(&self, urgency: Urgency) {
        self.0.fetch_max(urgency as u8, SeqCst);
    }

    /// What is asked for.
    pub fn look(&self) -> Urgency {
        match self.0.load(SeqCst) {
            0 => Urgency::None,
            1 => Urgency::Soon,
            _ => Urgency::Now,
        }
    }

    /// The thread feeds now: what has come so far is among what it finds behind this.
    pub fn begin(&self) {
        // Reads what the others wrote, so that it sees what they wrote before.
        self.0.swap(0, SeqCst);
    }
}

/// Whether a thread that feeds has been told of changes and has not looked yet.
#[derive(Debug, Default)]
pub(crate) struct Told(AtomicBool);

impl Told {
    /// Notes that there are changes. Returns whether a thread is to be told.
    pub(crate) fn tell(&self) -> bool {
        !self.0.swap(true, SeqCst)
    }

    /// A thread looks at all lanes behind this.
    pub(crate) fn look(&self) {
        // A store alone would not have it see what the last one who told had put into its lane.
        self.0.swap(false, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_request_counts_until_the_thread_begins() {
        let request = FeedRequest::default();
        assert_eq!(request.look(), Urgency::None);
        request.ask(Urgency::Now);
        request.ask(Urgency::Soon);
        assert_eq!(request.look(), Urgency::Now);
        request.begin();
        assert_eq!(request.look(), Urgency::None);
        let told = Told::default();
        assert!(told.tell() && !told.tell());
        told.look();
        assert!(told.tell());
    }
}

#[cfg(all(test, loom))]
mod model {
    use std::sync::Arc;

    use stdx::sync::check;
    use stdx::sync::loom::{sync::Notify, thread};
    use stream::{Lane, Stream};

    use super::*;

    struct Server {
        stream: Arc<Stream>,
        told: Told,
        request: FeedRequest,
        /// Wakes the thread that feeds.
        bell: Notify,
    }

    impl Server {
        fn commit(&self, lane: &Lane) {
            lane.append(self.stream.counter(), 1, true, |unit| {
                unit.command(0, b"DEL", 1, std::iter::once(b"k".as_slice()));
            });
        }

        /// As `Engine::pass_on_changes`.
        fn pass_on(&self, lane: &Lane) {
            if lane.waiting() > 0 && self.told.tell() {
                self.request.ask(Urgency::Soon);
                self.bell.notify();
            }
        }
    }

    /// Threads commit and tell; the thread that feeds sleeps unless it is told, and lingers as it likes. All
    /// changes are read, in order.
    #[test]
    fn every_change_is_rendered() {
        check(3, || {
            let server = Arc::new(Server {
                stream: Arc::new(Stream::default()),
                told: Told::default(),
                request: FeedRequest::default(),
                bell: Notify::new(),
            });
            let mut reader = server.stream.reader(0);
            for commits in [1, 2] {
                let (server, lane) = (Arc::clone(&server), server.stream.add_lane());
                thread::spawn(move || {
                    for _ in 0..commits {
                        server.commit(&lane);
                        server.pass_on(&lane);
                    }
                });
            }
            let mut seen = 0;
            while seen < 3 {
                server.bell.wait();
                if server.request.look() == Urgency::None {
                    // It has fed for another reason meanwhile.
                    continue;
                }
                server.request.begin();
                server.told.look();
                reader.read(|sequence, _| {
                    seen += 1;
                    assert_eq!(sequence, seen);
                    true
                });
            }
        });
    }

    /// Threads append to the backlog and ask, one of them because it waits for an acknowledgement. All is fed.
    #[test]
    fn what_is_asked_for_is_fed() {
        check(3, || {
            let backlog = stdx::sync::Mutex::new(0);
            let server = Arc::new((FeedRequest::default(), Notify::new(), backlog));
            for urgency in [Urgency::Soon, Urgency::Now] {
                let server = Arc::clone(&server);
                thread::spawn(move || {
                    *server.2.lock() += 1;
                    server.0.ask(urgency);
                    server.1.notify();
                });
            }
            let mut fed = 0;
            while fed < 2 {
                server.1.wait();
                if server.0.look() != Urgency::None {
                    server.0.begin();
                    fed = *server.2.lock();
                }
            }
        });
    }
}
