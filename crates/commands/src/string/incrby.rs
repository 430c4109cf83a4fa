//! INCRBY: <https://redis.io/docs/latest/commands/incrby/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static INCRBY: DataCommand = DataCommand {
    row: Row {
        name: "incrby",
        group: Group::String,
        arity: 3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds a number to the integer value of a key, which counts as 0 if it is missing.",
        syntax: "INCRBY key increment",
        transcript: r#"
> SET points 17179869184
OK
> INCRBY points 17179869184
(integer) 34359738368
> INCRBY new -5
(integer) -5
> INCRBY points 1.5
(error) ERR value is not an integer or out of range
> INCRBY points 9223372036854775807
(error) ERR increment or decrement would overflow
> INCRBY points +1
(error) ERR value is not an integer or out of range
> GET points
"34359738368"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let by = parse::int(args, 2)?;
    super::incr::add(db, &args[1], by, reply)
}
