//! The protocol between the writer and the threads that append, in every order of their steps.
//!
//! The writer, its files on a disk in memory included, is the real one. A thread here does what an
//! event loop does at the end of a turn, and then sleeps until it is woken.

use std::sync::Arc;

use stdx::sync::check;
use stdx::sync::loom::{sync::Notify, thread};
use stream::Lane;

use super::writer::Orders;
use super::{
    Base, Control, Location, Observer, Recovered, Shared, Sync, Trouble, WakeRequest, Writer,
};
use crate::disk::sim::{Faults, SimDisk};

struct Thread {
    lane: Arc<Lane>,
    wake_request: WakeRequest,
    bell: Notify,
}

/// Wakes as the engine does.
struct Threads(Vec<Arc<Thread>>);

impl Threads {
    fn wake(&self) {
        self.0.iter().filter(|t| t.wake_request.take()).for_each(|t| t.bell.notify());
    }
}

impl Observer for Threads {
    fn durable(&self, _: u64) {
        self.wake();
    }
    fn trouble(&self, _: Option<&Trouble>) {
        self.wake();
    }
    fn written(&self) {
        self.wake();
    }
    fn note(&self, text: &str) {
        panic!("{text}");
    }
}

struct Journal {
    shared: Arc<Shared>,
    threads: Vec<Arc<Thread>>,
    writer: Writer,
    orders: Orders,
    disk: SimDisk,
}

fn journal(policy: Sync, threads: usize) -> Journal {
    let shared = Arc::new(Shared::default());
    shared.set_policy(policy);
    let thread = || Thread {
        lane: shared.stream.add_lane(),
        wake_request: WakeRequest::default(),
        bell: Notify::new(),
    };
    let threads: Vec<_> = (0..threads).map(|_| Arc::new(thread())).collect();
    let observer = Arc::new(Threads(threads.clone()));
    let place =
        Location { dir: "/d".into(), stem: "a".into(), segment_bytes: 1 << 20, ahead_bytes: 0 };
    let (disk, fresh) = (SimDisk::default(), Recovered::fresh(Base::default()));
    let started =
        Writer::start(Arc::new(disk.clone()), Arc::clone(&shared), observer, place, fresh);
    let (writer, orders) = started.expect("a journal");
    Journal { shared, threads, writer, orders, disk }
}

impl Thread {
    fn append(&self, shared: &Shared) -> u64 {
        self.lane.append(shared.stream.counter(), 5, true, |unit| {
            unit.command(0, b"SET", 1, std::iter::once(b"v".as_slice()));
        });
        shared.last()
    }

    /// `turn` runs at the end of a turn; `is_over` whether the output may be sent, or must be
    /// dropped.
    fn hold_back(&self, turn: impl Fn(), is_over: impl Fn() -> bool) {
        loop {
            turn();
            self.wake_request.announce();
            if is_over() {
                return;
            }
            self.bell.wait();
        }
    }

    /// Under `always`.
    fn acknowledge(&self, shared: &Shared) {
        let upto = self.append(shared);
        let is_over = || shared.durable() >= upto || shared.is_failing();
        self.hold_back(|| shared.wake_writer(), is_over);
    }

    /// Under the other policies.
    fn write(&self, shared: &Shared) {
        let upto = self.append(shared);
        let turn = || {
            if shared.written() < shared.last() {
                shared.write_through(|| self.wake_request.announce());
            }
        };
        self.hold_back(turn, || shared.written() >= upto);
    }
}

/// The writer's thread runs while `f` does, and is stopped then.
fn beside_the_writer(journal: Journal, f: impl FnOnce(&Arc<Shared>, &[Arc<Thread>])) {
    let Journal { shared, threads, writer, orders, .. } = journal;
    let writer = thread::spawn(move || writer.run());
    f(&shared, &threads);
    orders.send(Control::Stop).expect("the writer is there");
    shared.ring();
    writer.join().expect("no panic");
}

#[test]
fn the_writer_is_woken_and_wakes_who_waits_for_it() {
    check(2, || {
        let journal = journal(Sync::Always, 1);
        beside_the_writer(journal, |shared, threads| {
            threads[0].acknowledge(shared);
            assert_eq!(shared.durable(), 1);
            threads[0].acknowledge(shared);
            assert_eq!(shared.durable(), 2);
        });
    });
}

#[test]
fn a_sync_that_fails_is_heard_of() {
    check(2, || {
        let journal = journal(Sync::Always, 1);
        journal.disk.set_faults(Faults { good_syncs: Some(0), ..Faults::default() });
        beside_the_writer(journal, |shared, threads| {
            threads[0].acknowledge(shared);
            assert_eq!((shared.durable(), shared.is_failing()), (0, true));
        });
    });
}

#[test]
fn a_thread_that_finds_the_writer_locked_is_woken_when_it_is_free() {
    check(3, || {
        let Journal { shared, threads, writer, .. } = journal(Sync::EverySecond, 2);
        shared.set_writer(Some(Box::new(writer)));
        let (theirs, other) = (Arc::clone(&shared), Arc::clone(&threads[1]));
        let other = thread::spawn(move || other.write(&theirs));
        threads[0].write(&shared);
        other.join().expect("no panic");
        assert_eq!((shared.written(), shared.last()), (2, 2));
    });
}
