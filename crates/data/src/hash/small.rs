//! A small hash: a packed run.
//!
//! Without deadlines it is `[field, value, field, value …]` in the order of insertion. With them
//! (the entry's tag is [`EX`]) it is `[field, value, deadline, …]`, as in Redis's *listpackex*:
//! ordered by deadline, those without one (a 0) at the end. So the earliest deadline is the third
//! element, and what has expired is a prefix.

pub(crate) use super::deadline::EX;
use super::deadline::deadline;
use super::{Found, Value};
use crate::packed::{self, Edit, Item, Packed, START};

thread_local! {
    /// Where elements are encoded before they are copied into the run.
    static SCRATCH: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Calls `f` with an empty buffer that costs no allocation, once it has been used.
fn scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCRATCH.with_borrow_mut(|buf| {
        buf.clear();
        f(buf)
    })
}

/// Where a field lies: offsets of the field, of its value, and behind value and deadline.
#[derive(Clone, Copy)]
struct FieldPosition<'a> {
    at: usize,
    value_at: usize,
    value_end: usize,
    end: usize,
    value: Item<'a>,
    deadline: Option<i64>,
}

/// Elements of one field: 2, or 3 with deadlines.
pub(super) fn step(ex: bool) -> usize {
    2 + usize::from(ex)
}

fn place(run: Packed<'_>, at: usize, ex: bool) -> Option<FieldPosition<'_>> {
    let (_, value_at) = run.at(at)?;
    let (value, value_end) = run.at(value_at)?;
    let (deadline, end) = if ex {
        let (item, end) = run.at(value_end)?;
        (deadline(item), end)
    } else {
        (None, value_end)
    };
    Some(FieldPosition { at, value_at, value_end, end, value, deadline })
}

#[inline]
fn find<'a>(run: &'a [u8], ex: bool, field: &[u8]) -> Option<FieldPosition<'a>> {
    let run = Packed::new(run);
    place(run, run.find(field, step(ex))?, ex)
}

#[inline]
pub(super) fn get<'a>(run: &'a [u8], ex: bool, field: &[u8]) -> Option<Found<'a>> {
    let p = find(run, ex, field)?;
    Some(Found { value: p.value.into(), deadline: p.deadline })
}

/// Sets a field to a value; returns whether it is new, or nothing when the run has no room: then
/// it is as before.
#[inline]
pub(super) fn set(
    run: &mut impl Edit,
    ex: bool,
    field: &[u8],
    value: &Value<'_>,
    keep: bool,
) -> Option<bool> {
    scratch(|buf| {
        let bytes = run.run();
        let room = packed::BYTES_MAX - bytes.len();
        let Some(p) = find(bytes, ex, field) else {
            Item::of(field).encode(buf);
            value.item().encode(buf);
            if ex {
                Item::Int(0).encode(buf);
            }
            if buf.len() > room {
                return None;
            }
            let end = bytes.len();
            packed::replace(run, end, end, 0, buf, step(ex));
            return Some(true);
        };
        if p.deadline.is_some() && !keep {
            // It moves to the end, where those without a deadline are.
            buf.extend_from_slice(&bytes[p.at..p.value_at]);
            value.item().encode(buf);
            Item::Int(0).encode(buf);
            if buf.len() > room + (p.end - p.at) {
                return None;
            }
            let (at, end) = (p.at, p.end);
            packed::replace(run, at, end, 3, &[], 0);
            let end = run.run().len();
            packed::replace(run, end, end, 0, buf, 3);
            return Some(false);
        }
        value.item().encode(buf);
        let (at, end) = (p.value_at, p.value_end);
        if buf.len() > room + (end - at) {
            return None;
        }
        packed::replace(run, at, end, 1, buf, 1);
        Some(false)
    })
}

pub(super) fn remove(run: &mut impl Edit, ex: bool, field: &[u8]) -> bool {
    let Some(p) = find(run.run(), ex, field) else {
        return false;
    };
    let (at, end) = (p.at, p.end);
    packed::replace(run, at, end, step(ex), &[], 0);
    true
}

/// Sets or clears the deadline of a field of a run that has deadlines; returns whether the field
/// is there, or nothing when the run has no room: then it is as before.
pub(super) fn set_deadline(
    run: &mut impl Edit,
    field: &[u8],
    deadline: Option<i64>,
) -> Option<bool> {
    scratch(|buf| {
        let Some(p) = find(run.run(), true, field) else {
            return Some(false);
        };
        let (at, end) = (p.at, p.end);
        buf.extend_from_slice(&run.run()[at..p.value_end]);
        Item::Int(deadline.unwrap_or(0)).encode(buf);
        if run.run().len() - (end - at) + buf.len() > packed::BYTES_MAX {
            return None;
        }
        packed::replace(run, at, end, 3, &[], 0);
        let to = deadline.map_or(run.run().len(), |d| first_after(run.run(), d));
        packed::replace(run, to, to, 0, buf, 3);
        Some(true)
    })
}

/// The offset of the first field whose deadline is later than `d`, or that has none.
fn first_after(run: &[u8], d: i64) -> usize {
    let packed = Packed::new(run);
    let mut at = START;
    while let Some(p) = place(packed, at, true)
        && p.deadline.is_some_and(|its| its <= d)
    {
        at = p.end;
    }
    at
}

/// The same fields in a run that has deadlines; none when they do not fit.
pub(super) fn with_deadlines(run: &[u8]) -> Option<Vec<u8>> {
    let packed = Packed::new(run);
    let mut out = Vec::with_capacity(run.len() + packed.len());
    let fields = packed.len() / 2;
    out.extend_from_slice(&((fields * 3) as u16).to_le_bytes());
    let mut at = START;
    while let Some(p) = place(packed, at, false) {
        out.extend_from_slice(&run[p.at..p.end]);
        Item::Int(0).encode(&mut out);
        at = p.end;
    }
    (out.len() <= packed::BYTES_MAX && fields * 3 <= usize::from(u16::MAX)).then_some(out)
}

/// Removes the fields whose deadline is before `now`, `max` at most; `f` is told their names.
pub(super) fn expire(run: &mut impl Edit, now: i64, max: usize, f: &mut dyn FnMut(&[u8])) -> usize {
    let packed = Packed::new(run.run());
    let (mut end, mut n) = (START, 0);
    while n < max
        && let Some(p) = place(packed, end, true)
        && p.deadline.is_some_and(|d| d < now)
    {
        if let Some((name, _)) = packed.at(p.at) {
            f(name.text(&mut [0; stdx::num::I64_LEN_MAX]));
        }
        end = p.end;
        n += 1;
    }
    if n > 0 {
        packed::replace(run, START, end, 3 * n, &[], 0);
    }
    n
}

/// Calls `f` for every field, in order.
#[inline]
pub(super) fn for_each<'a>(
    run: &'a [u8],
    ex: bool,
    mut f: impl FnMut(Item<'a>, Item<'a>, Option<i64>),
) {
    let mut items = Packed::new(run).iter().map(|(_, item)| item);
    while let (Some(field), Some(value)) = (items.next(), items.next()) {
        let d = if ex { items.next().and_then(deadline) } else { None };
        f(field, value, d);
    }
}

/// Field number `i`.
pub(super) fn nth(run: &[u8], ex: bool, i: usize) -> Option<(Item<'_>, Item<'_>, Option<i64>)> {
    let packed = Packed::new(run);
    let at = packed.seek(isize::try_from(i * step(ex)).ok()?)?;
    let p = place(packed, at, ex)?;
    Some((packed.at(at)?.0, p.value, p.deadline))
}
