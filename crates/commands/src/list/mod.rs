//! Commands of lists.
//!
//! [`data::list`] is the data structure; here are arguments, replies and effects. Every command
//! that takes elements away goes through [`taken`], so that an emptied key is removed and announced
//! in one place.

mod blmove;
mod blmovem;
mod blmpop;
mod blpop;
mod brpop;
mod brpoplpush;
mod lindex;
mod linsert;
mod llen;
mod lmove;
mod lmovem;
mod lmpop;
mod lpop;
mod lpos;
mod lpush;
mod lpushx;
mod lrange;
mod lrem;
mod lset;
mod ltrim;
mod rpop;
mod rpoplpush;
mod rpush;
mod rpushx;

use std::ops::Range;

use data::list::{self, Elem, End, Limit, View};
use resp::{Args, Reply};
use store::{Block, Class, Db, Empty, Key, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::{block, int, timeout};

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &blmove::BLMOVE,
    &blmovem::BLMOVEM,
    &blmpop::BLMPOP,
    &blpop::BLPOP,
    &brpop::BRPOP,
    &brpoplpush::BRPOPLPUSH,
    &lindex::LINDEX,
    &linsert::LINSERT,
    &llen::LLEN,
    &lmove::LMOVE,
    &lmovem::LMOVEM,
    &lmpop::LMPOP,
    &lpop::LPOP,
    &lpos::LPOS,
    &lpush::LPUSH,
    &lpushx::LPUSHX,
    &lrange::LRANGE,
    &lrem::LREM,
    &lset::LSET,
    &ltrim::LTRIM,
    &rpop::RPOP,
    &rpoplpush::RPOPLPUSH,
    &rpush::RPUSH,
    &rpushx::RPUSHX,
];

/// The limits up to which a list counts as small.
fn limit(db: &Db<'_>) -> Limit {
    Limit::new(db.cx.small.list_max_listpack_size)
}

/// The event of a push at this end.
fn push_event(end: End) -> &'static str {
    match end {
        End::Head => "lpush",
        End::Tail => "rpush",
    }
}

/// Writes an element as a bulk string.
#[inline]
fn write(reply: &mut Reply<'_>, elem: Elem<'_>) {
    match elem {
        Elem::Int(n) => reply.bulk_int(n),
        Elem::Bytes(b) => reply.bulk(b),
        Elem::Shared(b) => reply.bulk_shared(b),
    }
}

/// The index that a client's number means, negative from the end; none when it is before the
/// first element. It may lie behind the last.
fn index_in(len: usize, index: i64) -> Option<usize> {
    if index < 0 {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    } else {
        usize::try_from(index).ok()
    }
}

/// Elements cost so much less than a set's members to look at: [`store::Budget`].
const CHEAPER: usize = 8;
/// The part of its budget that a command spends on finding an element before it is handed over: the element
/// may be one of the first.
const TRIES: usize = 8;

/// The first element and the number of elements that `start` and `stop` mean, both inclusive and
/// negative from the end.
fn range_in(len: usize, start: i64, stop: i64) -> (usize, usize) {
    let from = index_in(len, start).unwrap_or(0);
    let end = index_in(len, stop).map_or(0, |stop| stop.saturating_add(1).min(len));
    (from, end.saturating_sub(from))
}

/// LPUSH, RPUSH and, with `only_present`, LPUSHX and RPUSHX.
fn push(
    db: &mut Db<'_>,
    args: &Args<'_>,
    end: End,
    only_present: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (key, limit) = (db.first_key(&args[1]), limit(db));
    let mut slot = match db.write_as(key, Kind::List)? {
        Some(slot) => slot,
        None if only_present => {
            reply.int(0);
            return Ok(());
        }
        None => db.create_run(key, Kind::List),
    };
    let len = list::push(&mut slot, end, args.iter_from(2), limit);
    reply.int(len as i64);
    db.changed(key.bytes, Class::List, push_event(end));
    db.dirty(args.len() as u64 - 3);
    Ok(())
}

