//! Commands of sets.

mod algebra;
mod sadd;
mod scard;
mod sdiff;
mod sdiffcard;
mod sdiffstore;
mod sinter;
mod sintercard;
mod sinterstore;
mod sismember;
mod smembers;
mod smismember;
mod smove;
mod spop;
mod srandmember;
mod srem;
mod sscan;
mod sunion;
mod sunioncard;
mod sunionstore;

use std::collections::HashSet;

use data::packed::Item;
use data::set::{Limits, Set};
use resp::{Args, Reply};
use stdx::rng::Rng;
use store::Db;

use crate::command::DataCommand;
use crate::fail::Fail;
use crate::parse::int;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &sadd::SADD,
    &scard::SCARD,
    &sdiff::SDIFF,
    &sdiffcard::SDIFFCARD,
    &sdiffstore::SDIFFSTORE,
    &sinter::SINTER,
    &sintercard::SINTERCARD,
    &sinterstore::SINTERSTORE,
    &sismember::SISMEMBER,
    &smembers::SMEMBERS,
    &smismember::SMISMEMBER,
    &smove::SMOVE,
    &spop::SPOP,
    &srandmember::SRANDMEMBER,
    &srem::SREM,
    &sscan::SSCAN,
    &sunion::SUNION,
    &sunioncard::SUNIONCARD,
    &sunionstore::SUNIONSTORE,
];

/// The limits up to which sets are small.
#[inline]
fn limits(db: &Db<'_>) -> Limits {
    let small = &db.cx.small;
    Limits {
        intset_entries: small.set_max_intset_entries,
        listpack_entries: small.set_max_listpack_entries,
        listpack_value: small.set_max_listpack_value,
    }
}

/// The arguments of SINTERCARD, SUNIONCARD and SDIFFCARD.
struct Counted {
    /// Behind the keys, which begin with argument 2.
    end: usize,
    /// Where counting stops; [`u64::MAX`]: nowhere.
    limit: u64,
    approx: bool,
}

/// Reads the arguments of a command that counts; only a union may be approximate.
fn counted(args: &Args<'_>, may_approximate: bool) -> Result<Counted, Fail> {
    const NUMKEYS: Fail = Fail::text("ERR numkeys should be greater than 0");
    const LIMIT: Fail = Fail::text("ERR LIMIT can't be negative");
    let keys = int(args, 1).map_err(|_| NUMKEYS)?;
    let keys = usize::try_from(keys).ok().filter(|n| *n > 0).ok_or(NUMKEYS)?;
    if keys > args.len() - 2 {
        return Err(Fail::text("ERR Number of keys can't be greater than number of args"));
    }
    let (mut limit, mut approx) = (0, false);
    let mut i = 2 + keys;
    while i < args.len() {
        if may_approximate && args.is(i, "approx") {
            approx = true;
        } else if args.is(i, "limit") && i + 1 < args.len() {
            i += 1;
            limit = int(args, i).ok().and_then(|n| u64::try_from(n).ok()).ok_or(LIMIT)?;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    // No limit: one that is never reached.
    let limit = if limit == 0 { u64::MAX } else { limit };
    Ok(Counted { end: 2 + keys, limit, approx })
}

/// Writes a member as a reply.
#[inline]
fn reply_item(item: Item<'_>, reply: &mut Reply<'_>) {
    match item {
        Item::Int(v) => reply.bulk_int(v),
        Item::Bytes(b) => reply.bulk(b),
    }
}

/// Writes all members.
fn reply_members(set: Set<'_>, reply: &mut Reply<'_>) {
    set.each(|item| {
        reply_item(item, reply);
        true
    });
}

/// A member apart from its set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Copied {
    Int(i64),
    Bytes(Vec<u8>),
}

impl Copied {
    fn of(item: Item<'_>) -> Self {
        match item {
            Item::Int(v) => Self::Int(v),
            Item::Bytes(b) => Self::Bytes(b.to_vec()),
        }
    }

    fn item(&self) -> Item<'_> {
        match self {
            Self::Int(v) => Item::Int(*v),
            Self::Bytes(b) => Item::Bytes(b),
        }
    }
}

/// All members, `count` (not more than there are) of which are chosen at random and come first:
/// every choice is equally likely.
fn shuffled(set: Set<'_>, count: usize, rng: &mut Rng) -> Vec<Copied> {
    let mut all = Vec::with_capacity(set.len());
    set.each(|item| {
        all.push(Copied::of(item));
        true
    });
    for i in 0..count.min(all.len()) {
        let j = i + rng.index(all.len() - i);
        all.swap(i, j);
    }
    all
}

/// `count` different members, every choice equally likely; all when there are not more.
fn choose(set: Set<'_>, count: usize, rng: &mut Rng) -> Vec<Copied> {
    // Of a large set a few are picked one by one; when that would pick most of them more than
    // once, all are looked at.
    if count.saturating_mul(3) > set.len() {
        let mut all = shuffled(set, count, rng);
        all.truncate(count);
        return all;
    }
    let mut chosen = HashSet::with_capacity(count);
    let mut order = Vec::with_capacity(count);
    while order.len() < count {
        if let Some(member) = set.random(rng, Copied::of)
            && chosen.insert(member.clone())
        {
            order.push(member);
        }
    }
    order
}
