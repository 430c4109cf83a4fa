//! EXPIRETIME: <https://redis.io/docs/latest/commands/expiretime/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static EXPIRETIME: DataCommand = DataCommand {
    row: Row {
        name: "expiretime",
        group: Group::Generic,
        since: "7.0.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(1)",
        summary: "Returns the deadline of a key as a Unix time in seconds.",
        syntax: "EXPIRETIME key",
        transcript: r#"
> SET k v EXAT 33177117420
OK
> EXPIRETIME k
(integer) 33177117420
> SET k v PXAT 33177117420500
OK
> EXPIRETIME k
(integer) 33177117421
> SET k v
OK
> EXPIRETIME k
(integer) -1
> EXPIRETIME nothing
(integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::UnixSeconds)
}
