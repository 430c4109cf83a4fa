//! A small table for this crate's tests: one row of each shape, with Redis's
//! own facts, so that replies can be compared with a real server's.

use crate::keys::{Argv, KeyError, KeyPos};
use crate::row::{Acl, BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GET: Row = Row {
    name: "get",
    group: Group::String,
    arity: 2,
    flags: Flags::READONLY.or(Flags::FAST),
    keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
    complexity: "O(1)",
    summary: "Returns the string value of a key.",
    syntax: "GET key",
    transcript: "> GET a\n(nil)",
    ..Row::DEFAULT
};

fn set_keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let get = (3..argv.len()).any(|at| argv.get(at).eq_ignore_ascii_case(b"get"));
    let read = if get { KeyFlags::RW.or(KeyFlags::ACCESS) } else { KeyFlags::OW };
    out(KeyPos { index: 1, flags: read.or(KeyFlags::UPDATE) });
    Ok(())
}

const SET_KEY: KeyFlags =
    KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE).or(KeyFlags::VARIABLE_FLAGS);

pub(crate) static SET: Row = Row {
    name: "set",
    group: Group::String,
    arity: -3,
    flags: Flags::WRITE.or(Flags::DENYOOM),
    keys: &[KeySpec::one(1, SET_KEY).notes("RW and ACCESS due to the optional `GET` argument")],
    get_keys: Some(set_keys),
    history: &[("2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options.")],
    complexity: "O(1)",
    summary: "Sets the string value of a key.",
    syntax: "SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | KEEPTTL]",
    transcript: "> SET a 1\nOK",
    ..Row::DEFAULT
};

pub(crate) static MSET: Row = Row {
    name: "mset",
    group: Group::String,
    since: "1.0.1",
    arity: -3,
    flags: Flags::WRITE.or(Flags::DENYOOM),
    keys: &[KeySpec::range(1, -1, 2, KeyFlags::OW.or(KeyFlags::UPDATE))],
    tips: &["request_policy:multi_shard", "response_policy:all_succeeded"],
    complexity: "O(N) where N is the number of keys to set.",
    summary: "Sets several keys at once.",
    syntax: "MSET key value [key value ...]",
    transcript: "> MSET a 1 b 2\nOK",
    ..Row::DEFAULT
};

pub(crate) static OBJECT: Row = Row {
    name: "object",
    since: "2.2.3",
    arity: -2,
    subcommands: &[&OBJECT_ENCODING, &OBJECT_HELP],
    summary: "Inspects the representation of a value.",
    ..Row::DEFAULT
};

static OBJECT_ENCODING: Row = Row {
    name: "object|encoding",
    since: "2.2.3",
    arity: 3,
    flags: Flags::READONLY,
    keys: &[KeySpec::one(2, KeyFlags::RO)],
    tips: &["nondeterministic_output"],
    complexity: "O(1)",
    summary: "Returns the encoding of a value.",
    syntax: "OBJECT ENCODING key",
    transcript: "> OBJECT ENCODING a\n(nil)",
    ..Row::DEFAULT
};

static OBJECT_HELP: Row = Row {
    name: "object|help",
    since: "6.2.0",
    arity: 2,
    flags: Flags::LOADING.or(Flags::STALE),
    complexity: "O(1)",
    summary: "Describes the subcommands.",
    syntax: "OBJECT HELP",
    untranscribed: "free text",
    ..Row::DEFAULT
};

/// The key, and that of the last STORE, which no option's argument hides.
fn sort_keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    out(KeyPos { index: 1, flags: KeyFlags::RO.or(KeyFlags::ACCESS) });
    let is = |at: usize, word: &str| argv.get(at).eq_ignore_ascii_case(word.as_bytes());
    let (mut at, mut store) = (2, None);
    while at < argv.len() {
        let skip = match () {
            () if is(at, "limit") => 2,
            () if is(at, "get") || is(at, "by") => 1,
            () if is(at, "store") && at + 1 < argv.len() => {
                store = Some(at + 1);
                0
            }
            () => 0,
        };
        at += 1 + skip;
    }
    if let Some(index) = store {
        out(KeyPos { index, flags: KeyFlags::OW.or(KeyFlags::UPDATE) });
    }
    Ok(())
}

pub(crate) static SORT: Row = Row {
    name: "sort",
    arity: -2,
    flags: Flags::WRITE.or(Flags::DENYOOM),
    acl: Acl::NO_GROUP.or(Acl::SET).or(Acl::SORTEDSET).or(Acl::LIST).or(Acl::DANGEROUS),
    keys: &[
        KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        KeySpec::unknown(KeyFlags::RO.or(KeyFlags::ACCESS)),
        KeySpec::unknown(KeyFlags::OW.or(KeyFlags::UPDATE)),
    ],
    get_keys: Some(sort_keys),
    complexity: "O(N+M*log(M))",
    summary: "Sorts the elements of a collection.",
    syntax: "SORT key [BY by-pattern#1] [LIMIT offset count] \
             [GET get-pattern#1 [GET get-pattern#1 ...]] [ASC | DESC] [ALPHA] [STORE destination#2]",
    transcript: "> SORT a\n(empty array)",
    ..Row::DEFAULT
};

pub(crate) static EVAL: Row = Row {
    name: "eval",
    group: Group::Scripting,
    since: "2.6.0",
    arity: -3,
    flags: Flags::NOSCRIPT
        .or(Flags::SKIP_MONITOR)
        .or(Flags::MAY_REPLICATE)
        .or(Flags::NO_MANDATORY_KEYS)
        .or(Flags::STALE),
    keys: &[KeySpec::counted(2, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
    complexity: "Depends on the script.",
    summary: "Runs a script.",
    syntax: "EVAL script numkeys [key [key ...]] [arg [arg ...]]",
    transcript: "> EVAL 'return 1' 0\n(integer) 1",
    ..Row::DEFAULT
};

pub(crate) static XREAD: Row = Row {
    name: "xread",
    group: Group::Stream,
    since: "5.0.0",
    arity: -4,
    flags: Flags::READONLY.or(Flags::BLOCKING),
    keys: &[KeySpec {
        notes: "",
        flags: KeyFlags::RO.or(KeyFlags::ACCESS),
        begin: BeginSearch::Keyword { word: "STREAMS", start: 1 },
        find: FindKeys::Range { last: -1, step: 1, limit: 2 },
    }],
    complexity: "O(N)",
    summary: "Returns new entries of streams.",
    syntax: "XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
    transcript: "> XREAD STREAMS a 0\n(nil)",
    ..Row::DEFAULT
};

pub(crate) static PING: Row = Row {
    name: "ping",
    group: Group::Connection,
    arity: -1,
    flags: Flags::FAST,
    complexity: "O(1)",
    summary: "Returns PONG.",
    syntax: "PING [message]",
    transcript: "> PING\nPONG",
    ..Row::DEFAULT
};

pub(crate) static ROWS: [&Row; 8] = [&GET, &SET, &MSET, &OBJECT, &SORT, &EVAL, &XREAD, &PING];
