//! HINCRBY: <https://redis.io/docs/latest/commands/hincrby/>

use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::hash::{self, Value};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HINCRBY: DataCommand = DataCommand {
    row: Row {
        name: "hincrby",
        group: Group::Hash,
        since: "2.0.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds a number to the integer value of a field, which counts as 0 if it is missing.",
        syntax: "HINCRBY key field increment",
        transcript: r#"
> HINCRBY user visits 5
(integer) 5
> HINCRBY user visits -7
(integer) -2
> HSET user name Ann big 9223372036854775807 zero 007
(integer) 3
> HINCRBY user name 1
(error) ERR hash value is not an integer
> HINCRBY user zero 1
(error) ERR hash value is not an integer
> HINCRBY user big 1
(error) ERR increment or decrement would overflow
> HINCRBY user visits 1.5
(error) ERR value is not an integer or out of range
> HINCRBY user visits ten
(error) ERR value is not an integer or out of range
> SET text v
OK
> HINCRBY text f 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=7.4
> HINCRBY user visits 5
(integer) 5
> HEXPIRE user 100 FIELDS 1 visits
1) (integer) 1
> HINCRBY user visits 1
(integer) 6
> HTTL user FIELDS 1 visits
1) (integer) 100
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let by = parse::int(args, 3)?;
    let (key, limits, now) = (db.first_key(&args[1]), super::limits(db), db.now());
    let mut e = match db.write_as(key, Kind::Hash)? {
        Some(e) if hash::is_over(e.part_deadline(), now) => {
            super::lapse_for_write(db, key, args.iter_from(2).take(1))?;
            match db.write_as(key, Kind::Hash)? {
                Some(e) => e,
                None => db.create_run(key, Kind::Hash),
            }
        }
        Some(e) => e,
        None => db.create_run(key, Kind::Hash),
    };
    let old = match hash::get(&e, &args[2]).map(|f| f.value) {
        None => 0,
        Some(Value::Int(n)) => n,
        Some(value) => {
            let n = stdx::num::parse_i64(value.text(&mut [0; I64_LEN_MAX]));
            n.ok_or(Fail::text("ERR hash value is not an integer"))?
        }
    };
    let sum = old.checked_add(by).ok_or(Fail::OVERFLOW)?;
    hash::set(&mut e, &args[2], &Value::Int(sum), true, limits);
    db.changed(key.bytes, Class::Hash, "hincrby");
    reply.int(sum);
    Ok(())
}
