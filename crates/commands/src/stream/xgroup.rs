//! XGROUP: <https://redis.io/docs/latest/commands/xgroup/>
//!
//! A container; its subcommands make, move and remove consumer groups and their consumers.

use data::stream::{GroupMut, Id, Stream};
use resp::{Args, Reply};
use store::{Class, Db, Entry, Key, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XGROUP: DataCommand = DataCommand {
    row: Row {
        name: "xgroup",
        group: Group::Stream,
        since: "5.0.0",
        arity: -2,
        subcommands: &[
            &CREATE.row,
            &CREATECONSUMER.row,
            &DELCONSUMER.row,
            &DESTROY.row,
            &HELP.row,
            &SETID.row,
        ],
        complexity: "Depends on the subcommand.",
        summary: "Makes and changes consumer groups.",
        ..Row::DEFAULT
    },
    run: |_, args, _| Err(Fail::unknown_subcommand("XGROUP", &args[1])),
    subs: &[&CREATE, &CREATECONSUMER, &DELCONSUMER, &DESTROY, &HELP, &SETID],
};

const INSERTS: &[KeySpec] = &[KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT))];
const DELETES: &[KeySpec] = &[KeySpec::one(2, KeyFlags::RW.or(KeyFlags::DELETE))];

static CREATE: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|create",
        group: Group::Stream,
        since: "5.0.0",
        arity: -5,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: INSERTS,
        history: &[("7.0.0", "Added the `entries_read` named argument.")],
        complexity: "O(1)",
        summary: "Makes a consumer group.",
        syntax: "XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
        transcript: r#"
> XGROUP CREATE s g $
(error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
> XGROUP CREATE s g $ MKSTREAM
OK
> XLEN s
(integer) 0
> XGROUP CREATE s g 0
(error) BUSYGROUP Consumer Group name already exists
> XADD s 1-0 a b
"1-0"
> XGROUP CREATE s h $ ENTRIESREAD 1
OK
> XREADGROUP GROUP g c STREAMS s >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "a"
            2) "b"
> XREADGROUP GROUP h c STREAMS s >
(nil)
> XGROUP CREATE s i 0 ENTRIESREAD -2
(error) ERR value for ENTRIESREAD must be positive or -1
> XGROUP CREATE s i x
(error) ERR Invalid stream ID specified as stream command argument
> XGROUP CREATE s i 0 AGAIN
(error) ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP.
> XGROUP NONSENSE s
(error) ERR unknown subcommand 'NONSENSE'. Try XGROUP HELP.
> SET k v
OK
> XGROUP CREATE k g 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run: create,
    subs: &[],
};

static CREATECONSUMER: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|createconsumer",
        group: Group::Stream,
        since: "6.2.0",
        arity: 5,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: INSERTS,
        complexity: "O(log N) where N is the number of consumers.",
        summary: "Makes a consumer of a group.",
        syntax: "XGROUP CREATECONSUMER key group consumer",
        transcript: r#"
> XGROUP CREATE s g $ MKSTREAM
OK
> XGROUP CREATECONSUMER s g c
(integer) 1
> XGROUP CREATECONSUMER s g c
(integer) 0
> XGROUP CREATECONSUMER s other c
(error) NOGROUP No such consumer group 'other' for key name 's'
> XGROUP CREATECONSUMER nothing g c
(error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
"#,
        ..Row::DEFAULT
    },
    run: create_consumer,
    subs: &[],
};

static DELCONSUMER: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|delconsumer",
        group: Group::Stream,
        since: "5.0.0",
        arity: 5,
        flags: Flags::WRITE,
        keys: DELETES,
        complexity: "O(N) where N is the number of entries pending with the consumer.",
        summary: "Removes a consumer of a group, and forgets what is pending with it.",
        syntax: "XGROUP DELCONSUMER key group consumer",
        transcript: r#"
> XADD s 1-0 a b
"1-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c STREAMS s >
...
> XGROUP CREATECONSUMER s g d
(integer) 1
> XGROUP DELCONSUMER s g c
(integer) 1
> XGROUP DELCONSUMER s g c
(integer) 0
> XPENDING s g - + 10
(empty array)
> XGROUP DELCONSUMER s other c
(error) NOGROUP No such consumer group 'other' for key name 's'
"#,
        ..Row::DEFAULT
    },
    run: delete_consumer,
    subs: &[],
};

static DESTROY: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|destroy",
        group: Group::Stream,
        since: "5.0.0",
        arity: 4,
        flags: Flags::WRITE,
        keys: DELETES,
        complexity: "O(N) where N is the number of pending entries.",
        summary: "Removes a consumer group.",
        syntax: "XGROUP DESTROY key group",
        transcript: r#"
> XGROUP CREATE s g $ MKSTREAM
OK
> XGROUP DESTROY s g
(integer) 1
> XGROUP DESTROY s g
(integer) 0
> XGROUP DESTROY nothing g
(error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
"#,
        ..Row::DEFAULT
    },
    run: destroy,
    subs: &[],
};

static SETID: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|setid",
        group: Group::Stream,
        since: "5.0.0",
        arity: -5,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(2, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added the optional `entries_read` argument.")],
        complexity: "O(1)",
        summary: "Sets behind which ID a consumer group reads on.",
        syntax: "XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]",
        transcript: r#"
> XADD s 1-0 a b
"1-0"
> XGROUP CREATE s g $
OK
> XGROUP SETID s g 0 ENTRIESREAD 0
OK
> XREADGROUP GROUP g c STREAMS s >
1) 1) "s"
   2) 1) 1) "1-0"
         2) 1) "a"
            2) "b"
