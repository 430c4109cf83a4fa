//! How many requests an endpoint has: so many at one time, and so many more that wait. An application that is away or
//! slow takes its own places and not those of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::{Semaphore, SemaphorePermit};

/// See the module's text.
pub(crate) struct Gate {
    turns: Semaphore,
    pending: AtomicUsize,
    pending_max: usize,
}

/// A place among the requests of an endpoint.
pub(crate) struct Place(Arc<Gate>);

impl Gate {
    pub(crate) fn new(turns: usize, pending_max: usize) -> Self {
        Self { turns: Semaphore::new(turns), pending: AtomicUsize::new(0), pending_max }
    }

    /// A place; `None`: all are taken.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Place> {
        let max = self.pending_max;
        let taken = self.pending.fetch_update(Relaxed, Relaxed, |n| (n < max).then_some(n + 1));
        taken.is_ok().then(|| Place(Arc::clone(self)))
    }
}

impl Place {
    /// Waits for a connection that may be used.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.0.turns.acquire().await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let gate = Arc::new(Gate::new(1, 2));
        let (first, second) = (gate.enter(), gate.enter());
        assert!(first.is_some() && second.is_some());
        assert!(gate.enter().is_none());
        drop(first);
        assert!(gate.enter().is_some());
    }
}
