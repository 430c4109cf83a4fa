//! Ranges of ranks, of scores and of members, which many commands read, count, store or remove.
//!
//! Every range is turned into ranks, "from the n-th member on, so many": two descents at most,
//! for any kind of range and any number of members.

use resp::{Args, Reply};
use store::zset::{Draft, View};
use store::{Db, Kind};

use super::{Pairs, text};
use crate::command::Outcome;
use crate::fail::Fail;
use crate::parse::int;

/// The kind of a range's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Ranks, negative ones from the end.
    Rank,
    /// Scores.
    Score,
    /// Members, in a set whose scores are all equal.
    Lex,
}

/// A range of members.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range<'a> {
    /// From one rank to another, both included.
    Ranks(i64, i64),
    /// From one score to another.
    Scores(Limit, Limit),
    /// From one member to another.
    Members(Bound<'a>, Bound<'a>),
}

/// Members in order cost so much less than others to look at: [`store::Budget`].
const CHEAPER: usize = 8;

/// An end of a range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    score: f64,
    excluded: bool,
}

/// An end of a range of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound<'a> {
    /// `-`: before all members.
    Lowest,
    /// `+`: behind all members.
    Highest,
    /// `[member`
    Included(&'a [u8]),
    /// `(member`
    Excluded(&'a [u8]),
}

impl Limit {
    fn parse(text: &[u8]) -> Option<Self> {
        let (text, excluded) = match text {
            [b'(', rest @ ..] => (rest, true),
            _ => (text, false),
        };
        // Redis reads with `strtod`: blanks may precede, too large is infinite, nothing is 0, and a
        // zero byte ends the text.
        let text = text.split(|b| *b == 0).next().unwrap_or_default().trim_ascii_start();
        if text.is_empty() {
            return Some(Self { score: 0.0, excluded });
        }
        let score = stdx::num::parse_f64(text).or_else(|| {
            let digit = text.iter().any(u8::is_ascii_digit);
            std::str::from_utf8(text).ok()?.parse().ok().filter(|n: &f64| digit && !n.is_nan())
        })?;
        Some(Self { score, excluded })
    }
}

impl<'a> Bound<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        match text {
            b"-" => Some(Self::Lowest),
            b"+" => Some(Self::Highest),
            [b'[', member @ ..] => Some(Self::Included(member)),
            [b'(', member @ ..] => Some(Self::Excluded(member)),
            _ => None,
        }
    }
}

impl<'a> Range<'a> {
    /// The range with the given ends.
    pub(super) fn parse(by: By, min: &'a [u8], max: &'a [u8]) -> Result<Self, Fail> {
        let rank = |text| stdx::num::parse_i64(text).ok_or(Fail::NOT_INTEGER);
        match by {
            By::Rank => Ok(Self::Ranks(rank(min)?, rank(max)?)),
            By::Score => match (Limit::parse(min), Limit::parse(max)) {
                (Some(min), Some(max)) => Ok(Self::Scores(min, max)),
                _ => Err(Fail::text("ERR min or max is not a float")),
            },
            By::Lex => match (Bound::parse(min), Bound::parse(max)) {
                (Some(min), Some(max)) => Ok(Self::Members(min, max)),
                _ => Err(Fail::text("ERR min or max not valid string range item")),
            },
        }
    }

    /// The ranks in the range: the first, and how many.
    pub(super) fn ranks(&self, view: View<'_>) -> (usize, usize) {
        let len = view.len();
        let (from, to) = match *self {
            Self::Ranks(start, stop) => {
                let n = len as i64;
                let from = if start < 0 { (n + start).max(0) } else { start.min(n) };
                let to = if stop < 0 { n + stop } else { stop.min(n - 1) };
                (from as usize, (to + 1).max(0) as usize)
            }
            Self::Scores(min, max) => {
                let from = view.count_scores(|s| s < min.score || min.excluded && s == min.score);
                // A range that is empty by itself needs no descent.
                if min.score > max.score {
                    return (from, 0);
                }
                (from, view.count_scores(|s| s < max.score || !max.excluded && s == max.score))
            }
            Self::Members(min, max) => {
                let from = match min {
                    Bound::Lowest => 0,
                    Bound::Highest => len,
                    Bound::Included(min) => view.count_members(|m| m < min),
                    Bound::Excluded(min) => view.count_members(|m| m <= min),
                };
                let to = match max {
                    Bound::Lowest => 0,
                    Bound::Highest => len,
                    Bound::Included(max) => view.count_members(|m| m <= max),
                    Bound::Excluded(max) => view.count_members(|m| m < max),
                };
                (from, to)
            }
        };
        (from, to.saturating_sub(from))
    }
}

