//! XAUTOCLAIM: <https://redis.io/docs/latest/commands/xautoclaim/>

use data::stream::{Id, Pending};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use super::journal::Journal;
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

/// Entries looked at for each that may be claimed.
const ATTEMPTS: u64 = 10;
/// Redis's bound: it allocates 16 bytes for each.
const COUNT_MAX: i64 = i64::MAX / 16;

pub(crate) static XAUTOCLAIM: DataCommand = DataCommand {
    row: Row {
        name: "xautoclaim",
        group: Group::Stream,
        since: "6.2.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        tips: &["nondeterministic_output"],
        history: &[(
            "7.0.0",
            "Added an element to the reply array, containing deleted entries the command cleared from the PEL",
        )],
        complexity: "O(log N) for each of COUNT entries, where N is the number of pending ones.",
        summary: "Gives entries that are pending for long to another consumer of their group.",
        syntax: "XAUTOCLAIM key group consumer min-idle-time:string start:string [COUNT count] [JUSTID]",
        transcript: r#"
> XADD s 1-0 n 1
"1-0"
> XADD s 2-0 n 2
"2-0"
> XADD s 3-0 n 3
"3-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada STREAMS s >
...
> XDEL s 1-0
(integer) 1
> XAUTOCLAIM s g Alan 0 0 COUNT 2
1) "3-0"
2) 1) 1) "2-0"
      2) 1) "n"
         2) "2"
3) 1) "1-0"
> XAUTOCLAIM s g Alan 0 3-0 JUSTID
1) "0-0"
2) 1) "3-0"
3) (empty array)
> XAUTOCLAIM s g Grace 3600000 -
1) "0-0"
2) (empty array)
3) (empty array)
> XPENDING s g - + 10
1) 1) "2-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 2
2) 1) "3-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 1
> XAUTOCLAIM s g c x 0
(error) ERR Invalid min-idle-time argument for XAUTOCLAIM
> XAUTOCLAIM s g c 0 0 COUNT 0
(error) ERR COUNT must be > 0
> XAUTOCLAIM s g c 0 0 COUNT 576460752303423488
(error) ERR COUNT must be > 0
> XAUTOCLAIM s g c 0 (18446744073709551615-18446744073709551615
(error) ERR invalid start ID for the interval
> XAUTOCLAIM s g c 0 0 FORCE
(error) ERR syntax error
> XAUTOCLAIM s other c 0 0
(error) NOGROUP No such key 's' or consumer group 'other'
> SET k v
OK
> XAUTOCLAIM k g c 0 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// COUNT, and whether JUSTID is there.
fn options(args: &Args<'_>) -> Result<(i64, bool), Fail> {
    let (mut count, mut just_id) = (100, false);
    let mut i = 6;
    while i < args.len() {
        if args.is(i, "count") && i + 1 < args.len() {
            i += 1;
            // Redis has one text for a word that is no number and a number out of range.
            count = stdx::num::parse_i64(&args[i])
                .filter(|n| (1..=COUNT_MAX).contains(n))
                .ok_or(Fail::text("ERR COUNT must be > 0"))?;
        } else if args.is(i, "justid") {
            just_id = true;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    Ok((count, just_id))
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let min_idle = stdx::num::parse_i64(&args[4])
        .ok_or(Fail::text("ERR Invalid min-idle-time argument for XAUTOCLAIM"))?;
    let start = super::interval_start(&args[5])?;
    let (count, just_id) = options(args)?;
    let (key, now) = (db.first_key(&args[1]), db.wall());
    let mut journal = Journal::new(db);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        return Err(super::no_group(&args[1], &args[2]));
    };
    let Some((mut group, log)) = super::of_mut(e.node_mut())?.group_mut(&args[2]) else {
        return Err(super::no_group(&args[1], &args[2]));
    };
    let mut of = journal.of(&args[1], &args[2], &args[3]);
    let (consumer, created) = group.find_or_add(&args[3], now);
    if created {
        of.created();
    }

    // The entries to look at are chosen first: claiming changes the list that is walked.
    let mut left = count as u64;
    let mut attempts = left.saturating_mul(ATTEMPTS);
    let (mut claimed, mut gone) = (Vec::new(), Vec::new());
    let mut cursor = Id::MIN;
    for (id, pending) in group.pending(start) {
        if attempts == 0 || left == 0 {
            cursor = id;
            break;
        }
        attempts -= 1;
        if log.get(id).is_none() {
            gone.push(id);
            left -= 1;
        } else if min_idle <= 0 || now.saturating_sub(pending.time) >= min_idle {
            claimed.push((id, pending.count));
            left -= 1;
        }
    }
    let changes = (claimed.len() + gone.len()) as u64;
    for id in &gone {
        group.forget(*id);
        of.claimed(*id, now, 1);
    }
    reply.array(3);
    super::reply::id(reply, cursor);
    reply.array(claimed.len());
    group.note(consumer, now, !claimed.is_empty());
    for (id, count) in claimed {
        let count = if just_id { count } else { count.saturating_add(1) };
        group.assign(id, Pending { time: now, count, consumer });
        of.claimed(id, now, count);
        if just_id {
            super::reply::id(reply, id);
        } else {
            super::reply::entry_or_null(reply, log, id);
        }
    }
    of.end(&group, false);
    drop(group);
    reply.array(gone.len());
    for id in gone {
        super::reply::id(reply, id);
    }
    db.dirty(changes);
    if created {
        db.changed(key.bytes, Class::Stream, "xgroup-createconsumer");
    }
    journal.write(db);
    Ok(())
}
