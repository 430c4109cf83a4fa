//! A set that does not fit in an entry: its integers sorted in blocks, its other members in a hash
//! table.
//!
//! A member's place follows from the member alone, never from what the set was before: a scan can
//! be continued whatever has been added meanwhile, and nothing is ever converted as a whole. The
//! encoding that OBJECT ENCODING names is Redis's, kept beside.

use stdx::hash::hash64;
use stdx::rng::Rng;

use super::Limits;
use super::ints::Ints;
use super::member::Member;
use crate::big::{Named, Step, Value};
use crate::entry::Kind;
use crate::packed::Item;
use crate::table::Table;

/// The encoding that Redis would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Integers alone, not more than `set-max-intset-entries`.
    Intset,
    /// Few and short members.
    Listpack,
    /// Any others.
    Hashtable,
}

impl Encoding {
    /// The answer of OBJECT ENCODING.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intset => "intset",
            Self::Listpack => "listpack",
            Self::Hashtable => "hashtable",
        }
    }
}

/// See the module's text.
pub struct BigSet {
    ints: Ints,
    texts: Table<Member>,
    /// Bytes of all `texts`.
    text_bytes: usize,
    encoding: Encoding,
}

/// Cursors from here on are positions among the texts, those below are codes of integers.
const TEXTS: u64 = 1 << 52;
/// Integers from `-NEAR` to `NEAR - 1` have a code each.
const NEAR: i64 = 1 << 50;
/// Beyond, `1 << FAR_SHIFT` neighbours share one.
const FAR_SHIFT: u32 = 14;

/// The cursor that stands for `v`, 52 bits: ascending with `v`. It fits a double without loss,
/// since there are clients that keep cursors in one.
fn code(v: i64) -> u64 {
    let far = 1u64 << (63 - FAR_SHIFT);
    // From the lowest value that shares codes: 0, or NEAR.
    let shared = |from: i64| (v as u64).wrapping_sub(from as u64) >> FAR_SHIFT;
    if v < -NEAR {
        shared(i64::MIN)
    } else if v < NEAR {
        far + (v + NEAR) as u64
    } else {
        far + 2 * NEAR as u64 + shared(NEAR)
    }
}

/// The lowest integer with a code of at least `code`, if there is one.
fn first_of(code: u64) -> Option<i64> {
    let far = 1u64 << (63 - FAR_SHIFT);
    let near_end = far + 2 * NEAR as u64;
    if code < far {
        // The last of the shared codes reach up to where the single ones begin.
        Some(i64::MIN.wrapping_add((code << FAR_SHIFT) as i64).min(-NEAR))
    } else if code < near_end {
        Some((code - far) as i64 - NEAR)
    } else {
        let by = (code - near_end).checked_mul(1 << FAR_SHIFT)?;
        NEAR.checked_add(i64::try_from(by).ok()?)
    }
}

impl BigSet {
    /// An empty set that Redis would keep in this encoding.
    pub fn new(encoding: Encoding) -> Self {
        Self { ints: Ints::default(), texts: Table::new(0), text_bytes: 0, encoding }
    }

