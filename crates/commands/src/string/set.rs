//! SET: <https://redis.io/docs/latest/commands/set/>

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64};
use store::{Class, Content, Db, INLINE_MAX, Key, Ttl};

use super::options::{Of, Options};
use crate::command::{DataCommand, Outcome};
use crate::keys::{Argv, KeyError, KeyPos};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};
use crate::runs::CommandRun;

pub(crate) static SET: DataCommand = DataCommand {
    row: Row {
        name: "set",
        group: Group::String,
        arity: -3,
        traits: Traits::CONSTANT,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE).or(KeyFlags::VARIABLE_FLAGS),
        )
        .notes("RW and ACCESS due to the optional `GET` argument")],
        get_keys: Some(keys),
        history: &[
            ("2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."),
            ("6.0.0", "Added the `KEEPTTL` option."),
            ("6.2.0", "Added the `GET`, `EXAT` and `PXAT` options."),
            ("7.0.0", "Allowed the `NX` and `GET` options to be used together."),
            ("8.4.0", "Added the `IFEQ`, `IFNE`, `IFDEQ` and `IFDNE` options."),
        ],
        complexity: "O(1)",
        summary: "Sets the string value of a key, whatever it held before.",
        syntax: "SET key value [NX | XX | IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | \
                 IFDNE ifdne-digest] [GET] [EX seconds | PX milliseconds | \
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
> SET other w XX GET
(nil)
> GET other
(nil)
> SET other first GET NX
(nil)
> SET other second NX GET
"first"
> GET other
"first"
> SET k v EX 0
(error) ERR invalid expire time in 'set' command
> SET k v PX -1
(error) ERR invalid expire time in 'set' command
> SET k v EX 9223372036854775807
(error) ERR invalid expire time in 'set' command
> SET k v EX ten
(error) ERR value is not an integer or out of range
> SET k v EX ten soon
(error) ERR syntax error
> SET k v EX
(error) ERR syntax error
> SET k v EX 10 PX 10
(error) ERR syntax error
> SET k v KEEPTTL EX 10
(error) ERR syntax error
> SET k v NX XX
(error) ERR syntax error
> SET k v PERSIST
(error) ERR syntax error
# A moment that has passed is accepted, and the key is gone at once.
> SET k v EXAT 1
OK
> GET k
(nil)
> SET k "" PXAT 33177117420123
OK
> GET k
""
# reset
> SET k x EX 100
OK
> TTL k
(integer) 100
> SET k y KEEPTTL
OK
> TTL k
(integer) 100
> SET k y EX 10 EX 50
OK
> TTL k
(integer) 50
> SET k z
OK
> TTL k
(integer) -1
> SET k z EXAT 33177117420
OK
> EXPIRETIME k
(integer) 33177117420
# reset
# only: redis>=8.4
> SET k one
OK
> SET k two IFEQ other
(nil)
> SET k two IFEQ one
OK
> SET k three IFNE two GET
"two"
> SET k three IFNE one EX 100 GET
"two"
> GET k
"three"
> TTL k
(integer) 100
> SET nothing v IFEQ v
(nil)
> SET nothing v IFDEQ 2d06800538d394c2
(nil)
> SET new v IFNE v
OK
> SET newer "Hello world" IFDNE 2d06800538d394c2
OK
> SET newer v IFDNE b6acb9d84a38ff74
(nil)
> SET newer v IFDEQ b6acb9d84a38ff74
OK
> SET k v IFEQ
(error) ERR syntax error
> SET k v NX IFEQ v
(error) ERR syntax error
> SET k v IFEQ v XX
(error) ERR syntax error
> RPUSH l a
(integer) 1
> SET l v IFEQ a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let get = (3..argv.len()).any(|at| argv.get(at).eq_ignore_ascii_case(b"get"));
    let read = if get { KeyFlags::RW.or(KeyFlags::ACCESS) } else { KeyFlags::OW };
    out(KeyPos { index: 1, flags: read.or(KeyFlags::UPDATE) });
    Ok(())
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() > 3 {
        return run_with_options(db, args, reply);
    }
    let value = &args[2];
    if value.len() > INLINE_MAX {
        return set_large(db, args, reply);
    }
    let key = db.first_key(&args[1]);
    match super::content(value) {
        Content::Bytes(bytes) if db.overwrite(key, bytes) => {}
        other => db.set(key, other, Ttl::Clear),
    }
    db.changed(key.bytes, Class::String, "set");
    reply.ok();
    Ok(())
}

