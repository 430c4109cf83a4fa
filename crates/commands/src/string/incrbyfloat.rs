//! INCRBYFLOAT: <https://redis.io/docs/latest/commands/incrbyfloat/>

use resp::{Args, Reply};
use stdx::longdouble::LongDouble;
use store::{Class, Content, Db, Str};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static INCRBYFLOAT: DataCommand = DataCommand {
    row: Row {
        name: "incrbyfloat",
        group: Group::String,
        since: "2.6.0",
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds a number, integer or not, to the value of a key, which counts as 0 if it is missing.",
        syntax: "INCRBYFLOAT key increment",
        transcript: r#"
> INCRBYFLOAT f 1
"1"
> INCRBYFLOAT f 0.25
"1.25"
> SET f 3.0
OK
> INCRBYFLOAT f 1.1
"4.1"
> INCRBYFLOAT f 5.0e3
"5004.10000000000000009"
> SET f 17179869184
OK
> INCRBYFLOAT f 1.5
"17179869185.5"
> SET f 1
OK
> INCRBYFLOAT f -1
"0"
> INCR f
(integer) 1
> INCRBYFLOAT f +inf
(error) ERR increment would produce NaN or Infinity
> INCRBYFLOAT f nan
(error) ERR value is not a valid float
> INCRBYFLOAT f " 1"
(error) ERR value is not a valid float
> SET f "11 "
OK
> INCRBYFLOAT f 1.0
(error) ERR value is not a valid float
> SETRANGE f 2 "\x002"
(integer) 4
> INCRBYFLOAT f 1
(error) ERR value is not a valid float
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let found = db.write_str(key)?;
    let value = match &found {
        None => LongDouble::from_i64(0),
        Some(e) => match e.str() {
            Str::Int(n) => LongDouble::from_i64(n),
            Str::Inline(text) => LongDouble::parse(text).ok_or(Fail::NOT_FLOAT)?,
            Str::Shared(text) => LongDouble::parse(text).ok_or(Fail::NOT_FLOAT)?,
        },
    };
    let sum = value + LongDouble::parse(&args[2]).ok_or(Fail::NOT_FLOAT)?;
    if sum.is_nan_or_inf() {
        return Err(NOT_FINITE);
    }
    let text = sum.to_text();
    // Kept as text even where it reads as an integer, as in Redis.
    let content = Content::Bytes(&text);
    if let Some(mut e) = found {
        let deadline = e.deadline();
        e.replace_with(|e| e.set(content, deadline));
    } else {
        db.add(key, content, None);
    }
    // The sum, not the increment: the server that replays the journal may compute with other precision.
    db.rewrite(&[b"SET", key.bytes, &text, b"KEEPTTL"]);
    db.changed(key.bytes, Class::String, "incrbyfloat");
    reply.bulk(&text);
    Ok(())
}

const NOT_FINITE: Fail = Fail::text("ERR increment would produce NaN or Infinity");
