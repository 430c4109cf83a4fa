//! Unions, intersections and differences of sorted sets and sets.
//!
//! Only one key can be looked at at a time, so the members of one source are copied and then
//! compared with the others. The result is sorted once, at the end. Nothing here yields to other
//! connections: the result is that of one moment.

use data::packed::Item;
use data::set::Set;
use resp::{Args, Reply};
use store::zset::{Draft, View};
use store::{Db, Entry, Key, Kind};

use super::{Pairs, text};
use crate::command::Outcome;
use crate::fail::Fail;
use crate::parse::int;

/// How the sources are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// ZUNION
    Union,
    /// ZINTER
    Inter,
    /// ZDIFF
    Diff,
}

/// The use of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is the reply.
    Reply,
    /// It goes to argument 1, under this event.
    Store(&'static str),
    /// It is counted.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
    /// Counts the weights of the sources that have the member, not its scores.
    Count,
}

impl Aggregate {
    /// The score of a member in a source, as it is joined with others.
    fn score(self, score: f64, weight: f64) -> f64 {
        match self {
            Self::Count => weight,
            _ => weighted(score, weight),
        }
    }

    fn join(self, a: f64, b: f64) -> f64 {
        match self {
            // The sum of infinities of both signs is no number.
            Self::Sum | Self::Count if (a + b).is_nan() => 0.0,
            Self::Sum | Self::Count => a + b,
            Self::Min => {
                if b < a {
                    b
                } else {
                    a
                }
            }
            Self::Max => {
                if b > a {
                    b
                } else {
                    a
                }
            }
        }
    }
}

/// A source: its key, its size and its weight.
#[derive(Clone, Copy)]
struct Source<'k> {
    key: Key<'k>,
    len: usize,
    weight: f64,
}

/// A score times a weight; zero times infinity is zero.
fn weighted(score: f64, weight: f64) -> f64 {
    let product = score * weight;
    if product.is_nan() { 0.0 } else { product }
}

fn len(e: &Entry) -> usize {
    if e.kind() == Kind::ZSet {
        return View::of(e).len();
    }
    Set::of(e).len()
}

/// Shows all members of a source; those of a set have score 1.
fn each(db: &mut Db<'_>, source: Source<'_>, mut f: impl FnMut(&[u8], f64)) {
    let Some(e) = db.peek(source.key) else {
        return;
    };
    if e.kind() == Kind::ZSet {
        View::of(&e).for_each(|member, score| text(member, |member| f(member, score)));
    } else {
        Set::of(&e).each(|member| {
            text(member, |member| f(member, 1.0));
            true
        });
    }
}

/// The score of a member.
fn score_in(e: &Entry, member: &[u8]) -> Option<f64> {
    if e.kind() == Kind::ZSet {
        return View::of(e).score(member);
    }
    Set::of(e).contains(Item::of(member)).then_some(1.0)
}

/// Copied members with their joined scores.
#[derive(Default)]
struct Copied {
    bytes: Vec<u8>,
    /// Where each member begins and ends, and its score.
    members: Vec<(usize, usize, f64)>,
}

impl Copied {
    fn of(db: &mut Db<'_>, source: Source<'_>, aggregate: Aggregate) -> Self {
        let mut copied = Self::default();
        each(db, source, |member, score| {
            let from = copied.bytes.len();
            copied.bytes.extend_from_slice(member);
            let score = aggregate.score(score, source.weight);
            copied.members.push((from, copied.bytes.len(), score));
        });
        copied
    }
}

type Member = (usize, usize, f64);

/// Keeps the members that are in a source, with their scores joined.
fn keep(
    db: &mut Db<'_>,
    bytes: &[u8],
    members: &mut Vec<Member>,
    source: Source<'_>,
    aggregate: Aggregate,
) {
    let found = db.peek(source.key);
    members.retain_mut(|(from, to, score)| {
        let other = found.as_ref().and_then(|e| score_in(e, bytes.get(*from..*to)?));
        if let Some(other) = other {
            let other = match aggregate {
                Aggregate::Count => source.weight,
                _ => other * source.weight,
            };
            *score = aggregate.join(*score, other);
        }
        other.is_some()
    });
}

/// Members looked at before the number found is compared with the limit.
const STEP: usize = 1024;

