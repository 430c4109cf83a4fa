//! Sorted sets: members in order of their scores, and of their bytes where scores are equal.
//!
//! Small ones are a packed run inside their entry, big ones a dictionary and a tree ([`ZSet`]).
//! [`View`] reads either; the functions here change either, and make a run into a [`ZSet`] when it
//! outgrows its [`Limits`]. Nothing makes a set small again but storing it anew, as in Redis.

mod big;
mod member;
mod run;
mod tree;

pub use big::{Draft, ZSet};

use crate::entry::{Entry, Kind};
use crate::packed::{self, Edit, Item, Packed};
use crate::table::SlotMut;
use stdx::num::I64_LEN_MAX;

/// Up to where a sorted set is small (`zset-max-listpack-entries` and `-value`).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Members.
    pub entries: usize,
    /// Bytes of the longest member.
    pub value: usize,
}

/// A sorted set to read.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// A small one.
    Run(Packed<'a>),
    /// A big one.
    Big(&'a ZSet),
}

impl<'a> View<'a> {
    /// The value of an entry; of another type than sorted sets, an empty one.
    #[inline]
    pub fn of(e: &'a Entry) -> Self {
        match e.value::<ZSet>() {
            Some(z) => Self::Big(z),
            None if e.kind() == Kind::ZSet => Self::Run(Packed::new(e.run().unwrap_or(&[]))),
            None => Self::Run(Packed::new(&[])),
        }
    }

    /// Members.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Run(run) => run.len() / 2,
            Self::Big(z) => z.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of a member.
    #[inline]
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Run(run) => Some(run::find(*run, member)?.1.score()),
            Self::Big(z) => z.score(member),
        }
    }

    /// The rank and score of a member.
    pub fn rank(&self, member: &[u8]) -> Option<(usize, f64)> {
        match self {
            Self::Run(run) => run::find(*run, member).map(|(rank, pair)| (rank, pair.score())),
            Self::Big(z) => z.rank(member),
        }
    }

    /// How many members have a score for which `before` holds; it must hold for none above one for
    /// which it does not.
    #[inline]
    pub fn count_scores(&self, before: impl Fn(f64) -> bool) -> usize {
        match self {
            Self::Run(run) => run::pairs(*run).take_while(|pair| before(pair.score())).count(),
            Self::Big(z) => z.count_scores(before),
        }
    }

    /// The same, deciding by the member: of use when all scores are equal.
    #[inline]
    pub fn count_members(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        match self {
            Self::Run(run) => run::pairs(*run)
                .take_while(|pair| before(pair.member.text(&mut [0; I64_LEN_MAX])))
                .count(),
            Self::Big(z) => z.count_members(before),
        }
    }

    /// Shows `n` members from a rank on, upwards or with `back` downwards, to `f`.
    #[inline]
    pub fn each(&self, from: usize, n: usize, back: bool, mut f: impl FnMut(Item<'a>, f64)) {
        match self {
            Self::Run(run) if back => {
                let skip = self.len().saturating_sub(from.saturating_add(1));
                for pair in run::pairs_back(*run).skip(skip).take(n) {
                    f(pair.member, pair.score());
                }
            }
            Self::Run(run) => {
                for pair in run::pairs(*run).skip(from).take(n) {
                    f(pair.member, pair.score());
                }
            }
            Self::Big(z) => {
                for (member, score) in z.iter(from, back).take(n) {
                    f(Item::Bytes(member), score);
                }
            }
        }
    }

    /// Shows all members in order.
    pub fn for_each(&self, f: impl FnMut(Item<'a>, f64)) {
        self.each(0, usize::MAX, false, f);
    }

    /// The member of a rank.
    pub fn at(&self, rank: usize) -> Option<(Item<'a>, f64)> {
        let mut found = None;
        self.each(rank, 1, false, |member, score| found = Some((member, score)));
        found
    }
}

/// When a member is added or changed, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// The member is only added: one that exists stays as it is.
    pub nx: bool,
    /// The member is only changed: none is added.
    pub xx: bool,
    /// A member that exists gets a new score only if it is higher.
    pub gt: bool,
    /// A member that exists gets a new score only if it is lower.
    pub lt: bool,
    /// The score is added to what it has.
    pub incr: bool,
}

/// What became of the member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Put {
    /// The member is new.
    Added(f64),
    /// It has another score.
    Updated(f64),
    /// It had this score before.
    Same(f64),
    /// [`How`] was against it.
    Skipped,
    /// The score would not be a number; nothing has changed.
    Nan,
}

/// What becomes of a member that has, or does not have, a score.
fn decide(current: Option<f64>, score: f64, how: How) -> Put {
    let Some(current) = current else {
        return if how.xx { Put::Skipped } else { Put::Added(score) };
    };
    if how.nx {
        return Put::Skipped;
    }
    let score = if how.incr { current + score } else { score };
    if score.is_nan() {
        Put::Nan
    } else if (how.lt && score >= current) || (how.gt && score <= current) {
        Put::Skipped
    } else if score == current {
        Put::Same(score)
    } else {
        Put::Updated(score)
    }
}

