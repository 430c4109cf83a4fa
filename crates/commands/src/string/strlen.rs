//! STRLEN: <https://redis.io/docs/latest/commands/strlen/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static STRLEN: DataCommand = DataCommand {
    row: Row {
        name: "strlen",
        group: Group::String,
        since: "2.2.0",
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the length of the string value of a key, in bytes.",
        syntax: "STRLEN key",
        transcript: r#"
> SET phrase "Hello World"
OK
> STRLEN phrase
(integer) 11
> SET n -555
OK
> STRLEN n
(integer) 4
> STRLEN nothing
(integer) 0
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let length = db.read_str(key)?.map_or(0, |e| super::length(&e));
    reply.int(length as i64);
    Ok(())
}
