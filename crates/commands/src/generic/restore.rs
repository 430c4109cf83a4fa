//! RESTORE: <https://redis.io/docs/latest/commands/restore/>
//!
//! Payloads are untrusted: every byte is checked, as Redis does with `sanitize-dump-payload yes`.

use data::list;
use resp::{Args, Reply};
use store::{Class, Db, Small};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::int;
use crate::row::{Acl, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RESTORE: DataCommand = DataCommand {
    row: Row {
        name: "restore",
        transcript: r#"
> RESTORE greeting 0 "\x00\x05hello\n\x00cr\xdfve4 \n"
OK
> GET greeting
"hello"
> RESTORE greeting 0 "\x00\x05hello\n\x00cr\xdfve4 \n"
(error) BUSYKEY Target key name already exists.
> RESTORE greeting 100000 "\x01\x02\x01a\x01b\n\x002\xa8\x90~\xd5\x03\x1aE" REPLACE
OK
> LRANGE greeting 0 -1
1) "a"
2) "b"
> TTL greeting
(integer) 100
> RESTORE k 4102444800000 "\x00\x05hello\n\x00cr\xdfve4 \n" ABSTTL
OK
> PEXPIRETIME k
(integer) 4102444800000
# What is over is not kept.
> RESTORE k 1 "\x00\x05hello\n\x00cr\xdfve4 \n" ABSTTL REPLACE
OK
> EXISTS k
(integer) 0
> RESTORE k 0 "\x00\x05hello\n\x00cr\xdfve4 \n" IDLETIME 1000
OK
> OBJECT IDLETIME k
(integer) 1000
> RESTORE k 0 "\x00\x05hello\n\x00cr\xdfve4 \n" FREQ 7 REPLACE
OK
# Bad payloads: changed, newer than what is known, a member twice, a score that is no number, empty.
> RESTORE bad 0 "\x00\x05hallo\n\x00aaaaaaaa"
(error) ERR DUMP payload version or checksum are wrong
> RESTORE bad 0 "\x00\x05helloc\x00\xf2:\xcb\x9b\xdf\xfbgU"
(error) ERR DUMP payload version or checksum are wrong
> RESTORE bad 0 "\x02\x02\x01a\x01a\n\x00W\xbev/\xc2\xd6R:"
(error) ERR Bad data format
> RESTORE bad 0 "\x05\x01\x01a\x00\x00\x00\x00\x00\x00\xf8\x7f\n\x00\xf0\xf9)\xa9\x06TY'"
(error) ERR Bad data format
> RESTORE bad 0 "\x04\x00\n\x00\x931\x96\xc0'\x92\x95\xbf"
(error) ERR Bad data format
> RESTORE bad -1 "\x00\x05hello\n\x00cr\xdfve4 \n"
(error) ERR Invalid TTL value, must be >= 0
> RESTORE bad soon "\x00\x05hello\n\x00cr\xdfve4 \n"
(error) ERR value is not an integer or out of range
> RESTORE bad 0 "\x00\x05hello\n\x00cr\xdfve4 \n" IDLETIME -1
(error) ERR Invalid IDLETIME value, must be >= 0
> RESTORE bad 0 "\x00\x05hello\n\x00cr\xdfve4 \n" FREQ 256
(error) ERR Invalid FREQ value, must be >= 0 and <= 255
> RESTORE bad 0 "\x00\x05hello\n\x00cr\xdfve4 \n" FREQ 1 IDLETIME 1
(error) ERR syntax error
> RESTORE bad 0 "\x00\x05hello\n\x00cr\xdfve4 \n" WHATEVER
(error) ERR syntax error
# reset
# A stream from which XDEL and XTRIM have removed everything, entry by entry.
> RESTORE s 0 "\x13\x01\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\xc3'3\x0e3\x00\x00\x00\x14\x00\x00\x01\x03\x01\x01\x01\x81a\x02@\x08\x00\x00 \x01\x03\x81b\x02\x04`\x13\xe0\x00\n\x00\x02\xa0\n\x01\x01\xff\x00\x03\x01\x00\x00\x03\x01\x03\x00\n\x00;E\x015H\xdc\x9c{"
OK
> XLEN s
(integer) 0
> XADD s 3-1 a b
(error) ERR The ID specified in XADD is equal or smaller than the target stream top item
> XADD s 3-2 a b
"3-2"
> XRANGE s - +
1) 1) "3-2"
   2) 1) "a"
      2) "b"
# reset
# only: redis>=7.4
# Fields have deadlines of their own.
> RESTORE h 0 "\x18\x00\xd8\xc3,\xbb\x03\x00\x00\x02\x00\x01f\x01v\x01\x01g\x01w\x0c\x00\xa0\xe8\x8c\xc0>\xc3\xd1u"
OK
> HPEXPIRETIME h FIELDS 2 f g
1) (integer) -1
2) (integer) 4102444800000
"#,
        ..ROW
    },
    run,
    subs: &[],
};

