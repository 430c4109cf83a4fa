//! Who wants to know when a key changes: transactions that watch it, and blocked commands that
//! wait for it.
//!
//! Each shard has its own, which only whoever holds the shard looks at: between a command's look
//! at its keys and its registration here nothing can slip in. [`Keyspace::interest`] counts all
//! registrations of all shards; while it is zero, commands note nothing at all.
//!
//! [`Keyspace::interest`]: crate::Keyspace

use std::any::Any;
use std::collections::{HashMap, VecDeque};
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
    pub fn spoil(&self) {
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
    /// The keys it waits for.
    pub keys: Vec<Vec<u8>>,
    /// The type it waits for.
    pub kind: Kind,
    /// It is run again also when its key is gone or holds another type.
    pub errors: bool,
    /// The number of this waiting, if it has one ([`crate::Block::ticket`]).
    pub ticket: u64,
    /// What the engine needs to run it again.
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
        db: usize,
        block: &crate::Block,
        job: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            client,
            thread,
            db,
            keys: block.keys.clone(),
            kind: block.kind,
            errors: block.errors,
            ticket: block.ticket,
            job,
            state: AtomicU8::new(WAITING),
        }
    }

    /// Takes the right to run it again; nobody else may end it meanwhile.
    pub fn begin_try(&self) -> bool {
        self.state.compare_exchange(WAITING, TRIED, AcqRel, Acquire).is_ok()
    }

    /// Gives the right back: it goes on waiting, or has been served.
    pub fn end_try(&self, served: bool) {
        self.state.store(if served { DONE } else { WAITING }, Release);
    }

    /// Ends the waiting from outside: time is over, the client has gone or CLIENT UNBLOCK. False
    /// when somebody else has ended it.
    pub fn give_up(&self) -> bool {
        loop {
            match self.state.compare_exchange(WAITING, DONE, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(DONE) => return false,
                // It is being tried: that is one command long.
                Err(_) => yield_now(),
            }
        }
    }

    /// Whether it is still to be served.
    pub fn is_waiting(&self) -> bool {
        self.state.load(Acquire) == WAITING
    }
}

/// Who wants to know about one key, in whatever database.
#[derive(Default)]
struct Wanted {
    watches: Vec<(usize, Arc<Watch>)>,
    waiters: VecDeque<Arc<Waiter>>,
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

    /// Changes what is wanted of a key, which is forgotten when that is nothing.
    fn edit(&mut self, key: &[u8], f: impl FnOnce(&mut Wanted)) {
        if let Some(w) = self.0.get_mut(key) {
            f(w);
            if w.watches.is_empty() && w.waiters.is_empty() {
                self.0.remove(key);
            }
        }
    }

    pub(crate) fn watch(&mut self, db: usize, key: &[u8], w: &Arc<Watch>) {
        self.wanted(key).watches.push((db, Arc::clone(w)));
    }

    pub(crate) fn unwatch(&mut self, db: usize, key: &[u8], w: &Arc<Watch>) {
        let mine = |(d, other): &(usize, Arc<Watch>)| *d == db && Arc::ptr_eq(other, w);
        self.edit(key, |wanted| wanted.watches.retain(|entry| !mine(entry)));
    }

    pub(crate) fn wait(&mut self, key: &[u8], w: &Arc<Waiter>) {
        self.wanted(key).waiters.push_back(Arc::clone(w));
    }

    pub(crate) fn unwait(&mut self, key: &[u8], w: &Arc<Waiter>) {
        self.edit(key, |wanted| wanted.waiters.retain(|other| !Arc::ptr_eq(other, w)));
    }

    /// The waiters of a key, first come first.
    pub(crate) fn waiting(
        &self,
        db: usize,
        key: &[u8],
        skip: usize,
        max: usize,
    ) -> Vec<Arc<Waiter>> {
        let all = self.0.get(key).into_iter().flat_map(|wanted| &wanted.waiters);
        all.filter(|w| w.db == db).skip(skip).take(max).cloned().collect()
    }

    /// Notes what happened to a key, a change of its value or something else. Returns whether
    /// somebody waits for it.
    pub(crate) fn changed(&self, db: usize, key: &[u8], is_change: bool) -> bool {
        let Some(wanted) = self.0.get(key) else { return false };
        if is_change {
            wanted.watches.iter().filter(|(d, _)| *d == db).for_each(|(_, w)| w.spoil());
        }
        wanted.waiters.iter().any(|w| w.db == db)
    }

    /// Keys that are watched in a database, with those who watch.
    pub(crate) fn watched(&self, db: usize) -> impl Iterator<Item = (&[u8], &Watch)> {
        self.0.iter().flat_map(move |(key, wanted)| {
            let mine = wanted.watches.iter().filter(move |(d, _)| *d == db);
            mine.map(move |(_, w)| (&key[..], &**w))
        })
    }

    /// Keys that are waited for in a database.
    pub(crate) fn awaited(&self, db: usize) -> impl Iterator<Item = &[u8]> {
        let wanted = move |w: &Wanted| w.waiters.iter().any(|w| w.db == db);
        self.0.iter().filter(move |(_, w)| wanted(w)).map(|(key, _)| &key[..])
    }

    /// How many keys are waited for, and of those how many by commands that are to be told when
    /// the key goes.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let awaited = self.0.values().filter(|w| !w.waiters.is_empty());
        let told = awaited.clone().filter(|w| w.waiters.iter().any(|w| w.errors)).count();
        (awaited.count(), told)
    }
}

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::check;
    use stdx::sync::loom::{cell::UnsafeCell, thread};

    use super::*;
    use crate::{Block, Empty};

    /// What a waiter's command works with. loom notices when two use it who do not exclude each other.
    struct Waiting(Waiter, UnsafeCell<()>);

    impl Waiting {
        fn new() -> Arc<Self> {
            let block = Block::new(Vec::new(), Kind::List, None, Empty::Null);
            Arc::new(Self(Waiter::new((1, 0), 0, &block, Box::new(())), UnsafeCell::new(())))
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
