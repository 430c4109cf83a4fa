//! XINFO: <https://redis.io/docs/latest/commands/xinfo-stream/>
//!
//! A container; its subcommands describe streams, groups and consumers.

use data::stream::{Consumer, Group, Id, Stream};
use resp::{Args, Reply};
use store::{Db, Entry, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{self, Flags, KeyFlags, KeySpec, Row};

pub(crate) static XINFO: DataCommand = DataCommand {
    row: Row {
        name: "xinfo",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: -2,
        subcommands: &[&CONSUMERS.row, &GROUPS.row, &HELP.row, &STREAM.row],
        complexity: "Depends on the subcommand.",
        summary: "Tells about streams and their consumer groups.",
        ..Row::DEFAULT
    },
    run: |_, args, _| Err(Fail::unknown_subcommand("XINFO", &args[1])),
    subs: &[&CONSUMERS, &GROUPS, &HELP, &STREAM],
};

const READS: &[KeySpec] = &[KeySpec::one(2, KeyFlags::RO.or(KeyFlags::ACCESS))];

static CONSUMERS: DataCommand = DataCommand {
    row: Row {
        name: "xinfo|consumers",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: 4,
        flags: Flags::READONLY,
        keys: READS,
        tips: &["nondeterministic_output"],
        history: &[("7.2.0", "Added the `inactive` field, and changed the meaning of `idle`.")],
        complexity: "O(N) where N is the number of consumers.",
        summary: "Lists the consumers of a group.",
        syntax: "XINFO CONSUMERS key group",
        transcript: r#"
> XGROUP CREATE s g $ MKSTREAM
OK
> XINFO CONSUMERS s g
(empty array)
> XINFO CONSUMERS s other
(error) NOGROUP No such consumer group 'other' for key name 's'
> XINFO CONSUMERS nothing g
(error) ERR no such key
> SET k v
OK
> XINFO CONSUMERS k g
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.2
> XADD s 1-0 a b
"1-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada STREAMS s >
...
> XGROUP CREATECONSUMER s g Alan
(integer) 1
> XINFO CONSUMERS s g
1) 1) "name"
   2) "Ada"
   3) "pending"
   4) (integer) 1
   5) "idle"
~    6) (integer) *
   7) "inactive"
~    8) (integer) *
2) 1) "name"
   2) "Alan"
   3) "pending"
   4) (integer) 0
   5) "idle"
~    6) (integer) *
   7) "inactive"
   8) (integer) -1
"#,
        ..Row::DEFAULT
    },
    run: consumers,
    subs: &[],
};

static GROUPS: DataCommand = DataCommand {
    row: Row {
        name: "xinfo|groups",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: 3,
        flags: Flags::READONLY,
        keys: READS,
        history: &[("7.0.0", "Added the `entries-read` and `lag` fields")],
        complexity: "O(N) where N is the number of groups.",
        summary: "Lists the consumer groups of a stream.",
        syntax: "XINFO GROUPS key",
        transcript: r#"
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XINFO GROUPS s
(empty array)
> XGROUP CREATE s g 0
OK
> XGROUP CREATE s behind 1-5
OK
> XREADGROUP GROUP g Ada COUNT 1 STREAMS s >
...
> XINFO GROUPS s
1)  1) "name"
    2) "behind"
    3) "consumers"
    4) (integer) 0
    5) "pending"
    6) (integer) 0
    7) "last-delivered-id"
    8) "1-5"
    9) "entries-read"
   10) (nil)
   11) "lag"
   12) (nil)
2)  1) "name"
    2) "g"
    3) "consumers"
    4) (integer) 1
    5) "pending"
    6) (integer) 1
    7) "last-delivered-id"
    8) "1-0"
    9) "entries-read"
   10) (integer) 1
   11) "lag"
   12) (integer) 1
> XINFO GROUPS nothing
(error) ERR no such key
> SET k v
OK
> XINFO GROUPS k
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run: groups,
    subs: &[],
};

static STREAM: DataCommand = DataCommand {
    row: Row {
        name: "xinfo|stream",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: -3,
        flags: Flags::READONLY,
        keys: READS,
        history: &[
            ("6.0.0", "Added the `FULL` modifier."),
            (
                "7.0.0",
                "Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag` fields",
            ),
            ("7.2.0", "Added the `active-time` field, and changed the meaning of `seen-time`."),
        ],
        complexity: "O(1); with FULL, O(N) where N is the number of entries, groups, consumers \
                     and pending entries returned.",
        summary: "Tells about a stream.",
        syntax: "XINFO STREAM key [FULL [COUNT count]]",
        transcript: r#"
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XDEL s 1-0
(integer) 1
> XINFO STREAM s
 1) "length"
 2) (integer) 1
 3) "radix-tree-keys"
 4) (integer) 1
 5) "radix-tree-nodes"
 6) (integer) 2
 7) "last-generated-id"
 8) "2-0"
 9) "max-deleted-entry-id"