/// RESTORE, and the same command by the name that nodes of a cluster use among each other.
pub(super) const ROW: Row = Row {
    group: Group::Generic,
    since: "2.6.0",
    arity: -4,
    flags: Flags::WRITE.or(Flags::DENYOOM),
    acl: Acl::KEYSPACE.or(Acl::DANGEROUS),
    keys: &[KeySpec::one(1, KeyFlags::OW.or(KeyFlags::UPDATE))],
    history: &[
        ("3.0.0", "Added the `REPLACE` modifier."),
        ("5.0.0", "Added the `ABSTTL` modifier."),
        ("5.0.0", "Added the `IDLETIME` and `FREQ` options."),
    ],
    complexity: "O(1) to add the key, O(N*M) for N parts of M bytes on average; O(N*M*log(N)) \
                 for a sorted set.",
    summary: "Adds a key with a value that DUMP returned.",
    syntax: "RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] \
             [FREQ frequency]",
    ..Row::DEFAULT
};

/// The limits up to which restored collections are small.
pub fn rdb_limits(small: &Small) -> rdb::Limits {
    rdb::Limits {
        hash: data::hash::Limits {
            entries: small.hash_max_listpack_entries,
            value: small.hash_max_listpack_value,
        },
        list: list::Limit::new(small.list_max_listpack_size),
        set: data::set::Limits {
            intset_entries: small.set_max_intset_entries,
            listpack_entries: small.set_max_listpack_entries,
            listpack_value: small.set_max_listpack_value,
        },
        zset: data::zset::Limits {
            entries: small.zset_max_listpack_entries,
            value: small.zset_max_listpack_value,
        },
    }
}

/// The options behind the payload.
#[derive(Default)]
struct Options {
    replace: bool,
    absolute: bool,
    idle: Option<u64>,
    freq: Option<u8>,
}

impl Options {
    fn of(args: &Args<'_>) -> Result<Self, Fail> {
        let mut o = Self::default();
        let mut i = 4;
        while i < args.len() {
            let more = i + 1 < args.len();
            if args.is(i, "replace") {
                o.replace = true;
            } else if args.is(i, "absttl") {
                o.absolute = true;
            } else if args.is(i, "idletime") && more && o.freq.is_none() {
                i += 1;
                let idle = u64::try_from(int(args, i)?);
                o.idle =
                    Some(idle.map_err(|_| Fail::text("ERR Invalid IDLETIME value, must be >= 0"))?);
            } else if args.is(i, "freq") && more && o.idle.is_none() {
                i += 1;
                let freq = u8::try_from(int(args, i)?);
                o.freq =
                    Some(freq.map_err(|_| {
                        Fail::text("ERR Invalid FREQ value, must be >= 0 and <= 255")
                    })?);
            } else {
                return Err(Fail::SYNTAX);
            }
            i += 1;
        }
        Ok(o)
    }
}

pub(super) fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let options = Options::of(args)?;
    let key = db.first_key(&args[1]);
    if db.write(key).is_some() && !options.replace {
        return Err(Fail::text("BUSYKEY Target key name already exists."));
    }
    let ttl = int(args, 2)?;
    if ttl < 0 {
        return Err(Fail::text("ERR Invalid TTL value, must be >= 0"));
    }
    let deadline = match ttl {
        0 => None,
        _ if options.absolute => Some(ttl),
        _ => Some(ttl.checked_add(db.now()).ok_or_else(|| Fail::expire_time("restore"))?),
    };
    let limits = rdb_limits(&db.cx.small);
    let check = !db.cx.trust_checksums;
    let mut remark = None;
    let e = rdb::restore(&args[3], key.bytes, deadline, limits, check).map_err(|e| match e {
        rdb::BadPayload::VersionOrChecksum => {
            Fail::text("ERR DUMP payload version or checksum are wrong")
        }
        rdb::BadPayload::Format(why) => {
            remark = Some(format!("RESTORE: bad payload, {why}"));
            Fail::text("ERR Bad data format")
        }
    });
    if remark.is_some() {
        db.cx.remark = remark;
    }
    let e = e?;
    if deadline.is_some_and(|at| at <= db.now()) {
        // The journal gets the deletion: the clock at replay must not matter.
        if options.replace && db.write(key).is_some() {
            let lazy = db.cx.lazy_server_del;
            db.displace(key);
            let word: &[u8] = if lazy { b"UNLINK" } else { b"DEL" };
            db.rewrite(&[word, key.bytes]);
            db.changed(key.bytes, Class::Generic, "del");
        }
        reply.ok();
        return Ok(());
    }
    if options.replace && db.write(key).is_some() {
        db.displace(key);
    }
    let access = db.cx.access_of(options.idle, options.freq);
    db.create(key, e).node_mut().set_access(access);
    if let Some(at) = deadline.filter(|_| !options.absolute && db.cx.effects.observed) {
        let at = at.to_string();
        let mut form: Vec<&[u8]> = vec![&args[0], key.bytes, at.as_bytes()];
        form.extend(args.iter_from(3));
        form.push(b"ABSTTL");
        db.rewrite(&form);
    }
    db.changed(key.bytes, Class::Generic, "restore");
    reply.ok();
    Ok(())
}
