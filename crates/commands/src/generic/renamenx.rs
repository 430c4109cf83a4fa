//! RENAMENX: <https://redis.io/docs/latest/commands/renamenx/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RENAMENX: DataCommand = DataCommand {
    row: Row {
        name: "renamenx",
        group: Group::Generic,
        arity: 3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::OW.or(KeyFlags::INSERT)),
        ],
        history: &[("3.2.0", "Source and destination may be the same, which was an error.")],
        complexity: "O(1)",
        summary: "Gives a key another name that is free.",
        syntax: "RENAMENX key newkey",
        transcript: r#"
> SET a 1 EX 100
OK
> SET b 2
OK
> RENAMENX a b
(integer) 0
> GET b
"2"
> RENAMENX a c
(integer) 1
> GET c
"1"
> TTL c
(integer) 100
> EXISTS a
(integer) 0
> RENAMENX b b
(integer) 0
> RENAMENX nothing b
(error) ERR no such key
> RENAMENX nothing nothing
(error) ERR no such key
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let done = super::rename_key(db, args, false)?;
    reply.int(done.into());
    Ok(())
}
