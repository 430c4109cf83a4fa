//! Keys with a deadline that a writable replica's own clients have written (`replica-read-only no`).
//!
//! On a replica nothing expires by itself: the primary says what is gone. Of these keys it knows nothing, so the
//! replica remembers their names, looks at them from time to time, and removes those whose time is over, as Redis
//! does. A key of the same name that the primary sends meanwhile is removed as well: a client that writes to a
//! replica keeps to names of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use commands::keys::positions;
use commands::row::Row;
use parking_lot::Mutex;
use resp::Args;
use store::{Db, Key};

/// Names that are remembered: beyond that a client fills memory that no limit counts.
const NAMES_MAX: usize = 1 << 20;
/// Names that are looked at per turn of the periodic work.
const LOOKS: usize = 256;

/// Database and key.
pub(crate) type Name = (usize, Vec<u8>);

/// See the module's text.
#[derive(Debug, Default)]
pub struct OwnKeys {
    names: Mutex<Names>,
    count: AtomicUsize,
}

/// The names with their deadlines, and the same in the order of the deadlines.
#[derive(Debug, Default)]
struct Names {
    deadlines: HashMap<Name, i64>,
    order: BTreeSet<(i64, Name)>,
}

impl Names {
    fn put(&mut self, name: Name, deadline: i64) {
        self.remove(&name);
        if self.deadlines.len() < NAMES_MAX {
            self.order.insert((deadline, name.clone()));
            self.deadlines.insert(name, deadline);
        }
    }

    fn remove(&mut self, name: &Name) {
        if let Some((name, deadline)) = self.deadlines.remove_entry(name) {
            self.order.remove(&(deadline, name));
        }
    }
}

impl OwnKeys {
    /// How many are remembered: `slave_expires_tracked_keys`.
    pub fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A client of this replica has run a command that writes, and its shards are still locked.
    #[cold]
    pub(crate) fn remember(&self, db: &mut Db<'_>, (index, row): (usize, &Row), args: &Args<'_>) {
        let mut found = Vec::new();
        let named = positions(row, args, &mut |i| {
            let Some(name) = args.get(i) else { return };
            let key = Key::new(name);
            if let Some(deadline) = db.peek(key).and_then(|entry| entry.deadline()) {
                found.push((deadline, (index, name.to_vec())));
            }
        });
        // A command without valid keys has refused.
        if named.is_err() || found.is_empty() {
            return;
        }
        let mut names = self.names.lock();
        found.into_iter().for_each(|(deadline, name)| names.put(name, deadline));
        self.count.store(names.deadlines.len(), Relaxed);
    }

    /// It has another deadline by now.
    pub(crate) fn put(&self, name: Name, deadline: i64) {
        let mut names = self.names.lock();
        names.put(name, deadline);
        self.count.store(names.deadlines.len(), Relaxed);
    }

    /// All data is gone, or another's.
    pub(crate) fn forget_all(&self) {
        *self.names.lock() = Names::default();
        self.count.store(0, Relaxed);
    }

    /// Some whose deadline was before `now`, in Unix milliseconds. They are forgotten.
    pub(crate) fn take_due(&self, now: i64) -> Vec<Name> {
        let mut names = self.names.lock();
        let due = names.order.iter().take_while(|(deadline, _)| *deadline < now);
        let due: Vec<_> = due.take(LOOKS).map(|(_, name)| name.clone()).collect();
        due.iter().for_each(|name| names.remove(name));
        self.count.store(names.deadlines.len(), Relaxed);
        due
    }
}
