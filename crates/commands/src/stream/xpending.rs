//! XPENDING: <https://redis.io/docs/latest/commands/xpending/>

use data::stream::{Group, Id, Pending};
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{self, Flags, KeyFlags, KeySpec, Row};

pub(crate) static XPENDING: DataCommand = DataCommand {
    row: Row {
        name: "xpending",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: -3,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        history: &[("6.2.0", "Added the `IDLE` option and exclusive range intervals.")],
        complexity: "O(N) where N is the number of entries returned, with IDLE also of those \
                     passed over; of the summary, the number of consumers.",
        summary: "Returns what is pending in a consumer group.",
        syntax: "XPENDING key group [[IDLE min-idle-time:integer] start:string end:string count [consumer]]",
        transcript: r#"
> XADD s 1-0 n 1
"1-0"
> XADD s 2-0 n 2
"2-0"
> XGROUP CREATE s g 0
OK
> XPENDING s g
1) (integer) 0
2) (nil)
3) (nil)
4) (nil)
> XREADGROUP GROUP g Ada COUNT 1 STREAMS s >
...
> XREADGROUP GROUP g Alan COUNT 1 STREAMS s >
...
> XPENDING s g
1) (integer) 2
2) "1-0"
3) "2-0"
4) 1) 1) "Ada"
      2) "1"
   2) 1) "Alan"
      2) "1"
> XPENDING s g - + 10 Alan
1) 1) "2-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 1
> XPENDING s g (1 + 1
1) 1) "2-0"
   2) "Alan"
~    3) (integer) *
   4) (integer) 1
> XPENDING s g IDLE 3600000 - + 10
(empty array)
> XPENDING s g IDLE 0 - 1 10 Ada
1) 1) "1-0"
   2) "Ada"
~    3) (integer) *
   4) (integer) 1
> XPENDING s g - + 10 Grace
(empty array)
> XPENDING s g - + -5
(empty array)
> XPENDING s g - +
(error) ERR syntax error
> XPENDING s g IDLE 1 - +
(error) ERR syntax error
> XPENDING s g - + x
(error) ERR value is not an integer or out of range
> XPENDING s g x + 1
(error) ERR Invalid stream ID specified as stream command argument
> XPENDING s other
(error) NOGROUP No such key 's' or consumer group 'other'
> XPENDING nothing g
(error) NOGROUP No such key 'nothing' or consumer group 'g'
> SET k v
OK
> XPENDING k g
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

struct Filter {
    start: Id,
    end: Id,
    count: usize,
    min_idle: i64,
    /// The argument that is a consumer's name.
    consumer: Option<usize>,
}

fn filter(args: &Args<'_>) -> Result<Option<Filter>, Fail> {
    match args.len() {
        3 => return Ok(None),
        6..=9 => {}
        _ => return Err(Fail::SYNTAX),
    }
    let (mut at, mut min_idle) = (3, 0);
    if args.is(3, "idle") {
        min_idle = int(args, 4)?;
        if args.len() < 8 {
            return Err(Fail::SYNTAX);
        }
        at = 5;
    }
    let count = usize::try_from(int(args, at + 2)?).unwrap_or(0);
    let start = super::interval_start(&args[at])?;
    let end = super::interval_end(&args[at + 1])?;
    let consumer = (at + 3 < args.len()).then_some(at + 3);
    Ok(Some(Filter { start, end, count, min_idle, consumer }))
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let filter = filter(args)?;
    let (key, now) = (db.first_key(&args[1]), db.now());
    let e = db.read_as(key, Kind::Stream)?;
    let stream = e.as_ref().map(|e| super::of(e)).transpose()?;
    let Some(group) = stream.and_then(|stream| stream.group(&args[2])) else {
        return Err(super::no_group(&args[1], &args[2]));
    };
    let Some(filter) = filter else {
        summary(reply, group);
        return Ok(());
    };
    let pass = |pending: &Pending| {
        filter.min_idle == 0 || now.saturating_sub(pending.time) >= filter.min_idle
    };
    let (mark, mut n) = (reply.begin(), 0);
    let mut put = |id, pending: &Pending| {
        reply.array(4);
        super::reply::id(reply, id);
        reply.bulk(group.consumer(pending.consumer).map_or(&[][..], |c| c.name()));
        reply.int(now.saturating_sub(pending.time).max(0));
        reply.int(pending.count as i64);
        n += 1;
    };
    match filter.consumer.map(|at| group.find(&args[at])) {
        // Nothing is pending with a consumer that does not exist.
        Some(None) => {}
        Some(Some(id)) => {
            let own = group.consumer(id).into_iter().flat_map(|c| c.pending(filter.start));
            own.take_while(|id| *id <= filter.end)
                .filter_map(|id| group.get(id).map(|pending| (id, pending)))
                .filter(|(_, pending)| pass(pending))
                .take(filter.count)
                .for_each(|(id, pending)| put(id, pending));
        }
        None => group
            .pending(filter.start)
            .take_while(|(id, _)| *id <= filter.end)
            .filter(|(_, pending)| pass(pending))
            .take(filter.count)
            .for_each(|(id, pending)| put(id, pending)),
    }
    reply.end_array(mark, n);
    Ok(())
}

fn summary(reply: &mut Reply<'_>, group: &Group) {
    reply.array(4);
    reply.int(group.pending_len() as i64);
    let Some((first, last)) = group.pending_ends() else {
        reply.null();
        reply.null();
        reply.null_array();
        return;
    };
    super::reply::id(reply, first);
    super::reply::id(reply, last);
    let busy = || group.consumers().filter(|consumer| consumer.pending_len() > 0);
    reply.array(busy().count());
    for consumer in busy() {
        reply.array(2);
        reply.bulk(consumer.name());
        reply.bulk_int(consumer.pending_len() as i64);
    }
}