/// ZRANGE and the commands that are forms of it: the facts that the name alone gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The bounds; if the name does not say, options may.
    pub(super) by: Option<By>,
    /// The direction; if the name does not say, an option may.
    pub(super) back: Option<bool>,
    /// Argument of the source.
    pub(super) source: usize,
    /// The result goes to argument 1.
    pub(super) store: bool,
}

/// Everything in a call except its source.
struct Options<'a> {
    range: Range<'a>,
    back: bool,
    offset: i64,
    limit: i64,
    with_scores: bool,
}

fn options<'a>(args: &'a Args<'_>, form: Form) -> Result<Options<'a>, Fail> {
    let (mut by, mut back) = (form.by, form.back);
    let (mut offset, mut limit, mut with_scores) = (0, -1, false);
    let mut i = form.source + 3;
    while i < args.len() {
        if !form.store && args.is(i, "withscores") {
            with_scores = true;
        } else if args.is(i, "limit") && i + 2 < args.len() {
            (offset, limit) = (int(args, i + 1)?, int(args, i + 2)?);
            i += 2;
        } else if back.is_none() && args.is(i, "rev") {
            back = Some(true);
        } else if by.is_none() && args.is(i, "bylex") {
            by = Some(By::Lex);
        } else if by.is_none() && args.is(i, "byscore") {
            by = Some(By::Score);
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    let (by, back) = (by.unwrap_or(By::Rank), back.unwrap_or(false));
    if limit != -1 && by == By::Rank {
        return Err(Fail::text(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == By::Lex {
        return Err(Fail::text(
            "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    let (min, max) = (&args[form.source + 1], &args[form.source + 2]);
    // Backwards, the bounds of scores and members go from the highest to the lowest; ranks count
    // from the end.
    let (min, max) = if back && by != By::Rank { (max, min) } else { (min, max) };
    let range = Range::parse(by, min, max)?;
    Ok(Options { range, back, offset, limit, with_scores })
}

/// The first rank and the number of members that a call asks for, in its direction.
fn wanted(o: &Options<'_>, view: View<'_>) -> (usize, usize) {
    let (from, n) = o.range.ranks(view);
    if let Range::Ranks(..) = o.range {
        return if o.back { (view.len().saturating_sub(from + 1), n) } else { (from, n) };
    }
    // A negative offset leaves nothing, a negative limit everything.
    let offset = usize::try_from(o.offset).unwrap_or(usize::MAX);
    let left = n.saturating_sub(offset).min(usize::try_from(o.limit).unwrap_or(usize::MAX));
    if left == 0 {
        return (0, 0);
    }
    if o.back { (from + n - 1 - offset, left) } else { (from + offset, left) }
}

/// Runs ZRANGE or one of its forms.
pub(super) fn run(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>, form: Form) -> Outcome {
    let o = options(args, form)?;
    let (key, budget) = (db.key(&args[form.source]), db.cx.budget);
    if form.store {
        let mut draft = Draft::default();
        let limits = super::limits(db);
        if let Some(e) = db.read_as(key, Kind::ZSet)? {
            let view = View::of(&e);
            let (from, n) = wanted(&o, view);
            if budget.is_exceeded(&e, n, view.len(), 1) {
                db.hand_over(1);
                return Ok(());
            }
            let begins_big = matches!(o.range, Range::Ranks(..)) && n > limits.entries;
            view.each(from, n, o.back, |member, score| {
                text(member, |member| {
                    // Redis begins with a listpack, which knows no negative zero, and leaves it at
                    // the first member that does not fit.
                    let small = !begins_big
                        && draft.len() < limits.entries
                        && draft.longest().max(member.len()) <= limits.value;
                    draft.insert(member, if small { score + 0.0 } else { score });
                });
            });
        }
        let destination = db.first_key(&args[1]);
        super::store_draft(db, destination, draft, "zrangestore", reply);
        return Ok(());
    }
    let found = db.read_as(key, Kind::ZSet)?;
    let Some(e) = found else {
        reply.array(0);
        return Ok(());
    };
    let view = View::of(&e);
    let (from, n) = wanted(&o, view);
    if budget.is_exceeded(&e, n, view.len(), CHEAPER) {
        db.hand_over(1);
        return Ok(());
    }
    let pairs = Pairs::begin(reply, n, o.with_scores);
    view.each(from, n, o.back, |member, score| pairs.put(reply, member, score));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        for (text, score, excluded) in [
            ("1", 1.0, false),
            ("(1.5", 1.5, true),
            ("-inf", f64::NEG_INFINITY, false),
            ("(+inf", f64::INFINITY, true),
            ("1e400", f64::INFINITY, false),
            ("", 0.0, false),
            ("(", 0.0, true),
            (" 2", 2.0, false),
        ] {
            let limit = Limit::parse(text.as_bytes());
            assert_eq!(limit, Some(Limit { score, excluded }), "{text:?}");
        }
        for text in ["nan", "(nan", "1 ", "((1", "one", "[1", "1_000"] {
            assert_eq!(Limit::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
