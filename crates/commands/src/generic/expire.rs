//! EXPIRE: <https://redis.io/docs/latest/commands/expire/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::parse::TimeUnit;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static EXPIRE: DataCommand = DataCommand {
    row: Row {
        name: "expire",
        group: Group::Generic,
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        complexity: "O(1)",
        summary: "Sets the time to live of a key in seconds.",
        syntax: "EXPIRE key seconds [NX | XX | GT | LT]",
        transcript: r#"
> SET k v
OK
> EXPIRE k 100
(integer) 1
> TTL k
(integer) 100
> EXPIRE k 50 NX
(integer) 0
> EXPIRE k 50 GT
(integer) 0
> EXPIRE k 50 lt
(integer) 1
> TTL k
(integer) 50
> EXPIRE k 100 XX GT
(integer) 1
> TTL k
(integer) 100
> EXPIRE nothing 100
(integer) 0
# Without a deadline a key lives for ever: nothing is later, everything is sooner.
> SET eternal v
OK
> EXPIRE eternal 100 XX
(integer) 0
> EXPIRE eternal 100 GT
(integer) 0
> EXPIRE eternal 100 XX LT
(integer) 0
> EXPIRE eternal 100 LT
(integer) 1
# A time that is over deletes the key.
> EXPIRE k -1 GT
(integer) 0
> EXPIRE k -1
(integer) 1
> EXISTS k
(integer) 0
> EXPIRE eternal 0
(integer) 1
> EXISTS eternal
(integer) 0
> EXPIRE k 10 NX XX
(error) ERR NX and XX, GT or LT options at the same time are not compatible
> EXPIRE k 10 NX GT
(error) ERR NX and XX, GT or LT options at the same time are not compatible
> EXPIRE k 10 LT NX
(error) ERR NX and XX, GT or LT options at the same time are not compatible
> EXPIRE k 10 GT LT
(error) ERR GT and LT options at the same time are not compatible
> EXPIRE k ten AB
(error) ERR Unsupported option AB
> EXPIRE k 10 "A\x00B"
(error) ERR Unsupported option A
> EXPIRE k 10 "A\n"
(error) ERR Unsupported option A
> EXPIRE k ""
(error) ERR value is not an integer or out of range
> EXPIRE k 10.5
(error) ERR value is not an integer or out of range
> EXPIRE k 9223372036854776
(error) ERR invalid expire time in 'expire' command
> EXPIRE k -9223372036854776
(error) ERR invalid expire time in 'expire' command
> EXPIRE k 9223372036854775
(error) ERR invalid expire time in 'expire' command
> EXPIRE k -9223372036854775
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::deadline::set(db, args, reply, TimeUnit::Seconds, "expire")
}
