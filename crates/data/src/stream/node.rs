//! A run of entries in one allocation.
//!
//! ```text
//!  | fields n | field … | entry | entry | …
//!  entry = | flags 1 | ms, if LATER | seq, if its code is 31 | n, if OWN | (field) value … |
//!  flags = | seq code 5 bits | LATER | OWN | DELETED |
//! ```
//!
//! IDs are told by their difference to the entry before (the first has the node's own), so that
//! the usual entry spends one or two bytes on its ID. An entry whose fields are those of the
//! node's first keeps values only. Texts that read as integers are kept as such.
//!
//! Which entries share a node is Redis's choice, because trimming with `~` shows it: a node knows
//! how long Redis's listpack of the same entries would be.

use crate::packed::Item;

use super::id::Id;

const DELETED: u8 = 1;
const OWN: u8 = 2;
const LATER: u8 = 4;
const SEQ_SHIFT: u32 = 3;
/// The sequence number follows.
const SEQ_FOLLOWS: u64 = 31;

/// Bytes of a listpack without elements, and of the terminator of Redis's master entry.
const LISTPACK: usize = 6 + 1 + 2;

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The ID of its first entry.
    pub(super) first: Id,
    bytes: Vec<u8>,
    /// Where the entries begin.
    body: u32,
    /// Entries that are not deleted.
    pub(super) live: u32,
    /// Entries; none when the node was removed and only its place is left.
    pub(super) total: u32,
    /// Bytes of Redis's listpack, without its counts of entries.
    listpack: u32,
}

/// An entry found in a node.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) id: Id,
    pub(super) deleted: bool,
    /// Where the entry begins.
    start: usize,
    /// Where its texts begin.
    at: usize,
    fields: usize,
    own: bool,
}

