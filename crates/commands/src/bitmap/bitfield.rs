//! BITFIELD: <https://redis.io/docs/latest/commands/bitfield/>
//!
//! Operations are read from the arguments twice: first to check all of them and to learn how long
//! the string must be, then to carry them out. So no list of them is made.

use data::bits::{FieldType, Overflow, bytes_for};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::keys::{Argv, KeyError, KeyPos};
use crate::parse::int;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static BITFIELD: DataCommand = DataCommand {
    row: Row {
        name: "bitfield",
        group: Group::Bitmap,
        since: "3.2.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(
            1,
            KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE).or(KeyFlags::VARIABLE_FLAGS),
        )
        .notes("This command allows both access and modification of the key")],
        get_keys: Some(keys),
        complexity: "O(1) for each operation.",
        summary: "Reads, sets and increments integers of any width within a string.",
        syntax: "BITFIELD key [GET encoding offset | \
                 [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value:integer | INCRBY encoding offset increment> \
                 [GET encoding offset | \
                 [OVERFLOW <WRAP | SAT | FAIL>] \
                 <SET encoding offset value:integer | INCRBY encoding offset increment> ...]]",
        transcript: r#"
> BITFIELD s SET u8 0 255 GET u8 0
1) (integer) 0
2) (integer) 255
> BITFIELD s SET i8 #1 -100 SET i8 8 101 get i8 #1
1) (integer) 0
2) (integer) -100
3) (integer) 101
> BITFIELD s INCRBY u8 0 10 INCRBY u8 0 -10
1) (integer) 9
2) (integer) 255
> BITFIELD s GET u4 4 GET i4 4 GET u63 1000
1) (integer) 15
2) (integer) -1
3) (integer) 0
> BITFIELD s OVERFLOW SAT INCRBY u8 0 1 OVERFLOW WRAP INCRBY u8 0 257 OVERFLOW FAIL INCRBY u8 0 256
1) (integer) 255
2) (integer) 0
3) (nil)
> BITFIELD s OVERFLOW SAT INCRBY i8 0 200 INCRBY i8 0 -400 OVERFLOW WRAP INCRBY i8 0 -1
1) (integer) 127
2) (integer) -128
3) (integer) 127
> BITFIELD s OVERFLOW FAIL SET i8 0 128 SET u2 0 4 GET i8 0
1) (nil)
2) (nil)
3) (integer) 127
> BITFIELD wide SET i64 3 -9223372036854775808 INCRBY i64 3 -1
1) (integer) 0
2) (integer) 9223372036854775807
> STRLEN wide
(integer) 9
> BITFIELD s
(empty array)
> BITFIELD s OVERFLOW SAT
(empty array)
> BITFIELD nothing GET u8 0
1) (integer) 0
> EXISTS nothing
(integer) 0
> SET n 1
OK
> BITFIELD n GET u8 0 GET u8 4
1) (integer) 49
2) (integer) 16
> BITFIELD n INCRBY u8 0 1
1) (integer) 50
> GET n
"2"
> BITFIELD s GET u64 0
(error) ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.
> BITFIELD s GET i65 0
(error) ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.
> BITFIELD s GET 8 -1
(error) ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.
> BITFIELD s SET u8 -1 x
(error) ERR bit offset is not an integer or out of range
> BITFIELD s GET u8 4294967296
(error) ERR bit offset is not an integer or out of range
> BITFIELD s GET u8 #536870912
(error) ERR bit offset is not an integer or out of range
> BITFIELD s SET u8 0 x
(error) ERR value is not an integer or out of range
> BITFIELD s INCRBY u8 0 9223372036854775808
(error) ERR value is not an integer or out of range
> BITFIELD s OVERFLOW NEVER GET u8 0
(error) ERR Invalid OVERFLOW type specified
> BITFIELD s SET u8 0 1 GET u8
(error) ERR syntax error
> BITFIELD s PUT u8 0
(error) ERR syntax error
> BITFIELD s OVERFLOW
(error) ERR syntax error
# reset
> RPUSH l a
(integer) 1
> BITFIELD l GET u8 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BITFIELD l SET u8 0 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BITFIELD l SET u8 0
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let mut flags = KeyFlags::RO.or(KeyFlags::ACCESS);
    let mut at = 2;
    while at < argv.len() {
        let is = |word: &str| argv.get(at).eq_ignore_ascii_case(word.as_bytes());
        let follow = argv.len() - at - 1;
        if is("get") && follow >= 2 {
            at += 3;
        } else if is("overflow") && follow >= 1 {
            at += 2;
        } else {
            // The call writes, or it will be refused; in doubt, assuming a write is the safe side.
            flags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
            break;
        }
    }
    out(KeyPos { index: 1, flags });
    Ok(())
}