> XGROUP SETID s g $
OK
> XGROUP SETID s g - ENTRIESREAD
(error) ERR unknown subcommand or wrong number of arguments for 'SETID'. Try XGROUP HELP.
> XGROUP SETID s g x
(error) ERR Invalid stream ID specified as stream command argument
> XGROUP SETID s other 0
(error) NOGROUP No such consumer group 'other' for key name 's'
> XGROUP SETID nothing g 0
(error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
"#,
        ..Row::DEFAULT
    },
    run: set_id,
    subs: &[],
};

static HELP: DataCommand = DataCommand {
    row: Row {
        name: "xgroup|help",
        group: Group::Stream,
        since: "5.0.0",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE),
        complexity: "O(1)",
        summary: "Describes the subcommands.",
        syntax: "XGROUP HELP",
        transcript: r#"
> XGROUP HELP
~  1) XGROUP <subcommand> *
...
"#,
        ..Row::DEFAULT
    },
    run: help,
    subs: &[],
};

const NO_KEY: Fail = Fail::text(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to \
     use the MKSTREAM option to create an empty stream automatically.",
);

/// The options that may follow the ID.
fn options(args: &Args<'_>, create: bool) -> Result<(bool, Option<u64>), Fail> {
    let (mut make, mut read) = (false, None);
    let mut i = 5;
    while i < args.len() {
        if create && args.is(i, "mkstream") {
            make = true;
        } else if args.is(i, "entriesread") && i + 1 < args.len() {
            i += 1;
            let n = int(args, i)?;
            if n < -1 {
                return Err(Fail::text("ERR value for ENTRIESREAD must be positive or -1"));
            }
            read = u64::try_from(n).ok();
        } else {
            return Err(super::bad_subcommand("XGROUP", &args[1]));
        }
        i += 1;
    }
    if args.len() > if create { 8 } else { 7 } {
        return Err(super::bad_subcommand("XGROUP", &args[1]));
    }
    Ok((make, read))
}

/// Runs `f` on a stream that must exist.
fn with_stream<R>(
    db: &mut Db<'_>,
    key: Key<'_>,
    f: impl FnOnce(&mut Stream) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let mut e = db.write_as(key, Kind::Stream)?.ok_or(NO_KEY)?;
    f(super::of_mut(e.node_mut())?)
}

/// Runs `f` on a group that must exist.
fn with_group<R>(
    db: &mut Db<'_>,
    args: &Args<'_>,
    f: impl FnOnce(GroupMut<'_>, Id) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let key = db.key(&args[2]);
    with_stream(db, key, |stream| match stream.group_mut(&args[3]) {
        Some((group, log)) => f(group, log.last),
        None => Err(super::no_group_of(&args[2], &args[3])),
    })
}

fn create(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (make, read) = options(args, true)?;
    let key = db.key(&args[2]);
    let at = |last: Id| if &args[4] == b"$" { Ok(last) } else { super::id(&args[4]) };
    let added = match db.write_as(key, Kind::Stream)? {
        Some(mut e) => {
            let stream = super::of_mut(e.node_mut())?;
            let id = at(stream.log.last)?;
            stream.add_group(&args[3], id, read)
        }
        None if make => {
            let mut stream = Stream::default();
            stream.add_group(&args[3], at(Id::MIN)?, read);
            db.create(key, Entry::big(key.bytes, stream, None, 0));
            // The event of a group is not one of the key.
            db.event(Class::Silent, "new", key.bytes);
            true
        }
        None => return Err(NO_KEY),
    };
    if !added {
        return Err(Fail::text("BUSYGROUP Consumer Group name already exists"));
    }
    db.changed(key.bytes, Class::Stream, "xgroup-create");
    reply.ok();
    Ok(())
}

fn create_consumer(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let now = db.wall();
    let created = with_group(db, args, |mut group, _| Ok(group.find_or_add(&args[4], now).1))?;
    if created {
        db.changed(&args[2], Class::Stream, "xgroup-createconsumer");
    }
    reply.int(created.into());
    Ok(())
}

fn delete_consumer(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let pending = with_group(db, args, |mut group, _| Ok(group.remove_consumer(&args[4])))?;
    if pending.is_some() {
        db.changed(&args[2], Class::Stream, "xgroup-delconsumer");
    }
    reply.int(pending.unwrap_or(0) as i64);
    Ok(())
}

fn destroy(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.key(&args[2]);
    let removed = with_stream(db, key, |stream| Ok(stream.remove_group(&args[3])))?;
    if removed {
        db.changed(key.bytes, Class::Stream, "xgroup-destroy");
    }
    reply.int(removed.into());
    Ok(())
}

fn set_id(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (_, read) = options(args, false)?;
    with_group(db, args, |mut group, last| {
        // Unlike elsewhere, `-` and `+` are IDs here.
        group.last = if &args[4] == b"$" { last } else { super::id_or_end(&args[4], 0)? };
        group.read = read;
        Ok(())
    })?;
    db.changed(&args[2], Class::Stream, "xgroup-setid");
    reply.ok();
    Ok(())
}

fn help(_: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const LINES: &[&str] = &[
        "CREATE <key> <group> <id|$> [MKSTREAM] [ENTRIESREAD <count>]",
        "    Make a group that reads on behind <id>, or behind the present end.",
        "    MKSTREAM makes the stream if there is none. ENTRIESREAD says how many entries",
        "    were read up to there.",
        "CREATECONSUMER <key> <group> <consumer>",
        "    Make a consumer.",
        "DELCONSUMER <key> <group> <consumer>",
        "    Remove a consumer, and forget what is pending with it.",
        "DESTROY <key> <group>",
        "    Remove a group.",
        "SETID <key> <group> <id|$> [ENTRIESREAD <count>]",
        "    Set behind which ID a group reads on.",
    ];
    crate::help::write(reply, "XGROUP", LINES);
    Ok(())
}