/// [`run`] for plain strings that keep their size.
pub(crate) fn execute_run(db: &mut Db<'_>, run: &CommandRun<'_>, reply: &mut Reply<'_>) -> usize {
    let n = run.each(db, |db, [_, key, value]| {
        let Content::Bytes(bytes) = super::content(value) else { return false };
        let set = db.fast_path_to_change(key, |e| !e.will_move() && e.node_mut().overwrite(bytes));
        if set {
            reply.ok();
        }
        set
    });
    db.cx.counters.dirty += n as u64;
    n
}

fn set_large(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let taken = super::take_large(db, args, 2);
    let key = db.first_key(&args[1]);
    db.set(key, super::stored(taken, &args[2]), Ttl::Clear);
    db.changed(key.bytes, Class::String, "set");
    reply.ok();
    Ok(())
}

fn run_with_options(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = Options::parse(args, 3, Of::Set)?;
    let deadline = o.deadline(args, db.now(), "set")?;
    let taken = super::take_large(db, args, 2);
    let key = db.first_key(&args[1]);
    if o.nx || o.xx || o.get || o.condition.is_some() {
        // One lookup serves the condition and the GET.
        let of_text = o.get || o.condition.is_some();
        let old = if of_text { db.read_str(key)? } else { db.write(key) };
        let exists = old.is_some();
        let holds = o.condition.is_none_or(|condition| match &old {
            Some(e) => condition.holds(e, args),
            None => condition.holds_for_none(),
        });
        if o.get {
            match old {
                Some(e) => super::reply_value(&e, reply),
                None => reply.null(),
            }
        }
        if o.nx && exists || o.xx && !exists || !holds {
            if !o.get {
                reply.null();
            }
            return Ok(());
        }
    }
    let ttl = match deadline {
        _ if o.keep => Ttl::Keep,
        Some(at) => Ttl::At(at),
        None => Ttl::Clear,
    };
    db.set(key, super::stored(taken, &args[2]), ttl);
    if let Some(at) = deadline {
        note_expiring(db, key, &args[2], at);
    } else {
        if o.condition.is_some() {
            // The value that the condition was compared with is absent when the journal is replayed.
            let words: [&[u8]; 4] = [b"SET", key.bytes, &args[2], b"KEEPTTL"];
            db.rewrite(&words[..3 + usize::from(o.keep)]);
        } else if o.get && db.cx.effects.observed {
            // A replay of the journal must not produce a reply.
            let all = args.iter_from(0).enumerate();
            let kept = all.filter(|(i, arg)| *i < 3 || !arg.eq_ignore_ascii_case(b"get"));
            db.rewrite(&kept.map(|(_, arg)| arg).collect::<Vec<_>>());
        }
        db.changed(key.bytes, Class::String, "set");
    }
    if !o.get {
        reply.ok();
    }
    Ok(())
}

/// Notes that `key` was set to `value` until `at`, in Unix milliseconds, as every form of SET
/// with a time does. The journal has the deadline, not the remaining time.
pub(super) fn note_expiring(db: &mut Db<'_>, key: Key<'_>, value: &[u8], at: i64) {
    let mut buf = [0; I64_LEN_MAX];
    db.rewrite(&[b"SET", key.bytes, value, b"PXAT", fmt_i64(&mut buf, at)]);
    db.changed(key.bytes, Class::String, "set");
    db.event(Class::Generic, "expire", key.bytes);
}
