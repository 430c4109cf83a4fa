//! DECRBY: <https://redis.io/docs/latest/commands/decrby/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static DECRBY: DataCommand = DataCommand {
    row: Row {
        name: "decrby",
        group: Group::String,
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Takes a number from the integer value of a key, which counts as 0 if it is missing.",
        syntax: "DECRBY key decrement",
        transcript: r#"
> SET stock 17179869184
OK
> DECRBY stock 17179869185
(integer) -1
> DECRBY new 3
(integer) -3
> DECRBY stock -9223372036854775808
(error) ERR decrement would overflow
> DECRBY stock 9223372036854775807
(integer) -9223372036854775808
> DECRBY stock 1
(error) ERR increment or decrement would overflow
> DECRBY stock many
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // The negative of the smallest integer does not exist.
    let by = parse::int(args, 2)?.checked_neg().ok_or(OVERFLOW)?;
    super::incr::add(db, &args[1], by, reply)
}

const OVERFLOW: Fail = Fail::text("ERR decrement would overflow");
