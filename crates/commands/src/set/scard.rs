//! SCARD: <https://redis.io/docs/latest/commands/scard/>

use data::set::Set;
use resp::{Args, Reply};
use store::{Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SCARD: DataCommand = DataCommand {
    row: Row {
        name: "scard",
        group: Group::Set,
        arity: 2,
        flags: Flags::READONLY.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RO)],
        complexity: "O(1)",
        summary: "Returns the number of members of a set.",
        syntax: "SCARD key",
        transcript: r#"
> SADD s a b c
(integer) 3
> SCARD s
(integer) 3
> SCARD nothing
(integer) 0
> SET t text
OK
> SCARD t
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let n = db.read_as(key, Kind::Set)?.map_or(0, |e| Set::of(&e).len());
    reply.int(n as i64);
    Ok(())
}