fn put_uint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn uint(b: &[u8], at: &mut usize) -> Option<u64> {
    let (mut n, mut shift) = (0, 0);
    loop {
        let byte = *b.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Appends a text: its length in front, or an integer of as few bytes as it needs.
fn put_text(out: &mut Vec<u8>, item: Item<'_>) {
    match item {
        Item::Int(n @ 0..64) => out.push(0x80 | n as u8),
        Item::Int(n) => {
            let spare = if n < 0 { n.leading_ones() } else { n.leading_zeros() } - 1;
            let len = 8 - spare as usize / 8;
            out.push(0xe0 | len as u8);
            out.extend_from_slice(&n.to_le_bytes()[..len]);
        }
        Item::Bytes(b) => {
            match b.len() {
                n @ 0..0x80 => out.push(n as u8),
                n @ 0x80..0x2000 => out.extend_from_slice(&[0xc0 | (n >> 8) as u8, n as u8]),
                n => {
                    out.push(0xe0);
                    out.extend_from_slice(&(n as u32).to_le_bytes());
                }
            }
            out.extend_from_slice(b);
        }
    }
}

/// The text at `at`, and where it ends.
#[inline]
fn text(b: &[u8], at: usize) -> Option<(Item<'_>, usize)> {
    let head = *b.get(at)?;
    let (from, len) = match head {
        0..0x80 => (at + 1, usize::from(head)),
        0x80..0xc0 => return Some((Item::Int((head & 0x3f).into()), at + 1)),
        0xc0..0xe0 => (at + 2, usize::from(head & 0x1f) << 8 | usize::from(*b.get(at + 1)?)),
        0xe0 => (at + 5, u32::from_le_bytes(b.get(at + 1..at + 5)?.try_into().ok()?) as usize),
        _ => {
            let len = usize::from(head & 0x1f);
            let bytes = b.get(at + 1..at + 1 + len)?;
            let mut wide = [if bytes.last()? & 0x80 == 0 { 0 } else { 0xff }; 8];
            wide.get_mut(..len)?.copy_from_slice(bytes);
            return Some((Item::Int(i64::from_le_bytes(wide)), at + 1 + len));
        }
    };
    Some((Item::Bytes(b.get(from..from.checked_add(len)?)?), from + len))
}

/// Where the text at `at` ends.
#[inline]
fn skip(b: &[u8], at: usize) -> Option<usize> {
    let head = *b.get(at)?;
    if head < 0x80 { Some(at + 1 + usize::from(head)) } else { Some(text(b, at)?.1) }
}

impl Node {
    /// A node for an entry of these fields, which is not in it yet.
    pub(super) fn new<'a>(first: Id, fields: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let mut bytes = Vec::new();
        let n = fields.len();
        put_uint(&mut bytes, n as u64);
        let mut listpack = LISTPACK + Item::Int(n as i64).encoded_len();
        for field in fields {
            let item = Item::of(field);
            listpack += item.encoded_len();
            // Bounded by the caller, so that offsets of 32 bits reach everything.
            grow(&mut bytes, field.len() + 8);
            put_text(&mut bytes, item);
        }
        let body = bytes.len() as u32;
        Self { first, bytes, body, live: 0, total: 0, listpack: saturate(listpack) }
    }

    /// Bytes that it holds from the allocator.
    pub(super) fn allocated(&self) -> usize {
        super::allocated::<u8>(self.bytes.capacity())
    }

    /// Bytes of the listpack that Redis would keep.
    pub(super) fn listpack_len(&self) -> usize {
        let count = |n: u32| Item::Int(n.into()).encoded_len();
        self.listpack as usize + count(self.live) + count(self.total - self.live)
    }

    /// Gives back what the node will not need, now that nothing will be added to it.
    pub(super) fn seal(&mut self) {
        let class = stdx::mem::size_class(self.bytes.len());
        if class < self.bytes.capacity() {
            self.bytes.shrink_to(class);
        }
    }

    /// Frees the entries; the place stays.
    pub(super) fn clear(&mut self) {
        self.bytes = Vec::new();
        (self.body, self.live, self.total, self.listpack) = (0, 0, 0, 0);
    }

    /// Whether the node's first entry had exactly these fields.
    fn has_fields<'a>(&self, fields: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
        let mut at = 0;
        if uint(&self.bytes, &mut at) != Some(fields.len() as u64) {
            return false;
        }
        for field in fields {
            match text(&self.bytes, at) {
                Some((Item::Bytes(b), next)) if b == field => at = next,
                Some((int @ Item::Int(_), next)) if Item::of(field) == int => at = next,
                _ => return false,
            }
        }
        true
    }

    /// Adds an entry behind the last, which has the ID `last` (none: this is the first), with
    /// fields and values in turn.
    pub(super) fn push<'a, I>(&mut self, last: Option<Id>, id: Id, texts: I, total_len: usize)
    where
        I: ExactSizeIterator<Item = &'a [u8]> + Clone,
    {
        let n = texts.len() / 2;
        let same = self.has_fields(EveryOther(texts.clone()));
        grow(&mut self.bytes, total_len + 5 * texts.len() + 32);
        let mut flags = if same { 0 } else { OWN };
        let later = last.map_or(0, |last| id.ms - last.ms);
        let seq = match last {
            None => 0,
            Some(last) if later == 0 => id.seq - last.seq - 1,
            Some(_) => id.seq,
        };
        if later != 0 {
            flags |= LATER;
        }
        self.bytes.push(flags | (seq.min(SEQ_FOLLOWS) as u8) << SEQ_SHIFT);
        if later != 0 {
            put_uint(&mut self.bytes, later);
        }
        if seq >= SEQ_FOLLOWS {
            put_uint(&mut self.bytes, seq);
        }
        // Flags, the two differences to the first ID, and the count of elements at the end.
        let int = |n: u64| Item::Int(n as i64).encoded_len();
        let mut listpack = 2
            + int(id.ms.wrapping_sub(self.first.ms))
            + int(id.seq.wrapping_sub(self.first.seq))
            + int(if same { n + 3 } else { 2 * n + 4 } as u64);
        if !same {
            put_uint(&mut self.bytes, n as u64);
            listpack += int(n as u64);
        }
        for (i, bytes) in texts.enumerate() {
            if same && i % 2 == 0 {
                continue;
            }
            let item = Item::of(bytes);
            listpack += item.encoded_len();
            put_text(&mut self.bytes, item);
        }
        self.live += 1;
        self.total += 1;
        self.listpack = self.listpack.saturating_add(saturate(listpack));
    }

    /// The entries from the first on, deleted ones included.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries { node: self, at: self.body as usize, last: None }
    }

    /// The ID of the last entry, deleted or not.
    pub(super) fn last_id(&self) -> Option<Id> {
        self.entries().last().map(|e| e.id)
    }

    /// Marks an entry as deleted.
    pub(super) fn delete(&mut self, found: Found) {
        if let Some(flags) = self.bytes.get_mut(found.start)
            && *flags & DELETED == 0
        {
            *flags |= DELETED;
            self.live -= 1;
        }
    }

    /// The fields and values of an entry.
    pub(super) fn fields(&self, found: Found) -> Fields<'_> {
        let mut field_at = 0;
        if !found.own {
            uint(&self.bytes, &mut field_at);
        }
        Fields { bytes: &self.bytes, field_at, at: found.at, left: found.fields, own: found.own }
    }
}