fn intersection(
    db: &mut Db<'_>,
    sources: &[Source<'_>],
    aggregate: Aggregate,
    limit: usize,
) -> (Vec<u8>, Vec<Member>) {
    let Some((first, rest)) = sources.split_first() else {
        return Default::default();
    };
    let copied = Copied::of(db, *first, aggregate);
    let mut result = Vec::new();
    for step in copied.members.chunks(STEP) {
        let mut step = step.to_vec();
        for source in rest {
            keep(db, &copied.bytes, &mut step, *source, aggregate);
        }
        result.extend_from_slice(&step);
        if result.len() >= limit {
            break;
        }
    }
    (copied.bytes, result)
}

fn difference(db: &mut Db<'_>, sources: &[Source<'_>]) -> (Vec<u8>, Vec<Member>) {
    let Some((first, rest)) = sources.split_first() else {
        return Default::default();
    };
    if rest.iter().any(|source| source.key.bytes == first.key.bytes) {
        return Default::default();
    }
    let Copied { bytes, mut members } = Copied::of(db, *first, Aggregate::Sum);
    for source in rest {
        let Some(e) = db.peek(source.key) else {
            continue;
        };
        members.retain(|(from, to, _)| {
            bytes.get(*from..*to).is_some_and(|member| score_in(&e, member).is_none())
        });
    }
    (bytes, members)
}

/// The options besides the weights, which are in the sources.
struct Options {
    aggregate: Aggregate,
    with_scores: bool,
    limit: usize,
}

fn options(
    args: &Args<'_>,
    mut i: usize,
    sources: &mut [Source<'_>],
    op: Op,
    form: Form,
) -> Result<Options, Fail> {
    let mut o = Options { aggregate: Aggregate::Sum, with_scores: false, limit: usize::MAX };
    let weighs = op != Op::Diff && form != Form::Count;
    while i < args.len() {
        let more = args.len() - i - 1;
        if weighs && args.is(i, "weights") && more >= sources.len() {
            for source in &mut *sources {
                i += 1;
                let bad = Fail::text("ERR weight value is not a float");
                source.weight = stdx::num::parse_f64(&args[i]).ok_or(bad)?;
            }
        } else if weighs && args.is(i, "aggregate") && more >= 1 {
            i += 1;
            o.aggregate = match () {
                () if args.is(i, "sum") => Aggregate::Sum,
                () if args.is(i, "min") => Aggregate::Min,
                () if args.is(i, "max") => Aggregate::Max,
                () if args.is(i, "count") => Aggregate::Count,
                () => return Err(Fail::SYNTAX),
            };
        } else if form == Form::Reply && args.is(i, "withscores") {
            o.with_scores = true;
        } else if form == Form::Count && args.is(i, "limit") && more >= 1 {
            i += 1;
            let bad = Fail::text("ERR LIMIT can't be negative");
            let n = int(args, i).ok().and_then(|n| usize::try_from(n).ok()).ok_or(bad)?;
            // No LIMIT at all means no limit.
            o.limit = if n == 0 { usize::MAX } else { n };
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    Ok(o)
}

/// Runs a command of this family.
pub(super) fn run(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    op: Op,
    form: Form,
) -> Outcome {
    let at = if matches!(form, Form::Store(_)) { 2 } else { 1 };
    let numkeys = int(args, at)?;
    let Some(numkeys) = usize::try_from(numkeys).ok().filter(|n| *n > 0) else {
        let name = String::from_utf8_lossy(&args[0]).to_ascii_lowercase();
        return Err(Fail::new(format!("ERR at least 1 input key is needed for '{name}' command")));
    };
    if numkeys > args.len() - at - 1 {
        return Err(Fail::SYNTAX);
    }
    let mut sources = Vec::with_capacity(numkeys);
    for name in args.iter_from(at + 1).take(numkeys) {
        let key = db.key(name);
        let len = match db.read(key) {
            None => 0,
            Some(e) if matches!(e.kind(), Kind::ZSet | Kind::Set) => len(&e),
            Some(_) => return Err(Fail::WRONG_TYPE),
        };
        sources.push(Source { key, len, weight: 1.0 });
    }
    let o = options(args, at + 1 + numkeys, &mut sources, op, form)?;
    if op != Op::Diff {
        // The order also matters to sums of fractions.
        sources.sort_by_key(|source| source.len);
    }
    let mut draft = Draft::default();
    let (bytes, members) = match op {
        Op::Union => {
            for source in &sources {
                each(db, *source, |member, score| {
                    let score = o.aggregate.score(score, source.weight);
                    draft.join(member, score, |a, b| o.aggregate.join(a, b));
                });
            }
            Default::default()
        }
        Op::Inter => intersection(db, &sources, o.aggregate, o.limit),
        Op::Diff => difference(db, &sources),
    };
    if form == Form::Count {
        reply.int(members.len().min(o.limit) as i64);
        return Ok(());
    }
    for (from, to, score) in members {
        if let Some(member) = bytes.get(from..to) {
            draft.insert(member, score);
        }
    }
    if let Form::Store(event) = form {
        let key = db.first_key(&args[1]);
        super::store_draft(db, key, draft, event, reply);
        return Ok(());
    }
    let result = draft.finish();
    let pairs = Pairs::begin(reply, result.len(), o.with_scores);
    for (member, score) in result.iter(0, false) {
        pairs.put(reply, Item::Bytes(member), score);
    }
    Ok(())
}
