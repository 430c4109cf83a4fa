//! OBJECT: <https://redis.io/docs/latest/commands/object/>
//!
//! A container; its subcommands show how a value is stored and do not count as access to it.

use resp::{Args, Reply};
use store::{Db, Entry, Kind, Str};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static OBJECT: DataCommand = DataCommand {
    row: Row {
        name: "object",
        group: Group::Generic,
        since: "2.2.3",
        arity: -2,
        subcommands: &[&ENCODING.row, &FREQ.row, &HELP.row, &IDLETIME.row, &REFCOUNT.row],
        complexity: "Depends on the subcommand.",
        summary: "Tells how the value of a key is kept.",
        ..Row::DEFAULT
    },
    run,
    subs: &[&ENCODING, &FREQ, &HELP, &IDLETIME, &REFCOUNT],
};

/// The fields that the rows of the subcommands about a key share.
const OF_KEY: Row = Row {
    group: Group::Generic,
    since: "2.2.3",
    arity: 3,
    flags: Flags::READONLY,
    keys: &[KeySpec::one(2, KeyFlags::RO)],
    tips: &["nondeterministic_output"],
    complexity: "O(1)",
    ..Row::DEFAULT
};

static ENCODING: DataCommand = DataCommand {
    row: Row {
        name: "object|encoding",
        summary: "Names the encoding of a value.",
        syntax: "OBJECT ENCODING key",
        transcript: r#"
> SET n 42
OK
> OBJECT ENCODING n
"int"
> SET n 042
OK
> OBJECT ENCODING n
"embstr"
> SET s 12345678901234567890123456789012345678901234
OK
> OBJECT ENCODING s
"embstr"
> SET s 123456789012345678901234567890123456789012345
OK
> OBJECT ENCODING s
"raw"
> COPY s t
(integer) 1
> OBJECT ENCODING t
"raw"
> OBJECT ENCODING nothing
(nil)
> OBJECT NONSENSE s
(error) ERR unknown subcommand 'NONSENSE'. Try OBJECT HELP.
"#,
        ..OF_KEY
    },
    run: encoding,
    subs: &[],
};

static FREQ: DataCommand = DataCommand {
    row: Row {
        name: "object|freq",
        since: "4.0.0",
        summary: "Returns how often a key is used, on a logarithmic scale.",
        syntax: "OBJECT FREQ key",
        transcript: r#"
> SET k v
OK
# With an LFU policy: a number from 0 to 255.
> OBJECT FREQ k
(error) ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.
> OBJECT FREQ nothing
(nil)
"#,
        ..OF_KEY
    },
    run: freq,
    subs: &[],
};

static IDLETIME: DataCommand = DataCommand {
    row: Row {
        name: "object|idletime",
        summary: "Returns for how many seconds a key was not used.",
        syntax: "OBJECT IDLETIME key",
        transcript: r#"
> SET k v
OK
> OBJECT IDLETIME k
(integer) 0
> OBJECT IDLETIME nothing
(nil)
"#,
        ..OF_KEY
    },
    run: idletime,
    subs: &[],
};

static REFCOUNT: DataCommand = DataCommand {
    row: Row {
        name: "object|refcount",
        summary: "Returns the number of references to a value.",
        syntax: "OBJECT REFCOUNT key",
        transcript: r#"
> SET k v
OK
> OBJECT REFCOUNT k
(integer) 1
> OBJECT REFCOUNT nothing
(nil)
# Small integers count as shared.
> SET n 9999
OK
> OBJECT REFCOUNT n
(integer) 2147483647
> SET n 10000
OK
> OBJECT REFCOUNT n
(integer) 1
"#,
        ..OF_KEY
    },
    run: refcount,
    subs: &[],
};

static HELP: DataCommand = DataCommand {
    row: Row {
        name: "object|help",
        group: Group::Generic,
        since: "6.2.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Describes the subcommands.",
        syntax: "OBJECT HELP",
        transcript: r#"
> OBJECT HELP
 1) OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
 2) ENCODING <key>
...
"#,
        ..Row::DEFAULT
    },
    run: help,
    subs: &[],
};

fn run(_: &mut Db<'_>, args: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
    Err(Fail::unknown_subcommand("OBJECT", &args[1]))
}

/// The result of `f` on the entry. Counts a hit or a miss, but fires no `keymiss` and is no access.
fn about<R>(db: &mut Db<'_>, args: &Args<'_>, f: impl FnOnce(&Entry) -> R) -> Option<R> {
    let key = db.key(&args[2]);
    let said = db.peek(key).map(|e| f(&e));
    let counters = &mut db.cx.counters;
    match said {
        Some(_) => counters.keyspace_hits += 1,
        None => counters.keyspace_misses += 1,
    }
    said
}

fn int_or_null(n: Option<i64>, reply: &mut Reply<'_>) {
    match n {
        Some(n) => reply.int(n),
        None => reply.null(),
    }
}

fn encoding(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    match about(db, args, Entry::encoding_name) {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    Ok(())
}

fn freq(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let bits = about(db, args, Entry::access);
    if bits.is_some() && !db.cx.access.lfu {
        return Err(Fail::text(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. \
             Please note that when switching between policies at runtime LRU and LFU data will \
             take some time to adjust.",
        ));
    }
    int_or_null(bits.map(|bits| db.cx.lfu_counter(bits).into()), reply);
    Ok(())
}

fn idletime(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let bits = about(db, args, Entry::access);
    if bits.is_some() && db.cx.access.lfu {
        return Err(Fail::text(
            "ERR An LFU maxmemory policy is selected, idle time not tracked. \
             Please note that when switching between policies at runtime LRU and LFU data will \
             take some time to adjust.",
        ));
    }
    int_or_null(bits.map(|bits| db.cx.idle_seconds(bits).into()), reply);
    Ok(())
}

/// No value has more than one owner here; Redis shares the integers below 10,000 and says so with
/// the largest number, which programs that look for sharing expect.
fn refcount(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let shares = db.cx.shared_integers;
    let n = about(db, args, |e| match e.kind() {
        Kind::String if shares && matches!(e.str(), Str::Int(0..10_000)) => i32::MAX.into(),
        _ => 1,
    });
    int_or_null(n, reply);
    Ok(())
}

fn help(_: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let lines = [
        "ENCODING <key>",
        "    Name the encoding that the value of <key> is kept in.",
        "FREQ <key>",
        "    Return how often <key> is used: a counter that grows logarithmically.",
        "IDLETIME <key>",
        "    Return the seconds since <key> was last used.",
        "REFCOUNT <key>",
        "    Return the number of references to the value of <key>.",
    ];
    crate::help::write(reply, "OBJECT", &lines);
    Ok(())
}
