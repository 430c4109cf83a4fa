//! SET: <https://redis.io/docs/latest/commands/set/>

use std::sync::Arc;

use resp::{Args, Reply};
use store::{Class, Content, Db, INLINE_MAX, Kind, Ttl};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::keys::{Argv, KeyError, KeyPos};
use crate::parse::{TimeUnit, deadline};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SET: DataCommand = DataCommand {
    row: Row {
        name: "set",
        group: Group::String,
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW
                .or(KeyFlags::ACCESS)
                .or(KeyFlags::UPDATE)
                .or(KeyFlags::VARIABLE_FLAGS),
        )
        .notes("RW and ACCESS due to the optional `GET` argument")],
        get_keys: Some(keys),
        history: &[
            ("2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."),
            ("6.0.0", "Added the `KEEPTTL` option."),
            ("6.2.0", "Added the `GET`, `EXAT` and `PXAT` options."),
            (
                "7.0.0",
                "Allowed the `NX` and `GET` options to be used together.",
            ),
        ],
        complexity: "O(1)",
        summary: "Sets the string value of a key, whatever it held before.",
        syntax: "SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | \
                 EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        transcript: r#"
> SET k v
OK
> SET k w NX
(nil)
> SET k w XX GET
"v"
> SET other w XX
(nil)
> SET k x EX 100
OK
> TTL k
(integer) 100
> SET k y KEEPTTL
OK
> TTL k
(integer) 100
> SET k z
OK
> TTL k
(integer) -1
> SET k v EX 0
(error) ERR invalid expire time in 'set' command
> SET k v EX ten
(error) ERR value is not an integer or out of range
> SET k v EX 10 PX 10
(error) ERR syntax error
> SET k v NX XX
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let get = (3..argv.len()).any(|at| argv.get(at).eq_ignore_ascii_case(b"get"));
    let read = if get {
        KeyFlags::RW.or(KeyFlags::ACCESS)
    } else {
        KeyFlags::OW
    };
    out(KeyPos {
        index: 1,
        flags: read.or(KeyFlags::UPDATE),
    });
    Ok(())
}

/// The options of one call.
#[derive(Default)]
struct Options {
    nx: bool,
    xx: bool,
    get: bool,
    keep: bool,
    deadline: Option<i64>,
}

fn options(args: &Args<'_>, now: i64) -> Result<Options, Fail> {
    let mut o = Options::default();
    let mut i = 3;
    while i < args.len() {
        if let Some(unit) = TimeUnit::of_option(args, i) {
            if o.keep || o.deadline.is_some() || i + 1 >= args.len() {
                return Err(Fail::SYNTAX);
            }
            o.deadline = Some(deadline(args, i + 1, unit, now, "set")?);
            i += 1;
        } else if args.is(i, "nx") && !o.xx {
            o.nx = true;
        } else if args.is(i, "xx") && !o.nx {
            o.xx = true;
        } else if args.is(i, "get") {
            o.get = true;
        } else if args.is(i, "keepttl") && o.deadline.is_none() {
            o.keep = true;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    Ok(o)
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = if args.len() == 3 {
        Options::default()
    } else {
        options(args, db.now())?
    };
    let owned = args.take(2).filter(|v| v.len() > INLINE_MAX);
    let key = db.key(&args[1]);
    if o.nx || o.xx || o.get {
        // One look answers the condition and the GET.
        let old = if o.get { db.read(key) } else { db.write(key) };
        let exists = old.is_some();
        if o.get {
            match old {
                Some(e) if e.kind() != Kind::String => return Err(Fail::WRONG_TYPE),
                Some(e) => super::reply_value(&e, reply),
                None => reply.null(),
            }
        }
        if o.nx && exists || o.xx && !exists {
            if !o.get {
                reply.null();
            }
            return Ok(());
        }
    }
    let ttl = match o.deadline {
        _ if o.keep => Ttl::Keep,
        Some(at) => Ttl::At(at),
        None => Ttl::Clear,
    };
    if let (Some(at), true) = (o.deadline, db.cx.effects.observed) {
        let at = at.to_string();
        let value = owned.as_deref().unwrap_or(&args[2]);
        db.rewrite(&[b"SET", key.bytes, value, b"PXAT", at.as_bytes()]);
    }
    let content = match owned {
        Some(v) => Content::Shared(Arc::new(v)),
        None => super::content(&args[2]),
    };
    db.set(key, content, ttl);
    db.changed(key.bytes, Class::String, "set");
    if o.deadline.is_some() {
        db.event(Class::Generic, "expire", key.bytes);
    }
    if !o.get {
        reply.ok();
    }
    Ok(())
}
