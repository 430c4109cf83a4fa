//! Commands of strings.

mod append;
mod condition;
mod decr;
mod decrby;
mod delex;
mod digest;
mod get;
mod getdel;
mod getex;
mod getrange;
mod getset;
mod incr;
mod incrby;
mod incrbyfloat;
mod increx;
mod lcs;
mod mget;
mod mset;
mod msetex;
mod msetnx;
mod options;
mod psetex;
mod set;
mod setex;
mod setnx;
mod setrange;
mod strlen;
mod substr;

use std::sync::Arc;

use resp::Args;
use stdx::num::{I64_LEN_MAX, fmt_i64, parse_i64};
use store::{Content, Db, Entry, INLINE_MAX, Str};

use crate::command::DataCommand;
use crate::fail::Fail;
use crate::runs::RunFunction;

/// The commands that have a second function, for runs of the same command.
pub(crate) const RUNS: &[(&str, RunFunction)] =
    &[("get", get::execute_run), ("incr", incr::execute_run), ("set", set::execute_run)];

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &append::APPEND,
    &decr::DECR,
    &decrby::DECRBY,
    &delex::DELEX,
    &digest::DIGEST,
    &get::GET,
    &getdel::GETDEL,
    &getex::GETEX,
    &getrange::GETRANGE,
    &getset::GETSET,
    &incr::INCR,
    &incrby::INCRBY,
    &incrbyfloat::INCRBYFLOAT,
    &increx::INCREX,
    &lcs::LCS,
    &mget::MGET,
    &mset::MSET,
    &msetex::MSETEX,
    &msetnx::MSETNX,
    &psetex::PSETEX,
    &set::SET,
    &setex::SETEX,
    &setnx::SETNX,
    &setrange::SETRANGE,
    &strlen::STRLEN,
    &substr::SUBSTR,
];

/// How a value given by a client is stored: as an integer when it reads as one.
#[inline]
pub(crate) fn content(bytes: &[u8]) -> Content<'_> {
    if bytes.len() <= I64_LEN_MAX
        && bytes.first().is_some_and(|c| c.is_ascii_digit() || *c == b'-')
        && let Some(n) = parse_i64(bytes)
    {
        return Content::Int(n);
    }
    Content::Bytes(bytes)
}

/// Takes a large value out of the arguments, so that it is stored without a copy. Not when
/// the effects are observed: the journal form is made from the arguments after the command.
#[inline(always)]
pub(crate) fn take_large(db: &Db<'_>, args: &mut Args<'_>, i: usize) -> Option<Vec<u8>> {
    if args[i].len() <= INLINE_MAX || db.cx.effects.observed {
        return None;
    }
    args.take(i)
}

/// The value to store: the one that [`take_large`] took, or else the argument.
#[inline]
pub(crate) fn stored(taken: Option<Vec<u8>>, arg: &[u8]) -> Content<'_> {
    match taken {
        Some(bytes) => Content::Shared(Arc::new(bytes)),
        None => content(arg),
    }
}

/// Writes a string value as a reply.
#[inline(always)]
pub(crate) fn reply_value(e: &Entry, reply: &mut resp::Reply<'_>) {
    match e.plain() {
        Some(bytes) => reply.bulk(bytes),
        None => reply_other_value(e, reply),
    }
}

fn reply_other_value(e: &Entry, reply: &mut resp::Reply<'_>) {
    match e.str() {
        Str::Inline(b) => reply.bulk(b),
        Str::Int(n) => reply.bulk_int(n),
        Str::Shared(s) => reply.bulk_shared(s),
    }
}

/// The bytes of a string value; those of an integer are written into `buf`.
#[inline]
pub(crate) fn bytes<'e>(e: &'e Entry, buf: &'e mut [u8; I64_LEN_MAX]) -> &'e [u8] {
    match e.str() {
        Str::Inline(b) => b,
        Str::Int(n) => fmt_i64(buf, n),
        Str::Shared(s) => s,
    }
}

/// The length of a string value in bytes.
#[inline]
pub(crate) fn length(e: &Entry) -> usize {
    bytes(e, &mut [0; I64_LEN_MAX]).len()
}

/// Refuses a string of `start + more` bytes if that is more than `max` (`proto-max-bulk-len`).
pub(crate) fn check_length(max: usize, start: usize, more: usize) -> Result<(), Fail> {
    match start.checked_add(more) {
        Some(total) if total <= max => Ok(()),
        _ => Err(Fail::TOO_LONG),
    }
}
