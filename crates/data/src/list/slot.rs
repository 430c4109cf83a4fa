//! Lists in their table: which of the two forms one has, and what Redis would call it.
//!
//! Redis (7.2 and later) keeps a list as one listpack up to `list-max-listpack-size` and as a
//! quicklist of several beyond it; it goes back once a single node is left that holds at most half
//! of that. OBJECT ENCODING shows which, so the name is tracked here although the real structure
//! changes elsewhere: a run moves out of its entry when it becomes so long that edits at its head
//! would cost, and comes back well below that.

use super::{Elem, End, List, Needle, QUICK};
use crate::entry::{Entry, Kind};
use crate::packed::{Edit, Item, Packed, START, replace};
use crate::table::SlotMut;

/// Bytes up to which a run stays in its entry.
pub(super) const RUN_MAX: usize = 2048;
/// A big list comes back into its entry when its run would be no longer than this.
const RUN_AGAIN: usize = RUN_MAX / 2;
/// Bytes of a listpack besides its elements, header and terminator.
const LISTPACK_FRAME: usize = 7;

/// `list-max-listpack-size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    bytes: usize,
    count: usize,
}

impl Limit {
    /// From the option's value: -1 to -5 mean 4 to 64 KiB; others, elements.
    pub fn new(option: i64) -> Self {
        match usize::try_from(option) {
            // Whatever the count, a listpack of more than 8 KiB is never made.
            Ok(n) => Self { bytes: 8192, count: n.max(1) },
            Err(_) => {
                let doublings = (option.saturating_neg() - 1).clamp(0, 4);
                Self { bytes: 4096 << doublings, count: usize::MAX }
            }
        }
    }

    /// Whether a listpack of `bytes` bytes of elements and `count` elements is too large.
    pub(super) fn exceeded(self, bytes: usize, count: usize) -> bool {
        bytes.saturating_add(LISTPACK_FRAME) > self.bytes || count > self.count
    }

    /// Whether a quicklist of this size becomes a listpack again.
    fn allows_return(self, bytes: usize, count: usize) -> bool {
        // With a bound on the count, the bytes only matter up to the safety limit.
        let bytes_max = if self.count == usize::MAX { self.bytes / 2 } else { self.bytes };
        bytes + LISTPACK_FRAME <= bytes_max && count <= self.count / 2
    }
}