fn saturate(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Makes room for `more` bytes, in steps that fill size classes.
fn grow(bytes: &mut Vec<u8>, more: usize) {
    let (len, needed) = (bytes.len(), bytes.len() + more);
    if needed > bytes.capacity() {
        let class = stdx::mem::size_class(needed + len / 2);
        bytes.reserve_exact(class - len);
    }
}

/// The fields of fields and values in turn.
#[derive(Clone)]
pub(super) struct EveryOther<I>(pub(super) I);

impl<I: ExactSizeIterator> Iterator for EveryOther<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let field = self.0.next();
        self.0.next();
        field
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.0.len() / 2;
        (n, Some(n))
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for EveryOther<I> {}

/// See [`Node::entries`].
pub(super) struct Entries<'a> {
    node: &'a Node,
    at: usize,
    last: Option<Id>,
}

impl Iterator for Entries<'_> {
    type Item = Found;

    #[inline]
    fn next(&mut self) -> Option<Found> {
        let b = &self.node.bytes[..];
        let mut at = self.at;
        let flags = *b.get(at)?;
        at += 1;
        let later = if flags & LATER == 0 { 0 } else { uint(b, &mut at)? };
        let mut seq = u64::from(flags >> SEQ_SHIFT);
        if seq == SEQ_FOLLOWS {
            seq = uint(b, &mut at)?;
        }
        let id = match self.last {
            None => self.node.first,
            Some(last) if later == 0 => {
                Id { seq: last.seq.wrapping_add(seq).wrapping_add(1), ..last }
            }
            Some(last) => Id { ms: last.ms.wrapping_add(later), seq },
        };
        let own = flags & OWN != 0;
        let mut head = 0;
        let fields = uint(b, if own { &mut at } else { &mut head })? as usize;
        let found = Found { id, deleted: flags & DELETED != 0, start: self.at, at, fields, own };
        for _ in 0..if own { 2 * fields } else { fields } {
            at = skip(b, at)?;
        }
        self.at = at;
        self.last = Some(id);
        Some(found)
    }
}

/// The fields and values of one entry.
#[derive(Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    field_at: usize,
    at: usize,
    left: usize,
    own: bool,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Item<'a>, Item<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let field_at = if self.own { &mut self.at } else { &mut self.field_at };
        let (field, next) = text(self.bytes, *field_at)?;
        *field_at = next;
        let (value, next) = text(self.bytes, self.at)?;
        self.at = next;
        Some((field, value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Fields<'_> {}
