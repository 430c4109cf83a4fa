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
//! node's first keeps values only, and of these what differs from the first entry's: nothing if
//! they are the same, the difference of integers, what follows a common beginning. Texts that read
//! as integers are kept as such. The first byte of a text:
//!
//! ```text
//!  00-3f  a string of so many bytes      80-bf  an integer from 0 to 63    e1-e8  an integer of
//!  40-7f  so many bytes behind a common  c0-df  a string, length 13 bits          1 to 8 bytes
//!         beginning, length 1 byte       e0     a string, length 4 bytes   e9     the same
//!                                                                          f1-f7  the difference
//! ```
//!
//! Which entries share a node is Redis's choice, because trimming with `~` shows it: a node knows
//! how long Redis's listpack of the same entries would be.

use stdx::mem::allocated;

use crate::chunked::Leaf;
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
    /// Entries.
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
    /// Whether it has other fields than the first entry.
    pub(super) own: bool,
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

/// Longest beginning and longest rest of a text of two parts.
const COMMON_MAX: usize = 255;
const REST_MAX: usize = 63;
/// Longest text of two parts, which is also longer than any integer.
pub const JOINED_MAX: usize = COMMON_MAX + REST_MAX;
/// A text that is as short as this has nothing to gain from a common beginning.
const COMMON_MIN: usize = 3;
const SAME: u8 = 0xe9;

/// A field or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A text that reads as a canonical integer.
    Int(i64),
    /// Any other text.
    Bytes(&'a [u8]),
    /// Any other, in two parts of at most [`JOINED_MAX`] bytes together.
    Joined(&'a [u8], &'a [u8]),
}

impl<'a> Text<'a> {
    /// The text; `buf` is where it is put together if it has to be.
    #[inline]
    pub fn bytes<'b>(&self, buf: &'b mut [u8; JOINED_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Bytes(b) => b,
            Self::Int(n) => {
                let mut digits = [0; stdx::num::I64_LEN_MAX];
                let digits = stdx::num::fmt_i64(&mut digits, n);
                buf[..digits.len()].copy_from_slice(digits);
                &buf[..digits.len()]
            }
            Self::Joined(a, b) => {
                let len = a.len() + b.len();
                buf[..a.len()].copy_from_slice(a);
                buf[a.len()..len].copy_from_slice(b);
                &buf[..len]
            }
        }
    }

    /// The text, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes(&mut [0; JOINED_MAX]).to_vec()
    }
}

impl<'a> From<Item<'a>> for Text<'a> {
    fn from(item: Item<'a>) -> Self {
        match item {
            Item::Int(n) => Self::Int(n),
            Item::Bytes(b) => Self::Bytes(b),
        }
    }
}

/// Bytes that a signed integer needs.
fn int_len(n: i64) -> usize {
    let spare = if n < 0 { n.leading_ones() } else { n.leading_zeros() } - 1;
    8 - spare as usize / 8
}

/// Appends a text on its own.
fn put_text(out: &mut Vec<u8>, item: Item<'_>) {
    match item {
        Item::Int(n @ 0..64) => out.push(0x80 | n as u8),
        Item::Int(n) => {
            let len = int_len(n);
            out.push(0xe0 | len as u8);
            out.extend_from_slice(&n.to_le_bytes()[..len]);
        }
        Item::Bytes(b) => {
            match b.len() {
                n @ 0..0x40 => out.push(n as u8),
                n @ 0x40..0x2000 => out.extend_from_slice(&[0xc0 | (n >> 8) as u8, n as u8]),
                n => {
                    out.push(0xe0);
                    out.extend_from_slice(&(n as u32).to_le_bytes());
                }
            }
            out.extend_from_slice(b);
        }
    }
}

/// How a value differs from that of the first entry.
enum Change {
    Same,
    /// The integer is greater by so much.
    By(i64),
    /// This many bytes at the start are common.
    Behind(usize),
    /// In a way that is not worth telling.
    All,
}

fn change(item: Item<'_>, first: Item<'_>) -> Change {
    match (item, first) {
        _ if item == first => Change::Same,
        (Item::Int(n), Item::Int(m)) if !(0..64).contains(&n) => match n.checked_sub(m) {
            Some(by) if int_len(by) < int_len(n) => Change::By(by),
            _ => Change::All,
        },
        (Item::Bytes(b), Item::Bytes(f)) => {
            let common = b.iter().zip(f).take(COMMON_MAX).take_while(|(a, b)| a == b).count();
            let told = common >= COMMON_MIN && b.len() - common <= REST_MAX;
            if told { Change::Behind(common) } else { Change::All }
        }
        _ => Change::All,
    }
}

/// Appends a value as it differs from that of the first entry.
fn put_value(out: &mut Vec<u8>, item: Item<'_>, change: Change) {
    match (change, item) {
        (Change::Same, _) => out.push(SAME),
        (Change::By(by), _) => {
            let len = int_len(by);
            out.push(0xf0 | len as u8);
            out.extend_from_slice(&by.to_le_bytes()[..len]);
        }
        (Change::Behind(common), Item::Bytes(b)) => {
            let rest = b.get(common..).unwrap_or_default();
            out.extend_from_slice(&[0x40 | rest.len() as u8, common as u8]);
            out.extend_from_slice(rest);
        }
        _ => put_text(out, item),
    }
}

/// The integer in a byte count of 1 to 8.
fn int(bytes: &[u8]) -> Option<i64> {
    let mut wide = [if bytes.last()? & 0x80 == 0 { 0 } else { 0xff }; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(wide))
}

