//! Sets: three ways to keep one, and what can be done with it whichever it is.
//!
//! | kept as | when | OBJECT ENCODING |
//! |---|---|---|
//! | [`IntRun`] in the entry, its tag [`INTSET`] | integers alone, up to `set-max-intset-entries` | `intset` |
//! | [`Packed`] run in the entry | few and short members | `listpack` |
//! | [`BigSet`] behind it | any others | `hashtable`, or what Redis would have |
//!
//! The names follow Redis 7.4 in every step, whatever was done to the set before. Where limits are
//! configured so high that Redis would search a long run, the set is a [`BigSet`] by that name.

mod big;
mod block;
mod intrun;
mod ints;
mod member;

use stdx::rng::Rng;

pub use big::{BigSet, Encoding};
pub use intrun::IntRun;
pub use ints::{Ints, Walk};

use crate::entry::{Entry, Kind};
use crate::packed::{self, EMPTY, Edit, Item, Packed, START, replace};
use crate::table::SlotMut;

/// The entry's tag for a run of sorted integers.
pub const INTSET: u8 = 1;

/// The longest run in bytes: searching and shifting a longer one costs more than the memory it
/// saves.
pub const RUN_MAX: usize = 8192;

/// Up to where sets are small: the options `set-max-…`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `set-max-intset-entries`
    pub intset_entries: usize,
    /// `set-max-listpack-entries`
    pub listpack_entries: usize,
    /// `set-max-listpack-value`, in bytes.
    pub listpack_value: usize,
}

impl Limits {
    /// Members of an intset; Redis's format ends at 2^30.
    pub fn intset_max(&self) -> usize {
        self.intset_entries.min(1 << 30)
    }

    /// What a set of `len` members becomes that is given one more, the longest of all being
    /// `longest` bytes long, when it cannot be an intset.
    fn listpack_or_hashtable(&self, len: usize, longest: usize) -> Encoding {
        if len < self.listpack_entries && longest <= self.listpack_value {
            Encoding::Listpack
        } else {
            Encoding::Hashtable
        }
    }
}

/// Where an entry with a set is: in its table, or on its own while it is made.
pub trait Home: Edit {
    /// The entry.
    fn entry(&self) -> &Entry;
    /// The entry, to change what does not move it.
    fn entry_mut(&mut self) -> &mut Entry;
    /// Exchanges the entry.
    fn exchange(&mut self, f: impl FnOnce(Entry) -> Entry);
}

impl Home for SlotMut<'_, Entry> {
    #[inline]
    fn entry(&self) -> &Entry {
        self
    }

    #[inline]
    fn entry_mut(&mut self) -> &mut Entry {
        self.node_mut()
    }

    #[inline]
    fn exchange(&mut self, f: impl FnOnce(Entry) -> Entry) {
        self.replace_with(f);
    }
}

/// A set that is being made, and is stored when it is complete.
pub struct Draft(Option<Entry>);

/// Only while [`Home::exchange`] runs is it away.
const HERE: &str = "a draft has its entry";

impl Draft {
    /// An empty set for `key` in an encoding.
    pub fn new(key: &[u8], encoding: Encoding) -> Self {
        if encoding == Encoding::Hashtable {
            return Self(Some(Entry::big(key, BigSet::new(encoding), None, 0)));
        }
        let mut e = Entry::packed(Kind::Set, key, &EMPTY, None, 0);
        e.set_tag(if encoding == Encoding::Intset { INTSET } else { 0 });
        Self(Some(e))
    }

    /// A set of integers, ascending and none twice: an intset by name if `intset`, or else a hash
    /// table.
    pub fn of_ints(key: &[u8], values: &[i64], intset: bool) -> Self {
        if intset && START + 8 * values.len() <= RUN_MAX {
            let mut e = Entry::packed(Kind::Set, key, &intrun::encode(values), None, 0);
            e.set_tag(INTSET);
            return Self(Some(e));
        }
        let encoding = if intset { Encoding::Intset } else { Encoding::Hashtable };
        Self(Some(Entry::big(key, BigSet::from_ints(values, encoding), None, 0)))
    }

    /// Adds a member.
    pub fn add(&mut self, item: Item<'_>, limits: &Limits) -> bool {
        add(self, item, limits)
    }

    /// Takes a member out.
    pub fn remove(&mut self, item: Item<'_>) -> bool {
        remove(self, item)
    }

    /// The members so far.
    pub fn set(&self) -> Set<'_> {
        Set::of(self.entry())
    }

    /// The entry.
    pub fn finish(self) -> Entry {
        self.0.expect(HERE)
    }
}

impl Edit for Draft {
    fn run(&self) -> &[u8] {
        self.entry().run().unwrap_or(&EMPTY)
    }

    fn splice(&mut self, at: usize, remove: usize, insert: &[u8]) {
        self.exchange(|e| e.splice(at, remove, insert));
    }

