//! Hashes: fields with values, each with a deadline of its own if it has one.
//!
//! A small hash is a packed run in its entry (`small`), a big one a table of fields behind it
//! (`big`). The functions here work on the entry and choose; the change from small to big follows
//! Redis's rules and is never undone.
//!
//! Nothing in here looks at a clock: the reader judges deadlines ([`Found::is_over`]).

mod big;
pub(crate) mod deadline;
mod draft;
mod field;
pub(crate) mod small;

use std::sync::Arc;

use stdx::num::I64_LEN_MAX;

pub use big::BigHash;
use big::Name;
pub use draft::{Draft, of_run};

use crate::entry::{Entry, Kind};
use crate::packed::Item;
use crate::table::SlotMut;

/// Up to where a hash is small; the options `hash-max-listpack-entries` and
/// `hash-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fields.
    pub entries: usize,
    /// Bytes of the longest field or value.
    pub value: usize,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Text that reads as a canonical integer.
    Int(i64),
    /// Any text.
    Bytes(&'a [u8]),
    /// A long text, which a reader may keep.
    Shared(&'a Arc<Vec<u8>>),
}

impl<'a> From<Item<'a>> for Value<'a> {
    #[inline]
    fn from(item: Item<'a>) -> Self {
        match item {
            Item::Int(n) => Self::Int(n),
            Item::Bytes(b) => Self::Bytes(b),
        }
    }
}

impl<'a> Value<'a> {
    /// The text; `buf` is where an integer is written.
    #[inline]
    pub fn text<'b>(&self, buf: &'b mut [u8; I64_LEN_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        match *self {
            Self::Int(n) => stdx::num::fmt_i64(buf, n),
            Self::Bytes(b) => b,
            Self::Shared(a) => a,
        }
    }

    /// As it is kept in a run.
    #[inline]
    fn item(&self) -> Item<'a> {
        match *self {
            Self::Int(n) => Item::Int(n),
            Self::Bytes(b) => Item::of(b),
            Self::Shared(a) => Item::of(a),
        }
    }

    /// Bytes of the text.
    fn len(&self) -> usize {
        self.text(&mut [0; I64_LEN_MAX]).len()
    }
}

/// A field that was looked up.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Its value.
    pub value: Value<'a>,
    /// Its deadline in Unix milliseconds, if it has one.
    pub deadline: Option<i64>,
}

impl Found<'_> {
    /// Whether its deadline is over. In the millisecond of its deadline a field is still there, as
    /// in Redis.
    #[inline]
    pub fn is_over(&self, now: i64) -> bool {
        is_over(self.deadline, now)
    }
}

/// Whether a deadline is over.
#[inline]
pub fn is_over(deadline: Option<i64>, now: i64) -> bool {
    deadline.is_some_and(|d| d < now)
}

#[inline]
fn is_ex(e: &Entry) -> bool {
    e.tag() & small::EX != 0
}

/// Fields, those whose time is over included.
#[inline]
pub fn len(e: &Entry) -> usize {
    match (e.run(), e.value::<BigHash>()) {
        (Some(run), _) => crate::packed::Packed::new(run).len() / small::step(is_ex(e)),
        (_, Some(big)) => big.len(),
        _ => 0,
    }
}

/// The field, over or not.
#[inline]
pub fn get<'e>(e: &'e Entry, field: &[u8]) -> Option<Found<'e>> {
    match e.run() {
        Some(run) => small::get(run, is_ex(e), field),
        None => e.value::<BigHash>()?.get(field),
    }
}

/// Calls `f` for every field with its value and deadline.
#[inline]
pub fn for_each(e: &Entry, mut f: impl FnMut(Item<'_>, Value<'_>, Option<i64>)) {
    if let Some(run) = e.run() {
        small::for_each(run, is_ex(e), |field, value, d| f(field, value.into(), d));
    } else if let Some(big) = e.value::<BigHash>() {
        big.for_each(|field, value, d| f(Item::Bytes(field), value, d));
    }
}

/// Whether the hash is in the form that has deadlines, or would be if it were small.
pub fn has_deadlines(e: &Entry) -> bool {
    match e.value::<BigHash>() {
        Some(big) => big.name == Name::ListpackEx || crate::big::Value::deadline(big).is_some(),
        None => is_ex(e),
    }
}

/// Fields and values in turn, if the hash is a run without deadlines, as most hashes are.
#[inline]
pub fn in_turn(e: &Entry) -> Option<impl Iterator<Item = Item<'_>>> {
    let run = e.run().filter(|_| !is_ex(e))?;
    Some(crate::packed::Packed::new(run).iter().map(|(_, item)| item))
}

/// One step of a scan from `cursor` on, which calls `f` for every field it meets; returns the next
/// cursor, 0 at the end. A small hash is seen whole in one step. Every field that is there from
/// the first step to the last is seen, whatever happens in between.
pub fn scan(e: &Entry, cursor: u64, mut f: impl FnMut(Item<'_>, Value<'_>, Option<i64>)) -> u64 {
    match e.value::<BigHash>() {
        None => for_each(e, f),
        Some(big) => {
            // A cursor is what a client sends: any number.
            if let Ok(pos) = u32::try_from(cursor) {
                let next = big.scan(pos, |field, value, d| f(Item::Bytes(field), value, d));
                return next.map_or(0, u64::from);
            }
        }
    }
    0
}

