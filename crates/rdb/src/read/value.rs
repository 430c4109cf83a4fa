//! Values, type by type.

use std::sync::Arc;

use data::entry::{Content, Entry, INLINE_MAX, Kind};
use data::packed::{Item, Packed};
use data::set::{self, BigSet, Encoding};
use data::{hash, list, zset};
use stdx::num::{I64_LEN_MAX, parse_f64};

use super::Limits;
use super::input::{Input, Len, Text, blob, len, len_or_special, size, text, text_into};
use super::listpack::Listpack;
use super::{module, ziplist, zipmap};
use crate::error::Result;
use crate::format::{FIELD_DEADLINE_MAX, NODE_PACKED, NODE_PLAIN, kind, string};

/// Turns values into entries; what it keeps is room to work in.
#[derive(Default)]
pub(crate) struct Decoder {
    pub(crate) limits: Limits,
    /// A string that was decompressed, or has to outlive the next one.
    pub(super) a: Vec<u8>,
    pub(super) b: Vec<u8>,
    pub(super) c: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// What comes with a value.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) deadline: Option<i64>,
}

/// How far space is made before elements prove that they are there.
const AHEAD: usize = 1024;

impl Decoder {
    /// The value that comes next, of a type. None if it is a collection without elements, which
    /// some versions of Redis have written by mistake.
    pub(crate) fn value(
        &mut self,
        kind: u8,
        head: Head<'_>,
        input: &mut impl Input,
    ) -> Result<Option<Entry>> {
        match kind {
            kind::STRING => self.string(head, input).map(Some),
            kind::LIST => self.list(head, input),
            kind::LIST_QUICKLIST => self.quicklist(head, input, false),
            kind::LIST_QUICKLIST_2 => self.quicklist(head, input, true),
            kind::LIST_ZIPLIST => self.ziplist(head, input),
            kind::SET => self.set(head, input),
            kind::SET_INTSET => self.intset(head, input).map(Some),
            kind::SET_LISTPACK => self.set_listpack(head, input),
            kind::ZSET => self.zset(head, input, false),
            kind::ZSET_2 => self.zset(head, input, true),
            kind::ZSET_LISTPACK => self.zset_listpack(head, input),
            kind::ZSET_ZIPLIST => self.zset_ziplist(head, input),
            kind::HASH => self.hash(head, input, FieldDeadlines::None),
            kind::HASH_ZIPMAP => self.hash_zipmap(head, input),
            kind::HASH_ZIPLIST => self.hash_ziplist(head, input),
            kind::HASH_LISTPACK => self.hash_listpack(head, input, false),
            kind::HASH_LISTPACK_EX_PRE_GA => self.hash_listpack(head, input, true),
            kind::HASH_LISTPACK_EX => {
                input.array::<8>()?;
                self.hash_listpack(head, input, true)
            }
            kind::HASH_METADATA_PRE_GA => {
                self.hash(head, input, FieldDeadlines::Before { first: None })
            }
            kind::HASH_METADATA => {
                let first = u64::from_le_bytes(input.array()?);
                if first > FIELD_DEADLINE_MAX + 1 {
                    return Err(input.bad("Hash read invalid minExpire value"));
                }
                self.hash(head, input, FieldDeadlines::Before { first: Some(first) })
            }
            kind::VALKEY_HASH_2 => self.hash(head, input, FieldDeadlines::Behind),
            kind::STREAM_LISTPACKS => self.stream(head, input, 1),
            kind::STREAM_LISTPACKS_2 => self.stream(head, input, 2),
            kind::STREAM_LISTPACKS_3 => self.stream(head, input, 3),
            kind::STREAM_LISTPACKS_4 => self.stream(head, input, 4),
            kind::MODULE_PRE_GA => Err(input.bad("Pre-release module format not supported")),
            kind::MODULE_2 => {
                let name = module::name(len(input)?);
                Err(input.bad(format!(
                    "The RDB file contains module data I can't load: no matching module type \
                     '{name}'"
                )))
            }
            _ => Err(input.bad(format!("Unknown RDB encoding type {kind}"))),
        }
    }

