//! RENAME: <https://redis.io/docs/latest/commands/rename/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static RENAME: DataCommand = DataCommand {
    row: Row {
        name: "rename",
        group: Group::Generic,
        arity: 3,
        flags: Flags::WRITE,
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::OW.or(KeyFlags::UPDATE)),
        ],
        complexity: "O(1)",
        summary: "Gives a key another name, replacing what is there.",
        syntax: "RENAME key newkey",
        transcript: r#"
> SET a 1 EX 100
OK
> SET b 2
OK
> RENAME a b
OK
> GET b
"1"
> EXISTS a
(integer) 0
# The deadline goes with the value; that of what was there before is gone.
> TTL b
(integer) 100
> SET c 3
OK
> RENAME c b
OK
> TTL b
(integer) -1
> RENAME b b
OK
> RENAME nothing b
(error) ERR no such key
> RENAME nothing nothing
(error) ERR no such key
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::rename_key(db, args, true)?;
    reply.ok();
    Ok(())
}
