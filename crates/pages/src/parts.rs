//! Parts of finished pages, from which the next one at the same address is made: of a list of a hundred keys, a
//! page whose one key has changed renders one item again.
//!
//! A part is a turn of a loop that depends on nothing but its key (the variables that it reads), the address,
//! the site, and the keys that it reads in the store. The kept page has the texts: a part is a range of its body. The
//! slots are those of the keys in the store ([`Store::end_part`](crate::Store::end_part)), of whose versions the part
//! has the sum. A loop that is a [fragment](crate::fragments) has parts, too.

use std::collections::HashMap;
use std::ops::Range;

/// Parts of one page that are kept, and bytes of their keys.
const PARTS_MAX: usize = 4096;
const BYTES_MAX: usize = 256 * 1024;

/// A range of a page's bytes.
#[derive(Debug, Clone, Copy)]
struct Span(u32, u32);

impl Span {
    /// Pages and what is kept of them are smaller than that.
    fn new(start: usize, end: usize) -> Self {
        let to_u32 = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self(to_u32(start), to_u32(end))
    }

    fn range(self) -> Range<usize> {
        self.0 as usize..self.1 as usize
    }
}

/// A part of a finished page.
#[derive(Debug, Clone, Copy)]
struct Part {
    hash: u64,
    /// The versions of what it has read, added up.
    version: u64,
    /// Until when it is valid, in Unix milliseconds.
    deadline_ms: i64,
    key: Span,
    slots: Span,
    /// Its text in the body.
    text: Span,
}

/// The parts of a finished page, in their order.
#[derive(Debug, Default)]
pub struct Parts {
    parts: Vec<Part>,
    /// Their keys.
    bytes: Vec<u8>,
    /// Slots of what they have read.
    slots: Vec<u32>,
}

impl Parts {
    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<Part>()
            + self.bytes.capacity()
            + self.slots.capacity() * size_of::<u32>()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    fn key(&self, part: &Part) -> &[u8] {
        self.bytes.get(part.key.range()).unwrap_or_default()
    }

    /// Adds a key.
    fn add(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span::new(start, self.bytes.len())
    }
}

/// An earlier page at the same address, made by the same site; or an earlier text of a loop.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'p> {
    /// Its parts.
    pub parts: &'p Parts,
    /// Its body.
    pub body: &'p [u8],
}

/// A part of the earlier page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'p> {
    part: &'p Part,
    key: &'p [u8],
    /// Its text.
    pub(crate) text: &'p [u8],
    pub(crate) slots: &'p [u32],
    pub(crate) version: u64,
    pub(crate) deadline_ms: i64,
}

/// A part that has begun.
#[derive(Debug)]
struct Begun {
    hash: u64,
    key: Span,
    start: usize,
}

/// The parts of a page, or of a loop, while it is rendered.
#[derive(Debug, Default)]
pub(crate) struct Making {
    /// Where in the earlier page the next part is expected.
    next: usize,
    /// Places of its parts by their hashes, made when one is not where it was expected.
    places: Option<HashMap<u64, usize>>,
    made: Parts,
    /// The part that has begun.
    begun: Option<Begun>,
}

impl Making {
    /// As many parts are expected as the earlier page has.
    pub(crate) fn new(earlier: Option<Earlier<'_>>) -> Self {
        let mut made = Parts::default();
        if let Some(Earlier { parts, .. }) = earlier {
            made.parts.reserve_exact(parts.parts.len());
            made.bytes.reserve_exact(parts.bytes.len());
            made.slots.reserve_exact(parts.slots.len());
        }
        Self { made, ..Self::default() }
    }

    /// Whether a part has begun.
    pub(crate) fn is_within(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether a part may begin: none has, and there is room for one more.
    pub(crate) fn may_begin(&self) -> bool {
        self.begun.is_none()
            && self.made.parts.len() < PARTS_MAX
            && self.made.bytes.len() < BYTES_MAX
    }

    /// The part with this key in the earlier page.
    pub(crate) fn find<'p>(
        &mut self,
        earlier: Option<Earlier<'p>>,
        hash: u64,
        key: &[u8],
    ) -> Option<Found<'p>> {
        let Earlier { parts, body } = earlier?;
        let is = |part: &Part| part.hash == hash && *parts.key(part) == *key;
        let at = match parts.parts.get(self.next) {
            Some(part) if is(part) => self.next,
            // Items have come or gone, or changed their order.
            _ => {
                let place = |(at, part): (usize, &Part)| (part.hash, at);
                let places = || parts.parts.iter().enumerate().map(place).collect();
                let at = *self.places.get_or_insert_with(places).get(&hash)?;
                parts.parts.get(at).filter(|part| is(part))?;
                at
            }
        };
        self.next = at + 1;
        let part = parts.parts.get(at)?;
        let text = body.get(part.text.range())?;
        let slots = parts.slots.get(part.slots.range())?;
        let (version, deadline_ms) = (part.version, part.deadline_ms);
        Some(Found { part, key: parts.key(part), text, slots, version, deadline_ms })
    }

    /// A part of the earlier page becomes one of this page. Its text begins at `start`.
    pub(crate) fn keep(&mut self, found: &Found<'_>, start: usize) {
        let key = self.made.add(found.key);
        let slots = self.made.slots.len();
        self.made.slots.extend_from_slice(found.slots);
        let slots = Span::new(slots, self.made.slots.len());
        let text = Span::new(start, start + found.text.len());
        self.made.parts.push(Part { key, slots, text, ..*found.part });
    }

    /// A part begins.
    pub(crate) fn begin(&mut self, hash: u64, key: &[u8], start: usize) {
        let key = self.made.add(key);
        self.begun = Some(Begun { hash, key, start });
    }

    /// The part that has begun ends at `end` of the text. It is kept if `valid` says its version and deadline; that
    /// adds its slots.
    pub(crate) fn end(
        &mut self,
        end: usize,
        valid: impl FnOnce(&mut Vec<u32>) -> Option<(u64, i64)>,
    ) {
        let before = self.made.slots.len();
        let valid = valid(&mut self.made.slots);
        let Some(Begun { hash, key, start }) = self.begun.take() else { return };
        let Some((version, deadline_ms)) = valid else {
            self.made.slots.truncate(before);
            self.made.bytes.truncate(key.0 as usize);
            return;
        };
        let slots = Span::new(before, self.made.slots.len());
        let text = Span::new(start, end);
        self.made.parts.push(Part { hash, version, deadline_ms, key, slots, text });
    }

    /// All parts.
    pub(crate) fn finish(self) -> Parts {
        self.made
    }
}
