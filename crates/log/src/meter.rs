//! How much may wait in memory, to be stored or to be sent to a slow reader. Whoever takes bytes in
//! takes room first, and is turned away when there is none: that is the back-pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Room in memory, shared by all topics.
#[derive(Debug)]
pub struct Meter {
    taken: AtomicUsize,
    max: usize,
}

/// Room that was taken. Dropping it gives it back.
#[derive(Debug)]
pub struct Room {
    meter: Arc<Meter>,
    bytes: usize,
}

impl Meter {
    /// Room for `max` bytes.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), max })
    }

    /// Takes room for so many bytes, if there is. Something that is larger than all there may be gets
    /// it when nobody else has any.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Room> {
        self.taken
            .fetch_update(Relaxed, Relaxed, |taken| {
                let now = taken.checked_add(bytes)?;
                (now <= self.max || taken == 0).then_some(now)
            })
            .ok()?;
        Some(Room { meter: Arc::clone(self), bytes })
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Room {
    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.meter.taken.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_and_given_back() {
        let meter = Meter::new(10);
        let a = meter.take(6).expect("room");
        assert!(meter.take(5).is_none());
        let b = meter.take(4).expect("room");
        assert_eq!((meter.taken(), b.bytes()), (10, 4));
        drop(a);
        assert!(meter.take(11).is_none());
        drop(b);
        assert_eq!(meter.take(11).expect("alone").bytes(), 11);
        assert_eq!(meter.taken(), 0);
    }
}
