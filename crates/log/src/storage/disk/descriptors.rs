//! How many files topics have open at once.
//!
//! A topic that is written to keeps its last segment open, and every read opens a file for a moment. All of
//! them together have a budget, so that the journal, snapshots and clients always find descriptors. When it
//! is used up, the file that has not been written to for longest is closed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};

/// How long a thread waits for a descriptor while all are in use …
const PATIENCE: Duration = Duration::from_secs(10);
/// … and how often it looks for one.
const LOOK: Duration = Duration::from_millis(10);

/// One that keeps a file open, and may be asked to let go of it.
pub(super) trait Keeper: Send + Sync {
    /// When the file was written to, as a count.
    fn used(&self) -> u64;
    /// Closes the file, unless it is being written to; whether it was closed.
    fn let_go(&self) -> bool;
}

/// See the module's text.
pub(super) struct Descriptors {
    max: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    number: u64,
    /// Topics that keep one.
    keepers: HashMap<u64, Weak<dyn Keeper>>,
}

/// A descriptor, or a few for a moment. Dropping it gives it back.
pub(super) struct Permit {
    all: Arc<Descriptors>,
    /// The number of the keeper that has it, if a keeper has it.
    number: Option<u64>,
}

impl Descriptors {
    /// So many.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), state: Mutex::default(), freed: Condvar::new() })
    }

    /// How many are used, and how many there may be.
    pub(super) fn figures(&self) -> (usize, usize) {
        (self.state.lock().used, self.max)
    }

    /// One for a moment.
    ///
    /// # Errors
    /// None becomes free in time.
    pub(super) fn take(self: &Arc<Self>) -> Result<Permit> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut state = self.state.lock();
            if state.used < self.max {
                state.used += 1;
                return Ok(Permit { all: Arc::clone(self), number: None });
            }
            let mut keepers: Vec<Arc<dyn Keeper>> =
                state.keepers.values().filter_map(Weak::upgrade).collect();
            drop(state);
            keepers.sort_by_cached_key(|t| t.used());
            if keepers.iter().any(|t| t.let_go()) {
                continue;
            }
            drop(keepers);
            let mut state = self.state.lock();
            if state.used >= self.max {
                if Instant::now() >= until {
                    return Err(Error::Storage(format!(
                        "all {} files that topics may have open are in use",
                        self.max
                    )));
                }
                // A topic that has stopped writing does not signal that its file may be closed.
                self.freed.wait_for(&mut state, LOOK);
            }
        }
    }

    /// One that a topic keeps until it is asked to let go of it.
    ///
    /// # Errors
    /// None becomes free in time.
    pub(super) fn keep(self: &Arc<Self>, topic: Weak<dyn Keeper>) -> Result<Permit> {
        let mut permit = self.take()?;
        let mut state = self.state.lock();
        state.number += 1;
        permit.number = Some(state.number);
        let number = state.number;
        state.keepers.insert(number, topic);
        drop(state);
        Ok(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.all.state.lock();
        state.used -= 1;
        if let Some(number) = self.number {
            state.keepers.remove(&number);
        }
        drop(state);
        self.all.freed.notify_one();
    }
}