    fn string(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Entry> {
        let Head { key, deadline } = head;
        let make = |content: Content<'_>| Entry::string(key, content, deadline, 0);
        let of_text = |b: &[u8]| match Item::of(b) {
            Item::Int(n) => make(Content::Int(n)),
            Item::Bytes(b) => make(Content::Bytes(b)),
        };
        Ok(match len_or_special(input)? {
            Len::Plain(n) => {
                let n = size(input, n)?;
                if n > INLINE_MAX {
                    make(Content::Shared(Arc::new(input.take_vec(n)?)))
                } else {
                    of_text(input.take(n)?)
                }
            }
            Len::Special(string::LZF) => {
                self.a.clear();
                super::input::compressed(input, &mut self.a)?;
                if self.a.len() > INLINE_MAX {
                    self.a.shrink_to_fit();
                    make(Content::Shared(Arc::new(std::mem::take(&mut self.a))))
                } else {
                    of_text(&self.a)
                }
            }
            Len::Special(form) => make(Content::Int(super::input::special_int(input, form)?)),
        })
    }

    fn list(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let mut draft = list::Draft::default();
        for _ in 0..len(input)? {
            let mut buf = [0; I64_LEN_MAX];
            match text(input, &mut self.a)? {
                Text::Int(n) => draft.push(stdx::num::fmt_i64(&mut buf, n)),
                Text::Bytes(b) => draft.push(b),
            }
        }
        Ok(self.finish_list(head, draft))
    }

    fn finish_list(&self, head: Head<'_>, draft: list::Draft) -> Option<Entry> {
        (!draft.is_empty()).then(|| draft.finish(head.key, head.deadline, self.limits.list))
    }

    fn quicklist(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        listpacks: bool,
    ) -> Result<Option<Entry>> {
        let mut draft = list::Draft::default();
        for _ in 0..len(input)? {
            let container = if listpacks { len(input)? } else { NODE_PACKED };
            if container != NODE_PACKED && container != NODE_PLAIN {
                return Err(input.bad("Quicklist integrity check failed."));
            }
            let mut what = None;
            let bytes = blob(input, &mut self.a)?;
            if bytes.is_empty() {
                what = Some("Quicklist integrity check failed.");
            } else if container == NODE_PLAIN {
                draft.push(bytes);
            } else if listpacks {
                match Listpack::new(bytes) {
                    Some(l) => draft.push_elements(l.elements(), l.count),
                    None => what = Some("Listpack integrity check failed."),
                }
            } else if push_ziplist(&mut draft, bytes).is_none() {
                what = Some("Ziplist integrity check failed.");
            }
            if let Some(what) = what {
                return Err(input.bad(what));
            }
        }
        Ok(self.finish_list(head, draft))
    }

    fn ziplist(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let mut draft = list::Draft::default();
        let bytes = blob(input, &mut self.a)?;
        if push_ziplist(&mut draft, bytes).is_none() {
            return Err(input.bad("List ziplist integrity check failed."));
        }
        Ok(self.finish_list(head, draft))
    }

    fn set(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let n = len(input)?;
        let n = size(input, n)?;
        if n == 0 {
            return Ok(None);
        }
        let limits = self.limits.set;
        if n > limits.intset_max().max(limits.listpack_entries) {
            return self.big_set(head, input, n, BigSet::new(Encoding::Hashtable)).map(Some);
        }
        let mut ints = Vec::with_capacity(n.min(AHEAD));
        let mut run = data::packed::EMPTY.to_vec();
        let (mut longest, mut texts) = (0, false);
        for i in 0..n {
            let item = match text(input, &mut self.a)? {
                Text::Int(n) => Item::Int(n),
                Text::Bytes(b) => Item::of(b),
            };
            longest = longest.max(item.text_len());
            item.encode(&mut run);
            match item {
                Item::Int(v) => ints.push(v),
                Item::Bytes(_) => texts = true,
            }
            let listpack = n <= limits.listpack_entries && longest <= limits.listpack_value;
            if texts && (!listpack || run.len() > RUN_MAX) {
                // What there is so far goes into a big set, and the rest after it.
                let name = if listpack { Encoding::Listpack } else { Encoding::Hashtable };
                let mut big = BigSet::new(name);
                let packed = Packed::new(&run);
                if !packed.iter().all(|(_, item)| big.put(item)) {
                    return Err(input.bad(DUPLICATE_MEMBER));
                }
                return self.big_set(head, input, n - i - 1, big).map(Some);
            }
        }
        if texts {
            data::packed::Edit::set_count(&mut run, n as u16);
            if !data::packed::distinct(Packed::new(&run), 1) {
                return Err(input.bad(DUPLICATE_MEMBER));
            }
            return Ok(Some(Entry::packed(Kind::Set, head.key, &run, head.deadline, 0)));
        }
        ints.sort_unstable();
        if ints.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(input.bad(DUPLICATE_MEMBER));
        }
        Ok(Some(self.int_set(head, &ints)))
    }

