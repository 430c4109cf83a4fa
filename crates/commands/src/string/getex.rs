//! GETEX: <https://redis.io/docs/latest/commands/getex/>

use resp::{Args, Reply};
use stdx::num::{I64_LEN_MAX, fmt_i64};
use store::{Class, Db};

use super::options::{Of, Options};
use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static GETEX: DataCommand = DataCommand {
    row: Row {
        name: "getex",
        group: Group::String,
        since: "6.2.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))
            .notes("RW and UPDATE because it changes the TTL")],
        complexity: "O(1)",
        summary: "Returns the string value of a key, and sets or removes its deadline.",
        syntax: "GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
                 PXAT unix-time-milliseconds | PERSIST]",
        transcript: r#"
> SET session abc
OK
> GETEX session
"abc"
> TTL session
(integer) -1
> GETEX session EX 100
"abc"
> TTL session
(integer) 100
> GETEX session PERSIST
"abc"
> TTL session
(integer) -1
> GETEX session EXAT 33177117420
"abc"
> EXPIRETIME session
(integer) 33177117420
> GETEX session PXAT 33177117420123
"abc"
> PEXPIRETIME session
(integer) 33177117420123
# reset
> SET session abc
OK
> GETEX session PX 0
(error) ERR invalid expire time in 'getex' command
> GETEX session EX 10 PERSIST
(error) ERR syntax error
> GETEX session KEEPTTL
(error) ERR syntax error
> GETEX session EX
(error) ERR syntax error
> GETEX session EX ten
(error) ERR value is not an integer or out of range
> GETEX session EX 9223372036854775807
(error) ERR invalid expire time in 'getex' command
> GETEX nothing EX ten
(nil)
# A moment that has passed deletes the key.
> GETEX session EXAT 1
"abc"
> GET session
(nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = Options::parse(args, 2, Of::GetEx)?;
    // The time is checked only once the value is there: a missing key hides a bad time.
    let deadline = o.deadline(args, db.now(), "getex");
    let key = db.first_key(&args[1]);
    let (deadline, had_one) = match db.read_str(key)? {
        Some(e) => {
            let deadline = deadline?;
            super::reply_value(&e, reply);
            (deadline, e.deadline().is_some())
        }
        None => {
            reply.null();
            return Ok(());
        }
    };
    match deadline {
        Some(at) if o.is_absolute() && at <= db.now() => {
            db.delete(key);
            db.rewrite(&[b"DEL", key.bytes]);
            db.changed(key.bytes, Class::Generic, "del");
        }
        Some(at) => {
            db.set_deadline(key, Some(at));
            let mut buf = [0; I64_LEN_MAX];
            db.rewrite(&[b"PEXPIREAT", key.bytes, fmt_i64(&mut buf, at)]);
            db.changed(key.bytes, Class::Generic, "expire");
        }
        None if o.persist && had_one => {
            db.set_deadline(key, None);
            db.rewrite(&[b"PERSIST", key.bytes]);
            db.changed(key.bytes, Class::Generic, "persist");
        }
        None => {}
    }
    Ok(())
}
