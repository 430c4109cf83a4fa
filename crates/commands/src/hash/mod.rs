//! Commands of hashes.
//!
//! Fields have deadlines of their own. No command sees a field whose time is over, except that
//! HLEN counts it and HDEL removes it, as in Redis. A read that meets such a field removes it
//! ([`lapse`]); active expiry finds the others.

mod deadline;
mod hdel;
mod hexists;
mod hexpire;
mod hexpireat;
mod hexpiretime;
mod hget;
mod hgetall;
mod hgetdel;
mod hgetex;
mod hincrby;
mod hincrbyfloat;
mod hkeys;
mod hlen;
mod hmget;
mod hmset;
mod hpersist;
mod hpexpire;
mod hpexpireat;
mod hpexpiretime;
mod hpttl;
mod hrandfield;
mod hscan;
mod hset;
mod hsetex;
mod hsetnx;
mod hstrlen;
mod httl;
mod hvals;

use resp::{Args, Reply};
use store::hash::{self, Limits, Value};
use store::packed::Item;
use store::{Class, Db, Key, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &hdel::HDEL,
    &hexists::HEXISTS,
    &hexpire::HEXPIRE,
    &hexpireat::HEXPIREAT,
    &hexpiretime::HEXPIRETIME,
    &hget::HGET,
    &hgetall::HGETALL,
    &hgetdel::HGETDEL,
    &hgetex::HGETEX,
    &hincrby::HINCRBY,
    &hincrbyfloat::HINCRBYFLOAT,
    &hkeys::HKEYS,
    &hlen::HLEN,
    &hmget::HMGET,
    &hmset::HMSET,
    &hpersist::HPERSIST,
    &hpexpire::HPEXPIRE,
    &hpexpireat::HPEXPIREAT,
    &hpexpiretime::HPEXPIRETIME,
    &hpttl::HPTTL,
    &hrandfield::HRANDFIELD,
    &hscan::HSCAN,
    &hset::HSET,
    &hsetex::HSETEX,
    &hsetnx::HSETNX,
    &hstrlen::HSTRLEN,
    &httl::HTTL,
    &hvals::HVALS,
];

/// The limits up to which hashes are small.
#[inline]
fn limits(db: &Db<'_>) -> Limits {
    let small = &db.cx.small;
    Limits { entries: small.hash_max_listpack_entries, value: small.hash_max_listpack_value }
}

/// Writes a value as a reply.
#[inline(always)]
fn reply_value(value: Value<'_>, reply: &mut Reply<'_>) {
    match value {
        Value::Bytes(b) => reply.bulk(b),
        Value::Int(n) => reply.bulk_int(n),
        Value::Shared(a) => reply.bulk_shared(a),
    }
}

/// Writes the name of a field, or any text that lies in a run, as a reply.
#[inline(always)]
fn reply_name(name: Item<'_>, reply: &mut Reply<'_>) {
    match name {
        Item::Bytes(b) => reply.bulk(b),
        Item::Int(n) => reply.bulk_int(n),
    }
}

/// HSET and HMSET: sets the fields and values from argument 2 on; returns how many were new.
#[inline]
fn set_pairs(db: &mut Db<'_>, args: &Args<'_>, command: &str) -> Result<usize, Fail> {
    if !args.len().is_multiple_of(2) {
        return Err(Fail::arity(command));
    }
    let key = db.first_key(&args[1]);
    let (limits, now) = (limits(db), db.now());
    let mut e = match db.write_as(key, Kind::Hash)? {
        Some(e) => e,
        None => db.create_run(key, Kind::Hash),
    };
    let before = e.part_deadline();
    let stale = hash::is_over(before, now);
    let pairs = args.len() / 2 - 1;
    if pairs > 1 {
        hash::make_room(&mut e, pairs, args.iter_from(2), limits);
    }
    let mut created = 0;
    for i in (2..args.len()).step_by(2) {
        let (field, value) = (&args[i], Value::Bytes(&args[i + 1]));
        // A field whose time is over counts as absent.
        let over = stale && hash::get(&e, field).is_some_and(|f| f.is_over(now));
        let new = hash::set(&mut e, field, &value, false, limits);
        created += usize::from(new || over);
    }
    let after = e.part_deadline();
    db.part_deadline_changed(key, before, after);
    db.changed(key.bytes, Class::Hash, "hset");
    db.dirty(pairs as u64 - 1);
    Ok(created)
}

