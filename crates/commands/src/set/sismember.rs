//! SISMEMBER: <https://redis.io/docs/latest/commands/sismember/>

use data::packed::Item;
use data::set::Set;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SISMEMBER: DataCommand = DataCommand {
    row: Row {
        name: "sismember",
        group: Group::Set,
        arity: 3,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1), O(log(N)) for an integer.",
        summary: "Tells whether a member belongs to a set.",
        syntax: "SISMEMBER key member",
        transcript: r#"
> SADD s one 2
(integer) 2
> SISMEMBER s one
(integer) 1
> SISMEMBER s 2
(integer) 1
> SISMEMBER s 02
(integer) 0
> SISMEMBER nothing one
(integer) 0
> SET t text
OK
> SISMEMBER t one
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let found =
        db.read_as(key, Kind::Set)?.is_some_and(|e| Set::of(&e).contains(Item::of(&args[2])));
    reply.int(found.into());
    Ok(())
}