    /// A set of integers, ascending, none twice.
    pub fn from_ints(values: &[i64], encoding: Encoding) -> Self {
        Self { ints: Ints::from_sorted(values), ..Self::new(encoding) }
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        self.ints.len() + self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integers among the members.
    #[inline]
    pub fn ints(&self) -> &Ints {
        &self.ints
    }

    /// How many members are no integers.
    #[inline]
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// See [`Encoding`].
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether `item` is a member.
    #[inline]
    pub fn contains(&self, item: Item<'_>) -> bool {
        match item {
            Item::Int(v) => self.ints.contains(v),
            Item::Bytes(b) => {
                self.texts.find(hash64(b), |m| stdx::bytes::same(m.bytes(), b)).is_some()
            }
        }
    }

    /// Adds `item`. Returns whether it was absent.
    #[inline]
    pub fn add(&mut self, item: Item<'_>, limits: &Limits) -> bool {
        let added = self.put(item);
        if added && self.encoding != Encoding::Hashtable {
            self.encoding = match (self.encoding, item) {
                (Encoding::Intset, Item::Int(_)) if self.len() <= limits.intset_max() => {
                    return true;
                }
                (Encoding::Intset, Item::Int(_)) => Encoding::Hashtable,
                (before, _) => {
                    let longest = if before == Encoding::Intset { self.longest_int() } else { 0 };
                    limits.listpack_or_hashtable(self.len() - 1, item.text_len().max(longest))
                }
            };
        }
        added
    }

    /// Adds `item` whatever the encoding's name says. Returns whether it was absent.
    #[inline]
    pub fn put(&mut self, item: Item<'_>) -> bool {
        match item {
            Item::Int(v) => self.ints.insert(v),
            Item::Bytes(b) => {
                let hash = hash64(b);
                let absent = self.texts.find(hash, |m| stdx::bytes::same(m.bytes(), b)).is_none();
                if absent {
                    let member = Member::new(b);
                    self.text_bytes += member.allocated();
                    self.texts.insert_hashed(hash, member);
                }
                absent
            }
        }
    }

    /// Digits of the longest integer.
    fn longest_int(&self) -> usize {
        let (first, last) = (self.ints.walk().next(), self.ints.last());
        [first, last].into_iter().flatten().map(|v| Item::Int(v).text_len()).max().unwrap_or(0)
    }

    /// Becomes a hash table by name: so many members are about to be added.
    pub(super) fn expect(&mut self, members: usize, limits: &Limits) {
        let max = match self.encoding {
            Encoding::Intset => limits.intset_entries,
            Encoding::Listpack => limits.listpack_entries,
            Encoding::Hashtable => return,
        };
        if members > max {
            self.encoding = Encoding::Hashtable;
        }
    }

    /// Takes `item` out. Returns whether it was present.
    pub fn remove(&mut self, item: Item<'_>) -> bool {
        match item {
            Item::Int(v) => self.ints.remove(v),
            Item::Bytes(b) => {
                match self.texts.remove(hash64(b), |m| stdx::bytes::same(m.bytes(), b)) {
                    Some(m) => {
                        self.text_bytes -= m.allocated();
                        true
                    }
                    None => false,
                }
            }
        }
    }

    /// Calls `f` for every member, the integers first and in order, until it returns false.
    pub fn each(&self, mut f: impl FnMut(Item<'_>) -> bool) -> bool {
        for v in self.ints.walk() {
            if !f(Item::Int(v)) {
                return false;
            }
        }
        self.each_text(|b| f(Item::Bytes(b)))
    }

    /// Calls `f` for every member that is no integer, until it returns false.
    pub fn each_text(&self, mut f: impl FnMut(&[u8]) -> bool) -> bool {
        let mut at = Some(0);
        let mut more = true;
        while let (Some(pos), true) = (at, more) {
            at = self.texts.scan(pos, |m| more = more && f(m.bytes()));
        }
        more
    }

    /// A member, every one with the same chance, given to `f`; none of an empty set.
    pub fn random<R>(&self, rng: &mut Rng, f: impl FnOnce(Item<'_>) -> R) -> Option<R> {
        if rng.index(self.len()) < self.ints.len() {
            return self.ints.random(rng).map(|v| f(Item::Int(v)));
        }
        self.texts.sample_fair(&mut |n| rng.index(n)).map(|m| f(Item::Bytes(m.bytes())))
    }

    /// One call of a scan: gives `f` about `count` members from `cursor` on, and returns the
    /// cursor to go on with, 0 at the end. A member that is present from the first call to the
    /// last is given at least once, whatever is added or removed in between.
    pub fn scan(&self, cursor: u64, count: u64, mut f: impl FnMut(Item<'_>)) -> u64 {
        let mut seen = 0;
        let mut cursor = cursor;
        if cursor < TEXTS {
            let mut last = None;
            if let Some(from) = first_of(cursor) {
                for v in self.ints.walk_from(from) {
                    let this = code(v);
                    // All that share a code go together.
                    if seen >= count && last != Some(this) {
                        return last.map_or(cursor, |c| c + 1);
                    }
                    last = Some(this);
                    seen += 1;
                    f(Item::Int(v));
                }
            }
            cursor = TEXTS;
        }
        let Ok(mut pos) = u32::try_from(cursor - TEXTS) else { return 0 };
        if self.texts.is_empty() {
            return 0;
        }
        // As in Redis, empty buckets are not walked for ever.
        let mut steps = count.saturating_mul(10);
        loop {
            if seen >= count || steps == 0 {
                return TEXTS | u64::from(pos);
            }
            steps -= 1;
            let next = self.texts.scan(pos, |m| {
                seen += 1;
                f(Item::Bytes(m.bytes()));
            });
            match next {
                Some(next) => pos = next,
                None => return 0,
            }
        }
    }
}

impl Value for BigSet {
    const KIND: Kind = Kind::Set;

    fn bytes(&self) -> usize {
        self.ints.bytes() + self.text_bytes + self.texts.bytes()
    }

    fn effort(&self) -> usize {
        self.ints.allocations() + self.texts.len()
    }

    fn encoding_name(&self) -> &'static str {
        self.encoding.name()
    }

    fn duplicate(&self) -> Self {
        let mut copy = Self::new(self.encoding);
        copy.ints = self.ints.clone();
        copy.text_bytes = self.text_bytes;
        self.texts.for_each(|m| copy.texts.insert(Member::new(m.bytes())));
        copy
    }

    fn freeze(&mut self) -> Self {
        let (ints, texts) = (self.ints.freeze(), self.texts.view());
        Self { ints, texts, text_bytes: self.text_bytes, encoding: self.encoding }
    }

    fn prefetch(&self, about: Named<'_>, step: Step) {
        match step {
            Step::Bucket => self.texts.prefetch_bucket(about.hash),
            Step::Node => self.texts.prefetch_node(about.hash),
            Step::Place => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_of_integers_ascend_and_lead_back() {
        let edges = [i64::MIN, -NEAR, 0, NEAR, i64::MAX];
        let mut values: Vec<i64> = edges
            .iter()
            .flat_map(|e| (-40_000..=40_000).step_by(997).map(|d| e.saturating_add(d)))
            .chain(edges.iter().flat_map(|e| (-3..=3).map(|d| e.saturating_add(d))))
            .collect();
        values.sort_unstable();
        for pair in values.windows(2) {
            assert!(code(pair[0]) <= code(pair[1]), "{pair:?}");
        }
        for v in values {
            let c = code(v);
            assert!(c < TEXTS);
            assert!(first_of(c).is_some_and(|f| f <= v && code(f) == c), "{v}");
            assert!(first_of(c + 1).is_none_or(|f| f > v), "{v}");
        }
        for cursor in [0, 1, TEXTS - 1, (1 << 49) - 1, 1 << 49, 1 << 51] {
            let _ = first_of(cursor);
        }
    }
}
