//! SETBIT: <https://redis.io/docs/latest/commands/setbit/>

use data::bits::{bytes_for, set_bit};
use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SETBIT: DataCommand = DataCommand {
    row: Row {
        name: "setbit",
        group: Group::Bitmap,
        since: "2.2.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Sets or clears one bit of a string, which grows to hold it.",
        syntax: "SETBIT key offset value:integer",
        transcript: r#"
> SETBIT s 1 1
(integer) 0
> GET s
"@"
> SETBIT s 2 1
(integer) 0
> SETBIT s 1 0
(integer) 1
> GET s
" "
> SETBIT s 23 0
(integer) 0
> GET s
" \x00\x00"
> SET n 1
OK
> SETBIT n 6 1
(integer) 0
> GET n
"3"
> SETBIT n 10 1
(integer) 0
> GET n
"3 "
> OBJECT ENCODING n
"raw"
> SETBIT s 4294967296 1
(error) ERR bit offset is not an integer or out of range
> SETBIT s -1 1
(error) ERR bit offset is not an integer or out of range
> SETBIT s x 2
(error) ERR bit offset is not an integer or out of range
> SETBIT s 0 2
(error) ERR bit is not an integer or out of range
> SETBIT s 0 -1
(error) ERR bit is not an integer or out of range
> SETBIT s 0 x
(error) ERR bit is not an integer or out of range
# reset
> RPUSH l a
(integer) 1
> SETBIT l 0 2
(error) ERR bit is not an integer or out of range
> SETBIT l 0 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
> SET t v EX 100
OK
> SETBIT t 100 1
(integer) 0
> TTL t
(integer) 100
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

const BAD_BIT: Fail = Fail::text("ERR bit is not an integer or out of range");

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let at = super::offset(&args[2], db.cx.string_max)?;
    let on = match &args[3] {
        b"0" => false,
        b"1" => true,
        _ => return Err(BAD_BIT),
    };
    let key = db.first_key(&args[1]);
    // `offset` has bounded it by the longest string, which is a usize.
    let len = bytes_for(at, 1) as usize;
    let (was, grown) = super::edit(db, key, len, |bytes, grown| (set_bit(bytes, at, on), grown))?;
    if grown || was != on {
        db.changed(key.bytes, Class::String, "setbit");
    }
    reply.int(i64::from(was));
    Ok(())
}