/// The text at `at` that stands on its own, and where it ends.
#[inline]
fn text(b: &[u8], at: usize) -> Option<(Item<'_>, usize)> {
    let head = *b.get(at)?;
    let (from, len) = match head {
        0..0x40 => (at + 1, usize::from(head)),
        0x80..0xc0 => return Some((Item::Int((head & 0x3f).into()), at + 1)),
        0xc0..0xe0 => (at + 2, usize::from(head & 0x1f) << 8 | usize::from(*b.get(at + 1)?)),
        0xe0 => (at + 5, u32::from_le_bytes(b.get(at + 1..at + 5)?.try_into().ok()?) as usize),
        0xe1..=0xe8 => {
            let end = at + 1 + usize::from(head & 0x0f);
            return Some((Item::Int(int(b.get(at + 1..end)?)?), end));
        }
        _ => return None,
    };
    Some((Item::Bytes(b.get(from..from.checked_add(len)?)?), from + len))
}

/// The value at `at`, which may refer to that of the first entry, and where it ends.
#[inline]
fn value<'a>(b: &'a [u8], at: usize, first: Item<'a>) -> Option<(Text<'a>, usize)> {
    let head = *b.get(at)?;
    Some(match (head, first) {
        (SAME, _) => (first.into(), at + 1),
        (0x40..0x80, Item::Bytes(first)) => {
            let (from, len) = (at + 2, usize::from(head & 0x3f));
            let common = first.get(..usize::from(*b.get(at + 1)?))?;
            (Text::Joined(common, b.get(from..from + len)?), from + len)
        }
        (0xf1..=0xf7, Item::Int(first)) => {
            let end = at + 1 + usize::from(head & 0x0f);
            (Text::Int(first.wrapping_add(int(b.get(at + 1..end)?)?)), end)
        }
        _ => {
            let (item, next) = text(b, at)?;
            (item.into(), next)
        }
    })
}

/// Where the text at `at` ends.
#[inline]
fn skip(b: &[u8], at: usize) -> Option<usize> {
    let head = *b.get(at)?;
    Some(match head {
        0..0x40 => at + 1 + usize::from(head),
        0x40..0x80 => at + 2 + usize::from(head & 0x3f),
        SAME => at + 1,
        0xf1..=0xf7 => at + 1 + usize::from(head & 0x0f),
        _ => text(b, at)?.1,
    })
}

impl Leaf for Node {
    type Key = Id;

    #[inline]
    fn key(&self) -> Id {
        self.first
    }

    #[inline]
    fn heap(&self) -> usize {
        allocated::<u8>(self.bytes.capacity())
    }
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
    /// fields and values in turn. Returns where it begins.
    pub(super) fn push<'a, I>(
        &mut self,
        last: Option<Id>,
        id: Id,
        texts: I,
        total_len: usize,
    ) -> usize
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
        let start = self.bytes.len();
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
        // Behind the flags of the first entry, which are all of its head.
        let mut first_at = self.body as usize + 1;
        for (i, bytes) in texts.enumerate() {
            if same && i % 2 == 0 {
                continue;
            }
            let item = Item::of(bytes);
            listpack += item.encoded_len();
            if !same || last.is_none() {
                put_text(&mut self.bytes, item);
                continue;
            }
            let change = match text(&self.bytes, first_at) {
                Some((first, next)) => {
                    first_at = next;
                    change(item, first)
                }
                None => Change::All,
            };
            put_value(&mut self.bytes, item, change);
        }
        self.live += 1;
        self.total += 1;
        self.listpack = self.listpack.saturating_add(saturate(listpack));
        start
    }

    /// The entries from the first on, deleted ones included.
    pub(super) fn entries(&self) -> Entries<'_> {
        self.entries_from(0, self.first)
    }

    /// The same from the entry on that begins at `start` and has the ID `id`; 0 is the first's place.
    #[inline]
    pub(super) fn entries_from(&self, start: u32, id: Id) -> Entries<'_> {
        let (at, first) =
            if start == 0 { (self.body, self.first) } else { (start.max(self.body), id) };
        Entries { node: self, at: at as usize, first, last: None }
    }

    /// The ID of the last entry, deleted or not.
    pub(super) fn last_id(&self) -> Option<Id> {
        self.entries().last().map(|e| e.id)
    }

    /// Marks an entry as deleted.
    pub(super) fn delete(&mut self, found: Found) {
        self.mark_deleted(found.start);
    }

    /// Marks the entry that begins at `start` as deleted.
    pub(super) fn mark_deleted(&mut self, start: usize) {
        if let Some(flags) = self.bytes.get_mut(start)
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
        Fields {
            bytes: &self.bytes,
            field_at,
            at: found.at,
            first_at: self.body as usize + 1,
            left: found.fields,
            own: found.own,
        }
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
    /// The ID of the first one.
    first: Id,
    last: Option<Id>,
}

impl Found {
    /// Where it begins, as [`Node::entries_from`] takes it.
    pub(super) fn start(&self) -> u32 {
        // Offsets within a node fit 32 bits.
        self.start as u32
    }
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
            None => self.first,
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
    /// Where the next field is, unless the entry has its own.
    field_at: usize,
    at: usize,
    /// Where the first entry's next value is.
    first_at: usize,
    left: usize,
    own: bool,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Text<'a>, Text<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if self.own {
            let (field, value_at) = text(self.bytes, self.at)?;
            let (value, next) = text(self.bytes, value_at)?;
            self.at = next;
            return Some((field.into(), value.into()));
        }
        let (field, next) = text(self.bytes, self.field_at)?;
        self.field_at = next;
        let (first, next) = text(self.bytes, self.first_at)?;
        self.first_at = next;
        let (value, next) = value(self.bytes, self.at, first)?;
        self.at = next;
        Some((field.into(), value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Fields<'_> {}
