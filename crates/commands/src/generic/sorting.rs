//! The work that SORT and SORT_RO share: elements are copied out, weighed, sorted, and written or
//! stored.
//!
//! Weights and results may come from other keys, whose names are made from the elements. These are
//! unknown before the command runs, so with BY or GET every shard is locked ([`Scope::Patterns`]).
//!
//! [`Scope::Patterns`]: crate::row::Scope::Patterns

use std::cmp::Ordering;

use data::hash;
use data::list::{self, End, Limit};
use memchr::memmem;
use resp::{Args, Reply};
use store::{Class, Db, Entry, Key, Kind, Part, Str, packed};

use crate::command::Outcome;
use crate::fail::Fail;
use crate::keys::{Argv, KeyError, KeyPos};
use crate::parse::int;
use crate::row::KeyFlags;

const BY_DENIED: Fail =
    Fail::text("ERR BY option of SORT denied due to insufficient ACL permissions.");
const GET_DENIED: Fail =
    Fail::text("ERR GET option of SORT denied due to insufficient ACL permissions.");

/// Where SORT's keys are: the first argument, and that of the last STORE.
pub(super) fn sort_keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    out(KeyPos { index: 1, flags: KeyFlags::RO.or(KeyFlags::ACCESS) });
    let is = |at: usize, word: &str| argv.get(at).eq_ignore_ascii_case(word.as_bytes());
    let (mut at, mut store) = (2, None);
    while at < argv.len() {
        let takes = match () {
            () if is(at, "limit") => 2,
            () if is(at, "get") || is(at, "by") => 1,
            () if is(at, "store") && at + 1 < argv.len() => {
                store = Some(at + 1);
                1
            }
            () => 0,
        };
        at += 1 + takes;
    }
    if let Some(index) = store {
        out(KeyPos { index, flags: KeyFlags::OW.or(KeyFlags::UPDATE) });
    }
    Ok(())
}

/// SORT_RO's key; the keys that BY and GET name are not known beforehand.
pub(super) fn sort_ro_keys(_: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    out(KeyPos { index: 1, flags: KeyFlags::RO.or(KeyFlags::ACCESS) });
    Ok(())
}

/// The arguments.
#[derive(Default)]
struct Options<'a> {
    by: Option<&'a [u8]>,
    get: Vec<&'a [u8]>,
    offset: i64,
    /// Negative: all.
    count: Option<i64>,
    descending: bool,
    alpha: bool,
    store: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn read(args: &'a Args<'_>, may_store: bool, reads_all: bool) -> Result<Self, Fail> {
        let mut o = Self::default();
        let mut i = 2;
        while i < args.len() {
            let left = args.len() - 1 - i;
            match () {
                () if args.is(i, "asc") => o.descending = false,
                () if args.is(i, "desc") => o.descending = true,
                () if args.is(i, "alpha") => o.alpha = true,
                () if args.is(i, "limit") && left >= 2 => {
                    (o.offset, o.count) = (int(args, i + 1)?, Some(int(args, i + 2)?));
                    i += 2;
                }
                () if may_store && args.is(i, "store") && left >= 1 => {
                    o.store = Some(&args[i + 1]);
                    i += 1;
                }
                () if args.is(i, "by") && left >= 1 => {
                    if !reads_all && star(&args[i + 1]).is_some() {
                        return Err(BY_DENIED);
                    }
                    o.by = Some(&args[i + 1]);
                    i += 1;
                }
                () if args.is(i, "get") && left >= 1 => {
                    if !reads_all {
                        return Err(GET_DENIED);
                    }
                    o.get.push(&args[i + 1]);
                    i += 1;
                }
                () => return Err(Fail::SYNTAX),
            }
            i += 1;
        }
        Ok(o)
    }

    /// The elements of `len` that are asked for: the first, and the one behind the last.
    fn range(&self, len: usize) -> (usize, usize) {
        let natural = |n: i64| usize::try_from(n).ok();
        let from = natural(self.offset).unwrap_or(0).min(len);
        let count = self.count.and_then(natural).unwrap_or(len);
        (from, from.saturating_add(count).min(len))
    }
}

/// Bytes of elements and weights, one after the other: [`Text`]s refer to them.
type Bytes = Vec<u8>;

/// A range of [`Bytes`].
#[derive(Clone, Copy)]
struct Text {
    at: usize,
    len: usize,
}

