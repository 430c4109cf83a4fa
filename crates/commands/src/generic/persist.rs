//! PERSIST: <https://redis.io/docs/latest/commands/persist/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static PERSIST: DataCommand = DataCommand {
    row: Row {
        name: "persist",
        group: Group::Generic,
        since: "2.2.0",
        arity: 2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Removes the deadline of a key.",
        syntax: "PERSIST key",
        transcript: r#"
> SET k v EX 100
OK
> PERSIST k
(integer) 1
> TTL k
(integer) -1
> PERSIST k
(integer) 0
> PERSIST nothing
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let expires = db.write(key).is_some_and(|e| e.deadline().is_some());
    if expires {
        db.set_deadline(key, None);
        db.changed(key.bytes, Class::Generic, "persist");
    }
    reply.int(expires.into());
    Ok(())
}
