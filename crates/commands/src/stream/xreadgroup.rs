//! XREADGROUP: <https://redis.io/docs/latest/commands/xreadgroup/>

use data::stream::{GroupMut, Id, Log, Pending};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use super::journal::Journal;
use super::read::{self, Request};
use super::xread::{end, stream};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XREADGROUP: DataCommand = DataCommand {
    row: Row {
        name: "xreadgroup",
        group: Group::Stream,
        since: "5.0.0",
        arity: -7,
        flags: Flags::WRITE.or(Flags::BLOCKING),
        keys: &[KeySpec {
            notes: "",
            flags: KeyFlags::RO.or(KeyFlags::ACCESS),
            begin: BeginSearch::Keyword { word: "STREAMS", start: 4 },
            find: FindKeys::Range { last: -1, step: 1, limit: 2 },
        }],
        get_keys: Some(read::keys),
        complexity: "For each stream: O(log M + N) where M is the number of its nodes and N the \
                     number of entries returned.",
        summary: "Returns entries of streams that no consumer of a group was given yet, or what is \
                  pending with a consumer, and waits for some if asked to.",
        syntax: "XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key ...] id [id ...]",
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
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "n"
            2) "1"
      2) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREADGROUP GROUP g Alan STREAMS s >
1) 1) "s"
   2) 1) 1) "3-0"
         2) 1) "n"
            2) "3"
> XREADGROUP GROUP g Alan STREAMS s >
(nil)
# What is pending, again.
> XDEL s 1-0
(integer) 1
> XREADGROUP GROUP g Ada STREAMS s 0
1) 1) "s"
   2) 1) 1) "1-0"
         2) (nil)
      2) 1) "2-0"
         2) 1) "n"
            2) "2"
> XREADGROUP GROUP g Ada STREAMS s 2
1) 1) "s"
   2) (empty array)
> XPENDING s g - + 10 Ada
1) 1) "1-0"
   2) "Ada"
~    3) (integer) *
   4) (integer) 1
2) 1) "2-0"
   2) "Ada"
~    3) (integer) *
   4) (integer) 2
> XADD s 4-0 n 4
"4-0"
# Not to be acknowledged. The consumer exists from now on.
> XREADGROUP GROUP g Grace NOACK STREAMS s >
1) 1) "s"
   2) 1) 1) "4-0"
         2) 1) "n"
            2) "4"
> XPENDING s g - + 10 Grace
(empty array)
# A group may be called anything.
> XGROUP CREATE s STREAMS $
OK
> XREADGROUP COUNT 1 GROUP STREAMS STREAMS STREAMS s >
(nil)
> XREADGROUP GROUP other c STREAMS s >
(error) NOGROUP No such key 's' or consumer group 'other' in XREADGROUP with GROUP option
> XREADGROUP GROUP g c STREAMS s nothing > >
(error) NOGROUP No such key 'nothing' or consumer group 'g' in XREADGROUP with GROUP option
> XREADGROUP GROUP g c STREAMS s $
(error) ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.
> XREADGROUP GROUP g c STREAMS s x
(error) ERR Invalid stream ID specified as stream command argument
> XREADGROUP NOACK NOACK NOACK STREAMS s >
(error) ERR Missing GROUP option for XREADGROUP
> XREADGROUP GROUP g c COUNT x STREAMS s >
(error) ERR value is not an integer or out of range
> SET k v
OK
> XREADGROUP GROUP g c STREAMS k >
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> XREADGROUP GROUP g c STREAMS s t >
(error) ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified.
# reset
# resp: 3
> XADD s 1-0 n 1
"1-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c STREAMS s >
1# "s" =>
   1) 1) "1-0"
      2) 1) "n"
         2) "1"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// What is asked of a stream.
