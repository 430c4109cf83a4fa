//! PTTL: <https://redis.io/docs/latest/commands/pttl/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PTTL: DataCommand = DataCommand {
    row: Row {
        name: "pttl",
        group: Group::Generic,
        since: "2.6.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        history: &[("2.8.0", "Added the -2 reply.")],
        complexity: "O(1)",
        summary: "Returns the time to live of a key in milliseconds.",
        syntax: "PTTL key",
        transcript: r#"
> SET k v PX 100000
OK
> PTTL k
~ (integer) *
> SET k v
OK
> PTTL k
(integer) -1
> PTTL nothing
(integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::Millis)
}