/// A random field, each with the same chance, over or not; `below(n)` chooses below `n`.
pub fn random<'e>(
    e: &'e Entry,
    below: &mut dyn FnMut(usize) -> usize,
) -> Option<(Item<'e>, Value<'e>)> {
    let n = len(e);
    if n == 0 {
        return None;
    }
    if let Some(run) = e.run() {
        let (field, value, _) = small::nth(run, is_ex(e), below(n))?;
        return Some((field, value.into()));
    }
    let (field, value) = e.value::<BigHash>()?.random(below)?;
    Some((Item::Bytes(field), value))
}

/// Prepares for so many fields, and fields and values of these lengths, that are about to be set: a
/// hash that would not stay small becomes big before the first of them, as in Redis.
pub fn make_room<'a>(
    slot: &mut SlotMut<'_, Entry>,
    fields: usize,
    mut texts: impl Iterator<Item = &'a [u8]>,
    limits: Limits,
) {
    if slot.encoding_name() == "hashtable" {
        return;
    }
    if fields > limits.entries || texts.any(|t| t.len() > limits.value) {
        grow(slot, Name::Hashtable);
    }
}

/// Sets a field to a value; returns whether it is new. A deadline stays only with `keep`.
#[inline]
pub fn set(
    slot: &mut SlotMut<'_, Entry>,
    field: &[u8],
    value: &Value<'_>,
    keep: bool,
    limits: Limits,
) -> bool {
    let long = field.len() > limits.value || value.len() > limits.value;
    let ex = is_ex(slot);
    if slot.run().is_some() {
        if long {
            grow(slot, Name::Hashtable);
        } else if let Some(new) = small::set(slot, ex, field, value, keep) {
            if new && len(slot) > limits.entries {
                grow(slot, Name::Hashtable);
            }
            return new;
        } else {
            grow(slot, small_name(ex));
        }
    }
    let Some(big) = slot.node_mut().value_mut::<BigHash>() else {
        return false;
    };
    let new = big.set(field, value, keep);
    if long || big.len() > limits.entries {
        big.name = Name::Hashtable;
    }
    new
}

/// Removes a field; returns whether it was there, over or not.
pub fn remove(slot: &mut SlotMut<'_, Entry>, field: &[u8]) -> bool {
    let ex = is_ex(slot);
    if slot.run().is_some() {
        return small::remove(slot, ex, field);
    }
    slot.node_mut().value_mut::<BigHash>().is_some_and(|big| big.remove(field))
}

/// Makes a hash ready for deadlines: a small one gets the encoding that has them.
pub fn allow_deadlines(slot: &mut SlotMut<'_, Entry>) {
    let ex = is_ex(slot);
    if let Some(run) = slot.run() {
        if ex {
            return;
        }
        match small::with_deadlines(run) {
            Some(run) => {
                slot.replace_with(|e| e.with_run(Kind::Hash, &run));
                slot.node_mut().set_tag(small::EX);
            }
            None => grow(slot, Name::ListpackEx),
        }
    } else if let Some(big) = slot.node_mut().value_mut::<BigHash>()
        && big.name == Name::Listpack
    {
        big.name = Name::ListpackEx;
    }
}

/// Sets or clears the deadline of a field; returns whether the field is there.
pub fn set_deadline(slot: &mut SlotMut<'_, Entry>, field: &[u8], deadline: Option<i64>) -> bool {
    allow_deadlines(slot);
    if slot.run().is_some() {
        if let Some(found) = small::set_deadline(slot, field, deadline) {
            return found;
        }
        grow(slot, Name::ListpackEx);
    }
    slot.node_mut().value_mut::<BigHash>().is_some_and(|big| big.set_deadline(field, deadline))
}

/// Removes fields whose deadline is before `now`, `max` at most; `f` is told their names. Returns
/// how many.
pub fn expire(
    slot: &mut SlotMut<'_, Entry>,
    now: i64,
    max: usize,
    f: &mut dyn FnMut(&[u8]),
) -> usize {
    if slot.run().is_some() {
        return if is_ex(slot) { small::expire(slot, now, max, f) } else { 0 };
    }
    slot.node_mut().value_mut::<BigHash>().map_or(0, |big| big.expire(now, max, f))
}

fn small_name(ex: bool) -> Name {
    if ex { Name::ListpackEx } else { Name::Listpack }
}

/// Makes a small hash big, or a big one that was called small a hash table.
#[cold]
fn grow(slot: &mut SlotMut<'_, Entry>, name: Name) {
    if let Some(big) = slot.node_mut().value_mut::<BigHash>() {
        big.name = name;
        return;
    }
    let mut big = BigHash::new(name);
    for_each(slot, |field, value, deadline| {
        big.add_new(field.text(&mut [0; I64_LEN_MAX]), &value, deadline);
    });
    slot.replace_with(|e| e.with_big(big));
}