10) "1-0"
11) "entries-added"
12) (integer) 2
13) "recorded-first-entry-id"
14) "2-0"
15) "groups"
16) (integer) 0
17) "first-entry"
18) 1) "2-0"
    2) 1) "a"
       2) "2"
19) "last-entry"
20) 1) "2-0"
    2) 1) "a"
       2) "2"
> XGROUP CREATE empty g $ MKSTREAM
OK
> XINFO STREAM empty
 1) "length"
 2) (integer) 0
 3) "radix-tree-keys"
 4) (integer) 0
 5) "radix-tree-nodes"
 6) (integer) 1
 7) "last-generated-id"
 8) "0-0"
 9) "max-deleted-entry-id"
10) "0-0"
11) "entries-added"
12) (integer) 0
13) "recorded-first-entry-id"
14) "0-0"
15) "groups"
16) (integer) 1
17) "first-entry"
18) (nil)
19) "last-entry"
20) (nil)
> XINFO STREAM s FULL COUNT x
(error) ERR value is not an integer or out of range
> XINFO STREAM s ALL
(error) ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.
> XINFO STREAM nothing
(error) ERR no such key
> XINFO NONSENSE s
(error) ERR unknown subcommand 'NONSENSE'. Try XINFO HELP.
> SET k v
OK
> XINFO STREAM k
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.2
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g Ada STREAMS s >
...
> XINFO STREAM s FULL COUNT 1
 1) "length"
 2) (integer) 2
 3) "radix-tree-keys"
 4) (integer) 1
 5) "radix-tree-nodes"
 6) (integer) 2
 7) "last-generated-id"
 8) "2-0"
 9) "max-deleted-entry-id"
10) "0-0"
11) "entries-added"
12) (integer) 2
13) "recorded-first-entry-id"
14) "1-0"
15) "entries"
16) 1) 1) "1-0"
       2) 1) "a"
          2) "1"
17) "groups"
18) 1)  1) "name"
        2) "g"
        3) "last-delivered-id"
        4) "2-0"
        5) "entries-read"
        6) (integer) 2
        7) "lag"
        8) (integer) 0
        9) "pel-count"
       10) (integer) 2
       11) "pending"
       12) 1) 1) "1-0"
              2) "Ada"
~               3) (integer) *
              4) (integer) 1
       13) "consumers"
       14) 1)  1) "name"
               2) "Ada"
               3) "seen-time"
~                4) (integer) *
               5) "active-time"
~                6) (integer) *
               7) "pel-count"
               8) (integer) 2
               9) "pending"
              10) 1) 1) "1-0"
~                      2) (integer) *
                     3) (integer) 1
"#,
        ..Row::DEFAULT
    },
    run: stream,
    subs: &[],
};

static HELP: DataCommand = DataCommand {
    row: Row {
        name: "xinfo|help",
        group: row::Group::Stream,
        since: "5.0.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Describes the subcommands.",
        syntax: "XINFO HELP",
        transcript: r#"
> XINFO HELP
~ 1) XINFO <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    run: help,
    subs: &[],
};

/// Runs `f` on a stream that must exist.
fn with_stream<R>(
    db: &mut Db<'_>,
    args: &Args<'_>,
    f: impl FnOnce(&Stream) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let key = db.key(&args[2]);
    let e = db.read_as(key, Kind::Stream)?.ok_or(Fail::NO_SUCH_KEY)?;
    let e: &Entry = &e;
    f(super::of(e)?)
}

fn int_or_null(reply: &mut Reply<'_>, n: Option<u64>) {
    match n {
        // Redis counts in signed numbers, and XGROUP SETID may have set any number.
        Some(n) => reply.int(n as i64),
        None => reply.null(),
    }
}

fn consumers(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let now = db.now();
    with_stream(db, args, |stream| {
        let group = stream.group(&args[3]).ok_or_else(|| super::no_group_of(&args[2], &args[3]))?;
        reply.array(group.consumers_len());
        for consumer in group.consumers() {
            reply.map(4);
            reply.bulk("name");
            reply.bulk(consumer.name());
            reply.bulk("pending");
            reply.int(consumer.pending_len() as i64);
            reply.bulk("idle");
            reply.int(now.saturating_sub(consumer.seen).max(0));
            reply.bulk("inactive");
            let never = consumer.active == -1;
            reply.int(if never { -1 } else { now.saturating_sub(consumer.active) });
        }
        Ok(())
    })
}

