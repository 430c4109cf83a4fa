//! TTL: <https://redis.io/docs/latest/commands/ttl/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static TTL: DataCommand = DataCommand {
    row: Row {
        name: "ttl",
        group: Group::Generic,
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        history: &[("2.8.0", "Added the -2 reply.")],
        complexity: "O(1)",
        summary: "Returns the time to live of a key in seconds.",
        syntax: "TTL key",
        transcript: r#"
> SET k v EX 100
OK
> TTL k
(integer) 100
> SET k v
OK
> TTL k
(integer) -1
> TTL nothing
(integer) -2
# Rounded, not cut off.
> SET k v PX 1700
OK
> TTL k
(integer) 2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::get(db, args, reply, TimeUnit::Seconds)
}
