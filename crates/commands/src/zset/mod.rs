//! Commands of sorted sets.
//!
//! [`store::zset`] is the data structure; here arguments become ranges and changes, and changes
//! become events. Several families share their work: [`range`] reads, [`pop`] takes members off the
//! ends, [`combine`] makes unions, intersections and differences, `add` serves ZADD, ZINCRBY
//! and GEOADD.

mod bzmpop;
mod bzpopmax;
mod bzpopmin;
mod combine;
mod pop;
mod range;
mod zadd;
mod zcard;
mod zcount;
mod zdiff;
mod zdiffstore;
mod zincrby;
mod zinter;
mod zintercard;
mod zinterstore;
mod zlexcount;
mod zmpop;
mod zmscore;
mod zpopmax;
mod zpopmin;
mod zrandmember;
mod zrange;
mod zrangebylex;
mod zrangebyscore;
mod zrangestore;
mod zrank;
mod zrem;
mod zremrangebylex;
mod zremrangebyrank;
mod zremrangebyscore;
mod zrevrange;
mod zrevrangebylex;
mod zrevrangebyscore;
mod zrevrank;
mod zscan;
mod zscore;
mod zunion;
mod zunionstore;

use resp::{Args, Proto, Reply};
use stdx::num::I64_LEN_MAX;
use store::packed::Item;
use store::zset::{self, Draft, How, Limits, Put};
use store::{Class, Db, Key, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &bzmpop::BZMPOP,
    &bzpopmax::BZPOPMAX,
    &bzpopmin::BZPOPMIN,
    &zadd::ZADD,
    &zcard::ZCARD,
    &zcount::ZCOUNT,
    &zdiff::ZDIFF,
    &zdiffstore::ZDIFFSTORE,
    &zincrby::ZINCRBY,
    &zinter::ZINTER,
    &zintercard::ZINTERCARD,
    &zinterstore::ZINTERSTORE,
    &zlexcount::ZLEXCOUNT,
    &zmpop::ZMPOP,
    &zmscore::ZMSCORE,
    &zpopmax::ZPOPMAX,
    &zpopmin::ZPOPMIN,
    &zrandmember::ZRANDMEMBER,
    &zrange::ZRANGE,
    &zrangebylex::ZRANGEBYLEX,
    &zrangebyscore::ZRANGEBYSCORE,
    &zrangestore::ZRANGESTORE,
    &zrank::ZRANK,
    &zrem::ZREM,
    &zremrangebylex::ZREMRANGEBYLEX,
    &zremrangebyrank::ZREMRANGEBYRANK,
    &zremrangebyscore::ZREMRANGEBYSCORE,
    &zrevrange::ZREVRANGE,
    &zrevrangebylex::ZREVRANGEBYLEX,
    &zrevrangebyscore::ZREVRANGEBYSCORE,
    &zrevrank::ZREVRANK,
    &zscan::ZSCAN,
    &zscore::ZSCORE,
    &zunion::ZUNION,
    &zunionstore::ZUNIONSTORE,
];

/// The limits up to which a sorted set is small.
fn limits(db: &Db<'_>) -> Limits {
    let small = &db.cx.small;
    Limits { entries: small.zset_max_listpack_entries, value: small.zset_max_listpack_value }
}

/// Argument `i` as a score.
fn score(args: &Args<'_>, i: usize) -> Result<f64, Fail> {
    stdx::num::parse_f64(&args[i]).ok_or(Fail::NOT_FLOAT)
}

/// Shows a member's text to `f`.
#[inline]
pub(crate) fn text<R>(member: Item<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
    match member {
        Item::Bytes(bytes) => f(bytes),
        Item::Int(_) => f(member.text(&mut [0; I64_LEN_MAX])),
    }
}

/// Writes a member.
#[inline]
pub(crate) fn put_member(reply: &mut Reply<'_>, member: Item<'_>) {
    match member {
        Item::Bytes(bytes) => reply.bulk(bytes),
        Item::Int(n) => reply.bulk_int(n),
    }
}

/// A reply of members, with or without scores: a flat array, in RESP3 one of pairs.
#[derive(Clone, Copy)]
struct Pairs {
    scores: bool,
    nested: bool,
}

impl Pairs {
    /// Begins a reply of `n` members.
    fn begin(reply: &mut Reply<'_>, n: usize, scores: bool) -> Self {
        let nested = scores && reply.proto() == Proto::V3;
        reply.array(if scores && !nested { 2 * n } else { n });
        Self { scores, nested }
    }

    #[inline]
    fn put(self, reply: &mut Reply<'_>, member: Item<'_>, score: f64) {
        if self.nested {
            reply.array(2);
        }
        put_member(reply, member);
        if self.scores {
            reply.double(score);
        }
    }
}

