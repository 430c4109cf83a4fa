//! HINCRBYFLOAT: <https://redis.io/docs/latest/commands/hincrbyfloat/>

use resp::{Args, Reply};
use stdx::longdouble::LongDouble;
use stdx::num::I64_LEN_MAX;
use store::hash::{self, Value};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HINCRBYFLOAT: DataCommand = DataCommand {
    row: Row {
        name: "hincrbyfloat",
        group: Group::Hash,
        since: "2.6.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds a number, integer or not, to the value of a field, which counts as 0 if it is missing.",
        syntax: "HINCRBYFLOAT key field increment",
        transcript: r#"
> HINCRBYFLOAT user score 10.5
"10.5"
> HINCRBYFLOAT user score -0.5
"10"
> HINCRBYFLOAT user score 5.0e3
"5010"
> HSET user name Ann
(integer) 1
> HINCRBYFLOAT user name 1
(error) ERR hash value is not a float
> HINCRBYFLOAT user score x
(error) ERR value is not a valid float
> HINCRBYFLOAT user score inf
(error) ERR value is NaN or Infinity
> SET text v
OK
> HINCRBYFLOAT text f 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let by = LongDouble::parse(&args[3]).ok_or(Fail::NOT_FLOAT)?;
    if by.is_nan_or_inf() {
        return Err(Fail::text("ERR value is NaN or Infinity"));
    }
    let (key, limits) = (db.first_key(&args[1]), super::limits(db));
    super::lapse_for_write(db, key, args.iter_from(2).take(1))?;
    let found = db.write_as(key, Kind::Hash)?;
    let (old, kept) = match found.as_ref().and_then(|e| hash::get(e, &args[2])) {
        None => (LongDouble::from_i64(0), false),
        Some(f) => {
            let n = match f.value {
                Value::Int(n) => Some(LongDouble::from_i64(n)),
                text => LongDouble::parse(text.text(&mut [0; I64_LEN_MAX])),
            };
            (n.ok_or(Fail::text("ERR hash value is not a float"))?, f.deadline.is_some())
        }
    };
    let sum = old + by;
    if sum.is_nan_or_inf() {
        return Err(Fail::text("ERR increment would produce NaN or Infinity"));
    }
    let mut e = match found {
        Some(e) => e,
        None => db.create_run(key, Kind::Hash),
    };
    let text = sum.to_text();
    hash::set(&mut e, &args[2], &Value::Bytes(&text), true, limits);
    // The sum, not the increment: the server that replays the journal may compute with other precision.
    if kept {
        db.rewrite(&[b"HSETEX", key.bytes, b"KEEPTTL", b"FIELDS", b"1", &args[2], &text]);
    } else {
        db.rewrite(&[b"HSET", key.bytes, &args[2], &text]);
    }
    db.changed(key.bytes, Class::Hash, "hincrbyfloat");
    reply.bulk(&text);
    Ok(())
}
