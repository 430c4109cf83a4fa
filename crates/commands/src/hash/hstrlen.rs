//! HSTRLEN: <https://redis.io/docs/latest/commands/hstrlen/>

use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::{Db, Kind, hash};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HSTRLEN: DataCommand = DataCommand {
    row: Row {
        name: "hstrlen",
        group: Group::Hash,
        since: "3.2.0",
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the length of the value of a field in bytes.",
        syntax: "HSTRLEN key field",
        transcript: r#"
> HSET user name Ann age 41 debt -1234567890123456789
(integer) 3
> HSTRLEN user name
(integer) 3
> HSTRLEN user debt
(integer) 20
> HSTRLEN user city
(integer) 0
> HSTRLEN nobody name
(integer) 0
> SET text v
OK
> HSTRLEN text f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (key, now) = (db.first_key(&args[1]), db.now());
    let found = db.read_as(key, Kind::Hash)?;
    let length = match found.as_ref().and_then(|e| hash::get(e, &args[2])) {
        Some(f) if !f.is_over(now) => f.value.text(&mut [0; I64_LEN_MAX]).len(),
        Some(_) => {
            super::lapse(db, key, args.iter_from(2));
            0
        }
        None => 0,
    };
    reply.int(length as i64);
    Ok(())
}
