//! Which connections are notified when a key changes: transactions that watch it, and blocked commands
//! that wait for it.
//!
//! Each shard has its own registrations, which a thread uses only with the shard locked: no change can
//! happen between a command's look at its keys and its registration here. [`Keyspace::interest`] counts
//! all registrations of all shards; while it is zero, commands note nothing at all.
//!
//! [`Keyspace::interest`]: crate::Keyspace

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{
    Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use data::entry::Kind;
use stdx::sync::{AtomicBool, AtomicU8, yield_now};

/// A connection's WATCH: set when a watched key has changed.
#[derive(Debug, Default)]
pub struct Watch(AtomicBool);

impl Watch {
    /// Whether a watched key has changed.
    pub fn is_dirty(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Notes that a watched key has changed.
    pub fn mark_dirty(&self) {
        self.0.store(true, Relaxed);
    }
}

/// A blocked command.
pub struct Waiter {
    /// Number of the connection.
    pub client: u64,
    /// The thread it lives on.
    pub thread: usize,
    /// The database its keys are in.
    pub db: usize,
    /// Its position in the order in which commands began to wait: see [`Keyspace::ticket`].
    ///
    /// [`Keyspace::ticket`]: crate::Keyspace::ticket
    pub ticket: u64,
    /// The keys it waits for.
    pub keys: Vec<Vec<u8>>,
    /// The type it waits for.
    pub kind: Kind,
    /// It is also run again when its key is gone or holds another type.
    pub errors: bool,
    /// Names this wait to code that answers it later ([`crate::Block::answer_id`]); 0: no such code.
    pub answer_id: u64,
    /// The data that the engine needs to run it again.
    pub job: Box<dyn Any + Send + Sync>,
    state: AtomicU8,
}

const WAITING: u8 = 0;
const TRIED: u8 = 1;
const DONE: u8 = 2;

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Waiter {
    /// A command of connection `client`, which lives on `thread`.
    pub fn new(
        (client, thread): (u64, usize),
        (db, ticket): (usize, u64),
        block: &crate::Block,
        job: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            client,
            thread,
            db,
            ticket,
            keys: block.keys.clone(),
            kind: block.kind,
            errors: block.errors,
            answer_id: block.answer_id,
            job,
            state: AtomicU8::new(WAITING),
        }
    }

    /// Takes the right to run it again; no other thread may end it meanwhile.
    pub fn begin_try(&self) -> bool {
        self.state.compare_exchange(WAITING, TRIED, AcqRel, Acquire).is_ok()
    }

    /// Gives the right back: the command goes on waiting, or has been served.
    pub fn end_try(&self, served: bool) {
        self.state.store(if served { DONE } else { WAITING }, Release);
    }

    /// Ends the waiting from outside: its time is over, its client has disconnected, or CLIENT UNBLOCK.
    /// False when another thread has ended it.
    pub fn give_up(&self) -> bool {
        loop {
            match self.state.compare_exchange(WAITING, DONE, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(DONE) => return false,
                // Another thread is running it again: this takes as long as one command.
                Err(_) => yield_now(),
            }
        }
    }

    /// Whether it is still to be served.
    pub fn is_waiting(&self) -> bool {
        self.state.load(Acquire) == WAITING
    }
}

/// The position of a waiter among those of a key: its database, its queue there, its ticket.
type QueueKey = (usize, u8, u64);

/// The queue of waiters that run again whatever the key holds. Each other queue is for one type.
const TOLD: u8 = 0;

fn queue_of(kind: Kind) -> u8 {
    kind as u8 + 1
}

fn place(w: &Waiter) -> QueueKey {
    (w.db, if w.errors { TOLD } else { queue_of(w.kind) }, w.ticket)
}

/// The watches and waiters of one key, in all databases. Each is found and removed without visiting the
/// others: thousands of clients may wait for one key, or watch it.
#[derive(Default)]
struct Wanted {
    /// By database and address.
    watches: BTreeMap<(usize, usize), Arc<Watch>>,
    waiters: BTreeMap<QueueKey, Arc<Waiter>>,
}

impl Wanted {
    fn is_awaited_in(&self, db: usize) -> bool {
        self.waiters.range((db, 0, 0)..=(db, u8::MAX, u64::MAX)).next().is_some()
    }

    fn watches_in(&self, db: usize) -> impl Iterator<Item = &Arc<Watch>> {
        self.watches.range((db, 0)..=(db, usize::MAX)).map(|(_, w)| w)
    }

    /// The first waiter of a queue with a ticket above this one.
    fn first_behind(&self, db: usize, queue: u8, ticket: u64) -> Option<&Arc<Waiter>> {
        let behind = (db, queue, ticket.checked_add(1)?)..=(db, queue, u64::MAX);
        self.waiters.range(behind).next().map(|(_, w)| w)
    }
}

fn address(w: &Arc<Watch>) -> usize {
    Arc::as_ptr(w).addr()
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Interest(HashMap<Vec<u8>, Wanted>);

impl Interest {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn wanted(&mut self, key: &[u8]) -> &mut Wanted {
        self.0.entry(key.to_vec()).or_default()
    }

    /// Changes the registrations of a key; an entry without registrations is removed.
    fn edit(&mut self, key: &[u8], f: impl FnOnce(&mut Wanted)) {
        if let Some(w) = self.0.get_mut(key) {
            f(w);
            if w.watches.is_empty() && w.waiters.is_empty() {
                self.0.remove(key);
            }
        }
    }

    pub(crate) fn watch(&mut self, db: usize, key: &[u8], w: &Arc<Watch>) {
        self.wanted(key).watches.insert((db, address(w)), Arc::clone(w));
    }

    pub(crate) fn unwatch(&mut self, db: usize, key: &[u8], w: &Arc<Watch>) {
        self.edit(key, |wanted| {
            wanted.watches.remove(&(db, address(w)));
        });
    }

    pub(crate) fn wait(&mut self, key: &[u8], w: &Arc<Waiter>) {
        self.wanted(key).waiters.insert(place(w), Arc::clone(w));
    }

    pub(crate) fn unwait(&mut self, key: &[u8], w: &Arc<Waiter>) {
        self.edit(key, |wanted| {
            wanted.waiters.remove(&place(w));
        });
    }

    /// The first waiter with a ticket above `behind` that can use a value of this type, or, without a
    /// value, that must be notified of this.
    pub(crate) fn next_waiting(
        &self,
        db: usize,
        key: &[u8],
        kind: Option<Kind>,
        behind: u64,
    ) -> Option<Arc<Waiter>> {
        let wanted = self.0.get(key)?;
        let queues = [Some(TOLD), kind.map(queue_of)];
        let first = |queue| wanted.first_behind(db, queue, behind);
        queues.into_iter().flatten().filter_map(first).min_by_key(|w| w.ticket).cloned()
    }

    /// Notes what happened to a key, a change of its value or something else. Returns whether the key
    /// has waiters.
    pub(crate) fn changed(&self, db: usize, key: &[u8], is_change: bool) -> bool {
        let Some(wanted) = self.0.get(key) else { return false };
        if is_change {
            wanted.watches_in(db).for_each(|w| w.mark_dirty());
        }
        wanted.is_awaited_in(db)
    }

    /// Keys that are watched in a database, with their watchers.
    pub(crate) fn watched(&self, db: usize) -> impl Iterator<Item = (&[u8], &Watch)> {
        self.0
            .iter()
            .flat_map(move |(key, wanted)| wanted.watches_in(db).map(move |w| (&key[..], &**w)))
    }

    /// Keys that are waited for in a database.
    pub(crate) fn awaited(&self, db: usize) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(_, w)| w.is_awaited_in(db)).map(|(key, _)| &key[..])
    }

    /// How many keys are waited for, and of those how many by commands that are notified when the key is
    /// removed.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let awaited = self.0.values().filter(|w| !w.waiters.is_empty());
        let told = awaited.clone().filter(|w| w.waiters.values().any(|w| w.errors)).count();
        (awaited.count(), told)
    }
}

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::check;
    use stdx::sync::loom::{cell::UnsafeCell, thread};

    use super::*;
    use crate::{Block, Empty};

    /// The data of a waiter's command. loom notices when two threads use it at the same time.
    struct Waiting(Waiter, UnsafeCell<()>);

    impl Waiting {
        fn new() -> Arc<Self> {
            let block = Block::new(Vec::new(), Kind::List, None, Empty::Null);
            Arc::new(Self(Waiter::new((1, 0), (0, 1), &block, Box::new(())), UnsafeCell::new(())))
        }

        fn work(&self) {
            self.1.with_mut(|_| ());
        }

        fn serve(&self, has_any: bool) -> bool {
            let begun = self.0.begin_try();
            if begun {
                self.work();
                self.0.end_try(has_any);
            }
            begun && has_any
        }

        fn give_up(&self) -> bool {
            let ended = self.0.give_up();
            if ended {
                self.work();
            }
            ended
        }
    }

    #[test]
    fn a_waiter_is_ended_once_and_tried_by_one_at_a_time() {
        check(3, || {
            let w = Waiting::new();
            let (in_vain, served) = (Arc::clone(&w), Arc::clone(&w));
            let in_vain = thread::spawn(move || in_vain.serve(false));
            let served = thread::spawn(move || served.serve(true));
            let gone = w.give_up();
            assert!(!in_vain.join().unwrap());
            assert!(gone != served.join().unwrap());
            assert!(!w.0.is_waiting() && !w.0.begin_try());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Block, Empty};

    fn waiter(ticket: u64, db: usize, kind: Kind, errors: bool) -> Arc<Waiter> {
        let block = Block { errors, ..Block::new(vec![b"k".to_vec()], kind, None, Empty::Null) };
        Arc::new(Waiter::new((ticket, 0), (db, ticket), &block, Box::new(())))
    }

    fn all(i: &Interest, db: usize, kind: Option<Kind>) -> Vec<u64> {
        let next = |last: &u64| Some(i.next_waiting(db, b"k", kind, *last)?.ticket);
        std::iter::successors(next(&0), next).collect()
    }

    #[test]
    fn a_waiter_that_leaves_does_not_change_the_order() {
        let mut i = Interest::default();
        let waiters: Vec<_> = (1..=4).map(|t| waiter(t, 0, Kind::List, false)).collect();
        waiters.iter().for_each(|w| i.wait(b"k", w));
        let first = i.next_waiting(0, b"k", Some(Kind::List), 0).expect("there is one");
        i.unwait(b"k", &first);
        let next = i.next_waiting(0, b"k", Some(Kind::List), first.ticket).expect("more");
        assert_eq!(next.ticket, 2);
        i.unwait(b"k", &waiters[2]);
        assert_eq!(all(&i, 0, Some(Kind::List)), [2, 4]);
        waiters.iter().for_each(|w| i.unwait(b"k", w));
        assert!(i.is_empty());
    }

    #[test]
    fn a_value_concerns_waiters_for_its_type_and_those_that_are_told() {
        let mut i = Interest::default();
        let kinds = [(Kind::Stream, true), (Kind::List, false), (Kind::Stream, false)];
        for (ticket, (kind, errors)) in (1..).zip(kinds.into_iter().cycle().take(6)) {
            i.wait(b"k", &waiter(ticket, usize::from(ticket > 5), kind, errors));
        }
        assert_eq!(all(&i, 0, Some(Kind::Stream)), [1, 3, 4]);
        assert_eq!(all(&i, 0, Some(Kind::List)), [1, 2, 4, 5]);
        assert_eq!(all(&i, 0, None), [1, 4]);
        assert_eq!(all(&i, 1, Some(Kind::Stream)), [6]);
        assert_eq!(i.counts(), (1, 1));
    }

    #[test]
    fn watches_of_one_key_end_one_by_one() {
        let mut i = Interest::default();
        let watches: Vec<_> = (0..3).map(|_| Arc::new(Watch::default())).collect();
        watches.iter().for_each(|w| i.watch(0, b"k", w));
        i.watch(1, b"k", &watches[0]);
        i.unwatch(0, b"k", &watches[0]);
        assert!(!i.changed(0, b"k", true), "nobody waits");
        let dirty: Vec<_> = watches.iter().map(|w| w.is_dirty()).collect();
        assert_eq!(dirty, [false, true, true]);
        i.unwatch(1, b"k", &watches[0]);
        watches.iter().for_each(|w| i.unwatch(0, b"k", w));
        assert!(i.is_empty());
    }
}