impl Text {
    fn of(self, bytes: &Bytes) -> &[u8] {
        &bytes[self.at..self.at + self.len]
    }
}

/// An element with its weight: a number, or a text if there is one.
#[derive(Clone, Copy)]
struct Element {
    text: Text,
    score: f64,
    weight: Option<Text>,
}

/// SORT, and SORT_RO when it may not store.
pub(super) fn sort(
    db: &mut Db<'_>,
    args: &Args<'_>,
    may_store: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut o = Options::read(args, may_store, db.cx.reads_all)?;
    let (mut bytes, mut elements) = (Bytes::new(), Vec::new());
    let kind = elements_of(db, db.first_key(&args[1]), &mut bytes, &mut elements)?;
    // A constant pattern keeps the present order. A set has none, and the stored result must not
    // depend on chance.
    let mut native = o.by.is_some_and(|by| star(by).is_none());
    if native && kind == Some(Kind::Set) && (o.store.is_some() || db.cx.in_script) {
        (native, o.alpha, o.by) = (false, true, None);
    }
    let (from, to) = o.range(elements.len());
    if native {
        if o.descending && kind != Some(Kind::Set) {
            elements.reverse();
        }
    } else {
        weigh(db, &o, &mut bytes, &mut elements)?;
        order(&o, &bytes, &mut elements, to);
    }
    let chosen = &elements[from..to];
    match o.store {
        None => answer(db, &o, &mut bytes, chosen, reply),
        Some(to) => {
            let n = store_at(db, &o, &mut bytes, chosen, to);
            reply.int(n as i64);
        }
    }
    Ok(())
}

/// Copies the elements out and returns the type of the value.
fn elements_of(
    db: &mut Db<'_>,
    key: Key<'_>,
    bytes: &mut Bytes,
    elements: &mut Vec<Element>,
) -> Result<Option<Kind>, Fail> {
    let Some(e) = db.read(key) else { return Ok(None) };
    if !matches!(e.kind(), Kind::List | Kind::Set | Kind::ZSet) {
        return Err(Fail::WRONG_TYPE);
    }
    store::walk(&e, &mut |part| {
        if let Part::Element(text) | Part::Member(text) | Part::Scored(text, _) = part {
            let text = append(bytes, text);
            elements.push(Element { text, score: 0.0, weight: None });
        }
    });
    Ok(Some(e.kind()))
}

fn append(bytes: &mut Bytes, text: &[u8]) -> Text {
    let at = bytes.len();
    bytes.extend_from_slice(text);
    Text { at, len: text.len() }
}

/// Finds every element's weight.
fn weigh(
    db: &mut Db<'_>,
    o: &Options<'_>,
    bytes: &mut Bytes,
    elements: &mut [Element],
) -> Result<(), Fail> {
    let mut wrong = false;
    for e in elements {
        let weight = match o.by {
            None => Some(e.text),
            Some(by) => look_up(db, by, e.text, bytes),
        };
        match weight {
            Some(w) if !o.alpha => match number(w.of(bytes)) {
                Some(score) => e.score = score,
                None => wrong = true,
            },
            weight => e.weight = weight,
        }
    }
    if wrong {
        return Err(Fail::text("ERR One or more scores can't be converted into double"));
    }
    Ok(())
}

/// A number as `strtod` reads it: white space before it, nothing at all, and anything behind a zero
/// byte are allowed, and numbers too small to be precise are not.
fn number(text: &[u8]) -> Option<f64> {
    let text = text.split(|b| *b == 0).next().unwrap_or_default();
    if text.is_empty() {
        Some(0.0)
    } else {
        stdx::num::parse_f64(text.trim_ascii_start()).filter(|n| !n.is_subnormal())
    }
}

/// The order of `strcoll`: texts end at their first zero byte.
fn collate(a: &[u8], b: &[u8]) -> Ordering {
    a.split(|b| *b == 0).next().cmp(&b.split(|b| *b == 0).next())
}