/// Adds a member or changes its score, which must not be NaN.
pub fn put(
    slot: &mut SlotMut<'_, Entry>,
    limits: Limits,
    member: &[u8],
    score: f64,
    how: How,
) -> Put {
    if Entry::run(slot).is_some() {
        let run = Packed::new(Edit::run(slot));
        let found = run::find(run, member).map(|(_, pair)| (pair.at, pair.end, pair.score()));
        let done = decide(found.map(|(_, _, score)| score), score, how);
        let (Put::Added(score) | Put::Updated(score)) = done else {
            return done;
        };
        let listpack = found.is_some() || fits(run.len() / 2 + 1, member.len(), limits);
        let mut encoded = Vec::with_capacity(64);
        run::encode(member, score, &mut encoded);
        if listpack && run.bytes().len() + encoded.len() <= packed::BYTES_MAX {
            if let Some((at, end, _)) = found {
                run::remove(slot, at, end, 1);
            }
            run::insert(slot, member, score, &encoded);
            return done;
        }
        enlarge(slot, listpack);
        if let Some(z) = slot.node_mut().value_mut::<ZSet>() {
            z.put(member, score);
        }
        return done;
    }
    let Some(z) = slot.node_mut().value_mut::<ZSet>() else {
        return Put::Skipped;
    };
    let listpack = z.is_listpack && fits(z.len() + 1, member.len(), limits);
    let mut done = Put::Skipped;
    z.put_if(member, |current| {
        done = decide(current, score, how);
        match done {
            Put::Added(score) | Put::Updated(score) => Some(score),
            _ => None,
        }
    });
    if matches!(done, Put::Added(_)) {
        z.is_listpack = listpack;
    }
    done
}

fn fits(entries: usize, longest: usize, limits: Limits) -> bool {
    entries <= limits.entries && longest <= limits.value
}

/// Makes a run into a big set; `is_listpack`: although Redis would not.
fn enlarge(slot: &mut SlotMut<'_, Entry>, is_listpack: bool) {
    let mut z = ZSet::new();
    z.is_listpack = is_listpack;
    let mut buf = [0; I64_LEN_MAX];
    for pair in run::pairs(Packed::new(Edit::run(slot))) {
        z.put_new(pair.member.text(&mut buf), pair.score());
    }
    slot.replace_with(|e| e.with_big(z));
}

/// Announces that `more` members of which the first has `len` bytes are about to be added to a new
/// set, or `more` to an old one: what will be big becomes so at once, as in Redis.
pub fn expect(slot: &mut SlotMut<'_, Entry>, limits: Limits, more: usize, len: Option<usize>) {
    if fits(more, len.unwrap_or(0), limits) {
        return;
    }
    if Entry::run(slot).is_some() {
        enlarge(slot, false);
    } else if let Some(z) = slot.node_mut().value_mut::<ZSet>() {
        z.is_listpack = false;
    }
}

/// Takes a member out and returns its score. The set may be empty afterwards.
pub fn remove(slot: &mut SlotMut<'_, Entry>, member: &[u8]) -> Option<f64> {
    if Entry::run(slot).is_some() {
        let (_, pair) = run::find(Packed::new(Edit::run(slot)), member)?;
        let (at, end, score) = (pair.at, pair.end, pair.score());
        run::remove(slot, at, end, 1);
        return Some(score);
    }
    slot.node_mut().value_mut::<ZSet>()?.remove(member)
}

/// Takes `n` members from a rank on out. The set may be empty afterwards.
pub fn remove_ranks(slot: &mut SlotMut<'_, Entry>, from: usize, n: usize) {
    if Entry::run(slot).is_some() {
        let run = Packed::new(Edit::run(slot));
        let mut gone = run::pairs(run).skip(from).take(n);
        let Some(first) = gone.next() else {
            return;
        };
        let (mut end, mut count) = (first.end, 1);
        for pair in gone {
            (end, count) = (pair.end, count + 1);
        }
        let at = first.at;
        run::remove(slot, at, end, count);
    } else if let Some(z) = slot.node_mut().value_mut::<ZSet>() {
        z.remove_ranks(from, n, |_, _| {});
    }
}

/// An entry with the members of a draft, small if they fit.
pub fn entry(key: &[u8], draft: Draft, limits: Limits) -> Entry {
    let listpack = fits(draft.len(), draft.longest(), limits);
    let mut z = draft.finish();
    if listpack {
        let mut run = packed::EMPTY.to_vec();
        let mut count = 0u16;
        for (member, score) in z.iter(0, false) {
            run::encode(member, score, &mut run);
            count = count.wrapping_add(2);
            if run.len() > packed::BYTES_MAX {
                break;
            }
        }
        if run.len() <= packed::BYTES_MAX {
            run.set_count(count);
            return Entry::packed(Kind::ZSet, key, &run, None, 0);
        }
        z.is_listpack = true;
    }
    Entry::big(key, z, None, 0)
}
