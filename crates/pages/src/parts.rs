//! Parts of finished pages, from which the next one at the same address is made: of a list of a hundred keys, a
//! page whose one key has changed renders one item again.
//!
//! A part is a turn of a loop that depends on nothing but its key (the variables that it reads), the address,
//! the site, and the keys that it reads in the store; or the reply of a command outside of such a turn, whose key is
//! the command. The kept page has the texts: a part is a range of its body. The slots are those of the keys in the
//! store ([`Store::end_part`](crate::Store::end_part)), of whose versions the part has the sum.
//!
//! A whole loop is a part, too, with parts of its own for the time when one of them has changed. Pages that are made one
//! from the other share it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use stdx::hash::hash64;

/// Parts of one page that are kept, and bytes of their keys and replies.
const PARTS_MAX: usize = 4096;
const BYTES_MAX: usize = 256 * 1024;
/// Loops of one page that are kept, and slots of one.
const LOOPS_MAX: usize = 64;
const LOOP_SLOTS_MAX: usize = 4096;
/// Bytes of a reply that is kept.
const REPLY_MAX: usize = 4096;

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
    /// Its text in the body, or a reply behind the keys.
    text: Span,
    is_reply: bool,
}

/// The parts of a finished page, in their order.
#[derive(Debug, Default)]
pub struct Parts {
    parts: Vec<Part>,
    /// Their keys and replies.
    bytes: Vec<u8>,
    /// Slots of what they have read; in a loop, at the end those of what it has read besides.
    slots: Vec<u32>,
    loops: Vec<Placed>,
}

/// A loop, and where in the body its text begins.
#[derive(Debug)]
struct Placed {
    start: u32,
    part: Arc<LoopPart>,
}

/// A loop of a finished page.
#[derive(Debug)]
pub(crate) struct LoopPart {
    hash: u64,
    key: Box<[u8]>,
    /// The versions of all that was read in it, added up, and until when they are valid; none: it depends on more.
    valid: Option<(u64, i64)>,
    /// Bytes of its text.
    len: u32,
    /// Its parts. Their texts are ranges of its own.
    parts: Parts,
}

impl LoopPart {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.parts.bytes()
    }

    /// Slots of all that was read in it.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.parts.slots
    }

    /// See the field.
    pub(crate) fn valid(&self) -> Option<(u64, i64)> {
        self.valid
    }
}

impl Parts {
    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<Part>()
            + self.bytes.capacity()
            + self.slots.capacity() * size_of::<u32>()
            + self.loops.capacity() * size_of::<Placed>()
            + self.loops.iter().map(|placed| placed.part.bytes()).sum::<usize>()
    }

    fn key(&self, part: &Part) -> &[u8] {
        self.bytes.get(part.key.range()).unwrap_or_default()
    }

    /// How many texts there are.
    fn texts(&self) -> usize {
        self.parts.iter().filter(|part| !part.is_reply).count()
    }

    /// Adds a key or a reply.
    fn add(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span::new(start, self.bytes.len())
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

/// A part of the earlier page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'p> {
    at: usize,
    /// Its text, or a reply.
    pub(crate) bytes: &'p [u8],
    pub(crate) slots: &'p [u32],
    pub(crate) version: u64,
    pub(crate) deadline_ms: i64,
}

/// What a part has become.
pub(crate) enum End<'r> {
    /// The text up to here.
    Text(usize),
    /// This reply.
    Reply(&'r [u8]),
}

/// A part that has begun.
#[derive(Debug)]
struct Begun {
    hash: u64,
    key: Span,
    start: usize,
}

/// A loop of the earlier page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundLoop<'p> {
    pub(crate) part: &'p Arc<LoopPart>,
    /// Its text.
    pub(crate) text: &'p [u8],
}

/// A loop that has begun.
#[derive(Debug)]
struct Within<'p> {
    hash: u64,
    key: Box<[u8]>,
    start: usize,
    making: Making<'p>,
}

/// What a loop has read in parts that are not kept.
#[derive(Debug, Default)]
struct Loose {
    slots: Vec<u32>,
    version: u64,
    /// One of them depends on more than few keys.
    lasts_not: bool,
    deadline_ms: Option<i64>,
}