    /// Adds `n` members to a big set. Its name changes as Redis's would.
    fn big_set(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        n: usize,
        mut big: BigSet,
    ) -> Result<Entry> {
        for _ in 0..n {
            let new = match text(input, &mut self.a)? {
                Text::Int(n) => big.add(Item::Int(n), &self.limits.set),
                Text::Bytes(b) => big.add(Item::of(b), &self.limits.set),
            };
            if !new {
                return Err(input.bad(DUPLICATE_MEMBER));
            }
        }
        Ok(Entry::big(head.key, big, head.deadline, 0))
    }

    /// A set of integers in order.
    fn int_set(&self, head: Head<'_>, ints: &[i64]) -> Entry {
        let intset = ints.len() <= self.limits.set.intset_max();
        let e = set::Draft::of_ints(head.key, ints, intset).finish();
        e.set_deadline(head.deadline)
    }

    fn intset(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Entry> {
        let bytes = blob(input, &mut self.a)?;
        match ints_of(bytes) {
            Some(ints) => Ok(self.int_set(head, &ints)),
            None => Err(input.bad("Intset integrity check failed.")),
        }
    }

    fn set_listpack(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let Some(mut listpack) = Listpack::new(bytes).filter(|l| l.is_set_of(1)) else {
            return Err(input.bad("Set listpack integrity check failed."));
        };
        let count = listpack.count;
        if count == 0 {
            return Ok(None);
        }
        let Head { key, deadline } = head;
        let small = count <= self.limits.set.listpack_entries;
        if small && let Some(run) = listpack.as_run().filter(|run| run.len() <= RUN_MAX) {
            return Ok(Some(Entry::packed(Kind::Set, key, run, deadline, 0)));
        }
        let mut big = BigSet::new(if small { Encoding::Listpack } else { Encoding::Hashtable });
        for item in listpack.items() {
            big.put(item);
        }
        Ok(Some(Entry::big(key, big, deadline, 0)))
    }

    fn zset(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        binary: bool,
    ) -> Result<Option<Entry>> {
        let n = len(input)?;
        if n == 0 {
            return Ok(None);
        }
        let mut draft = zset::Draft::default();
        for _ in 0..n {
            text_into(input, &mut self.a)?;
            let score =
                if binary { f64::from_le_bytes(input.array()?) } else { text_score(input)? };
            if score.is_nan() {
                return Err(input.bad("Zset with NAN score detected"));
            }
            if !draft.insert_new(&self.a, score) {
                return Err(input.bad("Duplicate zset fields detected"));
            }
        }
        let e = zset::entry(head.key, draft, self.limits.zset);
        Ok(Some(e.set_deadline(head.deadline)))
    }

    fn zset_listpack(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let listpack = Listpack::new(bytes).filter(|l| l.is_set_of(2));
        let e = listpack.and_then(|listpack| zset_of(head, listpack, self.limits.zset));
        match e {
            Some(e) => Ok(e),
            None => Err(input.bad("Zset listpack integrity check failed.")),
        }
    }

    fn zset_ziplist(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let mut draft = zset::Draft::default();
        let (member, mut is_score, mut buf) = (&mut self.b, false, [0; I64_LEN_MAX]);
        let whole = ziplist::each(bytes, |item| {
            is_score = !is_score;
            if is_score {
                member.clear();
                member.extend_from_slice(item.text(&mut buf));
                return true;
            }
            score_of(item).is_some_and(|score| draft.insert_new(member, score))
        });
        if whole.is_none() || is_score {
            return Err(input.bad("Zset ziplist integrity check failed."));
        }
        if draft.is_empty() {
            return Ok(None);
        }
        // Redis looks at the number of members alone.
        let limits = zset::Limits { value: usize::MAX, ..self.limits.zset };
        Ok(Some(zset::entry(head.key, draft, limits).set_deadline(head.deadline)))
    }

    /// Fields and values, with or without deadlines.
    fn hash(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        deadlines: FieldDeadlines,
    ) -> Result<Option<Entry>> {
        let n = len(input)?;
        if n == 0 {
            return Ok(None);
        }
        let fields = usize::try_from(n).unwrap_or(usize::MAX);
        let expires = deadlines != FieldDeadlines::None;
        let mut draft = hash::Draft::new(fields, expires, self.limits.hash);
        for _ in 0..n {
            let before = match deadlines {
                FieldDeadlines::Before { first } => deadline_before(input, first)?,
                _ => None,
            };
            text_into(input, &mut self.a)?;
            text_into(input, &mut self.b)?;
            let deadline = match deadlines {
                FieldDeadlines::Behind => deadline_behind(input)?,
                _ => before,
            };
            if !draft.add(&self.a, &self.b, deadline) {
                return Err(input.bad(DUPLICATE_FIELD));
            }
        }
        match draft.finish(head.key, head.deadline) {
            Some(e) => Ok(Some(e)),
            None => Err(input.bad("Hash with dup elements")),
        }
    }

    fn hash_zipmap(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let mut count = 0;
        if zipmap::each(bytes, |_, _| count += 1).is_none() || count == 0 {
            return Err(input.bad("Zipmap integrity check failed."));
        }
        let mut draft = hash::Draft::new(count, false, self.limits.hash);
        let mut distinct = true;
        zipmap::each(bytes, |field, value| distinct = distinct && draft.add(field, value, None));
        match draft.finish(head.key, head.deadline).filter(|_| distinct) {
            Some(e) => Ok(Some(e)),
            None => Err(input.bad("Hash zipmap with dup elements, or big length")),
        }
    }

    fn hash_ziplist(&mut self, head: Head<'_>, input: &mut impl Input) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let mut count = 0;
        let whole = ziplist::each(bytes, |_| {
            count += 1;
            true
        });
        // Redis looks at the number of fields alone.
        let limits = hash::Limits { value: usize::MAX, ..self.limits.hash };
        let mut draft = hash::Draft::new(count / 2, false, limits);
        let (field, mut is_value, mut buf) = (&mut self.b, false, [0; I64_LEN_MAX]);
        let distinct = ziplist::each(bytes, |item| {
            let text = item.text(&mut buf);
            is_value = !is_value;
            if is_value {
                field.clear();
                field.extend_from_slice(text);
                return true;
            }
            draft.add(field, text, None)
        });
        if whole.is_none() || distinct.is_none() || is_value {
            return Err(input.bad(HASH_ZIPLIST));
        }
        if count == 0 {
            return Ok(None);
        }
        match draft.finish(head.key, head.deadline) {
            Some(e) => Ok(Some(e)),
            None => Err(input.bad(HASH_ZIPLIST)),
        }
    }

    fn hash_listpack(
        &mut self,
        head: Head<'_>,
        input: &mut impl Input,
        ex: bool,
    ) -> Result<Option<Entry>> {
        let bytes = blob(input, &mut self.a)?;
        let listpack = Listpack::new(bytes);
        let step = if ex { 3 } else { 2 };
        if listpack.as_ref().is_some_and(|l| !l.is_set_of(step)) {
            return Err(input.bad("Hash listpack with dup elements, or uneven number of elements"));
        }
        let e = listpack.and_then(|listpack| hash_of(head, listpack, ex, self.limits.hash));
        match e {
            Some(e) => Ok(e),
            None => Err(input.bad("Hash listpack integrity check failed.")),
        }
    }
}

/// Where the fields of a hash have their deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldDeadlines {
    None,
    /// Redis's: before the field, counted from the first of all, or from the beginning of time.
    Before {
        first: Option<u64>,
    },
    /// Valkey's: behind the value.
    Behind,
}

