//! SPOP: <https://redis.io/docs/latest/commands/spop/>

use data::set::{self, Draft, Encoding, Set};
use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::{Class, Db, Entry, Key, Kind};

use super::Copied;
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static SPOP: DataCommand = DataCommand {
    row: Row {
        name: "spop",
        group: Group::Set,
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE))],
        tips: &["nondeterministic_output"],
        history: &[("3.2.0", "Added the `count` argument.")],
        complexity: "O(1) without a count, O(N) with one where N is the number of members that \
                     are taken, or of all members when these are most of them.",
        summary: "Takes random members out of a set, which is deleted when it becomes empty.",
        syntax: "SPOP key [count]",
        transcript: r#"
> SADD s a
(integer) 1
> SPOP s
"a"
> SPOP s
(nil)
> SPOP s 3
(empty array)
> SADD s 1 2 3
(integer) 3
> SPOP s 0
(empty array)
> SPOP s 5
1) "1"
2) "2"
3) "3"
> EXISTS s
(integer) 0
> SADD s 1 2 3 4
(integer) 4
> SPOP s
~ "*"
> SPOP s 2
~ 1) "*"
~ 2) "*"
> SCARD s
(integer) 1
> SPOP s -1
(error) ERR value is out of range, must be positive
> SPOP s one
(error) ERR value is out of range, must be positive
> SPOP s 1 2
(error) ERR syntax error
> SET t text
OK
> SPOP t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SPOP t 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# resp: 3
> SADD s a
(integer) 1
> SPOP s 1
1~ "a"
> SPOP s 1
(empty set)
> SPOP s
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, budget) = (db.first_key(&args[1]), db.cx.budget);
    let count = match args.len() {
        2 => None,
        3 => Some(
            int(args, 2).ok().and_then(|n| usize::try_from(n).ok()).ok_or(Fail::NOT_POSITIVE)?,
        ),
        _ => return Err(Fail::SYNTAX),
    };
    let mut size = None;
    if let Some(e) = db.write_as(key, Kind::Set)? {
        let len = Set::of(&e).len();
        if budget.is_exceeded(&e, count.unwrap_or(1).min(len), len, 1) {
            db.hand_over(0);
            return Ok(());
        }
        size = Some(len);
    }
    match (size, count) {
        (None, None) => reply.null(),
        (None, Some(_)) | (_, Some(0)) => reply.set(0),
        (Some(_), None) => one(db, key, reply),
        (Some(size), Some(count)) if count >= size => all(db, key, reply),
        (Some(size), Some(count)) => several(db, key, size, count, reply),
    }
    Ok(())
}

fn one(db: &mut Db<'_>, key: Key<'_>, reply: &mut Reply<'_>) {
    let mut rng = db.cx.rng.clone();
    let Some(mut e) = db.peek(key) else { return reply.null() };
    let Some(member) = Set::of(&e).random(&mut rng, Copied::of) else { return reply.null() };
    set::remove(&mut e, member.item());
    let empty = Set::of(&e).is_empty();
    db.cx.rng = rng;
    super::reply_item(member.item(), reply);
    db.changed(key.bytes, Class::Set, "spop");
    db.rewrite(&[b"SREM", key.bytes, member.item().text(&mut [0; I64_LEN_MAX])]);
    if empty {
        db.remove_empty(key);
    }
}

fn all(db: &mut Db<'_>, key: Key<'_>, reply: &mut Reply<'_>) {
    let Some(e) = db.peek(key) else { return reply.set(0) };
    let set = Set::of(&e);
    let n = set.len();
    reply.set(n);
    super::reply_members(set, reply);
    db.event(Class::Set, "spop", key.bytes);
    db.dirty(n as u64);
    db.rewrite(&[if db.cx.lazy_server_del { b"UNLINK" } else { b"DEL" }, key.bytes]);
    db.remove_empty(key);
}

/// Takes out some members, but not all.
fn several(db: &mut Db<'_>, key: Key<'_>, size: usize, count: usize, reply: &mut Reply<'_>) {
    let limits = super::limits(db);
    let mut rng = db.cx.rng.clone();
    let Some(mut e) = db.peek(key) else { return reply.set(0) };
    let left = size - count;
    let taken = if left.saturating_mul(5) > count {
        let taken = super::choose(Set::of(&e), count, &mut rng);
        for member in &taken {
            set::remove(&mut e, member.item());
        }
        taken
    } else {
        // Nearly all: the rest becomes a new set, as in Redis a small one if possible.
        let mut members = super::shuffled(Set::of(&e), left, &mut rng);
        let encoding = match Set::of(&e).encoding() {
            Encoding::Intset => Encoding::Intset,
            _ => Encoding::Listpack,
        };
        let taken = members.split_off(left);
        e.replace_with(|old| {
            let mut draft = Draft::new(old.key(), encoding);
            for member in &members {
                draft.add(member.item(), &limits);
            }
            let mut new: Entry = draft.finish().set_deadline(old.deadline());
            new.set_access(old.access());
            new.set_mark(old.mark());
            new
        });
        taken
    };
    db.cx.rng = rng;
    reply.set(taken.len());
    for member in &taken {
        super::reply_item(member.item(), reply);
    }
    db.event(Class::Set, "spop", key.bytes);
    db.dirty(taken.len() as u64);
    if db.cx.effects.observed {
        let texts: Vec<Vec<u8>> = taken.iter().map(|m| m.item().to_vec()).collect();
        let mut form: Vec<&[u8]> = vec![b"SREM", key.bytes];
        form.extend(texts.iter().map(Vec::as_slice));
        db.rewrite(&form);
    }
}