/// The parts of a page, or of a loop, while it is rendered.
#[derive(Debug, Default)]
pub(crate) struct Making<'p> {
    earlier: Option<Earlier<'p>>,
    /// Where in the earlier page the next part is expected.
    next: usize,
    /// Places of its parts by their hashes, made when one is not where it was expected.
    places: Option<HashMap<u64, usize>>,
    made: Parts,
    /// The part that has begun.
    begun: Option<Begun>,
    /// The loop that has begun: what follows belongs to it.
    within: Option<Box<Within<'p>>>,
    loose: Loose,
    /// How many texts are from the earlier page.
    pub(crate) kept: u64,
}

impl<'p> Making<'p> {
    pub(crate) fn new(earlier: Option<Earlier<'p>>) -> Self {
        let mut made = Parts::default();
        if let Some(Earlier { parts, .. }) = earlier {
            made.parts.reserve_exact(parts.parts.len());
            made.bytes.reserve_exact(parts.bytes.len());
            made.slots.reserve_exact(parts.slots.len());
            made.loops.reserve_exact(parts.loops.len());
        }
        Self { earlier, made, ..Self::default() }
    }

    pub(crate) fn hash(key: &[u8]) -> u64 {
        hash64(key)
    }

    /// Whether a part may begin: none has, and there is room for one more.
    pub(crate) fn may_begin(&self) -> bool {
        if let Some(within) = &self.within {
            return within.making.may_begin();
        }
        self.begun.is_none()
            && self.made.parts.len() < PARTS_MAX
            && self.made.bytes.len() < BYTES_MAX
    }

    /// Whether a loop may begin as a part.
    pub(crate) fn may_begin_loop(&self) -> bool {
        self.within.is_none() && self.may_begin() && self.made.loops.len() < LOOPS_MAX
    }