fn deadline_before(input: &mut impl Input, first: Option<u64>) -> Result<Option<i64>> {
    let said = len(input)?;
    let deadline = match (said, first) {
        (0, _) => Some(0),
        (n, None) => Some(n),
        (n, Some(first)) => first.checked_add(n - 1),
    };
    match deadline.filter(|d| *d <= FIELD_DEADLINE_MAX) {
        Some(deadline) => Ok((deadline > 0).then_some(deadline as i64)),
        None => Err(input.bad(format!("invalid expireAt time: {said}"))),
    }
}

fn deadline_behind(input: &mut impl Input) -> Result<Option<i64>> {
    let said = i64::from_le_bytes(input.array()?);
    if said != -1 && !(0..=FIELD_DEADLINE_MAX as i64).contains(&said) {
        return Err(input.bad(format!("invalid expireAt time: {said}")));
    }
    // What expired at the beginning of time is to be found expired, not without a deadline.
    Ok((said != -1).then_some(said.max(1)))
}

const DUPLICATE_MEMBER: &str = "Duplicate set members detected";
const DUPLICATE_FIELD: &str = "Duplicate hash fields detected";
const HASH_ZIPLIST: &str = "Hash ziplist integrity check failed.";

/// The longest run that a set is kept as, in bytes.
const RUN_MAX: usize = set::RUN_MAX;

fn push_ziplist(draft: &mut list::Draft, bytes: &[u8]) -> Option<()> {
    let mut buf = [0; I64_LEN_MAX];
    ziplist::each(bytes, |item| {
        draft.push(item.text(&mut buf));
        true
    })
}

