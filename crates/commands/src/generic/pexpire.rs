//! PEXPIRE: <https://redis.io/docs/latest/commands/pexpire/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PEXPIRE: DataCommand = DataCommand {
    row: Row {
        name: "pexpire",
        group: Group::Generic,
        since: "2.6.0",
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        complexity: "O(1)",
        summary: "Sets the time to live of a key in milliseconds.",
        syntax: "PEXPIRE key milliseconds [NX | XX | GT | LT]",
        transcript: r#"
> SET k v
OK
> PEXPIRE k 100000
(integer) 1
> TTL k
(integer) 100
> PEXPIRE k 200000 NX
(integer) 0
> PEXPIRE k 200000 GT
(integer) 1
> TTL k
(integer) 200
> PEXPIRE nothing 1
(integer) 0
> PEXPIRE k 9223372036854775807
(error) ERR invalid expire time in 'pexpire' command
> PEXPIRE k x
(error) ERR value is not an integer or out of range
> PEXPIRE k 1 FOREVER
(error) ERR Unsupported option FOREVER
> PEXPIRE k -1
(integer) 1
> EXISTS k
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::Millis, "pexpire")
}