enum Wanted {
    /// Entries that no consumer was given.
    New,
    /// Entries pending with the consumer, behind an ID.
    Pending(Id),
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let request = Request::parse(args, db.now(), true)?;
    let (group, consumer) = (&args[request.group], &args[request.group + 1]);
    let mut from = Vec::with_capacity(request.n);
    for i in 0..request.n {
        from.push(check(db, &args[request.key(i)], group, &args[request.id(i)])?);
    }
    let mut journal = Journal::new(db);
    let (mark, mut served) = (reply.begin(), 0);
    let now = db.now();
    for (i, from) in from.iter().enumerate() {
        let name = &args[request.key(i)];
        let key = db.key(name);
        let Some(mut e) = db.write_as(key, Kind::Stream)? else { continue };
        let Some((mut cg, log)) = super::of_mut(e.node_mut())?.group_mut(group) else { continue };
        let mut of = journal.of(name, group, consumer);
        let (id, created) = cg.find_or_add(consumer, now);
        if created {
            of.created();
        }
        let fresh = log.last_entry().is_some_and(|last| last > cg.last);
        cg.note(id, now, matches!(from, Wanted::New) && fresh && !request.no_ack);
        let mut moved = false;
        let mut deliver = |entry, cg: &mut GroupMut<'_>, time, count, assign| {
            if assign {
                cg.assign(entry, Pending { time, count, consumer: id });
            } else {
                cg.set_delivery(entry, time, count);
            }
            of.claimed(entry, time, count);
        };
        match from {
            Wanted::New if fresh => {
                served += 1;
                stream(reply, name);
                moved = true;
                let count = usize::try_from(request.count).unwrap_or(usize::MAX);
                let max = if count == 0 { usize::MAX } else { count };
                let start = cg.last.next().unwrap_or(Id::MAX);
                let (inner, mut n) = (reply.begin(), 0);
                for entry in log.range(start, Id::MAX).take(max) {
                    advance(&mut cg, log, entry.id);
                    super::reply::entry(reply, &entry);
                    if !request.no_ack {
                        deliver(entry.id, &mut cg, now, 1, true);
                    }
                    n += 1;
                }
                reply.end_array(inner, n);
            }
            Wanted::New => {}
            Wanted::Pending(after) => {
                served += 1;
                stream(reply, name);
                let ids = own_ids(&cg, consumer, *after, request.count);
                reply.array(ids.len());
                for entry in ids {
                    super::reply::entry_or_null(reply, log, entry);
                    if log.get(entry).is_some() {
                        let count = cg.get(entry).map_or(1, |pending| pending.count);
                        deliver(entry, &mut cg, now, count.saturating_add(1), false);
                    }
                }
            }
        }
        of.end(&cg, moved);
        drop(cg);
        // Reading again what is pending is no change to Redis; the journal has it all the same.
        db.dirty(moved.into());
        if created {
            db.changed(name, Class::Stream, "xgroup-createconsumer");
        }
    }
    journal.write(db);
    if served > 0 {
        end(reply, mark, served);
        return Ok(());
    }
    match request.block {
        None => reply.null_array(),
        Some(deadline) => {
            crate::parse::block(db, request.wait(args, deadline, true, None), reply);
        }
    }
    Ok(())
}

/// Looks at everything about one stream that can be wrong.
fn check(db: &mut Db<'_>, name: &[u8], group: &[u8], id: &[u8]) -> Result<Wanted, Fail> {
    let key = db.key(name);
    let e = db.read_as(key, Kind::Stream)?;
    let found = e.as_ref().map(|e| super::of(e)).transpose()?.and_then(|s| s.group(group));
    if found.is_none() {
        let (key, group) = (crate::fail::quoted(name), crate::fail::quoted(group));
        return Err(Fail::new(format!(
            "NOGROUP No such key '{key}' or consumer group '{group}' in XREADGROUP with GROUP \
             option"
        )));
    }
    match id {
        b"$" | b"+" => Err(Fail::new(format!(
            "ERR The {0} ID is meaningless in the context of XREADGROUP: you want to read the \
             history of this consumer by specifying a proper ID, or use the > ID to get new \
             messages. The {0} ID would just return an empty result set.",
            id[0] as char,
        ))),
        b">" => Ok(Wanted::New),
        // The greatest ID stands for `>` inside of Redis.
        _ => super::id(id).map(|id| if id == Id::MAX { Wanted::New } else { Wanted::Pending(id) }),
    }
}

/// Moves the group on to an entry that is being delivered, and counts it as read as long as
/// nothing was deleted that would have to be counted, too.
fn advance(group: &mut GroupMut<'_>, log: &Log, id: Id) {
    group.read = match group.read {
        Some(read) if !log.has_gap_after(group.last) => Some(read.saturating_add(1)),
        _ => log.read_up_to(id),
    };
    group.last = id;
}

/// The IDs pending with a consumer behind an ID, `count` at most (0: all).
fn own_ids(group: &GroupMut<'_>, consumer: &[u8], after: Id, count: u64) -> Vec<Id> {
    let Some(start) = after.next() else { return Vec::new() };
    let max = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    let found = group.find(consumer).and_then(|id| group.consumer(id));
    found.map_or_else(Vec::new, |consumer| consumer.pending(start).take(max).collect())
}
