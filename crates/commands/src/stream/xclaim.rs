//! XCLAIM: <https://redis.io/docs/latest/commands/xclaim/>

use data::stream::{Id, Pending};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use super::journal::Journal;
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XCLAIM: DataCommand = DataCommand {
    row: Row {
        name: "xclaim",
        group: Group::Stream,
        since: "5.0.0",
        arity: -6,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        tips: &["nondeterministic_output"],
        complexity: "O(log N) for each ID, where N is the number of pending entries.",
        summary: "Gives pending entries to another consumer of their group.",
        syntax: "XCLAIM key group consumer min-idle-time:string id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
        transcript: r#"
> XADD s 1-0 n 1
"1-0"
> XADD s 2-0 n 2
"2-0"
> XADD s 3-0 n 3
"3-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada COUNT 2 STREAMS s >
...
> XCLAIM s g Alan 0 1-0 3-0
1) 1) "1-0"
   2) 1) "n"
      2) "1"
> XCLAIM s g Alan 3600000 2-0
(empty array)
> XCLAIM s g Alan 0 2-0 RETRYCOUNT 7 TIME 1000 JUSTID
1) "2-0"
> XPENDING s g - + 10
1) 1) "1-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 2
2) 1) "2-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 7
# Made pending without having been read; nothing is made of an entry that is not there.
> XCLAIM s g Grace 0 3-0 4-0 FORCE JUSTID LASTID 3-0
1) "3-0"
> XREADGROUP GROUP g Grace STREAMS s >
(nil)
# A deleted entry is pending no more.
> XDEL s 1-0
(integer) 1
> XCLAIM s g Grace 0 1-0
(empty array)
> XPENDING s g
1) (integer) 2
2) "2-0"
3) "3-0"
4) 1) 1) "Alan"
      2) "1"
   2) 1) "Grace"
      2) "1"
> XCLAIM s g c x 1-0
(error) ERR Invalid min-idle-time argument for XCLAIM
> XCLAIM s g c 0 1-0 IDLE x
(error) ERR Invalid IDLE option argument for XCLAIM
> XCLAIM s g c 0 1-0 TIME x
(error) ERR Invalid TIME option argument for XCLAIM
> XCLAIM s g c 0 1-0 RETRYCOUNT x
(error) ERR Invalid RETRYCOUNT option argument for XCLAIM
> XCLAIM s g c 0 1-0 LASTID x
(error) ERR Invalid stream ID specified as stream command argument
> XCLAIM s g c 0 1-0 AGAIN
(error) ERR Unrecognized XCLAIM option 'AGAIN'
> XCLAIM s other c 0 1-0
(error) NOGROUP No such key 's' or consumer group 'other'
> XCLAIM nothing g c 0 1-0
(error) NOGROUP No such key 'nothing' or consumer group 'g'
> SET k v
OK
> XCLAIM k g c 0 1-0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

#[derive(Default)]
struct Options {
    ids: Vec<Id>,
    time: Option<i64>,
    count: Option<u64>,
    force: bool,
    just_id: bool,
    last: Id,
}

fn number(args: &Args<'_>, i: usize, what: &str) -> Result<i64, Fail> {
    stdx::num::parse_i64(&args[i])
        .ok_or_else(|| Fail::new(format!("ERR Invalid {what} argument for XCLAIM")))
}

fn options(args: &Args<'_>, now: i64) -> Result<Options, Fail> {
    let ids = args.iter_from(5).map_while(|text| super::parse_id(text, 0)).collect();
    let mut options = Options { ids, ..Options::default() };
    let mut i = 5 + options.ids.len();
    while i < args.len() {
        let more = i + 1 < args.len();
        if args.is(i, "force") {
            options.force = true;
        } else if args.is(i, "justid") {
            options.just_id = true;
        } else if args.is(i, "idle") && more {
            i += 1;
            options.time = Some(now.saturating_sub(number(args, i, "IDLE option")?));
        } else if args.is(i, "time") && more {
            i += 1;
            options.time = Some(number(args, i, "TIME option")?);
        } else if args.is(i, "retrycount") && more {
            i += 1;
            options.count = u64::try_from(number(args, i, "RETRYCOUNT option")?).ok();
        } else if args.is(i, "lastid") && more {
            i += 1;
            options.last = super::id(&args[i])?;
        } else {
            let option = crate::fail::quoted(&args[i]);
            return Err(Fail::new(format!("ERR Unrecognized XCLAIM option '{option}'")));
        }
        i += 1;
    }
    Ok(options)
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.wall());
    let mut journal = Journal::new(db);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        return Err(super::no_group(&args[1], &args[2]));
    };
    let Some((mut group, log)) = super::of_mut(e.node_mut())?.group_mut(&args[2]) else {
        return Err(super::no_group(&args[1], &args[2]));
    };
    let min_idle = number(args, 4, "min-idle-time")?;
    let options = options(args, now)?;
    // A time from a clock that is ahead is as good as now.
    let time = options.time.filter(|time| (0..=now).contains(time)).unwrap_or(now);
    let moved = options.last > group.last;
    if moved {
        group.last = options.last;
    }
    let mut of = journal.of(&args[1], &args[2], &args[3]);
    let (consumer, created) = group.find_or_add(&args[3], now);
    if created {
        of.created();
    }
    let mut changes = u64::from(moved);
    let (mark, mut n) = (reply.begin(), 0);
    for id in options.ids {
        let before = group.get(id).copied();
        let Some(entry) = log.get(id) else {
            if group.forget(id) {
                of.claimed(id, time, 1);
                changes += 1;
            }
            continue;
        };
        let count = match before {
            Some(pending) if min_idle > 0 && now.saturating_sub(pending.time) < min_idle => {
                continue;
            }
            Some(pending) => pending.count,
            None if options.force => 1,
            None => continue,
        };
        let count = match options.count {
            Some(count) => count,
            None if options.just_id => count,
            None => count.saturating_add(1),
        };
        group.assign(id, Pending { time, count, consumer });
        of.claimed(id, time, count);
        changes += 1;
        if options.just_id {
            super::reply::id(reply, id);
        } else {
            super::reply::entry(reply, &entry);
        }
        n += 1;
    }
    group.note(consumer, now, n > 0);
    of.end(&group, moved);
    reply.end_array(mark, n);
    drop(group);
    db.dirty(changes);
    if created {
        db.changed(key.bytes, Class::Stream, "xgroup-createconsumer");
    }
    journal.write(db);
    Ok(())
}
