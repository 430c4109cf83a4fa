//! Parts of finished pages, from which the next one at the same address is made: of a list of a hundred keys, a
//! page whose one key has changed renders one item again.
//!
//! A part is a turn of a loop that depends on nothing but its key (the variables that it reads), the address,
//! the site, and the keys that it reads in the store; for these it has a version of its own. The kept page has
//! the texts: a part is a range of its body.

use std::collections::HashMap;
use std::sync::Arc;

use stdx::hash::hash64;

/// Parts of one page that are kept.
const PARTS_MAX: usize = 4096;
/// Bytes that a part takes besides its key.
const OVERHEAD: usize = 64;

/// A part of a finished page.
#[derive(Debug, Clone)]
struct Part {
    hash: u64,
    key: Arc<[u8]>,
    /// Where its text is in the body.
    start: u32,
    end: u32,
    /// The version of what it has read.
    version: u64,
    /// Until when it is valid, in Unix milliseconds.
    deadline_ms: i64,
}

/// The parts of a finished page, in their order.
#[derive(Debug, Default)]
pub struct Parts(Vec<Part>);

impl Parts {
    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|part| part.key.len() + OVERHEAD).sum()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An earlier page at the same address, made by the same site.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'p> {
    /// Its parts.
    pub parts: &'p Parts,
    /// Its body.
    pub body: &'p [u8],
}

/// The parts of a page while it is rendered.
#[derive(Debug, Default)]
pub(crate) struct Making<'p> {
    earlier: Option<Earlier<'p>>,
    /// Where in the earlier page the next part is expected.
    next: usize,
    /// Places of its parts by their hashes, made when one is not where it was expected.
    places: Option<HashMap<u64, usize>>,
    made: Vec<Part>,
    /// The part that has begun. Its end is not known yet.
    begun: Option<Part>,
    /// How many are from the earlier page.
    pub(crate) kept: u64,
}

impl<'p> Making<'p> {
    pub(crate) fn new(earlier: Option<Earlier<'p>>) -> Self {
        let room = earlier.map_or(0, |earlier| earlier.parts.len());
        Self {
            earlier,
            next: 0,
            places: None,
            made: Vec::with_capacity(room),
            begun: None,
            kept: 0,
        }
    }

    pub(crate) fn hash(key: &[u8]) -> u64 {
        hash64(key)
    }

    /// Whether there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.made.len() < PARTS_MAX
    }

    /// The part with this key in the earlier page: its text, version and deadline, and its place.
    pub(crate) fn find(&mut self, hash: u64, key: &[u8]) -> Option<(&'p str, u64, i64, usize)> {
        let Earlier { parts, body } = self.earlier?;
        let is = |part: &Part| part.hash == hash && *part.key == *key;
        let at = match parts.0.get(self.next) {
            Some(part) if is(part) => self.next,
            // Items have come or gone, or changed their order.
            _ => {
                let place = |(at, part): (usize, &Part)| (part.hash, at);
                let places = || parts.0.iter().enumerate().map(place).collect();
                let at = *self.places.get_or_insert_with(places).get(&hash)?;
                parts.0.get(at).filter(|part| is(part))?;
                at
            }
        };
        self.next = at + 1;
        let part = parts.0.get(at)?;
        let text = std::str::from_utf8(body.get(part.start as usize..part.end as usize)?).ok()?;
        Some((text, part.version, part.deadline_ms, at))
    }

    /// A part of the earlier page becomes one of this page, and begins at `start`.
    pub(crate) fn keep(&mut self, at: usize, start: usize) {
        let Some(part) = self.earlier.and_then(|earlier| earlier.parts.0.get(at)) else { return };
        let (Ok(start), len) = (u32::try_from(start), part.end - part.start) else { return };
        self.kept += 1;
        self.made.push(Part { start, end: start + len, ..part.clone() });
    }

    /// A part begins.
    pub(crate) fn begin(&mut self, hash: u64, key: &[u8], start: usize, version: u64) {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        let key = key.into();
        self.begun = Some(Part { hash, key, start, end: start, version, deadline_ms: 0 });
    }

    /// The part that has begun ends, and is kept if it has a deadline.
    pub(crate) fn end(&mut self, end: usize, deadline_ms: Option<i64>) {
        let (Some(mut part), Some(deadline_ms)) = (self.begun.take(), deadline_ms) else { return };
        let Ok(end) = u32::try_from(end) else { return };
        (part.end, part.deadline_ms) = (end, deadline_ms);
        self.made.push(part);
    }

    /// All parts.
    pub(crate) fn finish(self) -> Parts {
        Parts(self.made)
    }
}