/// LPOP and RPOP.
fn pop(db: &mut Db<'_>, args: &Args<'_>, end: End, name: &str, reply: &mut Reply<'_>) -> Outcome {
    let count = match args.len() {
        2 => None,
        3 => {
            let count = int(args, 2).ok().and_then(|n| usize::try_from(n).ok());
            Some(count.ok_or(Fail::NOT_POSITIVE)?)
        }
        _ => return Err(Fail::arity(name)),
    };
    let (key, limit) = (db.first_key(&args[1]), limit(db));
    let Some(mut slot) = db.write_as(key, Kind::List)? else {
        match count {
            Some(_) => reply.null_array(),
            None => reply.null(),
        }
        return Ok(());
    };
    match count {
        None => {
            list::pop(&mut slot, end, limit, |elem| write(reply, elem));
            let empty = View::of(&slot).len() == 0;
            taken(db, key, pop_event(end), 1, empty);
        }
        Some(0) => reply.array(0),
        Some(count) => pop_many(db, key, end, count, reply),
    }
    Ok(())
}

/// Takes `count` elements, or as many as there are, from one end of an existing list, and writes
/// them as an array, the outermost first.
fn pop_many(db: &mut Db<'_>, key: Key<'_>, end: End, count: usize, reply: &mut Reply<'_>) {
    let limit = limit(db);
    let Some(mut slot) = db.peek(key) else { return };
    let view = View::of(&slot);
    let len = view.len();
    let n = count.min(len);
    reply.array(n);
    let mut left = n;
    let mut next = |elem: Elem<'_>| {
        write(reply, elem);
        left -= 1;
        left > 0
    };
    match end {
        End::Head => view.each(0, &mut next),
        End::Tail => view.each_back(len - 1, &mut next),
    }
    list::remove(&mut slot, if end == End::Head { 0 } else { len - n }, n, limit);
    taken(db, key, pop_event(end), n as u64, n == len);
}

/// The event of a pop at this end.
fn pop_event(end: End) -> &'static str {
    match end {
        End::Head => "lpop",
        End::Tail => "rpop",
    }
}

/// Notes that `n` elements were taken, and removes the key when that left it `empty`.
fn taken(db: &mut Db<'_>, key: Key<'_>, event: &'static str, n: u64, empty: bool) {
    db.event(Class::List, event, key.bytes);
    db.dirty(n);
    if empty {
        db.remove_empty(key);
    }
}

/// Argument `i` as a number whose negative also fits.
fn long(args: &Args<'_>, i: usize) -> Result<i64, Fail> {
    match int(args, i)? {
        i64::MIN => Err(Fail::text(
            "ERR value is out of range, value must between -9223372036854775807 and \
             9223372036854775807",
        )),
        n => Ok(n),
    }
}

/// LEFT or RIGHT.
fn end(args: &Args<'_>, i: usize) -> Result<End, Fail> {
    match () {
        () if args.is(i, "left") => Ok(End::Head),
        () if args.is(i, "right") => Ok(End::Tail),
        () => Err(Fail::SYNTAX),
    }
}

/// Takes an element from one end of the source, adds it at one end of the destination, which may
/// be the source, and writes it. Returns whether the source had one.
fn move_one(
    db: &mut Db<'_>,
    source: Key<'_>,
    destination: Key<'_>,
    from: End,
    to: End,
    reply: &mut Reply<'_>,
) -> Result<bool, Fail> {
    let limit = limit(db);
    if db.write_as(source, Kind::List)?.is_none() {
        return Ok(false);
    }
    db.write_as(destination, Kind::List)?;
    let Some(mut slot) = db.peek(source) else { return Ok(false) };
    let Some(value) = list::pop(&mut slot, from, limit, |elem| elem.to_vec()) else {
        return Ok(false);
    };
    let same = source.bytes == destination.bytes;
    let empty = View::of(&slot).len() == 0 && !same;
    let mut slot = match db.peek(destination) {
        Some(slot) => slot,
        None => db.create_run(destination, Kind::List),
    };
    list::push(&mut slot, to, std::iter::once(value.as_slice()), limit);
    reply.bulk(&value);
    db.event(Class::List, push_event(to), destination.bytes);
    taken(db, source, pop_event(from), 1, empty);
    Ok(true)
}

