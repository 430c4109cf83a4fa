//! PEXPIREAT: <https://redis.io/docs/latest/commands/pexpireat/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PEXPIREAT: DataCommand = DataCommand {
    row: Row {
        name: "pexpireat",
        group: Group::Generic,
        since: "2.6.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        complexity: "O(1)",
        summary: "Sets the deadline of a key as a Unix time in milliseconds.",
        syntax: "PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]",
        transcript: r#"
> SET k v
OK
> PEXPIREAT k 33177117420123
(integer) 1
> PEXPIRETIME k
(integer) 33177117420123
> PEXPIREAT k 9223372036854775807 GT
(integer) 1
> PEXPIRETIME k
(integer) 9223372036854775807
> PEXPIREAT k 33177117420123 GT
(integer) 0
> PEXPIREAT k 9223372036854775808
(error) ERR value is not an integer or out of range
> PEXPIREAT k 33177117420123 GT LT
(error) ERR GT and LT options at the same time are not compatible
> PEXPIREAT k -9223372036854775807
(integer) 1
> TTL k
(integer) -2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::UnixMillis, "pexpireat")
}
