//! A budget for bytes that wait in memory, to be stored or to be sent to a slow reader. A caller that
//! takes bytes in takes room first, and is refused when there is none: this is the back-pressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use stdx::mem::Apart;

/// A budget of memory, shared by all topics.
#[derive(Debug)]
pub struct Meter {
    taken: AtomicUsize,
    max: usize,
    /// Whether it is for memory that no other meter counts as separate from the keyspace's.
    apart: bool,
}

/// A permit for bytes of a [`Meter`]. Dropping it gives them back.
#[derive(Debug)]
pub struct Permit {
    meter: Arc<Meter>,
    bytes: usize,
    apart: Apart,
}

impl Meter {
    /// A budget of `max` bytes of memory that is counted where it is allocated.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), max, apart: false })
    }

    /// A budget of `max` bytes of memory that does not count towards `maxmemory` while it is taken.
    pub fn apart(max: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), max, apart: true })
    }

    /// Takes room for so many bytes, if there is. A request that is larger than the whole budget gets
    /// room when no other has any.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Permit> {
        self.taken
            .fetch_update(Relaxed, Relaxed, |taken| {
                let now = taken.checked_add(bytes)?;
                (now <= self.max || taken == 0).then_some(now)
            })
            .ok()?;
        let apart = Apart::new(if self.apart { bytes } else { 0 });
        Some(Permit { meter: Arc::clone(self), bytes, apart })
    }

    /// Bytes that there is room for.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Permit {
    /// Makes it exactly so large, if there is room.
    pub fn fit(&mut self, bytes: usize) -> bool {
        let mine = self.bytes;
        let fits = self.meter.taken.fetch_update(Relaxed, Relaxed, |taken| {
            let others = taken.saturating_sub(mine);
            let now = others.checked_add(bytes)?;
            (bytes <= mine || now <= self.meter.max || others == 0).then_some(now)
        });
        if fits.is_ok() {
            self.resized(bytes);
        }
        fits.is_ok()
    }

    /// Takes over the room of another one of the same meter.
    pub fn absorb(&mut self, mut other: Self) {
        assert!(Arc::ptr_eq(&self.meter, &other.meter), "rooms of two meters");
        let bytes = self.bytes + other.bytes;
        other.resized(0);
        self.resized(bytes);
    }

    fn resized(&mut self, bytes: usize) {
        self.bytes = bytes;
        if self.meter.apart {
            self.apart.set(bytes);
        }
    }

    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Permit {
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
        let a = meter.take(6).expect("permit");
        assert!(meter.take(5).is_none());
        let b = meter.take(4).expect("permit");
        assert_eq!((meter.taken(), b.bytes()), (10, 4));
        drop(a);
        assert!(meter.take(11).is_none());
        drop(b);
        assert_eq!(meter.take(11).expect("alone").bytes(), 11);
        let mut a = meter.take(3).expect("permit");
        assert!(a.fit(2) && meter.taken() == 2 && a.fit(9) && meter.taken() == 9);
        let b = meter.take(1).expect("permit");
        assert!(!a.fit(10) && a.bytes() == 9 && meter.taken() == 10);
        drop(b);
        assert!(a.fit(12), "it is alone");
        drop(a);
        let (mut a, b) = (meter.take(3).expect("permit"), meter.take(4).expect("permit"));
        a.absorb(b);
        assert_eq!((a.bytes(), meter.taken()), (7, 7));
        drop(a);
        assert_eq!(meter.taken(), 0);
    }
}
