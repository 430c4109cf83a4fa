//! Fragments: what pages of a site have in common. A loop that asks for nothing of its page is rendered once for all
//! pages that show it, and a command is run once for all that call it.
//!
//! A fragment is a reader of keys of its own, like a page: it is valid while its number in the table of reads has the
//! version that it had before the fragment was made ([`Dependency`]). A page that shows it is not told of changes of its
//! keys; it depends on the fragment, too.
//!
//! Memory is bounded: fragments are in two generations. One that is used moves to the young one; when that is full, it
//! becomes the old one, and what was old goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::RwLock;
use stdx::hash::Seeded;

use crate::parts::Parts;

const STRIPES: usize = 16;
/// Bytes that a fragment takes besides its own.
const OVERHEAD: usize = 96;

/// A reader of keys, and the version of what it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// Its number.
    pub reader: u64,
    /// See [`Store::begin_fragment`](crate::Store::begin_fragment).
    pub version: u64,
}

/// What a fragment is.
#[derive(Debug)]
pub(crate) enum What {
    /// The text of a loop, and its turns.
    Loop(String, Parts),
    /// The reply of a command.
    Reply(Vec<u8>),
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) key: Box<[u8]>,
    pub(crate) what: What,
    pub(crate) depends: Box<[Dependency]>,
    /// Until when it is valid, in Unix milliseconds.
    pub(crate) deadline_ms: i64,
}

impl Fragment {
    fn bytes(&self) -> usize {
        let what = match &self.what {
            What::Loop(text, parts) => text.capacity() + parts.bytes(),
            What::Reply(reply) => reply.capacity(),
        };
        let depends = size_of_val::<[Dependency]>(&self.depends);
        size_of::<Self>() + self.key.len() + depends + what + OVERHEAD
    }
}

type Generation = HashMap<u64, Arc<Fragment>, Seeded>;

#[derive(Debug, Default)]
struct Stripe {
    young: Generation,
    old: Generation,
    young_bytes: usize,
    old_bytes: usize,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Fragments {
    stripes: [RwLock<Stripe>; STRIPES],
    bytes: AtomicUsize,
}

impl Fragments {
    fn stripe(&self, hash: u64) -> &RwLock<Stripe> {
        &self.stripes[hash as usize % STRIPES]
    }

    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The fragment with this key, valid or not.
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<Arc<Fragment>> {
        let is = |found: &&Arc<Fragment>| *found.key == *key;
        let stripe = self.stripe(hash).read();
        if let Some(found) = stripe.young.get(&hash) {
            return Some(found).filter(is).map(Arc::clone);
        }
        stripe.old.get(&hash).filter(is)?;
        drop(stripe);
        let mut stripe = self.stripe(hash).write();
        let found = stripe.old.remove(&hash)?;
        let bytes = found.bytes();
        stripe.old_bytes -= bytes;
        stripe.young_bytes += bytes;
        if let Some(other) = stripe.young.insert(hash, Arc::clone(&found)) {
            // Another thread has made it anew meanwhile.
            stripe.young_bytes -= other.bytes();
            self.bytes.fetch_sub(other.bytes(), Relaxed);
        }
        Some(found).filter(|found| is(&found))
    }

    /// Makes room, so that all of them have `max` bytes.
    pub(crate) fn shrink(&self, max: usize) {
        for stripe in &self.stripes {
            let mut stripe = stripe.write();
            let bytes = stripe.young_bytes + stripe.old_bytes;
            if bytes > max / STRIPES {
                *stripe = Stripe::default();
                self.bytes.fetch_sub(bytes, Relaxed);
            }
        }
    }

    /// Keeps a fragment, within `max` bytes of all of them.
    pub(crate) fn put(&self, hash: u64, fragment: Fragment, max: usize) {
        let (bytes, most) = (fragment.bytes(), max / STRIPES / 2);
        if bytes > most {
            return;
        }
        let mut stripe = self.stripe(hash).write();
        let mut gone = 0;
        if let Some(before) = stripe.old.remove(&hash) {
            stripe.old_bytes -= before.bytes();
            gone += before.bytes();
        }
        if let Some(before) = stripe.young.insert(hash, Arc::new(fragment)) {
            stripe.young_bytes -= before.bytes();
            gone += before.bytes();
        }
        stripe.young_bytes += bytes;
        if stripe.young_bytes > most {
            gone += stripe.old_bytes;
            stripe.old = std::mem::take(&mut stripe.young);
            stripe.old_bytes = std::mem::take(&mut stripe.young_bytes);
        }
        self.bytes.fetch_add(bytes, Relaxed);
        self.bytes.fetch_sub(gone, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(key: &str, bytes: usize) -> Fragment {
        let what = What::Reply(vec![0; bytes]);
        Fragment { key: key.as_bytes().into(), what, depends: Box::default(), deadline_ms: 0 }
    }

    #[test]
    fn memory_is_bounded_and_used_fragments_stay() {
        let fragments = Fragments::default();
        let max = STRIPES * 20_000;
        for i in 0..1000 {
            let key = format!("{i}");
            fragments.put(i * STRIPES as u64, fragment(&key, 1000), max);
            assert!(fragments.bytes() <= 20_000 + 1300, "{i}: {}", fragments.bytes());
            assert!(fragments.get(0, b"0").is_some(), "{i}");
            assert!(fragments.get(i * STRIPES as u64, b"another").is_none());
        }
        assert!(fragments.bytes() > 10_000 && fragments.get(STRIPES as u64, b"1").is_none());
        fragments.put(0, fragment("0", 20_000), max);
        fragments.put(0, fragment("0", 1), max);
        let all = |of: fn(&Stripe) -> &Generation| {
            let stripe = fragments.stripes[0].read();
            of(&stripe).values().map(|fragment| fragment.bytes()).sum::<usize>()
        };
        assert_eq!(fragments.bytes(), all(|s| &s.young) + all(|s| &s.old));
        fragments.shrink(max);
        assert!(fragments.get(0, b"0").is_some());
        fragments.shrink(STRIPES * 100);
        assert!(fragments.get(0, b"0").is_none() && fragments.bytes() == 0);
    }
}
