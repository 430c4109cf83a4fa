//! Taking the lowest or highest members out: ZPOPMIN and its many forms.

use resp::{Args, Proto, Reply};
use store::zset::{self, View};
use store::{Block, Class, Db, Empty, Key, Kind};

use super::put_member;
use crate::command::Outcome;
use crate::fail::Fail;
use crate::parse;

/// How the popped members are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyForm {
    /// Member, score, member, score …
    Flat,
    /// An array for each member and score.
    Nested,
    /// The key, and then flat.
    KeyFlat,
    /// An array of the key and of nested ones.
    KeyNested,
}

/// Pops up to `count` (above 0) members of an existing set. Returns how many.
fn pop(
    db: &mut Db<'_>,
    key: Key<'_>,
    highest: bool,
    count: usize,
    shape: ReplyForm,
    reply: &mut Reply<'_>,
) -> usize {
    let Some(mut e) = db.peek(key) else {
        return 0;
    };
    let view = View::of(&e);
    let (len, n) = (view.len(), count.min(view.len()));
    match shape {
        ReplyForm::Flat => reply.array(2 * n),
        ReplyForm::Nested => reply.array(n),
        ReplyForm::KeyFlat => {
            reply.array(2 * n + 1);
            reply.bulk(key.bytes);
        }
        ReplyForm::KeyNested => {
            reply.array(2);
            reply.bulk(key.bytes);
            reply.array(n);
        }
    }
    let from = if highest { len - 1 } else { 0 };
    view.each(from, n, highest, |member, score| {
        if matches!(shape, ReplyForm::Nested | ReplyForm::KeyNested) {
            reply.array(2);
        }
        put_member(reply, member);
        reply.double(score);
    });
    zset::remove_ranks(&mut e, if highest { len - n } else { 0 }, n);
    db.event(Class::ZSet, event(highest), key.bytes);
    db.dirty(n as u64);
    if n == len {
        db.remove_empty(key);
    }
    n
}

fn event(highest: bool) -> &'static str {
    if highest { "zpopmax" } else { "zpopmin" }
}

/// ZPOPMIN and ZPOPMAX.
pub(super) fn one_key(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    highest: bool,
) -> Outcome {
    if args.len() > 3 {
        return Err(Fail::SYNTAX);
    }
    let count = match args.len() {
        3 => {
            let n = parse::int(args, 2).ok().and_then(|n| usize::try_from(n).ok());
            Some(n.ok_or(Fail::NOT_POSITIVE)?)
        }
        _ => None,
    };
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let Some(e) = db.write_as(key, Kind::ZSet)?.filter(|_| count != Some(0)) else {
        reply.array(0);
        return Ok(());
    };
    let len = View::of(&e).len();
    if budget.is_exceeded(&e, count.unwrap_or(1).min(len), len, 1) {
        db.hand_over(0);
        return Ok(());
    }
    let nested = count.is_some() && reply.proto() == Proto::V3;
    let shape = if nested { ReplyForm::Nested } else { ReplyForm::Flat };
    pop(db, key, highest, count.unwrap_or(1), shape, reply);
    Ok(())
}

/// The first of several keys that holds a sorted set.
fn first_of<'k>(
    db: &mut Db<'_>,
    keys: impl Iterator<Item = &'k [u8]>,
) -> Result<Option<Key<'k>>, Fail> {
    for name in keys {
        let key = db.key(name);
        if db.write_as(key, Kind::ZSet)?.is_some() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Makes a command wait for one of its keys.
fn wait<'k>(
    db: &mut Db<'_>,
    keys: impl Iterator<Item = &'k [u8]>,
    deadline: Option<i64>,
    reply: &mut Reply<'_>,
) {
    let keys = keys.map(<[u8]>::to_vec).collect();
    let (kind, empty) = (Kind::ZSet, Empty::NullArray);
    let block = Block::new(keys, kind, deadline, empty);
    parse::block(db, block, reply);
}

/// BZPOPMIN and BZPOPMAX.
pub(super) fn blocking(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    highest: bool,
) -> Outcome {
    let last = args.len() - 1;
    let deadline = parse::timeout(args, last, db.now())?;
    let keys = || args.iter_from(1).take(last - 1);
    match first_of(db, keys())? {
        Some(key) => {
            pop(db, key, highest, 1, ReplyForm::KeyFlat, reply);
            db.rewrite(&[name(highest), key.bytes]);
        }
        None => wait(db, keys(), deadline, reply),
    }
    Ok(())
}

fn name(highest: bool) -> &'static [u8] {
    if highest { b"ZPOPMAX" } else { b"ZPOPMIN" }
}

/// ZMPOP, and BZMPOP, whose first argument is the timeout.
pub(super) fn many_keys(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    blocks: bool,
) -> Outcome {
    let at = if blocks { 2 } else { 1 };
    let bad = Fail::text("ERR numkeys should be greater than 0");
    let numkeys = parse::int(args, at).ok().and_then(|n| usize::try_from(n).ok());
    let numkeys = numkeys.filter(|n| *n > 0).ok_or(bad)?;
    let whence = numkeys.checked_add(at + 1).filter(|i| *i < args.len()).ok_or(Fail::SYNTAX)?;
    let highest = match () {
        () if args.is(whence, "min") => false,
        () if args.is(whence, "max") => true,
        () => return Err(Fail::SYNTAX),
    };
    let mut count = None;
    let mut i = whence + 1;
    while i < args.len() {
        if count.is_some() || !args.is(i, "count") || i + 1 >= args.len() {
            return Err(Fail::SYNTAX);
        }
        let bad = Fail::text("ERR count should be greater than 0");
        let n = parse::int(args, i + 1).ok().and_then(|n| usize::try_from(n).ok());
        count = Some(n.filter(|n| *n > 0).ok_or(bad)?);
        i += 2;
    }
    let deadline = if blocks { parse::timeout(args, 1, db.now())? } else { None };
    let keys = || args.iter_from(at + 1).take(numkeys);
    match first_of(db, keys())? {
        Some(key) => {
            let n = pop(db, key, highest, count.unwrap_or(1), ReplyForm::KeyNested, reply);
            db.rewrite(&[name(highest), key.bytes, n.to_string().as_bytes()]);
        }
        None if blocks => wait(db, keys(), deadline, reply),
        None => reply.null_array(),
    }
    Ok(())
}