/// The word for an end.
fn word(end: End) -> &'static [u8] {
    if end == End::Head { b"LEFT" } else { b"RIGHT" }
}

/// How many elements LMOVEM and BLMOVEM move, and how.
#[derive(Clone, Copy)]
struct HowMany {
    count: usize,
    /// None, if there are fewer.
    exactly: bool,
    /// In the order that repeated LMOVEs leave; otherwise in the order of the source.
    one_by_one: bool,
}

impl HowMany {
    /// Reads `[<COUNT count | EXACTLY exactly> <OBO | BULK>]` from argument `at` on.
    fn parse(args: &Args<'_>, at: usize) -> Result<Self, Fail> {
        if args.len() == at {
            return Ok(Self { count: 1, exactly: false, one_by_one: true });
        }
        let exactly = args.is(at, "exactly");
        if args.len() != at + 3 || !(exactly || args.is(at, "count")) {
            return Err(Fail::SYNTAX);
        }
        let count = int(args, at + 1).ok().and_then(|n| usize::try_from(n).ok());
        let bad = Fail::text("ERR count should be greater than 0");
        let count = count.filter(|n| *n > 0).ok_or(bad)?;
        let one_by_one = args.is(at + 2, "obo");
        if !(one_by_one || args.is(at + 2, "bulk")) {
            return Err(Fail::SYNTAX);
        }
        Ok(Self { count, exactly, one_by_one })
    }
}

/// Moves elements as [`move_one`] moves one, and writes them in the order that they have at their destination.
/// Returns how many; none if the source has too few.
fn move_many(
    db: &mut Db<'_>,
    source: Key<'_>,
    destination: Key<'_>,
    (from, to): (End, End),
    how: HowMany,
    reply: &mut Reply<'_>,
) -> Result<Option<usize>, Fail> {
    let limit = limit(db);
    let len = db.write_as(source, Kind::List)?.map_or(0, |e| View::of(&e).len());
    if len == 0 || how.exactly && len < how.count {
        return Ok(None);
    }
    db.write_as(destination, Kind::List)?;
    let n = len.min(how.count);
    let Some(mut slot) = db.peek(source) else { return Ok(None) };
    let first = if from == End::Head { 0 } else { len - n };
    let mut moved = Vec::with_capacity(n);
    View::of(&slot).each(first, &mut |elem: Elem<'_>| {
        moved.push(elem.to_vec());
        moved.len() < n
    });
    list::remove(&mut slot, first, n, limit);
    // One by one, the element taken first ends up farthest from the end where it is added.
    let turned = how.one_by_one && (from == End::Head) == (to == End::Head);
    if turned {
        moved.reverse();
    }
    let same = source.bytes == destination.bytes;
    let mut slot = match db.peek(destination) {
        Some(slot) => slot,
        None => db.create_run(destination, Kind::List),
    };
    let elements = moved.iter().map(Vec::as_slice);
    match to {
        End::Head => list::push(&mut slot, to, elements.rev(), limit),
        End::Tail => list::push(&mut slot, to, elements, limit),
    };
    reply.array(n);
    moved.iter().for_each(|element| reply.bulk(element));
    db.event(Class::List, push_event(to), destination.bytes);
    taken(db, source, pop_event(from), n as u64, n == len && !same);
    Ok(Some(n))
}

/// The arguments of LMPOP and BLMPOP.
struct Many {
    /// The arguments that are keys.
    keys: Range<usize>,
    end: End,
    count: usize,
}