/// Stores a result at a key, or deletes the key when the result is empty; replies how many members.
pub(crate) fn store_draft(
    db: &mut Db<'_>,
    key: Key<'_>,
    draft: Draft,
    event: &'static str,
    reply: &mut Reply<'_>,
) {
    let n = draft.len();
    if n > 0 {
        let e = zset::entry(key.bytes, draft, limits(db));
        db.replace(key, e);
        db.changed(key.bytes, Class::ZSet, event);
    } else if db.delete(key) {
        db.changed(key.bytes, Class::Generic, "del");
    }
    reply.int(n as i64);
}

/// Adds members with their scores, of which there is one at least: ZADD, ZINCRBY and GEOADD.
/// `member` gives the i-th member; with `ch` the reply counts changed members, too.
pub(crate) fn add<'m>(
    db: &mut Db<'_>,
    key: Key<'_>,
    scores: &[f64],
    member: impl Fn(usize) -> &'m [u8],
    how: How,
    ch: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let limits = limits(db);
    let mut e = match db.write_as(key, Kind::ZSet)? {
        Some(mut e) => {
            zset::expect(&mut e, limits, scores.len(), None);
            e
        }
        None if how.xx => {
            if how.incr {
                reply.null();
            } else {
                reply.int(0);
            }
            return Ok(());
        }
        None => {
            let mut e = db.create_run(key, Kind::ZSet);
            zset::expect(&mut e, limits, scores.len(), Some(member(0).len()));
            e
        }
    };
    let (mut added, mut updated, mut last) = (0, 0, None);
    for (i, score) in scores.iter().enumerate() {
        last = match zset::put(&mut e, limits, member(i), *score, how) {
            Put::Added(score) => {
                added += 1;
                Some(score)
            }
            Put::Updated(score) => {
                updated += 1;
                Some(score)
            }
            Put::Same(score) => Some(score),
            Put::Skipped => None,
            // Only an increment can lead here, and a call has only one.
            Put::Nan => return Err(Fail::text("ERR resulting score is not a number (NaN)")),
        };
    }
    if added + updated > 0 {
        db.event(Class::ZSet, if how.incr { "zincr" } else { "zadd" }, key.bytes);
        db.dirty(added + updated);
    }
    match last {
        Some(score) if how.incr => reply.double(score),
        None if how.incr => reply.null(),
        _ => reply.int((if ch { added + updated } else { added }) as i64),
    }
    Ok(())
}

/// ZREMRANGEBYRANK, -SCORE and -LEX.
fn remove_range(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    by: range::By,
    event: &'static str,
) -> Outcome {
    let range = range::Range::parse(by, &args[2], &args[3])?;
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let Some(mut e) = db.write_as(key, Kind::ZSet)? else {
        reply.int(0);
        return Ok(());
    };
    let view = zset::View::of(&e);
    let len = view.len();
    let (from, n) = range.ranks(view);
    if budget.is_exceeded(&e, n, len, 1) {
        db.hand_over(0);
        return Ok(());
    }
    if n > 0 {
        zset::remove_ranks(&mut e, from, n);
        db.event(Class::ZSet, event, key.bytes);
        db.dirty(n as u64);
        if n == len {
            db.remove_empty(key);
        }
    }
    reply.int(n as i64);
    Ok(())
}

/// ZCOUNT and ZLEXCOUNT.
fn count(db: &mut Db<'_>, args: &Args<'_>, reply: &mut Reply<'_>, by: range::By) -> Outcome {
    let range = range::Range::parse(by, &args[2], &args[3])?;
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    reply.int(found.map_or(0, |e| range.ranks(zset::View::of(&e)).1) as i64);
    Ok(())
}

/// ZRANK and ZREVRANK; `name` is for the error text.
fn rank(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    back: bool,
    name: &str,
) -> Outcome {
    if args.len() > 4 {
        return Err(Fail::arity(name));
    }
    let with_score = args.len() == 4;
    if with_score && !args.is(3, "withscore") {
        return Err(Fail::SYNTAX);
    }
    let key = db.first_key(&args[1]);
    let found = db.read_as(key, Kind::ZSet)?;
    let found = found.as_ref().and_then(|e| {
        let view = zset::View::of(e);
        let (rank, score) = view.rank(&args[2])?;
        Some((if back { view.len() - 1 - rank } else { rank }, score))
    });
    match found {
        Some((rank, score)) => {
            if with_score {
                reply.array(2);
            }
            reply.int(rank as i64);
            if with_score {
                reply.double(score);
            }
        }
        None if with_score => reply.null_array(),
        None => reply.null(),
    }
    Ok(())
}