/// The members of an intset. None if anything is wrong with it.
fn ints_of(bytes: &[u8]) -> Option<Vec<i64>> {
    let width = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    let count = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?) as usize;
    let values = bytes.get(8..)?;
    if count == 0 || !matches!(width, 2 | 4 | 8) || values.len() != count.checked_mul(width)? {
        return None;
    }
    let ints: Vec<i64> = values
        .chunks_exact(width)
        .map(|b| {
            let mut wide = [if b[width - 1] & 0x80 == 0 { 0 } else { 0xff }; 8];
            wide[..width].copy_from_slice(b);
            i64::from_le_bytes(wide)
        })
        .collect();
    ints.is_sorted_by(|a, b| a < b).then_some(ints)
}

/// A score of a listpack or ziplist. None if it is no number.
fn score_of(item: Item<'_>) -> Option<f64> {
    match item {
        Item::Int(n) => Some(n as f64),
        Item::Bytes(text) => parse_f64(text).filter(|score| !score.is_nan()),
    }
}

/// A score as text behind its length, of which three say what no text does.
fn text_score(input: &mut impl Input) -> Result<f64> {
    let n = match input.byte()? {
        255 => return Ok(f64::NEG_INFINITY),
        254 => return Ok(f64::INFINITY),
        253 => return Ok(f64::NAN),
        n => usize::from(n),
    };
    match parse_f64(input.take(n)?) {
        Some(score) => Ok(score),
        None => Err(input.bad("Zset with NAN score detected")),
    }
}

/// A sorted set of members and scores in turn. None if a score is no number; none within if there
/// are no members.
fn zset_of(
    head: Head<'_>,
    mut listpack: Listpack<'_>,
    limits: zset::Limits,
) -> Option<Option<Entry>> {
    let members = listpack.count / 2;
    if members == 0 {
        return Some(None);
    }
    let mut in_order = true;
    {
        let (mut x, mut y) = ([0; I64_LEN_MAX], [0; I64_LEN_MAX]);
        let mut before: Option<(Item<'_>, f64)> = None;
        let mut items = listpack.items();
        while let (Some(member), Some(score)) = (items.next(), items.next()) {
            let score = score_of(score)?;
            in_order &= before.is_none_or(|(its, last)| {
                last < score || (last == score && its.text(&mut x) < member.text(&mut y))
            });
            before = Some((member, score));
        }
    }
    if in_order
        && members <= limits.entries
        && let Some(run) = listpack.as_run()
    {
        return Some(Some(Entry::packed(Kind::ZSet, head.key, run, head.deadline, 0)));
    }
    let mut draft = zset::Draft::default();
    let mut buf = [0; I64_LEN_MAX];
    let mut items = listpack.items();
    while let (Some(member), Some(score)) = (items.next(), items.next()) {
        draft.insert(member.text(&mut buf), score_of(score)?);
    }
    // Redis looks at the number of members alone.
    let limits = zset::Limits { value: usize::MAX, ..limits };
    Some(Some(zset::entry(head.key, draft, limits).set_deadline(head.deadline)))
}

/// A hash of fields and values in turn, which are whole and distinct, with `ex` with deadlines behind
/// them. None if something is wrong with it; none within if there are no fields.
fn hash_of(
    head: Head<'_>,
    mut listpack: Listpack<'_>,
    ex: bool,
    limits: hash::Limits,
) -> Option<Option<Entry>> {
    let fields = listpack.count / if ex { 3 } else { 2 };
    if fields == 0 {
        return Some(None);
    }
    if ex {
        // In order, and those without one behind all others.
        let mut last = Some(1);
        for item in listpack.items().skip(2).step_by(3) {
            let Item::Int(d @ 0..) = item else { return None };
            let d = (d > 0).then_some(d as u64);
            match (last, d) {
                (Some(last), Some(d)) if d >= last && d <= FIELD_DEADLINE_MAX => {}
                (_, None) => {}
                _ => return None,
            }
            last = d;
        }
    }
    if fields <= limits.entries
        && let Some(run) = listpack.as_run()
    {
        return Some(Some(hash::of_run(head.key, run, ex, head.deadline)));
    }
    // Redis looks at the number of fields alone.
    let limits = hash::Limits { value: usize::MAX, ..limits };
    let mut draft = hash::Draft::new(fields, ex, limits);
    let (mut x, mut y) = ([0; I64_LEN_MAX], [0; I64_LEN_MAX]);
    let mut items = listpack.items();
    while let (Some(field), Some(value)) = (items.next(), items.next()) {
        let deadline = match ex.then(|| items.next()).flatten() {
            Some(Item::Int(d @ 1..)) => Some(d),
            _ => None,
        };
        if !draft.add(field.text(&mut x), value.text(&mut y), deadline) {
            return None;
        }
    }
    draft.finish(head.key, head.deadline).map(Some)
}