/// Reads the arguments of LMPOP from the number of keys on, which is argument `at`.
fn many(args: &Args<'_>, at: usize) -> Result<Many, Fail> {
    let above_zero = |i: usize, error: &'static str| {
        let n = int(args, i).ok().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        n.ok_or(Fail::text(error))
    };
    let n = above_zero(at, "ERR numkeys should be greater than 0")?;
    let behind = (at + 1).checked_add(n).filter(|i| *i < args.len()).ok_or(Fail::SYNTAX)?;
    let end = end(args, behind)?;
    let count = match args.len() - behind {
        1 => 1,
        // A repeated COUNT is refused only after the first one was read.
        3.. if args.is(behind + 1, "count") => {
            above_zero(behind + 2, "ERR count should be greater than 0")?
        }
        _ => return Err(Fail::SYNTAX),
    };
    if args.len() - behind > 3 {
        return Err(Fail::SYNTAX);
    }
    Ok(Many { keys: at + 1..behind, end, count })
}

/// The first of the keys that holds a list.
fn first_list<'a>(
    db: &mut Db<'_>,
    args: &'a Args<'_>,
    keys: Range<usize>,
) -> Result<Option<Key<'a>>, Fail> {
    for i in keys {
        let key = db.key(&args[i]);
        if db.write_as(key, Kind::List)?.is_some() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Takes `count` elements from the first list that exists, and writes its key and the elements.
/// Returns whether there is one.
fn pop_first(
    db: &mut Db<'_>,
    args: &Args<'_>,
    keys: Range<usize>,
    end: End,
    count: usize,
    reply: &mut Reply<'_>,
) -> Result<bool, Fail> {
    let Some(key) = first_list(db, args, keys)? else { return Ok(false) };
    let len = db.peek(key).map_or(0, |e| View::of(&e).len());
    reply.array(2);
    reply.bulk(key.bytes);
    pop_many(db, key, end, count, reply);
    let n = count.min(len).to_string();
    db.rewrite(&[pop_name(end), key.bytes, n.as_bytes()]);
    Ok(true)
}

/// The command that pops at this end.
fn pop_name(end: End) -> &'static [u8] {
    match end {
        End::Head => b"LPOP",
        End::Tail => b"RPOP",
    }
}

/// Makes the command wait for one of its keys.
fn wait(
    db: &mut Db<'_>,
    args: &Args<'_>,
    keys: Range<usize>,
    deadline: Option<i64>,
    reply: &mut Reply<'_>,
) {
    let keys = keys.map(|i| args[i].to_vec()).collect();
    block(db, Block::new(keys, Kind::List, deadline, Empty::NullArray), reply);
}

/// BLPOP and BRPOP.
fn pop_or_wait(db: &mut Db<'_>, args: &Args<'_>, end: End, reply: &mut Reply<'_>) -> Outcome {
    let (keys, limit) = (1..args.len() - 1, limit(db));
    let deadline = timeout(args, keys.end, db.now())?;
    let Some(key) = first_list(db, args, keys.clone())? else {
        wait(db, args, keys, deadline, reply);
        return Ok(());
    };
    let Some(mut slot) = db.peek(key) else { return Ok(()) };
    reply.array(2);
    reply.bulk(key.bytes);
    list::pop(&mut slot, end, limit, |elem| write(reply, elem));
    let empty = View::of(&slot).len() == 0;
    taken(db, key, pop_event(end), 1, empty);
    db.rewrite(&[pop_name(end), key.bytes]);
    Ok(())
}

/// BLMOVE and BRPOPLPUSH; the timeout is argument `at`.
fn move_or_wait(
    db: &mut Db<'_>,
    args: &Args<'_>,
    from: End,
    to: End,
    at: usize,
    reply: &mut Reply<'_>,
) -> Outcome {
    let deadline = timeout(args, at, db.now())?;
    let (source, destination) = (db.first_key(&args[1]), db.key(&args[2]));
    if move_one(db, source, destination, from, to, reply)? {
        if at == 3 {
            db.rewrite(&[b"RPOPLPUSH", source.bytes, destination.bytes]);
        } else {
            db.rewrite(&[b"LMOVE", source.bytes, destination.bytes, word(from), word(to)]);
        }
    } else if db.cx.may_block {
        wait(db, args, 1..2, deadline, reply);
    } else {
        // Where the command may not wait it replies as LMOVE does; after a wait, as BLPOP.
        reply.null();
    }
    Ok(())
}
