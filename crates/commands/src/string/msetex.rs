//! MSETEX: <https://redis.io/docs/latest/commands/msetex/>

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64, parse_i64};
use store::{Class, Db, Ttl};

use super::options::{Of, Options};
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{FindKeys, Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static MSETEX: DataCommand = DataCommand {
    row: Row {
        name: "msetex",
        group: Group::String,
        since: "8.4.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec {
            find: FindKeys::KeyNum { number: 0, first: 1, step: 2 },
            ..KeySpec::counted(1, KeyFlags::OW.or(KeyFlags::UPDATE))
        }],
        tips: &["request_policy:multi_shard", "response_policy:all_succeeded"],
        complexity: "O(N) where N is the number of keys.",
        summary: "Sets the string values of several keys at once, with one deadline for all if wanted.",
        syntax: "MSETEX numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | \
                 EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        transcript: r#"
# only: redis>=8.4
> MSETEX 2 a 1 b 2 EX 100
(integer) 1
> MGET a b
1) "1"
2) "2"
> TTL b
(integer) 100
> MSETEX 2 a 3 c 4 NX
(integer) 0
> MSETEX 2 a 3 c 4 XX
(integer) 0
> MGET a c
1) "1"
2) (nil)
> MSETEX 2 a 3 b 4 XX KEEPTTL
(integer) 1
> TTL a
(integer) 100
> MSETEX 1 a 5
(integer) 1
> TTL a
(integer) -1
> MSETEX 1 a 5 PXAT 33177117420123
(integer) 1
> PEXPIRETIME a
(integer) 33177117420123
# A moment that has passed is accepted, and the keys are gone at once.
> MSETEX 1 a 5 EXAT 1
(integer) 1
> EXISTS a
(integer) 0
> MSETEX 0 a 1
(error) ERR invalid numkeys value
> MSETEX x a 1
(error) ERR invalid numkeys value
> MSETEX 2 a 1 b
(error) ERR wrong number of key-value pairs
> MSETEX 1 a 1 EX 0
(error) ERR invalid expire time in 'msetex' command
> MSETEX 1 a 1 EX 10 PX 10
(error) ERR syntax error
> MSETEX 1 a 1 NX XX
(error) ERR syntax error
> MSETEX 1 a 1 GET
(error) ERR syntax error
> MSETEX 1 a 1 IFEQ 1
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let n = parse_i64(&args[1]).filter(|n| (1..=i64::from(i32::MAX)).contains(n));
    let n = n.ok_or(Fail::text("ERR invalid numkeys value"))? as usize;
    if n > (args.len() - 2) / 2 {
        return Err(Fail::text("ERR wrong number of key-value pairs"));
    }
    let end = 2 + 2 * n;
    let o = Options::parse(args, end, Of::MSetEx)?;
    let deadline = o.deadline(args, db.now(), "msetex")?;
    if o.nx || o.xx {
        for i in (2..end).step_by(2) {
            let key = db.key(&args[i]);
            if db.write(key).is_some() == o.nx {
                reply.int(0);
                return Ok(());
            }
        }
    }
    let ttl = match deadline {
        _ if o.keep => Ttl::Keep,
        Some(at) => Ttl::At(at),
        None => Ttl::Clear,
    };
    for i in (2..end).step_by(2) {
        let taken = super::take_large(db, args, i + 1);
        let key = db.key(&args[i]);
        db.set(key, super::stored(taken, &args[i + 1]), ttl);
        db.changed(key.bytes, Class::String, "set");
        if deadline.is_some() {
            db.event(Class::Generic, "expire", key.bytes);
        }
    }
    if db.cx.effects.observed {
        // The journal has the deadline, not the remaining time, and no condition.
        let mut buf = [0; I64_LEN_MAX];
        let mut words: Vec<&[u8]> = vec![b"MSETEX"];
        words.extend(args.iter_from(1).take(end - 1));
        match deadline {
            Some(at) => words.extend([&b"PXAT"[..], fmt_i64(&mut buf, at)]),
            None if o.keep => words.push(b"KEEPTTL"),
            None => {}
        }
        db.rewrite(&words);
    }
    reply.int(1);
    Ok(())
}