    /// The part with this key in the earlier page.
    pub(crate) fn find(&mut self, hash: u64, key: &[u8], is_reply: bool) -> Option<Found<'p>> {
        if let Some(within) = &mut self.within {
            return within.making.find(hash, key, is_reply);
        }
        let Earlier { parts, body } = self.earlier?;
        let is = |part: &Part| {
            part.hash == hash && part.is_reply == is_reply && *parts.key(part) == *key
        };
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
        let within = if is_reply { parts.bytes.as_slice() } else { body };
        let bytes = within.get(part.text.range())?;
        let slots = parts.slots.get(part.slots.range())?;
        let (version, deadline_ms) = (part.version, part.deadline_ms);
        Some(Found { at, bytes, slots, version, deadline_ms })
    }

    /// The loop with this key in the earlier page.
    pub(crate) fn find_loop(&self, hash: u64, key: &[u8]) -> Option<FoundLoop<'p>> {
        let Earlier { parts, body } = self.earlier?;
        let is = |placed: &&Placed| placed.part.hash == hash && *placed.part.key == *key;
        let Placed { start, part } = parts.loops.iter().find(is)?;
        let text = body.get(Span(*start, start.saturating_add(part.len)).range())?;
        Some(FoundLoop { part, text })
    }

    /// A part of the earlier page becomes one of this page. Its text begins at `start`.
    pub(crate) fn keep(&mut self, found: &Found<'p>, start: usize) {
        if let Some(within) = &mut self.within {
            return within.making.keep(found, start.saturating_sub(within.start));
        }
        let Some(earlier) = self.earlier else { return };
        let Some(part) = earlier.parts.parts.get(found.at) else { return };
        let key = self.made.add(earlier.parts.key(part));
        let slots = self.made.slots.len();
        self.made.slots.extend_from_slice(found.slots);
        let slots = Span::new(slots, self.made.slots.len());
        let text = if part.is_reply {
            self.made.add(found.bytes)
        } else {
            self.kept += 1;
            Span::new(start, start + found.bytes.len())
        };
        self.made.parts.push(Part { key, slots, text, ..*part });
    }

    /// A loop of the earlier page becomes one of this page. Its text begins at `start`.
    pub(crate) fn keep_loop(&mut self, found: FoundLoop<'p>, start: usize) {
        self.kept += found.part.parts.texts() as u64;
        let Span(start, _) = Span::new(start, start);
        self.made.loops.push(Placed { start, part: Arc::clone(found.part) });
    }

    /// A part begins.
    pub(crate) fn begin(&mut self, hash: u64, key: &[u8], start: usize) {
        if let Some(within) = &mut self.within {
            return within.making.begin(hash, key, start.saturating_sub(within.start));
        }
        let key = self.made.add(key);
        self.begun = Some(Begun { hash, key, start });
    }

    /// A loop begins, which was perhaps in the earlier page.
    pub(crate) fn begin_loop(
        &mut self,
        hash: u64,
        key: &[u8],
        start: usize,
        found: Option<FoundLoop<'p>>,
    ) {
        let earlier = found.map(|found| Earlier { parts: &found.part.parts, body: found.text });
        let making = Making::new(earlier);
        self.within = Some(Box::new(Within { hash, key: key.into(), start, making }));
    }

    /// The part that has begun ends. It is kept if `end` says its version and deadline; that adds its slots.
    pub(crate) fn end(
        &mut self,
        made: End<'_>,
        end: impl FnOnce(&mut Vec<u32>) -> Option<(u64, i64)>,
    ) {
        if let Some(within) = &mut self.within {
            let made = match made {
                End::Text(end) => End::Text(end.saturating_sub(within.start)),
                End::Reply(reply) => End::Reply(reply),
            };
            return within.making.end(made, end);
        }
        let before = self.made.slots.len();
        let valid = end(&mut self.made.slots);
        self.loose.lasts_not |= valid.is_none();
        let Some(Begun { hash, key, start }) = self.begun.take() else { return };
        let is_reply = matches!(made, End::Reply(_));
        let fits = match made {
            End::Text(_) => true,
            // An error is not kept.
            End::Reply(reply) => reply.len() <= REPLY_MAX && !reply.starts_with(b"-"),
        };
        let Some((version, deadline_ms)) = valid.filter(|_| fits) else {
            if let Some((version, deadline_ms)) = valid {
                self.loose.add(&self.made.slots[before..], version, deadline_ms);
            }
            self.made.slots.truncate(before);
            self.made.bytes.truncate(key.0 as usize);
            return;
        };
        let slots = Span::new(before, self.made.slots.len());
        let text = match made {
            End::Text(end) => Span::new(start, end),
            End::Reply(reply) => self.made.add(reply),
        };
        let part = Part { hash, version, deadline_ms, key, slots, text, is_reply };
        self.made.parts.push(part);
    }

    /// The loop that has begun ends at `end` of the text. `read` says the version and the deadline of what it has read
    /// besides its parts, and adds the slots of that.
    pub(crate) fn end_loop(
        &mut self,
        end: usize,
        read: impl FnOnce(&mut Vec<u32>) -> Option<(u64, i64)>,
    ) {
        let Some(within) = self.within.take() else { return };
        let Within { hash, key, start, making } = *within;
        let Making { made: mut parts, loose, kept, .. } = making;
        self.kept += kept;
        let own = read(&mut parts.slots).filter(|_| !loose.lasts_not);
        parts.slots.extend_from_slice(&loose.slots);
        let valid = own.filter(|_| parts.slots.len() <= LOOP_SLOTS_MAX).map(|own| {
            let of_parts = parts.parts.iter().map(|part| (part.version, part.deadline_ms));
            let of_loose = (loose.version, loose.deadline_ms.unwrap_or(i64::MAX));
            of_parts.fold(sum(own, of_loose), sum)
        });
        if valid.is_some() || !parts.parts.is_empty() {
            let Span(start, end) = Span::new(start, end);
            let part = LoopPart { hash, key, valid, len: end.saturating_sub(start), parts };
            self.made.loops.push(Placed { start, part: Arc::new(part) });
        }
    }

    /// All parts.
    pub(crate) fn finish(self) -> Parts {
        self.made
    }
}

/// Two versions added up, and the first of their deadlines.
fn sum(a: (u64, i64), b: (u64, i64)) -> (u64, i64) {
    (a.0.wrapping_add(b.0), a.1.min(b.1))
}

impl Loose {
    fn add(&mut self, slots: &[u32], version: u64, deadline_ms: i64) {
        self.slots.extend_from_slice(slots);
        self.version = self.version.wrapping_add(version);
        self.deadline_ms = Some(self.deadline_ms.unwrap_or(i64::MAX).min(deadline_ms));
    }
}