/// One operation.
#[derive(Clone, Copy)]
struct Op {
    field: FieldType,
    offset: u64,
    act: Act,
}

#[derive(Clone, Copy)]
enum Act {
    Get,
    Set(i64, Overflow),
    IncrBy(i64, Overflow),
}

/// Reads operations one by one.
struct Ops<'a, 'b> {
    args: &'a Args<'b>,
    at: usize,
    overflow: Overflow,
    string_max: usize,
}

impl<'a, 'b> Ops<'a, 'b> {
    fn of(args: &'a Args<'b>, string_max: usize) -> Self {
        Self { args, at: 2, overflow: Overflow::default(), string_max }
    }

    /// The next operation; `None` at the end.
    fn next(&mut self) -> Result<Option<Op>, Fail> {
        let args = self.args;
        while self.at < args.len() {
            let at = self.at;
            let follow = args.len() - at - 1;
            if args.is(at, "overflow") && follow >= 1 {
                self.overflow = overflow(args, at + 1)?;
                self.at += 2;
                continue;
            }
            let get = args.is(at, "get");
            let set = args.is(at, "set");
            if !(get && follow >= 2 || (set || args.is(at, "incrby")) && follow >= 3) {
                return Err(Fail::SYNTAX);
            }
            let field = FieldType::parse(&args[at + 1]).ok_or(BAD_TYPE)?;
            let offset = super::field_offset(&args[at + 2], field.bits(), self.string_max)?;
            let act = if get {
                Act::Get
            } else {
                let value = int(args, at + 3)?;
                if set { Act::Set(value, self.overflow) } else { Act::IncrBy(value, self.overflow) }
            };
            self.at += if get { 3 } else { 4 };
            return Ok(Some(Op { field, offset, act }));
        }
        Ok(None)
    }
}

const BAD_TYPE: Fail = Fail::text(
    "ERR Invalid bitfield type. Use something like i16 u8. \
     Note that u64 is not supported but i64 is.",
);

fn overflow(args: &Args<'_>, i: usize) -> Result<Overflow, Fail> {
    if args.is(i, "wrap") {
        Ok(Overflow::Wrap)
    } else if args.is(i, "sat") {
        Ok(Overflow::Saturate)
    } else if args.is(i, "fail") {
        Ok(Overflow::Fail)
    } else {
        Err(Fail::text("ERR Invalid OVERFLOW type specified"))
    }
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    execute(db, args, reply, true)
}

/// BITFIELD, and BITFIELD_RO where not `writable`.
pub(super) fn execute(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    writable: bool,
) -> Outcome {
    let string_max = db.cx.string_max;
    let (mut count, mut len) = (0, 0);
    let mut ops = Ops::of(args, string_max);
    while let Some(op) = ops.next()? {
        count += 1;
        if !matches!(op.act, Act::Get) {
            len = len.max(bytes_for(op.offset, op.field.bits()));
        }
    }
    let mut ops = Ops::of(args, string_max);
    let key = db.first_key(&args[1]);
    if len == 0 {
        let e = db.read_str(key)?;
        reply.array(count);
        let mut read = |bytes: &[u8]| {
            while let Ok(Some(op)) = ops.next() {
                reply.int(op.field.get(bytes, op.offset));
            }
        };
        match e {
            Some(e) => super::with_bytes(&e, read),
            None => read(&[]),
        }
        return Ok(());
    }
    if !writable {
        return Err(Fail::text("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    // Offsets are bounded by the longest string, which is a usize.
    let (grown, changes) = super::edit(db, key, len as usize, |bytes, grown| {
        reply.array(count);
        let mut changes = 0;
        while let Ok(Some(op)) = ops.next() {
            let done = match op.act {
                Act::Get => {
                    reply.int(op.field.get(bytes, op.offset));
                    continue;
                }
                Act::Set(value, overflow) => op.field.set(bytes, op.offset, value, overflow),
                Act::IncrBy(by, overflow) => op.field.incr_by(bytes, op.offset, by, overflow),
            };
            match done.reply {
                Some(n) => reply.int(n),
                None => reply.null(),
            }
            if done.changed || grown && done.reply.is_some() {
                changes += 1;
            }
        }
        (grown, changes)
    })?;
    if changes > 0 {
        db.dirty(changes);
        db.event(Class::String, "setbit", key.bytes);
    } else if grown {
        // All writes failed, but the string has grown for them. Redis does not count that, and so
        // does not replicate it; here the journal must have it. No event, as there.
        db.dirty(1);
    }
    Ok(())
}