    fn set_count(&mut self, n: u16) {
        if let Some(run) = self.entry_mut().run_mut() {
            run[..START].copy_from_slice(&n.to_le_bytes());
        }
    }
}

impl Home for Draft {
    fn entry(&self) -> &Entry {
        self.0.as_ref().expect(HERE)
    }

    fn entry_mut(&mut self) -> &mut Entry {
        self.0.as_mut().expect(HERE)
    }

    fn exchange(&mut self, f: impl FnOnce(Entry) -> Entry) {
        self.0 = self.0.take().map(f);
    }
}

/// A set as it is kept, to read.
#[derive(Clone, Copy)]
pub enum Set<'a> {
    /// Few integers.
    Ints(IntRun<'a>),
    /// Few members.
    Run(Packed<'a>),
    /// Any others.
    Big(&'a BigSet),
}

impl<'a> Set<'a> {
    /// The set in an entry; an empty one when there is none in it.
    #[inline]
    pub fn of(e: &'a Entry) -> Self {
        if let Some(big) = e.value::<BigSet>() {
            return Self::Big(big);
        }
        let run = e.run().unwrap_or(&EMPTY);
        if e.tag() & INTSET != 0 {
            Self::Ints(IntRun::new(run))
        } else {
            Self::Run(Packed::new(run))
        }
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Ints(run) => run.len(),
            Self::Run(run) => run.len(),
            Self::Big(set) => set.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Encoding`].
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Ints(_) => Encoding::Intset,
            Self::Run(_) => Encoding::Listpack,
            Self::Big(set) => set.encoding(),
        }
    }

    /// Whether `item` is a member.
    #[inline]
    pub fn contains(&self, item: Item<'_>) -> bool {
        match (self, item) {
            (Self::Ints(run), Item::Int(v)) => run.find(v).is_ok(),
            (Self::Ints(_), Item::Bytes(_)) => false,
            (Self::Run(run), _) => run.iter().any(|(_, i)| i == item),
            (Self::Big(set), _) => set.contains(item),
        }
    }

    /// Calls `f` for every member until it returns false. Returns whether it never did.
    pub fn each(&self, mut f: impl FnMut(Item<'_>) -> bool) -> bool {
        match self {
            Self::Ints(run) => run.iter().all(|v| f(Item::Int(v))),
            Self::Run(run) => run.iter().all(|(_, i)| f(i)),
            Self::Big(set) => set.each(f),
        }
    }

    /// The integers in ascending order, when the set is kept in that order, and how many other
    /// members it has.
    pub fn sorted(&self) -> Option<(Sorted<'a>, usize)> {
        match self {
            Self::Ints(run) => Some((Sorted::Run(*run, 0), 0)),
            Self::Run(_) => None,
            Self::Big(set) => Some((Sorted::Blocks(set.ints().walk()), set.texts())),
        }
    }

    /// A member, every one with the same chance, given to `f`; none of an empty set.
    pub fn random<R>(&self, rng: &mut Rng, f: impl FnOnce(Item<'_>) -> R) -> Option<R> {
        match self {
            Self::Ints(run) => run.get(rng.index(run.len())).map(|v| f(Item::Int(v))),
            Self::Run(run) => run.get(rng.index(run.len()) as isize).map(f),
            Self::Big(set) => set.random(rng, f),
        }
    }
}

/// The integers of a set in ascending order.
#[derive(Clone)]
pub enum Sorted<'a> {
    /// The integers of a run, and the place of the next.
    Run(IntRun<'a>, usize),
    /// The integers of a big set.
    Blocks(Walk<'a>),
}

impl Sorted<'_> {
    /// Skips what is below `v`.
    #[inline]
    pub fn seek(&mut self, v: i64) {
        match self {
            Self::Run(run, at) => *at = run.seek(*at, v),
            Self::Blocks(walk) => walk.seek(v),
        }
    }
}

impl Iterator for Sorted<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        match self {
            Self::Run(run, at) => {
                let v = run.get(*at)?;
                *at += 1;
                Some(v)
            }
            Self::Blocks(walk) => walk.next(),
        }
    }
}

/// The encoding of a new set that begins with `first` and is about to be given `members` members.
pub fn encoding_for(first: Item<'_>, members: usize, limits: &Limits) -> Encoding {
    if matches!(first, Item::Int(_)) && members <= limits.intset_entries {
        Encoding::Intset
    } else if members <= limits.listpack_entries {
        Encoding::Listpack
    } else {
        Encoding::Hashtable
    }
}

/// Converts a small set that is about to be given more members than a small one has.
pub fn expect(home: &mut impl Home, members: usize, limits: &Limits) {
    if members <= limits.listpack_entries.min(limits.intset_entries) {
        return;
    }
    if let Some(big) = home.entry_mut().value_mut::<BigSet>() {
        return big.expect(members, limits);
    }
    let max = match Set::of(home.entry()).encoding() {
        Encoding::Intset => limits.intset_entries,
        _ => limits.listpack_entries,
    };
    if members > max {
        grow(home, Encoding::Hashtable);
    }
}

/// Adds a member. Returns whether it was absent.
#[inline]
pub fn add(home: &mut impl Home, item: Item<'_>, limits: &Limits) -> bool {
    if let Some(big) = home.entry_mut().value_mut::<BigSet>() {
        return big.add(item, limits);
    }
    match (Set::of(home.entry()), item) {
        (Set::Ints(run), Item::Int(v)) => {
            let Err(at) = run.find(v) else { return false };
            let (len, width) = (run.len() + 1, run.width());
            let wider = intrun::width_of(v);
            if len > limits.intset_max() {
                grow(home, Encoding::Hashtable).add(item, limits);
            } else if START + len * width.max(wider) > RUN_MAX {
                grow(home, Encoding::Intset).add(item, limits);
            } else if wider > width {
                let mut values: Vec<i64> = run.iter().collect();
                values.insert(at, v);
                let run = intrun::encode(&values);
                home.exchange(|e| e.with_run(Kind::Set, &run));
            } else {
                home.splice(START + at * width, 0, &v.to_le_bytes()[..width]);
                home.set_count(len as u16);
            }
            true
        }
        (Set::Ints(_), Item::Bytes(text)) => {
            add_text_to_integers(home, text, limits);
            true
        }
        (Set::Run(run), _) => {
            if run.iter().any(|(_, i)| i == item) {
                return false;
            }
            let end = run.bytes().len().max(START);
            match limits.listpack_or_hashtable(run.len(), item.text_len()) {
                Encoding::Listpack if end + item.encoded_len() <= RUN_MAX => {
                    let mut encoded = Vec::with_capacity(item.encoded_len());
                    item.encode(&mut encoded);
                    replace(home, end, end, 0, &encoded, 1);
                }
                encoding => {
                    grow(home, encoding).add(item, limits);
                }
            }
            true
        }
        // Looked at above.
        (Set::Big(_), _) => false,
    }
}

/// Adds the first member that is no integer: the set changes its encoding.
#[cold]
fn add_text_to_integers(home: &mut impl Home, text: &[u8], limits: &Limits) {
    let Set::Ints(run) = Set::of(home.entry()) else { return };
    let item = Item::Bytes(text);
    let ends = [run.get(0), run.len().checked_sub(1).and_then(|i| run.get(i))];
    let longest = ends.into_iter().flatten().map(|v| Item::Int(v).text_len()).max();
    let longest = longest.unwrap_or(0).max(text.len());
    let encoding = limits.listpack_or_hashtable(run.len(), longest);
    if encoding == Encoding::Hashtable {
        grow(home, encoding).add(item, limits);
        return;
    }
    let mut packed = EMPTY.to_vec();
    let members = run.iter().map(Item::Int).chain([item]);
    members.for_each(|i| i.encode(&mut packed));
    if packed.len() > RUN_MAX {
        grow(home, encoding).add(item, limits);
        return;
    }
    Edit::set_count(&mut packed, (run.len() + 1) as u16);
    home.exchange(|e| {
        let mut e = e.with_run(Kind::Set, &packed);
        e.set_tag(0);
        e
    });
}

/// Takes a member out. Returns whether it was present.
pub fn remove(home: &mut impl Home, item: Item<'_>) -> bool {
    if let Some(big) = home.entry_mut().value_mut::<BigSet>() {
        return big.remove(item);
    }
    match (Set::of(home.entry()), item) {
        (Set::Ints(run), Item::Int(v)) => {
            let Ok(at) = run.find(v) else { return false };
            let (len, width) = (run.len(), run.width());
            home.splice(START + at * width, width, &[]);
            home.set_count((len - 1) as u16);
            true
        }
        (Set::Run(run), _) => {
            let Some((at, _)) = run.iter().find(|(_, i)| *i == item) else { return false };
            let Some((_, end)) = run.at(at) else { return false };
            replace(home, at, end, 1, &[], 0);
            true
        }
        _ => false,
    }
}

/// Turns a run into a big set by the name of an encoding.
fn grow(home: &mut impl Home, encoding: Encoding) -> &mut BigSet {
    let set = Set::of(home.entry());
    let big = if let Set::Ints(run) = set {
        BigSet::from_ints(&run.iter().collect::<Vec<_>>(), encoding)
    } else {
        let mut big = BigSet::new(encoding);
        set.each(|item| {
            big.put(item);
            true
        });
        big
    };
    home.exchange(|e| e.with_big(big));
    home.entry_mut().value_mut().expect("it was just put there")
}

const _: () = assert!(RUN_MAX <= packed::BYTES_MAX);
