//! A small sorted set: a packed run of member, score, member, score … in order.
//!
//! Scores are elements as in Redis: an integer where the score is one, and otherwise the shortest
//! text that reads back as the same number. (Negative zero becomes zero, as there.)

use crate::packed::{self, Edit, Item, Packed};
use stdx::num::{F64_LEN_MAX, I64_LEN_MAX, fmt_f64, parse_f64};

/// A member with its score, and where the two lie.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) member: Item<'a>,
    score: Item<'a>,
}

impl Pair<'_> {
    /// The score; a text that is no number counts as 0 and never as NaN.
    #[inline]
    pub(super) fn score(&self) -> f64 {
        match self.score {
            Item::Int(n) => n as f64,
            Item::Bytes(text) => parse_f64(text).unwrap_or(0.0),
        }
    }
}

/// All pairs in order.
pub(super) fn pairs<'a>(run: Packed<'a>) -> impl Iterator<Item = Pair<'a>> {
    let mut at = packed::START;
    std::iter::from_fn(move || {
        let (member, middle) = run.at(at)?;
        let (score, end) = run.at(middle)?;
        let pair = Pair { at, end, member, score };
        at = end;
        Some(pair)
    })
}

/// Pairs from the last to the first.
pub(super) fn pairs_back<'a>(run: Packed<'a>) -> impl Iterator<Item = Pair<'a>> {
    let mut end = run.bytes().len();
    std::iter::from_fn(move || {
        let middle = run.before(end)?;
        let at = run.before(middle)?;
        let pair = Pair { at, end, member: run.at(at)?.0, score: run.at(middle)?.0 };
        end = at;
        Some(pair)
    })
}

/// The pair of a member and its rank.
pub(super) fn find<'a>(run: Packed<'a>, member: &[u8]) -> Option<(usize, Pair<'a>)> {
    let wanted = Item::of(member);
    pairs(run).enumerate().find(|(_, pair)| pair.member == wanted)
}

/// Whether a pair comes before a score and member.
pub(super) fn is_before(pair: &Pair<'_>, score: f64, member: &[u8]) -> bool {
    let its = pair.score();
    its < score || (its == score && pair.member.text(&mut [0; I64_LEN_MAX]) < member)
}

/// A pair as it is kept.
pub(super) fn encode(member: &[u8], score: f64, out: &mut Vec<u8>) {
    Item::of(member).encode(out);
    // Half the range, as in Redis: beyond it neighbours are 512 apart anyway.
    const INT_MAX: f64 = (i64::MAX / 2) as f64;
    if score.abs() <= INT_MAX && score == score.trunc() {
        Item::Int(score as i64).encode(out);
    } else {
        Item::of(fmt_f64(&mut [0; F64_LEN_MAX], score)).encode(out);
    }
}

/// Puts an encoded pair where it belongs.
pub(super) fn insert(run: &mut impl Edit, member: &[u8], score: f64, encoded: &[u8]) {
    let packed = Packed::new(run.run());
    let behind = pairs(packed).find(|pair| !is_before(pair, score, member));
    let at = behind.map_or(packed.bytes().len(), |pair| pair.at);
    packed::replace(run, at, at, 0, encoded, 2);
}

/// Takes `n` pairs out, the bytes from `at` to `end`.
pub(super) fn remove(run: &mut impl Edit, at: usize, end: usize, n: usize) {
    packed::replace(run, at, end, 2 * n, &[], 0);
}