/// Sorts the elements as far as `to`.
fn order(o: &Options<'_>, bytes: &Bytes, elements: &mut [Element], to: usize) {
    let compare = |a: &Element, b: &Element| {
        let order = if o.alpha {
            match (a.weight, b.weight) {
                (Some(a), Some(b)) if o.store.is_some() => a.of(bytes).cmp(b.of(bytes)),
                (Some(a), Some(b)) => collate(a.of(bytes), b.of(bytes)),
                (a, b) => a.is_some().cmp(&b.is_some()),
            }
        } else {
            let order = a.score.partial_cmp(&b.score).unwrap_or(Ordering::Equal);
            order.then_with(|| a.text.of(bytes).cmp(b.text.of(bytes)))
        };
        let order = if o.descending { order.reverse() } else { order };
        // Equal elements stay in the order in which they were found.
        order.then(a.text.at.cmp(&b.text.at))
    };
    if to == 0 {
        return;
    }
    if to < elements.len() / 2 {
        elements.select_nth_unstable_by(to - 1, compare);
        elements[..to].sort_unstable_by(compare);
    } else {
        elements.sort_unstable_by(compare);
    }
}

/// The part of a pattern that is searched for its signs: Redis reads it as a C string, which ends at its first
/// zero byte.
fn visible(pattern: &[u8]) -> &[u8] {
    &pattern[..memchr::memchr(0, pattern).unwrap_or(pattern.len())]
}

/// Where the element goes in a pattern, if the pattern has such a place.
fn star(pattern: &[u8]) -> Option<usize> {
    memchr::memchr(b'*', visible(pattern))
}

/// The value that a pattern names for an element: `#` is the element itself; otherwise the element
/// takes the place of `*` in the name of a string, or of a hash if `->field` follows.
fn look_up(db: &mut Db<'_>, pattern: &[u8], element: Text, bytes: &mut Bytes) -> Option<Text> {
    if pattern == b"#" {
        return Some(element);
    }
    let star = star(pattern)?;
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let seen = visible(after);
    let (after, field) = match memmem::find(seen, b"->") {
        Some(arrow) if arrow + 2 < seen.len() => (&after[..arrow], Some(&after[arrow + 2..])),
        _ => (after, None),
    };
    let name = [before, element.of(bytes), after].concat();
    let now = db.now();
    let e = db.read(Key::new(&name))?;
    match (e.kind(), field) {
        (Kind::String, None) => Some(match e.str() {
            Str::Int(n) => append(bytes, n.to_string().as_bytes()),
            Str::Inline(b) => append(bytes, b),
            Str::Shared(b) => append(bytes, b),
        }),
        (Kind::Hash, Some(field)) => {
            let found = hash::get(&e, field).filter(|f| !hash::is_over(f.deadline, now))?;
            Some(append(bytes, found.value.text(&mut [0; stdx::num::I64_LEN_MAX])))
        }
        _ => None,
    }
}

/// Writes the elements, or the values that GET asks for instead.
fn answer(
    db: &mut Db<'_>,
    o: &Options<'_>,
    bytes: &mut Bytes,
    chosen: &[Element],
    reply: &mut Reply<'_>,
) {
    reply.array(chosen.len() * o.get.len().max(1));
    for e in chosen {
        if o.get.is_empty() {
            reply.bulk(e.text.of(bytes));
        }
        for pattern in &o.get {
            let end = bytes.len();
            match look_up(db, pattern, e.text, bytes) {
                Some(value) => reply.bulk(value.of(bytes)),
                None => reply.null(),
            }
            bytes.truncate(end);
        }
    }
}

/// Stores the same as a list; an empty result leaves no list. Returns the length.
fn store_at(
    db: &mut Db<'_>,
    o: &Options<'_>,
    bytes: &mut Bytes,
    chosen: &[Element],
    to: &[u8],
) -> usize {
    let key = db.key(to);
    if chosen.is_empty() {
        if db.delete(key) {
            db.changed(key.bytes, Class::Generic, "del");
        }
        return 0;
    }
    let mut values = Vec::with_capacity(chosen.len() * o.get.len().max(1));
    for e in chosen {
        if o.get.is_empty() {
            values.push(e.text);
        }
        for pattern in &o.get {
            // An absent value is stored as the empty string.
            values.push(look_up(db, pattern, e.text, bytes).unwrap_or(Text { at: 0, len: 0 }));
        }
    }
    let limit = Limit::new(db.cx.small.list_max_listpack_size);
    db.replace(key, Entry::packed(Kind::List, key.bytes, &packed::EMPTY, None, 0));
    if let Some(mut slot) = db.peek(key) {
        list::push(&mut slot, End::Tail, values.iter().map(|v| v.of(bytes)), limit);
    }
    db.changed(key.bytes, Class::List, "sortstore");
    db.dirty(values.len() as u64 - 1);
    values.len()
}
