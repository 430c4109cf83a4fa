//! Commands of lists.
//!
//! What a list is made of is [`data::list`]; here are arguments, replies and effects. Whatever
//! takes elements away goes through [`taken`], so that an emptied key is removed and announced
//! in one place.

mod lindex;
mod llen;
mod lpop;
mod lpush;
mod lpushx;
mod lrange;
mod rpop;
mod rpush;
mod rpushx;

use data::list::{self, Elem, End, Limit, View};
use resp::{Args, Reply};
use store::{Class, Db, Key, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &lindex::LINDEX,
    &llen::LLEN,
    &lpop::LPOP,
    &lpush::LPUSH,
    &lpushx::LPUSHX,
    &lrange::LRANGE,
    &rpop::RPOP,
    &rpush::RPUSH,
    &rpushx::RPUSHX,
];

/// Up to where a list counts as small.
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
    let (key, limit) = (db.key(&args[1]), limit(db));
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
    let (key, limit) = (db.key(&args[1]), limit(db));
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

/// Takes `count` elements, or as many as there are, from one end of a list that is there, and
/// writes them as an array, the outermost first.
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

/// Notes that `n` elements went, and removes the key when that left it `empty`.
fn taken(db: &mut Db<'_>, key: Key<'_>, event: &'static str, n: u64, empty: bool) {
    db.event(Class::List, event, key.bytes);
    db.dirty(n);
    if empty {
        db.remove_empty(key);
    }
}