/// A list to be read.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// A packed run inside its entry.
    Run(Packed<'a>),
    /// A list outside of its entry.
    Big(&'a List),
}

impl<'a> View<'a> {
    /// The list in an entry; an empty one when it holds something else.
    #[inline]
    pub fn of(e: &'a Entry) -> Self {
        match e.value::<List>() {
            Some(list) => Self::Big(list),
            None => Self::Run(Packed::new(e.run().unwrap_or(&crate::packed::EMPTY))),
        }
    }

    /// Elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty list is not kept")]
    pub fn len(&self) -> usize {
        match self {
            Self::Run(run) => run.len(),
            Self::Big(list) => list.len(),
        }
    }

    /// Calls `f` with element `index`.
    pub fn get<R>(&self, index: usize, f: impl FnOnce(Elem<'_>) -> R) -> Option<R> {
        match self {
            Self::Run(run) => Some(f(run.get(isize::try_from(index).ok()?)?.into())),
            Self::Big(list) => list.get(index, f),
        }
    }

    /// Calls `f` with the elements from number `from` on until it returns false.
    #[inline]
    pub fn each(&self, from: usize, mut f: impl FnMut(Elem<'_>) -> bool) {
        match self {
            Self::Run(run) => {
                if let Some(at) = isize::try_from(from).ok().and_then(|from| run.seek(from)) {
                    run.iter_from(at).all(|(_, item)| f(item.into()));
                }
            }
            Self::Big(list) => list.each(from, f),
        }
    }

    /// The same from element `from`, which exists, on towards the head.
    pub fn each_back(&self, from: usize, mut f: impl FnMut(Elem<'_>) -> bool) {
        match self {
            Self::Run(run) => {
                let skip = run.len().saturating_sub(1).saturating_sub(from);
                run.iter_back().skip(skip).all(|(_, item)| f(item.into()));
            }
            Self::Big(list) => list.each_back(from, f),
        }
    }

    /// Bytes of the elements in packed form.
    fn raw(&self) -> usize {
        match self {
            Self::Run(run) => run.bytes().len().saturating_sub(START),
            Self::Big(list) => list.run_len() - START,
        }
    }
}

fn is_quick(slot: &Entry) -> bool {
    slot.value::<List>().map_or(slot.tag() & QUICK != 0, List::is_quick)
}

fn set_quick(slot: &mut SlotMut<'_, Entry>, quick: bool) {
    let tag = slot.tag() & !QUICK | if quick { QUICK } else { 0 };
    let e = slot.node_mut();
    e.set_tag(tag);
    if let Some(list) = e.value_mut::<List>() {
        list.set_quick(quick);
    }
}

/// Before `values` elements of `bytes` bytes come in.
fn grow(slot: &mut SlotMut<'_, Entry>, bytes: usize, values: usize, limit: Limit) {
    if is_quick(slot) {
        return;
    }
    let view = View::of(slot);
    if limit.exceeded(view.raw() + bytes, view.len() + values) {
        set_quick(slot, true);
    }
}

/// After elements went: the name, and the form.
fn shrunk(slot: &mut SlotMut<'_, Entry>, limit: Limit) {
    let view = View::of(slot);
    let (raw, len) = (view.raw(), view.len());
    if is_quick(slot) && limit.allows_return(raw, len) {
        set_quick(slot, false);
    }
    if let Some(list) = slot.value::<List>()
        && list.run_len() <= RUN_AGAIN
        && list.len() <= usize::from(u16::MAX)
    {
        let run = list.to_run();
        slot.replace_with(|e| e.with_run(Kind::List, &run));
    }
}

/// Moves the run behind the entry when it would become too long.
fn make_room<'s>(slot: &'s mut SlotMut<'_, Entry>, bytes: usize) -> Option<&'s mut List> {
    if let Some(run) = Entry::run(slot) {
        if run.len() + bytes <= RUN_MAX {
            return None;
        }
        let list = List::from_run(run, slot.tag() & QUICK != 0);
        slot.replace_with(|e| e.with_big(list));
    }
    slot.node_mut().value_mut()
}

/// A value in packed form, without an allocation when it is short.
struct Encoded {
    short: [u8; 72],
    len: usize,
    long: Vec<u8>,
}

impl Encoded {
    fn new() -> Self {
        Self { short: [0; 72], len: 0, long: Vec::new() }
    }

    /// Encodes one value.
    #[inline]
    fn of(&mut self, value: &[u8]) -> &[u8] {
        match Item::of(value) {
            Item::Bytes(b) if b.len() < 64 => {
                // Header, bytes and back length, as `Item::encode` writes them.
                let n = b.len();
                self.short[0] = 0x80 | n as u8;
                self.short[1..=n].copy_from_slice(b);
                self.short[n + 1] = n as u8 + 1;
                self.len = n + 2;
                &self.short[..self.len]
            }
            item => {
                self.long.clear();
                item.encode(&mut self.long);
                &self.long
            }
        }
    }
}

/// Adds elements at one end, one after the other. Returns the length.
pub fn push<'v>(
    slot: &mut SlotMut<'_, Entry>,
    end: End,
    values: impl Iterator<Item = &'v [u8]> + Clone,
    limit: Limit,
) -> usize {
    let (bytes, n) = values.clone().fold((0, 0), |(bytes, n), v| (bytes + v.len(), n + 1));
    grow(slot, bytes, n, limit);
    let mut encoded = Encoded::new();
    for value in values {
        let element = encoded.of(value);
        if let Some(list) = make_room(slot, element.len()) {
            list.push(end, value, element);
        } else {
            let at = if end == End::Head { START } else { slot.run().len() };
            replace(slot, at, at, 0, element, 1);
        }
    }
    View::of(slot).len()
}

/// Takes the element at one end out and shows it to `f`. The list may be empty afterwards.
pub fn pop<R>(
    slot: &mut SlotMut<'_, Entry>,
    end: End,
    limit: Limit,
    f: impl FnOnce(Elem<'_>) -> R,
) -> Option<R> {
    let r = if let Some(list) = slot.node_mut().value_mut::<List>() {
        list.pop(end, f)?
    } else {
        let run = Packed::new(slot.run());
        let len = run.bytes().len();
        let at = if end == End::Head { START } else { run.before(len)? };
        let (item, next) = run.at(at)?;
        let r = f(item.into());
        replace(slot, at, next, 1, &[], 0);
        r
    };
    shrunk(slot, limit);
    Some(r)
}

/// Puts an element in front of number `index`, or at the end if there is none.
pub fn insert(slot: &mut SlotMut<'_, Entry>, index: usize, value: &[u8], limit: Limit) {
    if index >= View::of(slot).len() {
        push(slot, End::Tail, std::iter::once(value), limit);
        return;
    }
    grow(slot, value.len(), 1, limit);
    let mut encoded = Encoded::new();
    let element = encoded.of(value);
    if let Some(list) = make_room(slot, element.len()) {
        list.insert(index, value, element);
    } else if let Some(at) = View::of(slot).offset(index) {
        replace(slot, at, at, 0, element, 1);
    }
}

/// Replaces element `index`. Returns whether it exists.
pub fn set(slot: &mut SlotMut<'_, Entry>, index: usize, value: &[u8], limit: Limit) -> bool {
    // Redis counts the new value as one more, whether or not it finds the old one.
    grow(slot, value.len(), 1, limit);
    if index >= View::of(slot).len() {
        return false;
    }
    let mut encoded = Encoded::new();
    let element = encoded.of(value);
    if let Some(list) = make_room(slot, element.len()) {
        list.set(index, value, element);
    } else if let Some(at) = View::of(slot).offset(index) {
        let end = Packed::new(slot.run()).at(at).map_or(at, |(_, next)| next);
        replace(slot, at, end, 1, element, 1);
    }
    shrunk(slot, limit);
    true
}

/// Removes `n` elements from number `index` on, as far as they exist. The list may be empty
/// afterwards.
pub fn remove(slot: &mut SlotMut<'_, Entry>, index: usize, n: usize, limit: Limit) {
    let n = n.min(View::of(slot).len().saturating_sub(index));
    if n == 0 {
        return;
    }
    if let Some(list) = slot.node_mut().value_mut::<List>() {
        list.remove(index, n);
    } else if let Some(from) = View::of(slot).offset(index) {
        let to = View::of(slot).offset(index + n);
        let to = to.unwrap_or(slot.run().len());
        replace(slot, from, to, n, &[], 0);
    }
    shrunk(slot, limit);
}

/// Removes elements equal to `value`, at most `most`, beginning at one end. Returns how many. The
/// list may be empty afterwards.
pub fn remove_equal(
    slot: &mut SlotMut<'_, Entry>,
    value: &[u8],
    most: usize,
    from: End,
    limit: Limit,
) -> usize {
    let needle = Needle::new(value);
    let removed = if let Some(list) = slot.node_mut().value_mut::<List>() {
        list.remove_equal(needle, most, from)
    } else {
        remove_from_run(slot, needle, most, from)
    };
    if removed > 0 {
        shrunk(slot, limit);
    }
    removed
}

fn remove_from_run(
    slot: &mut SlotMut<'_, Entry>,
    needle: Needle<'_>,
    most: usize,
    from: End,
) -> usize {
    let run = Packed::new(slot.run());
    let found = |item: Item<'_>| needle.is(item.into());
    let mut doomed: Vec<usize> = match from {
        End::Head => run.iter().filter(|(_, i)| found(*i)).map(|(at, _)| at).take(most).collect(),
        End::Tail => {
            run.iter_back().filter(|(_, i)| found(*i)).map(|(at, _)| at).take(most).collect()
        }
    };
    // From behind, so that offsets stay.
    doomed.sort_unstable();
    for at in doomed.iter().rev() {
        let end = Packed::new(slot.run()).at(*at).map_or(*at, |(_, next)| next);
        replace(slot, *at, end, 1, &[], 0);
    }
    doomed.len()
}

impl View<'_> {
    /// Where element `index` of a run is.
    fn offset(&self, index: usize) -> Option<usize> {
        match self {
            Self::Run(run) => run.seek(isize::try_from(index).ok()?),
            Self::Big(_) => None,
        }
    }
}
