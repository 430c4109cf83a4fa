//! TYPE: <https://redis.io/docs/latest/commands/type/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static TYPE: DataCommand = DataCommand {
    row: Row {
        name: "type",
        group: Group::Generic,
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Names the type of the value of a key.",
        syntax: "TYPE key",
        transcript: r#"
> SET k v
OK
> TYPE k
string
> TYPE nothing
none
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    reply.simple(db.look(key).map_or("none", |e| e.kind().name()));
    Ok(())
}