fn groups(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    with_stream(db, args, |stream| {
        reply.array(stream.groups().len());
        for group in stream.groups() {
            reply.map(6);
            reply.bulk("name");
            reply.bulk(group.name());
            reply.bulk("consumers");
            reply.int(group.consumers_len() as i64);
            reply.bulk("pending");
            reply.int(group.pending_len() as i64);
            progress(reply, stream, group);
        }
        Ok(())
    })
}

/// The position of a group.
fn progress(reply: &mut Reply<'_>, stream: &Stream, group: &Group) {
    reply.bulk("last-delivered-id");
    super::reply::id(reply, group.last);
    reply.bulk("entries-read");
    int_or_null(reply, group.read);
    reply.bulk("lag");
    int_or_null(reply, stream.lag(group));
}

fn stream(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    with_stream(db, args, |stream| {
        let bad = || super::bad_subcommand("XINFO", &args[1]);
        // How many elements of each list a full reply has; 0: all.
        let full = match args.len() {
            3 => None,
            4 if args.is(3, "full") => Some(10),
            6 if args.is(3, "full") && args.is(4, "count") => {
                Some(u64::try_from(int(args, 5)?).unwrap_or(10))
            }
            _ => return Err(bad()),
        };
        let log = &stream.log;
        reply.map(if full.is_some() { 9 } else { 10 });
        reply.bulk("length");
        reply.int(log.len() as i64);
        reply.bulk("radix-tree-keys");
        reply.int(log.nodes() as i64);
        // Apus has no radix tree: the reply is the smallest size of one with so many keys.
        reply.bulk("radix-tree-nodes");
        reply.int(log.nodes() as i64 + 1);
        reply.bulk("last-generated-id");
        super::reply::id(reply, log.last);
        reply.bulk("max-deleted-entry-id");
        super::reply::id(reply, log.max_deleted);
        reply.bulk("entries-added");
        reply.int(log.added as i64);
        reply.bulk("recorded-first-entry-id");
        super::reply::id(reply, log.first());
        if let Some(count) = full {
            reply.bulk("entries");
            super::reply::entries(reply, log.range(Id::MIN, Id::MAX), count);
            reply.bulk("groups");
            reply.array(stream.groups().len());
            for group in stream.groups() {
                full_group(reply, stream, group, count);
            }
            return Ok(());
        }
        reply.bulk("groups");
        reply.int(stream.groups().len() as i64);
        let ends = [
            ("first-entry", log.range(Id::MIN, Id::MAX).next()),
            ("last-entry", log.range_rev(Id::MIN, Id::MAX).next()),
        ];
        for (name, entry) in ends {
            reply.bulk(name);
            match entry {
                Some(entry) => super::reply::entry(reply, &entry),
                None => reply.null(),
            }
        }
        Ok(())
    })
}

fn full_group(reply: &mut Reply<'_>, stream: &Stream, group: &Group, count: u64) {
    let max = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    reply.map(7);
    reply.bulk("name");
    reply.bulk(group.name());
    progress(reply, stream, group);
    reply.bulk("pel-count");
    reply.int(group.pending_len() as i64);
    reply.bulk("pending");
    reply.array(group.pending_len().min(max));
    for (id, pending) in group.pending(Id::MIN).take(max) {
        reply.array(4);
        super::reply::id(reply, id);
        reply.bulk(group.consumer(pending.consumer).map_or(&[][..], Consumer::name));
        reply.int(pending.time);
        reply.int(pending.count as i64);
    }
    reply.bulk("consumers");
    reply.array(group.consumers_len());
    for consumer in group.consumers() {
        reply.map(5);
        reply.bulk("name");
        reply.bulk(consumer.name());
        reply.bulk("seen-time");
        reply.int(consumer.seen);
        reply.bulk("active-time");
        reply.int(consumer.active);
        reply.bulk("pel-count");
        reply.int(consumer.pending_len() as i64);
        reply.bulk("pending");
        reply.array(consumer.pending_len().min(max));
        for id in consumer.pending(Id::MIN).take(max) {
            let (time, deliveries) = group.get(id).map_or((0, 0), |p| (p.time, p.count));
            reply.array(3);
            super::reply::id(reply, id);
            reply.int(time);
            reply.int(deliveries as i64);
        }
    }
}

fn help(_: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const LINES: &[&str] = &[
        "CONSUMERS <key> <group>",
        "    List the consumers of a group.",
        "GROUPS <key>",
        "    List the groups of a stream.",
        "STREAM <key> [FULL [COUNT <count>]]",
        "    Tell about a stream; with FULL also its entries, groups and consumers.",
    ];
    crate::help::write(reply, "XINFO", LINES);
    Ok(())
}
