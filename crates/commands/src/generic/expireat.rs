//! EXPIREAT: <https://redis.io/docs/latest/commands/expireat/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static EXPIREAT: DataCommand = DataCommand {
    row: Row {
        name: "expireat",
        group: Group::Generic,
        since: "1.2.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        complexity: "O(1)",
        summary: "Sets the deadline of a key as a Unix time in seconds.",
        syntax: "EXPIREAT key unix-time-seconds [NX | XX | GT | LT]",
        transcript: r#"
> SET k v
OK
> EXPIREAT k 33177117420
(integer) 1
> EXPIRETIME k
(integer) 33177117420
> EXPIREAT k 33177117421 LT
(integer) 0
> EXPIREAT k 33177117421 XX GT
(integer) 1
> PEXPIRETIME k
(integer) 33177117421000
> EXPIREAT k 9223372036854775807
(error) ERR invalid expire time in 'expireat' command
> EXPIREAT k soon
(error) ERR value is not an integer or out of range
# In the past: the key goes at once.
> EXPIREAT k 1000000000
(integer) 1
> EXISTS k
(integer) 0
> EXPIREAT k 33177117420
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::UnixSeconds, "expireat")
}