/// Removes fields, whether their time is over or not; returns how many there were. The caller
/// notes the change and then calls [`remove_if_empty`].
fn remove<'f>(db: &mut Db<'_>, key: Key<'_>, fields: impl Iterator<Item = &'f [u8]>) -> usize {
    let Some(mut e) = db.peek(key).filter(|e| e.kind() == Kind::Hash) else {
        return 0;
    };
    let before = e.part_deadline();
    let n = fields.filter(|field| hash::remove(&mut e, field)).count();
    let after = e.part_deadline();
    db.part_deadline_changed(key, before, after);
    n
}

/// Deletes the key if its hash has no fields left.
fn remove_if_empty(db: &mut Db<'_>, key: Key<'_>) {
    if db.peek(key).is_some_and(|e| e.kind() == Kind::Hash && hash::len(&e) == 0) {
        db.remove_empty(key);
    }
}

/// Removes those of the fields whose time is over, as an effect that precedes the command's own.
/// While writes are paused, nothing is removed.
#[cold]
fn lapse<'f>(db: &mut Db<'_>, key: Key<'_>, fields: impl Iterator<Item = &'f [u8]>) {
    if db.cx.keep_expired {
        return;
    }
    let now = db.now();
    let mut n = 0;
    for field in fields {
        let Some(e) = db.peek(key).filter(|e| e.kind() == Kind::Hash) else {
            return;
        };
        if hash::get(&e, field).is_some_and(|f| f.is_over(now)) {
            n += remove(db, key, [field].into_iter());
            let index = db.index();
            db.cx.effects.dropped_field(index, key.bytes, field);
        }
    }
    if n > 0 {
        db.cx.counters.expired_subkeys += n as u64;
        db.event(Class::Hash, "hexpired", key.bytes);
        remove_if_empty(db, key);
    }
}

/// Removes expired fields before a write that looks at fields. Costs one lookup
/// unless some field of the hash is overdue.
fn lapse_for_write<'f>(
    db: &mut Db<'_>,
    key: Key<'_>,
    fields: impl Iterator<Item = &'f [u8]>,
) -> Result<(), Fail> {
    let now = db.now();
    let Some(e) = db.write_as(key, Kind::Hash)? else {
        return Ok(());
    };
    if hash::is_over(e.part_deadline(), now) {
        // A write that runs while expired fields are kept must not see them either.
        let keep = std::mem::replace(&mut db.cx.keep_expired, false);
        lapse(db, key, fields);
        db.cx.keep_expired = keep;
    }
    Ok(())
}

/// The parts of a field that HGETALL, HKEYS and HVALS reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Fields,
    Values,
    Both,
}

/// Answers with all fields whose time is not over.
#[inline]
fn reply_all(db: &mut Db<'_>, args: &Args<'_>, what: What, reply: &mut Reply<'_>) -> Outcome {
    let (key, now, budget) = (db.first_key(&args[1]), db.now(), db.cx.budget);
    let found = db.read_as(key, Kind::Hash)?;
    let header = |n: usize, reply: &mut Reply<'_>| match what {
        What::Both => reply.map(n),
        _ => reply.array(n),
    };
    let Some(e) = found else {
        header(0, reply);
        return Ok(());
    };
    let mut n = hash::len(&e);
    if budget.is_exceeded(&e, n, n, 1) {
        db.hand_over(1);
        return Ok(());
    }
    if hash::is_over(e.part_deadline(), now) {
        n = 0;
        hash::for_each(&e, |_, _, deadline| n += usize::from(!hash::is_over(deadline, now)));
    }
    header(n, reply);
    if let (What::Both, Some(items)) = (what, hash::in_turn(&e)) {
        items.for_each(|item| reply_name(item, reply));
        return Ok(());
    }
    hash::for_each(&e, |field, value, deadline| {
        if hash::is_over(deadline, now) {
            return;
        }
        if what != What::Values {
            reply_name(field, reply);
        }
        if what != What::Fields {
            reply_value(value, reply);
        }
    });
    Ok(())
}
