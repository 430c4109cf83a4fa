//! DECR: <https://redis.io/docs/latest/commands/decr/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static DECR: DataCommand = DataCommand {
    row: Row {
        name: "decr",
        group: Group::String,
        arity: 2,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Takes one from the integer value of a key, which counts as 0 if it is missing.",
        syntax: "DECR key",
        transcript: r#"
> DECR stock
(integer) -1
> SET stock 10
OK
> DECR stock
(integer) 9
> SET stock -9223372036854775808
OK
> DECR stock
(error) ERR increment or decrement would overflow
> SET stock ten
OK
> DECR stock
(error) ERR value is not an integer or out of range
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::incr::add(db, &args[1], -1, reply)
}
